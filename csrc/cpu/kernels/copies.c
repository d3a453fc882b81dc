/* copies.c -- copies elements bit by bit, by their size. */
#include "cpu/kernels/copies.h"

#include <stdbool.h>
#include <stdlib.h>
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

#define PICK(name)              \
    switch (itemsize) {         \
    case 1:                     \
        return name##_uint8_t;  \
    case 2:                     \
        return name##_uint16_t; \
    case 4:                     \
        return name##_uint32_t; \
    case 8:                     \
        return name##_uint64_t; \
    case 16:                    \
        return name##_uint128;  \
    default:                    \
        return NULL;            \
    }

mx_loop_function mx_copy_loop(int itemsize){PICK(copy)}

mx_loop_function mx_copy_select_loop(int itemsize){PICK(select)}

/* -- Blocks ---------------------------------------------------------------------------- */

#define TILE 32 /* elements on each side: a tile of both layouts fits the first-level cache */
#define SHORT_AXIS 8 /* elements for which a loop call does not pay */

struct axis {
    intptr_t n, to, from; /* elements, and the bytes from one to the next in both layouts */
};

/* Sorts the axes of more than one element by their stride in `to`, largest first, and merges
 * them where possible.  Returns their number, or -1 if there are no elements. */
static int order_axes(struct axis *axes, const intptr_t *to, const intptr_t *from,
                      const intptr_t *shape, int ndim)
{
    int count = 0;
    for (int k = 0; k < ndim; k++) {
        struct axis axis = {shape[k], to[k], from[k]};
        int at = count;
        if (axis.n == 0)
            return -1;
        if (axis.n == 1)
            continue;
        for (; at > 0 && labs(axes[at - 1].to) < labs(axis.to); at--)
            axes[at] = axes[at - 1];
        axes[at] = axis;
        count++;
    }
    int merged = 0;
    for (int k = 1; k < count; k++) {
        struct axis *outer = &axes[merged];
        if (outer->to == axes[k].to * axes[k].n && outer->from == axes[k].from * axes[k].n) {
            axes[k].n *= outer->n;
            *outer = axes[k];
        } else {
            axes[++merged] = axes[k];
        }
    }
    return count ? merged + 1 : 0;
}

static struct axis piece(struct axis axis, intptr_t begin)
{
    intptr_t left = axis.n - begin;
    axis.n = left < TILE ? left : TILE;
    return axis;
}

/* Copies outer.n rows of inner.n elements each. */
static void copy_rows(mx_loop_function copy, char *to, const char *from, struct axis outer,
                      struct axis inner)
{
    intptr_t strides[] = {inner.from, inner.to};
    for (intptr_t i = 0; i < outer.n; i++) {
        char *args[] = {(char *)(uintptr_t)from + i * outer.from, to + i * outer.to};
        copy(args, &inner.n, strides, NULL);
    }
}

/* Copies a plane in tiles if elements that are neighbours in one layout are far apart in the
 * other, so that each cache line is used completely while it is in the cache. */
static void copy_plane(mx_loop_function copy, char *to, const char *from, struct axis outer,
                       struct axis inner)
{
    if (inner.n < SHORT_AXIS && outer.n > inner.n) {
        copy_rows(copy, to, from, inner, outer);
        return;
    }
    if (labs(outer.from) >= labs(inner.from)) {
        copy_rows(copy, to, from, outer, inner);
        return;
    }
    for (intptr_t i = 0; i < outer.n; i += TILE)
        for (intptr_t j = 0; j < inner.n; j += TILE)
            copy_rows(copy, to + i * outer.to + j * inner.to,
                      from + i * outer.from + j * inner.from, piece(outer, i), piece(inner, j));
}

static void copy_axes(mx_loop_function copy, char *to, const char *from,
                      const struct axis *axes, int count)
{
    if (count == 2) {
        copy_plane(copy, to, from, axes[0], axes[1]);
        return;
    }
    for (intptr_t i = 0; i < axes[0].n; i++)
        copy_axes(copy, to + i * axes[0].to, from + i * axes[0].from, axes + 1, count - 1);
}

void mx_copy_block(char *to, const intptr_t *to_strides, const char *from,
                   const intptr_t *from_strides, const intptr_t *shape, int ndim, int itemsize)
{
    static const struct axis single = {.n = 1};
    struct axis axes[MX_MAX_NDIM + 1];
    mx_loop_function copy = mx_copy_loop(itemsize);
    int count = order_axes(axes, to_strides, from_strides, shape, ndim);
    if (count < 0)
        return;
    if (count < 2)
        copy_rows(copy, to, from, single, count == 0 ? single : axes[0]);
    else
        copy_axes(copy, to, from, axes, count);
}
