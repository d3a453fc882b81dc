/* copy_kernels.c -- copies elements bit by bit, by their size. */
#include "cpu/kernels/copy_kernels.h"

#include <stdbool.h>
#include <string.h>

#include "cpu/kernels/pick.h"

#if defined(__clang__)
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif

#define SIZES(X) X(uint8_t) X(uint16_t) X(uint32_t) X(uint64_t) X(uint128)

#define EACH(n) \
    INDEPENDENT \
    for (intptr_t i = 0; i < (n); i++)

/* Elements with gaps are read one by one: vectors that are put together from them take longer.
 */
#if defined(__clang__)
#define SINGLY _Pragma("clang loop vectorize(disable) unroll_count(4)")
#elif __GNUC__ >= 14
#define SINGLY _Pragma("GCC novector") _Pragma("GCC unroll 4")
#else
#define SINGLY _Pragma("GCC unroll 4")
#endif

#define GATHER(n) SINGLY for (intptr_t i = 0; i < (n); i++)

/* Elements of NumPy's arrays may lie at any address. */
#define UNALIGNED(type)                         \
    struct __attribute__((packed)) any_##type { \
        type value;                             \
    };
SIZES(UNALIGNED)

#define ONE(type, at)          (((struct any_##type *)(void *)(at))->value)
#define AT(type, base, stride) ONE(type, (base) + i * (stride))

/* The C library copies long runs with one instruction, `rep movsb`.  On AMD's Zen this takes
 * ten times as long if the target begins less than 32 bytes after the source, apart from whole
 * pages, as in a roll by one element.  Such a run is copied in parts, for which the library
 * uses vectors. */
#define PAGE  4096
#define AHEAD 32
#define PART  1024

static void copy_run(char *to, const char *from, size_t n)
{
    size_t ahead = (uintptr_t)to - (uintptr_t)from, in_page = ahead % PAGE;
    bool overlaps = ahead < n;
    if (in_page == 0 || in_page >= AHEAD || overlaps) {
        memmove(to, from, n);
        return;
    }
    for (size_t part; n > 0; to += part, from += part, n -= part) {
        part = n < PART ? n : PART;
        memmove(to, from, part);
    }
}

/* In the first cases the compiler knows the strides, and so it can vectorize the loops. */
#define COPY(type)                                                                            \
    static void copy_##type(char **args, const intptr_t *dimensions, const intptr_t *strides, \
                            void *data)                                                       \
    {                                                                                         \
        const intptr_t size = sizeof(type), n = dimensions[0];                                \
        const intptr_t x_stride = strides[0], y_stride = strides[1];                          \
        char *x = args[0], *y = args[1];                                                      \
        (void)data;                                                                           \
        if (x_stride == size && y_stride == size)                                             \
            copy_run(y, x, (size_t)n * sizeof(type));                                         \
        else if (x_stride == 0 && y_stride == size && n > 0) {                                \
            type value = ONE(type, x);                                                        \
            EACH(n) AT(type, y, size) = value;                                                \
        } else if (y_stride == size && x_stride == -size)                                     \
            EACH(n) AT(type, y, size) = AT(type, x, -size);                                   \
        else if (y_stride == size)                                                            \
            GATHER(n) AT(type, y, size) = AT(type, x, x_stride);                              \
        else if (x_stride == size)                                                            \
            EACH(n) AT(type, y, y_stride) = AT(type, x, size);                                \
        else                                                                                  \
            for (intptr_t i = 0; i < n; i++)                                                  \
                AT(type, y, y_stride) = AT(type, x, x_stride);                                \
    }
SIZES(COPY)

#define RUN 32 /* bytes of a mask that are examined together */

static bool is_any_true(const uint8_t *mask)
{
    uint64_t words[RUN / sizeof(uint64_t)];
    memcpy(words, mask, sizeof words);
    return (words[0] | words[1] | words[2] | words[3]) != 0;
}

/* `a[mask] = x` in place.  Where few elements are chosen, most runs stay as they are, and their
 * memory is not touched. */
#define FILL(type)                                                              \
    static void fill_##type(const uint8_t *is_x, type x, char *y, intptr_t n)   \
    {                                                                           \
        const intptr_t size = sizeof(type);                                     \
        for (; n >= RUN; n -= RUN, is_x += RUN, y += RUN * size)                \
            if (is_any_true(is_x))                                              \
                EACH(RUN)                                                       \
        AT(type, y, size) = pick_##type(is_x[i], x, AT(type, y, size));         \
        EACH(n) AT(type, y, size) = pick_##type(is_x[i], x, AT(type, y, size)); \
    }
SIZES(FILL)

/* There are separate loops for scalar operands, as one of the two often is a scalar. */
#define SELECT(type)                                                                      \
    static void select_##type(char **args, const intptr_t *dimensions,                    \
                              const intptr_t *strides, void *data)                        \
    {                                                                                     \
        const intptr_t size = sizeof(type), n = dimensions[0];                            \
        const intptr_t x_stride = strides[1], y_stride = strides[2];                      \
        const uint8_t *is_x = (const uint8_t *)args[0];                                   \
        char *x = args[1], *y = args[2], *out = args[3];                                  \
        (void)data;                                                                       \
        if (n == 0)                                                                       \
            return;                                                                       \
        type x0 = ONE(type, x), y0 = ONE(type, y);                                        \
        if (strides[0] != 1 || strides[3] != size || (x_stride && x_stride != size) ||    \
            (y_stride && y_stride != size))                                               \
            for (intptr_t i = 0; i < n; i++)                                              \
                AT(type, out, strides[3]) = pick_##type(                                  \
                    is_x[i * strides[0]], AT(type, x, x_stride), AT(type, y, y_stride));  \
        else if (!x_stride && y_stride && y == out)                                       \
            fill_##type(is_x, x0, y, n);                                                  \
        else if (x_stride && y_stride)                                                    \
            EACH(n)                                                                       \
        AT(type, out, size) = pick_##type(is_x[i], AT(type, x, size), AT(type, y, size)); \
        else if (x_stride) EACH(n) AT(type, out, size) =                                  \
            pick_##type(is_x[i], AT(type, x, size), y0);                                  \
        else if (y_stride) EACH(n) AT(type, out, size) =                                  \
            pick_##type(is_x[i], x0, AT(type, y, size));                                  \
        else EACH(n) AT(type, out, size) = pick_##type(is_x[i], x0, y0);                  \
    }
SIZES(SELECT)

#define OF_SIZES(name) \
    {name##_uint8_t, name##_uint16_t, name##_uint32_t, name##_uint64_t, name##_uint128}

const struct mx_copy_kernels MX_ISA_NAME(mx_copy_kernels) = {
    .copies = OF_SIZES(copy),
    .selects = OF_SIZES(select),
};
