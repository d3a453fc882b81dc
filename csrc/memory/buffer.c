/* buffer.c -- a reference-counted block of memory. */
#include "memory/buffer.h"

#include "base/alloc.h"
#include "base/error.h"

/* A placeholder address lies in the struct itself.  Data is always page-aligned and a
 * placeholder never is, which distinguishes them. */
#define PLACEHOLDER_OFFSET 8

static _Atomic int64_t last_number;

int64_t mx_buffer_last_number(void)
{
    return atomic_load_explicit(&last_number, memory_order_relaxed);
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
    buffer->number = atomic_fetch_add_explicit(&last_number, 1, memory_order_relaxed) + 1;
    buffer->failed_by = 0;
    buffer->is_whole = buffer->is_unwritten = buffer->is_borrowed = false;
    atomic_init(&buffer->is_shared, false);
    atomic_init(&buffer->remote, NULL);
    atomic_init(&buffer->n_lent, 0);
    buffer->is_changed = buffer->is_unsettled = buffer->is_edited = buffer->is_expected = false;
    buffer->n_missed = 0;
    return buffer;
}

/* Holds a reference. */
static _Thread_local struct mx_buffer *refused;

/* Notes the buffer for mx_buffer_take_refused if it has an array, and fails. */
static int buffer_refuse(struct mx_buffer *buffer)
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
    if (__atomic_load_n(&buffer->data, __ATOMIC_ACQUIRE))
        return MX_OK;
    struct mx_block *block = mx_pool_take(buffer->nbytes);
    if (!block)
        return buffer_refuse(buffer);
    block->owner = buffer;
    char *none = NULL;
    if (!__atomic_compare_exchange_n(&buffer->data, &none, mx_pool_data(block), false,
                                     __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        mx_pool_put(block); /* another thread was faster */
    return MX_OK;
}

int mx_buffer_publish(struct mx_buffer *buffer)
{
    int status = mx_buffer_allocate(buffer);
    if (status == MX_OK && buffer->published)
        *buffer->published = buffer->data;
    return status;
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

struct mx_buffer *mx_buffer_borrow(char *data, size_t nbytes)
{
    struct mx_buffer *buffer = mx_buffer_new(nbytes);
    if (buffer) {
        buffer->data = data;
        buffer->is_borrowed = true;
    }
    return buffer;
}

static void (*forget_buffer)(struct mx_buffer *buffer);

void mx_buffer_set_forget(void (*forget)(struct mx_buffer *buffer)) { forget_buffer = forget; }

void mx_buffer_retain(struct mx_buffer *buffer)
{
    long before = atomic_fetch_add_explicit(&buffer->count, 1, memory_order_relaxed);
    MX_ASSERT(before > 0);
    (void)before;
}

void mx_buffer_release(struct mx_buffer *buffer)
{
    /* The order makes writes of other holders visible before the block is used again. */
    long before = atomic_fetch_sub_explicit(&buffer->count, 1, memory_order_acq_rel);
    MX_ASSERT(before > 0);
    if (before > 1)
        return;
    if (atomic_load_explicit(&buffer->remote, memory_order_acquire))
        forget_buffer(buffer);
    if (buffer->data && !buffer->is_borrowed)
        mx_pool_put(mx_pool_block(buffer->data));
    mx_free(buffer);
}

char *mx_buffer_address(struct mx_buffer *buffer)
{
    return mx_buffer_is_allocated(buffer) ? buffer->data : (char *)buffer + PLACEHOLDER_OFFSET;
}

struct mx_buffer *mx_buffer_get(const char *address)
{
    if ((uintptr_t)address % mx_alloc_page_size() == 0)
        return mx_pool_block(address)->owner;
    return (struct mx_buffer *)(uintptr_t)(address - PLACEHOLDER_OFFSET);
}
