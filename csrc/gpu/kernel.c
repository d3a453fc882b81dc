/* kernel.c -- the parts of all kernels: bindings, arguments, axes and addresses. */
#include "gpu/kernel.h"

#include <string.h>

#include "base/axes.h"
#include "memory/buffer.h"

#define WIDE       ((intptr_t)1 << 31) /* bytes from which offsets do not fit into an int */
#define WIDE_COUNT ((intptr_t)1 << 30) /* elements: a segment may end after the last one */
#define PACK_BYTES 16                  /* of a vector that is loaded at once */
#define PACK_STEPS 32 /* most steps times elements of a pack: they are unrolled */

const char *mx_kernel_offset_type(const struct mx_kernel *kernel)
{
    return kernel->is_wide ? "long" : "int";
}

int mx_kernel_arg(struct mx_kernel *kernel, int64_t value)
{
    size_t size = (size_t)(kernel->n_args + 1) * sizeof value;
    if (kernel->n_args == MX_KERNEL_ARGS || size > (size_t)kernel->device->row.argument_bytes) {
        kernel->is_full = true;
        return 0;
    }
    kernel->args[kernel->n_args] = value;
    return kernel->n_args++;
}

static int add_binding(struct mx_kernel *kernel, struct mx_binding binding)
{
    bool is_full = kernel->n_bindings + 2 == kernel->device->limits.buffers; /* status, args */
    if (kernel->n_bindings == MX_KERNEL_BUFFERS || is_full) {
        kernel->is_full = true;
        return 0;
    }
    kernel->bindings[kernel->n_bindings] = binding;
    return kernel->n_bindings++;
}

int mx_kernel_bind(struct mx_kernel *kernel, struct mx_buffer *buffer, bool is_written)
{
    for (int b = 0; b < kernel->n_bindings; b++) {
        if (kernel->bindings[b].buffer != buffer)
            continue;
        kernel->bindings[b].is_written |= is_written;
        return b;
    }
    return add_binding(kernel, (struct mx_binding){.buffer = buffer, .is_written = is_written});
}

/* -- Axes and views ---------------------------------------------------------------- */

/* Binds memory outside the pool, which a device cannot use as it is. */
static int bind_outside(struct mx_kernel *kernel, const struct mx_view *view)
{
    struct mx_binding binding = {
        .data = (const char *)view->low,
        .size = (size_t)(view->high - view->low),
        .lead = (size_t)view->low % 16,
        .is_written = view->is_written,
    };
    for (int b = 0; b < kernel->n_bindings; b++) {
        struct mx_binding *other = &kernel->bindings[b];
        if (other->buffer || other->data != binding.data || other->size != binding.size)
            continue;
        other->is_written |= binding.is_written;
        return b;
    }
    return add_binding(kernel, binding);
}

static void bind_view(struct mx_kernel *kernel, int v)
{
    const struct mx_view *view = &kernel->group->views[v];
    intptr_t at = view->at;
    if (view->buffer) {
        int b = kernel->buffers[v] = mx_kernel_bind(kernel, view->buffer, view->is_written);
        kernel->bindings[b].is_overwritten |= mx_fuse_overwrites(kernel->group, view);
    } else {
        kernel->buffers[v] = bind_outside(kernel, view);
        at += (intptr_t)kernel->bindings[kernel->buffers[v]].lead - view->low;
    }
    kernel->is_wide |= at + view->high - view->low >= WIDE;
    kernel->first_args[v] = mx_kernel_arg(kernel, at);
    for (int i = 0; i < kernel->ndim; i++)
        mx_kernel_arg(kernel, kernel->strides[v][i]);
}

/* Sorts, if that is allowed, and merges the axes.  The reduced ones come last. */
static void arrange_axes(struct mx_kernel *kernel, bool sorts)
{
    const struct mx_group *group = kernel->group;
    intptr_t *strides[group->n_views];
    struct mx_axes axes = {&kernel->ndim, kernel->shape, &kernel->reduced, 0, strides};
    for (int v = 0; v < group->n_views; v++) {
        memcpy(kernel->strides[v], group->views[v].strides, sizeof *kernel->strides);
        if (!group->views[v].is_temporary)
            strides[axes.n_views++] = kernel->strides[v];
    }
    if (sorts)
        mx_axes_sort(&axes, axes.n_views);
    mx_axes_merge(&axes);
}

void mx_kernel_begin(struct mx_kernel *kernel, const struct mx_group *group,
                     struct mx_instruction *instructions, bool sorts)
{
    kernel->device = mx_device_used();
    kernel->group = group;
    kernel->instructions = instructions;
    kernel->n_args = kernel->n_bindings = 0;
    kernel->work = 0;
    kernel->origin = -1;
    kernel->is_wide = kernel->is_full = false;
    kernel->ndim = group->ndim;
    const struct mx_instruction *in = &instructions[group->steps[0].instruction];
    bool has_axis = in->kind == MX_SCAN || in->kind == MX_ARGREDUCE;
    kernel->reduced = has_axis ? 1u << in->axis : group->reduced;
    memcpy(kernel->shape, group->shape, sizeof kernel->shape);
    arrange_axes(kernel, sorts);
    intptr_t n = 1;
    for (int i = 0; i < kernel->ndim; i++) {
        mx_kernel_arg(kernel, kernel->shape[i]);
        n *= kernel->shape[i];
    }
    kernel->is_wide = n >= WIDE_COUNT;
    kernel->pack = 1;
    kernel->prelude = MX_PRELUDE_MAP;
    for (int v = 0; v < group->n_views && !kernel->is_full; v++)
        if (!group->views[v].is_temporary)
            bind_view(kernel, v);
}

/* -- Packs ------------------------------------------------------------------------- */

/* Whether each element of a view has memory at the position of the element in the group. */
static bool has_elements(const struct mx_view *view)
{
    return !view->is_temporary && !view->is_indexed && !view->is_reduced;
}

static bool is_adjacent(const struct mx_kernel *kernel, int v)
{
    return kernel->strides[v][kernel->ndim - 1] == kernel->group->views[v].itemsize;
}

/* Whether packs of a view lie at multiples of their size, or all its elements are the same. */
static bool allows_pack(const struct mx_kernel *kernel, int v, int pack)
{
    int64_t size = (int64_t)pack * kernel->group->views[v].itemsize;
    int last = kernel->ndim - 1;
    bool is_aligned = kernel->args[kernel->first_args[v]] % size == 0;
    for (int i = 0; i < last; i++)
        is_aligned &= kernel->strides[v][i] % size == 0;
    return kernel->strides[v][last] == 0 || (is_adjacent(kernel, v) && is_aligned);
}

static bool allow_pack(const struct mx_kernel *kernel, int pack)
{
    for (int v = 0; v < kernel->group->n_views; v++)
        if (has_elements(&kernel->group->views[v]) && !allows_pack(kernel, v, pack))
            return false;
    return true;
}

void mx_kernel_choose_pack(struct mx_kernel *kernel)
{
    int largest = 1;
    if (kernel->is_full || kernel->ndim == 0)
        return;
    for (int v = 0; v < kernel->group->n_views; v++) {
        const struct mx_view *view = &kernel->group->views[v];
        if (has_elements(view) && view->itemsize > largest)
            largest = view->itemsize;
    }
    int pack = PACK_BYTES / largest;
    while (pack * kernel->group->n_steps > PACK_STEPS)
        pack /= 2;
    if (pack > 1 && allow_pack(kernel, pack))
        kernel->pack = pack;
}

bool mx_kernel_is_packed(const struct mx_kernel *kernel, int view)
{
    return kernel->pack > 1 && has_elements(&kernel->group->views[view]) &&
           is_adjacent(kernel, view);
}

/* -- Text -------------------------------------------------------------------------- */

/* Prints the head of the kernel mx_group, up to the brace that opens its body.  The body finds
 * the buffers in m0, m1 ..., which are bytes, the status words in `status`, and 64-bit numbers
 * in `args`.  With MX_THREADS it finds its position in `at`, a uint3.  With MX_THREADGROUPS it
 * finds that of its threadgroup in `group`, a uint3, and its own number in the threadgroup in
 * `thread_index`, a uint. */
static void print_signature(struct mx_kernel *kernel)
{
    static const char *const positions[] = {
        [MX_THREADS] = "uint3 at [[thread_position_in_grid]]",
        [MX_THREADGROUPS] = "uint3 group [[threadgroup_position_in_grid]],\n"
                            "    uint thread_index [[thread_index_in_threadgroup]]",
    };
    struct mx_text *text = &kernel->text;
    int n = kernel->n_bindings;
    mx_text_print(text, "[[max_total_threads_per_threadgroup(%d)]] kernel void mx_group(",
                  MX_KERNEL_THREADS);
    for (int b = 0; b < n; b++)
        mx_text_print(text, "device %suchar *m%d [[buffer(%d)]], ",
                      kernel->bindings[b].is_written ? "" : "const ", b, b);
    if (kernel->has_status)
        mx_text_print(text, "device atomic_uint *status [[buffer(%d)]], ", n++);
    mx_text_print(text, "constant long *args [[buffer(%d)]],\n    %s)\n{\n", n,
                  positions[kernel->kind]);
    int first = kernel->origin;
    if (first >= 0)
        mx_text_print(text, "    %s += mx_origin(args[%d], args[%d], args[%d]);\n",
                      kernel->kind == MX_THREADS ? "at" : "group", first, first + 1, first + 2);
}

void mx_kernel_print_head(struct mx_kernel *kernel, enum mx_grid kind,
                          const struct mx_status_words *words)
{
    kernel->kind = kind;
    kernel->has_status = words->is_guarded;
    for (int b = 0; b < kernel->n_bindings && words->is_guarded; b++)
        kernel->bindings[b].is_overwritten =
            false; /* the kernel may return and write nothing */
    for (int k = 0; k < kernel->group->n_steps; k++)
        kernel->has_status |= words->of_steps[k] != 0;
    print_signature(kernel);
    if (words->is_guarded)
        mx_text_print(&kernel->text,
                      "    if (mx_is_stopped(status, uint(args[%d])))\n        return;\n",
                      mx_kernel_arg(kernel, words->group));
}

/* Returns two words of 32 bits by which kernels divide a number below 2^31 by a length n: the
 * lower one is 2^(31 + k) / n, rounded up, for the least k with 2^k >= n, and the upper one is
 * k. Granlund and Montgomery, Division by invariant integers using multiplication, 1994. */
static int64_t reciprocal(int64_t length)
{
    uint64_t k = 0, n = length > 0 ? (uint64_t)length : 1;
    while ((uint64_t)1 << k < n)
        k++;
    return (int64_t)((((uint64_t)1 << (31 + k)) + n - 1) / n | k << 32);
}

/* Returns the number of the argument by which positions are divided by the length of an axis.
 */
static int divisor(struct mx_kernel *kernel, int axis)
{
    return kernel->is_wide ? axis : mx_kernel_arg(kernel, reciprocal(kernel->shape[axis]));
}

void mx_kernel_print_axes(struct mx_kernel *kernel, unsigned axes, const char *number)
{
    struct mx_text *text = &kernel->text;
    const char *type = mx_kernel_offset_type(kernel);
    if (axes)
        mx_text_print(text, "    %s left = %s;\n", type, number);
    for (int i = kernel->ndim - 1; i >= 0; i--) {
        if (!(axes >> i & 1))
            continue;
        axes &= ~(1u << i);
        if (axes)
            mx_text_print(text,
                          "    %s i%d = left;\n    left = mx_quotient(left, args[%d]);\n"
                          "    i%d -= left * %s(args[%d]);\n",
                          type, i, divisor(kernel, i), i, type, i);
        else
            mx_text_print(text, "    %s i%d = left;\n", type, i);
    }
}

void mx_kernel_print_positions(struct mx_kernel *kernel)
{
    static const char *const names[] = {"x", "y", "z"};
    const char *type = mx_kernel_offset_type(kernel);
    int ndim = kernel->ndim, direct = ndim > 3 ? 2 : ndim;
    for (int k = 0; k < 3; k++)
        kernel->grid[k] = 1;
    for (int k = 0; k < direct; k++) {
        kernel->grid[k] = (size_t)kernel->shape[ndim - 1 - k];
        mx_text_print(&kernel->text, "    %s i%d = at.%s;\n", type, ndim - 1 - k, names[k]);
    }
    if (kernel->pack > 1) {
        kernel->grid[0] = (kernel->grid[0] + (size_t)kernel->pack - 1) / (size_t)kernel->pack;
        mx_text_print(&kernel->text, "    i%d *= %d;\n", ndim - 1, kernel->pack);
    }
    if (ndim <= 3)
        return;
    for (int i = 0; i < ndim - 2; i++)
        kernel->grid[2] *= (size_t)kernel->shape[i];
    mx_kernel_print_axes(kernel, (1u << (ndim - 2)) - 1, "at.z");
}

void mx_kernel_print_offset(struct mx_kernel *kernel, int view)
{
    struct mx_text *text = &kernel->text;
    const char *type = mx_kernel_offset_type(kernel);
    int first = kernel->first_args[view], last = kernel->ndim - 1;
    mx_text_print(text, "%s(args[%d])", type, first);
    for (int i = 0; i <= last; i++) {
        intptr_t stride = kernel->strides[view][i];
        if (stride == 0)
            continue;
        if (i == last && stride == kernel->group->views[view].itemsize)
            mx_text_print(text, " + i%d * %d", i, (int)stride);
        else
            mx_text_print(text, " + i%d * %s(args[%d])", i, type, first + 1 + i);
    }
}

void mx_kernel_print_address(struct mx_kernel *kernel, int view)
{
    mx_text_print(&kernel->text, "m%d + (", kernel->buffers[view]);
    mx_kernel_print_offset(kernel, view);
    mx_text_print(&kernel->text, ")");
}
