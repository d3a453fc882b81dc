#pragma once
/* base.h -- included by every C file of the core: the C API, limits, the clock, a step of a
 * loop that waits, and assertions.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#ifdef MX_ASSERTS
#include <stdio.h>
#include <stdlib.h>
#endif

#include "base/limits.h"
#include "mxnp.h"

/* CLOCK_MONOTONIC of macOS has steps of a microsecond, and follows adjustments of the time. */
#ifdef __APPLE__
#define MX_CLOCK CLOCK_UPTIME_RAW
#else
#define MX_CLOCK CLOCK_MONOTONIC
#endif

/* Returns the nanoseconds of a monotonic clock. */
static inline int64_t mx_now(void)
{
    struct timespec time;
    clock_gettime(MX_CLOCK, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* Lets the other thread of a core run, while this one waits for a change of memory. */
static inline void mx_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb"); /* yield does nothing on most of them */
#endif
}

/* States an invariant.  The C tests and all builds with a sanitizer define MX_ASSERTS and abort
 * if the condition does not hold.  In other builds the condition is not evaluated. */
#ifdef MX_ASSERTS
#define MX_ASSERT(condition)                                                                   \
    ((condition) ? (void)0                                                                     \
                 : (fprintf(stderr, "%s:%d: %s: not true: %s\n", __FILE__, __LINE__, __func__, \
                            #condition),                                                       \
                    abort()))
#else
#define MX_ASSERT(condition) ((void)sizeof((condition) ? 1 : 0))
#endif

#if defined(__GNUC__)
#define MX_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define MX_PRINTF(text, first)
#endif
