/* mxnp.h -- the whole C API, as Python sees it.
 *
 * Declarations and comments only: the binding reads this very file.  Every function
 * that gives an int gives a status, and a pointer that may be NULL says so; after a
 * failure the text is in mx_error_message() and nothing else has changed.
 *
 * Memory is named by the address of its first byte, as NumPy sees it.
 */

enum mx_status { MX_OK, MX_ERROR_MEMORY, MX_ERROR_VALUE, MX_ERROR_DEVICE };

const char *mx_error_message(void); /* of this thread's last failure; never NULL */

/* Once, before anything else; more calls do nothing. */
int mx_start(void);

const char *mx_version(void); /* of the package this core was built with */
const char *mx_digest(void);  /* of the C sources it was built from: see digest.py */

/* One row of dtypes.def. */
struct mx_dtype_row {
    const char *name;     /* as in NumPy: "float32" */
    const char *c_type;   /* "float" */
    const char *msl_type; /* "float"; empty where Metal has none */
    int itemsize;         /* bytes */
    char kind;            /* 'b' bool, 'i' signed, 'u' unsigned, 'f' float, 'c' complex */
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

/* Counted memory from the pool: page-aligned, not cleared. */
char *mx_memory_new(size_t nbytes); /* with a count of one; NULL */
void mx_memory_retain(char *memory);
void mx_memory_release(char *memory); /* back to the pool with the last count */
size_t mx_memory_nbytes(const char *memory);

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

/* The inner loop of a NumPy ufunc for one combination of dtypes. */
struct mx_loop {
    void (*function)(char **args, const intptr_t *dimensions, const intptr_t *strides,
                     void *data);
    void *data;
    int nargs; /* inputs and outputs */
};

/* Finds it in the ufunc whose fields (behind the object's head) are at this address and
 * must begin with nin, nout and end in ntypes loops; types has one NumPy type number for
 * each of nargs operands. */
int mx_loop_find(struct mx_loop *out, uintptr_t ufunc_fields, int nin, int nout, int ntypes,
                 const char *types);

/* One operand of a recorded loop. */
struct mx_operand {
    char *data;      /* of its first element */
    intptr_t stride; /* bytes */
    char *memory;    /* counted memory that data points into, or NULL */
};

/* Append one instruction to the stream: loop over n elements.  What is counted is
 * retained until it has run; what is not must stay alive until the flush. */
int mx_record(const struct mx_loop *loop, const struct mx_operand *operands, intptr_t n);

/* Run everything recorded, in order.  floating_status gets the conditions met, as in
 * NumPy: 1 divide by zero, 2 overflow, 4 underflow, 8 invalid. */
int mx_flush(int *floating_status);

size_t mx_pending(void); /* instructions recorded and not yet run */

/* Metal devices of this machine: none where there is no Metal. */
int mx_metal_device_count(void);
const char *mx_metal_device_name(int device); /* owned by the core; NULL if out of range */
