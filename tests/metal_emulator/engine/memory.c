/* memory.c -- see memory.h. */
#include "memory.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

enum { RETIRED = 8192, ALIGNMENT = 16 }; /* MSL's largest types are aligned to 16 */

static struct {
    pthread_mutex_t lock;
    struct {
        uint8_t *map;
        size_t length;
    } ring[RETIRED];
    size_t next;
} retired = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* A child may retire memory even if another thread of the parent held the lock. */
static void take_lock(void) { pthread_mutex_lock(&retired.lock); }

static void give_back_lock(void) { pthread_mutex_unlock(&retired.lock); }

__attribute__((constructor)) static void prepare_for_fork(void)
{
    pthread_atfork(take_lock, give_back_lock, give_back_lock);
}

size_t memory_page_size(void) { return (size_t)sysconf(_SC_PAGESIZE); }

struct memory memory_allocate(size_t length)
{
    struct memory memory = {.length = length};
    size_t page = memory_page_size();
    size_t usable = (length + page - 1) / page * page;
    if (length == 0 || usable < length)
        return memory;
    memory.map_length = usable + page;
    uint8_t *map = mmap(NULL, memory.map_length, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED)
        return memory;
    mprotect(map + usable, page, PROT_NONE);
    memory.map = map;
    memory.start = map + (usable - length) / ALIGNMENT * ALIGNMENT;
    return memory;
}

void memory_retire(const struct memory *memory)
{
    if (!memory->map)
        return;
    mmap(memory->map, memory->map_length, PROT_NONE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    pthread_mutex_lock(&retired.lock);
    uint8_t *oldest = retired.ring[retired.next].map;
    size_t oldest_length = retired.ring[retired.next].length;
    retired.ring[retired.next].map = memory->map;
    retired.ring[retired.next].length = memory->map_length;
    retired.next = (retired.next + 1) % RETIRED;
    pthread_mutex_unlock(&retired.lock);
    if (oldest)
        munmap(oldest, oldest_length);
}

bool memory_is_retired(const void *at)
{
    for (size_t i = 0; i < RETIRED; i++)
        if ((size_t)((const uint8_t *)at - retired.ring[i].map) < retired.ring[i].length)
            return true;
    return false;
}
