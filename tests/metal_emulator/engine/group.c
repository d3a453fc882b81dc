/* group.c -- runs the threads of a threadgroup: barriers, exchanges, threadgroup memory. */
#include "worker.h"

#include <string.h>

/* NaN in half, bfloat and float, and far from 0 as an integer. */
#define POISON 0xfb

/* -- A thread's life --------------------------------------------------------------- */

static void place_thread(const struct worker *worker, struct gpu_thread *thread, uint32_t index)
{
    const uint32_t *size = worker->group_size;
    uint32_t position[3] = {index, 0, 0};
    if (size[1] * size[2] > 1) {
        position[0] = index % size[0];
        position[1] = index / size[0] % size[1];
        position[2] = index / size[0] / size[1];
    }
    struct msl_thread *seen = &thread->seen;
    *seen = worker->common;
    for (int i = 0; i < 3; i++) {
        seen->position_in_threadgroup[i] = position[i];
        seen->position_in_grid[i] += position[i];
    }
    seen->index_in_threadgroup = index;
    seen->index_in_simdgroup = index % ENGINE_SIMD_WIDTH;
    seen->simdgroup_index = index / ENGINE_SIMD_WIDTH;
}

static void run_thread(struct worker *worker, uint32_t index)
{
    struct gpu_thread *thread = &worker->threads[index];
    place_thread(worker, thread, index);
    worker->current = index;
    worker->branches = 0;
    thread->simdgroup_barriers = 0;
    worker->job->dispatch->kernel->entry(&thread->seen);
    thread->state = DONE;
}

void run_new_threads(void)
{
    struct worker *worker = engine_worker;
    for (;;) {
        while (worker->next_new < worker->thread_count)
            run_thread(worker, worker->order[worker->next_new++]);
        give_back_fiber(worker, worker->running);
        leave_fiber(worker);
    }
}

static void wait_as(struct worker *worker, enum gpu_thread_state state)
{
    struct gpu_thread *thread = current_thread(worker);
    thread->state = state;
    thread->fiber = worker->running;
    thread->branches = worker->branches;
    leave_fiber(worker);
}

/* -- What kernels call ------------------------------------------------------------- */

static const struct msl_thread *self(void) { return &current_thread(engine_worker)->seen; }

static void threadgroup_barrier(void) { wait_as(engine_worker, AT_BARRIER); }

static void simdgroup_exchange(const void *mine, void *all, uint64_t *active, unsigned size)
{
    struct gpu_thread *thread = current_thread(engine_worker);
    thread->mine = mine;
    thread->all = all;
    thread->active = active;
    thread->exchange_size = size;
    wait_as(engine_worker, AT_EXCHANGE);
}

static void simdgroup_barrier(void)
{
    uint64_t active;
    struct gpu_thread *thread = current_thread(engine_worker);
    simdgroup_exchange(NULL, NULL, &active, 0);
    thread->simdgroup_barriers++;
}

static void *take_threadgroup_memory(struct worker *worker, size_t size)
{
    size_t start = (worker->threadgroup_used + 15) & ~(size_t)15;
    if (start + size > ENGINE_THREADGROUP_MEMORY)
        engine_fail(worker, ENGINE_INTERNAL, "%zu bytes of threadgroup memory, the limit is %d",
                    start + size, ENGINE_THREADGROUP_MEMORY);
    worker->threadgroup_used = start + size;
    if (worker->cost.threadgroup_bytes < worker->threadgroup_used)
        worker->cost.threadgroup_bytes = worker->threadgroup_used;
    worker->ranges[RANGE_THREADGROUP].size = worker->threadgroup_used;
    return memset(worker->threadgroup_memory + start, POISON, size);
}

static void *threadgroup_variable(unsigned number, unsigned size)
{
    struct worker *worker = engine_worker;
    if (number >= THREADGROUP_VARIABLES)
        engine_fail(worker, ENGINE_INTERNAL, "more than %d threadgroup variables",
                    THREADGROUP_VARIABLES);
    if (!worker->variables[number]) {
        uint8_t *variable = take_threadgroup_memory(worker, size);
        worker->variables[number] = (size_t)(variable - worker->threadgroup_memory) + 1;
    }
    return worker->threadgroup_memory + worker->variables[number] - 1;
}

void engine_check_access(const volatile void *at, unsigned size, int is_write);
void engine_note_atomic(const volatile void *at, unsigned size);
void engine_count_branch(void);
void engine_count_division(void);

const struct msl_engine engine_for_kernels = {
    .self = self,
    .threadgroup_barrier = threadgroup_barrier,
    .simdgroup_barrier = simdgroup_barrier,
    .simdgroup_exchange = simdgroup_exchange,
    .threadgroup_variable = threadgroup_variable,
    .access = engine_check_access,
    .atomic = engine_note_atomic,
    .branch = engine_count_branch,
    .divide = engine_count_division,
};

/* -- SIMD groups ------------------------------------------------------------------- */

struct simdgroup {
    struct gpu_thread *lanes;
    uint32_t size;
};

static struct simdgroup simdgroup_at(struct worker *worker, uint32_t first)
{
    uint32_t left = worker->thread_count - first;
    return (struct simdgroup){&worker->threads[first],
                              left < ENGINE_SIMD_WIDTH ? left : ENGINE_SIMD_WIDTH};
}

static uint64_t lanes_in(struct simdgroup group, enum gpu_thread_state state)
{
    uint64_t lanes = 0;
    for (uint32_t i = 0; i < group.size; i++)
        if (group.lanes[i].state == state)
            lanes |= (uint64_t)1 << i;
    return lanes;
}

static void gather_values(struct simdgroup group, uint64_t active, struct gpu_thread *to)
{
    unsigned size = to->exchange_size;
    if (size == 0)
        return;
    memset(to->all, 0, (size_t)ENGINE_SIMD_WIDTH * size);
    for (uint32_t i = 0; i < group.size; i++)
        if ((active >> i & 1) && group.lanes[i].exchange_size == size)
            memcpy((char *)to->all + i * size, group.lanes[i].mine, size);
}

/* The lanes that wait are the active ones, and go on. */
static bool exchange(struct worker *worker, struct simdgroup group)
{
    uint64_t active = lanes_in(group, AT_EXCHANGE);
    worker->cost.exchanges += active != 0;
    for (uint32_t i = 0; i < group.size; i++)
        if (active >> i & 1) {
            *group.lanes[i].active = active;
            gather_values(group, active, &group.lanes[i]);
        }
    for (uint32_t i = 0; i < group.size; i++)
        if (active >> i & 1)
            group.lanes[i].state = READY;
    return active != 0;
}

/* Where all lanes that have not returned wait for it. */
static bool exchange_whole_simdgroups(struct worker *worker)
{
    bool any = false;
    for (uint32_t i = 0; i < worker->thread_count; i += ENGINE_SIMD_WIDTH) {
        struct simdgroup group = simdgroup_at(worker, i);
        if (!lanes_in(group, READY) && !lanes_in(group, AT_BARRIER))
            any |= exchange(worker, group);
    }
    return any;
}

/* Where some lanes wait at a barrier: the simdgroup is diverged. */
static void exchange_diverged_simdgroups(struct worker *worker)
{
    for (uint32_t i = 0; i < worker->thread_count; i += ENGINE_SIMD_WIDTH)
        exchange(worker, simdgroup_at(worker, i));
}

/* -- The group --------------------------------------------------------------------- */

static bool resume_ready_threads(struct worker *worker)
{
    bool any = false;
    for (uint32_t i = 0; i < worker->thread_count; i++) {
        uint32_t index = worker->order[i];
        struct gpu_thread *thread = &worker->threads[index];
        if (thread->state != READY)
            continue;
        worker->current = index;
        worker->branches = thread->branches;
        resume_fiber(worker, thread->fiber);
        any = true;
    }
    return any;
}

static uint32_t count_threads(const struct worker *worker, enum gpu_thread_state state)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < worker->thread_count; i++)
        count += worker->threads[i].state == state;
    return count;
}

static void pass_barrier(struct worker *worker)
{
    worker->barriers++;
    worker->cost.barriers++;
    for (uint32_t i = 0; i < worker->thread_count; i++)
        worker->threads[i].state = READY;
}

static void fail_diverged_barrier(struct worker *worker, uint32_t waiting, uint32_t returned)
{
    for (uint32_t i = 0; i < worker->thread_count; i++)
        if (worker->threads[i].state == AT_BARRIER)
            worker->current = i;
    engine_fail(worker, ENGINE_INTERNAL,
                "divergent threadgroup_barrier: %u threads wait, %u have returned", waiting,
                returned);
}

static void run_to_end(struct worker *worker)
{
    while (worker->next_new < worker->thread_count)
        resume_fiber(worker, take_fiber(worker));
    for (;;) {
        bool has_run = resume_ready_threads(worker);
        has_run |= exchange_whole_simdgroups(worker);
        if (has_run)
            continue;
        uint32_t waiting = count_threads(worker, AT_BARRIER);
        uint32_t returned = count_threads(worker, DONE);
        if (returned == worker->thread_count)
            return;
        if (waiting == worker->thread_count)
            pass_barrier(worker);
        else if (waiting + returned == worker->thread_count)
            fail_diverged_barrier(worker, waiting, returned);
        else
            exchange_diverged_simdgroups(worker);
    }
}

/* Groups at the grid's edge have what is left of it. */
static void set_common(struct worker *worker, const uint32_t *group)
{
    const struct engine_dispatch *dispatch = worker->job->dispatch;
    struct msl_thread *common = &worker->common;
    worker->thread_count = 1;
    for (int i = 0; i < 3; i++) {
        uint32_t first = group[i] * dispatch->threads_per_threadgroup[i];
        uint32_t left = dispatch->threads_per_grid[i] - first;
        uint32_t size = dispatch->threads_per_threadgroup[i];
        size = left < size ? left : size;
        worker->group_size[i] = size;
        worker->thread_count *= size;
        common->position_in_grid[i] = first;
        common->threadgroup_position[i] = group[i];
        common->threads_per_threadgroup[i] = size;
        common->threadgroups_per_grid[i] = worker->job->groups[i];
        common->threads_per_grid[i] = dispatch->threads_per_grid[i];
    }
    common->threads_per_simdgroup = ENGINE_SIMD_WIDTH;
    common->simdgroups_per_threadgroup =
        (worker->thread_count + ENGINE_SIMD_WIDTH - 1) / ENGINE_SIMD_WIDTH;
    common->buffers = worker->job->dispatch->addresses;
    common->threadgroup_memory = worker->threadgroup_arguments;
}

static uint32_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

static void set_order(struct worker *worker)
{
    for (uint32_t i = 0; i < worker->thread_count; i++)
        worker->order[i] = (uint16_t)i;
    if (!engine_settings.seed)
        return;
    uint64_t state = (uint64_t)engine_settings.seed * 0x9e3779b97f4a7c15 + worker->group_number;
    for (uint32_t i = worker->thread_count; i > 1; i--) {
        uint32_t other = next_random(&state) % i;
        uint16_t swapped = worker->order[i - 1];
        worker->order[i - 1] = worker->order[other];
        worker->order[other] = swapped;
    }
}

static void set_threadgroup_memory(struct worker *worker)
{
    const uint32_t *sizes = worker->job->dispatch->threadgroup_memory;
    worker->threadgroup_used = 0;
    worker->ranges[RANGE_THREADGROUP] = (struct engine_range){worker->threadgroup_memory, 0};
    memset(worker->variables, 0, sizeof worker->variables);
    for (int i = 0; i < ENGINE_BINDINGS; i++)
        if (sizes[i])
            worker->threadgroup_arguments[i] = take_threadgroup_memory(worker, sizes[i]);
}

void run_group(struct worker *worker, uint64_t number)
{
    const uint32_t *groups = worker->job->groups;
    uint32_t position[3] = {(uint32_t)(number % groups[0]),
                            (uint32_t)(number / groups[0] % groups[1]),
                            (uint32_t)(number / groups[0] / groups[1])};
    worker->group_number = number;
    worker->next_new = worker->current = 0;
    worker->barriers++;
    set_common(worker, position);
    set_order(worker);
    worker->cost.dispatches += number == 0;
    worker->cost.threadgroups++;
    worker->cost.threads += worker->thread_count;
    for (uint32_t i = 0; i < worker->thread_count; i++)
        worker->threads[i].state = NEW;
    if (_setjmp(worker->aborted)) {
        worker->is_in_kernel = false;
        forget_fibers(worker);
        return;
    }
    set_threadgroup_memory(worker);
    worker->is_in_kernel = true;
    run_to_end(worker);
    worker->is_in_kernel = false;
}
