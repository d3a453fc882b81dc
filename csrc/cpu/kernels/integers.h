#pragma once
/* integers.h -- lists of the integer dtypes, with the C types that kernels compute with. */

/* X(name, OPERATION, dtype, type), with unsigned types: operations on bits, and sums, which
 * wrap around as C allows for unsigned integers only. */
#define EACH_AS_UNSIGNED(X, name, OPERATION) \
    X(name, OPERATION, int8, uint8_t)        \
    X(name, OPERATION, int16, uint16_t)      \
    X(name, OPERATION, int32, uint32_t)      \
    X(name, OPERATION, int64, uint64_t)      \
    X(name, OPERATION, uint8, uint8_t)       \
    X(name, OPERATION, uint16, uint16_t)     \
    X(name, OPERATION, uint32, uint32_t)     \
    X(name, OPERATION, uint64, uint64_t)

/* The same with the type of each dtype. */
#define EACH_INTEGER(X, name, OPERATION) \
    X(name, OPERATION, int8, int8_t)     \
    X(name, OPERATION, int16, int16_t)   \
    X(name, OPERATION, int32, int32_t)   \
    X(name, OPERATION, int64, int64_t)   \
    X(name, OPERATION, uint8, uint8_t)   \
    X(name, OPERATION, uint16, uint16_t) \
    X(name, OPERATION, uint32, uint32_t) \
    X(name, OPERATION, uint64, uint64_t)
