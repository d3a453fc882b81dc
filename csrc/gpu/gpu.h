#pragma once
/* metal.h -- what the core's own API says of Metal. */
#include "scheduler/backend.h"

extern const struct mx_backend mx_metal_backend;

bool mx_metal_is_used(void); /* whether groups may run on a device */
