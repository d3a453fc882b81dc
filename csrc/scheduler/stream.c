/* stream.c -- the queue of recorded instructions, and how a flush runs them. */
#include "scheduler/stream.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "memory/coherence.h"
#include "scheduler/flush_stats.h"

/* Instructions in program order. */
struct list {
    struct mx_instruction *items;
    size_t size, capacity;
};

static struct {
    pthread_mutex_t lock; /* protects the next three fields */
    struct list recorded;
    size_t n_rematerializable; /* instructions at the front of recorded */
    _Atomic int64_t sequence, done;

    pthread_mutex_t running;  /* locked from enter to leave, and before the other lock */
    _Atomic uintptr_t holder; /* the thread that holds the stream, or 0; for assertions */
    const struct mx_backend *device, *processor;
    bool fuse;
    atomic_bool is_measured;
    struct list taken;
    struct mx_plan plan;
    bool is_planned, is_prepared;
    bool is_begun;             /* some of the taken instructions may have run */
    bool has_failed;           /* some check has failed since the start */
    int n_run;                 /* groups of the plan that have run */
    int n_begun;               /* these, and the groups that the device has started */
    int64_t begin;             /* when the device started the first of these */
    char device_message[1024]; /* of the last failure of the device */
} stream = {
    .lock = PTHREAD_MUTEX_INITIALIZER, .running = PTHREAD_MUTEX_INITIALIZER, .fuse = true};

void mx_stream_set_backends(const struct mx_backend *device, const struct mx_backend *processor)
{
    stream.device = device;
    stream.processor = processor;
}

void mx_stream_set_fuse(bool fuse) { stream.fuse = fuse; }

void mx_stream_set_measured(bool is_measured)
{
    atomic_store(&stream.is_measured, is_measured);
}

int64_t mx_stream_recorded(void) { return atomic_load(&stream.sequence); }

int64_t mx_stream_done(void) { return atomic_load(&stream.done); }

size_t mx_stream_size(void) { return (size_t)(mx_stream_recorded() - mx_stream_done()); }

uintptr_t mx_stream_thread(void)
{
    static _Atomic uintptr_t last;
    static _Thread_local uintptr_t number;
    if (number == 0)
        number = atomic_fetch_add(&last, 1) + 1;
    return number;
}

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

/* Copies only the operands that the instruction has, as most have few. */
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
    MX_ASSERT(mx_instruction_is_legal(in));
    pthread_mutex_lock(&stream.lock);
    int status = reserve_one(&stream.recorded);
    if (status == MX_OK) {
        struct mx_instruction *copy = &stream.recorded.items[stream.recorded.size++];
        copy_instruction(copy, in);
        for (int k = 0; k < mx_operand_count(in); k++)
            if (in->operands[k].buffer)
                mx_buffer_retain(in->operands[k].buffer);
        copy->cost = (struct mx_cost){0};
        copy->is_rematerializable = copy->is_finished = false;
        copy->thread = mx_stream_thread();
        copy->newest_buffer = mx_buffer_last_number();
        atomic_init(&copy->is_failed, false);
        copy->failed_by = 0;
        copy->sequence = atomic_load(&stream.sequence) + 1;
        atomic_store(&stream.sequence, copy->sequence);
        *sequence = copy->sequence;
    }
    pthread_mutex_unlock(&stream.lock);
    return status;
}

/* -- Running ----------------------------------------------------------------------- */

static bool is_holder(void) { return atomic_load(&stream.holder) == mx_stream_thread(); }

void mx_stream_enter(void)
{
    pthread_mutex_lock(&stream.running);
    atomic_store(&stream.holder, mx_stream_thread());
}

bool mx_stream_try_enter(void)
{
    if (pthread_mutex_trylock(&stream.running) != 0)
        return false;
    atomic_store(&stream.holder, mx_stream_thread());
    return true;
}

void mx_stream_leave(void)
{
    MX_ASSERT(is_holder());
    atomic_store(&stream.holder, 0);
    pthread_mutex_unlock(&stream.running);
}

static void fail_dependents(bool has_check);

/* Returns whether a buffer needs memory before it is computed.  An elided one gets it when its
 * owner requests the result, and one on a device with its own memory when it is used here. */
static bool needs_memory(const struct mx_instruction *in, const struct mx_buffer *buffer)
{
    return buffer && buffer->published && !(in->is_for_device && mx_coherence_is_on()) &&
           !(stream.plan.elision_owner && buffer->elision_owner == stream.plan.elision_owner);
}

static int allocate_published(void)
{
    int status = MX_OK;
    for (size_t i = 0; i < stream.taken.size && status == MX_OK; i++) {
        const struct mx_instruction *in = &stream.taken.items[i];
        for (int k = 0; k < mx_operand_count(in) && status == MX_OK && !in->is_finished; k++)
            if (needs_memory(in, in->operands[k].buffer))
                status = mx_buffer_publish(in->operands[k].buffer);
    }
    return status;
}

static void choose_devices(void)
{
    for (size_t i = 0; i < stream.taken.size; i++) {
        struct mx_instruction *in = &stream.taken.items[i];
        in->is_for_device = stream.device && stream.device->suits(in);
        for (int k = in->nin; k < mx_operand_count(in); k++)
            if (in->operands[k].buffer)
                mx_coherence_expect(in->operands[k].buffer, in->is_for_device);
    }
}

int mx_stream_prepare(size_t *n_taken)
{
    MX_ASSERT(is_holder());
    int status = MX_OK;
    if (stream.taken.size == 0) {
        pthread_mutex_lock(&stream.lock);
        struct list empty = stream.taken;
        stream.taken = stream.recorded;
        stream.recorded = empty;
        stream.n_rematerializable = 0;
        pthread_mutex_unlock(&stream.lock);
        stream.is_planned = stream.is_prepared = stream.is_begun = false;
        stream.n_run = stream.n_begun = 0;
        if (stream.has_failed)
            fail_dependents(false);
    }
    if (!stream.is_planned && stream.taken.size > 0) {
        choose_devices();
        status =
            mx_fuse_plan(&stream.plan, stream.taken.items, (int)stream.taken.size, stream.fuse);
    }
    stream.is_planned = status == MX_OK;
    if (stream.is_planned && !stream.is_prepared) {
        mx_fuse_find_temporaries(&stream.plan);
        status = allocate_published();
        if (status == MX_OK && stream.taken.size > 0 && !stream.is_begun)
            mx_flush_stats_begin();
        stream.is_begun = status == MX_OK;
        stream.is_prepared = status == MX_OK;
    }
    *n_taken = stream.taken.size;
    return status;
}

/* Sets whether the buffers that an instruction writes from end to end have been written. */
static void note_whole(const struct mx_instruction *in, bool is_written)
{
    for (int k = in->nin; k < mx_operand_count(in) && in->kind != MX_SCATTER; k++) {
        struct mx_buffer *buffer = in->operands[k].buffer;
        size_t size = (size_t)in->operands[k].itemsize;
        for (int i = 0; i < in->ndim; i++)
            size *= in->operands[k].strides[i] ? (size_t)in->shape[i] : 1;
        if (in->kind == MX_KERNEL)
            size = (size_t)in->operands[k].strides[1];
        if (buffer && size == buffer->nbytes)
            buffer->is_whole = is_written;
    }
}

void mx_stream_release(struct mx_instruction *in)
{
    for (int k = 0; k < mx_operand_count(in); k++) {
        if (in->operands[k].buffer)
            mx_buffer_release(in->operands[k].buffer);
        in->operands[k].buffer = NULL;
    }
}

static void release_group(const struct mx_group *group)
{
    for (int s = 0; s < group->n_steps; s++) {
        struct mx_instruction *in = &stream.taken.items[group->steps[s].instruction];
        in->is_finished = true;
        if (!in->failed_by)
            note_whole(in, true);
        if (!in->is_rematerializable && !in->failed_by)
            mx_stream_release(in);
    }
}

/* -- Failure ----------------------------------------------------------------------- */

/* Returns whether the device failed to run an instruction. */
static bool is_lost(const struct mx_instruction *in)
{
    return atomic_load(&in->is_failed) && in->kind != MX_BOUNDS_CHECK;
}

/* Returns the first failed check that an instruction follows in its thread or, if the
 * instruction is lost, the first failed check or lost instruction of its thread.  Returns NULL
 * if there is none.
 */
static const struct mx_instruction *failure_before(const struct mx_instruction *in)
{
    for (const struct mx_instruction *first = stream.taken.items; first <= in; first++)
        if (first->thread == in->thread && atomic_load(&first->is_failed) &&
            (first->kind == MX_BOUNDS_CHECK || is_lost(in)))
            return first;
    return NULL;
}

/* Returns an operand's buffer that a failed check left unwritten, or NULL. */
static const struct mx_buffer *failed_operand(const struct mx_instruction *in)
{
    for (int k = 0; k < mx_operand_count(in); k++)
        if (in->operands[k].buffer && in->operands[k].buffer->failed_by)
            return in->operands[k].buffer;
    return NULL;
}

/* Finishes the instructions that must not run: those that the thread of a failed check recorded
 * after it, if a check has failed now, and those that need results of these or of earlier ones.
 * Buffers that the thread has made since the check are never written.  The same holds for
 * buffers of other threads that were not written before.  An instruction that the device failed
 * to run counts as a failed check, and what it writes is lost too. */
static void fail_dependents(bool has_check)
{
    for (size_t i = 0; i < stream.taken.size; i++) {
        struct mx_instruction *in = &stream.taken.items[i];
        const struct mx_instruction *check = has_check ? failure_before(in) : NULL;
        const struct mx_buffer *operand = check ? NULL : failed_operand(in);
        if (!check && !operand && !in->is_finished)
            note_whole(in, true); /* for the instructions after it */
        if (in->failed_by || (!check && !operand))
            continue;
        in->failed_by = check ? check->sequence : operand->failed_by;
        in->is_finished = true;
        for (int k = in->nin; k < mx_operand_count(in); k++) {
            struct mx_buffer *buffer = in->operands[k].buffer;
            if (!buffer)
                continue;
            bool is_unwritten = check ? is_lost(in) || buffer->number > check->newest_buffer
                                      : !buffer->is_whole;
            if (is_unwritten)
                buffer->failed_by = in->failed_by;
        }
    }
    for (size_t i = 0; i < stream.taken.size; i++)
        if (!stream.taken.items[i].is_finished)
            note_whole(&stream.taken.items[i], false); /* it may still fail */
}

static bool has_failed(const struct mx_group *group)
{
    for (int s = 0; s < group->n_steps; s++)
        if (atomic_load(&stream.taken.items[group->steps[s].instruction].is_failed))
            return true;
    return false;
}

static void plan_again(void)
{
    stream.has_failed = true;
    mx_fuse_clear(&stream.plan);
    stream.is_planned = stream.is_prepared = false;
    stream.n_run = stream.n_begun = 0;
}

/* Brings the indices of failed checks to the processor, which finds the first bad one.  If the
 * device fails, the message does without it. */
static void fetch_indices(const struct mx_group *group)
{
    char *data;
    for (int s = 0; s < group->n_steps; s++) {
        const struct mx_instruction *in = &stream.taken.items[group->steps[s].instruction];
        if (atomic_load(&in->is_failed) && in->kind == MX_BOUNDS_CHECK &&
            in->operands[0].buffer)
            mx_coherence_read(in->operands[0].buffer, &data);
    }
}

/* Finishes a group in which a check failed, and has the remaining instructions planned again.
 */
static void end_failed_group(const struct mx_group *group)
{
    fetch_indices(group);
    fail_dependents(true);
    release_group(group);
    plan_again();
}

/* Copies the steps that computed the elided view to the front of the queue.  The copies take
 * over the references to buffers.  Returns a status. */
static int retain_elided_steps(const struct mx_group *group)
{
    bool is_marked[MX_MAX_STEPS];
    size_t n = 0;
    int status = MX_OK;
    mx_fuse_find_elided_steps(group, stream.taken.items, is_marked);
    pthread_mutex_lock(&stream.lock);
    for (int s = 0; s < group->n_steps && status == MX_OK; s++) {
        status = is_marked[s] ? reserve_one(&stream.recorded) : MX_OK;
        if (!is_marked[s] || status != MX_OK)
            continue;
        struct mx_instruction *items = stream.recorded.items;
        memmove(items + n + 1, items + n, (stream.recorded.size++ - n) * sizeof *items);
        items[n] = stream.taken.items[group->steps[s].instruction];
        items[n].fpe_mask = 0; /* its conditions are reported already */
        items[n].is_finished = false;
        items[n].cost = (struct mx_cost){.is_rematerialized = true};
        atomic_init(&items[n].fpe_flags, 0);
        items[n].sequence = atomic_fetch_add(&stream.sequence, 1) + 1;
        n++;
    }
    if (status != MX_OK) {
        memmove(stream.recorded.items, stream.recorded.items + n,
                (stream.recorded.size -= n) * sizeof *stream.recorded.items);
        n = 0;
    }
    stream.n_rematerializable = n;
    pthread_mutex_unlock(&stream.lock);
    for (int s = 0; s < group->n_steps && n > 0; s++)
        stream.taken.items[group->steps[s].instruction].is_rematerializable = is_marked[s];
    return status;
}

/* Ends a group that has run.  Returns a status: MX_INTERRUPTED if a check failed. */
static int end_group(struct mx_group *group, int64_t begin, int64_t nanoseconds,
                     bool is_on_device)
{
    int status = MX_OK;
    mx_flush_stats_add(group, stream.taken.items, nanoseconds);
    if (group->is_measured)
        mx_flush_stats_share(group, stream.taken.items, begin, nanoseconds, is_on_device);
    if (has_failed(group)) {
        end_failed_group(group);
        return MX_INTERRUPTED;
    }
    if (stream.plan.elision_owner && stream.n_run == stream.plan.n_groups - 1)
        status = retain_elided_steps(group);
    if (status != MX_OK)
        return status;
    release_group(group);
    stream.n_run++;
    return MX_OK;
}

/* Marks all groups that the device has started as failed, as it is not known which of them ran.
 */
static void fail_begun(void)
{
    for (int g = stream.n_run; g < stream.n_begun; g++)
        for (int s = 0; s < stream.plan.groups[g].n_steps; s++) {
            int number = stream.plan.groups[g].steps[s].instruction;
            atomic_store(&stream.taken.items[number].is_failed, true);
        }
}

static void keep_device_message(void)
{
    snprintf(stream.device_message, sizeof stream.device_message, "%s", mx_error_message());
}

/* Ends a group that did not run on the processor, because contents are on a device that is
 * lost.  The instructions that need them fail, and the others are planned again. */
static int end_lost_group(const struct mx_group *group)
{
    keep_device_message();
    for (int s = 0; s < group->n_steps; s++) {
        struct mx_instruction *in = &stream.taken.items[group->steps[s].instruction];
        for (int k = 0; k < mx_operand_count(in); k++)
            if (in->operands[k].buffer && mx_coherence_place(in->operands[k].buffer) == MX_AWAY)
                atomic_store(&in->is_failed, true);
    }
    fail_dependents(true);
    plan_again();
    return MX_INTERRUPTED;
}

/* Ends a group that the device has run.  If the device has no time for it, it counts as `each`
 * nanoseconds. */
static int end_begun(struct mx_group *group, int64_t begin, int64_t each)
{
    int64_t after, nanoseconds;
    if (group->is_measured && stream.device->times &&
        stream.device->times(group, &after, &nanoseconds))
        return end_group(group, stream.begin + after, nanoseconds, true);
    return end_group(group, begin, each, true);
}

/* Waits for the groups that the device has started.  Those that it failed to run are not tried
 * again. */
static int finish_begun(void)
{
    int n = stream.n_begun - stream.n_run, status = MX_OK;
    if (n <= 0)
        return MX_OK;
    if (stream.device->finish() != MX_OK)
        fail_begun();
    keep_device_message();
    int64_t begin = stream.begin, each = (mx_now() - begin) / n;
    for (; stream.n_run < stream.n_begun && status == MX_OK; begin += each)
        status = end_begun(&stream.plan.groups[stream.n_run], begin, each);
    return status;
}

/* Runs a group on the processor, or starts it on the device. */
static int run_group(struct mx_group *group, bool (*interrupted)(void))
{
    int64_t begin = mx_now();
    int status = MX_DECLINED;
    group->is_measured = atomic_load_explicit(&stream.is_measured, memory_order_relaxed);
    if (stream.device && !group->program)
        status = stream.device->run(group, stream.taken.items, interrupted);
    if (status == MX_OK && stream.n_begun == stream.n_run)
        stream.begin = begin;
    if (status != MX_DECLINED) {
        stream.n_begun += status == MX_OK;
        return status;
    }
    status = finish_begun();
    if (status != MX_OK)
        return status;
    begin = mx_now();
    status = stream.processor->run(group, stream.taken.items, interrupted);
    group->nanoseconds += mx_now() - begin;
    if (status == MX_ERROR_DEVICE)
        return end_lost_group(group);
    if (status != MX_OK)
        return status;
    stream.n_begun++;
    return end_group(group, begin, group->nanoseconds, false);
}

/* Updates `done`: all instructions before the first one that waits have run.  Rematerializable
 * instructions stand in front of those that other threads recorded meanwhile, but have higher
 * numbers, so the first of the others counts if there is one.  The caller holds the lock. */
static void update_done(void)
{
    const struct list *recorded = &stream.recorded;
    size_t first = recorded->size > stream.n_rematerializable ? stream.n_rematerializable : 0;
    atomic_store(&stream.done, recorded->size ? recorded->items[first].sequence - 1
                                              : atomic_load(&stream.sequence));
}

int mx_stream_run(bool (*interrupted)(void))
{
    MX_ASSERT(is_holder() && stream.is_prepared);
    int status = MX_OK;
    stream.n_begun = stream.n_run;
    if (stream.device && stream.device->begin)
        stream.device->begin(&stream.plan, stream.taken.items);
    while (stream.n_begun < stream.plan.n_groups && status == MX_OK)
        status = run_group(&stream.plan.groups[stream.n_begun], interrupted);
    int finished = finish_begun(), settled = mx_coherence_settle();
    if (status != MX_OK || finished != MX_OK)
        return status != MX_OK ? status : finished;
    if (settled != MX_OK)
        return settled;
    pthread_mutex_lock(&stream.lock);
    update_done();
    pthread_mutex_unlock(&stream.lock);
    mx_fuse_clear(&stream.plan);
    return MX_OK;
}

const char *mx_stream_device_message(void)
{
    MX_ASSERT(is_holder());
    return stream.device_message;
}

void *mx_stream_elision_owner(void)
{
    MX_ASSERT(is_holder());
    return stream.plan.elision_owner;
}

struct mx_instruction *mx_stream_take_back(size_t *count)
{
    MX_ASSERT(is_holder());
    struct mx_instruction *items = stream.taken.items;
    *count = stream.taken.size;
    stream.taken = (struct list){0};
    return items;
}

/* -- Rematerializable instructions -------------------------------------------------- */

size_t mx_stream_rematerializable(void)
{
    pthread_mutex_lock(&stream.lock);
    size_t n = stream.n_rematerializable;
    pthread_mutex_unlock(&stream.lock);
    return n;
}

static long count_rematerializable_uses(const struct mx_buffer *buffer)
{
    long n = 0;
    for (size_t i = 0; i < stream.n_rematerializable; i++) {
        const struct mx_instruction *in = &stream.recorded.items[i];
        for (int k = 0; k < mx_operand_count(in); k++)
            n += in->operands[k].buffer == buffer;
    }
    return n;
}

bool mx_stream_may_reread(const struct mx_buffer *buffer)
{
    pthread_mutex_lock(&stream.lock);
    bool may_run =
        stream.n_rematerializable == 0; /* the thread that holds the stream took them */
    bool is_used = may_run || count_rematerializable_uses(buffer) > 0;
    pthread_mutex_unlock(&stream.lock);
    return is_used;
}

/* Returns whether only rematerializable instructions hold the buffer. */
static bool is_dropped(const struct mx_buffer *buffer)
{
    return atomic_load(&buffer->count) == count_rematerializable_uses(buffer);
}

static bool are_results_dropped(void)
{
    for (size_t i = 0; i < stream.n_rematerializable; i++) {
        const struct mx_instruction *in = &stream.recorded.items[i];
        for (int k = in->nin; k < mx_operand_count(in); k++)
            if (!is_dropped(in->operands[k].buffer))
                return false;
    }
    return true;
}

struct mx_instruction *mx_stream_drop_rematerializable(size_t *count)
{
    struct mx_instruction *dropped = NULL;
    if (!mx_stream_try_enter())
        return NULL;
    pthread_mutex_lock(&stream.lock);
    *count = stream.n_rematerializable;
    if (stream.n_rematerializable > 0 && are_results_dropped())
        dropped = mx_alloc(stream.n_rematerializable * sizeof *dropped);
    if (dropped) {
        struct list *recorded = &stream.recorded;
        memcpy(dropped, recorded->items, stream.n_rematerializable * sizeof *dropped);
        recorded->size -= stream.n_rematerializable;
        memmove(recorded->items, recorded->items + stream.n_rematerializable,
                recorded->size * sizeof *recorded->items);
        stream.n_rematerializable = 0;
        update_done();
        for (size_t i = 0; i < *count; i++)
            mx_stream_release(&dropped[i]);
    }
    pthread_mutex_unlock(&stream.lock);
    mx_stream_leave();
    return dropped;
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
