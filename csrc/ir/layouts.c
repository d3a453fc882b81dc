/* layouts.c -- the layouts of operands in which a loop has other last bits. */
#include "ir/layouts.h"

#include <fenv.h>
#include <string.h>

#include "ir/dtypes.h"

enum {
    LENGTH = 67, /* elements of an operand: several vectors and a rest */
    MOST_STEP = 2,
    LARGEST = 16, /* bytes of an element */
    OPERAND_SIZE = (LENGTH * MOST_STEP + 1) * LARGEST
};

/* The operands of a loop; memory[k] begins with space for one element more. */
struct operands {
    int nin, nout;
    const int *dtypes;
    char *args[MX_MAX_OPERANDS];
    intptr_t strides[MX_MAX_OPERANDS];
    _Alignas(LARGEST) char memory[MX_MAX_OPERANDS][OPERAND_SIZE];
};

/* Writes a real number, or a part of a complex one: floats from 0 to 2, integers 0 and 1. */
static void write_number(char *to, int dtype, uint64_t seed)
{
    uint64_t bits = seed * 0x9e3779b97f4a7c15; /* 2**64 over the golden ratio */
    bits = (bits ^ bits >> 29) * 0xbf58476d1ce4e5b9;
    double number = (double)(bits >> 11) * 0x1p-52;
    float single = (float)number;
    uint16_t half = (uint16_t)(0x2c00 + (bits >> 32) % 0x1400);
    switch (dtype) {
    case MX_DTYPE_float16:
        memcpy(to, &half, sizeof half);
        return;
    case MX_DTYPE_float32:
    case MX_DTYPE_complex64:
        memcpy(to, &single, sizeof single);
        return;
    case MX_DTYPE_float64:
    case MX_DTYPE_complex128:
        memcpy(to, &number, sizeof number);
        return;
    default:
        memset(to, 0, mx_itemsizes[dtype]);
        *to = (char)(bits >> 63);
    }
}

/* Places the elements of an operand, one every `step` elements, and writes them. */
static void place_operand(struct operands *operands, int k, int step)
{
    int dtype = operands->dtypes[k];
    intptr_t itemsize = mx_itemsizes[dtype], stride = step * itemsize;
    char *first = operands->memory[k] + LARGEST - (step < 0 ? (LENGTH - 1) * stride : 0);
    operands->args[k] = first;
    operands->strides[k] = stride;
    for (int i = 0; i < LENGTH; i++) {
        uint64_t seed = (uint64_t)(2 * (i * MX_MAX_OPERANDS + k));
        write_number(first + i * stride, dtype, seed);
        if (mx_dtype_get(dtype)->kind == 'c')
            write_number(first + i * stride + itemsize / 2, dtype, seed + 1);
    }
}

static void place_operands(struct operands *operands, int in_step, int out_step)
{
    for (int k = 0; k < operands->nin + operands->nout; k++)
        place_operand(operands, k, k < operands->nin ? in_step : out_step);
}

/* Lets the output overwrite an input, each element after the loop has read it. */
static void overlap_operands(struct operands *operands, int input)
{
    int to = operands->nin, itemsize = mx_itemsizes[operands->dtypes[to]];
    place_operands(operands, 1, 1);
    if (itemsize > operands->strides[input])
        return;
    bool is_smaller = itemsize < operands->strides[input];
    operands->args[to] = operands->args[input] + (is_smaller ? itemsize : -itemsize);
    operands->strides[to] = operands->strides[input];
}

/* Runs a loop, and packs the elements of its outputs. */
static void run_probe(const struct mx_loop *loop, struct operands *operands, char *results)
{
    char *args[MX_MAX_OPERANDS];
    intptr_t n = LENGTH;
    memcpy(args, operands->args, sizeof args);
    loop->function(args, &n, operands->strides, loop->data);
    for (int k = operands->nin; k < operands->nin + operands->nout; k++)
        for (int i = 0; i < LENGTH; i++, results += mx_itemsizes[operands->dtypes[k]])
            memcpy(results, operands->args[k] + i * operands->strides[k],
                   mx_itemsizes[operands->dtypes[k]]);
}

static bool has_last_bits(int dtype)
{
    char kind = mx_dtype_get(dtype)->kind;
    return (kind == 'f' || kind == 'c') && dtype != MX_DTYPE_bfloat16;
}

int mx_layouts_of_bits(const struct mx_loop *loop, int nin, int nout, const int *dtypes)
{
    struct operands operands = {.nin = nin, .nout = nout, .dtypes = dtypes};
    char expected[2 * LENGTH * LARGEST] = {0}, results[2 * LENGTH * LARGEST] = {0};
    int layouts = 0;
    if (!has_last_bits(dtypes[nin]))
        return 0;
    fenv_t environment;
    feholdexcept(&environment);
    place_operands(&operands, 1, 1);
    run_probe(loop, &operands, expected);
#define COMPARE(layout)                                  \
    run_probe(loop, &operands, results);                 \
    if (memcmp(results, expected, sizeof expected) != 0) \
        layouts |= (layout);
    for (int k = 0; k < nin; k++) {
        place_operands(&operands, 1, 1);
        place_operand(&operands, k, -1);
        COMPARE(MX_REVERSED)
        place_operands(&operands, 1, 1);
        place_operand(&operands, k, MOST_STEP);
        COMPARE(MX_STRIDED)
        overlap_operands(&operands, k);
        COMPARE(MX_OVERLAPPING)
    }
    place_operands(&operands, MOST_STEP, 1);
    COMPARE(MX_STRIDED)
    for (int in_step = 1; in_step <= MOST_STEP; in_step++) {
        place_operands(&operands, in_step, MOST_STEP);
        COMPARE(MX_STRIDED_OUTPUT)
        place_operands(&operands, in_step, -1);
        COMPARE(MX_STRIDED_OUTPUT)
    }
#undef COMPARE
    fesetenv(&environment);
    return layouts;
}
