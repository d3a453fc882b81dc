/* pool.c -- page-aligned blocks of memory, cached for later requests of about the same size.
 *
 * Mapping memory is cheap, but its first use is not: each page costs a fault, which takes
 * longer than an addition over the page.  Blocks are therefore reused.  The block that was
 * freed last is reused first, as it is most likely still in the processor's cache.
 *
 * There are eight size classes for each power of two, so a new block wastes at most an eighth,
 * and a cached one at most half of the request.
 */
#include "memory/pool.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/alloc.h"

#define CLASS_BITS        3 /* eight classes for each power of two */
#define LARGER_CLASSES    4 /* in which a block is looked for, if a class has none */
#define MAX_DEFAULT_LIMIT ((size_t)8 << 30)

/* The cached blocks of one class. */
struct list {
    struct mx_block *newest, *oldest;
};

static struct {
    pthread_mutex_t lock;
    struct list lists[MX_POOL_CLASSES];
    int n_classes; /* classes from this one on have never had a cached block */
    uint64_t clock;
    bool limit_known;
    struct mx_memory_info info;
    void (*forget)(void *device_memory);
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* -- Size classes ----------------------------------------------------------------- */

static int highest_bit(size_t n)
{
    int bit = 0;
    while (n >>= 1)
        bit++;
    return bit;
}

/* Returns the least number that is at least n and has only its CLASS_BITS + 1 leading bits set.
 */
static size_t round_to_class(size_t n)
{
    int bit = highest_bit(n);
    if (bit <= CLASS_BITS)
        return n;
    size_t step = (size_t)1 << (bit - CLASS_BITS);
    return (n + step - 1) & ~(step - 1);
}

static int class_of(size_t n_pages)
{
    int bit = highest_bit(n_pages);
    if (bit <= CLASS_BITS)
        return (int)n_pages;
    return (bit - CLASS_BITS) * (1 << CLASS_BITS) + (int)(n_pages >> (bit - CLASS_BITS));
}

size_t mx_pool_data_size(size_t nbytes)
{
    size_t page = mx_alloc_page_size();
    size_t n_pages = nbytes / page + (nbytes % page != 0);
    n_pages = round_to_class(n_pages > 0 ? n_pages : 1);
    return n_pages < SIZE_MAX / page ? n_pages * page : 0;
}

int mx_pool_class(size_t data_size) { return class_of(data_size / mx_alloc_page_size()); }

static struct list *list_for(size_t data_size) { return &pool.lists[mx_pool_class(data_size)]; }

/* -- Blocks ------------------------------------------------------------------------ */

char *mx_pool_data(struct mx_block *block) { return (char *)block + mx_alloc_page_size(); }

struct mx_block *mx_pool_block(const char *data)
{
    return (struct mx_block *)((uintptr_t)data - mx_alloc_page_size());
}

void mx_pool_set_forget(void (*forget)(void *device_memory)) { pool.forget = forget; }

/* -- Lists ------------------------------------------------------------------------ */

static void pool_append(struct list *list, struct mx_block *block)
{
    block->newer = NULL;
    block->older = list->newest;
    *(list->newest ? &list->newest->newer : &list->oldest) = block;
    list->newest = block;
}

static void unlink_block(struct list *list, struct mx_block *block)
{
    *(block->newer ? &block->newer->older : &list->newest) = block->older;
    *(block->older ? &block->older->newer : &list->oldest) = block->newer;
}

/* Unlinks the blocks that have been cached longest until at most limit bytes are cached.
 * Returns them as a chain through `older`.  The caller unmaps them after it has released the
 * lock. */
static struct mx_block *pool_evict(size_t limit)
{
    struct mx_block *evicted = NULL;
    while (pool.info.cached > limit) {
        struct list *from = NULL;
        for (int i = 0; i < pool.n_classes; i++) {
            struct mx_block *oldest = pool.lists[i].oldest;
            if (oldest && (!from || oldest->freed_at < from->oldest->freed_at))
                from = &pool.lists[i];
        }
        MX_ASSERT(from);
        struct mx_block *block = from->oldest;
        unlink_block(from, block);
        pool.info.cached -= block->size;
        block->older = evicted;
        evicted = block;
    }
    return evicted;
}

static void unmap_chain(struct mx_block *block)
{
    while (block) {
        struct mx_block *next = block->older;
        if (block->device_memory)
            pool.forget(block->device_memory);
        mx_alloc_unmap(block, block->size);
        block = next;
    }
}

/* -- Taking and putting ------------------------------------------------------------ */

static void count_taken(size_t size)
{
    pool.info.in_use += size;
    if (pool.info.peak < pool.info.in_use)
        pool.info.peak = pool.info.in_use;
}

/* Returns the list of the smallest cached block for a request, or an empty list.  The block may
 * be larger by half: the pages of a new one would have to be cleared first. */
static struct list *find_list(size_t data_size)
{
    struct list *own = list_for(data_size), *list = own;
    const struct list *end = &pool.lists[pool.n_classes];
    while (list < end && list - own < LARGER_CLASSES && !list->newest)
        list++;
    bool fits = list < end && list->newest &&
                list->newest->size - mx_alloc_page_size() <= data_size + data_size / 2;
    return fits ? list : own;
}

struct mx_block *mx_pool_take(size_t nbytes)
{
    size_t data_size = mx_pool_data_size(nbytes);
    if (data_size == 0)
        return NULL;
    size_t size = data_size + mx_alloc_page_size();

    pthread_mutex_lock(&pool.lock);
    struct list *list = find_list(data_size);
    struct mx_block *block = list->newest;
    if (block) {
        MX_ASSERT(block->size >= size && pool.info.cached >= block->size);
        unlink_block(list, block);
        pool.info.cached -= block->size;
        count_taken(block->size);
    }
    pthread_mutex_unlock(&pool.lock);
    if (block)
        return block;

    block = mx_alloc_pages(size);
    if (!block) {
        mx_pool_trim(0);
        block = mx_alloc_pages(size);
    }
    if (!block)
        return NULL;
    block->size = size;
    pthread_mutex_lock(&pool.lock);
    pool.info.n_system_calls++;
    count_taken(size);
    pthread_mutex_unlock(&pool.lock);
    return block;
}

static size_t limit(void)
{
    if (!pool.limit_known) {
        pool.info.limit = mx_pool_default_limit();
        pool.limit_known = true;
    }
    return pool.info.limit;
}

void mx_pool_put(struct mx_block *block)
{
    struct list *list = list_for(block->size - mx_alloc_page_size());
    pthread_mutex_lock(&pool.lock);
    pool_append(list, block);
    if (pool.n_classes <= list - pool.lists)
        pool.n_classes = (int)(list - pool.lists) + 1;
    block->freed_at = pool.clock++;
    MX_ASSERT(pool.info.in_use >= block->size);
    pool.info.in_use -= block->size;
    pool.info.cached += block->size;
    struct mx_block *evicted = pool_evict(limit());
    pthread_mutex_unlock(&pool.lock);
    unmap_chain(evicted);
}

void mx_pool_trim(size_t nbytes)
{
    pthread_mutex_lock(&pool.lock);
    struct mx_block *evicted = pool_evict(nbytes);
    pthread_mutex_unlock(&pool.lock);
    unmap_chain(evicted);
    if (nbytes == 0)
        mx_alloc_trim();
}

void mx_pool_set_limit(size_t nbytes)
{
    pthread_mutex_lock(&pool.lock);
    pool.info.limit = nbytes;
    pool.limit_known = true;
    struct mx_block *evicted = pool_evict(nbytes);
    pthread_mutex_unlock(&pool.lock);
    unmap_chain(evicted);
}

void mx_pool_info(struct mx_memory_info *out)
{
    pthread_mutex_lock(&pool.lock);
    limit();
    *out = pool.info;
    pthread_mutex_unlock(&pool.lock);
}

/* -- The default limit -------------------------------------------------------------- */

size_t mx_pool_default_limit(void)
{
    size_t quarter = mx_alloc_usable() / 4;
    return quarter < MAX_DEFAULT_LIMIT ? quarter : MAX_DEFAULT_LIMIT;
}

/* -- Fork ------------------------------------------------------------------------- */

void mx_pool_before_fork(void) { pthread_mutex_lock(&pool.lock); }

void mx_pool_after_fork(bool in_child)
{
    if (in_child)
        pthread_mutex_init(&pool.lock, NULL);
    else
        pthread_mutex_unlock(&pool.lock);
}
