/* copies.c -- copies of elements, and of blocks of them in any layout. */
#include "cpu/kernels/copies.h"

#include <stdlib.h>

#include "cpu/kernels/copy_kernels.h"

static const struct mx_copy_kernels *copy_kernels(void)
{
    static const struct mx_copy_kernels *const tables[] = {
#define ISA(name) &mx_copy_kernels_##name, /* mx_copy_kernels_base, _v3, _v4 */
        MX_ISAS(ISA)
#undef ISA
    };
    return tables[mx_isa()];
}

mx_loop_function mx_copy_loop(int itemsize)
{
    int size = mx_size_number(itemsize);
    return size < 0 ? NULL : copy_kernels()->copies[size];
}

mx_loop_function mx_copy_select_loop(int itemsize)
{
    int size = mx_size_number(itemsize);
    return size < 0 ? NULL : copy_kernels()->selects[size];
}

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
