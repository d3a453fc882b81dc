/* alloc.c -- memory from the system, and what malloc keeps of it. */
#define _GNU_SOURCE /* dladdr */
#include "base/alloc.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <malloc.h>
#endif

#include "base/cgroup.h"

#define HUGE_PAGE ((size_t)2 << 20)

#define KEPT_SHARE 32                  /* of the memory that the process may use */
#define MOST_KEPT  ((size_t)128 << 20) /* as much as four temporaries of SciPy of 32 MiB */
#define MOST_BLOCK ((size_t)32 << 20)  /* as far as glibc raises its limit by itself */

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

/* -- What malloc keeps ------------------------------------------------------------- */

static size_t kept;

size_t mx_alloc_kept(void) { return kept; }

size_t mx_alloc_most_kept(size_t memory)
{
    size_t share = memory / KEPT_SHARE;
    return share < MOST_KEPT ? share : MOST_KEPT;
}

#ifdef __GLIBC__
/* Checks whether malloc is glibc's own.  An allocator that is loaded before glibc has all of
 * malloc's functions.  A program may have an address of its own for malloc, which parsers
 * receive as an argument, but hardly for posix_memalign. */
static bool is_glibcs(void)
{
    Dl_info own, libc;
    return dladdr((void *)(uintptr_t)posix_memalign, &own) &&
           dladdr((void *)(uintptr_t)gnu_get_libc_version, &libc) &&
           own.dli_fbase == libc.dli_fbase;
}

/* malloc maps each block above M_MMAP_THRESHOLD by itself, and keeps M_TRIM_THRESHOLD of free
 * memory at the end of the heap.  M_TOP_PAD stays small, because calloc clears what it adds to
 * the heap. */
void mx_alloc_keep(size_t nbytes)
{
    if (!is_glibcs())
        return;
    mallopt(M_MMAP_THRESHOLD, (int)(nbytes / 2 < MOST_BLOCK ? nbytes / 2 : MOST_BLOCK));
    mallopt(M_TRIM_THRESHOLD, (int)nbytes);
    kept = nbytes;
}

void mx_alloc_trim(void)
{
    if (kept > 0)
        malloc_trim(0);
}
#else
void mx_alloc_keep(size_t nbytes) { (void)nbytes; }

void mx_alloc_trim(void) {}
#endif

/* -- Pages ------------------------------------------------------------------------- */

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
