/* passes.c -- the kernels: passes over elements and scatters. */
#include "gpu/passes.h"

#include <stdio.h>
#include <stdlib.h>

#include "gpu/steps.h"
#include "gpu/work.h"

#define LANES      32   /* of a SIMD-group */
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
    int64_t most = n < MANY_LINES ? LANES * share : SHORT_LINE;
    return length > most ? MX_KERNEL_THREADS
                         : mx_passes_power_of_two((length + share - 1) / share, LANES);
}

const char *mx_passes_partial_type(const struct mx_instruction *in, int *itemsize)
{
    int dtype = in->operands[0].dtype;
    bool is_half = dtype == MX_DTYPE_float16 || dtype == MX_DTYPE_bfloat16;
    bool is_half_sum = is_half && in->op == MX_OP_add;
    *itemsize = is_half_sum ? 4 : in->operands[0].itemsize;
    return is_half_sum ? "float" : mx_device_type(dtype);
}

/* -- Scatters ---------------------------------------------------------------------- */

/* Whether all results are NaN once the element or a value is NaN. */
static bool nan_stays(int op)
{
    return op == MX_OP_add || op == MX_OP_subtract || op == MX_OP_multiply ||
           op == MX_OP_divide || op == MX_OP_maximum || op == MX_OP_minimum;
}

/* Returns the name of the atomic operation that makes an update with NumPy's bits, or NULL.
 * float32 has none: additions in the memory of a GPU may make subnormal numbers zero. */
static const char *atomic_of(const struct mx_instruction *in)
{
    static const char *const names[MX_OP_COUNT] = {
        [MX_OP_add] = "add",         [MX_OP_maximum] = "max",   [MX_OP_minimum] = "min",
        [MX_OP_bitwise_and] = "and", [MX_OP_bitwise_or] = "or", [MX_OP_bitwise_xor] = "xor",
    };
    const struct mx_operand *output = &in->operands[in->nin];
    int dtype = output->dtype;
    bool is_integer = dtype == MX_DTYPE_int32 || dtype == MX_DTYPE_uint32 ||
                      dtype == MX_DTYPE_int64 || dtype == MX_DTYPE_uint64;
    bool has_operation = is_integer || (dtype == MX_DTYPE_float64 && in->op == MX_OP_add);
    if (in->op >= MX_OP_COUNT || !has_operation || in->operands[in->nin - 1].dtype != dtype ||
        output->itemsize > mx_device_atomic_bytes())
        return NULL;
    return names[in->op];
}

void mx_passes_print_scatter(struct mx_kernel *kernel, const struct mx_status_words *words,
                             enum mx_scatter_pass pass, struct mx_buffer *winners)
{
    const struct mx_instruction *in = mx_kernel_instruction(kernel, 0);
    const struct mx_step *step = &kernel->group->steps[0];
    const struct mx_operand *output = &in->operands[in->nin],
                            *value = &in->operands[in->nin - 1];
    const char *type = mx_device_type(output->dtype),
               *value_type = mx_device_type(value->dtype);
    int numbers = winners ? mx_kernel_bind(kernel, winners, true) : 0;
    const struct mx_view *view = &kernel->group->views[step->views[in->nin]];
    struct mx_text *text = &kernel->text;
    bool sets = in->op == MX_COPY;
    const char *atomic = atomic_of(in);
    if (!sets && !atomic)
        mx_steps_print_operation(kernel, in->op, "op0", type, value_type);
    kernel->prelude = MX_PRELUDE_SCATTER;
    int64_t of_target = pass == MX_SCATTER_FINDS_LAST ? MX_WORK_ATOMIC
                        : sets                        ? MX_WORK_ACCESS
                                                      : mx_work_of_update(kernel);
    mx_work_estimate(kernel, mx_work_of_element(kernel) + of_target);
    mx_kernel_print_head(kernel, MX_THREADS, words);
    mx_kernel_print_positions(kernel);
    mx_steps_load(kernel);
    mx_steps_print_target(kernel, 0, in->nin);
    mx_text_print(text, "        if (!is_selected)\n            return;\n");
    if (pass != MX_SCATTER_UPDATES) {
        mx_text_print(text, "        uint order = 0;\n");
        for (int i = 0; i < kernel->ndim; i++)
            mx_text_print(text, "        order = order * uint(args[%d]) + uint(i%d);\n", i, i);
        mx_text_print(text,
                      "        %s number = (target - %s(args[%d])) / %d;\n"
                      "        device uchar *last = m%d + number * 4;\n",
                      mx_kernel_offset_type(kernel), mx_kernel_offset_type(kernel),
                      mx_kernel_arg(kernel, view->low), output->itemsize, numbers);
    }
    if (pass == MX_SCATTER_FINDS_LAST) {
        mx_text_print(text, "        mx_note_last(last, order + 1);\n}\n");
        return;
    }
    if (pass == MX_SCATTER_WRITES_LAST)
        mx_text_print(text,
                      "        if (mx_load<uint>(last) != order + 1)\n            return;\n");
    int to = kernel->buffers[step->views[in->nin]];
    if (sets)
        mx_text_print(text, "        mx_store(m%d + target, mx_cast<%s>(", to, type);
    else if (atomic)
        mx_text_print(text, "        mx_update_by_%s<%s>(m%d, target, ", atomic, type, to);
    else
        mx_text_print(text, "        mx_update<op0, %s, %s>(m%d, target, ", type,
                      nan_stays(in->op) ? "true" : "false", to);
    mx_steps_print_operand(kernel, 0, in->nin - 1);
    mx_text_print(text, sets ? "));\n}\n" : ");\n}\n");
}
