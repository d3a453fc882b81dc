/* copy.c -- copies large blocks of memory on several threads. */
#include "cpu/threads/copy.h"

#include <string.h>

#include "cpu/threads/thread_pool.h"

#define PART_BYTES  ((size_t)128 << 10)
#define SHARED_FROM ((size_t)1 << 20) /* threads take longer to wake than to copy less */
#define MAX_THREADS 8                 /* more do not copy faster: measured with 16 cores */

struct copy {
    char *to;
    const char *from;
    size_t nbytes;
};

static void copy_part(void *job, size_t part, int thread)
{
    (void)thread;
    const struct copy *copy = job;
    size_t at = part * PART_BYTES, left = copy->nbytes - at;
    memcpy(copy->to + at, copy->from + at, left < PART_BYTES ? left : PART_BYTES);
}

void mx_copy_in_parts(void *to, const void *from, size_t nbytes)
{
    if (nbytes < SHARED_FROM) {
        memcpy(to, from, nbytes);
        return;
    }
    struct copy copy = {to, from, nbytes};
    size_t n = (nbytes + PART_BYTES - 1) / PART_BYTES;
    int size = mx_thread_pool_size();
    mx_thread_pool_run(copy_part, &copy, (struct mx_chunks){0, n},
                       size < MAX_THREADS ? size : MAX_THREADS, NULL);
}
