#pragma once
/* pool.h -- page-aligned blocks of memory, cached for later requests of about the same size.
 *
 * A block has exactly one owner, or it is cached in the list of its size class.  When a
 * function has returned, the cached blocks do not exceed the limit.  Blocks that have been
 * cached longest are returned to the system first.  Any thread may call these functions.
 */
#include "base/base.h"

/* The first page of a block begins with this struct.  The pages after the first hold the data.
 */
struct mx_block {
    size_t size; /* bytes of all pages */
    void *owner; /* set and used by the owner of the block, not by the pool */
    struct mx_block *newer, *older;
    uint64_t freed_at;
    void *device_memory; /* the device's handle for the same pages, once it has one, or NULL */
};

/* Returns a block with at least nbytes of data, which are not cleared.  It maps memory only if
 * no block of that size, or larger by up to half, is cached.  If that fails it frees all cached
 * blocks and tries again, and returns NULL if it fails again. */
struct mx_block *mx_pool_take(size_t nbytes);
void mx_pool_put(struct mx_block *block); /* takes ownership of the block */

char *mx_pool_data(struct mx_block *block);
struct mx_block *mx_pool_block(const char *data); /* the inverse of mx_pool_data */

/* Sets the function that is called with the device memory of a block before its pages are
 * returned to the system. */
void mx_pool_set_forget(void (*forget)(void *device_memory));

/* Returns the bytes of data of the block for a request: whole pages, plus at most an eighth of
 * them; 0 if no block can be so large. */
size_t mx_pool_data_size(size_t nbytes);

/* Returns the number of the size class of such a size: less than MX_POOL_CLASSES. */
int mx_pool_class(size_t data_size);
#define MX_POOL_CLASSES (64 << 3)

/* These implement mx_memory_trim, mx_memory_set_limit and mx_memory_info of mxnp.h. */
void mx_pool_trim(size_t nbytes);
void mx_pool_set_limit(size_t nbytes);
void mx_pool_info(struct mx_memory_info *out);

/* Returns a quarter of the memory that this process may use, and at most 8 GiB. */
size_t mx_pool_default_limit(void);

/* Called around fork, so that no other thread is inside the pool at that moment. */
void mx_pool_before_fork(void);
void mx_pool_after_fork(bool in_child);
