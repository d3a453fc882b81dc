#pragma once
/* conditions.h -- the floating-point conditions of the calling thread that NumPy looks at. */
#include <fenv.h>
#include <stdbool.h>

#define CONDITIONS (FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW | FE_INVALID)

/* Clear the conditions.  Reading them is much faster than clearing them. */
static inline void conditions_clear(void)
{
    if (fetestexcept(CONDITIONS))
        feclearexcept(FE_ALL_EXCEPT);
}

static inline bool conditions_met(void) { return fetestexcept(CONDITIONS) != 0; }
