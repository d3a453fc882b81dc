/* worker.h -- an operating-system thread that runs threadgroups. */
#pragma once
#include <setjmp.h>
#include <stdatomic.h>
#include <ucontext.h>

#include "cost.h"
#include "engine.h"

/* A stack on which GPU threads run one after the other, until one of them has to wait. */
struct fiber {
    struct fiber *next; /* of those that are free */
    uint8_t *stack;     /* STACK_SIZE bytes, below them a guard */
    ucontext_t start;
    jmp_buf position; /* where it waits, once it is started */
    bool is_started;
};

enum {
    STACK_SIZE = 64 << 10,
    STACK_GUARD = 256 << 10,
    THREADGROUP_VARIABLES = 64, /* of a kernel */
};

enum gpu_thread_state { NEW, READY, AT_BARRIER, AT_EXCHANGE, DONE };

struct gpu_thread {
    struct msl_thread seen; /* by the kernel */
    uint8_t state;
    struct fiber *fiber;         /* where it waits */
    uint64_t branches;           /* taken, before it waited */
    uint32_t simdgroup_barriers; /* that it passed */

    const void *mine; /* of the exchange that it waits for */
    void *all;
    uint64_t *active;
    unsigned exchange_size;
};

/* The ranges in which a kernel may read and write: these two and the buffers.  After them come
 * the ranges in which it may only read: the constants of its library, and the data of the
 * engine. */
enum { RANGE_STACK, RANGE_THREADGROUP, RANGE_BUFFERS };
enum { READ_ONLY_RANGES = 3 };

struct job {
    struct engine_dispatch *dispatch;
    uint32_t groups[3];
    uint64_t group_count;
    _Atomic uint64_t next_group;
    _Atomic int stop; /* the failure that stops all */
};

struct worker {
    /* The fields that each access uses come first. */
    struct engine_range ranges[RANGE_BUFFERS + ENGINE_BINDINGS + READ_ONLY_RANGES];
    unsigned range_count, read_only; /* the first that is */
    unsigned last_range;             /* where the last access was */
    uint64_t constants; /* bits of the ranges that the kernel declares as constant */
    uint64_t branches;  /* of the current GPU thread */
    struct job *job;
    bool is_in_kernel;
    struct engine_cost cost; /* of its part of the dispatch */

    uint32_t thread_count, next_new, current; /* of the group; current: the one that runs */
    uint64_t group_number;
    uint32_t barriers; /* that all threads of the group passed, over the worker's life */
    uint32_t group_size[3];
    struct msl_thread common; /* the values that all threads of the group share */
    struct gpu_thread *threads;
    uint16_t order[ENGINE_THREADS]; /* in which they start */

    struct fiber fibers[ENGINE_THREADS];
    unsigned fiber_count;
    struct fiber *free_fibers, *running;
    jmp_buf scheduler, aborted;

    uint8_t *threadgroup_memory;
    size_t threadgroup_used;
    size_t variables[THREADGROUP_VARIABLES]; /* offset + 1; 0: not made yet */
    void *threadgroup_arguments[ENGINE_BINDINGS];
    uint64_t random;
};

/* The worker of this thread, or NULL.  Instrumented code reads it at every access, so it is
 * read without a call.  Therefore the thread-local variables of the library that contains the
 * emulator are limited to about a kilobyte in all. */
extern _Thread_local struct worker *engine_worker __attribute__((tls_model("initial-exec")));

static inline struct gpu_thread *current_thread(struct worker *worker)
{
    return &worker->threads[worker->current];
}

/* Ends the dispatch with a failure.  The first failure is reported.  Does not return. */
_Noreturn void engine_fail(struct worker *worker, enum engine_failure failure,
                           const char *format, ...) __attribute__((format(printf, 3, 4)));

void run_group(struct worker *worker, uint64_t number);

/* fibers.c */
struct fiber *take_fiber(struct worker *worker);
void give_back_fiber(struct worker *worker, struct fiber *fiber);
void forget_fibers(struct worker *worker); /* also those that have not ended */
void resume_fiber(struct worker *worker, struct fiber *fiber);
void leave_fiber(struct worker *worker); /* until it is resumed */
_Noreturn void run_new_threads(void);    /* the function of a fiber */

/* races.c */
void races_begin_dispatch(void);
enum { ACCESS_WRITES = 1, ACCESS_IS_ATOMIC = 2, ACCESS_IN_THREADGROUP = 4 };
void races_check(struct worker *worker, const uint8_t *at, unsigned size, unsigned access);

/* faults.c */
void faults_prepare_thread(void);
