/* test_clock.c -- the time of the first chunks decides whether threads share the others, also
 * if the steps of the clock are longer than a chunk. */
#include <time.h>

#include "cpu/threads/thread_pool.h"
#include "instructions.h"
#include "scheduler/flush_stats.h"

enum { N_CHUNKS = 32, N = N_CHUNKS * MX_CHUNK_ELEMENTS, STEP = 4 * MX_CHUNK_ELEMENTS };

static atomic_llong n_elements, nanoseconds_of_step;

/* The clock of this program: it advances when the elements of a step have been computed. */
int clock_gettime(clockid_t clock, struct timespec *time)
{
    (void)clock;
    long long now = 1000 + atomic_load(&n_elements) / STEP * atomic_load(&nanoseconds_of_step);
    *time = (struct timespec){now / 1000000000, now % 1000000000};
    return 0;
}

static void count(char **args, const intptr_t *n, const intptr_t *s, void *data)
{
    add(args, n, s, data);
    atomic_fetch_add(&n_elements, *n);
}

/* Returns the number of threads that a group of N elements was left to. */
static int threads_of(long long nanoseconds, struct array *array)
{
    struct mx_group_row out;
    atomic_store(&n_elements, 0);
    atomic_store(&nanoseconds_of_step, nanoseconds);
    record(binary("add", count, N, row(array), value(1.0), row(array)));
    CHECK(flush() == MX_OK && mx_flush_stats_get(0, &out));
    return out.n_threads;
}

int main(void)
{
    struct array array;
    CHECK(mx_start() == MX_OK);
    array_init_doubles(&array, N, 1.0);
    mx_thread_pool_set_size(2);
    CHECK(threads_of(1000000, &array) == 2);
    CHECK(threads_of(100, &array) == 1);
    CHECK(threads_of(0, &array) == 1); /* it runs all chunks */
    const double *data = (const double *)(const void *)array.data;
    for (int i = 0; i < N; i++)
        CHECK(data[i] == 4.0);
    array_drop(&array);
    return 0;
}
