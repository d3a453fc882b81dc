#pragma once
/* cuda.h -- the driver of CUDA. */
#include "gpu/device.h"

extern const struct mx_driver mx_cuda_driver;
