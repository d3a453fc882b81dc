#pragma once
/* pick.h -- chooses one of two elements, or of two places, by a mask, without a branch.
 *
 * From `?:` compilers make branches, which are slow if the conditions follow no pattern.
 */
#include <stdint.h>
#include <string.h>

typedef struct {
    uint64_t parts[2];
} uint128;

#define PICK_NUMBER(type)                                        \
    static inline type pick_##type(uint8_t is_x, type x, type y) \
    {                                                            \
        type mask = (type) - (type)(is_x != 0);                  \
        return (type)((x & mask) | (y & (type)~mask));           \
    }
PICK_NUMBER(uint8_t)
PICK_NUMBER(uint16_t)
PICK_NUMBER(uint32_t)
PICK_NUMBER(uint64_t)

/* Two halves in a vector: compilers do not put them together. */
static inline uint128 pick_uint128(uint8_t is_x, uint128 x, uint128 y)
{
    typedef uint64_t vector __attribute__((vector_size(16)));
    uint64_t all = (uint64_t)0 - (uint64_t)(is_x != 0);
    vector mask = {all, all}, from_x, from_y;
    memcpy(&from_x, &x, sizeof x);
    memcpy(&from_y, &y, sizeof y);
    vector chosen = (from_x & mask) | (from_y & ~mask);
    memcpy(&x, &chosen, sizeof x);
    return x;
}

static inline void *pick_place(uint8_t is_x, void *x, void *y)
{
    uintptr_t mask = (uintptr_t)0 - (uintptr_t)(is_x != 0);
    return (void *)(((uintptr_t)x & mask) | ((uintptr_t)y & ~mask));
}
