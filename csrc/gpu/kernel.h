#pragma once
/* kernel.h -- a kernel for a group: its text, its arguments and the memory that it uses.
 *
 * Shapes, strides, offsets and values are arguments, 64-bit numbers in one array, so that one
 * compiled kernel serves many groups.  The text does contain which strides are 0 or lead to the
 * next element along the last axis, whether a thread loads a pack of adjacent elements, and, in
 * powers of two, how many threads a result has.
 *
 * A buffer is bound once, however many views of it there are, because a kernel language may
 * assume that arguments do not overlap.
 */
#include "gpu/device.h"
#include "gpu/text.h"
#include "ir/ops.h"
#include "scheduler/fuse.h"

#define MX_KERNEL_BUFFERS 26  /* most buffers, without the status words and the arguments */
#define MX_KERNEL_ARGS    500 /* most arguments */
#define MX_KERNEL_VIEWS   (MX_MAX_STEPS * MX_MAX_OPERANDS)
#define MX_KERNEL_THREADS 256 /* of a threadgroup */

/* Memory that a kernel uses. */
struct mx_binding {
    struct mx_buffer *buffer; /* NULL: `size` bytes from `data` on, outside the pool */
    const char *data;
    size_t size;
    size_t lead; /* bytes before them in the copy, which preserve their alignment */
    bool is_written;
    bool is_overwritten; /* from end to end, so it need not hold what it held before */
    size_t offset;       /* bytes into the buffer, where the kernel's pointer begins */
};

struct mx_kernel {
    struct mx_text text;
    enum mx_prelude prelude; /* that precedes the text */
    int64_t args[MX_KERNEL_ARGS];
    int n_args;
    struct mx_binding bindings[MX_KERNEL_BUFFERS];
    int n_bindings;
    enum mx_grid kind;
    size_t grid[3];
    int64_t work; /* as estimated: see work.h */
    int origin;   /* number of the first of three arguments: see work.h; -1: there are none */
    bool has_status; /* the status words are bound after the buffers */
    bool is_full;    /* it needs more buffers or arguments than the limits allow */

    /* The group's axes, merged; x is the last. */
    int ndim;
    intptr_t shape[MX_MAX_NDIM];
    unsigned reduced; /* with the axis of a scan or a search, unless it has one element */
    bool is_wide;     /* offsets have 64 bits */
    int pack;         /* adjacent elements along the last axis that a thread loads at once */

    const struct mx_device *device;
    const struct mx_group *group;
    struct mx_instruction *instructions;
    intptr_t strides[MX_KERNEL_VIEWS][MX_MAX_NDIM]; /* of the group's views */
    int first_args[MX_KERNEL_VIEWS];                /* numbers of their first arguments */
    int buffers[MX_KERNEL_VIEWS];                   /* numbers of their bindings */
};

/* The status words of a group: see batch.h. */
struct mx_status_words {
    int64_t group;              /* number of the group in its batch */
    bool is_guarded;            /* the group does not run if an earlier check fails */
    int of_steps[MX_MAX_STEPS]; /* number of each step's word; 0: none */
};

static inline const struct mx_instruction *mx_kernel_instruction(const struct mx_kernel *kernel,
                                                                 int step)
{
    return &kernel->instructions[kernel->group->steps[step].instruction];
}

/* Begins a kernel over the axes of a group for the device in use.  Binds the views and merges
 * the axes.  With `sorts`, which requires that the order of elements does not matter, it first
 * sorts the axes. */
void mx_kernel_begin(struct mx_kernel *kernel, const struct mx_group *group,
                     struct mx_instruction *instructions, bool sorts);

/* Sets how many adjacent elements along the last axis a thread loads and stores at once, by the
 * sizes and the alignment of the elements.  It stays 1 if strides or offsets do not allow more.
 */
void mx_kernel_choose_pack(struct mx_kernel *kernel);

/* Whether the elements of a view are loaded in packs. */
bool mx_kernel_is_packed(const struct mx_kernel *kernel, int view);

/* These return the number of the argument and of the binding. */
int mx_kernel_arg(struct mx_kernel *kernel, int64_t value);
int mx_kernel_bind(struct mx_kernel *kernel, struct mx_buffer *buffer, bool is_written);

const char *mx_kernel_offset_type(const struct mx_kernel *kernel);

/* Sets what the grid counts, and prints the head of the function.  All buffers must have been
 * bound. */
void mx_kernel_print_head(struct mx_kernel *kernel, enum mx_grid kind,
                          const struct mx_status_words *words);

/* Prints i0, i1 ... of the axes whose bit is in `axes`, from a number that counts along them.
 */
void mx_kernel_print_axes(struct mx_kernel *kernel, unsigned axes, const char *number);

/* Prints i0, i1 ... of all axes from the thread's position, and sets the grid accordingly. */
void mx_kernel_print_positions(struct mx_kernel *kernel);

/* Print where the element of a view at i0, i1 ... is: as bytes from the beginning of the
 * binding, and as an address. */
void mx_kernel_print_offset(struct mx_kernel *kernel, int view);
void mx_kernel_print_address(struct mx_kernel *kernel, int view);
