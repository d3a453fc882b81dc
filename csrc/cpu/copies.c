/* copies.c -- elements moved from one layout to another. */
#include "copies.h"

#include <string.h>

struct item16 {
    uint64_t parts[2];
};

#define SIZES(M) M(1, uint8_t) M(2, uint16_t) M(4, uint32_t) M(8, uint64_t) M(16, struct item16)

#define DEFINE(size, type)                                                             \
    static void copy_##size(char **args, const intptr_t *n, const intptr_t *strides,   \
                            void *data)                                                \
    {                                                                                  \
        (void)data;                                                                    \
        const char *from = args[0];                                                    \
        char *to = args[1];                                                            \
        if (strides[0] == size && strides[1] == size) {                                \
            memmove(to, from, (size_t)(*n * size));                                    \
            return;                                                                    \
        }                                                                              \
        for (intptr_t i = 0; i < *n; i++, from += strides[0], to += strides[1])        \
            *(type *)to = *(const type *)from;                                         \
    }                                                                                  \
    static void select_##size(char **args, const intptr_t *n, const intptr_t *strides, \
                              void *data)                                              \
    {                                                                                  \
        (void)data;                                                                    \
        const char *c = args[0], *x = args[1], *y = args[2];                           \
        char *out = args[3];                                                           \
        for (intptr_t i = 0; i < *n; i++) {                                            \
            type a = *(const type *)x, b = *(const type *)y;                           \
            *(type *)out = *c ? a : b;                                                 \
            c += strides[0], x += strides[1], y += strides[2], out += strides[3];      \
        }                                                                              \
    }
SIZES(DEFINE)

#define COPY_CASE(size, type) \
    case size:                \
        return copy_##size;
#define SELECT_CASE(size, type) \
    case size:                  \
        return select_##size;

mx_loop_function mx_copy_loop(int itemsize)
{
    switch (itemsize) {
        SIZES(COPY_CASE)
    }
    return NULL;
}

mx_loop_function mx_select_loop(int itemsize)
{
    switch (itemsize) {
        SIZES(SELECT_CASE)
    }
    return NULL;
}

void mx_copy_block(char *to, const intptr_t *to_strides, const char *from,
                   const intptr_t *from_strides, const intptr_t *shape, int ndim, int itemsize)
{
    if (ndim > 1) {
        for (intptr_t i = 0; i < shape[0]; i++)
            mx_copy_block(to + i * to_strides[0], to_strides + 1, from + i * from_strides[0],
                          from_strides + 1, shape + 1, ndim - 1, itemsize);
        return;
    }
    char *args[] = {(char *)(uintptr_t)from, to};
    intptr_t strides[] = {from_strides[0], to_strides[0]};
    mx_copy_loop(itemsize)(args, shape, strides, NULL);
}
