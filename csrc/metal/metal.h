#pragma once
/* metal.h -- the driver of Metal, where the build has it (MX_METAL). */
#include "gpu/device.h"

extern const struct mx_driver mx_metal_driver;
