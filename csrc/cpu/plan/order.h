#pragma once
/* order.h -- the order in which a program adds numbers.
 *
 * In strict mode a sum of floats has NumPy's bits, so it is added in NumPy's order.  NumPy goes
 * through an array in the order of its memory.  If the innermost axis is reduced, its loop adds
 * the numbers of a row in pairs: it adds up the two halves of a row, each in the same way, and
 * adds the two sums.  Runs of at most 128 numbers are added up in 8 lanes, and then the lanes
 * in pairs.  If the innermost axis is kept, NumPy adds row after row to a row of results.
 *
 * NumPy's loops add and multiply the numbers of a row of float16 in float32, and round the
 * result of the row.  If the innermost axis is kept, they round after each number.
 */
#include "cpu/plan/plan.h"

/* A part of a row that is reduced as one block.  Its ends are those of a part that NumPy's loop
 * reduces by itself. */
struct mx_leaf {
    intptr_t begin;
    int n_joins; /* how often the two newest sums are added, after this leaf */
};

/* Returns the order for the axes of a program, which are sorted and merged.  MX_ANY_ORDER: no
 * sum has to keep NumPy's, or it would be too slow. */
enum mx_order mx_order_of(const struct mx_program *program);

/* Returns the order of a reduction that is a program of its own. */
enum mx_order mx_order_of_reduction(const struct mx_instruction *in);

/* Allocates the leaves of a row of n elements, each of at most `longest` elements, and one more
 * that begins where the row ends.  Returns a status. */
int mx_order_leaves(struct mx_leaf **out, intptr_t *n_leaves, intptr_t n, intptr_t longest,
                    bool is_complex);

/* Returns whether a program adds complex numbers in NumPy's order. */
bool mx_order_is_complex(const struct mx_program *program);
