#pragma once
/* kernel.h -- a kernel for a group: its text, and what it is given when it runs.
 *
 * The text does not depend on shapes, strides, offsets or values: these are arguments, 64-bit
 * numbers in one array, so that a kernel that was compiled once serves many groups.  Strides
 * that are 0 or lead to the next element along the last axis are in the text.
 *
 * A buffer is bound once, whatever number of views there is of it: Metal takes it that
 * arguments do not overlap.
 */
#include "gpu/text.h"
#include "ir/dtypes.h"
#include "ir/ops.h"
#include "scheduler/fuse.h"

#define MX_KERNEL_BUFFERS 26 /* of the 31 that Metal has */
#define MX_KERNEL_ARGS    500
#define MX_KERNEL_VIEWS   (MX_MAX_STEPS * MX_MAX_OPERANDS)
#define MX_KERNEL_THREADS 256 /* of a threadgroup */

/* Memory that a kernel uses. */
struct mx_binding {
    struct mx_buffer *buffer; /* NULL: a copy is bound */
    const char *data;         /* ... of the bytes from here on */
    size_t size;
    size_t lead; /* bytes of the copy before them, which keep their alignment */
    bool is_written;
    size_t offset; /* bytes, where the kernel finds what it uses */
};

/* What a thread of the kernel stands for. */
enum mx_grid {
    MX_THREADS,     /* the numbers of threads along x, y and z */
    MX_THREADGROUPS /* ... or of threadgroups of MX_KERNEL_THREADS */
};

struct mx_kernel {
    struct mx_text text;
    int64_t args[MX_KERNEL_ARGS];
    int n_args;
    struct mx_binding bindings[MX_KERNEL_BUFFERS];
    int n_bindings;
    enum mx_grid kind;
    size_t grid[3];
    bool has_words; /* bound after all others */
    bool is_full;   /* it takes more buffers or arguments than there may be */

    /* The group's axes, merged; x is the last. */
    int ndim;
    intptr_t shape[MX_MAX_NDIM];
    unsigned reduced; /* also the axis of a scan or a search; none if it has one element */
    bool is_wide;     /* offsets take 64 bits */

    const struct mx_group *group;
    struct mx_instruction *instructions;
    intptr_t strides[MX_KERNEL_VIEWS][MX_MAX_NDIM]; /* of the group's views */
    int places[MX_KERNEL_VIEWS];                    /* where their arguments begin */
    int buffers[MX_KERNEL_VIEWS];                   /* their bindings */
};

/* A kernel that tells of conditions or checks does so in words of a batch: the first is the
 * least number of a group with a check that failed. */
struct mx_words {
    int64_t group;              /* number of the group in its batch */
    bool is_guarded;            /* the group does not run after a check that failed */
    int of_steps[MX_MAX_STEPS]; /* the word of each step of the group; 0: none */
};

static inline const struct mx_instruction *mx_kernel_instruction(const struct mx_kernel *kernel,
                                                                 int step)
{
    return &kernel->instructions[kernel->group->steps[step].instruction];
}

/* -- kernel.c ---------------------------------------------------------------------- */

/* Begins a kernel over the axes of a group: the views are bound, the axes merged, and sorted
 * before if the order in which elements come does not matter. */
void mx_kernel_begin(struct mx_kernel *kernel, const struct mx_group *group,
                     struct mx_instruction *instructions, bool sorts);

int mx_kernel_arg(struct mx_kernel *kernel, int64_t value); /* its number */
int mx_kernel_bind(struct mx_kernel *kernel, struct mx_buffer *buffer, bool is_written);

const char *mx_kernel_offset_type(const struct mx_kernel *kernel);

/* The head of the kernel's function; `position` are parameters with attributes. */
void mx_kernel_print_head(struct mx_kernel *kernel, const char *position,
                          const struct mx_words *words);

/* i0, i1 ... of the axes whose bit is in `axes`, from a number that counts along them. */
void mx_kernel_print_axes(struct mx_kernel *kernel, unsigned axes, const char *number);

/* i0, i1 ... of all axes from the thread's position, and the grid that goes with it. */
void mx_kernel_print_positions(struct mx_kernel *kernel);

/* Where the element of a view at i0, i1 ... is: bytes from the beginning of what is bound; the
 * address. */
void mx_kernel_print_offset(struct mx_kernel *kernel, int view);
void mx_kernel_print_address(struct mx_kernel *kernel, int view);

const char *mx_msl_type(int dtype);

/* -- steps.c ----------------------------------------------------------------------- */

/* Whether Metal can do what an instruction of a group does with each element. */
bool mx_step_is_possible(const struct mx_instruction *in);

/* Declarations of the views' variables, and what the steps tell. */
void mx_steps_declare(struct mx_kernel *kernel, const struct mx_words *words);

/* Loads what is read where the views say. */
void mx_steps_load(struct mx_kernel *kernel);

/* Loads what is read, does the steps but for reductions, and stores what is written. */
void mx_steps_print(struct mx_kernel *kernel,
                    void (*print_reduction)(struct mx_kernel *kernel, int step));
void mx_steps_tell(struct mx_kernel *kernel, const struct mx_words *words);

/* Whether it may meet floating-point conditions that somebody wants to hear of, or fail. */
bool mx_step_tells(const struct mx_instruction *in);

/* The operand of a step: a variable, or a value among the arguments. */
void mx_step_print_operand(struct mx_kernel *kernel, int step, int k);

/* `place`, the offset of the element that the indices of a step find in operand k, and
 * `is_there`. */
void mx_step_print_place(struct mx_kernel *kernel, int step, int k);

/* A struct `name` whose function apply is the operation on two of these. */
void mx_step_print_operation(struct mx_kernel *kernel, int op, const char *name,
                             const char *type, const char *second_type);

/* -- passes.c ---------------------------------------------------------------------- */

/* How the units of a reduction are shared among threads. */
struct mx_reduce_shape {
    int64_t n_units, length; /* results; elements of each */
    int64_t segments;        /* that the elements of a unit are cut into */
    int width;               /* threads of a threadgroup that have units of their own */
};

void mx_pass_write_map(struct mx_kernel *kernel, const struct mx_words *words);

/* Of a group with reductions.  With several segments the results of each go to `partials`, one
 * buffer for each reduction in order, which must be big enough. */
struct mx_reduce_shape mx_pass_shape_reduce(const struct mx_kernel *kernel);
void mx_pass_write_reduce(struct mx_kernel *kernel, const struct mx_words *words,
                          const struct mx_reduce_shape *shape, struct mx_buffer **partials);

/* Then for each reduction: the results of its segments. */
void mx_pass_write_combine(struct mx_kernel *kernel, const struct mx_words *words, int step,
                           const struct mx_reduce_shape *shape, struct mx_buffer *partial);

/* The type that a reduction keeps its result in meanwhile. */
const char *mx_pass_partial_type(const struct mx_instruction *in, int *itemsize);

/* Whether few lines are so long that a threadgroup for each, which is what scans and searches
 * have, is slower than the processor. */
bool mx_pass_has_long_lines(const struct mx_kernel *kernel);

void mx_pass_write_scan(struct mx_kernel *kernel, const struct mx_words *words);

/* A scatter.  When several values may go to one element, `winners` has a number for each
 * element, zero before: the first pass finds who comes last, the second one writes. */
enum mx_scatter_pass { MX_SCATTER_UPDATES, MX_SCATTER_FINDS_LAST, MX_SCATTER_WRITES_LAST };
void mx_pass_write_scatter(struct mx_kernel *kernel, const struct mx_words *words,
                           enum mx_scatter_pass pass, struct mx_buffer *winners);
