/* device.c -- devices.def as data, and the device that the process uses. */
#include "gpu/device.h"

#include "base/error.h"
#include "memory/coherence.h"

#define DEVICE(name) extern const struct mx_device mx_device_##name;
#include "gpu/devices.def"
#undef DEVICE

static const struct mx_device *const devices[] = {
#define DEVICE(name) &mx_device_##name,
#include "gpu/devices.def"
#undef DEVICE
};

#define N_DEVICES ((int)(sizeof devices / sizeof *devices))

static const struct mx_device *used;

static const struct mx_device *device_get(int device)
{
    return device >= 0 && device < N_DEVICES ? devices[device] : NULL;
}

static const struct mx_driver *driver_of(int device)
{
    const struct mx_device *found = device_get(device);
    return found ? found->driver : NULL;
}

/* -- The C API --------------------------------------------------------------------- */

int mx_device_count(void) { return N_DEVICES; }

const struct mx_device_row *mx_device_get(int device)
{
    const struct mx_device *found = device_get(device);
    return found ? &found->row : NULL;
}

const char *mx_device_type_name(int device, int dtype)
{
    const struct mx_device *found = device_get(device);
    bool is_dtype = dtype >= 0 && dtype < MX_DTYPE_COUNT;
    const char *name = found && is_dtype ? found->types[dtype] : NULL;
    return name ? name : "";
}

int mx_device_gpu_count(int device)
{
    const struct mx_driver *driver = driver_of(device);
    return driver ? driver->count() : 0;
}

const char *mx_device_gpu_name(int device, int gpu)
{
    const struct mx_driver *driver = driver_of(device);
    return driver ? driver->gpu_name(gpu) : NULL;
}

int mx_device_has_choice(int device) { return driver_of(device) && driver_of(device)->choose; }

int mx_device_choose(int device, int gpu)
{
    const struct mx_driver *driver = driver_of(device);
    if (driver && driver->choose)
        return driver->choose(gpu);
    return gpu == 0 ? MX_OK : mx_fail(MX_ERROR_VALUE, "only the default GPU can be used");
}

int mx_device_chosen(int device)
{
    const struct mx_driver *driver = driver_of(device);
    return driver && driver->chosen ? driver->chosen() : 0;
}

const char *mx_device_problem(int device)
{
    const struct mx_driver *driver = driver_of(device);
    return driver && driver->problem ? driver->problem() : "";
}

const char *mx_device_libraries(int device)
{
    const struct mx_driver *driver = driver_of(device);
    return driver && driver->libraries ? driver->libraries() : "";
}

void mx_device_set_copy(void (*copy)(void *to, const void *from, size_t nbytes))
{
    for (int device = 0; device < N_DEVICES; device++)
        if (driver_of(device) && driver_of(device)->set_copy)
            driver_of(device)->set_copy(copy);
}

/* -- The device in use ------------------------------------------------------------- */

static void use_memory(const struct mx_driver *driver)
{
    static struct mx_device_memory memory;
    memory = (struct mx_device_memory){
        .allocate = driver->allocate,
        .release_memory = driver->release_memory,
        .copy_in = driver->copy_in,
        .copy_out = driver->copy_out,
        .clear = driver->clear,
        .join = driver->join,
    };
    mx_coherence_use(&memory);
}

void mx_device_use(int device)
{
    const struct mx_driver *driver = driver_of(device);
    if (!driver)
        return;
    used = device_get(device);
    if (used->limits.shares_memory)
        mx_pool_set_forget(driver->free_memory);
    else
        use_memory(driver);
}

const struct mx_device *mx_device_used(void) { return used; }

const char *mx_device_name(void) { return used ? used->row.name : "gpu"; }

bool mx_device_is_usable(void) { return used && used->driver->is_usable(); }

const char *mx_device_type(int dtype) { return used ? used->types[dtype] : NULL; }

const char *mx_device_memory_type(int dtype)
{
    return mx_device_type(dtype == MX_DTYPE_bool ? MX_DTYPE_uint8 : dtype);
}

bool mx_device_supports(int dtype) { return mx_device_type(dtype) != NULL; }
