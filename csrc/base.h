#pragma once
/* base.h -- what every C file of the core begins with: the C API and its types. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mxnp.h"

#define MX_MAX_OPERANDS 12 /* of one instruction: inputs and outputs */
#define MX_MAX_NDIM     8  /* axes of one instruction */

#if defined(__GNUC__)
#define MX_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define MX_PRINTF(text, first)
#endif
