/* layouts.c -- the layouts of operands in which a loop has other last bits. */
#include "ir/layouts.h"

#include <fenv.h>
#include <stdlib.h>
#include <string.h>

#include "ir/dtypes.h"

enum {
    FEW = 67,       /* elements of an operand: several vectors and a rest */
    MANY = 1 << 13, /* these miss a difference in one of 1,000 results with probability e**-8 */
    HALVES = 0x7c00, /* the float16 numbers from 0 on that are finite */
    MOST_STEP = 2,
    LARGEST = 16 /* bytes of an element */
};

/* The operands of a loop; memory[k] begins with space for one element more. */
struct operands {
    int nin, nout, n;
    const int *dtypes;
    char *args[MX_MAX_OPERANDS];
    intptr_t strides[MX_MAX_OPERANDS];
    char *memory[MX_MAX_OPERANDS];
};

/* Writes a real number, or a part of a complex one: floats from 0 to 2, integers 0 and 1. Seeds
 * below HALVES give each float16 number once. */
static void write_number(char *to, int dtype, uint64_t seed)
{
    uint64_t bits = seed * 0x9e3779b97f4a7c15; /* 2**64 over the golden ratio */
    bits = (bits ^ bits >> 29) * 0xbf58476d1ce4e5b9;
    double number = (double)(bits >> 11) * 0x1p-52;
    float single = (float)number;
    uint64_t place = seed < HALVES ? seed * 19619 : bits >> 32;
    uint16_t half = (uint16_t)(place % HALVES);
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
    char *first = operands->memory[k] + LARGEST - (step < 0 ? (operands->n - 1) * stride : 0);
    operands->args[k] = first;
    operands->strides[k] = stride;
    for (int i = 0; i < operands->n; i++) {
        uint64_t seed = (uint64_t)i + (uint64_t)(2 * k) * HALVES;
        write_number(first + i * stride, dtype, seed);
        if (mx_dtype_is_complex(dtype))
            write_number(first + i * stride + itemsize / 2, dtype, seed + HALVES);
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
    intptr_t n = operands->n;
    memcpy(args, operands->args, sizeof args);
    loop->function(args, &n, operands->strides, loop->data);
    for (int k = operands->nin; k < operands->nin + operands->nout; k++)
        for (int i = 0; i < operands->n; i++, results += mx_itemsizes[operands->dtypes[k]])
            memcpy(results, operands->args[k] + i * operands->strides[k],
                   mx_itemsizes[operands->dtypes[k]]);
}

static bool has_last_bits(int dtype)
{
    return mx_dtype_is_inexact(dtype) && dtype != MX_DTYPE_bfloat16;
}

static int find_layouts(const struct mx_loop *loop, struct operands *operands, char *expected,
                        char *results)
{
    size_t size = 2 * (size_t)operands->n * LARGEST;
    int layouts = 0;
    place_operands(operands, 1, 1);
    run_probe(loop, operands, expected);
#define COMPARE(layout)                       \
    run_probe(loop, operands, results);       \
    if (memcmp(results, expected, size) != 0) \
        layouts |= (layout);
    for (int k = 0; k < operands->nin; k++) {
        place_operands(operands, 1, 1);
        place_operand(operands, k, -1);
        COMPARE(MX_REVERSED)
        place_operands(operands, 1, 1);
        place_operand(operands, k, MOST_STEP);
        COMPARE(MX_STRIDED)
        overlap_operands(operands, k);
        COMPARE(MX_OVERLAPPING)
    }
    place_operands(operands, MOST_STEP, 1);
    COMPARE(MX_STRIDED)
    for (int in_step = 1; in_step <= MOST_STEP; in_step++) {
        place_operands(operands, in_step, MOST_STEP);
        COMPARE(MX_STRIDED_OUTPUT)
        place_operands(operands, in_step, -1);
        COMPARE(MX_STRIDED_OUTPUT)
    }
#undef COMPARE
    return layouts;
}

int mx_layouts_of_bits(const struct mx_loop *loop, int nin, int nout, const int *dtypes,
                       bool is_thorough)
{
    if (!has_last_bits(dtypes[nin]))
        return 0;
    struct operands operands = {.nin = nin, .nout = nout, .dtypes = dtypes, .n = FEW};
    if (is_thorough)
        operands.n = dtypes[0] == MX_DTYPE_float16 ? HALVES : MANY;
    size_t of_results = 2 * (size_t)operands.n * LARGEST;
    size_t of_operand = ((size_t)operands.n * MOST_STEP + 1) * LARGEST;
    char *memory = calloc(1, 2 * of_results + MX_MAX_OPERANDS * of_operand);
    if (!memory)
        return MX_REVERSED | MX_STRIDED | MX_STRIDED_OUTPUT | MX_OVERLAPPING;
    for (int k = 0; k < MX_MAX_OPERANDS; k++)
        operands.memory[k] = memory + 2 * of_results + (size_t)k * of_operand;
    fenv_t environment;
    feholdexcept(&environment);
    int layouts = find_layouts(loop, &operands, memory, memory + of_results);
    fesetenv(&environment);
    free(memory);
    return layouts;
}
