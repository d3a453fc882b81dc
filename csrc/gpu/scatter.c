/* scatter.c -- the kernels of scatters: elements are set or updated at indices. */
#include "gpu/scatter.h"

#include <stdlib.h>
#include <string.h>

#include "gpu/atomics.h"
#include "gpu/steps.h"
#include "gpu/work.h"

#define COPY_BYTES   ((int64_t)16 << 10) /* most of a copy: several threadgroups share a core */
#define MOST_COPIES  1024                /* enough to keep a GPU busy */
#define COPY_UPDATES 2048                /* least of a threadgroup with a copy */
#define MOST_PLACES  32 /* of an element in a copy: a lane multiplies in each */
#define PACK_BYTES   16
#define MOST_WINNERS 16 /* numbers for each value along which threads go */
#define MANY_OF_ELEMENT 1024

/* -- Updates ----------------------------------------------------------------------- */

/* Whether all results are NaN once the element or a value is NaN. */
static bool nan_stays(int op)
{
    return op == MX_OP_add || op == MX_OP_subtract || op == MX_OP_multiply ||
           op == MX_OP_divide || op == MX_OP_maximum || op == MX_OP_minimum;
}

/* Whether an update rarely changes an element that has had many. */
static bool settles(int op)
{
    return op == MX_OP_maximum || op == MX_OP_minimum || op == MX_OP_fmax || op == MX_OP_fmin ||
           op == MX_OP_bitwise_and || op == MX_OP_bitwise_or;
}

static const struct mx_operand *value_of(const struct mx_instruction *in)
{
    return &in->operands[in->nin - 1];
}

static const struct mx_operand *output_of(const struct mx_instruction *in)
{
    return &in->operands[in->nin];
}

static const struct mx_view *target_of(const struct mx_kernel *kernel)
{
    const struct mx_step *step = &kernel->group->steps[0];
    return &kernel->group->views[step->views[mx_kernel_instruction(kernel, 0)->nin]];
}

/* The offset of the target's first byte in the memory that is bound.  The `low` of a view
 * outside the pool is an address. */
static int64_t low_of_target(const struct mx_kernel *kernel)
{
    const struct mx_view *target = target_of(kernel);
    int view = (int)(target - kernel->group->views);
    return target->buffer ? target->low : (int64_t)kernel->bindings[kernel->buffers[view]].lead;
}

static int64_t count_elements(const struct mx_kernel *kernel)
{
    const struct mx_view *target = target_of(kernel);
    return (int64_t)(target->high - target->low) / target->itemsize;
}

static void print_value(struct mx_kernel *kernel)
{
    const struct mx_instruction *in = mx_kernel_instruction(kernel, 0);
    bool is_negated = in->op == MX_OP_subtract;
    mx_text_print(&kernel->text, is_negated ? "mx_negative(" : "");
    mx_steps_print_operand(kernel, 0, in->nin - 1);
    mx_text_print(&kernel->text, is_negated ? ")" : "");
}

static void print_update(struct mx_kernel *kernel)
{
    const struct mx_instruction *in = mx_kernel_instruction(kernel, 0);
    int to = kernel->buffers[kernel->group->steps[0].views[in->nin]];
    const char *type = mx_device_type(output_of(in)->dtype);
    const char *atomic = value_of(in)->dtype == output_of(in)->dtype
                             ? mx_atomics_name(in->op, output_of(in)->dtype)
                             : NULL;
    bool joins = atomic && mx_atomics_is_sum(in->op) && output_of(in)->itemsize >= 4;
    if (joins) {
        mx_text_print(&kernel->text, "        %s value = ", type);
        print_value(kernel);
        mx_text_print(&kernel->text,
                      ";\n        if (mx_join_neighbours(uint(target / %d), value))\n    ",
                      output_of(in)->itemsize);
    }
    if (atomic)
        mx_text_print(&kernel->text, "        mx_update_by_%s<%s>(m%d, target, ", atomic, type,
                      to);
    else
        mx_text_print(&kernel->text, "        mx_update<op0, %s, %s>(m%d, target, ", type,
                      nan_stays(in->op) ? "true" : "false", to);
    if (joins)
        mx_text_print(&kernel->text, "value");
    else if (atomic)
        print_value(kernel);
    else
        mx_steps_print_operand(kernel, 0, in->nin - 1);
    mx_text_print(&kernel->text, ");\n");
}

/* -- Rows -------------------------------------------------------------------------- *
 * If the indices select rows, all elements of a row have the same last value. */

/* Strides and lengths of the axes of the target: those of the indices, then those of rows. */
struct axes {
    int64_t strides[MX_MAX_INDICES + MX_MAX_NDIM], lengths[MX_MAX_INDICES + MX_MAX_NDIM];
    int n;
};

static void add_axis(struct axes *axes, int64_t stride, int64_t length)
{
    if (length < 2)
        return;
    axes->strides[axes->n] = llabs(stride);
    axes->lengths[axes->n++] = length;
}

/* Whether different positions along the axes are different elements.  It may be false although
 * they are. */
static bool are_apart(struct axes *axes, int64_t itemsize)
{
    int64_t extent = itemsize; /* of the axes with smaller strides */
    for (int done = 0; done < axes->n; done++) {
        int least = done;
        for (int i = done; i < axes->n; i++)
            least = axes->strides[i] < axes->strides[least] ? i : least;
        int64_t stride = axes->strides[least], length = axes->lengths[least];
        axes->strides[least] = axes->strides[done];
        axes->lengths[least] = axes->lengths[done];
        if (stride < extent)
            return false;
        extent += stride * (length - 1);
    }
    return true;
}

static bool is_row_axis(const struct mx_kernel *kernel, int axis)
{
    const struct mx_instruction *in = mx_kernel_instruction(kernel, 0);
    return kernel->strides[kernel->group->steps[0].views[in->nin]][axis] != 0;
}

/* Whether the numbers of winners are those of rows. */
static bool has_rows(const struct mx_kernel *kernel)
{
    const struct mx_instruction *in = mx_kernel_instruction(kernel, 0);
    const int *views = kernel->group->steps[0].views;
    struct axes axes = {.n = 0};
    if (kernel->ndim > 3)
        return false;
    for (int j = 0; j < in->indexing.n; j++)
        add_axis(&axes, in->indexing.strides[j], in->indexing.sizes[j]);
    for (int i = 0; i < kernel->ndim; i++) {
        if (!is_row_axis(kernel, i))
            continue;
        for (int j = 0; j < in->indexing.n; j++)
            if (views[j] >= 0 && kernel->strides[views[j]][i] != 0)
                return false;
        add_axis(&axes, kernel->strides[views[in->nin]][i], kernel->shape[i]);
    }
    return are_apart(&axes, output_of(in)->itemsize);
}

static int64_t greatest_divisor(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* The rows of a target: bytes from one to the next, the offset of the first, and how many. */
struct rows {
    int64_t unit, low, n;
};

static struct rows rows_of(const struct mx_kernel *kernel)
{
    const struct mx_indexing *indexing = &mx_kernel_instruction(kernel, 0)->indexing;
    struct rows rows = {0};
    int64_t extent = 0;
    for (int j = 0; j < indexing->n; j++) {
        int64_t stride = indexing->strides[j], most = stride * (indexing->sizes[j] - 1);
        if (most == 0)
            continue;
        rows.unit = greatest_divisor(rows.unit, llabs(stride));
        rows.low += most < 0 ? most : 0;
        extent += llabs(most);
    }
    rows.unit = rows.unit ? rows.unit : 1;
    rows.n = extent / rows.unit + 1;
    return rows;
}

int64_t mx_scatter_winners(const struct mx_kernel *kernel)
{
    return has_rows(kernel) ? rows_of(kernel).n : count_elements(kernel);
}

/* Prints the number of a value among all, and that of its element or row. */
static void print_number(struct mx_kernel *kernel)
{
    struct mx_text *text = &kernel->text;
    const char *type = mx_kernel_offset_type(kernel);
    bool by_row = has_rows(kernel);
    struct rows rows = rows_of(kernel);
    mx_text_print(text, "        uint order = 0;\n");
    for (int i = 0; i < kernel->ndim; i++)
        if (!by_row || !is_row_axis(kernel, i))
            mx_text_print(text, "        order = order * uint(args[%d]) + uint(i%d);\n", i, i);
    if (by_row)
        mx_text_print(text, "        %s number = (offset - %s(args[%d])) / %s(args[%d]);\n",
                      type, type, mx_kernel_arg(kernel, rows.low), type,
                      mx_kernel_arg(kernel, rows.unit));
    else
        mx_text_print(text, "        %s number = (target - %s(args[%d])) / %d;\n", type, type,
                      mx_kernel_arg(kernel, low_of_target(kernel)),
                      target_of(kernel)->itemsize);
}

/* How many elements of a row a thread copies at once: PACK_BYTES of them if strides and offsets
 * allow it. */
static int choose_pack(const struct mx_kernel *kernel)
{
    const struct mx_instruction *in = mx_kernel_instruction(kernel, 0);
    const int *views = kernel->group->steps[0].views;
    int from = views[in->nin - 1], to = views[in->nin], last = kernel->ndim - 1;
    int itemsize = output_of(in)->itemsize;
    if (!has_rows(kernel) || last < 0 || from < 0 || itemsize >= PACK_BYTES ||
        value_of(in)->dtype != output_of(in)->dtype || kernel->is_full ||
        kernel->strides[from][last] != itemsize || kernel->strides[to][last] != itemsize)
        return 1;
    bool is_aligned = kernel->args[kernel->first_args[from]] % PACK_BYTES == 0 &&
                      kernel->args[kernel->first_args[to]] % PACK_BYTES == 0;
    for (int i = 0; i < last; i++)
        is_aligned &= kernel->strides[from][i] % PACK_BYTES == 0 &&
                      kernel->strides[to][i] % PACK_BYTES == 0;
    for (int j = 0; j < in->indexing.n; j++)
        is_aligned &= in->indexing.strides[j] % PACK_BYTES == 0;
    return is_aligned ? PACK_BYTES / itemsize : 1;
}

static void print_assignment(struct mx_kernel *kernel, int pack)
{
    const struct mx_instruction *in = mx_kernel_instruction(kernel, 0);
    const int *views = kernel->group->steps[0].views;
    struct mx_text *text = &kernel->text;
    const char *type = mx_steps_type(in, in->nin);
    int to = kernel->buffers[views[in->nin]], last = kernel->ndim - 1;
    if (pack > 1) {
        mx_text_print(
            text,
            "        const uint count = uint(mx_lesser(%s(args[%d]) - i%d, %s(%d)));\n"
            "        mx_store_pack(m%d + target, mx_load_pack<%s, %du>(",
            mx_kernel_offset_type(kernel), last, last, mx_kernel_offset_type(kernel), pack, to,
            type, pack);
        mx_kernel_print_address(kernel, views[in->nin - 1]);
        mx_text_print(text, ", count), count);\n");
        return;
    }
    mx_text_print(text, "        mx_store(m%d + target, mx_cast<%s>(", to, type);
    mx_steps_print_operand(kernel, 0, in->nin - 1);
    mx_text_print(text, "));\n");
}

/* -- Last values ------------------------------------------------------------------- *
 * Once the last values are known, threads either go along the values and write those that are
 * the last, or along the numbers of winners and write the value of each. */

/* Whether an axis is not one of rows, so that it counts values. */
static bool counts_values(const struct mx_kernel *kernel, int axis)
{
    return !has_rows(kernel) || !is_row_axis(kernel, axis);
}

/* Whether threads go along the numbers of winners.  They read each number then, so there must
 * not be many more of them than values.  That is fast, because adjacent threads write adjacent
 * elements. */
static bool goes_along_winners(const struct mx_kernel *kernel)
{
    int64_t n_values = 1;
    bool has_axis = false; /* not if each element is in the one row of values */
    for (int i = 0; i < kernel->ndim; i++) {
        has_axis = has_axis || counts_values(kernel, i);
        n_values *= counts_values(kernel, i) ? kernel->shape[i] : 1;
    }
    return has_axis && mx_scatter_winners(kernel) <= MOST_WINNERS * n_values;
}

/* Replaces the axes of values by one along the numbers of winners, and returns it. */
static int set_number_axis(struct mx_kernel *kernel)
{
    intptr_t n = (intptr_t)mx_scatter_winners(kernel);
    int axis = -1;
    for (int i = kernel->ndim - 1; i >= 0; i--) {
        if (!counts_values(kernel, i))
            continue;
        kernel->shape[i] = axis < 0 ? n : 1;
        axis = axis < 0 ? i : axis;
    }
    return axis;
}

/* Prints i0, i1 ... of the last value for the number that is the position along an axis, and
 * its target. */
static void print_last_value(struct mx_kernel *kernel, int axis, int numbers)
{
    struct mx_text *text = &kernel->text;
    const char *type = mx_kernel_offset_type(kernel);
    bool by_row = has_rows(kernel);
    struct rows rows = rows_of(kernel);
    int view = kernel->group->steps[0].views[mx_kernel_instruction(kernel, 0)->nin], first = 0;
    while (!counts_values(kernel, first))
        first++;
    mx_text_print(text,
                  "        const %s number = i%d;\n"
                  "        uint order = mx_load<uint>(m%d + number * 4);\n"
                  "        if (order-- == 0)\n            return;\n",
                  type, axis, numbers);
    for (int i = kernel->ndim - 1; i > first; i--)
        if (counts_values(kernel, i))
            mx_text_print(text,
                          "        i%d = %s(order %% uint(args[%d]));\n"
                          "        order /= uint(args[%d]);\n",
                          i, type, i, i);
    mx_text_print(text,
                  "        i%d = %s(order);\n"
                  "        const %s target = number * %s(args[%d]) + %s(args[%d])",
                  first, type, type, type,
                  mx_kernel_arg(kernel, by_row ? rows.unit : target_of(kernel)->itemsize), type,
                  mx_kernel_arg(kernel, by_row ? rows.low : low_of_target(kernel)));
    if (by_row) {
        mx_text_print(text, " + ");
        mx_kernel_print_offset(kernel, view);
    }
    mx_text_print(text, ";\n");
}

/* Prints that later values come first, because then most of the others find a greater number.
 */
static void print_reversal(struct mx_kernel *kernel)
{
    int first = 0;
    while (first < kernel->ndim && !counts_values(kernel, first))
        first++;
    if (first < kernel->ndim)
        mx_text_print(&kernel->text, "    i%d = %s(args[%d]) - 1 - i%d;\n", first,
                      mx_kernel_offset_type(kernel), first, first);
}

/* -- Copies of the target ---------------------------------------------------------- *
 * Updates of a few elements wait for each other.  Each threadgroup makes many of them in a copy
 * in its own memory first. */

struct copies {
    const char *update, *type; /* of the functions mx_copy_..., and of the elements */
    int itemsize;
    bool counts; /* the updates of each element, which have the same value */
    bool is_product;
    int64_t n;    /* elements */
    int64_t size; /* the same, rounded up so that few kernels are compiled */
    int places;   /* of each element: a power of 2 */
    int64_t threadgroups;
};

/* Whether the device can exchange products in a copy.  NumPy rounds each product of halves. */
static bool is_product(const struct mx_instruction *in)
{
    int dtype = output_of(in)->dtype, size = output_of(in)->itemsize;
    return in->op == MX_OP_multiply && size >= 4 &&
           size <= mx_device_used()->limits.atomic_bytes &&
           (mx_dtype_is_float(dtype) || mx_dtype_is_integer(dtype));
}

/* Chooses the type of a copy.  Elements of fewer than 32 bits are added as uint.  Halves are
 * not added in float: NumPy rounds each sum. */
static bool choose_type(struct copies *copies, const struct mx_instruction *in)
{
    int dtype = output_of(in)->dtype, size = output_of(in)->itemsize;
    copies->itemsize = size;
    copies->type = mx_device_type(dtype);
    copies->update = mx_atomics_name(in->op, dtype);
    if (value_of(in)->dtype != dtype || (size < 4 && !mx_dtype_is_integer(dtype)))
        return false;
    if (is_product(in)) {
        copies->is_product = true;
        copies->update = "multiply";
    }
    copies->counts = mx_dtype_is_integer(dtype) && size == 8 && mx_atomics_is_sum(in->op) &&
                     value_of(in)->is_value;
    if (copies->counts ||
        (mx_dtype_is_integer(dtype) && size < 4 && mx_atomics_is_sum(in->op))) {
        copies->type = "uint";
        copies->itemsize = 4;
        copies->update = "add";
    } else if (dtype == MX_DTYPE_float32 && mx_atomics_is_sum(in->op)) {
        copies->update = "add";
    }
    return copies->update != NULL;
}

/* Returns whether the updates are made in copies. */
static bool choose_copies(struct copies *copies, const struct mx_kernel *kernel,
                          enum mx_scatter_pass pass)
{
    int64_t n_updates = 1;
    *copies = (struct copies){.update = "max", .type = "uint", .itemsize = 4};
    for (int i = 0; i < kernel->ndim; i++)
        n_updates *= kernel->shape[i];
    if (pass == MX_SCATTER_FINDS_LAST)
        copies->n = mx_scatter_winners(kernel);
    else if (!choose_type(copies, mx_kernel_instruction(kernel, 0)))
        return false;
    else
        copies->n = count_elements(kernel);
    copies->threadgroups = n_updates / COPY_UPDATES;
    if (copies->threadgroups > n_updates / (copies->n + 1) / 4)
        copies->threadgroups = n_updates / (copies->n + 1) / 4;
    if (copies->threadgroups > MOST_COPIES)
        copies->threadgroups = MOST_COPIES;
    copies->size = copies->places = 1;
    while (copies->size < copies->n)
        copies->size *= 2;
    while (copies->is_product && copies->places < MOST_PLACES &&
           2 * copies->places * copies->size * copies->itemsize <= COPY_BYTES)
        copies->places *= 2;
    return copies->threadgroups > 0 && copies->n * copies->itemsize <= COPY_BYTES;
}

static bool is_sum_of(const struct copies *copies)
{
    return strcmp(copies->update, "add") == 0;
}

/* Prints the element of a copy that no update has changed. */
static void print_identity(struct mx_kernel *kernel, const struct copies *copies)
{
    const struct mx_instruction *in = mx_kernel_instruction(kernel, 0);
    bool is_signed = mx_dtype_kind(output_of(in)->dtype) == 'i';
    int64_t least = copies->itemsize == 8 ? INT64_MIN : INT32_MIN, bits = 0;
    if (is_sum_of(copies)) {
        mx_text_print(&kernel->text, "mx_negative(mx_cast<%s>(0))", copies->type);
        return;
    }
    if (copies->is_product) {
        mx_text_print(&kernel->text, "mx_cast<%s>(1)", copies->type);
        return;
    }
    switch (in->op) {
    case MX_OP_maximum:
        bits = is_signed ? least : 0;
        break;
    case MX_OP_minimum:
        bits = is_signed ? ~least : -1;
        break;
    case MX_OP_bitwise_and:
        bits = -1;
        break;
    }
    mx_text_print(&kernel->text, "%s(args[%d])", copies->type, mx_kernel_arg(kernel, bits));
}

static void print_value_of_copy(struct mx_kernel *kernel, const struct copies *copies,
                                enum mx_scatter_pass pass)
{
    struct mx_text *text = &kernel->text;
    if (pass == MX_SCATTER_FINDS_LAST) {
        mx_text_print(text, "order + 1");
    } else if (copies->counts) {
        mx_text_print(text, "1u");
    } else {
        mx_text_print(text, "%s(", copies->type);
        print_value(kernel);
        mx_text_print(text, ")");
    }
}

/* Prints an update of a copy.  Lanes that update the same element join their values first,
 * unless the operation takes the same time for all lanes. */
static void print_update_of_copy(struct mx_kernel *kernel, const struct copies *copies,
                                 enum mx_scatter_pass pass, int to)
{
    struct mx_text *text = &kernel->text;
    int dtype = output_of(mx_kernel_instruction(kernel, 0))->dtype;
    bool joins = is_sum_of(copies) && !copies->counts &&
                 (copies->itemsize > 4 || !mx_dtype_is_integer(dtype));
    if (pass != MX_SCATTER_FINDS_LAST)
        mx_text_print(text, "        const uint number = uint((target - %s(args[%d])) / %d);\n",
                      mx_kernel_offset_type(kernel),
                      mx_kernel_arg(kernel, low_of_target(kernel)),
                      target_of(kernel)->itemsize);
    mx_text_print(text, "        %s value = ", copies->type);
    print_value_of_copy(kernel, copies, pass);
    if (copies->is_product) {
        mx_text_print(text,
                      ";\n        if (is_selected &&\n            "
                      "!mx_copy_multiply(&copy[number * %d + thread_index %% %d], value))\n"
                      "            mx_update<op0, %s, true>(m%d, target, value);\n",
                      copies->places, copies->places, copies->type, to);
        return;
    }
    mx_text_print(text,
                  ";\n        if (%sis_selected)\n"
                  "            mx_copy_%s<%s>(&copy[number], value);\n",
                  joins ? "mx_join_peers(is_selected ? number : ~0u, value) && " : "",
                  copies->update, copies->type);
}

/* Prints how an element of a copy is applied to the target. */
static void print_end_of_copy(struct mx_kernel *kernel, const struct copies *copies,
                              enum mx_scatter_pass pass, int to)
{
    const struct mx_instruction *in = mx_kernel_instruction(kernel, 0);
    struct mx_text *text = &kernel->text;
    const char *type = mx_device_type(output_of(in)->dtype);
    int dtype = output_of(in)->dtype;
    if (copies->is_product) {
        mx_text_print(text,
                      "            mx_multiply_copies<op0, %s>(m%d, %s(args[%d]) + k * %d, "
                      "&copy[k * %d], %d);\n",
                      type, to, mx_kernel_offset_type(kernel),
                      mx_kernel_arg(kernel, low_of_target(kernel)), target_of(kernel)->itemsize,
                      copies->places, copies->places);
        return;
    }
    if (pass == MX_SCATTER_FINDS_LAST) {
        mx_text_print(text, "            mx_note_last(m%d + k * 4, element);\n", to);
        return;
    }
    if (mx_atomics_name(in->op, dtype))
        mx_text_print(text, "            mx_update_by_%s<%s>(m%d, ", copies->update, type, to);
    else
        mx_text_print(text, "            mx_update<op0, %s, %s>(m%d, ", type,
                      nan_stays(MX_OP_add) ? "true" : "false", to);
    mx_text_print(text, "%s(args[%d]) + k * %d, %s(element)", mx_kernel_offset_type(kernel),
                  mx_kernel_arg(kernel, low_of_target(kernel)), target_of(kernel)->itemsize,
                  type);
    if (copies->counts) {
        mx_text_print(text, " * ");
        print_value(kernel);
    }
    mx_text_print(text, ");\n");
}

/* Prints i0, i1 ... of update r.  An axis along which all elements count as one has length 1.
 */
static void print_axes(struct mx_kernel *kernel)
{
    unsigned axes = 0;
    for (int i = 0; i < kernel->ndim; i++) {
        axes |= kernel->shape[i] > 1 ? 1u << i : 0u;
        if (kernel->shape[i] == 1)
            mx_text_print(&kernel->text, "    %s i%d = 0;\n", mx_kernel_offset_type(kernel), i);
    }
    mx_kernel_print_axes(kernel, axes, "r");
}

static void print_copies(struct mx_kernel *kernel, const struct mx_status_words *words,
                         enum mx_scatter_pass pass, const struct copies *copies, int to)
{
    const struct mx_instruction *in = mx_kernel_instruction(kernel, 0);
    struct mx_text *text = &kernel->text;
    const char *offset = mx_kernel_offset_type(kernel);
    const char *type = mx_device_type(output_of(in)->dtype);
    int64_t n_updates = 1;
    for (int i = 0; i < kernel->ndim; i++)
        n_updates *= kernel->shape[i];
    if (pass != MX_SCATTER_FINDS_LAST && !mx_atomics_name(in->op, output_of(in)->dtype))
        mx_steps_print_operation(kernel, copies->is_product ? in->op : MX_OP_add, "op0", type,
                                 type);
    mx_work_estimate(kernel, mx_work_of_element(kernel) + MX_WORK_ATOMIC);
    mx_kernel_print_head(kernel, MX_THREADGROUPS, words);
    kernel->grid[0] = (size_t)copies->threadgroups;
    kernel->grid[1] = kernel->grid[2] = 1;
    int n = mx_kernel_arg(kernel, copies->n);
    mx_text_print(text,
                  "    threadgroup %s copy[%d];\n"
                  "    for (uint k = thread_index; k < uint(args[%d]) * %d; k += %du)\n"
                  "        copy[k] = ",
                  copies->type, (int)copies->size * copies->places, n, copies->places,
                  MX_KERNEL_THREADS);
    print_identity(kernel, copies);
    mx_text_print(text,
                  ";\n    threadgroup_barrier(mem_flags::mem_threadgroup);\n"
                  "    const %s updates = args[%d], step = args[%d];\n"
                  "    for (%s begin = %s(group.x) * %d; begin < updates; begin += step) {\n"
                  "        const bool is_here = begin + %s(thread_index) < updates;\n"
                  "        const %s r = is_here ? begin + %s(thread_index) : updates - 1;\n",
                  offset, mx_kernel_arg(kernel, n_updates),
                  mx_kernel_arg(kernel, copies->threadgroups * MX_KERNEL_THREADS), offset,
                  offset, MX_KERNEL_THREADS, offset, offset, offset);
    print_axes(kernel);
    mx_steps_load(kernel);
    mx_steps_print_target(kernel, 0, in->nin);
    mx_text_print(text, "        is_selected = is_selected && is_here;\n");
    if (pass == MX_SCATTER_FINDS_LAST)
        print_number(kernel);
    print_update_of_copy(kernel, copies, pass, to);
    mx_text_print(text,
                  "    }\n    threadgroup_barrier(mem_flags::mem_threadgroup);\n"
                  "    for (uint k = thread_index; k < uint(args[%d]); k += %du) {\n",
                  n, MX_KERNEL_THREADS);
    if (!copies->is_product) {
        mx_text_print(text,
                      "        const %s element = copy[k];\n"
                      "        if (!mx_has_bits(element, ",
                      copies->type);
        print_identity(kernel, copies);
        mx_text_print(text, "))\n");
    }
    print_end_of_copy(kernel, copies, pass, to);
    mx_text_print(text, "    }\n}\n");
}

bool mx_scatter_waits(const struct mx_kernel *kernel)
{
    const struct mx_instruction *in = mx_kernel_instruction(kernel, 0);
    struct copies copies;
    int64_t n_updates = 1;
    for (int i = 0; i < kernel->ndim; i++)
        n_updates *= kernel->shape[i];
    return n_updates >= MX_MANY_UPDATES &&
           n_updates / MANY_OF_ELEMENT > count_elements(kernel) && in->op != MX_COPY &&
           !settles(in->op) && !mx_atomics_name(in->op, output_of(in)->dtype) &&
           !choose_copies(&copies, kernel, MX_SCATTER_UPDATES);
}

/* -- Kernels ----------------------------------------------------------------------- */

static int64_t work_of_target(const struct mx_kernel *kernel, enum mx_scatter_pass pass)
{
    const struct mx_instruction *in = mx_kernel_instruction(kernel, 0);
    return pass == MX_SCATTER_FINDS_LAST ? MX_WORK_ATOMIC
           : in->op == MX_COPY           ? MX_WORK_ACCESS
                                         : mx_work_of_update(kernel);
}

void mx_scatter_print(struct mx_kernel *kernel, const struct mx_status_words *words,
                      enum mx_scatter_pass pass, struct mx_buffer *winners)
{
    const struct mx_instruction *in = mx_kernel_instruction(kernel, 0);
    struct mx_text *text = &kernel->text;
    struct copies copies;
    int numbers = winners ? mx_kernel_bind(kernel, winners, true) : 0;
    bool sets = in->op == MX_COPY;
    int pack = pass == MX_SCATTER_WRITES_LAST ? choose_pack(kernel) : 1;
    kernel->prelude = MX_PRELUDE_SCATTER;
    if (pass == MX_SCATTER_FINDS_LAST && has_rows(kernel))
        for (int i = 0; i < kernel->ndim; i++) /* the values of a row count as one */
            kernel->shape[i] = is_row_axis(kernel, i) ? 1 : kernel->shape[i];
    if (choose_copies(&copies, kernel, pass) && (pass == MX_SCATTER_FINDS_LAST || !sets)) {
        int to = pass == MX_SCATTER_FINDS_LAST
                     ? numbers
                     : kernel->buffers[kernel->group->steps[0].views[in->nin]];
        print_copies(kernel, words, pass, &copies, to);
        return;
    }
    bool by_number = pass == MX_SCATTER_WRITES_LAST && goes_along_winners(kernel);
    int axis = by_number ? set_number_axis(kernel) : -1;
    if (!sets)
        mx_steps_print_operation(kernel, in->op, "op0", mx_device_type(output_of(in)->dtype),
                                 mx_device_type(value_of(in)->dtype));
    mx_work_estimate(kernel, mx_work_of_element(kernel) + work_of_target(kernel, pass));
    mx_kernel_print_head(kernel, MX_THREADS, words);
    kernel->pack = pack;
    mx_kernel_print_positions(kernel);
    kernel->pack = 1;
    if (by_number) {
        print_last_value(kernel, axis, numbers);
        mx_steps_load(kernel);
        print_assignment(kernel, pack);
        mx_text_print(text, "}\n");
        return;
    }
    if (pass == MX_SCATTER_FINDS_LAST)
        print_reversal(kernel);
    mx_steps_load(kernel);
    mx_steps_print_target(kernel, 0, in->nin);
    mx_text_print(text, "        if (!is_selected)\n            return;\n");
    if (pass != MX_SCATTER_UPDATES) {
        print_number(kernel);
        mx_text_print(text, "        device uchar *last = m%d + number * 4;\n", numbers);
    }
    if (pass == MX_SCATTER_FINDS_LAST) {
        mx_text_print(text, "        mx_note_last(last, order + 1);\n}\n");
        return;
    }
    if (pass == MX_SCATTER_WRITES_LAST)
        mx_text_print(text,
                      "        if (mx_load<uint>(last) != order + 1)\n            return;\n");
    if (sets)
        print_assignment(kernel, pack);
    else
        print_update(kernel);
    mx_text_print(text, "}\n");
}
