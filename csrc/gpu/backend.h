#pragma once
/* backend.h -- the backend of the stream that runs groups on a GPU. */
#include "scheduler/backend.h"

extern const struct mx_backend mx_gpu_backend;
