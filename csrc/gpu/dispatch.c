/* dispatch.c -- binds a compiled kernel to memory and encodes it. */
#include "gpu/dispatch.h"

#include <string.h>

#define EMPTY_BYTES 16 /* bound for an empty array, because something must be bound */

bool mx_dispatch_can_bind(const struct mx_group *group, size_t max_bytes)
{
    size_t copied = 0;
    for (int v = 0; v < group->n_views; v++) {
        const struct mx_view *view = &group->views[v];
        if (view->buffer || view->low == view->high)
            continue;
        copied += (size_t)(view->high - view->low);
        if (view->is_written || copied > max_bytes)
            return false;
    }
    return true;
}

static struct mx_buffer *copy(const struct mx_binding *binding)
{
    size_t size = binding->lead + binding->size;
    struct mx_buffer *buffer = mx_buffer_new_allocated(size ? size : EMPTY_BYTES);
    if (buffer && binding->size)
        memcpy(buffer->data + binding->lead, binding->data, binding->size);
    return buffer;
}

int mx_dispatch_encode(struct mx_dispatch *dispatch, const struct mx_binding *bindings, int n,
                       struct mx_buffer *words)
{
    struct mx_buffer *buffers[MX_KERNEL_BUFFERS + 1];
    bool is_written[MX_KERNEL_BUFFERS + 1];
    size_t offsets[MX_KERNEL_BUFFERS + 1];
    int status = MX_OK, n_bound = 0;
    for (; n_bound < n && status == MX_OK; n_bound++) {
        const struct mx_binding *binding = &bindings[n_bound];
        struct mx_buffer *buffer = binding->buffer ? binding->buffer : copy(binding);
        buffers[n_bound] = buffer;
        is_written[n_bound] = binding->is_written;
        offsets[n_bound] = binding->offset;
        status = buffer ? mx_buffer_allocate(buffer) : MX_ERROR_MEMORY;
    }
    dispatch->buffers = buffers;
    dispatch->is_written = is_written;
    dispatch->offsets = offsets;
    dispatch->n_buffers = n_bound;
    if (words) {
        buffers[n_bound] = words;
        is_written[n_bound] = true;
        offsets[n_bound] = 0;
        dispatch->n_buffers++;
    }
    if (status == MX_OK)
        status = mx_device_used()->driver->encode(dispatch);
    for (int b = 0; b < n_bound; b++)
        if (!bindings[b].buffer && buffers[b])
            mx_buffer_release(buffers[b]); /* the driver has retained it */
    return status;
}
