/* none.c -- the Metal backend of a machine that has none. */
#include "base/error.h"
#include "gpu/device.h"

int mx_metal_device_count(void) { return 0; }

const char *mx_metal_device_name(int device)
{
    (void)device;
    return NULL;
}

bool mx_metal_is_there(void) { return false; }

int mx_metal_compile(void **out, const char *source, const char *function)
{
    (void)out, (void)source, (void)function;
    return mx_fail(MX_ERROR_DEVICE, "there is no Metal device");
}

void mx_metal_release(void *compiled) { (void)compiled; }

size_t mx_metal_threads(const void *compiled)
{
    (void)compiled;
    return 0;
}

int mx_metal_encode(const struct mx_dispatch *dispatch)
{
    (void)dispatch;
    return mx_fail(MX_ERROR_DEVICE, "there is no Metal device");
}

int mx_metal_wait(void) { return MX_OK; }

void mx_metal_add_counts(struct mx_metal_counts *out) { (void)out; }
