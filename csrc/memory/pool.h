#pragma once
/* pool.h -- page-aligned blocks of memory, kept for the next request of their size.
 *
 * A block has exactly one owner, or lies in the list of its size class.  What lies there
 * never exceeds the limit once a call has returned, and the block that goes to the system
 * first is the one that lay longest.  Any thread may call.
 */
#include "base/base.h"

/* A block's first page begins with this, and has room for the owner's own fields behind
 * it.  The pages after the first are the block's data. */
struct mx_block {
    size_t size; /* bytes, all pages */
    void *owner; /* whoever took it; not the pool's business */
    struct mx_block *newer, *older;
    uint64_t freed_at;
    void *device_memory; /* the same pages as a device has them, once it was asked; or NULL */
};

/* With nbytes of data or somewhat more, not cleared; asks the system only when none is kept,
 * and once more after giving everything kept back.  NULL: out of memory. */
struct mx_block *mx_pool_take(size_t nbytes);
void mx_pool_put(struct mx_block *block); /* takes the block */

char *mx_pool_data(struct mx_block *block);
struct mx_block *mx_pool_block(const char *data); /* the block of mx_pool_data */

/* What is called with the device memory of a block whose pages go back to the system. */
void mx_pool_set_forget(void (*forget)(void *device_memory));

/* Data of the block that serves a request: at most an eighth more than whole pages of it;
 * 0 if no block can be so large. */
size_t mx_pool_data_size(size_t nbytes);

void mx_pool_trim(size_t nbytes);
void mx_pool_set_limit(size_t nbytes);
void mx_pool_info(struct mx_memory_info *out);

/* A quarter of the memory this process may use, 8 GiB at most. */
size_t mx_pool_default_limit(void);

/* Around fork: no other thread is inside the pool at that moment. */
void mx_pool_before_fork(void);
void mx_pool_after_fork(bool in_child);
