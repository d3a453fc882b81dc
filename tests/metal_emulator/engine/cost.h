/* cost.h -- counts of what kernels do: accesses, barriers, threads.
 *
 * The counts replace times, which say nothing about a GPU.  They are exact and the same in
 * every run, whatever the number of workers.
 */
#pragma once
#include <stdint.h>

/* name, meaning.  A vector of up to 16 bytes that is loaded or stored as a whole counts once.
 */
#define ENGINE_COSTS(X)                                                    \
    X(dispatches) /* of kernels */                                         \
    X(threadgroups)                                                        \
    X(threads)                                                             \
    X(loads) /* from device memory */                                      \
    X(load_bytes)                                                          \
    X(stores) /* to device memory */                                       \
    X(store_bytes)                                                         \
    X(atomics)        /* in any memory; each is a load and a store, too */ \
    X(constant_loads) /* from memory that a kernel declares as constant */ \
    X(threadgroup_loads)                                                   \
    X(threadgroup_stores)                                                  \
    X(barriers)  /* of a whole threadgroup */                              \
    X(exchanges) /* among the lanes of a SIMD-group, barriers included */  \
    X(branches)  /* edges between basic blocks, of all threads */          \
    X(divisions) /* of integers, by a divisor that the compiler does not know */

struct engine_cost {
#define X(name) uint64_t name;
    ENGINE_COSTS(X)
#undef X
    uint64_t threadgroup_bytes; /* the most that a threadgroup used */
};

struct worker;
void cost_begin(struct worker *worker);
void cost_end(struct worker *worker); /* adds the worker's counts to the total */
void cost_reset(void);

/* Returns a count of the total, or -1 if there is none of this name. */
int64_t cost_get(const char *name);
