/* passes.c -- the kernels: passes over elements, reductions, scans and scatters. */
#include "gpu/passes.h"

#include <stdio.h>
#include <stdlib.h>

#include "gpu/steps.h"
#include "gpu/work.h"

#define MAX_THREADGROUPS 256 /* enough to keep a GPU busy */
#define MIN_SEGMENT      4096
#define LONG_LINE        ((int64_t)1 << 18)
#define FEW_LINES        16
#define WIDTH            32   /* most results of a threadgroup, if they are adjacent */
#define LANES            32   /* of a SIMD-group */
#define MIN_SHARE        4    /* elements of a line that a thread has */
#define MANY_LINES       2048 /* that keep a GPU busy if each has a SIMD-group */
#define MANY_COLUMNS     1024 /* that keep a GPU busy if each has a thread */
#define SHORT_LINE       1024
#define SEGMENT_UNIT     16 /* elements: a multiple of any pack */
#define LONG_SEGMENT     ((int64_t)1 << 20)
#define LONG_SHARE       ((int64_t)1 << 18) /* elements that one thread goes along */

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

static int power_of_two_from(int64_t n, int most)
{
    int power = 1;
    while (power < n && power < most)
        power *= 2;
    return power;
}

/* Threads of one of n lines of elements: some lanes of a SIMD-group, or a threadgroup.  Each
 * thread has several elements.  If there are many lines, a SIMD-group suffices for longer ones.
 */
static int threads_of_line(const struct mx_kernel *kernel, int64_t n, int64_t length)
{
    int share = kernel->pack > MIN_SHARE ? kernel->pack : MIN_SHARE;
    int64_t most = n < MANY_LINES ? LANES * share : SHORT_LINE;
    return length > most ? MX_KERNEL_THREADS
                         : power_of_two_from((length + share - 1) / share, LANES);
}

/* Cuts results with many elements if there are too few results to keep a GPU busy.  All
 * segments but the last one have the same length, a multiple of any pack. */
static void cut(struct mx_reduce_shape *shape)
{
    int64_t threadgroups = (shape->n_units + shape->width - 1) / shape->width;
    int64_t segments = shape->length / (MIN_SEGMENT / shape->width);
    if (threadgroups >= MAX_THREADGROUPS || segments <= 1)
        return;
    int64_t most = MAX_THREADGROUPS / threadgroups;
    if (most < shape->length / LONG_SEGMENT)
        most =
            shape->length / LONG_SEGMENT; /* so that parts of the grid keep a GPU busy, too */
    if (segments > most)
        segments = most;
    shape->segment = (shape->length + segments - 1) / segments;
    shape->segment += (SEGMENT_UNIT - shape->segment % SEGMENT_UNIT) % SEGMENT_UNIT;
    shape->segments = (shape->length + shape->segment - 1) / shape->segment;
}

struct mx_reduce_shape mx_passes_reduce_shape(struct mx_kernel *kernel)
{
    struct mx_reduce_shape shape = {
        .n_units = product(kernel, kept_axes(kernel)),
        .length = product(kernel, kernel->reduced),
        .segments = 1,
        .has_columns = !(kernel->reduced >> (kernel->ndim - 1) & 1),
    };
    if (kernel->reduced == 1u << (kernel->ndim - 1))
        mx_kernel_choose_pack(kernel);
    shape.segment = shape.length;
    shape.width = shape.has_columns ? power_of_two_from(shape.n_units, WIDTH)
                                    : MX_KERNEL_THREADS /
                                          threads_of_line(kernel, shape.n_units, shape.length);
    if (!kernel->group->is_alone && (shape.has_columns || shape.width == 1))
        cut(&shape);
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

static int threads_of_result(const struct mx_reduce_shape *shape)
{
    return MX_KERNEL_THREADS / shape->width;
}

/* Shared elements of a reduction.  The lanes of a SIMD-group exchange their results directly.
 */
static int shared_count(const struct mx_reduce_shape *shape)
{
    int threads = threads_of_result(shape);
    return shape->has_columns ? MX_KERNEL_THREADS : threads > LANES ? threads / LANES : 0;
}

/* Declares what each thread accumulates: a result and, for a search, its index. */
static void declare_partials(struct mx_kernel *kernel, const struct mx_reduce_shape *shape)
{
    const struct mx_group *group = kernel->group;
    const char *index_type = mx_kernel_offset_type(kernel);
    int n = shared_count(shape);
    for (int s = 0; s < group->n_steps; s++) {
        const struct mx_instruction *in = mx_kernel_instruction(kernel, s);
        int itemsize;
        const char *type = mx_passes_partial_type(in, &itemsize);
        if (!reduces(in))
            continue;
        if (n > 0)
            mx_text_print(&kernel->text, "    threadgroup %s shared%d[%d];\n", type, s, n);
        mx_text_print(&kernel->text, "    %s partial%d = mx_cast<%s>(0);\n", type, s, type);
        if (in->kind == MX_ARGREDUCE && n > 0)
            mx_text_print(&kernel->text, "    threadgroup %s indices%d[%d];\n", index_type, s,
                          n);
        if (in->kind == MX_ARGREDUCE)
            mx_text_print(&kernel->text, "    %s index%d = 0;\n", index_type, s);
    }
}

/* Prints what a thread does with one element.  The first one initializes the result.  In packs,
 * the number of the element is its position along the last axis. */
static void print_reduction(struct mx_kernel *kernel, int step)
{
    const struct mx_instruction *in = mx_kernel_instruction(kernel, step);
    int itemsize;
    char number[16] = "r";
    if (kernel->pack > 1)
        snprintf(number, sizeof number, "i%d", kernel->ndim - 1);
    const char *type = mx_passes_partial_type(in, &itemsize);
    struct mx_text *text = &kernel->text;
    mx_text_print(text, "        %s a = partial%d, b = mx_cast<%s>(", type, step, type);
    mx_steps_print_operand(kernel, step, 0);
    mx_text_print(text, ");\n");
    if (in->kind == MX_ARGREDUCE) {
        mx_text_print(text,
                      "        if (%s == own || mx_is_%s(b, a)) {\n"
                      "            partial%d = b;\n            index%d = %s;\n        }\n",
                      number, in->op == MX_ARGMAX ? "above" : "below", step, step, number);
        return;
    }
    mx_text_print(text, "        partial%d = %s == own ? b : op%d::apply(a, b);\n", step,
                  number, step);
    if (mx_steps_has_status(in))
        mx_text_print(text,
                      "        if (%s != own)\n"
                      "            report%d |= mx_met_arithmetic(a, b, partial%d);\n",
                      number, step, step);
}

/* Prints the arguments of the functions that join: who the thread is, and which have a value.
 */
static void print_joined(struct mx_kernel *kernel, const struct mx_reduce_shape *shape)
{
    if (shape->has_columns)
        mx_text_print(&kernel->text, "thread_index, uint(y), %du, %du, n", shape->width,
                      threads_of_result(shape));
    else if (threads_of_result(shape) > LANES)
        mx_text_print(&kernel->text, "thread_index, n");
    else
        mx_text_print(&kernel->text, "uint(y), n");
}

static void print_join(struct mx_kernel *kernel, const struct mx_reduce_shape *shape, int s)
{
    struct mx_text *text = &kernel->text;
    const struct mx_instruction *in = mx_kernel_instruction(kernel, s);
    int threads = threads_of_result(shape);
    mx_text_print(text, "    uint met%d = 0;\n    partial%d = ", s, s);
    if (shape->has_columns)
        mx_text_print(text, "mx_join_columns<op%d>(shared%d, partial%d, ", s, s, s);
    else if (threads > LANES)
        mx_text_print(text, "mx_join<op%d>(shared%d, partial%d, ", s, s, s);
    else
        mx_text_print(text, "mx_join_lanes<op%d, %du>(partial%d, ", s, threads, s);
    print_joined(kernel, shape);
    mx_text_print(text, ", &met%d);\n", s);
    if (mx_steps_has_status(in))
        mx_text_print(text, "    report%d |= met%d;\n", s, s);
}

static void print_index_join(struct mx_kernel *kernel, const struct mx_reduce_shape *shape,
                             int s)
{
    struct mx_text *text = &kernel->text;
    const struct mx_instruction *in = mx_kernel_instruction(kernel, s);
    const char *is_most = in->op == MX_ARGMAX ? "true" : "false";
    int threads = threads_of_result(shape);
    if (!shape->has_columns && threads <= LANES)
        mx_text_print(text, "    mx_join_index_lanes<%s, %du>(&partial%d, &index%d, ", is_most,
                      threads, s, s);
    else
        mx_text_print(text,
                      "    index%d = mx_join_%s<%s>(shared%d, indices%d, partial%d, "
                      "index%d, ",
                      s, shape->has_columns ? "index_columns" : "indices", is_most, s, s, s, s);
    print_joined(kernel, shape);
    mx_text_print(text, ");\n");
}

/* Joins the results of the threads that have elements of the same unit. */
static void print_joins(struct mx_kernel *kernel, const struct mx_reduce_shape *shape)
{
    for (int s = 0; s < kernel->group->n_steps; s++) {
        const struct mx_instruction *in = mx_kernel_instruction(kernel, s);
        if (in->kind == MX_REDUCE)
            print_join(kernel, shape, s);
        if (in->kind == MX_ARGREDUCE)
            print_index_join(kernel, shape, s);
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
                          "        mx_store(m%d + (segment * units + unit) * %s(sizeof("
                          "partial%d)), partial%d);\n",
                          bindings[s], mx_kernel_offset_type(kernel), s, s);
            continue;
        }
        mx_text_print(&kernel->text, "        mx_store(");
        mx_kernel_print_address(kernel, group->steps[s].views[1]);
        if (in->kind == MX_ARGREDUCE)
            mx_text_print(&kernel->text, ", long(index%d));\n", s);
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

/* Prints which unit and which of its elements a thread has, and sets the grid accordingly.
 * `unit` and `y` are the numbers of the unit and of the thread among those of the unit; `own`
 * is the first element of the thread, and n threads of the unit have elements. */
static void print_share(struct mx_kernel *kernel, const struct mx_reduce_shape *shape)
{
    const char *type = mx_kernel_offset_type(kernel);
    int width = shape->width, height = threads_of_result(shape);
    kernel->grid[0] = (size_t)((shape->n_units + width - 1) / width);
    kernel->grid[1] = (size_t)shape->segments;
    kernel->grid[2] = 1;
    int units = mx_kernel_arg(kernel, shape->n_units);
    int length = mx_kernel_arg(kernel, shape->length);
    int segment = mx_kernel_arg(kernel, shape->segment);
    mx_text_print(&kernel->text,
                  "    const %s units = args[%d], segment = group.y;\n"
                  "    const %s unit = %s(group.x) * %d + thread_index %s %du;\n"
                  "    const %s y = thread_index %s %du;\n"
                  "    const %s first = segment * %s(args[%d]);\n"
                  "    const %s end = mx_lesser(first + %s(args[%d]), %s(args[%d]));\n"
                  "    const %s own = first + y * %d;\n"
                  "    const uint n = uint(mx_lesser(%s(%d), (end - first + %d) / %d));\n"
                  "    const bool is_here = unit < units;\n",
                  type, units, type, type, width, shape->has_columns ? "%" : "/",
                  shape->has_columns ? width : height, type, shape->has_columns ? "/" : "%",
                  shape->has_columns ? width : height, type, type, segment, type, type, segment,
                  type, length, type, kernel->pack, type, height, kernel->pack - 1,
                  kernel->pack);
}

/* Prints the loop over the elements of a thread. */
static void print_elements(struct mx_kernel *kernel, const struct mx_reduce_shape *shape)
{
    const char *type = mx_kernel_offset_type(kernel);
    int step = threads_of_result(shape) * kernel->pack;
    if (kernel->pack == 1) {
        mx_text_print(&kernel->text, "    for (%s r = own; is_here && r < end; r += %d) {\n",
                      type, step);
        mx_kernel_print_axes(kernel, kernel->reduced, "r");
        mx_steps_print(kernel, print_reduction);
    } else { /* the only reduced axis is the last one, so its position is that of the element */
        mx_text_print(&kernel->text,
                      "    for (%s next = own; is_here && next < end; next += %d) {\n"
                      "    const %s i%d = next;\n",
                      type, step, type, kernel->ndim - 1);
        mx_steps_print_packs(kernel, "end", print_reduction);
    }
    mx_text_print(&kernel->text, "    }\n");
}

void mx_passes_print_reduce(struct mx_kernel *kernel, const struct mx_status_words *words,
                            const struct mx_reduce_shape *shape, struct mx_buffer **partials)
{
    int bindings[MX_MAX_STEPS] = {0};
    for (int s = 0, n = 0; s < kernel->group->n_steps && shape->segments > 1; s++)
        if (reduces(mx_kernel_instruction(kernel, s)))
            bindings[s] = mx_kernel_bind(kernel, partials[n++], true);
    print_operations(kernel);
    kernel->prelude = MX_PRELUDE_REDUCE;
    mx_work_estimate(kernel, mx_work_of_element(kernel));
    mx_kernel_print_head(kernel, MX_THREADGROUPS, words);
    print_share(kernel, shape);
    mx_kernel_print_axes(kernel, kept_axes(kernel), "unit");
    mx_steps_declare(kernel, words);
    declare_partials(kernel, shape);
    print_elements(kernel, shape);
    print_joins(kernel, shape);
    print_results(kernel, shape, bindings);
    print_end(kernel, words);
}

/* The lanes of a SIMD-group, or of a part of it, join the segments of a unit. */
void mx_passes_print_combine(struct mx_kernel *kernel, const struct mx_status_words *words,
                             int step, const struct mx_reduce_shape *shape,
                             struct mx_buffer *partial)
{
    const struct mx_instruction *in = mx_kernel_instruction(kernel, step);
    const char *offset = mx_kernel_offset_type(kernel);
    int itemsize, from = mx_kernel_bind(kernel, partial, false);
    const char *type = mx_passes_partial_type(in, &itemsize);
    struct mx_text *text = &kernel->text;
    int lanes = power_of_two_from((shape->segments + MIN_SHARE - 1) / MIN_SHARE, LANES);
    int width = MX_KERNEL_THREADS / lanes;
    mx_steps_print_operation(kernel, in->op, "op", type, type);
    kernel->prelude = MX_PRELUDE_REDUCE;
    mx_kernel_print_head(kernel, MX_THREADGROUPS, words);
    kernel->grid[0] = (size_t)((shape->n_units + width - 1) / width);
    kernel->grid[1] = kernel->grid[2] = 1;
    mx_text_print(text,
                  "    const %s units = args[%d], segments = args[%d];\n"
                  "    const %s unit = %s(group.x) * %d + thread_index / %du;\n"
                  "    const uint y = thread_index %% %du;\n"
                  "    const bool is_here = unit < units;\n",
                  offset, mx_kernel_arg(kernel, shape->n_units),
                  mx_kernel_arg(kernel, shape->segments), offset, offset, width, lanes, lanes);
    mx_kernel_print_axes(kernel, kept_axes(kernel), "unit");
    mx_text_print(text,
                  "    %s total = mx_cast<%s>(0);\n    uint met = 0;\n"
                  "    for (%s s = y; is_here && s < segments; s += %d) {\n"
                  "        %s a = total, b = mx_load<%s>(m%d + (s * units + unit) * %d);\n"
                  "        total = s == %s(y) ? b : op::apply(a, b);\n"
                  "        if (s != %s(y))\n"
                  "            met |= mx_met_arithmetic(a, b, total);\n    }\n"
                  "    total = mx_join_lanes<op, %du>(total, y, uint(segments), &met);\n",
                  type, type, offset, lanes, type, type, from, itemsize, offset, offset, lanes);
    mx_steps_declare(kernel, words);
    if (words->of_steps[step])
        mx_text_print(text, "    report%d = met;\n", step);
    if (in->begins_with_zero)
        mx_text_print(text, "    total = op::apply(mx_cast<%s>(0), total);\n", type);
    mx_text_print(text, "    if (y == 0 && is_here)\n        mx_store(");
    mx_kernel_print_address(kernel, kernel->group->steps[step].views[1]);
    mx_text_print(text, ", mx_cast<%s>(total));\n", mx_device_type(in->operands[1].dtype));
    print_end(kernel, words);
}

size_t mx_passes_shared_bytes(const struct mx_kernel *kernel,
                              const struct mx_reduce_shape *shape)
{
    size_t total = 0;
    for (int s = 0; s < kernel->group->n_steps; s++) {
        const struct mx_instruction *in = mx_kernel_instruction(kernel, s);
        int itemsize;
        mx_passes_partial_type(in, &itemsize);
        if (reduces(in))
            total += (size_t)itemsize + (in->kind == MX_ARGREDUCE ? sizeof(int64_t) : 0);
    }
    return total * (size_t)shared_count(shape);
}

static bool has_long_lines(const struct mx_kernel *kernel, int threads)
{
    int64_t length = product(kernel, kernel->reduced);
    return length / threads > LONG_SHARE ||
           (length > LONG_LINE && product(kernel, kept_axes(kernel)) < FEW_LINES);
}

bool mx_passes_has_long_searches(const struct mx_kernel *kernel,
                                 const struct mx_reduce_shape *shape)
{
    return has_long_lines(kernel, threads_of_result(shape));
}

/* -- Scans ------------------------------------------------------------------------- */

/* Prints how a thread of the scan finds its line and its place in it, and sets the grid.  The
 * threads of a line go along it, and each takes `share` elements at a time. */
static void print_line(struct mx_kernel *kernel, int threads)
{
    const char *type = mx_kernel_offset_type(kernel);
    int width = MX_KERNEL_THREADS / threads;
    int64_t lines = product(kernel, kept_axes(kernel));
    kernel->grid[0] = (size_t)((lines + width - 1) / width);
    kernel->grid[1] = kernel->grid[2] = 1;
    mx_text_print(&kernel->text,
                  "    const %s line = %s(group.x) * %d + thread_index / %du;\n"
                  "    const uint y = thread_index %% %du;\n"
                  "    const bool is_here = line < %s(args[%d]);\n",
                  type, type, width, threads, threads, type, mx_kernel_arg(kernel, lines));
    mx_kernel_print_axes(kernel, kept_axes(kernel), "line");
}

/* Prints how a thread loads its elements into `sums`, and adds them up. */
static void print_own_sums(struct mx_kernel *kernel, int axis, int share, const char *type)
{
    const char *offset = mx_kernel_offset_type(kernel);
    const struct mx_instruction *in = mx_kernel_instruction(kernel, 0);
    mx_text_print(&kernel->text,
                  "        const %s own = begin + %s(y) * %d;\n        %s sums[%d];\n"
                  "        MX_UNROLL\n        for (uint w = 0; w < %du; w++) {\n"
                  "            const %s i%d = own + %s(w);\n"
                  "            sums[w] = mx_cast<%s>(0);\n"
                  "            if (!is_here || i%d >= length)\n                continue;\n"
                  "            sums[w] = mx_cast<%s>(mx_load<%s>(",
                  offset, offset, share, type, share, share, offset, axis, offset, type, axis,
                  type, mx_device_type(in->operands[1].dtype));
    mx_kernel_print_address(kernel, kernel->group->steps[0].views[0]);
    mx_text_print(&kernel->text,
                  "));\n            is_finite = is_finite && mx_isfinite(sums[w]);\n"
                  "            if (w > 0)\n"
                  "                sums[w] = op0::apply(sums[w - 1], sums[w]);\n        }\n");
}

/* Prints how a thread adds what comes before its elements, and stores the results. */
static void print_results_of_line(struct mx_kernel *kernel, int axis, int share)
{
    const char *offset = mx_kernel_offset_type(kernel);
    const struct mx_instruction *in = mx_kernel_instruction(kernel, 0);
    mx_text_print(&kernel->text,
                  "        if (begin > 0)\n"
                  "            before = y == 0 ? carry : op0::apply(carry, before);\n"
                  "        carry = begin > 0 ? op0::apply(carry, all) : all;\n"
                  "        MX_UNROLL\n        for (uint w = 0; w < %du; w++) {\n"
                  "            const %s i%d = own + %s(w);\n"
                  "            if (is_here && i%d < length)\n                mx_store(",
                  share, offset, axis, offset, axis);
    mx_kernel_print_address(kernel, kernel->group->steps[0].views[1]);
    mx_text_print(&kernel->text,
                  ", mx_cast<%s>(i%d < %d ? sums[w] : op0::apply(before, sums[w])));\n"
                  "        }\n",
                  mx_device_type(in->operands[1].dtype), axis, share);
}

/* The first thread of a line reports an overflow if all elements were finite. */
static void print_condition_of_line(struct mx_kernel *kernel, int threads)
{
    struct mx_text *text = &kernel->text;
    mx_text_print(text, "    uint met = 0, all_are_finite = ");
    if (threads > LANES)
        mx_text_print(text,
                      "mx_join<mx_both>(finite, uint(is_finite), thread_index, %du, &met);\n",
                      threads);
    else
        mx_text_print(text, "mx_join_lanes<mx_both, %du>(uint(is_finite), y, %du, &met);\n",
                      threads, threads);
    mx_text_print(text, "    if (is_here && y == 0)\n"
                        "        report0 = mx_met_sum(carry, all_are_finite != 0);\n");
}

/* One thread goes along each line if adjacent lines are adjacent in memory, so that the threads
 * of a SIMD-group load adjacent elements, and there are enough lines. */
static int threads_of_scan(const struct mx_kernel *kernel, int axis)
{
    int64_t lines = product(kernel, kept_axes(kernel));
    const intptr_t *strides = kernel->strides[kernel->group->steps[0].views[0]];
    bool has_adjacent_lines = labs(strides[kernel->ndim - 1]) < labs(strides[axis]);
    return has_adjacent_lines && lines >= MANY_COLUMNS
               ? 1
               : threads_of_line(kernel, lines, kernel->shape[axis]);
}

static int scanned_axis(const struct mx_kernel *kernel)
{
    int axis = 0;
    while (!(kernel->reduced >> axis & 1))
        axis++;
    return axis;
}

bool mx_passes_has_long_scans(const struct mx_kernel *kernel)
{
    return has_long_lines(kernel, threads_of_scan(kernel, scanned_axis(kernel)));
}

void mx_passes_print_scan(struct mx_kernel *kernel, const struct mx_status_words *words)
{
    const struct mx_instruction *in = mx_kernel_instruction(kernel, 0);
    int itemsize, axis = scanned_axis(kernel), share = MIN_SHARE;
    const char *type = mx_passes_partial_type(in, &itemsize);
    const char *offset = mx_kernel_offset_type(kernel);
    struct mx_text *text = &kernel->text;
    int threads = threads_of_scan(kernel, axis);
    mx_steps_print_operation(kernel, in->op, "op0", type, type);
    kernel->prelude = MX_PRELUDE_REDUCE;
    mx_work_estimate(kernel, mx_work_of_element(kernel));
    mx_kernel_print_head(kernel, MX_THREADGROUPS, words);
    print_line(kernel, threads);
    mx_steps_declare(kernel, words);
    if (threads > LANES)
        mx_text_print(text,
                      "    threadgroup %s shared[%d];\n    threadgroup uint finite[%d];\n",
                      type, threads / LANES, threads / LANES);
    mx_text_print(text,
                  "    const %s length = args[%d];\n    %s carry = mx_cast<%s>(0);\n"
                  "    bool is_finite = true;\n"
                  "    for (%s begin = 0; begin < length; begin += %d) {\n",
                  offset, axis, type, type, offset, threads * share);
    print_own_sums(kernel, axis, share, type);
    mx_text_print(text, "        %s all, before = ", type);
    if (threads > LANES)
        mx_text_print(text, "mx_scan<op0>(shared, sums[%d], thread_index, &all);\n", share - 1);
    else
        mx_text_print(text,
                      "mx_scan_lanes<op0, %du>(sums[%d], y, thread_index %% MX_LANES, &all);\n",
                      threads, share - 1);
    print_results_of_line(kernel, axis, share);
    mx_text_print(text, "    }\n");
    if (words->of_steps[0])
        print_condition_of_line(kernel, threads);
    print_end(kernel, words);
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
