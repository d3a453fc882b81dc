/* buffer.c -- a counted block of memory. */
#include "buffer.h"

#include "error.h"

struct mx_buffer *mx_buffer_new(size_t nbytes)
{
    struct mx_buffer *buffer = (struct mx_buffer *)mx_pool_take(nbytes);
    if (!buffer) {
        mx_fail(MX_ERROR_MEMORY, "unable to allocate %zu bytes", nbytes);
        return NULL;
    }
    atomic_init(&buffer->count, 1);
    buffer->nbytes = nbytes;
    return buffer;
}

void mx_buffer_retain(struct mx_buffer *buffer)
{
    atomic_fetch_add_explicit(&buffer->count, 1, memory_order_relaxed);
}

void mx_buffer_release(struct mx_buffer *buffer)
{
    /* What the other owners wrote comes before the block's next use. */
    if (atomic_fetch_sub_explicit(&buffer->count, 1, memory_order_acq_rel) == 1)
        mx_pool_put(&buffer->block);
}

char *mx_buffer_data(struct mx_buffer *buffer) { return mx_block_data(&buffer->block); }

struct mx_buffer *mx_buffer_get(const char *data)
{
    return (struct mx_buffer *)mx_block_get(data);
}
