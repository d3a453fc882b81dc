/* metal_emulator.h -- the functions by which tests query and configure the Metal emulator. */
#pragma once
#ifdef __cplusplus
extern "C" {
#endif

/* A report is a use of the API that Apple's validation layers would stop, or a fault of a kernel.
 * If METAL_EMULATOR_VERBOSE is set in the environment, each report is printed.  If
 * METAL_EMULATOR_ABORT is set, the process stops at the first one. */
int metal_emulator_report_count(void);
const char *metal_emulator_last_report(void); /* valid until the next call of the thread */

/* Changes a setting.  No command buffer may run.  Settings with a second name are also read from
 * the environment.
 *
 *   workers    METAL_EMULATOR_WORKERS   threads that run threadgroups (4)
 *   branches   METAL_EMULATOR_BRANCHES  of a GPU thread before it counts as hung (20,000,000)
 *   seed       METAL_EMULATOR_SEED      if not 0, shuffles the order in which threads start
 *   race       METAL_EMULATOR_RACE      report data races, with one worker
 *   chaos      METAL_EMULATOR_CHAOS     yield the processor at one atomic operation in 16
 *   cost       METAL_EMULATOR_COST      count what kernels do
 *   deferred   METAL_EMULATOR_DEFERRED  run command buffers only when a thread waits
 *   plain      METAL_EMULATOR_PLAIN     compile kernels without checks
 *   verbose    METAL_EMULATOR_VERBOSE   print reports
 *   abort      METAL_EMULATOR_ABORT     stop at a report
 *   pipeline_threads  METAL_EMULATOR_PIPELINE_THREADS  most threads of a threadgroup of kernels
 *                                       without [[max_total_threads_per_threadgroup]] (1024)
 *   macos      METAL_EMULATOR_MACOS     major version of the operating system: 12 to 26 (15)
 *   max_buffer METAL_EMULATOR_MAX_BUFFER  bytes of the largest buffer (0: 2^32)
 *   together   METAL_EMULATOR_TOGETHER  libraries that wait until so many are compiled at the
 *                                       same time, or for 30 seconds
 *
 *   fail_next_command_buffer        with this MTLCommandBufferError
 *   fail_next_library               with this MTLLibraryError
 *   fail_next_pipeline              with this MTLLibraryError
 *   fail_buffer_allocations         this many of them; -1: all
 *   device_lost                     every command fails until it is 0 again
 *   no_device                       no device is found
 *   discrete                        the device does not share the processor's memory
 *
 * METAL_EMULATOR_CACHE is the folder of compiled kernels (~/.cache/mxnp-metal-emulator).  Others
 * must not be able to write to it.  METAL_EMULATOR_PYTHON runs the compiler of MSL, which is in the
 * folder METAL_EMULATOR_FOLDER.  METAL_EMULATOR_CLANG is the C++ compiler. */
void metal_emulator_configure(const char *key, long value);

/* Runs the committed command buffers in deferred mode, and waits for them. */
void metal_emulator_run_pending(void);

/* How often a kernel has run.  NULL: all kernels together. */
long metal_emulator_dispatch_count(const char *kernel_name);

/* Returns a count since the last reset: one of the names in engine/cost.h, or -1 if there is none of
 * that name.  Only dispatches that run while the setting `cost` is on are counted. */
long metal_emulator_cost(const char *counter);

/* The most libraries that were compiled at the same time since the last call. */
long metal_emulator_most_compiled_together(void);
void metal_emulator_reset_costs(void);

/* The number of Objective-C objects that are alive. */
long metal_emulator_live_objects(void);

#ifdef __cplusplus
}
#endif
