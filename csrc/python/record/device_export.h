/* device_export.h -- memory of the GPU that mxnp shares with other packages, without copies.
 *
 * A lent array is used by other code on the GPU, by DLPack or __cuda_array_interface__.  A
 * borrowed one is over memory of another package, and is lent for as long as it lives.
 */
#pragma once
#include "python/base/numpy.h"

/* Methods of the module. */
extern PyMethodDef device_export_methods[];
