/* kernel_abi.h -- the interface between kernel libraries and the engine of the Metal emulator.
 *
 * A library exports metal_emulator_kernels, metal_emulator_kernel_count and
 * metal_emulator_load.
 */
#pragma once
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

/* The kind of an argument, from its attribute, such as [[thread_position_in_grid]]. */
enum msl_argument_kind {
    MSL_BUFFER,
    MSL_THREADGROUP_MEMORY,
    MSL_THREAD_POSITION_IN_GRID,
    MSL_THREAD_POSITION_IN_THREADGROUP,
    MSL_THREADGROUP_POSITION_IN_GRID,
    MSL_THREADS_PER_THREADGROUP,
    MSL_THREADGROUPS_PER_GRID,
    MSL_THREADS_PER_GRID,
    MSL_THREAD_INDEX_IN_THREADGROUP,
    MSL_THREAD_INDEX_IN_SIMDGROUP,
    MSL_SIMDGROUP_INDEX_IN_THREADGROUP,
    MSL_THREADS_PER_SIMDGROUP,
    MSL_SIMDGROUPS_PER_THREADGROUP,
    MSL_THREAD_INDEX_IN_QUADGROUP,
    MSL_QUADGROUP_INDEX_IN_THREADGROUP,
    MSL_QUADGROUPS_PER_THREADGROUP,
};

enum msl_space { MSL_THREAD, MSL_DEVICE, MSL_CONSTANT, MSL_THREADGROUP };

struct msl_argument {
    uint8_t kind, index, is_const, space;
    uint32_t size; /* bytes of the type that it points to */
};

/* The values that a kernel can read about its GPU thread. */
struct msl_thread {
    uint32_t position_in_grid[3], position_in_threadgroup[3];
    uint32_t threadgroup_position[3], threads_per_threadgroup[3];
    uint32_t threadgroups_per_grid[3], threads_per_grid[3];
    uint32_t index_in_threadgroup, index_in_simdgroup, simdgroup_index;
    uint32_t threads_per_simdgroup, simdgroups_per_threadgroup;
    void **buffers;            /* bound addresses, by index */
    void **threadgroup_memory; /* of [[threadgroup(n)]] arguments */
};

struct msl_kernel {
    const char *name;
    void (*entry)(const struct msl_thread *thread);
    const struct msl_argument *arguments;
    uint32_t argument_count;
    uint32_t max_threads;       /* of its attribute, or 0 */
    uint32_t threadgroup_bytes; /* of its variables: set by metal_emulator_load */
    const void *function;
};

/* The functions of the engine that kernels call. */
struct msl_engine {
    const struct msl_thread *(*self)(void);
    void (*threadgroup_barrier)(void);
    void (*simdgroup_barrier)(void);
    /* Stores the values of the 32 lanes, and which lanes are active. */
    void (*simdgroup_exchange)(const void *mine, void *all, uint64_t *active, unsigned size);
    /* Returns the storage of a threadgroup variable. */
    void *(*threadgroup_variable)(unsigned number, unsigned size);
    void (*access)(const volatile void *at, unsigned size, int is_write); /* before each */
    void (*atomic)(const volatile void *at, unsigned size);
    void (*branch)(void); /* at each, of an instrumented kernel */
    void (*divide)(void); /* before a division of integers by a variable */
};

extern struct msl_kernel metal_emulator_kernels[];
extern const uint32_t metal_emulator_kernel_count;
void metal_emulator_load(const struct msl_engine *engine); /* once, before any kernel runs */

#ifdef __cplusplus
}
#endif
