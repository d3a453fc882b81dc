/* settings.h -- the settings of the emulator, and its reports. */
#pragma once
#include <stdbool.h>

struct host_settings {
    long deferred; /* run only when a thread waits, or in metal_emulator_run_pending */
    long plain;    /* compile kernels without checks */
    long verbose, abort_on_report;
    long pipeline_threads; /* most threads of a kernel without the attribute; 0: 1024 */
    long macos;            /* major version of the operating system */
    long max_buffer;       /* bytes of the largest buffer; 0: 2^32 */
    long together;         /* libraries that must be compiled at the same time */

    /* Faults to inject. */
    _Atomic long fail_next_command_buffer; /* with this MTLCommandBufferError */
    _Atomic long fail_next_library;
    _Atomic long fail_next_pipeline;
    _Atomic long fail_buffer_allocations; /* this many; negative: all */
    _Atomic long device_lost;
    _Atomic long no_device;
    _Atomic long discrete; /* the GPU does not share the processor's memory */
};

/* Returns the settings.  The first call reads the environment. */
struct host_settings *host_settings(void);

/* Returns the value of a fault and sets it to 0. */
long take_fault(_Atomic long *fault);

/* Whether to fail again.  Counts the failure. */
bool count_fault(_Atomic long *fault);

void host_report(const char *format, ...) __attribute__((format(printf, 1, 2)));
