/* reductions.c -- the kernels of reductions and of searches for an extreme.
 *
 * A thread keeps one result for each unit that it works on: `partial`, and `index` of a search.
 * While it has whole batches, it loads a batch, combines the batch as a tree, and then changes
 * its result once.  It combines what is left element by element.  The threads of a unit then
 * join their results.
 */
#include "gpu/reductions.h"

#include <stdio.h>
#include <stdlib.h>

#include "gpu/passes.h"
#include "gpu/steps.h"
#include "gpu/work.h"

#define MIN_SEGMENT   4096
#define WIDTH         32 /* threads side by side that load whole lines of memory */
#define SEGMENT_UNIT  16 /* elements: a multiple of any pack */
#define MIDDLE_ROW    ((int64_t)1 << 15)
#define LONG_SEGMENT  ((int64_t)1 << 20)
#define MAX_BATCH     8  /* loads of a view */
#define BATCH_STEPS   64 /* most steps times elements of a batch: they are unrolled */
#define RESULT_BYTES  64 /* of the results of a thread */
#define COMBINE_SHARE 4  /* segments that a thread combines */

/* -- Shapes ------------------------------------------------------------------------ */

static bool reduces(const struct mx_instruction *in)
{
    return in->kind == MX_REDUCE || in->kind == MX_ARGREDUCE;
}

static int threads_of_result(const struct mx_reduce_shape *shape)
{
    return MX_KERNEL_THREADS / shape->width;
}

/* Elements of one unit that a thread combines at a time. */
static int batch_elements(const struct mx_kernel *kernel, const struct mx_reduce_shape *shape)
{
    return shape->batch * (shape->has_columns ? 1 : kernel->pack);
}

/* Bytes that a thread loads for one element, or for one pack. */
static int loaded_bytes(const struct mx_kernel *kernel)
{
    int bytes = 0;
    for (int v = 0; v < kernel->group->n_views; v++) {
        const struct mx_view *view = &kernel->group->views[v];
        bool is_one = kernel->strides[v][kernel->ndim - 1] == 0;
        if (!view->is_temporary && !view->is_reduced && view->is_read && !is_one)
            bytes += view->itemsize * kernel->pack;
    }
    return bytes;
}

static int choose_batch(const struct mx_kernel *kernel)
{
    int batch = 1, bytes = loaded_bytes(kernel);
    int wanted = kernel->device->limits.bytes_in_flight;
    while (batch < MAX_BATCH && 2 * batch * bytes <= wanted &&
           2 * batch * kernel->pack * kernel->group->n_steps <= BATCH_STEPS)
        batch *= 2;
    return batch;
}

/* Lets a thread have adjacent results if the last axis is not reduced and has whole packs. */
static int choose_results(struct mx_kernel *kernel)
{
    int largest = 1;
    for (int s = 0; s < kernel->group->n_steps; s++) {
        const struct mx_instruction *in = mx_kernel_instruction(kernel, s);
        int itemsize;
        mx_passes_partial_type(in, &itemsize);
        if (reduces(in) && itemsize > largest)
            largest = itemsize;
    }
    mx_kernel_choose_pack(kernel);
    if (kernel->shape[kernel->ndim - 1] % kernel->pack != 0 ||
        kernel->pack * largest > RESULT_BYTES)
        kernel->pack = 1;
    return kernel->pack;
}

/* The threads side by side of columns.  With more of them fewer threads share a result, which
 * is faster if the columns alone keep a GPU busy. */
static int width_of_columns(const struct mx_kernel *kernel, int64_t columns)
{
    int width = mx_passes_power_of_two(columns, WIDTH);
    while (width < MX_KERNEL_THREADS &&
           columns / (2 * width) >= kernel->device->limits.threadgroups)
        width *= 2;
    return width;
}

/* A SIMD-group goes along long rows, too, if there are enough of them: it needs no barrier, and
 * whole batches leave little over. */
static int threads_of_row(const struct mx_kernel *kernel, const struct mx_reduce_shape *shape)
{
    int threads =
        mx_passes_threads_of_line(shape->n_units, shape->length, batch_elements(kernel, shape));
    bool are_many = shape->n_units >= 2 * kernel->device->limits.threadgroups;
    return threads > MX_LANES && are_many && shape->length <= MIDDLE_ROW ? MX_LANES : threads;
}

static int64_t round_up(int64_t n, int64_t unit) { return (n + unit - 1) / unit * unit; }

/* Cuts results with many elements if there are too few results to keep a GPU busy.  All
 * segments but the last one have the same length, a multiple of any pack, and whole batches if
 * they are long. */
static void reductions_cut(const struct mx_kernel *kernel, struct mx_reduce_shape *shape)
{
    int64_t side = (int64_t)shape->width * shape->results,
            wanted = kernel->device->limits.threadgroups;
    int64_t threadgroups = (shape->n_units + side - 1) / side;
    int64_t least = MIN_SEGMENT / side, segments = shape->length / (least > 0 ? least : 1);
    if (threadgroups >= wanted || segments <= 1)
        return;
    int64_t most = wanted / threadgroups;
    if (most < shape->length / LONG_SEGMENT)
        most =
            shape->length / LONG_SEGMENT; /* so that parts of the grid keep a GPU busy, too */
    if (segments > most)
        segments = most;
    int64_t at_once = (int64_t)threads_of_result(shape) * batch_elements(kernel, shape);
    shape->segment = (shape->length + segments - 1) / segments;
    shape->segment =
        round_up(shape->segment, shape->segment > at_once ? at_once : SEGMENT_UNIT);
    shape->segment = round_up(shape->segment, SEGMENT_UNIT);
    shape->segments = (shape->length + shape->segment - 1) / shape->segment;
}

struct mx_reduce_shape mx_reductions_shape(struct mx_kernel *kernel)
{
    struct mx_reduce_shape shape = {
        .n_units = mx_passes_product(kernel, mx_passes_kept_axes(kernel)),
        .length = mx_passes_product(kernel, kernel->reduced),
        .segments = 1,
        .results = 1,
        .has_columns = !(kernel->reduced >> (kernel->ndim - 1) & 1),
    };
    shape.segment = shape.length;
    if (shape.has_columns)
        shape.results = choose_results(kernel);
    else if (kernel->reduced == 1u << (kernel->ndim - 1))
        mx_kernel_choose_pack(kernel);
    shape.batch = choose_batch(kernel);
    shape.width = shape.has_columns ? width_of_columns(kernel, shape.n_units / shape.results)
                                    : MX_KERNEL_THREADS / threads_of_row(kernel, &shape);
    if (shape.has_columns || shape.width == 1)
        reductions_cut(kernel, &shape);
    return shape;
}

/* Shared elements of a reduction.  The lanes of a SIMD-group exchange their results directly.
 */
static int shared_count(const struct mx_reduce_shape *shape)
{
    int threads = threads_of_result(shape);
    return shape->has_columns   ? (threads > 1 ? MX_KERNEL_THREADS : 0)
           : threads > MX_LANES ? threads / MX_LANES
                                : 0;
}

size_t mx_reductions_shared_bytes(const struct mx_kernel *kernel,
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

/* -- Declarations ------------------------------------------------------------------ */

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

/* Declares what each thread accumulates: results and, for a search, their indices. */
static void declare_partials(struct mx_kernel *kernel, const struct mx_reduce_shape *shape)
{
    const struct mx_group *group = kernel->group;
    const char *index_type = mx_kernel_offset_type(kernel);
    struct mx_text *text = &kernel->text;
    int n = shared_count(shape);
    for (int s = 0; s < group->n_steps; s++) {
        const struct mx_instruction *in = mx_kernel_instruction(kernel, s);
        int itemsize;
        const char *type = mx_passes_partial_type(in, &itemsize);
        if (!reduces(in))
            continue;
        if (n > 0)
            mx_text_print(text, "    threadgroup %s shared%d[%d];\n", type, s, n);
        if (in->kind == MX_ARGREDUCE && n > 0)
            mx_text_print(text, "    threadgroup %s indices%d[%d];\n", index_type, s, n);
        mx_text_print(text, "    %s partial%d[%d];\n", type, s, shape->results);
        if (in->kind == MX_REDUCE)
            mx_text_print(text, "    %s rest%d[%d];\n", type, s, shape->results);
        if (in->kind == MX_ARGREDUCE)
            mx_text_print(text, "    %s index%d[%d];\n", index_type, s, shape->results);
        mx_text_print(text,
                      "    MX_UNROLL\n    for (uint c = 0; c < %du; c++) {\n"
                      "        partial%d[c] = mx_cast<%s>(0);\n",
                      shape->results, s, type);
        if (in->kind == MX_ARGREDUCE)
            mx_text_print(text, "        index%d[c] = 0;\n", s);
        if (in->kind == MX_REDUCE)
            mx_text_print(text, "        rest%d[c] = mx_cast<%s>(0);\n", s, type);
        mx_text_print(text, "    }\n    uint met%d = 0;\n", s);
    }
}

/* Prints which units and which of their elements a thread has, and sets the grid accordingly.
 * `unit` and `y` are the numbers of its first unit and of the thread among those of the unit;
 * `own` is the first element of the thread, and n threads of the unit have elements. */
static void print_share(struct mx_kernel *kernel, const struct mx_reduce_shape *shape)
{
    const char *type = mx_kernel_offset_type(kernel);
    int width = shape->width, height = threads_of_result(shape);
    int side = width * shape->results, pack = shape->has_columns ? 1 : kernel->pack;
    kernel->grid[0] = (size_t)((shape->n_units + side - 1) / side);
    kernel->grid[1] = (size_t)shape->segments;
    kernel->grid[2] = 1;
    int units = mx_kernel_arg(kernel, shape->n_units);
    int length = mx_kernel_arg(kernel, shape->length);
    int segment = mx_kernel_arg(kernel, shape->segment);
    mx_text_print(&kernel->text,
                  "    const %s units = args[%d], segment = group.y;\n"
                  "    const %s unit = %s(group.x) * %d + thread_index %s %du * %du;\n"
                  "    const %s y = thread_index %s %du;\n"
                  "    const %s first = segment * %s(args[%d]);\n"
                  "    const %s end = mx_lesser(first + %s(args[%d]), %s(args[%d]));\n"
                  "    const %s own = first + y * %d;\n"
                  "    const uint n = uint(mx_lesser(%s(%d), (end - first + %d) / %d));\n"
                  "    const bool is_here = unit < units;\n",
                  type, units, type, type, side, shape->has_columns ? "%" : "/",
                  shape->has_columns ? width : height, shape->results, type,
                  shape->has_columns ? "/" : "%", shape->has_columns ? width : height, type,
                  type, segment, type, type, segment, type, length, type, pack, type, height,
                  pack - 1, pack);
}

/* -- Elements ---------------------------------------------------------------------- */

/* Whether a pack has elements of adjacent units, not of one. */
static bool packs_units(const struct mx_kernel *kernel)
{
    return kernel->pack > 1 && !(kernel->reduced >> (kernel->ndim - 1) & 1);
}

/* Prints what a thread does with an element of a batch. */
static void print_into_batch(struct mx_kernel *kernel, int step)
{
    const struct mx_instruction *in = mx_kernel_instruction(kernel, step);
    int itemsize;
    const char *type = mx_passes_partial_type(in, &itemsize);
    if (kernel->pack > 1)
        mx_text_print(&kernel->text, "        batch%d[u * %du + w] = mx_cast<%s>(", step,
                      kernel->pack, type);
    else
        mx_text_print(&kernel->text, "        batch%d[u] = mx_cast<%s>(", step, type);
    mx_steps_print_operand(kernel, step, 0);
    mx_text_print(&kernel->text, ");\n");
}

/* Prints what a thread does with one element.  The first one initializes the result.  In packs
 * of one unit, the number of the element is its position along the last axis. */
static void print_reduction(struct mx_kernel *kernel, int step)
{
    const struct mx_instruction *in = mx_kernel_instruction(kernel, step);
    int itemsize;
    bool has_units = packs_units(kernel);
    char number[16] = "r";
    const char *type = mx_passes_partial_type(in, &itemsize), *c = has_units ? "w" : "0";
    if (kernel->pack > 1 && !has_units)
        snprintf(number, sizeof number, "i%d", kernel->ndim - 1);
    struct mx_text *text = &kernel->text;
    mx_text_print(text, "        %s a = partial%d[%s], b = mx_cast<%s>(", type, step, c, type);
    mx_steps_print_operand(kernel, step, 0);
    mx_text_print(text, ");\n");
    if (in->kind == MX_ARGREDUCE) {
        mx_text_print(text,
                      "        if (%s == own || mx_is_%s(b, a)) {\n"
                      "            partial%d[%s] = b;\n            index%d[%s] = %s;\n"
                      "        }\n",
                      number, in->op == MX_ARGMAX ? "above" : "below", step, c, step, c,
                      number);
        return;
    }
    mx_text_print(text, "        partial%d[%s] = %s == own ? b : op%d::apply(a, b);\n", step, c,
                  number, step);
    if (mx_steps_has_status(in))
        mx_text_print(text,
                      "        if (%s != own)\n"
                      "            met%d |= mx_met_arithmetic(a, b, partial%d[%s]);\n",
                      number, step, step, c);
}

static const char *name_of(bool flag) { return flag ? "true" : "false"; }

static bool is_float_sum(const struct mx_instruction *in)
{
    return in->op == MX_OP_add && mx_dtype_is_inexact(in->operands[0].dtype);
}

/* Combines the batch of each reduction with the results of the thread. */
static void print_folds(struct mx_kernel *kernel, const struct mx_reduce_shape *shape, int step)
{
    struct mx_text *text = &kernel->text;
    int n = batch_elements(kernel, shape), pack = shape->has_columns ? 1 : kernel->pack;
    mx_text_print(text, "    MX_UNROLL\n    for (uint c = 0; c < %du; c++) {\n",
                  shape->results);
    for (int s = 0; s < kernel->group->n_steps; s++) {
        const struct mx_instruction *in = mx_kernel_instruction(kernel, s);
        if (in->kind == MX_REDUCE)
            mx_text_print(text,
                          "        mx_fold<op%d, %du, %du, %s, %s>(&partial%d[c], &rest%d[c], "
                          "&batch%d[c], next == own, &met%d);\n",
                          s, n, shape->results, name_of(mx_steps_has_status(in)),
                          name_of(is_float_sum(in)), s, s, s, s);
        if (in->kind == MX_ARGREDUCE)
            mx_text_print(text,
                          "        const uint found%d = mx_fold_index<%s, %du, %du>("
                          "&partial%d[c], &batch%d[c], next == own);\n"
                          "        if (found%d < %du)\n"
                          "            index%d[c] = next + int(found%d / %du * %du + "
                          "found%d %% %du);\n",
                          s, in->op == MX_ARGMAX ? "true" : "false", n, shape->results, s, s, s,
                          n, s, s, pack, step, s, pack);
    }
    mx_text_print(text, "    }\n");
}

/* Prints the loop over the whole batches of a thread, whose packs are `step` elements apart. */
static void print_batches(struct mx_kernel *kernel, const struct mx_reduce_shape *shape,
                          int step)
{
    const char *type = mx_kernel_offset_type(kernel);
    struct mx_text *text = &kernel->text;
    int pack = shape->has_columns ? 1 : kernel->pack;
    mx_text_print(text, "    for (; is_here && next + %d <= end; next += %d) {\n",
                  step * (shape->batch - 1) + pack, step * shape->batch);
    for (int s = 0; s < kernel->group->n_steps; s++) {
        const struct mx_instruction *in = mx_kernel_instruction(kernel, s);
        int itemsize;
        if (reduces(in))
            mx_text_print(text, "    %s batch%d[%d];\n", mx_passes_partial_type(in, &itemsize),
                          s, shape->batch * kernel->pack);
    }
    mx_text_print(text,
                  "    MX_UNROLL\n    for (uint u = 0; u < %du; u++) {\n"
                  "    const %s r = next + %s(u) * %d;\n",
                  shape->batch, type, type, step);
    mx_kernel_print_axes(kernel, kernel->reduced, "r");
    if (kernel->pack > 1)
        mx_steps_print_packs(kernel, NULL, print_into_batch);
    else
        mx_steps_print(kernel, print_into_batch);
    mx_text_print(text, "    }\n");
    print_folds(kernel, shape, step);
    mx_text_print(text, "    }\n");
}

/* Prints the loops over the elements of a thread. */
static void print_elements(struct mx_kernel *kernel, const struct mx_reduce_shape *shape)
{
    const char *type = mx_kernel_offset_type(kernel);
    int pack = shape->has_columns ? 1 : kernel->pack;
    int step = threads_of_result(shape) * pack;
    mx_text_print(&kernel->text, "    %s next = own;\n", type);
    if (batch_elements(kernel, shape) > 1)
        print_batches(kernel, shape, step);
    mx_text_print(&kernel->text,
                  "    for (; is_here && next < end; next += %d) {\n    const %s r = next;\n",
                  step, type);
    mx_kernel_print_axes(kernel, kernel->reduced, "r");
    if (kernel->pack > 1)
        mx_steps_print_packs(kernel, shape->has_columns ? NULL : "end", print_reduction);
    else
        mx_steps_print(kernel, print_reduction);
    mx_text_print(&kernel->text, "    }\n");
}

/* -- Joins ------------------------------------------------------------------------- */

/* Prints the arguments of the functions that join: who the thread is, and which have a value.
 */
static void print_joined(struct mx_kernel *kernel, const struct mx_reduce_shape *shape)
{
    if (shape->has_columns)
        mx_text_print(&kernel->text, "thread_index, uint(y), %du, %du, n", shape->width,
                      threads_of_result(shape));
    else if (threads_of_result(shape) > MX_LANES)
        mx_text_print(&kernel->text, "thread_index, n");
    else
        mx_text_print(&kernel->text, "uint(y), n");
}

static void print_join(struct mx_kernel *kernel, const struct mx_reduce_shape *shape, int s)
{
    struct mx_text *text = &kernel->text;
    int threads = threads_of_result(shape);
    mx_text_print(text, "        partial%d[c] = ", s);
    if (shape->has_columns)
        mx_text_print(text, "mx_join_columns<op%d>(shared%d, partial%d[c], ", s, s, s);
    else if (threads > MX_LANES)
        mx_text_print(text, "mx_join<op%d>(shared%d, partial%d[c], ", s, s, s);
    else
        mx_text_print(text, "mx_join_lanes<op%d, %du>(partial%d[c], ", s, threads, s);
    print_joined(kernel, shape);
    mx_text_print(text, ", &met%d);\n", s);
}

static void print_index_join(struct mx_kernel *kernel, const struct mx_reduce_shape *shape,
                             int s)
{
    struct mx_text *text = &kernel->text;
    const struct mx_instruction *in = mx_kernel_instruction(kernel, s);
    const char *is_most = in->op == MX_ARGMAX ? "true" : "false";
    int threads = threads_of_result(shape);
    if (!shape->has_columns && threads <= MX_LANES)
        mx_text_print(text, "        mx_join_index_lanes<%s, %du>(&partial%d[c], &index%d[c], ",
                      is_most, threads, s, s);
    else
        mx_text_print(text,
                      "        mx_join_%s<%s>(shared%d, indices%d, &partial%d[c], "
                      "&index%d[c], ",
                      shape->has_columns ? "index_columns" : "indices", is_most, s, s, s, s);
    print_joined(kernel, shape);
    mx_text_print(text, ");\n");
}

/* Joins the results of the threads that have elements of the same unit. */
static void print_joins(struct mx_kernel *kernel, const struct mx_reduce_shape *shape)
{
    if (threads_of_result(shape) == 1)
        return;
    mx_text_print(&kernel->text, "    MX_UNROLL\n    for (uint c = 0; c < %du; c++) {\n",
                  shape->results);
    for (int s = 0; s < kernel->group->n_steps; s++) {
        const struct mx_instruction *in = mx_kernel_instruction(kernel, s);
        if (in->kind == MX_REDUCE)
            print_join(kernel, shape, s);
        if (in->kind == MX_ARGREDUCE)
            print_index_join(kernel, shape, s);
    }
    mx_text_print(&kernel->text, "    }\n");
}

/* -- Results ----------------------------------------------------------------------- */

/* Prints where a segment stores what it found, in a buffer of elements of `size` bytes. */
static void print_partial_store(struct mx_kernel *kernel, int binding, int itemsize,
                                const char *value, int s)
{
    mx_text_print(&kernel->text,
                  "        mx_store(m%d + (segment * units + unit + int(c)) * %d, %s%d[c]%s;\n",
                  binding, itemsize, value, s, *value == 'l' ? "))" : ")");
}

static void print_result(struct mx_kernel *kernel, int s)
{
    const struct mx_instruction *in = mx_kernel_instruction(kernel, s);
    struct mx_text *text = &kernel->text;
    mx_text_print(text, "        mx_store(");
    mx_kernel_print_address(kernel, kernel->group->steps[s].views[1]);
    if (in->kind == MX_ARGREDUCE) {
        mx_text_print(text, ", long(index%d[c]));\n", s);
        return;
    }
    int itemsize;
    const char *type = mx_passes_partial_type(in, &itemsize);
    mx_text_print(text, ", mx_cast<%s>(", mx_device_type(in->operands[1].dtype));
    if (in->begins_with_zero)
        mx_text_print(text, "mx_add(mx_cast<%s>(0), partial%d[c])));\n", type, s);
    else
        mx_text_print(text, "partial%d[c]));\n", s);
}

struct bindings {
    int results, indices;
};

static void print_results(struct mx_kernel *kernel, const struct mx_reduce_shape *shape,
                          const struct bindings *bindings)
{
    int last = kernel->ndim - 1, itemsize;
    const char *type = mx_kernel_offset_type(kernel);
    mx_text_print(&kernel->text,
                  "    MX_UNROLL\n    for (uint c = 0; c < %du; c++) {\n"
                  "        if (y != 0 || !is_here)\n            break;\n",
                  shape->results);
    if (shape->results > 1)
        mx_text_print(&kernel->text,
                      "        const %s start = i%d;\n        {\n"
                      "        const %s i%d = start + %s(c);\n",
                      type, last, type, last, type);
    for (int s = 0; s < kernel->group->n_steps; s++) {
        const struct mx_instruction *in = mx_kernel_instruction(kernel, s);
        if (!reduces(in))
            continue;
        if (shape->segments == 1) {
            print_result(kernel, s);
            continue;
        }
        mx_passes_partial_type(in, &itemsize);
        print_partial_store(kernel, bindings[s].results, itemsize, "partial", s);
        if (in->kind == MX_ARGREDUCE)
            print_partial_store(kernel, bindings[s].indices, 8, "long(index", s);
    }
    mx_text_print(&kernel->text, shape->results > 1 ? "        }\n    }\n" : "    }\n");
}

/* -- Kernels ----------------------------------------------------------------------- */

static void print_end(struct mx_kernel *kernel, const struct mx_status_words *words)
{
    for (int s = 0; s < kernel->group->n_steps; s++)
        if (words->of_steps[s] && mx_kernel_instruction(kernel, s)->kind == MX_REDUCE)
            mx_text_print(&kernel->text, "    report%d |= met%d;\n", s, s);
    mx_steps_report(kernel, words);
    mx_text_print(&kernel->text, "}\n");
}

void mx_reductions_print(struct mx_kernel *kernel, const struct mx_status_words *words,
                         const struct mx_reduce_shape *shape,
                         const struct mx_partials *partials)
{
    struct bindings bindings[MX_MAX_STEPS] = {{0, 0}};
    for (int s = 0; s < kernel->group->n_steps; s++) {
        if (partials[s].results)
            bindings[s].results = mx_kernel_bind(kernel, partials[s].results, true);
        if (partials[s].indices)
            bindings[s].indices = mx_kernel_bind(kernel, partials[s].indices, true);
    }
    print_operations(kernel);
    kernel->prelude = MX_PRELUDE_REDUCE;
    mx_work_estimate(kernel, mx_work_of_element(kernel));
    mx_kernel_print_head(kernel, MX_THREADGROUPS, words);
    print_share(kernel, shape);
    mx_kernel_print_axes(kernel, mx_passes_kept_axes(kernel), "unit");
    mx_steps_declare(kernel, words);
    declare_partials(kernel, shape);
    print_elements(kernel, shape);
    print_joins(kernel, shape);
    print_results(kernel, shape, bindings);
    print_end(kernel, words);
}

/* Prints the loop of a thread over its share of the segments, and the join. */
static void print_combined_results(struct mx_kernel *kernel, const struct mx_instruction *in,
                                   const struct bindings *from, int width)
{
    int itemsize, height = MX_KERNEL_THREADS / width;
    const char *type = mx_passes_partial_type(in, &itemsize);
    const char *offset = mx_kernel_offset_type(kernel);
    mx_text_print(&kernel->text,
                  "    threadgroup %s shared[%d];\n"
                  "    %s total = mx_cast<%s>(0);\n    uint met = 0;\n"
                  "    for (%s s = y; is_here && s < segments; s += %d) {\n"
                  "        %s a = total, b = mx_load<%s>(m%d + (s * units + unit) * %d);\n"
                  "        total = s == %s(y) ? b : op::apply(a, b);\n"
                  "        if (s != %s(y))\n"
                  "            met |= mx_met_arithmetic(a, b, total);\n    }\n"
                  "    total = mx_join_columns<op>(shared, total, thread_index, y, %du, %du, "
                  "uint(segments), &met);\n",
                  type, MX_KERNEL_THREADS, type, type, offset, height, type, type,
                  from->results, itemsize, offset, offset, width, height);
    if (in->begins_with_zero)
        mx_text_print(&kernel->text, "    total = op::apply(mx_cast<%s>(0), total);\n", type);
}

/* The same for a search.  Segments are in the order of their elements. */
static void print_combined_indices(struct mx_kernel *kernel, const struct mx_instruction *in,
                                   const struct bindings *from, int width)
{
    int itemsize, height = MX_KERNEL_THREADS / width;
    const char *type = mx_passes_partial_type(in, &itemsize);
    const char *offset = mx_kernel_offset_type(kernel);
    bool is_most = in->op == MX_ARGMAX;
    mx_text_print(&kernel->text,
                  "    threadgroup %s shared[%d];\n    threadgroup long indices[%d];\n"
                  "    %s best = mx_cast<%s>(0);\n    long total = 0;\n"
                  "    for (%s s = y; is_here && s < segments; s += %d) {\n"
                  "        %s b = mx_load<%s>(m%d + (s * units + unit) * %d);\n"
                  "        long index = mx_load<long>(m%d + (s * units + unit) * 8);\n"
                  "        if (s == %s(y) || mx_is_%s(b, best)) {\n"
                  "            best = b;\n            total = index;\n        }\n    }\n"
                  "    mx_join_index_columns<%s>(shared, indices, &best, &total, "
                  "thread_index, y, %du, %du, uint(segments));\n",
                  type, MX_KERNEL_THREADS, MX_KERNEL_THREADS, type, type, offset, height, type,
                  type, from->results, itemsize, from->indices, offset,
                  is_most ? "above" : "below", is_most ? "true" : "false", width, height);
}

/* Adjacent threads have adjacent units, as in a reduction of columns. */
void mx_reductions_print_combine(struct mx_kernel *kernel, const struct mx_status_words *words,
                                 int step, const struct mx_reduce_shape *shape,
                                 const struct mx_partials *partials)
{
    const struct mx_instruction *in = mx_kernel_instruction(kernel, step);
    const char *offset = mx_kernel_offset_type(kernel);
    int itemsize;
    const char *type = mx_passes_partial_type(in, &itemsize);
    struct mx_text *text = &kernel->text;
    struct bindings from = {.results = mx_kernel_bind(kernel, partials->results, false)};
    if (partials->indices)
        from.indices = mx_kernel_bind(kernel, partials->indices, false);
    int height = mx_passes_power_of_two((shape->segments + COMBINE_SHARE - 1) / COMBINE_SHARE,
                                        MX_KERNEL_THREADS);
    int width = MX_KERNEL_THREADS / height;
    if (in->kind == MX_REDUCE)
        mx_steps_print_operation(kernel, in->op, "op", type, type);
    kernel->prelude = MX_PRELUDE_REDUCE;
    mx_kernel_print_head(kernel, MX_THREADGROUPS, words);
    kernel->grid[0] = (size_t)((shape->n_units + width - 1) / width);
    kernel->grid[1] = kernel->grid[2] = 1;
    mx_text_print(text,
                  "    const %s units = args[%d], segments = args[%d];\n"
                  "    const %s unit = %s(group.x) * %d + thread_index %% %du;\n"
                  "    const uint y = thread_index / %du;\n"
                  "    const bool is_here = unit < units;\n",
                  offset, mx_kernel_arg(kernel, shape->n_units),
                  mx_kernel_arg(kernel, shape->segments), offset, offset, width, width, width);
    mx_kernel_print_axes(kernel, mx_passes_kept_axes(kernel), "unit");
    if (in->kind == MX_REDUCE)
        print_combined_results(kernel, in, &from, width);
    else
        print_combined_indices(kernel, in, &from, width);
    mx_steps_declare(kernel, words);
    if (words->of_steps[step])
        mx_text_print(text, "    report%d = met;\n", step);
    mx_text_print(text, "    if (y == 0 && is_here)\n        mx_store(");
    mx_kernel_print_address(kernel, kernel->group->steps[step].views[1]);
    mx_text_print(text, ", mx_cast<%s>(total));\n", mx_device_type(in->operands[1].dtype));
    mx_steps_report(kernel, words);
    mx_text_print(text, "}\n");
}
