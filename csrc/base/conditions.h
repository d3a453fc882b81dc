#pragma once
/* conditions.h -- the floating-point conditions of the calling thread, with NumPy's numbers:
 * 1 divide by zero, 2 overflow, 4 underflow, 8 invalid. */
#include <fenv.h>

static inline int mx_conditions_met(void)
{
    int met = fetestexcept(FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW | FE_INVALID);
    if (!met)
        return 0;
    return (met & FE_DIVBYZERO ? 1 : 0) | (met & FE_OVERFLOW ? 2 : 0) |
           (met & FE_UNDERFLOW ? 4 : 0) | (met & FE_INVALID ? 8 : 0);
}

/* Clear the conditions.  Reading them is much faster than clearing them. */
static inline void mx_conditions_clear(void)
{
    if (fetestexcept(FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW | FE_INVALID))
        feclearexcept(FE_ALL_EXCEPT);
}
