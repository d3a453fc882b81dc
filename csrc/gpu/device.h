#pragma once
/* device.h -- a kind of GPU: its kernel language, its limits and its driver.
 *
 * The files of this folder call a GPU through the functions below and name none.  devices.def
 * lists the kinds.  A process uses at most one of them: mx_device_use selects it once, at the
 * start.
 */
#include "gpu/text.h"
#include "ir/dtypes.h"
#include "memory/buffer.h"

/* -- Kernel language --------------------------------------------------------------- */

/* What the grid of a kernel counts. */
enum mx_grid {
    MX_THREADS,     /* threads along x, y and z */
    MX_THREADGROUPS /* threadgroups of MX_KERNEL_THREADS threads */
};

/* The parameters of a kernel that is written for a group of instructions. */
struct mx_head {
    int n_buffers;          /* m0, m1 ...: bytes, bound from 0 on */
    const bool *is_written; /* by the kernel, for each buffer */
    bool has_status;        /* the status words come after the buffers: `status` */
    enum mx_grid grid;
};

/* What a kernel language writes in a way of its own.  Everything else in the text of a kernel
 * is C++ over functions of the prelude, which also names the integer types uchar, uint and long
 * (8, 32 and 64 bits). */
struct mx_dialect {
    const char *types[MX_DTYPE_COUNT]; /* names of the dtypes; NULL: unsupported */
    const char *memory;                /* what qualifies a pointer to bound memory, or "" */
    const char *shared;                /* what qualifies a variable that a threadgroup shares */

    /* Prints the head of the kernel mx_group, up to the brace that opens its body.  The body
     * finds 64-bit numbers in `args`, which come after all buffers.  With MX_THREADS it finds
     * its position in `at`, a uint3.  With MX_THREADGROUPS it finds that of its threadgroup in
     * `group`, a uint3, and its own number in the threadgroup in `thread_index`, a uint. */
    void (*print_head)(struct mx_text *text, const struct mx_head *head);
};

/* -- Limits ------------------------------------------------------------------------ */

struct mx_limits {
    int buffers;              /* of one kernel; the arguments count as one */
    size_t argument_bytes;    /* of one kernel */
    size_t threadgroup_bytes; /* of the variables that a threadgroup shares */
    int atomic_bytes;         /* of the largest element that is exchanged atomically */
};

/* -- Driver ------------------------------------------------------------------------ */

struct mx_dispatch {
    const void *compiled;
    struct mx_buffer *const *buffers; /* allocated; bound from 0 on */
    const bool *is_written;
    const size_t *offsets; /* bytes into each buffer, where the kernel's pointer begins */
    int n_buffers;
    const void *args; /* bound after the buffers */
    size_t args_size;
    enum mx_grid kind;
    size_t grid[3], threads[3]; /* threads: of a threadgroup */
};

/* The thread that is inside the stream calls these, except the first two, which any thread may
 * call.  Functions that return an int return a status. */
struct mx_driver {
    int (*count)(void);               /* GPUs of this machine */
    const char *(*gpu_name)(int gpu); /* the driver's; NULL if out of range */

    /* Whether kernels can run on the default GPU.  False in a forked process. */
    bool (*is_usable)(void);

    /* Compiles a function of the source; `release` frees the result.  MX_ERROR_VALUE, with the
     * compiler's message, if the source is invalid. */
    int (*compile)(void **out, const char *source, const char *function);
    void (*release)(void *compiled);
    size_t (*max_threads)(const void *compiled); /* of a threadgroup */

    /* Appends a kernel to those that run next.  It runs after all kernels before it that it
     * depends on.  The driver retains the buffers and the compiled kernel until it has run. */
    int (*encode)(const struct mx_dispatch *dispatch);

    /* Waits until all kernels have run.  MX_ERROR_DEVICE, with the device's message, if one of
     * them failed. */
    int (*wait)(void);

    /* Frees what the driver attached to a block of the pool (`device_memory`). */
    void (*free_memory)(void *device_memory);

    /* Adds what was encoded and compiled since the start. */
    void (*add_counts)(struct mx_gpu_counts *out);
};

/* -- Devices ----------------------------------------------------------------------- */

struct mx_device {
    struct mx_device_row row;
    struct mx_dialect dialect;
    struct mx_limits limits;
    const struct mx_driver *driver; /* NULL: this build has none */
};

/* Selects the device that this process uses.  Later calls may only repeat it. */
void mx_device_use(int device);

const struct mx_device *mx_device_used(void); /* NULL: none */
const char *mx_device_name(void);             /* of its row; "gpu" if there is none */
bool mx_device_is_usable(void);               /* whether kernels can run on it now */

/* Name of a dtype in the language of the device in use; NULL: unsupported. */
const char *mx_device_type(int dtype);
bool mx_device_supports(int dtype);
