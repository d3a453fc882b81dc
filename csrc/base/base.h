#pragma once
/* base.h -- what every C file of the core begins with: the C API and its types. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "mxnp.h"

#define MX_MAX_OPERANDS 12 /* of one instruction: inputs and outputs */
#define MX_MAX_NDIM     8  /* axes of one instruction */

/* Nanoseconds of the monotonic clock. */
static inline int64_t mx_now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

#if defined(__GNUC__)
#define MX_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define MX_PRINTF(text, first)
#endif
