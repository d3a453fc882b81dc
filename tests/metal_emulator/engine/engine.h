/* engine.h -- runs compute kernels on the threads of the processor.
 *
 * Operating-system threads divide the threadgroups among themselves and contend for memory as a
 * GPU's threads do.  The GPU threads of a group are fibers of one such thread, so a barrier is a
 * switch to another fiber.
 */
#pragma once
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../msl/kernel_abi.h"

#ifndef ENGINE_THREADGROUP_BYTES
#define ENGINE_THREADGROUP_BYTES 32768
#endif

enum {
    ENGINE_BINDINGS = 31,  /* of each kind: buffers, threadgroup memory */
    ENGINE_THREADS = 1024, /* of a threadgroup */
    ENGINE_SIMD_WIDTH = 32,
    ENGINE_THREADGROUP_MEMORY = ENGINE_THREADGROUP_BYTES,
};

/* MTLCommandBufferError's values. */
enum engine_failure {
    ENGINE_NO_FAILURE = 0,
    ENGINE_INTERNAL = 1,
    ENGINE_TIMEOUT = 2,
    ENGINE_PAGE_FAULT = 3,
};

struct engine_range {
    const uint8_t *start;
    size_t size;
};

/* Returns where the shared library that contains an address lies in memory. */
struct engine_range engine_image_of(const void *inside);

struct engine_dispatch {
    const struct msl_kernel *kernel;
    struct engine_range image; /* of the kernel's library: its constants */
    uint32_t threads_per_grid[3], threads_per_threadgroup[3];
    void *addresses[ENGINE_BINDINGS];             /* with the offset */
    struct engine_range buffers[ENGINE_BINDINGS]; /* where they lie */
    uint32_t threadgroup_memory[ENGINE_BINDINGS]; /* bytes of [[threadgroup(n)]] arguments */

    /* Set by engine_run. */
    enum engine_failure failure;
    char message[512];
};

/* Runs a dispatch to its end, on this thread and others.  The grid must not be empty, a threadgroup
 * must have 1 to 1024 threads, and all arguments must be bound. */
void engine_run(struct engine_dispatch *dispatch);

/* Installs the handlers of the signals of faults.  Every dispatch calls this again, because other
 * code may install its own. */
void engine_take_signals(void);

/* Unblocks the signals of faults, which a thread that runs dispatches must not block. */
void engine_unblock_signals(sigset_t *blocked);

/* The functions that a kernel library is loaded with. */
extern const struct msl_engine engine_for_kernels;

/* Settings, which must not change while a dispatch runs. */
extern struct engine_settings {
    long workers;  /* operating-system threads */
    long branches; /* that a GPU thread may take before it counts as hung */
    long seed;     /* not 0: of the order in which a group's threads start */
    long race;     /* report data races; with one worker */
    long chaos;    /* yield the processor at one atomic operation in 16 */
    long cost;     /* count what kernels do: cost.h */
} engine_settings;
