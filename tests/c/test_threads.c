/* test_threads.c -- many threads record, run and drop at the same time, like programs that
 * share arrays.  The thread sanitizer reports data races between them. */
#include <pthread.h>
#include <sched.h>

#include "cpu/threads/thread_pool.h"
#include "instructions.h"

enum { THREADS = 4, ROUNDS = 12, N = 20000 };

/* The stream requires this lock of its callers: while one thread prepares, no other records,
 * publishes or drops a buffer.  A thread unlocks it while it runs instructions or waits. */
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

static void take_turn(void) { CHECK(pthread_mutex_lock(&turn) == 0); }
static void give_turn(void) { CHECK(pthread_mutex_unlock(&turn) == 0); }

static struct array shared, counted;
static atomic_bool is_finished;

/* Runs the stream until all instructions recorded before the call have run. */
static void run_all(void)
{
    int64_t last = mx_stream_recorded();
    while (mx_stream_done() < last) {
        size_t count;
        if (!mx_stream_try_enter()) {
            give_turn();
            mx_stream_enter();
            take_turn();
        }
        CHECK(mx_stream_prepare(&count) == MX_OK);
        give_turn();
        CHECK(mx_stream_run(NULL) == MX_OK);
        take_turn();
        struct mx_instruction *items = mx_stream_take_back(&count);
        mx_stream_leave();
        for (size_t i = 0; i < count; i++)
            CHECK(atomic_load(&items[i].fpe_flags) == 0);
        mx_free(items);
    }
}

/* Records own = (shared + number) * 2 seven times, with temporaries, and total = sum(own). */
static void record_chain(struct array *own, struct array *total, double number)
{
    for (int i = 0; i < 7; i++) {
        struct array temporary;
        array_init(&temporary, N * sizeof(double));
        struct mx_instruction in =
            binary("add", add, N, row(&shared), value(number), row(&temporary));
        in.fpe_mask = 15;
        record(in);
        record(binary("multiply", multiply, N, row(&temporary), value(2.0), row(own)));
        array_drop(&temporary);
    }
    record(sum(N, row(own), row(total)));
}

static void *record_and_run(void *argument)
{
    uint64_t chance = (uint64_t)(uintptr_t)argument;
    for (int round = 0; round < ROUNDS; round++) {
        struct array own, total;
        double number = below(&chance, 1000);
        take_turn();
        array_init(&own, N * sizeof(double));
        array_init(&total, sizeof(double));
        record_chain(&own, &total, number);
        if (below(&chance, 2)) { /* other threads may run it */
            give_turn();
            sched_yield();
            take_turn();
        }
        run_all();
        const double *data = (const double *)(void *)own.data;
        for (int i = 0; i < N; i += 1 + below(&chance, 100))
            CHECK(data[i] == 2 * (1 + number));
        CHECK(*(double *)(void *)total.data == N * 2 * (1 + number));
        record_chain(&own, &total, number); /* dropped before it runs */
        array_drop(&own);
        array_drop(&total);
        give_turn();
    }
    return NULL;
}

/* Records counted += 1 without the lock: threads may record while another one prepares. */
static void *record_freely(void *argument)
{
    int *recorded = argument;
    while (*recorded < 10 || !atomic_load(&is_finished)) {
        int64_t sequence;
        const struct mx_instruction in =
            binary("add", add, N, row(&counted), value(1.0), row(&counted));
        if (mx_stream_size() < 100) {
            CHECK(mx_stream_append(&in, &sequence) == MX_OK);
            ++*recorded;
        }
        sched_yield();
    }
    return NULL;
}

/* Calls the functions that any thread may call at any time. */
static void *look(void *unused)
{
    while (!atomic_load(&is_finished)) {
        struct mx_group_row group;
        int64_t done = mx_stream_done();
        CHECK(mx_stream_recorded() >= done);
        for (int i = 0; mx_flush_stats_get(i, &group); i++)
            CHECK(group.n_operations > 0 && group.names[group.n_operations - 1] != NULL);
        const struct mx_memory_info memory = memory_info();
        CHECK(memory.peak >= memory.in_use);
        mx_memory_trim((size_t)1 << 20);
        mx_set_thread_count(1 + (int)(done % 4));
        CHECK(mx_thread_count() >= 1);
        sched_yield();
    }
    return unused;
}

/* Allocates and releases buffers at the same time. */
static void *allocate(void *argument)
{
    uint64_t chance = (uint64_t)(uintptr_t)argument;
    while (!atomic_load(&is_finished)) {
        struct mx_buffer *buffers[8];
        for (int i = 0; i < 8; i++) {
            buffers[i] = mx_buffer_new(1 + (size_t)below(&chance, 500000));
            CHECK(buffers[i] && mx_buffer_allocate(buffers[i]) == MX_OK);
            buffers[i]->data[0] = (char)i;
            buffers[i]->data[buffers[i]->nbytes - 1] = (char)i;
        }
        sched_yield();
        for (int i = 0; i < 8; i++) {
            CHECK(buffers[i]->data[buffers[i]->nbytes - 1] == i);
            mx_buffer_release(buffers[i]);
        }
    }
    return NULL;
}

int main(void)
{
    pthread_t workers[THREADS], others[3], free_one;
    int recorded = 0;
    CHECK(mx_start() == MX_OK);
    array_init_doubles(&shared, N, 1.0);
    const double *sums = array_init_doubles(&counted, N, 0.0);
    CHECK(pthread_create(&free_one, NULL, record_freely, &recorded) == 0);
    for (uintptr_t i = 0; i < THREADS; i++)
        CHECK(pthread_create(&workers[i], NULL, record_and_run, (void *)(i + 1)) == 0);
    for (uintptr_t i = 0; i < 3; i++)
        CHECK(pthread_create(&others[i], NULL, i ? allocate : look, (void *)(i + 1)) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(workers[i], NULL) == 0);
    atomic_store(&is_finished, true);
    for (int i = 0; i < 3; i++)
        CHECK(pthread_join(others[i], NULL) == 0);
    CHECK(pthread_join(free_one, NULL) == 0);
    CHECK(flush() == MX_OK && mx_stream_size() == 0);
    CHECK(atomic_load(&shared.buffer->count) == 1 && atomic_load(&counted.buffer->count) == 1);
    CHECK(recorded > 0 && sums[0] == recorded && sums[N - 1] == recorded);
    array_drop(&shared);
    array_drop(&counted);
    CHECK(memory_info().in_use == 0);
    mx_pool_trim(0);
    return 0;
}
