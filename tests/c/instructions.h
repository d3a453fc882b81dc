#pragma once
/* instructions.h -- arrays, loops and instructions for tests of the core. */
#include <string.h>

#include "base/alloc.h"
#include "check.h"
#include "ir/dtypes.h"
#include "ir/ops.h"
#include "memory/buffer.h"
#include "scheduler/stream.h"

static inline struct mx_memory_info memory_info(void)
{
    struct mx_memory_info out;
    mx_pool_info(&out);
    return out;
}

/* -- Arrays ------------------------------------------------------------------------- */

/* The owner of a buffer, to which the buffer publishes its address.  It must not be moved. */
struct array {
    struct mx_buffer *buffer;
    char *data; /* a placeholder until the buffer is allocated */
};

static inline void array_init(struct array *array, size_t nbytes)
{
    array->buffer = mx_buffer_new(nbytes);
    CHECK(array->buffer);
    array->data = mx_buffer_address(array->buffer);
    array->buffer->published = &array->data;
}

/* Allocates an array of n numbers with the same value. */
static inline double *array_init_doubles(struct array *array, int n, double value)
{
    array_init(array, (size_t)n * sizeof(double));
    CHECK(mx_buffer_publish(array->buffer) == MX_OK);
    double *data = (double *)(void *)array->data;
    for (int i = 0; i < n; i++)
        data[i] = value;
    return data;
}

static inline void array_drop(struct array *array)
{
    array->buffer->published = NULL;
    mx_buffer_release(array->buffer);
    array->buffer = NULL;
}

/* -- Operands ----------------------------------------------------------------------- */

/* Returns an operand with one axis, whose elements are `stride` bytes apart from `at` on. */
static inline struct mx_operand strided(struct mx_buffer *buffer, intptr_t at, intptr_t stride)
{
    return (struct mx_operand){
        .buffer = buffer,
        .at = at,
        .itemsize = sizeof(double),
        .dtype = MX_DTYPE_float64,
        .strides = {stride},
    };
}

static inline struct mx_operand row(const struct array *array)
{
    return strided(array->buffer, 0, sizeof(double));
}

static inline struct mx_operand value(double x)
{
    struct mx_operand operand = {
        .itemsize = sizeof x, .dtype = MX_DTYPE_float64, .is_value = true};
    memcpy(operand.value, &x, sizeof x);
    return operand;
}

/* Returns an operand with a shape, in C order. */
static inline struct mx_operand packed(struct mx_buffer *buffer, int itemsize, int ndim,
                                       const intptr_t *shape)
{
    struct mx_operand operand = {.buffer = buffer, .itemsize = itemsize};
    intptr_t stride = itemsize;
    for (int i = ndim - 1; i >= 0; i--) {
        operand.strides[i] = stride;
        stride *= shape[i];
    }
    return operand;
}

/* -- Loops -------------------------------------------------------------------------- */

/* The accesses are volatile, so that elements and their conditions are computed one by one. */
#define UNARY_LOOP(name, from, to, expression)                                             \
    static inline void name(char **args, const intptr_t *n, const intptr_t *s, void *data) \
    {                                                                                      \
        (void)data;                                                                        \
        for (intptr_t i = 0; i < *n; i++) {                                                \
            const from x = *(const volatile from *)(const void *)(args[0] + i * s[0]);     \
            *(volatile to *)(void *)(args[1] + i * s[1]) = (to)(expression);               \
        }                                                                                  \
    }

#define BINARY_LOOP(name, from, to, expression)                                            \
    static inline void name(char **args, const intptr_t *n, const intptr_t *s, void *data) \
    {                                                                                      \
        (void)data;                                                                        \
        for (intptr_t i = 0; i < *n; i++) {                                                \
            const from x = *(const volatile from *)(const void *)(args[0] + i * s[0]);     \
            const from y = *(const volatile from *)(const void *)(args[1] + i * s[1]);     \
            *(volatile to *)(void *)(args[2] + i * s[2]) = (to)(expression);               \
        }                                                                                  \
    }

UNARY_LOOP(square, double, double, x *x)
BINARY_LOOP(add, double, double, x + y)
BINARY_LOOP(multiply, double, double, x *y)
BINARY_LOOP(divide, double, double, x / y)

/* -- Instructions ------------------------------------------------------------------- */

static inline struct mx_instruction unary(const char *name, mx_loop_function loop, intptr_t n,
                                          struct mx_operand a, struct mx_operand out)
{
    return (struct mx_instruction){
        .loop = {loop, NULL},
        .op = MX_NO_OP,
        .nin = 1,
        .nout = 1,
        .ndim = 1,
        .shape = {n},
        .operands = {a, out},
        .name = name,
    };
}

static inline struct mx_instruction binary(const char *name, mx_loop_function loop, intptr_t n,
                                           struct mx_operand a, struct mx_operand b,
                                           struct mx_operand out)
{
    return (struct mx_instruction){
        .loop = {loop, NULL},
        .op = MX_NO_OP,
        .nin = 2,
        .nout = 1,
        .ndim = 1,
        .shape = {n},
        .operands = {a, b, out},
        .name = name,
    };
}

/* Returns an instruction that writes the sum over the axis to `out`. */
static inline struct mx_instruction sum(intptr_t n, struct mx_operand a, struct mx_operand out)
{
    struct mx_instruction in = unary("add.reduce", add, n, a, out);
    in.kind = MX_REDUCE;
    in.operands[1].strides[0] = 0;
    return in;
}

static inline int64_t record(struct mx_instruction in)
{
    int64_t sequence = 0, before = mx_stream_recorded();
    CHECK(mx_stream_append(&in, &sequence) == MX_OK);
    CHECK(sequence > before);
    return sequence;
}

/* Runs the stream and returns the status.  If `look` is not NULL, it reads the instructions. */
static inline int flush_and(void (*look)(const struct mx_instruction *items, size_t count))
{
    size_t count = 0, n_taken = 0;
    mx_stream_enter();
    int status = mx_stream_prepare(&n_taken);
    if (status == MX_OK)
        status = mx_stream_run(NULL);
    if (status == MX_OK) {
        struct mx_instruction *items = mx_stream_take_back(&count);
        CHECK(count == n_taken);
        if (look)
            look(items, count);
        mx_free(items);
    }
    mx_stream_leave();
    return status;
}

/* Runs the queue.  Releases the buffer whose memory was refused, which is only for reports. */
static inline int flush(void)
{
    int status = flush_and(NULL);
    struct mx_buffer *refused = mx_buffer_take_refused();
    if (refused)
        mx_buffer_release(refused);
    return status;
}

/* -- Random numbers ----------------------------------------------------------------- */

static inline uint32_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

/* Returns a random number from 0 to n - 1. */
static inline int below(uint64_t *state, int n)
{
    return (int)(next_random(state) % (uint32_t)n);
}
