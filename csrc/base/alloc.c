/* alloc.c -- memory from the system. */
#include "base/alloc.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cgroup.h"

#define HUGE_PAGE ((size_t)2 << 20)

/* For tests: the number of requests until refusals begin and until they end, and the number of
 * refused requests. */
static atomic_long until_first, until_last, n_refused;

long mx_alloc_refuse(long after, long count)
{
    atomic_store(&until_last, 0);
    atomic_store(&until_first, after);
    atomic_store(&until_last, count > 0 ? after + count : 0);
    return atomic_exchange(&n_refused, 0);
}

/* Returns whether a request has to be refused. */
static bool is_refused(void)
{
    if (atomic_load_explicit(&until_last, memory_order_relaxed) <= 0)
        return false;
    bool is_last_done = atomic_fetch_sub(&until_last, 1) <= 0;
    if (atomic_fetch_sub(&until_first, 1) > 0 || is_last_done)
        return false;
    atomic_fetch_add(&n_refused, 1);
    return true;
}

void *mx_alloc(size_t nbytes) { return is_refused() ? NULL : malloc(nbytes); }

void *mx_realloc(void *memory, size_t nbytes)
{
    return is_refused() ? NULL : realloc(memory, nbytes);
}

void mx_free(void *memory) { free(memory); }

size_t mx_alloc_page_size(void)
{
    static atomic_size_t known;
    size_t size = atomic_load_explicit(&known, memory_order_relaxed);
    if (size == 0) {
        size = (size_t)sysconf(_SC_PAGESIZE);
        atomic_store_explicit(&known, size, memory_order_relaxed);
    }
    return size;
}

size_t mx_alloc_usable(void)
{
    long n_pages = sysconf(_SC_PHYS_PAGES);
    size_t memory = n_pages > 0 ? (size_t)n_pages * mx_alloc_page_size() : SIZE_MAX;
    uint64_t group = mx_cgroup_memory("");
    return group < memory ? (size_t)group : memory;
}

static void *map_pages(size_t nbytes)
{
    void *memory =
        mmap(NULL, nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

#ifdef MADV_HUGEPAGE
/* Maps pages from the beginning of a huge page on, so that all but the tail can be huge pages.
 */
static void *map_huge(size_t nbytes)
{
    char *memory = map_pages(nbytes + HUGE_PAGE);
    if (!memory)
        return NULL;
    size_t head = (HUGE_PAGE - (uintptr_t)memory % HUGE_PAGE) % HUGE_PAGE;
    if (head > 0)
        munmap(memory, head);
    munmap(memory + head + nbytes, HUGE_PAGE - head);
    madvise(memory + head, nbytes, MADV_HUGEPAGE);
    return memory + head;
}
#endif

void *mx_alloc_pages(size_t nbytes)
{
    MX_ASSERT(nbytes > 0 && nbytes % mx_alloc_page_size() == 0);
    if (is_refused())
        return NULL;
#ifdef MADV_HUGEPAGE
    if (nbytes >= 2 * HUGE_PAGE && nbytes <= SIZE_MAX - HUGE_PAGE)
        return map_huge(nbytes);
#endif
    return map_pages(nbytes);
}

void mx_alloc_unmap(void *memory, size_t nbytes) { munmap(memory, nbytes); }
