#pragma once
/* buffer.h -- a reference-counted block of memory, which is allocated only when it is needed.
 *
 * The result of a recorded operation is a buffer without memory.  If only instructions hold it
 * when it is computed, it never gets any.  Until then the data pointer of its array holds a
 * placeholder address; mx_buffer_allocate publishes the real address there.
 */
#include <stdatomic.h>

#include "memory/pool.h"

struct mx_buffer {
    atomic_long count; /* references */
    size_t nbytes;     /* as requested */
    char *data;        /* page-aligned; NULL until allocated */
    int n_views;       /* distinct views of it in the plan that is being made */
    long n_uses;       /* operands of that plan that use it */
    char **published;  /* the data pointer of the owner's array; NULL after the array is gone */
    void *elision_owner; /* the owner, if the operation being computed may be its only user;
                            otherwise NULL */
    void *owner;         /* the array of this buffer, or NULL */
    int64_t number;      /* buffers are numbered in the order of their creation, from 1 */
    bool is_whole;       /* all of it has been written at least once */
    int64_t failed_by;   /* sequence number of the failed check that prevented a write, or 0 */
};

/* Both return a buffer with one reference, without and with memory, or NULL after mx_fail. */
struct mx_buffer *mx_buffer_new(size_t nbytes);
struct mx_buffer *mx_buffer_new_allocated(size_t nbytes);

int64_t mx_buffer_last_number(void); /* the number of the newest buffer; 0 before the first */

void mx_buffer_retain(struct mx_buffer *buffer);
void mx_buffer_release(struct mx_buffer *buffer); /* the last reference frees the buffer */

/* Allocates memory, unless the buffer has it, and publishes its address.  Returns a status. */
int mx_buffer_allocate(struct mx_buffer *buffer);

/* Returns the buffer of an array for which this thread was last refused memory, with a
 * reference for the caller.  Returns NULL if there was none since the last call. */
struct mx_buffer *mx_buffer_take_refused(void);

/* Returns the address of the data or, before it is allocated, the placeholder address.
 * mx_buffer_get returns the buffer of either. */
char *mx_buffer_address(struct mx_buffer *buffer);
struct mx_buffer *mx_buffer_get(const char *address);
