/* settings.h -- strict or fast mode, the device, and what happens to float64 on it. */
#pragma once
#include "ir/instruction.h"
#include "python/base/numpy.h"

enum setting_name { SETTING_FAST, SETTING_DEVICE, SETTING_DOUBLES, N_SETTINGS };

/* Values of SETTING_DOUBLES, in the order of the names in mxnp._engine.devices. */
enum { DOUBLES_ARE_THE_PROCESSORS, DOUBLES_ARE_REFUSED, DOUBLES_ARE_NARROWED };

/* Check whether the program gives up the checks of strict mode: see mxnp/_engine/modes.py. */
bool settings_are_fast(void);

/* Return the device that operations are recorded for. */
enum mx_target settings_device(void);

/* Check whether they may run on the GPU. */
bool settings_use_gpu(void);

/* Check whether float64 raises an error on a device that does not support it. */
bool settings_refuse_doubles(void);

/* Check whether new arrays get float32 and complex64 by default. */
bool settings_narrow_doubles(void);

/* Methods of the module. */
extern PyMethodDef settings_methods[];
