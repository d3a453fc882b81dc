/* queue.m -- the queue of command buffers, and the threads that act as the GPU.
 *
 * One thread at a time executes command buffers, in the order of commits.  It then runs the
 * completion handlers itself, while another thread executes the next command buffer.  So a handler
 * may wait for any earlier one.  The handlers of a command buffer start when those of the one
 * before it have ended, or have run for HANDLER_PATIENCE.  So a handler may even wait for a later
 * command buffer.
 *
 * A process that is forked when there is a device lacks these threads.  It finds no device, its
 * command buffers fail, and a wait for those of the parent ends immediately.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

#import "metal_emulator.h"
#import "objects.h"

#define EXPORT __attribute__((visibility("default")))

#define HANDLER_PATIENCE 0.1   /* seconds */
#define SPIN             30e-6 /* before a thread goes to sleep, which takes about as long */

enum { MAX_THREADS = 16 };

static struct {
    pthread_mutex_t lock;
    pthread_cond_t work;    /* there may be something to execute */
    pthread_cond_t changed; /* a command buffer, or whose handlers run */
    HostCommandBuffer *first, *last; /* enqueued, with a reference */
    bool is_executing, is_forked;
    int thread_count, idle_count;
    uint64_t committed; /* sequence of the last */
    uint64_t permitted; /* in deferred mode those up to it run */
    uint64_t finished;  /* how many are, and are let go */
    uint64_t executed;  /* how many are: their turn for handlers */
    uint64_t handled;   /* turns that are over */
    _Atomic uint64_t calls; /* for work: what one looks at who does not sleep yet */
} gpu = {.lock = PTHREAD_MUTEX_INITIALIZER,
         .work = PTHREAD_COND_INITIALIZER,
         .changed = PTHREAD_COND_INITIALIZER};

/* -- Waiting ----------------------------------------------------------------------- */

static double seconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb");
#endif
}

/* The lock is held. */
static void call_for_work(void)
{
    gpu.calls++;
    pthread_cond_signal(&gpu.work);
}

/* The lock is held, but not all the time. */
static void await_work(void)
{
    uint64_t calls = gpu.calls;
    bool is_only = gpu.idle_count++ == 0;
    if (is_only) {
        pthread_mutex_unlock(&gpu.lock);
        for (double end = seconds() + SPIN; gpu.calls == calls && seconds() < end;)
            relax();
        pthread_mutex_lock(&gpu.lock);
    }
    if (gpu.calls == calls)
        pthread_cond_wait(&gpu.work, &gpu.lock);
    gpu.idle_count--;
}

static void spin_until_finished(const HostCommandBuffer *buffer)
{
    for (double end = seconds() + SPIN; !buffer->_isFinished && seconds() < end;)
        relax();
}

/* -- Fork -------------------------------------------------------------------------- */

/* The parent's other threads do not exist in the child, so the lock is initialized anew. */
static void after_fork(void)
{
    gpu.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    gpu.work = gpu.changed = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    gpu.is_forked = true;
}

void queue_watch_forks(void) { pthread_atfork(NULL, NULL, after_fork); }

bool queue_is_forked(void) { return gpu.is_forked; }

/* -- The line ---------------------------------------------------------------------- */

static void append(HostCommandBuffer *buffer)
{
    if (buffer->_isEnqueued)
        return;
    buffer->_isEnqueued = YES;
    buffer->_status = MTLCommandBufferStatusEnqueued;
    [buffer retain];
    if (gpu.last)
        gpu.last->_next = buffer;
    else
        gpu.first = buffer;
    gpu.last = buffer;
}

static void take_out(HostCommandBuffer *buffer, HostCommandBuffer *before)
{
    if (before)
        before->_next = buffer->_next;
    else
        gpu.first = buffer->_next;
    if (gpu.last == buffer)
        gpu.last = before;
    buffer->_next = nil;
}

/* One that is enqueued and not committed holds up those behind it in its queue. */
static bool is_held_up(const HostCommandBuffer *buffer)
{
    for (HostCommandBuffer *before = gpu.first; before != buffer; before = before->_next)
        if (before->_queue == buffer->_queue && !before->_sequence)
            return true;
    return false;
}

static bool may_run(const HostCommandBuffer *buffer)
{
    if (!buffer->_sequence || is_held_up(buffer))
        return false;
    return !host_settings()->deferred || buffer->_sequence <= gpu.permitted;
}

static HostCommandBuffer *take_next(void)
{
    HostCommandBuffer *before = nil;
    for (HostCommandBuffer *buffer = gpu.first; buffer; buffer = buffer->_next) {
        if (may_run(buffer)) {
            take_out(buffer, before);
            return buffer;
        }
        before = buffer;
    }
    return nil;
}

/* The lock is held: a queue has one command buffer less, now or because it dies uncommitted. */
static void leave_queue(HostCommandBuffer *buffer)
{
    buffer->_queue->_open--;
    buffer->_queue->_committed -= buffer->_sequence != 0;
}

void queue_drop(HostCommandBuffer *buffer)
{
    if (buffer->_isFinished)
        return;
    pthread_mutex_lock(&gpu.lock);
    leave_queue(buffer);
    pthread_mutex_unlock(&gpu.lock);
}

/* -- The GPU's threads ------------------------------------------------------------- */

static void set_status(HostCommandBuffer *buffer, MTLCommandBufferStatus status)
{
    buffer->_status = status;
    pthread_cond_broadcast(&gpu.changed);
}

static void schedule(HostCommandBuffer *buffer)
{
    [buffer runHandlers:buffer->_scheduledHandlers];
    pthread_mutex_lock(&gpu.lock);
    set_status(buffer, MTLCommandBufferStatusScheduled);
    pthread_mutex_unlock(&gpu.lock);
}

/* The lock is held. */
static void await_turn(uint64_t turn)
{
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_nsec += (long)(HANDLER_PATIENCE * 1e9);
    end.tv_sec += end.tv_nsec / 1000000000;
    end.tv_nsec %= 1000000000;
    while (gpu.handled < turn)
        if (pthread_cond_timedwait(&gpu.changed, &gpu.lock, &end))
            return;
}

/* The lock is held. */
static void complete(HostCommandBuffer *buffer, uint64_t turn)
{
    set_status(buffer, buffer->_error ? MTLCommandBufferStatusError
                                      : MTLCommandBufferStatusCompleted);
    await_turn(turn);
    pthread_mutex_unlock(&gpu.lock);
    [buffer runHandlers:buffer->_completedHandlers];
    [buffer releaseReferences];
    pthread_mutex_lock(&gpu.lock);
    if (gpu.handled < turn + 1)
        gpu.handled = turn + 1;
    leave_queue(buffer);
    buffer->_isFinished = YES;
    pthread_cond_broadcast(&gpu.changed);
}

static void start_thread(void);

/* The lock is held. */
static void serve_one(HostCommandBuffer *buffer)
{
    gpu.is_executing = true;
    pthread_mutex_unlock(&gpu.lock);
    schedule(buffer);
    @autoreleasepool {
        [buffer execute];
    }
    pthread_mutex_lock(&gpu.lock);
    gpu.is_executing = false;
    if ([buffer->_completedHandlers count]) { /* which may take their time */
        if (gpu.idle_count == 0)
            start_thread();
        call_for_work();
    }
    complete(buffer, gpu.executed++);
    pthread_mutex_unlock(&gpu.lock);
    [buffer release];
    pthread_mutex_lock(&gpu.lock);
    gpu.finished++;
    pthread_cond_broadcast(&gpu.changed);
}

static void *serve(void *argument)
{
    pthread_mutex_lock(&gpu.lock);
    for (;;) {
        HostCommandBuffer *next;
        while (gpu.is_executing || !(next = take_next()))
            await_work();
        @autoreleasepool {
            serve_one(next);
        }
    }
    return argument;
}

/* The lock is held.  Signals are for the program's own threads. */
static void start_thread(void)
{
    sigset_t all, before;
    pthread_t thread;
    if (gpu.thread_count == MAX_THREADS)
        return;
    sigfillset(&all);
    engine_unblock_signals(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (pthread_create(&thread, NULL, serve, NULL) == 0) {
        pthread_detach(thread);
        gpu.thread_count++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* -- What command buffers ask ------------------------------------------------------ */

void queue_enqueue(HostCommandBuffer *buffer)
{
    pthread_mutex_lock(&gpu.lock);
    append(buffer);
    pthread_mutex_unlock(&gpu.lock);
}

static void fail_in_child(HostCommandBuffer *buffer)
{
    [buffer failWithCode:MTLCommandBufferErrorDeviceRemoved
                    text:"a process that is forked has no GPU"];
    buffer->_status = MTLCommandBufferStatusError;
    [buffer runHandlers:buffer->_scheduledHandlers];
    [buffer runHandlers:buffer->_completedHandlers];
    [buffer releaseReferences];
    buffer->_isFinished = YES;
}

void queue_commit(HostCommandBuffer *buffer)
{
    if (gpu.is_forked) {
        fail_in_child(buffer);
        return;
    }
    pthread_mutex_lock(&gpu.lock);
    append(buffer);
    buffer->_sequence = ++gpu.committed;
    buffer->_queue->_committed++;
    buffer->_status = MTLCommandBufferStatusCommitted;
    if (gpu.thread_count == 0)
        start_thread();
    call_for_work();
    pthread_mutex_unlock(&gpu.lock);
}

/* The lock is held. */
static void permit(uint64_t sequence)
{
    if (gpu.permitted >= sequence)
        return;
    gpu.permitted = sequence;
    call_for_work();
}

void queue_wait(HostCommandBuffer *buffer, MTLCommandBufferStatus status)
{
    if (buffer->_status < MTLCommandBufferStatusCommitted) {
        host_report("waiting for a command buffer that is not committed");
        return;
    }
    if (buffer->_isInHandlers && pthread_equal(buffer->_handlerThread, pthread_self())) {
        host_report("waiting for a command buffer in a handler of its own");
        return;
    }
    if (gpu.is_forked)
        return;
    pthread_mutex_lock(&gpu.lock);
    permit(buffer->_sequence);
    pthread_mutex_unlock(&gpu.lock);
    spin_until_finished(buffer);
    pthread_mutex_lock(&gpu.lock);
    while (status == MTLCommandBufferStatusCompleted ? !buffer->_isFinished
                                                     : buffer->_status < status)
        pthread_cond_wait(&gpu.changed, &gpu.lock);
    pthread_mutex_unlock(&gpu.lock);
}

/* Metal waits until one of the queue's command buffers is over: for ever, if none is
 * committed. */
void queue_await_place(HostQueue *queue)
{
    pthread_mutex_lock(&gpu.lock);
    while (queue->_open >= queue->_limit && queue->_committed > 0 && !gpu.is_forked) {
        permit(gpu.committed);
        pthread_cond_wait(&gpu.changed, &gpu.lock);
    }
    if (queue->_open >= queue->_limit)
        host_report("commandBuffer: all %lu that the queue may have are not committed",
                    queue->_limit);
    queue->_open++;
    pthread_mutex_unlock(&gpu.lock);
}

EXPORT void metal_emulator_run_pending(void)
{
    pthread_mutex_lock(&gpu.lock);
    uint64_t committed = gpu.committed;
    permit(committed);
    while (gpu.finished < committed && !gpu.is_forked)
        pthread_cond_wait(&gpu.changed, &gpu.lock);
    pthread_mutex_unlock(&gpu.lock);
}

EXPORT long metal_emulator_live_objects(void) { return objc_live_objects(); }
