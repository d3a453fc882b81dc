/* mxnp.h -- the whole C API, as Python sees it.
 *
 * Declarations and comments only: the binding reads this very file.  Every function
 * that gives an int gives a status, and a pointer that may be NULL says so; after a
 * failure the text is in mx_error_message() and nothing else has changed.
 */

enum mx_status { MX_OK, MX_ERROR_MEMORY, MX_ERROR_VALUE, MX_ERROR_DEVICE, MX_INTERRUPTED };

const char *mx_error_message(void); /* of this thread's last failure; never NULL */

/* Once, before anything else; more calls do nothing. */
int mx_start(void);

const char *mx_version(void); /* of the package this core was built with */
const char *mx_digest(void);  /* of the C sources it was built from: see digest.py */

/* One row of dtypes.def. */
struct mx_dtype_row {
    const char *name;   /* as in NumPy: "float32" */
    const char *c_type; /* "float" */
    int itemsize;       /* bytes */
    char kind;          /* 'b' bool, 'i' signed, 'u' unsigned, 'f' float, 'c' complex */
};

int mx_dtype_count(void);
const struct mx_dtype_row *mx_dtype_get(int dtype); /* static; NULL if out of range */

/* One row of ops.def: see there for the words. */
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
const struct mx_op_row *mx_op_get(int op); /* static; NULL if out of range */

struct mx_memory_info {
    size_t in_use;         /* bytes in blocks that somebody holds */
    size_t cached;         /* bytes in blocks kept for the next request */
    size_t peak;           /* most bytes ever in use */
    size_t limit;          /* most bytes to be cached */
    size_t n_system_calls; /* blocks that had to be asked of the system so far */
};

void mx_memory_info(struct mx_memory_info *out);
void mx_memory_set_limit(size_t nbytes); /* frees what is cached beyond it */
void mx_memory_trim(size_t nbytes);      /* frees what is cached beyond nbytes, this once */

/* For tests: lets `after` requests of memory from the system through, then refuses `count` of
 * them.  Gives how many were refused since the last call. */
long mx_alloc_refuse(long after, long count);

/* An inner loop: NumPy's, or one with the same signature. */
typedef void (*mx_loop_function)(char **args, const intptr_t *dimensions,
                                 const intptr_t *strides, void *data);

struct mx_loop {
    mx_loop_function function;
    void *data;
    int clears; /* whether it forgets the floating-point conditions that were met before */
};

/* Finds the loop of the ufunc whose fields (behind the object's head) are at this address
 * and must begin with nin, nout and end in ntypes loops; types has one NumPy type number
 * for each operand. */
int mx_loop_find(struct mx_loop *out, uintptr_t ufunc_fields, int nin, int nout, int ntypes,
                 const char *types);

/* Operations are recorded by the bridge, which calls this table of functions: the struct
 * mx_recorder of recorder.h. */
const void *mx_recorder_table(void);

/* Kinds of instructions. */
enum mx_kind {
    MX_MAP,    /* loop(inputs, outputs) for each element */
    MX_REDUCE, /* output = loop(output, input) over the axes where the output's stride is 0 */
    MX_SCAN,   /* output[i] = loop(output[i - 1], input[i]) along an axis */
    MX_ARGREDUCE,    /* output = the index along an axis that loop(input) gives */
    MX_ARANGE,       /* a map over one axis; the loop's data tells where on it a block begins */
    MX_BOUNDS_CHECK, /* fails if an element of its input is no index of an axis; no output */
    MX_GATHER,  /* output = the elements of the last input that the others are indices of */
    MX_SCATTER, /* the elements of the output that the first inputs are indices of =
                   loop(themselves, last input), or the last input */
    MX_KERNEL,  /* a kernel is launched: no axes; the strides of an operand are the bytes that
                   it may use before its place and from there on */
};

/* One group of the last flush: what ran as one pass over memory. */
struct mx_group_row {
    int n_operations;
    const char *names[40];   /* of the operations, in the order they ran */
    unsigned char kinds[40]; /* enum mx_kind */
    int ndim;
    intptr_t shape[8];
    int n_temporaries; /* results that never were in memory */
    size_t bytes_read;
    size_t bytes_written;
    int n_threads;
    int64_t nanoseconds;
};

int mx_flush_stats_get(int number, struct mx_group_row *out); /* whether there is one */

int mx_thread_count(void); /* threads that run groups, with the caller */
void mx_set_thread_count(int count);

/* Threads that this process can run at once: at least 1.  The count respects the affinity and
 * the quotas of control groups, which are rounded up. */
int mx_usable_thread_count(void);

/* One row of gpu/devices.def: a kind of GPU. */
struct mx_device_row {
    const char *name;   /* in programs, in lower case */
    const char *title;  /* in messages */
    const char *suffix; /* of the kernel sources, which are in the folder of this name */
};

int mx_device_count(void);
const struct mx_device_row *mx_device_get(int device); /* static; NULL if out of range */

/* Name of a dtype in the device's kernel language; empty if the device lacks the dtype. */
const char *mx_device_type_name(int device, int dtype);

/* The GPUs of this machine that the device can use: 0 if the build has no driver for it. */
int mx_device_gpu_count(int device);
const char *mx_device_gpu_name(int device,
                               int gpu); /* owned by the core; NULL if out of range */

/* Lets groups of at least this many elements run on the device's default GPU.  Their kernels
 * begin with the prelude, which must not be freed; NULL: no group runs there.  A process uses
 * one device only: the other functions below concern that one. */
void mx_gpu_use(int device, const char *prelude, int64_t threshold);

int mx_gpu_is_used(void);   /* whether groups may run on a GPU */
int mx_gpu_is_usable(void); /* not in a forked process */

struct mx_gpu_counts {
    int64_t groups;          /* that ran on the GPU */
    int64_t declined;        /* that the processor ran while the GPU was in use */
    int64_t dispatches;      /* of kernels */
    int64_t command_buffers; /* that contained the dispatches */
    int64_t compiled;        /* kernels */
    int64_t rejected;        /* kernels that the compiler rejected, which is a bug of mxnp */
};

void mx_gpu_count(struct mx_gpu_counts *out); /* since the start */
const char *mx_gpu_text(void);          /* of the last kernel of a group, without prelude */
const char *mx_gpu_rejection(void);     /* the last message about a rejected kernel, or "" */
int mx_gpu_set_kernel_limit(int limit); /* on cached kernels; returns the previous limit */
