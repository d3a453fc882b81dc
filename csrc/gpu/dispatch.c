/* dispatch.c -- binds a compiled kernel to memory and encodes it. */
#include "gpu/dispatch.h"

#include <string.h>

#include "memory/coherence.h"

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

/* The memory of a dispatch. */
struct bound {
    struct mx_buffer *buffers[MX_KERNEL_BUFFERS + 1];
    void *memories[MX_KERNEL_BUFFERS + 1];
    bool is_written[MX_KERNEL_BUFFERS + 1];
    size_t offsets[MX_KERNEL_BUFFERS + 1];
    int n;
};

static struct mx_buffer *copy(const struct mx_binding *binding)
{
    size_t lead = binding->size ? binding->lead : EMPTY_BYTES;
    return mx_coherence_new_copy(binding->data, binding->size, lead);
}

/* Takes over the reference of a copy.  Returns a status. */
static int bind(struct bound *bound, struct mx_buffer *buffer, const struct mx_binding *binding)
{
    int b = bound->n;
    if (!buffer)
        return MX_ERROR_MEMORY;
    bound->buffers[b] = buffer;
    bound->is_written[b] = binding->is_written;
    bound->offsets[b] = binding->offset;
    bound->n++;
    return mx_coherence_bind(buffer, !binding->is_overwritten, &bound->memories[b]);
}

static int encode(struct mx_dispatch *dispatch, const struct bound *bound)
{
    dispatch->buffers = bound->buffers;
    dispatch->memories = bound->memories;
    dispatch->is_written = bound->is_written;
    dispatch->offsets = bound->offsets;
    dispatch->n_buffers = bound->n;
    int status = mx_device_used()->driver->encode(dispatch);
    for (int b = 0; b < bound->n && status == MX_OK; b++)
        if (bound->is_written[b])
            mx_coherence_note_written(bound->buffers[b]);
    return status;
}

int mx_dispatch_encode(struct mx_dispatch *dispatch, const struct mx_binding *bindings, int n,
                       struct mx_buffer *words)
{
    struct bound bound = {.n = 0};
    int status = MX_OK;
    mx_coherence_begin_kernel();
    for (int b = 0; b < n && status == MX_OK; b++)
        status = bind(&bound, bindings[b].buffer ? bindings[b].buffer : copy(&bindings[b]),
                      &bindings[b]);
    int n_bound = bound.n;
    if (status == MX_OK && words)
        status = bind(&bound, words, &(struct mx_binding){.is_written = true});
    if (status == MX_OK)
        status = encode(dispatch, &bound);
    for (int b = 0; b < n_bound; b++)
        if (!bindings[b].buffer)
            mx_buffer_release(bound.buffers[b]); /* the driver has retained it */
    return status;
}
