/* access.c -- the calls of instrumented kernels before each access, atomic operation and
 * branch. */
#include "worker.h"

#include <sched.h>
#include <stdarg.h>
#include <stdio.h>

enum { BRANCHES_PER_LOOK = 1024 }; /* at whether another worker has failed; a power of two */

_Thread_local struct worker *engine_worker;

void engine_check_access(const volatile void *at, unsigned size, int is_write);
void engine_note_atomic(const volatile void *at, unsigned size);
void engine_count_branch(void);
void engine_count_division(void);

void engine_fail(struct worker *worker, enum engine_failure failure, const char *format, ...)
{
    struct engine_dispatch *dispatch = worker->job->dispatch;
    int none = 0;
    if (atomic_compare_exchange_strong(&worker->job->stop, &none, (int)failure)) {
        const uint32_t *position = current_thread(worker)->seen.position_in_grid;
        char what[256];
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(what, sizeof what, format, arguments);
        va_end(arguments);
        dispatch->failure = failure;
        snprintf(dispatch->message, sizeof dispatch->message,
                 "%s (kernel %s, thread_position_in_grid %u,%u,%u)", what,
                 dispatch->kernel->name, position[0], position[1], position[2]);
    }
    _longjmp(worker->aborted, 1);
}

/* -- Bounds ------------------------------------------------------------------------ */

static inline bool lies_in(struct engine_range range, const uint8_t *at, unsigned size)
{
    size_t offset = (size_t)(at - range.start);
    return offset < range.size && size <= range.size - offset;
}

/* Returns the range in which the access lies, or range_count if there is no such range. */
static inline unsigned find_range(struct worker *worker, const uint8_t *at, unsigned size)
{
    if (lies_in(worker->ranges[worker->last_range], at, size))
        return worker->last_range;
    unsigned i = 0;
    while (i < worker->range_count && !lies_in(worker->ranges[i], at, size))
        i++;
    if (i < worker->range_count)
        worker->last_range = i;
    return i;
}

static _Noreturn void fail_out_of_bounds(struct worker *worker, const uint8_t *at,
                                         unsigned size, bool is_write)
{
    const char *what = is_write ? "write" : "read";
    const struct engine_dispatch *dispatch = worker->job->dispatch;
    int nearest = -1;
    size_t distance = SIZE_MAX;
    for (int i = 0; i < ENGINE_BINDINGS; i++) {
        struct engine_range buffer = dispatch->buffers[i];
        size_t beyond = (size_t)(at - buffer.start);
        if (buffer.start && at >= buffer.start && beyond < distance) {
            nearest = i;
            distance = beyond;
        }
    }
    if (nearest < 0)
        engine_fail(worker, ENGINE_PAGE_FAULT,
                    "out-of-bounds %s of %u bytes at %p: below every bound buffer", what, size,
                    (const void *)at);
    engine_fail(worker, ENGINE_PAGE_FAULT,
                "out-of-bounds %s of %u bytes at %p: the nearest buffer, at index %d, has %zu "
                "bytes and this is byte %zu",
                what, size, (const void *)at, nearest, dispatch->buffers[nearest].size,
                distance);
}

static void count_access(struct worker *worker, unsigned range, unsigned size, bool is_write)
{
    struct engine_cost *cost = &worker->cost;
    if (range == RANGE_STACK || range >= worker->read_only)
        return;
    if (range == RANGE_THREADGROUP) {
        *(is_write ? &cost->threadgroup_stores : &cost->threadgroup_loads) += 1;
    } else if (worker->constants >> range & 1) {
        cost->constant_loads++;
    } else {
        *(is_write ? &cost->stores : &cost->loads) += 1;
        *(is_write ? &cost->store_bytes : &cost->load_bytes) += size;
    }
}

static inline void check(struct worker *worker, const volatile void *address, unsigned size,
                         bool is_write, bool is_atomic)
{
    const uint8_t *at = (const uint8_t *)address;
    unsigned range = find_range(worker, at, size);
    if (range >= worker->read_only && (is_write || range == worker->range_count))
        fail_out_of_bounds(worker, at, size, is_write);
    if (engine_settings.cost) {
        count_access(worker, range, size, is_write);
        if (is_atomic)
            count_access(worker, range, size, false);
    }
    if (engine_settings.race && range != RANGE_STACK && range < worker->read_only)
        races_check(worker, at, size,
                    (is_write ? ACCESS_WRITES : 0) | (is_atomic ? ACCESS_IS_ATOMIC : 0) |
                        (range == RANGE_THREADGROUP ? ACCESS_IN_THREADGROUP : 0));
}

/* -- What kernels call ------------------------------------------------------------- */

static inline void count_branch(struct worker *worker)
{
    uint64_t branches = ++worker->branches;
    worker->cost.branches++;
    if (branches % BRANCHES_PER_LOOK)
        return;
    if (branches > (uint64_t)engine_settings.branches)
        engine_fail(worker, ENGINE_TIMEOUT, "GPU hang: %llu branches in one GPU thread",
                    (unsigned long long)branches);
    if (atomic_load_explicit(&worker->job->stop, memory_order_relaxed))
        _longjmp(worker->aborted, 1);
}

void engine_count_branch(void)
{
    struct worker *worker = engine_worker;
    if (worker && worker->is_in_kernel)
        count_branch(worker);
}

void engine_count_division(void)
{
    struct worker *worker = engine_worker;
    if (worker)
        worker->cost.divisions++;
}

void engine_check_access(const volatile void *at, unsigned size, int is_write)
{
    struct worker *worker = engine_worker;
    if (worker && worker->is_in_kernel)
        check(worker, at, size, is_write, false);
}

static void yield_now_and_then(struct worker *worker)
{
    worker->random = worker->random * 6364136223846793005u + 1442695040888963407u;
    if ((worker->random >> 33) % 16 == 0)
        sched_yield();
}

void engine_note_atomic(const volatile void *at, unsigned size)
{
    struct worker *worker = engine_worker;
    count_branch(worker);
    worker->cost.atomics++;
    if (engine_settings.chaos)
        yield_now_and_then(worker);
    check(worker, at, size, true, true);
}
