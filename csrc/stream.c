/* stream.c -- the recorded instructions that have not run yet. */
#include "stream.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

#include "alloc.h"
#include "buffer.h"
#include "error.h"
#include "report.h"

/* Instructions in program order. */
struct list {
    struct mx_instruction *items;
    size_t size, capacity;
};

static struct {
    pthread_mutex_t lock; /* of what is recorded */
    struct list recorded;
    _Atomic int64_t sequence, done;

    pthread_mutex_t running; /* held from enter to leave; taken before the other */
    const struct mx_backend *backend;
    bool fuse;
    struct list taken;
    struct mx_plan plan;
    bool is_planned, is_prepared;
    int n_run; /* groups of the plan that have run */
} stream = {
    .lock = PTHREAD_MUTEX_INITIALIZER, .running = PTHREAD_MUTEX_INITIALIZER, .fuse = true};

void mx_stream_set_backend(const struct mx_backend *backend) { stream.backend = backend; }

void mx_stream_set_fuse(bool fuse) { stream.fuse = fuse; }

int64_t mx_stream_recorded(void) { return atomic_load(&stream.sequence); }

int64_t mx_stream_done(void) { return atomic_load(&stream.done); }

size_t mx_stream_size(void) { return (size_t)(mx_stream_recorded() - mx_stream_done()); }

/* -- Recording --------------------------------------------------------------------- */

static int reserve_one(struct list *list)
{
    if (list->size < list->capacity)
        return MX_OK;
    size_t capacity = list->capacity ? 2 * list->capacity : 32;
    struct mx_instruction *more = mx_realloc(list->items, capacity * sizeof *list->items);
    if (!more)
        return mx_fail(MX_ERROR_MEMORY, "unable to record one more instruction after %zu",
                       list->size);
    list->items = more;
    list->capacity = capacity;
    return MX_OK;
}

static void copy_instruction(struct mx_instruction *to, const struct mx_instruction *from)
{
    size_t head = offsetof(struct mx_instruction, operands);
    size_t tail = offsetof(struct mx_instruction, name);
    memcpy(to, from, head);
    for (int k = 0; k < mx_operand_count(from); k++)
        to->operands[k] = from->operands[k];
    memcpy((char *)to + tail, (const char *)from + tail, sizeof *from - tail);
}

int mx_stream_append(const struct mx_instruction *in, int64_t *sequence)
{
    pthread_mutex_lock(&stream.lock);
    int status = reserve_one(&stream.recorded);
    if (status == MX_OK) {
        struct mx_instruction *copy = &stream.recorded.items[stream.recorded.size++];
        copy_instruction(copy, in);
        for (int k = 0; k < mx_operand_count(in); k++)
            if (in->operands[k].buffer)
                mx_buffer_retain(in->operands[k].buffer);
        copy->sequence = atomic_load(&stream.sequence) + 1;
        atomic_store(&stream.sequence, copy->sequence);
        *sequence = copy->sequence;
    }
    pthread_mutex_unlock(&stream.lock);
    return status;
}

/* -- Running ----------------------------------------------------------------------- */

void mx_stream_enter(void) { pthread_mutex_lock(&stream.running); }

bool mx_stream_try_enter(void) { return pthread_mutex_trylock(&stream.running) == 0; }

void mx_stream_leave(void) { pthread_mutex_unlock(&stream.running); }

static int place_shown(void)
{
    int status = MX_OK;
    for (size_t i = 0; i < stream.taken.size && status == MX_OK; i++) {
        const struct mx_instruction *in = &stream.taken.items[i];
        for (int k = 0; k < mx_operand_count(in) && status == MX_OK; k++)
            if (in->operands[k].buffer && in->operands[k].buffer->shown)
                status = mx_buffer_place(in->operands[k].buffer);
    }
    return status;
}

int mx_stream_prepare(size_t *n_taken)
{
    int status = MX_OK;
    if (stream.taken.size == 0) {
        pthread_mutex_lock(&stream.lock);
        struct list empty = stream.taken;
        stream.taken = stream.recorded;
        stream.recorded = empty;
        pthread_mutex_unlock(&stream.lock);
        stream.is_planned = stream.is_prepared = false;
        stream.n_run = 0;
    }
    if (!stream.is_planned && stream.taken.size > 0)
        status =
            mx_plan_make(&stream.plan, stream.taken.items, (int)stream.taken.size, stream.fuse);
    stream.is_planned = status == MX_OK;
    if (stream.is_planned && !stream.is_prepared) {
        status = place_shown();
        if (status == MX_OK) {
            mx_plan_find_temporaries(&stream.plan);
            if (stream.taken.size > 0)
                mx_report_begin();
        }
        stream.is_prepared = status == MX_OK;
    }
    *n_taken = stream.taken.size;
    return status;
}

static void release_group(const struct mx_group *group)
{
    for (int s = 0; s < group->n_steps; s++) {
        struct mx_instruction *in = &stream.taken.items[group->steps[s].instruction];
        for (int k = 0; k < mx_operand_count(in); k++) {
            if (in->operands[k].buffer)
                mx_buffer_release(in->operands[k].buffer);
            in->operands[k].buffer = NULL;
        }
    }
}

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

int mx_stream_run(bool (*interrupted)(void))
{
    for (; stream.n_run < stream.plan.n_groups; stream.n_run++) {
        struct mx_group *group = &stream.plan.groups[stream.n_run];
        int64_t begin = now();
        int status = stream.backend->run(group, stream.taken.items, interrupted);
        if (status != MX_OK)
            return status;
        mx_report_add(group, stream.taken.items, now() - begin);
        release_group(group);
    }
    if (stream.taken.size > 0)
        atomic_store(&stream.done, stream.taken.items[stream.taken.size - 1].sequence);
    mx_plan_clear(&stream.plan);
    return MX_OK;
}

struct mx_instruction *mx_stream_take_back(size_t *count)
{
    struct mx_instruction *items = stream.taken.items;
    *count = stream.taken.size;
    stream.taken = (struct list){0};
    return items;
}

/* -- Fork -------------------------------------------------------------------------- */

void mx_stream_before_fork(void) { pthread_mutex_lock(&stream.lock); }

void mx_stream_after_fork(bool in_child)
{
    if (in_child)
        pthread_mutex_init(&stream.lock, NULL);
    else
        pthread_mutex_unlock(&stream.lock);
}
