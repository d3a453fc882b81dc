/* dispatch.c -- binds a compiled kernel to memory and encodes it. */
#include "gpu/dispatch.h"

#include <string.h>

#include "gpu/outside.h"
#include "gpu/work.h"
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
        if (view->is_written && !mx_coherence_is_on())
            return false;
        if (copied > max_bytes)
            return false;
    }
    return mx_outside_can_bind(group);
}

/* The memory of a dispatch. */
struct bound {
    struct mx_buffer *buffers[MX_KERNEL_BUFFERS + 1];
    void *memories[MX_KERNEL_BUFFERS + 1];
    bool is_written[MX_KERNEL_BUFFERS + 1];
    size_t offsets[MX_KERNEL_BUFFERS + 1];
    int n;
};

static bool is_copied(const struct mx_binding *binding)
{
    return !binding->buffer && !mx_outside_is_aligned(binding->data, binding->size);
}

/* Returns the buffer of a binding; a copy comes with a reference. */
static struct mx_buffer *buffer_of(const struct mx_binding *binding)
{
    if (binding->buffer)
        return binding->buffer;
    if (!is_copied(binding))
        return mx_outside_get(binding->data, binding->size, binding->is_written);
    size_t lead = binding->size ? binding->lead : EMPTY_BYTES;
    return mx_coherence_new_copy(binding->data, binding->size, lead);
}

/* Returns a status. */
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

#define MAX_TRIES 8 /* to encode a part without memory */

static int64_t total_work;

int64_t mx_dispatch_work(void) { return total_work; }

/* Encodes the part of the grid that begins at an origin. */
static int encode_part(const struct mx_dispatch *whole, const size_t *origin,
                       const size_t *most)
{
    struct mx_dispatch part = *whole;
    int64_t args[MX_KERNEL_ARGS];
    double share = 1;
    for (int i = 0; i < 3; i++) {
        size_t left = whole->grid[i] - origin[i];
        part.grid[i] = left < most[i] ? left : most[i];
        share *= (double)part.grid[i] / (double)whole->grid[i];
    }
    part.share = share * mx_work_share(whole->work);
    if (whole->origin >= 0) {
        memcpy(args, whole->args, whole->args_size);
        for (int i = 0; i < 3; i++)
            args[whole->origin + i] = (int64_t)origin[i];
        part.args = args;
    }
    return mx_device_used()->driver->encode(&part);
}

/* Encodes a part after others of its grid.  The kernel cannot start over, because it would
 * update elements twice, so without memory the part waits until the others have ended. */
static int encode_next_part(const struct mx_dispatch *whole, const size_t *origin,
                            const size_t *most)
{
    int status = encode_part(whole, origin, most);
    for (int tries = 0; status == MX_ERROR_MEMORY && tries < MAX_TRIES; tries++) {
        status = mx_device_used()->driver->wait();
        if (status == MX_OK)
            status = encode_part(whole, origin, most);
    }
    return status == MX_OK ? MX_OK : MX_ERROR_DEVICE;
}

/* Sets whether a part was encoded, also if a later one was not. */
static int encode_parts(const struct mx_dispatch *dispatch, bool *has_begun)
{
    size_t part[3], at[3];
    int status = MX_OK;
    *has_begun = false;
    total_work += dispatch->work;
    mx_work_cut(dispatch, part);
    for (at[2] = 0; at[2] < dispatch->grid[2]; at[2] += part[2])
        for (at[1] = 0; at[1] < dispatch->grid[1]; at[1] += part[1])
            for (at[0] = 0; at[0] < dispatch->grid[0] && status == MX_OK; at[0] += part[0]) {
                status = *has_begun ? encode_next_part(dispatch, at, part)
                                    : encode_part(dispatch, at, part);
                *has_begun |= status == MX_OK;
            }
    return status;
}

static int dispatch_encode(struct mx_dispatch *dispatch, const struct bound *bound)
{
    dispatch->buffers = bound->buffers;
    dispatch->memories = bound->memories;
    dispatch->is_written = bound->is_written;
    dispatch->offsets = bound->offsets;
    dispatch->n_buffers = bound->n;
    bool has_begun;
    int status = encode_parts(dispatch, &has_begun);
    for (int b = 0; b < bound->n && has_begun; b++)
        if (bound->is_written[b])
            mx_coherence_note_written(bound->buffers[b]);
    return status;
}

/* Binds the memory of a kernel, also what is outside the pool.  Returns a status. */
static int bind_all(struct bound *bound, const struct mx_binding *bindings, int n)
{
    int status = MX_OK;
    mx_coherence_begin_kernel();
    for (int b = 0; b < n && status == MX_OK; b++)
        status = bind(bound, buffer_of(&bindings[b]), &bindings[b]);
    return status;
}

static void release_copies(const struct bound *bound, const struct mx_binding *bindings, int n)
{
    for (int b = 0; b < n && b < bound->n; b++)
        if (is_copied(&bindings[b]))
            mx_buffer_release(bound->buffers[b]); /* the driver has retained it */
}

int mx_dispatch_encode(struct mx_dispatch *dispatch, const struct mx_binding *bindings, int n,
                       struct mx_buffer *words)
{
    struct bound bound = {.n = 0};
    int status = bind_all(&bound, bindings, n);
    if (status == MX_OK && words)
        status = bind(&bound, words, &(struct mx_binding){.is_written = true});
    if (status == MX_OK)
        status = dispatch_encode(dispatch, &bound);
    release_copies(&bound, bindings, n);
    return status;
}

int mx_dispatch_call(const struct mx_launch *launch, int dtype,
                     const struct mx_binding *bindings, int n)
{
    struct bound bound = {.n = 0};
    void *memories[MX_KERNEL_BUFFERS + 1];
    int status = bind_all(&bound, bindings, n);
    for (int b = 0; b < n && status == MX_OK; b++)
        memories[b] = (char *)bound.memories[b] + bound.offsets[b];
    if (status == MX_OK)
        status = mx_device_used()->driver->call(launch->call, launch->args, dtype, memories);
    for (int b = 0; b < n && status == MX_OK; b++)
        if (bound.is_written[b])
            mx_coherence_note_written(bound.buffers[b]);
    release_copies(&bound, bindings, n);
    return status;
}
