/* passes.c -- the kernels: passes over elements, reductions, scans and scatters. */
#include "gpu/passes.h"

#include <stdio.h>

#include "gpu/steps.h"

#define MAX_THREADGROUPS 256 /* enough to keep a GPU busy */
#define MIN_SEGMENT      4096
#define LONG_LINE        ((int64_t)1 << 18)
#define FEW_LINES        16
#define WIDTH            32 /* results of a threadgroup, if their elements are adjacent */

static void print_end(struct mx_kernel *kernel, const struct mx_status_words *words)
{
    mx_steps_report(kernel, words);
    mx_text_print(&kernel->text, "}\n");
}

/* -- Maps -------------------------------------------------------------------------- */

void mx_passes_print_map(struct mx_kernel *kernel, const struct mx_status_words *words)
{
    mx_kernel_print_head(kernel, MX_THREADS, words);
    mx_kernel_print_positions(kernel);
    mx_steps_declare(kernel, words);
    mx_steps_print(kernel, NULL);
    print_end(kernel, words);
}

/* -- Reductions -------------------------------------------------------------------- */

static int64_t product(const struct mx_kernel *kernel, unsigned axes)
{
    int64_t n = 1;
    for (int i = 0; i < kernel->ndim; i++)
        n *= axes >> i & 1 ? kernel->shape[i] : 1;
    return n;
}

static unsigned kept_axes(const struct mx_kernel *kernel)
{
    return ~kernel->reduced & ((1u << kernel->ndim) - 1);
}

struct mx_reduce_shape mx_passes_reduce_shape(const struct mx_kernel *kernel)
{
    struct mx_reduce_shape shape = {
        .n_units = product(kernel, kept_axes(kernel)),
        .length = product(kernel, kernel->reduced),
        .segments = 1,
        .width = kernel->reduced >> (kernel->ndim - 1) & 1 ? 1 : WIDTH,
    };
    int64_t threadgroups = (shape.n_units + shape.width - 1) / shape.width;
    int64_t most = shape.length / (MIN_SEGMENT / shape.width);
    if (threadgroups < MAX_THREADGROUPS && most > 1 && !kernel->group->is_alone)
        shape.segments =
            most < MAX_THREADGROUPS / threadgroups ? most : MAX_THREADGROUPS / threadgroups;
    return shape;
}

const char *mx_passes_partial_type(const struct mx_instruction *in, int *itemsize)
{
    int dtype = in->operands[0].dtype;
    bool is_half = dtype == MX_DTYPE_float16 || dtype == MX_DTYPE_bfloat16;
    bool is_half_sum = is_half && in->op == MX_OP_add;
    *itemsize = is_half_sum ? 4 : in->operands[0].itemsize;
    return is_half_sum ? "float" : mx_device_type(dtype);
}

static bool reduces(const struct mx_instruction *in)
{
    return in->kind == MX_REDUCE || in->kind == MX_ARGREDUCE;
}

/* Prints a struct for the operation of each reduction.  They precede the kernel. */
static void print_operations(struct mx_kernel *kernel)
{
    const struct mx_group *group = kernel->group;
    for (int s = 0; s < group->n_steps; s++) {
        const struct mx_instruction *in = mx_kernel_instruction(kernel, s);
        int itemsize;
        const char *type = mx_passes_partial_type(in, &itemsize);
        char name[16];
        snprintf(name, sizeof name, "op%d", s);
        if (in->kind == MX_REDUCE)
            mx_steps_print_operation(kernel, in->op, name, type, type);
    }
}

/* Declares what each thread accumulates: a result and, for a search, its index. */
static void declare_partials(struct mx_kernel *kernel)
{
    const struct mx_group *group = kernel->group;
    for (int s = 0; s < group->n_steps; s++) {
        const struct mx_instruction *in = mx_kernel_instruction(kernel, s);
        int itemsize;
        const char *type = mx_passes_partial_type(in, &itemsize);
        if (!reduces(in))
            continue;
        mx_text_print(
            &kernel->text, "    %s%s shared%d[%d];\n    %s partial%d = mx_cast<%s>(0);\n",
            kernel->device->dialect.shared, type, s, MX_KERNEL_THREADS, type, s, type);
        if (in->kind == MX_ARGREDUCE)
            mx_text_print(&kernel->text, "    %slong indices%d[%d];\n    long index%d = 0;\n",
                          kernel->device->dialect.shared, s, MX_KERNEL_THREADS, s);
    }
}

/* Prints what a thread does with one element.  The first one initializes the result. */
static void print_reduction(struct mx_kernel *kernel, int step)
{
    const struct mx_instruction *in = mx_kernel_instruction(kernel, step);
    int itemsize;
    const char *type = mx_passes_partial_type(in, &itemsize);
    struct mx_text *text = &kernel->text;
    mx_text_print(text, "        %s a = partial%d, b = mx_cast<%s>(", type, step, type);
    mx_steps_print_operand(kernel, step, 0);
    mx_text_print(text, ");\n");
    if (in->kind == MX_ARGREDUCE) {
        mx_text_print(text,
                      "        if (r == first + y || mx_is_%s(b, a)) {\n"
                      "            partial%d = b;\n            index%d = r;\n        }\n",
                      in->op == MX_ARGMAX ? "above" : "below", step, step);
        return;
    }
    mx_text_print(text, "        partial%d = r == first + y ? b : op%d::apply(a, b);\n", step,
                  step);
    if (mx_steps_has_status(in))
        mx_text_print(text,
                      "        if (r != first + y)\n"
                      "            report%d |= mx_met_arithmetic(a, b, partial%d);\n",
                      step, step);
}

/* Joins the results of the threads that have elements of the same unit. */
static void print_joins(struct mx_kernel *kernel, const struct mx_reduce_shape *shape)
{
    const struct mx_group *group = kernel->group;
    int height = MX_KERNEL_THREADS / shape->width;
    for (int s = 0; s < group->n_steps; s++) {
        const struct mx_instruction *in = mx_kernel_instruction(kernel, s);
        char report[48] = "";
        if (mx_steps_has_status(in))
            snprintf(report, sizeof report, "    report%d |= met%d;\n", s, s);
        if (in->kind == MX_REDUCE)
            mx_text_print(&kernel->text,
                          "    uint met%d = 0;\n    partial%d = mx_join<op%d>(shared%d, "
                          "partial%d, thread_index, y, "
                          "%du, %du, end - first, &met%d);\n%s",
                          s, s, s, s, s, shape->width, height, s, report);
        if (in->kind == MX_ARGREDUCE)
            mx_text_print(&kernel->text,
                          "    index%d = mx_join_indices<%s>(shared%d, indices%d, partial%d, "
                          "index%d, thread_index, y, %du, %du, end - first);\n",
                          s, in->op == MX_ARGMAX ? "true" : "false", s, s, s, s, shape->width,
                          height);
    }
}

static void print_results(struct mx_kernel *kernel, const struct mx_reduce_shape *shape,
                          const int *bindings)
{
    const struct mx_group *group = kernel->group;
    mx_text_print(&kernel->text, "    if (y == 0 && is_here) {\n");
    for (int s = 0; s < group->n_steps; s++) {
        const struct mx_instruction *in = mx_kernel_instruction(kernel, s);
        if (!reduces(in))
            continue;
        if (shape->segments > 1) {
            mx_text_print(&kernel->text,
                          "        mx_store(m%d + (segment * units + unit) * long(sizeof("
                          "partial%d)), partial%d);\n",
                          bindings[s], s, s);
            continue;
        }
        mx_text_print(&kernel->text, "        mx_store(");
        mx_kernel_print_address(kernel, group->steps[s].views[1]);
        if (in->kind == MX_ARGREDUCE)
            mx_text_print(&kernel->text, ", index%d);\n", s);
        else
            mx_text_print(&kernel->text, ", mx_cast<%s>(%s",
                          mx_device_type(in->operands[1].dtype),
                          in->begins_with_zero ? "mx_add(mx_cast<decltype(partial" : "");
        if (in->kind == MX_REDUCE && in->begins_with_zero)
            mx_text_print(&kernel->text, "%d)>(0), partial%d)));\n", s, s);
        else if (in->kind == MX_REDUCE)
            mx_text_print(&kernel->text, "partial%d));\n", s);
    }
    mx_text_print(&kernel->text, "    }\n");
}

/* Prints which unit and which of its elements a thread has, and sets the grid accordingly. */
static void print_share(struct mx_kernel *kernel, const struct mx_reduce_shape *shape)
{
    kernel->grid[0] = (size_t)((shape->n_units + shape->width - 1) / shape->width);
    kernel->grid[1] = (size_t)shape->segments;
    kernel->grid[2] = 1;
    int units = mx_kernel_arg(kernel, shape->n_units);
    int length = mx_kernel_arg(kernel, shape->length);
    int segment =
        mx_kernel_arg(kernel, (shape->length + shape->segments - 1) / shape->segments);
    mx_text_print(&kernel->text,
                  "    const long units = args[%d], segment = long(group.y);\n"
                  "    const long unit = long(group.x) * %d + long(thread_index %% %du);\n"
                  "    const long y = long(thread_index / %du);\n"
                  "    const long first = segment * args[%d];\n"
                  "    const long end = min(first + args[%d], args[%d]);\n"
                  "    const bool is_here = unit < units;\n",
                  units, shape->width, shape->width, shape->width, segment, segment, length);
}

void mx_passes_print_reduce(struct mx_kernel *kernel, const struct mx_status_words *words,
                            const struct mx_reduce_shape *shape, struct mx_buffer **partials)
{
    const char *type = mx_kernel_offset_type(kernel);
    int bindings[MX_MAX_STEPS] = {0};
    char number[32];
    for (int s = 0, n = 0; s < kernel->group->n_steps && shape->segments > 1; s++)
        if (reduces(mx_kernel_instruction(kernel, s)))
            bindings[s] = mx_kernel_bind(kernel, partials[n++], true);
    print_operations(kernel);
    mx_kernel_print_head(kernel, MX_THREADGROUPS, words);
    print_share(kernel, shape);
    snprintf(number, sizeof number, "%s(unit)", type);
    mx_kernel_print_axes(kernel, kept_axes(kernel), number);
    mx_steps_declare(kernel, words);
    declare_partials(kernel);
    mx_text_print(&kernel->text,
                  "    for (long r = first + y; is_here && r < end; r += %d) {\n",
                  MX_KERNEL_THREADS / shape->width);
    snprintf(number, sizeof number, "%s(r)", type);
    mx_kernel_print_axes(kernel, kernel->reduced, number);
    mx_steps_print(kernel, print_reduction);
    mx_text_print(&kernel->text, "    }\n");
    print_joins(kernel, shape);
    print_results(kernel, shape, bindings);
    print_end(kernel, words);
}

void mx_passes_print_combine(struct mx_kernel *kernel, const struct mx_status_words *words,
                             int step, const struct mx_reduce_shape *shape,
                             struct mx_buffer *partial)
{
    const struct mx_instruction *in = mx_kernel_instruction(kernel, step);
    const char *name = mx_kernel_offset_type(kernel);
    int itemsize, from = mx_kernel_bind(kernel, partial, false);
    const char *type = mx_passes_partial_type(in, &itemsize);
    struct mx_text *text = &kernel->text;
    char number[32];
    snprintf(number, sizeof number, "%s(unit)", name);
    mx_steps_print_operation(kernel, in->op, "op", type, type);
    mx_kernel_print_head(kernel, MX_THREADS, words);
    kernel->grid[0] = (size_t)shape->n_units;
    kernel->grid[1] = kernel->grid[2] = 1;
    mx_text_print(text, "    const long unit = long(at.x), units = args[%d];\n",
                  mx_kernel_arg(kernel, shape->n_units));
    mx_kernel_print_axes(kernel, kept_axes(kernel), number);
    mx_text_print(text,
                  "    %s total = mx_load<%s>(m%d + unit * %d);\n    uint met = 0;\n"
                  "    for (long s = 1; s < args[%d]; s++) {\n"
                  "        %s a = total, b = mx_load<%s>(m%d + (s * units + unit) * %d);\n"
                  "        total = op::apply(a, b);\n"
                  "        met |= mx_met_arithmetic(a, b, total);\n    }\n",
                  type, type, from, itemsize, mx_kernel_arg(kernel, shape->segments), type,
                  type, from, itemsize);
    mx_steps_declare(kernel, words);
    if (words->of_steps[step])
        mx_text_print(text, "    report%d = met;\n", step);
    if (in->begins_with_zero)
        mx_text_print(text, "    total = op::apply(mx_cast<%s>(0), total);\n", type);
    mx_text_print(text, "    mx_store(");
    mx_kernel_print_address(kernel, kernel->group->steps[step].views[1]);
    mx_text_print(text, ", mx_cast<%s>(total));\n", mx_device_type(in->operands[1].dtype));
    print_end(kernel, words);
}

size_t mx_passes_shared_bytes(const struct mx_kernel *kernel)
{
    size_t total = 0;
    for (int s = 0; s < kernel->group->n_steps; s++) {
        const struct mx_instruction *in = mx_kernel_instruction(kernel, s);
        int itemsize;
        mx_passes_partial_type(in, &itemsize);
        if (reduces(in))
            total += (size_t)itemsize + (in->kind == MX_ARGREDUCE ? sizeof(int64_t) : 0);
    }
    return total * MX_KERNEL_THREADS;
}

bool mx_passes_has_long_lines(const struct mx_kernel *kernel)
{
    return product(kernel, kernel->reduced) > LONG_LINE &&
           product(kernel, kept_axes(kernel)) < FEW_LINES;
}

/* -- Scans ------------------------------------------------------------------------- */

/* A threadgroup goes along each line, and takes as many elements at a time as it has threads.
 */
void mx_passes_print_scan(struct mx_kernel *kernel, const struct mx_status_words *words)
{
    const struct mx_instruction *in = mx_kernel_instruction(kernel, 0);
    int itemsize, axis = 0;
    while (!(kernel->reduced >> axis & 1))
        axis++;
    const char *type = mx_passes_partial_type(in, &itemsize);
    const char *result = mx_device_type(in->operands[1].dtype);
    const struct mx_step *step = &kernel->group->steps[0];
    struct mx_text *text = &kernel->text;
    mx_steps_print_operation(kernel, in->op, "op0", type, type);
    mx_kernel_print_head(kernel, MX_THREADGROUPS, words);
    kernel->grid[0] = (size_t)product(kernel, kept_axes(kernel));
    kernel->grid[1] = kernel->grid[2] = 1;
    mx_kernel_print_axes(kernel, kept_axes(kernel), "group.x");
    mx_steps_declare(kernel, words);
    mx_text_print(text,
                  "    %s%s shared[%d];\n    %s carry = mx_cast<%s>(0);\n"
                  "    bool mine_is_finite = true;\n"
                  "    for (long begin = 0; begin < args[%d]; begin += %d) {\n"
                  "        const long i%d = begin + long(thread_index);\n"
                  "        const bool is_here = i%d < args[%d];\n"
                  "        %s mine = mx_cast<%s>(0);\n"
                  "        if (is_here)\n            mine = mx_cast<%s>(mx_load<%s>(",
                  kernel->device->dialect.shared, type, MX_KERNEL_THREADS, type, type, axis,
                  MX_KERNEL_THREADS, axis, axis, axis, type, type, type, result);
    mx_kernel_print_address(kernel, step->views[0]);
    mx_text_print(text,
                  "));\n        mine_is_finite = mine_is_finite && mx_isfinite(mine);\n"
                  "        %s sum = mx_scan<op0>(shared, mine, thread_index);\n"
                  "        sum = begin == 0 ? sum : op0::apply(carry, sum);\n"
                  "        if (is_here)\n            mx_store(",
                  type);
    mx_kernel_print_address(kernel, step->views[1]);
    mx_text_print(text,
                  ", mx_cast<%s>(sum));\n"
                  "        carry = mx_last(shared, sum, thread_index);\n    }\n",
                  result);
    if (words->of_steps[0])
        mx_text_print(text, "    report0 = mx_met_sum(carry, mx_all(shared, mine_is_finite, "
                            "thread_index));\n");
    print_end(kernel, words);
}

/* -- Scatters ---------------------------------------------------------------------- */

/* Whether all results are NaN once the element or a value is NaN. */
static bool nan_stays(int op)
{
    return op == MX_OP_add || op == MX_OP_subtract || op == MX_OP_multiply ||
           op == MX_OP_divide || op == MX_OP_maximum || op == MX_OP_minimum;
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
    if (!sets)
        mx_steps_print_operation(kernel, in->op, "op0", type, value_type);
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
                      "        long number = (target - args[%d]) / %d;\n"
                      "        %suchar *last = m%d + number * 4;\n",
                      mx_kernel_arg(kernel, view->low), output->itemsize,
                      kernel->device->dialect.memory, numbers);
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
    else
        mx_text_print(text, "        mx_update<op0, %s, %s>(m%d, target, ", type,
                      nan_stays(in->op) ? "true" : "false", to);
    mx_steps_print_operand(kernel, 0, in->nin - 1);
    mx_text_print(text, sets ? "));\n}\n" : ");\n}\n");
}
