#pragma once
/* instruction.h -- one recorded operation: a loop, the elements it goes over, the memory.
 *
 * An instruction is legal when it is recorded: shapes are broadcast, dtypes are the loop's
 * own, and an output overlaps an input only where it is the very same view.
 */
#include <stdatomic.h>

#include "base.h"

struct mx_buffer;

/* One operand: a view of memory, or one value for all elements. */
struct mx_operand {
    struct mx_buffer *buffer; /* counted memory the view lies in; NULL: kept by the recorder */
    intptr_t at;              /* first element: offset in the buffer, or else its address */
    int itemsize;
    bool is_value;
    intptr_t strides[MX_MAX_NDIM]; /* bytes, along each axis of the instruction */
    _Alignas(16) char value[16];
};

enum mx_kind {
    MX_MAP,    /* loop(inputs, outputs) for each element */
    MX_REDUCE, /* output = loop(output, input) over the axes where the output's stride is 0 */
    MX_SCAN,   /* output[i] = loop(output[i - 1], input[i]) along an axis */
    MX_FIND,   /* output = the index along an axis that loop(input) gives */
    MX_RANGE,  /* a map over one axis; the loop's data tells where on it a block begins */
};

/* Maps that pairs are made of (cpu/pairs.h), of floats all of one size. */
enum mx_arithmetic { MX_NO_ARITHMETIC, MX_ADD, MX_SUBTRACT, MX_MULTIPLY };

struct mx_instruction {
    struct mx_loop loop;
    enum mx_kind kind;
    enum mx_arithmetic arithmetic;
    int axis;              /* of a scan or a search */
    bool begins_with_zero; /* a reduction, rather than with its first element */
    int nin, nout;
    int ndim;
    intptr_t shape[MX_MAX_NDIM];                 /* no axis is empty */
    struct mx_operand operands[MX_MAX_OPERANDS]; /* inputs, then outputs */
    const char *name;                            /* of the operation; lives for good */
    int wanted;        /* floating-point conditions the recorder wants to hear of */
    atomic_int raised; /* those of them that were met */
    void *place;       /* the recorder's own: where in the program this was recorded */
    int64_t sequence;  /* place in program order, from 1 */
    bool is_kept;      /* it ran, and a copy of it waits: see stream.h */
};

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
