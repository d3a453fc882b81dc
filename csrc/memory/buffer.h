#pragma once
/* buffer.h -- a counted block of memory, which is taken from the pool only when needed.
 *
 * The result of a recorded operation is a buffer without memory: if nobody can see it by the
 * time it is computed it never gets any.  Until then its array shows a token in the place of
 * the address; mx_buffer_allocate puts the address there.
 */
#include <stdatomic.h>

#include "memory/pool.h"

struct mx_buffer {
    atomic_long count;
    size_t nbytes;       /* as asked for */
    char *data;          /* page-aligned; NULL until placed */
    int n_views;         /* distinct views of it in the plan that is being made */
    long n_uses;         /* operands in it */
    char **published;    /* where the owner's array keeps its address; NULL once it is gone */
    void *elision_owner; /* the owner, while its only user may be what is being computed; or
                            NULL */
    void *owner;         /* the array that stands for it, or NULL */
    int64_t number;      /* in the order they were made, from 1 */
    bool is_whole;       /* all of it has been written, once */
    int64_t failed_by;   /* sequence of the check but for which it would have been written */
};

struct mx_buffer *mx_buffer_new(size_t nbytes); /* with a count of one; NULL after mx_fail */
struct mx_buffer *mx_buffer_new_allocated(size_t nbytes); /* ... with memory */
int64_t mx_buffer_last_number(void);                      /* number of the last one */
void mx_buffer_retain(struct mx_buffer *buffer);
void mx_buffer_release(struct mx_buffer *buffer); /* back to the pool with the last count */

/* Takes memory, unless it has it; what shows the buffer shows the address then.  Status. */
int mx_buffer_allocate(struct mx_buffer *buffer);

/* The array's buffer that this thread was refused memory for last, with a count for the
 * caller; NULL if there was none, or it has been asked for. */
struct mx_buffer *mx_buffer_take_refused(void);

/* What stands for the address of a buffer's data: the address itself once it is placed. */
char *mx_buffer_address(struct mx_buffer *buffer);
struct mx_buffer *mx_buffer_get(const char *token);
