/* metal_emulator.h -- what tests may ask of the Metal emulator, and tell it. */
#pragma once
#ifdef __cplusplus
extern "C" {
#endif

/* A report is a use of the API that Apple's validation layers would stop, or a fault of a
 * kernel.  METAL_EMULATOR_VERBOSE in the environment prints each, METAL_EMULATOR_ABORT stops at it. */
int metal_emulator_report_count(void);
const char *metal_emulator_last_report(void); /* valid until the thread asks again */

/* Changes a setting, while no command buffer runs.  Those with a name in capitals are read
 * from the environment too.
 *
 *   workers    METAL_EMULATOR_WORKERS   threads that run threadgroups (4)
 *   branches   METAL_EMULATOR_BRANCHES  of a GPU thread, before it counts as hung (20,000,000)
 *   seed       METAL_EMULATOR_SEED      not 0: of the order in which a group's threads start
 *   race       METAL_EMULATOR_RACE      report data races, with one worker
 *   chaos      METAL_EMULATOR_CHAOS     yield the processor at one atomic operation in 16
 *   deferred   METAL_EMULATOR_DEFERRED  run nothing before somebody waits
 *   plain      METAL_EMULATOR_PLAIN     compile kernels without checks
 *   verbose    METAL_EMULATOR_VERBOSE   print reports
 *   abort      METAL_EMULATOR_ABORT     stop at a report
 *
 *   fail_next_command_buffer        with this MTLCommandBufferError
 *   fail_next_library               with this MTLLibraryError
 *   fail_next_pipeline              likewise
 *   fail_buffer_allocations         so many of them; -1: all
 *   device_lost                     all fails until it is 0 again
 *   no_device                       there is none to find
 *
 * METAL_EMULATOR_CACHE is where compiled kernels are kept, a folder that nobody else can write to
 * (~/.cache/mxnp-metal-emulator); METAL_EMULATOR_PYTHON and METAL_EMULATOR_FOLDER what the front end is run
 * with and where it is; METAL_EMULATOR_CLANG is the compiler. */
void metal_emulator_configure(const char *key, long value);

/* In deferred mode: runs what is committed, and waits for it. */
void metal_emulator_run_pending(void);

/* How often a kernel, or if NULL any kernel, has been run. */
long metal_emulator_dispatch_count(const char *kernel_name);

/* Objective-C objects that are alive. */
long metal_emulator_live_objects(void);

#ifdef __cplusplus
}
#endif
