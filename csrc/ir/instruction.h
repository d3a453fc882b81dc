#pragma once
/* instruction.h -- one recorded operation: a loop, the elements it goes over, the memory.
 *
 * An instruction is legal when it is recorded: shapes are broadcast, dtypes are the loop's
 * own, and an output overlaps an input only where it is the very same view.
 */
#include <stdatomic.h>

#include "base/base.h"

struct mx_buffer;

/* One operand: a view of memory, or one value for all elements. */
struct mx_operand {
    struct mx_buffer *buffer; /* counted memory the view lies in; NULL: kept by the recorder */
    intptr_t at;              /* first element: offset in the buffer, or else its address */
    int itemsize;
    int dtype; /* of dtypes.def */
    bool is_value;
    intptr_t strides[MX_MAX_NDIM]; /* bytes, along each axis of the instruction */
    _Alignas(16) char value[16];
};

/* Where an instruction may run. */
enum mx_target {
    MX_ANYWHERE,  /* a device takes it if it is large enough */
    MX_PROCESSOR, /* the processor only */
    MX_DEVICE,    /* a device, if it can */
};

#define MX_MAX_INDICES 3 /* arrays of one gather or scatter */

/* What becomes of an index i of an axis of n elements. */
enum mx_bounds {
    MX_PLAIN,    /* it is known to be one, and not negative */
    MX_NEGATIVE, /* it is known to be one; negative ones count from the end */
    MX_CLAMP,    /* negative ones count from the end; then the nearest that there is */
    MX_DROP,     /* negative ones count from the end; what is not there is left out */
    MX_NEAREST,  /* the nearest that there is; 0 for all negative ones */
    MX_MODULO,   /* i modulo n */
};

/* The indexed operand of a gather or a scatter has no strides along the axes of the indices:
 * these say where its elements are.  They are int64. */
struct mx_indexing {
    int n; /* index arrays */
    enum mx_bounds bounds;
    intptr_t strides[MX_MAX_INDICES]; /* bytes, along the indexed axes */
    intptr_t sizes[MX_MAX_INDICES];   /* of these axes */
    int axis;                         /* of a check: the axis of the array, for the message */
};

/* What a scatter does without a loop. */
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

/* A kernel of its own text, and how it runs on a device. */
struct mx_launch {
    const char *prelude, *source, *function;
    const int64_t *args; /* bound after the operands */
    int n_args;
    bool is_in_threadgroups; /* what the grid counts; otherwise threads */
    size_t grid[3], threads[3];
};

/* What an instruction took, if somebody measures: its share of its group's. */
struct mx_cost {
    int64_t group;       /* number of the group, from 1; 0: it did not run */
    int64_t begin;       /* of the group: nanoseconds of the monotonic clock */
    int64_t nanoseconds; /* shares of a group add up to its time; before, a sample of it */
    size_t bytes_read, bytes_written;
    int n_together;         /* steps of the group */
    int n_elided;           /* outputs that never were in memory */
    bool is_on_device;      /* rather than on the processor */
    bool is_rematerialized; /* it computes once more what had not been in memory */
};

struct mx_instruction {
    struct mx_loop loop; /* what it does with elements, for the processor */
    int op;              /* ... and for all: of ops.h */
    enum mx_kind kind;
    enum mx_target device;
    bool is_for_device;             /* it suits the device */
    int axis;                       /* of a scan or a search */
    enum mx_update update;          /* of a scatter */
    const struct mx_launch *launch; /* of a kernel; its place keeps it */
    struct mx_indexing indexing;
    bool begins_with_zero; /* a reduction, rather than with its first element */
    int nin, nout;
    int ndim;
    intptr_t shape[MX_MAX_NDIM];                 /* no axis is empty */
    struct mx_operand operands[MX_MAX_OPERANDS]; /* inputs, then outputs */
    struct mx_cost cost;                         /* the stream's; what is above is copied */
    const char *name;                            /* of the operation; lives for good */
    int fpe_mask;             /* floating-point conditions the recorder wants to hear of */
    atomic_int fpe_flags;     /* those of them that were met */
    void *call_site;          /* the recorder's own: where in the program this was recorded */
    int64_t sequence;         /* place in program order, from 1 */
    bool is_rematerializable; /* it ran, and a copy of it waits: see stream.h */

    uintptr_t thread;      /* that recorded it: mx_stream_thread */
    int64_t newest_buffer; /* number of the last buffer that had been made by then */
    atomic_bool
        is_failed;     /* a check that found an index which is none, or a device's failure */
    int64_t failed_by; /* sequence of the check that it is not to run after, or 0 */
    bool is_finished;  /* it ran, or it is not to run */
};

/* The operand that indices go into, or -1. */
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
