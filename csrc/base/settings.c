/* settings.c -- what the environment sets, until Python has read it. */
#include "base/base.h"

struct mx_settings mx_settings = {
    .fuses = 1,
    .jit_cache = "",
    .device_cache = "",
    .device_library = "",
    .package_folders = "",
};
