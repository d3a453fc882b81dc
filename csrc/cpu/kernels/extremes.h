#pragma once
/* extremes.h -- the larger and the smaller of two elements. */

#define MAXIMUM(a, b) ((a) > (b) ? (a) : (b))
#define MINIMUM(a, b) ((a) < (b) ? (a) : (b))

/* Of floats, NaN is the result if there is one.  Of 0 and -0, NumPy's loops return 0 as the
 * larger and -0 as the smaller number on arm64, and the second operand on other processors. */
#if defined(__aarch64__)
#define IS_FIRST(a, b, sign) (((a) == (b)) & (!__builtin_signbit(a) == !(sign)))
#else
#define IS_FIRST(a, b, sign) 0
#endif
#define FLOAT_MAXIMUM(a, b) ((((a) > (b)) | ((a) != (a)) | IS_FIRST(a, b, 0)) ? (a) : (b))
#define FLOAT_MINIMUM(a, b) ((((a) < (b)) | ((a) != (a)) | IS_FIRST(a, b, 1)) ? (a) : (b))

/* The same for one element after the other: a branch that is never taken without NaN, and one
 * instruction. */
#define SINGLE_MAXIMUM(a, b) ((a) != (a) ? (a) : (IS_FIRST(a, b, 0) | ((a) > (b))) ? (a) : (b))
#define SINGLE_MINIMUM(a, b) ((a) != (a) ? (a) : (IS_FIRST(a, b, 1) | ((a) < (b))) ? (a) : (b))
