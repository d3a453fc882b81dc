#pragma once
/* pick.h -- chooses one of two elements, or of two places, by a mask, without a branch.
 *
 * From `?:` compilers make branches, which are slow if the conditions follow no pattern.
 */
#include <stdint.h>

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

static inline uint128 pick_uint128(uint8_t is_x, uint128 x, uint128 y)
{
    return (uint128){{pick_uint64_t(is_x, x.parts[0], y.parts[0]),
                      pick_uint64_t(is_x, x.parts[1], y.parts[1])}};
}

static inline void *pick_place(uint8_t is_x, void *x, void *y)
{
    uintptr_t mask = (uintptr_t)0 - (uintptr_t)(is_x != 0);
    return (void *)(((uintptr_t)x & mask) | ((uintptr_t)y & ~mask));
}
