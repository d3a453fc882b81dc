/* fibers.c -- fibers: stacks between which a thread switches.
 *
 * setcontext enters a fiber.  _setjmp and _longjmp leave and resume it without a system call.
 */
#include "worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

static uint8_t *make_stack(void)
{
    uint8_t *guard = mmap(NULL, STACK_GUARD + STACK_SIZE, PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (guard == MAP_FAILED ||
        mprotect(guard + STACK_GUARD, STACK_SIZE, PROT_READ | PROT_WRITE)) {
        perror("Metal emulator: no memory for the stack of a GPU thread");
        abort();
    }
    return guard + STACK_GUARD;
}

struct fiber *take_fiber(struct worker *worker)
{
    struct fiber *fiber = worker->free_fibers;
    if (fiber) {
        worker->free_fibers = fiber->next;
        return fiber;
    }
    fiber = &worker->fibers[worker->fiber_count++];
    fiber->stack = make_stack();
    return fiber;
}

void give_back_fiber(struct worker *worker, struct fiber *fiber)
{
    fiber->next = worker->free_fibers;
    worker->free_fibers = fiber;
}

void forget_fibers(struct worker *worker)
{
    worker->free_fibers = NULL;
    for (unsigned i = 0; i < worker->fiber_count; i++) {
        worker->fibers[i].is_started = false;
        give_back_fiber(worker, &worker->fibers[i]);
    }
}

static _Noreturn void start(struct fiber *fiber)
{
    fiber->is_started = true;
    getcontext(&fiber->start);
    fiber->start.uc_stack.ss_sp = fiber->stack;
    fiber->start.uc_stack.ss_size = STACK_SIZE;
    fiber->start.uc_link = NULL;
    makecontext(&fiber->start, (void (*)(void))run_new_threads, 0);
    setcontext(&fiber->start);
    abort();
}

void resume_fiber(struct worker *worker, struct fiber *fiber)
{
    worker->running = fiber;
    worker->ranges[RANGE_STACK] = (struct engine_range){fiber->stack, STACK_SIZE};
    if (_setjmp(worker->scheduler))
        return;
    if (fiber->is_started)
        _longjmp(fiber->position, 1);
    start(fiber);
}

void leave_fiber(struct worker *worker)
{
    if (!_setjmp(worker->running->position))
        _longjmp(worker->scheduler, 1);
}
