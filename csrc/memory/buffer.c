/* buffer.c -- a counted block of memory. */
#include "memory/buffer.h"

#include "base/alloc.h"
#include "base/error.h"

/* A token is never page-aligned and data always is, which tells them apart. */
#define TOKEN_OFFSET 8

static _Atomic int64_t made;

int64_t mx_buffer_last_number(void)
{
    return atomic_load_explicit(&made, memory_order_relaxed);
}

struct mx_buffer *mx_buffer_new(size_t nbytes)
{
    struct mx_buffer *buffer = mx_alloc(sizeof *buffer);
    if (!buffer || mx_pool_data_size(nbytes) == 0) {
        mx_free(buffer);
        mx_fail(MX_ERROR_MEMORY, "Unable to allocate %zu bytes", nbytes);
        return NULL;
    }
    atomic_init(&buffer->count, 1);
    buffer->nbytes = nbytes;
    buffer->data = NULL;
    buffer->published = NULL;
    buffer->elision_owner = buffer->owner = NULL;
    buffer->number = atomic_fetch_add_explicit(&made, 1, memory_order_relaxed) + 1;
    buffer->failed_by = 0;
    buffer->is_whole = false;
    return buffer;
}

static _Thread_local struct mx_buffer *refused;

static int refuse(struct mx_buffer *buffer)
{
    struct mx_buffer *before = mx_buffer_take_refused();
    if (before)
        mx_buffer_release(before);
    if (buffer->published)
        mx_buffer_retain(refused = buffer);
    return mx_fail(MX_ERROR_MEMORY, "Unable to allocate %zu bytes", buffer->nbytes);
}

struct mx_buffer *mx_buffer_take_refused(void)
{
    struct mx_buffer *buffer = refused;
    refused = NULL;
    return buffer;
}

int mx_buffer_allocate(struct mx_buffer *buffer)
{
    if (buffer->data)
        return MX_OK;
    struct mx_block *block = mx_pool_take(buffer->nbytes);
    if (!block)
        return refuse(buffer);
    block->owner = buffer;
    buffer->data = mx_pool_data(block);
    if (buffer->published)
        *buffer->published = buffer->data;
    return MX_OK;
}

struct mx_buffer *mx_buffer_new_allocated(size_t nbytes)
{
    struct mx_buffer *buffer = mx_buffer_new(nbytes);
    if (buffer && mx_buffer_allocate(buffer) != MX_OK) {
        mx_buffer_release(buffer);
        return NULL;
    }
    return buffer;
}

void mx_buffer_retain(struct mx_buffer *buffer)
{
    atomic_fetch_add_explicit(&buffer->count, 1, memory_order_relaxed);
}

void mx_buffer_release(struct mx_buffer *buffer)
{
    /* What the other owners wrote comes before the block's next use. */
    if (atomic_fetch_sub_explicit(&buffer->count, 1, memory_order_acq_rel) > 1)
        return;
    if (buffer->data)
        mx_pool_put(mx_pool_block(buffer->data));
    mx_free(buffer);
}

char *mx_buffer_address(struct mx_buffer *buffer)
{
    return buffer->data ? buffer->data : (char *)buffer + TOKEN_OFFSET;
}

struct mx_buffer *mx_buffer_get(const char *token)
{
    if ((uintptr_t)token % mx_alloc_page_size() == 0)
        return mx_pool_block(token)->owner;
    return (struct mx_buffer *)(uintptr_t)(token - TOKEN_OFFSET);
}
