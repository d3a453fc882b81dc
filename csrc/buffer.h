#pragma once
/* buffer.h -- a counted block of memory.
 *
 * The buffer is the head of its block, so the address of the data names it.  The data is
 * page-aligned, as a GPU that shares memory wants it.
 */
#include <stdatomic.h>

#include "pool.h"

struct mx_buffer {
    struct mx_block block;
    atomic_long count;
    size_t nbytes; /* as asked for */
};

struct mx_buffer *mx_buffer_new(size_t nbytes); /* with a count of one; NULL after mx_fail */
void mx_buffer_retain(struct mx_buffer *buffer);
void mx_buffer_release(struct mx_buffer *buffer); /* back to the pool with the last count */

char *mx_buffer_data(struct mx_buffer *buffer);    /* lives as long as the buffer */
struct mx_buffer *mx_buffer_get(const char *data); /* the buffer of mx_buffer_data */
