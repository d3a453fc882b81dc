/* mxnp.h -- the C API of the core, as Python sees it.
 *
 * The core plans and runs recorded operations.  csrc/README.md describes its folders in the
 * order in which an operation passes through them.
 *
 * This file contains only declarations and comments, because the binding mxnp._core is
 * generated from it.  A function that can fail returns an enum mx_status as an int, or NULL;
 * its comment says so.  After a failure mx_error_message() returns the message, and nothing
 * else has changed.
 */

enum mx_status { MX_OK, MX_ERROR_MEMORY, MX_ERROR_VALUE, MX_ERROR_DEVICE, MX_INTERRUPTED };

const char *mx_error_message(void); /* of the last failure of this thread; never NULL */

/* What the environment sets: mxnp/_engine/environment.py reads and checks it.  The numbers
 * count from mx_start on.  The texts must not be freed. */
struct mx_settings {
    int n_threads;               /* that run groups; 0: as many as can run at once */
    int fuses;                   /* whether a group may have several operations: 0 or 1 */
    int is_warm;                 /* whether malloc keeps what is freed: 0 or 1 */
    const char *jit_cache;       /* folder of the compiled groups, or "": none are kept */
    const char *device_cache;    /* folder of the compiled kernels of devices, or "" */
    const char *device_library;  /* for tests: a library in place of a driver, or "" */
    const char *package_folders; /* separated by colons; a driver may need libraries there */
};

extern struct mx_settings mx_settings;

/* Starts the core, and returns a status.  It is called before all other functions.  Later calls
 * do nothing. */
int mx_start(void);

const char *mx_version(void); /* the version of mxnp that the core was built with */
const char *mx_digest(void);  /* the hash of its C sources: see digest.py */

/* A row of ir/dtypes.def. */
struct mx_dtype_row {
    const char *name;   /* NumPy's name: "float32" */
    const char *c_type; /* "float" */
    int itemsize;       /* bytes */
    char kind;          /* 'b' bool, 'i' signed, 'u' unsigned, 'f' float, 'c' complex */
};

int mx_dtype_count(void);
const struct mx_dtype_row *mx_dtype_get(int dtype); /* NULL if out of range */

/* A row of ir/ops.def, which explains the columns. */
struct mx_op_row {
    const char *name;
    int nin;
    int nout;
    const char *types;
    const char *result;
    const char *identity;
    const char *expression;
    const char *summary;
};

int mx_op_count(void);
const struct mx_op_row *mx_op_get(int op); /* NULL if out of range */

struct mx_memory_info {
    size_t in_use;         /* bytes of blocks that buffers hold */
    size_t cached;         /* bytes of blocks that are cached for later requests */
    size_t peak;           /* largest value of in_use so far */
    size_t limit;          /* of cached */
    size_t n_system_calls; /* blocks requested from the system so far */
};

void mx_memory_info(struct mx_memory_info *out);

/* Sets the limit of the cache and frees cached blocks above it. */
void mx_memory_set_limit(size_t nbytes);

/* Frees cached blocks until at most nbytes are cached.  The limit stays.  If nbytes is 0,
 * malloc gives back what it keeps, too. */
void mx_memory_trim(size_t nbytes);

/* Returns how much freed memory malloc keeps, or 0 if its limits are not mxnp's. */
size_t mx_alloc_kept(void);
size_t mx_alloc_most_kept(size_t memory); /* the same for a process that may use this much */

/* For tests: refuses `count` requests of memory after `after` more have been served.  Returns
 * how many were refused since the last call. */
long mx_alloc_refuse(long after, long count);

/* An inner loop: NumPy's, or one with the same signature. */
typedef void (*mx_loop_function)(char **args, const intptr_t *dimensions,
                                 const intptr_t *strides, void *data);

struct mx_loop {
    mx_loop_function function;
    void *data;
    int clears; /* whether it clears the floating-point conditions that are set before the call
                 */
};

/* Finds a loop of a ufunc by its types, one NumPy type number for each operand.  ufunc_fields
 * is the address of the fields after the object's head.  Returns a status; it is a failure if
 * the ufunc does not have nin inputs, nout outputs and ntypes loops.  The loop is not called,
 * and `clears` is 0. */
int mx_loop_find(struct mx_loop *out, uintptr_t ufunc_fields, int nin, int nout, int ntypes,
                 const char *types);

/* Sets `clears`: comparisons and extremes clear the conditions, as they must not report NaN.
 * The loop runs on zeros, and on no elements along other axes than the first, as those of
 * matmul. */
void mx_loop_try(struct mx_loop *loop);

/* Returns the functions of the core that the bridge calls, a struct mx_recorder of
 * api/recorder.h.  The bridge records operations with them. */
const void *mx_recorder_table(void);

/* The kinds of instructions: what is computed from the inputs. */
enum mx_kind {
    MX_MAP,    /* loop(inputs, outputs) for each element */
    MX_REDUCE, /* output = loop(output, input) over the axes where the output's stride is 0 */
    MX_SCAN,   /* output[i] = loop(output[i - 1], input[i]) along an axis */
    MX_ARGREDUCE,    /* output = the index along an axis that loop(input) finds */
    MX_ARANGE,       /* a map over one axis; the loop's data points to the start of the block */
    MX_BOUNDS_CHECK, /* fails if an element of the input is out of bounds; no output */
    MX_GATHER,       /* output = the elements of the last input that the other inputs select */
    MX_SCATTER,      /* updates the elements of the output that the first inputs select: by
                        loop(element, last input), or to the last input */
    MX_KERNEL, /* launches a kernel; it has no axes, and the strides of an operand are the bytes
                  that the kernel may use before its address and from there on */
};

/* What a kernel computes, if a library of the device may compute it instead. */
enum mx_library_call { MX_NO_CALL, MX_MULTIPLY, MX_TRANSFORM, MX_LINEAR };

/* A group of the last flush: instructions that ran as one pass over memory. */
struct mx_group_row {
    int n_operations;
    const char *names[40];   /* of the operations, in the order in which they ran */
    unsigned char kinds[40]; /* enum mx_kind */
    int ndim;
    intptr_t shape[8];
    int n_temporaries; /* results that were never written to memory */
    size_t bytes_read;
    size_t bytes_written;
    int n_threads;
    int n_compiled; /* operations that compiled kernels computed */
    int64_t nanoseconds;
};

/* Copies a group of the last flush.  Returns 1, or 0 if there is no group with this number. */
int mx_flush_stats_get(int number, struct mx_group_row *out);

/* What the compiler of hot groups has done: see cpu/compiled/compiled.h. */
struct mx_compiled_stats {
    int64_t n_keys;      /* structures of groups that were compiled */
    int64_t n_kernels;   /* for their runs of operations */
    int64_t n_failures;  /* structures for which the compiler failed */
    int64_t nanoseconds; /* spent in the compiler */
};

void mx_compiled_stats(struct mx_compiled_stats *out);
void mx_compiled_wait(void); /* until all that was requested is compiled */

/* Code of compiled kernels on disk, by a key of any bytes.  mx_compiled_free frees what
 * mx_compiled_read returns, which is NULL if there is no code for the key. */
char *mx_compiled_read(const char *key, size_t key_size, size_t *size);
void mx_compiled_free(char *code);
void mx_compiled_write(const char *key, size_t key_size, const char *code, size_t size);
void mx_compiled_clear(void); /* deletes all */

int mx_thread_count(void); /* threads that run groups, including the calling thread */
void mx_set_thread_count(int count);

/* Threads that this process can run at once: at least 1.  The count respects the affinity and
 * the quotas of control groups, which are rounded up. */
int mx_usable_thread_count(void);

/* A row of gpu/devices.def: a kind of GPU. */
struct mx_device_row {
    const char *name;    /* in programs, in lower case */
    const char *title;   /* in messages */
    const char *kernels; /* folder of the kernel sources */
    const char *suffix;  /* of the kernel sources */
    int argument_bytes;  /* of one kernel: its numbers, without its buffers */
    int auto_size;       /* elements from which "auto" uses it, if nobody has measured them */
    int opening;         /* MiB that the processor computes while the device is initialized */
    int makes_progress;  /* whether threadgroups that have begun go on while others wait for
                            them: 0 or 1 */
};

int mx_device_count(void);
const struct mx_device_row *mx_device_get(int device); /* NULL if out of range */

/* Returns the name of a dtype in the device's kernel language, or "" if the device lacks it. */
const char *mx_device_type_name(int device, int dtype);

/* Returns the number of GPUs of this machine that the device can use: 0 if the build has no
 * driver for it. */
int mx_device_gpu_count(int device);
const char *mx_device_gpu_name(int device, int gpu); /* NULL if out of range */

/* Sets which of these GPUs the process uses, before the first kernel, and returns it.  Returns
 * a status: MX_ERROR_VALUE if the process uses another one.  The first function returns whether
 * it can be any but the default one. */
int mx_device_has_choice(int device);
int mx_device_choose(int device, int gpu);
int mx_device_chosen(int device);

/* Returns why the device cannot run kernels, and what to do about it, or "".  Initializes it.
 */
const char *mx_device_problem(int device);

/* Returns the names and versions of libraries that the device computes with, and what is
 * missing, in one line, or "". */
const char *mx_device_libraries(int device);

/* The preludes, with which kernels begin: a kernel compiles only what its kind uses. */
enum mx_prelude { MX_PRELUDE_MAP, MX_PRELUDE_REDUCE, MX_PRELUDE_SCATTER, MX_PRELUDE_COUNT };

/* Operations that have a size of their own from which the GPU is faster.  Searches such as
 * argmax count as reductions. */
enum mx_size { MX_SIZE_ELEMENTWISE, MX_SIZE_REDUCTION, MX_SIZE_SCAN, MX_SIZE_COUNT };

/* Lets operations on at least so many elements run on the device's default GPU.  `sizes` has
 * MX_SIZE_COUNT numbers.  "auto" initializes the device when operations of those sizes have
 * computed over `opening` bytes.  `preludes` has MX_PRELUDE_COUNT texts, which must not be
 * freed; NULL: no group runs there.  A process uses one device only: the other functions below
 * concern that one. */
void mx_gpu_use(int device, const char *const *preludes, const int64_t *sizes, int64_t opening);

int mx_gpu_is_used(void);   /* whether groups may run on a GPU */
int mx_gpu_is_wanted(void); /* whether "auto" has had enough work to initialize the device */
int mx_gpu_is_usable(void); /* false in the child of a fork.  Initializes the device */

int mx_gpu_has_own_memory(void); /* whether contents are copied to it */

/* Returns the most bytes of an array that kernels of a usable device can use.  A block of the
 * pool is up to an eighth larger than the array. */
int64_t mx_gpu_max_bytes(void);

/* Prepares MX_TRANSFORM or MX_LINEAR, an enum mx_library_call, with the numbers of its struct
 * in gpu/device.h.  Returns the bytes of scratch memory that it needs, or -1 if no library of
 * the device can compute it. */
int64_t mx_gpu_prepare(int call, const int64_t *numbers, int n);

struct mx_gpu_counts {
    int64_t groups;          /* groups that ran on the GPU */
    int64_t declined;        /* groups that the processor ran while the GPU was in use */
    int64_t dispatches;      /* launches of kernels */
    int64_t command_buffers; /* that contained the launches */
    int64_t compiled;        /* kernels compiled */
    int64_t rejected;        /* kernels that the compiler rejected, which is a bug of mxnp */
    int64_t work;            /* of the launches, as estimated: see gpu/work.h */
    int64_t bytes_in;        /* copied to memory that the GPU does not share */
    int64_t bytes_out;       /* copied from there */
    int64_t evicted;         /* arrays that left a GPU whose memory was full */
};

void mx_gpu_count(struct mx_gpu_counts *out); /* counts since the start */
const char *mx_gpu_text(void); /* the text of the last group's kernel, without the prelude */
const char *mx_gpu_rejection(void);     /* the compiler's last error message, or "" */
void mx_gpu_clear_cache(void);          /* deletes compiled kernels from disk */
int mx_gpu_set_kernel_limit(int limit); /* limits the cached kernels; returns the old limit */

/* For tests: sets the most work of one launch, or with 0 that of the device.  Returns the old
 * limit. */
int64_t mx_gpu_set_work_limit(int64_t limit);
