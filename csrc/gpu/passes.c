/* passes.c -- the kernels: passes over elements, and parts of others. */
#include "gpu/passes.h"

#include <stdio.h>
#include <stdlib.h>

#include "gpu/steps.h"
#include "gpu/work.h"

#define MIN_SHARE  4    /* elements of a line that a thread has */
#define MANY_LINES 2048 /* that keep a GPU busy if each has a SIMD-group */
#define SHORT_LINE 1024

static void print_end(struct mx_kernel *kernel, const struct mx_status_words *words)
{
    mx_steps_report(kernel, words);
    mx_text_print(&kernel->text, "}\n");
}

/* -- Maps -------------------------------------------------------------------------- */

void mx_passes_print_map(struct mx_kernel *kernel, const struct mx_status_words *words)
{
    char end[32];
    mx_kernel_choose_pack(kernel);
    mx_work_estimate(kernel, mx_work_of_element(kernel));
    mx_kernel_print_head(kernel, MX_THREADS, words);
    mx_kernel_print_positions(kernel);
    mx_steps_declare(kernel, words);
    snprintf(end, sizeof end, "%s(args[%d])", mx_kernel_offset_type(kernel), kernel->ndim - 1);
    if (kernel->pack > 1)
        mx_steps_print_packs(kernel, end, NULL);
    else
        mx_steps_print(kernel, NULL);
    print_end(kernel, words);
}

/* -- Lines of elements --------------------------------------------------------------- */

int64_t mx_passes_product(const struct mx_kernel *kernel, unsigned axes)
{
    int64_t n = 1;
    for (int i = 0; i < kernel->ndim; i++)
        n *= axes >> i & 1 ? kernel->shape[i] : 1;
    return n;
}

unsigned mx_passes_kept_axes(const struct mx_kernel *kernel)
{
    return ~kernel->reduced & ((1u << kernel->ndim) - 1);
}

int mx_passes_power_of_two(int64_t n, int most)
{
    int power = 1;
    while (power < n && power < most)
        power *= 2;
    return power;
}

int mx_passes_threads_of_line(int64_t n, int64_t length, int share)
{
    if (share < MIN_SHARE)
        share = MIN_SHARE;
    int64_t most = n < MANY_LINES ? MX_LANES * share : SHORT_LINE;
    return length > most ? MX_KERNEL_THREADS
                         : mx_passes_power_of_two((length + share - 1) / share, MX_LANES);
}

const char *mx_passes_partial_type(const struct mx_instruction *in, int *itemsize)
{
    int dtype = in->operands[0].dtype;
    bool is_half = dtype == MX_DTYPE_float16 || dtype == MX_DTYPE_bfloat16;
    bool is_half_sum = is_half && in->op == MX_OP_add;
    *itemsize = is_half_sum ? 4 : in->operands[0].itemsize;
    return is_half_sum ? "float" : mx_device_type(dtype);
}
