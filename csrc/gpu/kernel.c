/* kernel.c -- the parts of all kernels: bindings, arguments, axes and addresses. */
#include "gpu/kernel.h"

#include <string.h>

#include "base/axes.h"
#include "memory/buffer.h"

#define WIDE ((intptr_t)1 << 31) /* bytes from which offsets do not fit into an int */

const char *mx_kernel_offset_type(const struct mx_kernel *kernel)
{
    return kernel->is_wide ? "long" : "int";
}

int mx_kernel_arg(struct mx_kernel *kernel, int64_t value)
{
    size_t size = (size_t)(kernel->n_args + 1) * sizeof value;
    if (kernel->n_args == MX_KERNEL_ARGS || size > kernel->device->limits.argument_bytes) {
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

/* Binds a copy of memory outside the pool, which a device cannot use as it is. */
static int bind_copy(struct mx_kernel *kernel, const struct mx_view *view)
{
    struct mx_binding binding = {
        .data = (const char *)view->low,
        .size = (size_t)(view->high - view->low),
        .lead = (size_t)view->low % 16,
    };
    return add_binding(kernel, binding);
}

static void bind_view(struct mx_kernel *kernel, int v)
{
    const struct mx_view *view = &kernel->group->views[v];
    intptr_t at = view->at;
    if (view->buffer) {
        kernel->buffers[v] = mx_kernel_bind(kernel, view->buffer, view->is_written);
    } else {
        kernel->buffers[v] = bind_copy(kernel, view);
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
        mx_axes_sort(&axes);
    mx_axes_merge(&axes);
}

void mx_kernel_begin(struct mx_kernel *kernel, const struct mx_group *group,
                     struct mx_instruction *instructions, bool sorts)
{
    kernel->device = mx_device_used();
    kernel->group = group;
    kernel->instructions = instructions;
    kernel->n_args = kernel->n_bindings = 0;
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
    kernel->is_wide = n >= WIDE;
    for (int v = 0; v < group->n_views && !kernel->is_full; v++)
        if (!group->views[v].is_temporary)
            bind_view(kernel, v);
}

/* -- Text -------------------------------------------------------------------------- */

void mx_kernel_print_head(struct mx_kernel *kernel, enum mx_grid kind,
                          const struct mx_status_words *words)
{
    bool is_written[MX_KERNEL_BUFFERS];
    for (int b = 0; b < kernel->n_bindings; b++)
        is_written[b] = kernel->bindings[b].is_written;
    kernel->kind = kind;
    kernel->has_status = words->is_guarded;
    for (int k = 0; k < kernel->group->n_steps; k++)
        kernel->has_status |= words->of_steps[k] != 0;
    struct mx_head head = {kernel->n_bindings, is_written, kernel->has_status, kind};
    kernel->device->dialect.print_head(&kernel->text, &head);
    if (words->is_guarded)
        mx_text_print(&kernel->text,
                      "    if (mx_is_stopped(status, uint(args[%d])))\n        return;\n",
                      mx_kernel_arg(kernel, words->group));
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
                          "    %s i%d = left %% %s(args[%d]);\n    left /= %s(args[%d]);\n",
                          type, i, type, i, type, i);
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
