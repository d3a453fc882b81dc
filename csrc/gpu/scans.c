/* scans.c -- the kernels of running results along an axis.
 *
 * Each line along the axis has a threadgroup, or some lanes of a SIMD-group.  If there are too
 * few lines to keep a GPU busy, they are cut into segments, and there are three passes.
 */
#include "gpu/scans.h"

#include <stdlib.h>

#include "gpu/passes.h"
#include "gpu/steps.h"
#include "gpu/work.h"

#define SHARE         4  /* elements that a thread has at a time, or more: */
#define SHARE_BYTES   16 /* if they are loaded as vectors */
#define MAX_SHARE     16
#define MANY_COLUMNS  1024 /* that keep a GPU busy if each has a thread */
#define MAX_GROUPS    4096 /* threadgroups, of lines that are cut */
#define SHORT_SEGMENT 4096 /* elements of a threadgroup */
#define SHORT_PART    128  /* elements of one thread */

/* -- The shape --------------------------------------------------------------------- */

/* One thread goes along each line if adjacent lines are adjacent in memory, so that the threads
 * of a SIMD-group load adjacent elements, and there are enough lines. */
static bool has_columns(const struct mx_kernel *kernel, int axis, int64_t lines)
{
    const intptr_t *strides = kernel->strides[kernel->group->steps[0].views[0]];
    return labs(strides[kernel->ndim - 1]) < labs(strides[axis]) && lines >= MANY_COLUMNS;
}

/* Cuts the lines.  Segments begin at multiples of any pack. */
static void scans_cut(struct mx_scan_shape *shape)
{
    int64_t width = MX_KERNEL_THREADS / shape->threads;
    int64_t groups = (shape->lines + width - 1) / width;
    int64_t least = shape->threads == 1 ? SHORT_PART : SHORT_SEGMENT;
    int64_t segments = shape->length / least, most = MAX_GROUPS / groups;
    bool is_whole = shape->threads != 1 && shape->threads != MX_KERNEL_THREADS;
    segments = segments < most ? segments : most;
    if (is_whole || segments <= 1)
        return;
    int64_t unit = shape->threads * (MAX_SHARE);
    shape->segment = (shape->length + segments - 1) / segments;
    shape->segment += (unit - shape->segment % unit) % unit;
    shape->segments = (shape->length + shape->segment - 1) / shape->segment;
}

struct mx_scan_shape mx_scans_shape(struct mx_kernel *kernel)
{
    struct mx_scan_shape shape = {.lines = 1, .segments = 1};
    while (!(kernel->reduced >> shape.axis & 1))
        shape.axis++;
    for (int i = 0; i < kernel->ndim; i++)
        shape.lines *= i == shape.axis ? 1 : kernel->shape[i];
    shape.segment = shape.length = kernel->shape[shape.axis];
    shape.threads = has_columns(kernel, shape.axis, shape.lines)
                        ? 1
                        : mx_passes_threads_of_line(shape.lines, shape.length, kernel->pack);
    if (shape.axis == kernel->ndim - 1 && shape.threads == MX_KERNEL_THREADS)
        mx_kernel_choose_pack(kernel);
    scans_cut(&shape);
    return shape;
}

/* The threads of a line of totals, of which there are few. */
static int threads_of_carries(const struct mx_scan_shape *shape)
{
    int threads = 1;
    while (threads < MX_LANES && threads * SHARE < shape->segments)
        threads *= 2;
    return threads * SHARE < shape->segments ? MX_KERNEL_THREADS : threads;
}

size_t mx_scans_total_bytes(const struct mx_kernel *kernel, const struct mx_scan_shape *shape)
{
    int itemsize;
    mx_passes_partial_type(mx_kernel_instruction(kernel, 0), &itemsize);
    return (size_t)(shape->lines * shape->segments * itemsize);
}

/* -- Text -------------------------------------------------------------------------- */

struct scan {
    struct mx_kernel *kernel;
    const struct mx_scan_shape *shape;
    enum mx_scan_pass pass;
    int threads, share, pack;
    bool reports;     /* whether results may have conditions */
    int totals;       /* number of the binding */
    const char *type; /* of sums */
    const char *item; /* of elements in memory */
    const char *offset;
};

/* Prints how a thread finds its line, and which elements of it the threads go along. */
static void print_line(const struct scan *scan)
{
    struct mx_kernel *kernel = scan->kernel;
    const struct mx_scan_shape *shape = scan->shape;
    const char *type = scan->offset;
    bool is_cut = scan->pass != MX_SCAN_CARRIES;
    int width = MX_KERNEL_THREADS / scan->threads;
    kernel->grid[0] = (size_t)((shape->lines + width - 1) / width);
    kernel->grid[1] = is_cut ? (size_t)shape->segments : 1;
    kernel->grid[2] = 1;
    int lines = mx_kernel_arg(kernel, shape->lines);
    int length = mx_kernel_arg(kernel, is_cut ? shape->length : shape->segments);
    int segment = mx_kernel_arg(kernel, is_cut ? shape->segment : shape->segments);
    mx_text_print(&kernel->text,
                  "    const %s lines = args[%d], segment = group.y;\n"
                  "    const %s line = %s(group.x) * %d + thread_index / %du;\n"
                  "    const uint y = thread_index %% %du;\n"
                  "    const bool is_here = line < lines;\n"
                  "    const %s first = segment * %s(args[%d]);\n"
                  "    const %s end = mx_lesser(first + %s(args[%d]), %s(args[%d]));\n",
                  type, lines, type, type, width, scan->threads, scan->threads, type, type,
                  segment, type, type, segment, type, length);
    if (is_cut)
        mx_kernel_print_axes(kernel, ~(1u << shape->axis) & ((1u << kernel->ndim) - 1), "line");
}

/* Prints the address of the element at i0, i1 ... of the input or of the result. */
static void print_address(const struct scan *scan, int operand)
{
    struct mx_text *text = &scan->kernel->text;
    if (scan->pass == MX_SCAN_CARRIES)
        mx_text_print(text, "m%d + (i%d * lines + line) * %s(sizeof(%s))", scan->totals,
                      scan->shape->axis, scan->offset, scan->type);
    else
        mx_kernel_print_address(scan->kernel, scan->kernel->group->steps[0].views[operand]);
}

/* Returns how many adjacent elements a thread has at a time.  The order of elements does not
 * matter in totals, so that adjacent threads load adjacent packs there. */
static int adjacent(const struct scan *scan)
{
    return scan->pass == MX_SCAN_TOTALS ? scan->pack : scan->share;
}

/* Prints the head of a loop over the packs of a thread.  The first `count` elements of a pack
 * are in the segment. */
static void print_packs(const struct scan *scan)
{
    mx_text_print(&scan->kernel->text,
                  "        MX_UNROLL\n        for (uint k = 0; k < %du; k += %du) {\n"
                  "            const %s i%d = own + %s(k) * %d;\n"
                  "            const uint count = is_here && i%d < end\n"
                  "                ? uint(mx_lesser(end - i%d, %s(%d))) : 0u;\n",
                  scan->share, scan->pack, scan->offset, scan->shape->axis, scan->offset,
                  scan->pass == MX_SCAN_TOTALS ? scan->threads : 1, scan->shape->axis,
                  scan->shape->axis, scan->offset, scan->pack);
}

/* Prints how a thread loads its elements into `sums`, and combines each with those before it.
 */
static void print_sums(const struct scan *scan)
{
    struct mx_text *text = &scan->kernel->text;
    const char *type = scan->type;
    mx_text_print(text,
                  "        const %s own = begin + %s(y) * %d;\n"
                  "        %s elements[%d];\n        %s sums[%d];\n",
                  scan->offset, scan->offset, adjacent(scan), scan->item, scan->share, type,
                  scan->share);
    print_packs(scan);
    bool is_packed = scan->pack > 1 &&
                     mx_kernel_is_packed(scan->kernel, scan->kernel->group->steps[0].views[0]);
    if (is_packed) {
        mx_text_print(text,
                      "            const mx_pack<%s, %du> loaded = "
                      "mx_load_pack<%s, %du>(",
                      scan->item, scan->pack, scan->item, scan->pack);
        print_address(scan, 0);
        mx_text_print(text, ", count);\n");
    }
    mx_text_print(text,
                  "            MX_UNROLL\n            for (uint w = 0; w < %du; w++) {\n"
                  "                elements[k + w] = mx_cast<%s>(0);\n"
                  "                if (w < count)\n"
                  "                    elements[k + w] = ",
                  scan->pack, scan->item);
    if (is_packed) {
        mx_text_print(text, "loaded.item[w]");
    } else {
        mx_text_print(text, "mx_load<%s>(", scan->item);
        print_address(scan, 0);
        mx_text_print(text, ")");
    }
    mx_text_print(text,
                  ";\n                sums[k + w] = mx_cast<%s>(elements[k + w]);\n"
                  "                if (k + w > 0)\n"
                  "                    sums[k + w] = w < count\n"
                  "                        ? op0::apply(sums[k + w - 1], sums[k + w])\n"
                  "                        : sums[k + w - 1];\n            }\n        }\n",
                  type);
}

/* Prints how the threads of a segment add up their elements. */
static void print_totals(const struct scan *scan)
{
    struct mx_text *text = &scan->kernel->text;
    mx_text_print(text,
                  "    %s total = mx_cast<%s>(0);\n"
                  "    for (%s begin = first; begin < end; begin += %d) {\n",
                  scan->type, scan->type, scan->offset, scan->threads * scan->share);
    print_sums(scan);
    mx_text_print(text,
                  "        if (own < end)\n"
                  "            total = begin == first ? sums[%d] : op0::apply(total, "
                  "sums[%d]);\n    }\n",
                  scan->share - 1, scan->share - 1);
    if (scan->threads > 1)
        mx_text_print(text,
                      "    uint met = 0;\n"
                      "    const uint n = uint(mx_lesser(%s(%d), (end - first + %d) / %d));\n"
                      "    total = mx_join<op0>(shared, total, thread_index, n, &met);\n",
                      scan->offset, scan->threads, adjacent(scan) - 1, adjacent(scan));
    mx_text_print(text,
                  "    if (y == 0 && is_here)\n"
                  "        mx_store(m%d + (segment * lines + line) * %s(sizeof(total)), "
                  "total);\n",
                  scan->totals, scan->offset);
}

/* Prints how a thread combines its sums with what precedes them, and stores the results. */
static void print_stores(const struct scan *scan)
{
    struct mx_text *text = &scan->kernel->text;
    bool is_packed = scan->pack > 1;
    mx_text_print(text, "        if (has_carry)\n"
                        "            before = y == 0 ? carry : op0::apply(carry, before);\n"
                        "        carry = has_carry ? op0::apply(carry, all) : all;\n"
                        "        const bool is_first = !has_carry && y == 0;\n"
                        "        has_carry = true;\n");
    if (scan->reports)
        mx_text_print(text, "        %s previous = mx_cast<%s>(before);\n", scan->item,
                      scan->item);
    print_packs(scan);
    if (is_packed)
        mx_text_print(text, "            mx_pack<%s, %du> results;\n", scan->item, scan->pack);
    mx_text_print(text,
                  "            MX_UNROLL\n            for (uint w = 0; w < %du; w++) {\n"
                  "                const %s result = mx_cast<%s>(is_first\n"
                  "                    ? sums[k + w] : op0::apply(before, sums[k + w]));\n",
                  scan->pack, scan->item, scan->item);
    if (scan->reports)
        mx_text_print(text, "                if (w < count && !mx_isfinite(result) && "
                            "!(is_first && k + w == 0))\n"
                            "                    report0 |= mx_met_arithmetic("
                            "previous, elements[k + w], result);\n"
                            "                previous = result;\n");
    if (is_packed) {
        mx_text_print(text, "                results.item[w] = result;\n            }\n"
                            "            mx_store_pack(");
        print_address(scan, 1);
        mx_text_print(text, ", results, count);\n        }\n");
        return;
    }
    mx_text_print(text, "                if (w < count)\n                    mx_store(");
    print_address(scan, 1);
    mx_text_print(text, ", result);\n            }\n        }\n");
}

static void print_results(const struct scan *scan)
{
    struct mx_text *text = &scan->kernel->text;
    bool has_carries = scan->pass == MX_SCAN_RESULTS && scan->shape->segments > 1;
    mx_text_print(text, "    %s carry = mx_cast<%s>(0);\n    bool has_carry = %s;\n",
                  scan->type, scan->type, has_carries ? "segment > 0 && is_here" : "false");
    if (has_carries)
        mx_text_print(text,
                      "    if (has_carry) {\n"
                      "        carry = mx_load<%s>(m%d + ((segment - 1) * lines + line) * "
                      "%s(sizeof(carry)));\n    }\n",
                      scan->type, scan->totals, scan->offset);
    mx_text_print(text, "    for (%s begin = first; begin < end; begin += %d) {\n",
                  scan->offset, scan->threads * scan->share);
    print_sums(scan);
    mx_text_print(text, "        %s all, before = ", scan->type);
    if (scan->threads > MX_LANES)
        mx_text_print(text, "mx_scan<op0>(shared, sums[%d], thread_index, &all);\n",
                      scan->share - 1);
    else
        mx_text_print(text,
                      "mx_scan_lanes<op0, %du>(sums[%d], y, thread_index %% MX_LANES, &all);\n",
                      scan->threads, scan->share - 1);
    print_stores(scan);
    mx_text_print(text, "    }\n");
}

/* Prints how the first element becomes the first result as it is, also a bool with another byte
 * than 0 and 1. */
static void print_first(const struct scan *scan)
{
    struct mx_text *text = &scan->kernel->text;
    mx_text_print(text,
                  "    if (segment == 0 && y == 0 && is_here) {\n        const %s i%d = 0;\n"
                  "        mx_store(",
                  scan->offset, scan->shape->axis);
    print_address(scan, 1);
    mx_text_print(text, ", mx_load<%s>(", mx_device_memory_type(MX_DTYPE_bool));
    print_address(scan, 0);
    mx_text_print(text, "));\n    }\n");
}

/* Elements of a thread that loads packs: at least one pack. */
static int share_of_packs(int size, int pack)
{
    int share = SHARE_BYTES / size;
    share = share < MAX_SHARE ? share : MAX_SHARE;
    return share > pack ? share : pack;
}

void mx_scans_print(struct mx_kernel *kernel, const struct mx_status_words *words,
                    const struct mx_scan_shape *shape, enum mx_scan_pass pass,
                    struct mx_buffer *totals)
{
    const struct mx_instruction *in = mx_kernel_instruction(kernel, 0);
    int itemsize, item_bytes = in->operands[1].itemsize;
    bool is_carries = pass == MX_SCAN_CARRIES;
    struct scan scan = {
        .kernel = kernel,
        .shape = shape,
        .pass = pass,
        .reports = words->of_steps[0] && pass == MX_SCAN_RESULTS,
        .threads = is_carries ? threads_of_carries(shape) : shape->threads,
        .share = SHARE,
        .pack = is_carries ? 1 : kernel->pack,
        .type = mx_passes_partial_type(in, &itemsize),
        .offset = mx_kernel_offset_type(kernel),
    };
    scan.item = is_carries ? scan.type : mx_device_type(in->operands[1].dtype);
    if (scan.pack > 1)
        scan.share = share_of_packs(itemsize > item_bytes ? itemsize : item_bytes, scan.pack);
    if (shape->segments > 1)
        scan.totals = mx_kernel_bind(kernel, totals, pass != MX_SCAN_RESULTS);
    mx_steps_print_operation(kernel, in->op, "op0", scan.type, scan.type);
    kernel->prelude = MX_PRELUDE_REDUCE;
    if (!is_carries)
        mx_work_estimate(kernel, mx_work_of_element(kernel));
    mx_kernel_print_head(kernel, MX_THREADGROUPS, words);
    print_line(&scan);
    mx_steps_declare(kernel, words);
    if (scan.threads > MX_LANES)
        mx_text_print(&kernel->text, "    threadgroup %s shared[%d];\n", scan.type,
                      scan.threads / MX_LANES);
    if (pass == MX_SCAN_TOTALS)
        print_totals(&scan);
    else
        print_results(&scan);
    if (pass == MX_SCAN_RESULTS && in->operands[0].dtype == MX_DTYPE_bool &&
        in->operands[1].dtype == MX_DTYPE_bool)
        print_first(&scan);
    mx_steps_report(kernel, words);
    mx_text_print(&kernel->text, "}\n");
}
