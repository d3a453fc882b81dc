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

/* Names of the dtypes in the language of all kernels.  A driver translates the text of kernels
 * if its GPU has another language.  A device may have more types than these. */
#define MX_KERNEL_TYPES                                                                        \
    [MX_DTYPE_bool] = "bool", [MX_DTYPE_int8] = "char", [MX_DTYPE_int16] = "short",            \
    [MX_DTYPE_int32] = "int", [MX_DTYPE_int64] = "long", [MX_DTYPE_uint8] = "uchar",           \
    [MX_DTYPE_uint16] = "ushort", [MX_DTYPE_uint32] = "uint", [MX_DTYPE_uint64] = "ulong",     \
    [MX_DTYPE_float16] = "half", [MX_DTYPE_bfloat16] = "bfloat", [MX_DTYPE_float32] = "float", \
    [MX_DTYPE_complex64] = "float2"

/* -- Limits ------------------------------------------------------------------------ */

struct mx_limits {
    int buffers;              /* of one kernel; the arguments count as one */
    size_t threadgroup_bytes; /* of the variables that a threadgroup shares */
    int atomic_bytes;         /* of the largest element that is exchanged atomically */
    bool adds_floats;         /* an update of a float by a sum is one atomic operation */
    int64_t work;             /* most work of one dispatch: see work.h */
    int threadgroups;         /* that keep a GPU busy */
    int bytes_in_flight;      /* that a thread of a reduction loads before it uses them */
    bool shares_memory;       /* kernels use the processor's memory: nothing is copied */
};

/* -- Driver ------------------------------------------------------------------------ */

struct mx_dispatch {
    const void *compiled;
    struct mx_buffer *const *buffers; /* bound from 0 on; allocated if memory is shared */
    void *const *memories; /* otherwise their addresses on the device, from `allocate` */
    const bool *is_written;
    const size_t *offsets; /* bytes into each buffer, where the kernel's pointer begins */
    int n_buffers;
    const void *args; /* bound after the buffers */
    size_t args_size;
    enum mx_grid kind;
    size_t grid[3], threads[3]; /* threads: of a threadgroup */
    int64_t work;               /* as estimated: see work.h; 0: unknown */
    int origin;   /* number of the first of three arguments: see work.h; -1: it is not cut */
    double share; /* of the work that one dispatch may have */
};

/* What a library of the driver can compute in place of a kernel.  The arguments of such a
 * kernel begin with these numbers. */

/* Products of matrices.  The buffers are a, b and c, and c has contiguous matrices. */
struct mx_product {
    int64_t m, k, n;          /* (m, k) @ (k, n) */
    int64_t steps[2];         /* elements between the matrices of a and of b, or 0 */
    int64_t rows[2];          /* elements between the rows of a and of b in memory */
    int64_t is_transposed[2]; /* what memory holds is the transposed matrix */
    int64_t count;            /* of products */
};

enum mx_transform_kind { MX_FORWARD, MX_INVERSE, MX_FROM_REAL, MX_TO_REAL };

/* Fourier transforms along one axis, which are not scaled.  The buffers are the input, which
 * may be overwritten by MX_TO_REAL, the scratch memory and the output. */
struct mx_transform {
    int64_t kind;
    int64_t is_double;
    int64_t n;        /* of the complex or the real elements of one transform */
    int64_t stride;   /* elements between those of one transform, in both arrays */
    int64_t steps[2]; /* elements between two transforms of the input and of the output */
    int64_t count;    /* of transforms */
};

enum mx_linear_kind {
    MX_SOLVE,      /* factors, pivots, x: a becomes its LU factors, and x the solutions */
    MX_CHOLESKY,   /* a: its upper or its lower triangle becomes the factor */
    MX_QR,         /* a, tau: the reflectors and R */
    MX_QR_VECTORS, /* a, tau: the reflectors in a become the first columns of Q */
    MX_EIGH,       /* a, w: a becomes the vectors, if they are wanted */
    MX_SVD,        /* a, s, u, vh: a is overwritten */
    MX_SVD_POLAR,  /* a, s, u, v, with vectors: faster, and its status is -1 if small values
                      are less accurate */
};

/* Factorizations of matrices, and what is solved with them.  Matrices are contiguous and in
 * columns.  The buffers are those of the kind, with two more after a: one status word for each
 * matrix, which is 0 if the factorization exists, and the scratch memory. */
struct mx_linear {
    int64_t kind;
    int64_t is_complex; /* complex128 in place of float64 */
    int64_t m, n;       /* a matrix has m rows and n columns; for singular values m >= n */
    int64_t k;          /* columns of x, which may be 0; or columns of a with reflectors */
    int64_t is_lower;   /* the triangle that MX_CHOLESKY and MX_EIGH read */
    int64_t vectors;    /* 0: only values; 1: as many as there are values; 2: all */
    int64_t count;      /* of matrices */
};

#define MX_MAX_MARKS 4096

/* What was encoded and compiled since the start. */
struct mx_driver_counts {
    _Atomic int64_t dispatches, command_buffers, compiled;
};

/* The thread that is inside the stream calls these, except the first six, which any thread may
 * call.  Functions that return an int return a status. */
struct mx_driver {
    int (*count)(void);               /* GPUs of this machine */
    const char *(*gpu_name)(int gpu); /* the driver's; NULL if out of range */

    /* Sets the number of the GPU that the process uses, before is_usable is called first, and
     * returns it.  MX_ERROR_VALUE if another one is used.  NULL: it is always the default. */
    int (*choose)(int gpu);
    int (*chosen)(void);

    /* Why kernels cannot run, and what to do, in one line; "" if they can.  May be NULL. */
    const char *(*problem)(void);

    /* Sets the function that copies large blocks within the host's memory.  May be NULL. */
    void (*set_copy)(void (*copy)(void *to, const void *from, size_t nbytes));

    /* Whether kernels can run on the default GPU.  False in a forked process, and after the
     * GPU failed for good.  The first call initializes the driver, which may take long. */
    bool (*is_usable)(void);

    /* Compiles a function of the source; `release` frees the result.  MX_ERROR_VALUE, with the
     * compiler's message, if the source is invalid.  Any thread may call `compile`. */
    int (*compile)(void **out, const char *source, const char *function);
    void (*release)(void *compiled);
    void (*clear_cache)(void);                   /* of compiled kernels on disk; may be NULL */
    size_t (*max_threads)(const void *compiled); /* of a threadgroup */

    /* Returns the bytes of the largest buffer.  NULL: only the memory limits them. */
    size_t (*max_buffer)(void);

    /* Appends a kernel to those that run next.  It runs after all kernels before it that it
     * depends on.  The driver retains the buffers and the compiled kernel until it has run.
     * MX_ERROR_VALUE if a buffer is too large. */
    int (*encode)(const struct mx_dispatch *dispatch);

    /* Waits until all kernels have run.  MX_ERROR_DEVICE, with the device's message, if one of
     * them failed. */
    int (*wait)(void);

    /* Frees what the driver attached to a block of the pool (`device_memory`).  NULL unless
     * memory is shared. */
    void (*free_memory)(void *device_memory);

    /* The memory of a device that does not share the processor's; NULL if it does.  Addresses
     * are those of the device: bytes may be added to them, and the host cannot read there.
     * These functions are ordered with the kernels: each takes effect after all kernels that
     * were encoded before it and before all that are encoded later.
     *
     * `allocate` returns MX_ERROR_MEMORY if the device lacks the memory.  Any thread may call
     * `release_memory`, also while kernels use the memory and after the device was lost.
     * `copy_in` has read the host's memory when it returns, and `copy_out` has written it: it
     * waits for the kernels before it.  `clear` writes zeros.
     * `join` waits for all work on the GPU, that of other code too. */
    int (*allocate)(void **out, size_t nbytes);
    void (*release_memory)(void *memory);
    int (*copy_in)(void *memory, const void *host, size_t nbytes);
    int (*copy_out)(void *host, const void *memory, size_t nbytes);
    int (*clear)(void *memory, size_t nbytes);
    int (*join)(void);
    /* Returns a word of the host to which kernels can write, at the same address.  NULL if
     * there is none. */
    volatile uint32_t *(*shared_word)(void);
    size_t (*memory_left)(void); /* bytes that `allocate` can still return, about */

    /* Times on the device.  `mark` notes when all kernels before it have run, under a number
     * below MX_MAX_MARKS.  `elapsed` returns the nanoseconds between two marks that have been
     * waited for, or -1 if the device cannot tell.  NULL if it never can. */
    int (*mark)(int number);
    int64_t (*elapsed)(int from, int to);

    /* Computes with a library, in the order of the kernels.  MX_ERROR_VALUE if there is no
     * library, or it cannot.  The numbers are those of the struct of the call, the dtype is
     * that of the first buffer, and the addresses are those of the buffers.  `prepare` sets the
     * bytes of scratch memory, and any thread may call it; `libraries` returns the names of
     * libraries, and what is missing.  All may be NULL. */
    int (*call)(enum mx_library_call call, const void *numbers, int dtype,
                void *const *memories);
    int (*prepare)(enum mx_library_call call, const void *numbers, size_t *scratch);
    const char *(*libraries)(void);

    struct mx_driver_counts *counts;
};

/* -- Devices ----------------------------------------------------------------------- */

struct mx_device {
    struct mx_device_row row;
    const char *types[MX_DTYPE_COUNT]; /* names of the dtypes; NULL: unsupported */
    struct mx_limits limits;
    const struct mx_driver *driver; /* NULL: this build has none */
};

/* Selects the device that this process uses.  Later calls may only repeat it. */
void mx_device_use(int device);

/* Sets the function that the drivers copy large blocks of the host's memory with. */
void mx_device_set_copy(void (*copy)(void *to, const void *from, size_t nbytes));

const struct mx_device *mx_device_used(void); /* NULL: none */
const char *mx_device_name(void);             /* of its row; "gpu" if there is none */
bool mx_device_is_usable(void);               /* whether kernels can run on it now */

/* Name of a dtype in the language of the device in use; NULL: unsupported. */
const char *mx_device_type(int dtype);
/* The type of elements in memory.  A bool there is a byte: any byte but 0 is true. */
const char *mx_device_memory_type(int dtype);
bool mx_device_supports(int dtype);
