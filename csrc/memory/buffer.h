#pragma once
/* buffer.h -- a reference-counted block of memory, which is allocated only when it is needed.
 *
 * The result of a recorded operation is a buffer without memory.  If only instructions hold it
 * when it is computed, it never gets any.  Until then the data pointer of its array holds a
 * placeholder address; mx_buffer_publish stores the real address there.
 *
 * Only coherence.h uses `data` to read or write: the current contents may be on a device.
 */
#include <stdatomic.h>

#include "memory/pool.h"

struct mx_remote;

struct mx_buffer {
    atomic_long count; /* references */
    size_t nbytes;     /* as requested */
    char *data;        /* page-aligned; NULL until allocated, then constant */
    int n_views;       /* distinct views of it in the plan that is being made */
    long n_uses;       /* operands of that plan that use it */
    char **published;  /* the data pointer of the owner's array; NULL after the array is gone */
    void *elision_owner; /* the owner, if the operation being computed may be its only user;
                            otherwise NULL */
    void *owner;         /* the array of this buffer, or NULL */
    int64_t number;      /* buffers are numbered in the order of their creation, from 1 */
    bool is_whole;       /* all of it has been written at least once */
    bool is_borrowed;    /* the data is not the pool's */
    bool is_unwritten;   /* nothing has been written: memory that it has need not be copied */
    int64_t failed_by;   /* sequence number of the failed check that prevented a write, or 0 */
    atomic_bool is_shared; /* other code may use the memory after each operation */

    atomic_int
        n_lent; /* users of its memory on the device other than kernels: see coherence.h */

    /* Private to coherence.c. */
    _Atomic(struct mx_remote *) remote;             /* its memory on the device, or NULL */
    struct mx_buffer *changed, *unsettled, *edited; /* the next ones of three lists */
    bool is_changed, is_unsettled, is_edited;       /* it is in these, with a reference */
    bool is_expected;                               /* a kernel of the plan writes it */
    int64_t n_missed;    /* bytes that the processor has moved and kernels could have */
    uint64_t written_by; /* number of the last kernel that wrote it, or 0 */
};

/* Both return a buffer with one reference, without and with memory, or NULL after mx_fail. */
struct mx_buffer *mx_buffer_new(size_t nbytes);
struct mx_buffer *mx_buffer_new_allocated(size_t nbytes);

/* The same for memory of others, which must outlive the buffer. */
struct mx_buffer *mx_buffer_borrow(char *data, size_t nbytes);

int64_t mx_buffer_last_number(void); /* the number of the newest buffer; 0 before the first */

void mx_buffer_retain(struct mx_buffer *buffer);
void mx_buffer_release(struct mx_buffer *buffer); /* the last reference frees the buffer */

/* Sets the function that is called with a buffer that has memory on a device before the buffer
 * is freed. */
void mx_buffer_set_forget(void (*forget)(struct mx_buffer *buffer));

/* Allocates memory, unless the buffer has it.  Any thread may call it.  Returns a status. */
int mx_buffer_allocate(struct mx_buffer *buffer);

/* Allocates memory, and stores its address in the array.  No other thread may use the array
 * meanwhile.  Returns a status. */
int mx_buffer_publish(struct mx_buffer *buffer);

/* Returns the buffer of an array for which this thread was last refused memory, with a
 * reference for the caller.  Returns NULL if there was none since the last call. */
struct mx_buffer *mx_buffer_take_refused(void);

/* Returns the address of the data or, before it is allocated, the placeholder address.
 * mx_buffer_get returns the buffer of either.  The contents need not be current there. */
char *mx_buffer_address(struct mx_buffer *buffer);
static inline bool mx_buffer_is_allocated(const struct mx_buffer *buffer)
{
    return __atomic_load_n(&buffer->data, __ATOMIC_ACQUIRE) != NULL;
}
struct mx_buffer *mx_buffer_get(const char *address);
