#pragma once
/* instruction.h -- a recorded operation: a loop, the elements that it goes over, and their
 * memory.
 *
 * An instruction is legal when it is recorded: shapes are broadcast and no axis is empty,
 * dtypes are those of the loop, and an output overlaps an input only if both are the same view.
 */
#include <stdatomic.h>

#include "base/base.h"

struct mx_buffer;

/* An operand: a view of memory, or one value for all elements. */
struct mx_operand {
    struct mx_buffer
        *buffer; /* memory of the view; NULL: the recorder keeps the memory alive */
    intptr_t at; /* first element: offset in the buffer, or its address without one */
    int itemsize;
    int dtype; /* row of dtypes.def */
    bool is_value;
    intptr_t strides[MX_MAX_NDIM]; /* bytes, along each axis of the instruction */
    _Alignas(16) char value[16];
};

/* Where an instruction may run. */
enum mx_target {
    MX_ANYWHERE,  /* on the device if it is large enough */
    MX_PROCESSOR, /* only on the processor */
    MX_DEVICE,    /* on the device if that is possible */
};

#define MX_MAX_INDICES 3 /* arrays of one gather or scatter */

/* How an index into an axis is interpreted. */
enum mx_bounds {
    MX_PLAIN,    /* it is known to be in bounds and not negative */
    MX_NEGATIVE, /* it is known to be in bounds; negative indices count from the end */
    MX_CLAMP,    /* negative indices count from the end; then the nearest valid index */
    MX_DROP,     /* negative indices count from the end; those out of bounds are left out */
    MX_NEAREST,  /* the nearest valid index; 0 for all negative indices */
    MX_MODULO,   /* the index modulo the length of the axis */
};

/* The indexed operand of a gather or a scatter has strides of 0 along the axes of the indices,
 * because the indices determine its elements.  Indices are int64. */
struct mx_indexing {
    int n; /* index arrays; 1 for a check */
    enum mx_bounds bounds;
    intptr_t strides[MX_MAX_INDICES]; /* bytes, along the indexed axes */
    intptr_t sizes[MX_MAX_INDICES];   /* of the indexed axes */
    int axis;                         /* of a check: the axis that its message names */
};

/* The updates that a scatter makes without a loop. */
enum mx_update {
    MX_BY_LOOP,
    MX_SET,
    MX_UPDATE_ADD,
    MX_UPDATE_SUBTRACT,
    MX_UPDATE_MULTIPLY,
    MX_UPDATE_DIVIDE,
    MX_UPDATE_MAXIMUM,
    MX_UPDATE_MINIMUM,
};

/* A kernel that the program wrote, and its launch on a device. */
struct mx_launch {
    const char *prelude, *source, *function;
    const int64_t *args; /* bound after the operands */
    int n_args;
    bool is_in_threadgroups; /* the grid counts threadgroups, otherwise threads */
    size_t grid[3], threads[3];
    int64_t work; /* as estimated; if it is positive, the launch may be cut: see gpu/work.h */
    enum mx_library_call call; /* the arguments then are those of gpu/device.h; without a
                          kernel, the source is empty */
};

/* What an instruction cost, if costs are measured: its share of the cost of its group. */
struct mx_cost {
    int64_t group;       /* number of the group, from 1; 0 if it did not run */
    int64_t begin;       /* of the group: nanoseconds of the monotonic clock */
    int64_t nanoseconds; /* the shares of a group add up to its time; while it runs, a sample */
    size_t bytes_read, bytes_written;
    int n_together;         /* steps of the group */
    int n_elided;           /* outputs that were never written to memory */
    bool is_on_device;      /* it ran on the device, not on the processor */
    bool is_rematerialized; /* it ran again, as its first run wrote no result */
};

struct mx_instruction {
    struct mx_loop loop; /* computes elements on the processor */
    int op;              /* of ops.h; backends that use no loops go by it */
    enum mx_kind kind;
    enum mx_target device;
    bool is_for_device;             /* the device is asked to run it */
    int axis;                       /* of a scan, an argmax or an argmin */
    enum mx_update update;          /* of a scatter */
    bool warns_as_at;               /* NumPy's warnings name the method of a scatter */
    const struct mx_launch *launch; /* of a kernel; the call site keeps it alive */
    struct mx_indexing indexing;
    bool begins_with_zero; /* a reduction begins with 0, otherwise with its first element */
    bool keeps_order;      /* in NumPy's order, if that is not too slow */
    int nin, nout;
    int ndim;
    intptr_t shape[MX_MAX_NDIM];                 /* no axis is empty */
    struct mx_operand operands[MX_MAX_OPERANDS]; /* inputs, then outputs */
    struct mx_cost cost;                         /* set by the stream */
    const char *name;                            /* of the operation; never freed */
    int fpe_mask;             /* floating-point conditions that the recorder reports */
    atomic_int fpe_flags;     /* those of them that were met */
    void *call_site;          /* private to the recorder: where the program recorded this */
    int64_t sequence;         /* position in program order, from 1 */
    bool is_rematerializable; /* it ran without writing a result: see stream.h */

    uintptr_t thread;      /* the thread that recorded it: mx_stream_thread */
    int64_t newest_buffer; /* number of the newest buffer when this was recorded */
    atomic_bool is_failed; /* a check found an index out of bounds, or the device failed */
    int64_t
        failed_by;    /* sequence number of the failed check that stops it from running, or 0 */
    bool is_finished; /* it ran, or a failed check stops it from running */
};

/* Returns whether an instruction obeys the rules above, as far as it shows by itself. */
bool mx_instruction_is_legal(const struct mx_instruction *in);

/* Returns the number of the operand whose elements are selected by indices, or -1. */
static inline int mx_indexed_operand(const struct mx_instruction *in)
{
    return in->kind == MX_GATHER ? in->nin - 1 : in->kind == MX_SCATTER ? in->nin : -1;
}

static inline int mx_operand_count(const struct mx_instruction *in)
{
    return in->nin + in->nout;
}

static inline intptr_t mx_element_count(const struct mx_instruction *in)
{
    intptr_t n = 1;
    for (int i = 0; i < in->ndim; i++)
        n *= in->shape[i];
    return n;
}
