/* none.c -- the Metal backend of a machine that has none. */
#include "../base.h"

int mx_metal_device_count(void) { return 0; }

const char *mx_metal_device_name(int device)
{
    (void)device;
    return NULL;
}
