/* settings.h -- how the host behaves, and what it reports. */
#pragma once
#include <stdbool.h>

struct host_settings {
    long deferred; /* nothing runs before somebody waits, or metal_emulator_run_pending */
    long plain;    /* compile kernels without checks */
    long verbose, abort_on_report;

    /* Faults to inject. */
    _Atomic long fail_next_command_buffer; /* with this MTLCommandBufferError */
    _Atomic long fail_next_library;
    _Atomic long fail_next_pipeline;
    _Atomic long fail_buffer_allocations; /* so many; negative: all */
    _Atomic long device_lost;
    _Atomic long no_device;
};

/* Read from the environment at the first call. */
struct host_settings *host_settings(void);

/* Gives the fault's value, which is 0 from then on. */
long take_fault(_Atomic long *fault);

/* Whether to fail once more. */
bool count_fault(_Atomic long *fault);

void host_report(const char *format, ...) __attribute__((format(printf, 1, 2)));
