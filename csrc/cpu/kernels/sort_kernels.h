#pragma once
/* sort_kernels.h -- kernels of sorts and partitions, compiled for each instruction set.
 *
 * Their order is NumPy's: NaN is last, two NaN are equal, and so are zeros of both signs.
 * Complex numbers are ordered by their real parts, then by their imaginary parts.
 *
 * The tables mx_sort_kernels_base, _v3 and _v4 are defined in sort_kernels.c.
 */
#include "cpu/kernels/isa.h"
#include "ir/dtypes.h"

/* NumPy's functions for elements without gaps.  They return a negative number if they get no
 * memory.  `array` is a NumPy array of the dtype. */
typedef int mx_sort_function(void *elements, intptr_t n, void *array);
typedef int mx_argsort_function(void *elements, intptr_t *positions, intptr_t n, void *array);

/* What tells elements apart that are equal: zeros of both signs, and the bits of NaN. */
struct mx_sort_finding {
    bool has_zero, has_negative_zero;
    uint64_t all_nan, any_nan; /* the bits that all NaN have, and those that one has */
};

enum mx_comparison { MX_RISES = 1, MX_FALLS = 2, MX_STAYS = 4 };

/* Elements, with their places unless these are NULL, that move to where those of their buckets
 * go.  They are divided into lanes, the last of which has the remaining ones. */
struct mx_sort_move {
    const void *elements;
    const int64_t *places;
    const uint8_t *buckets;
    int n_buckets;
    intptr_t *to; /* of the buckets of each lane; moved on */
    void *elements_to;
    int64_t *places_to;
};

#define MX_SORT_LANES 4

struct mx_sort_kernels {
    /* Returns how n elements compare with their next ones: bits of enum mx_comparison. */
    unsigned (*compare)(const void *elements, intptr_t n);

    /* Sets out to the elements at n positions. */
    void (*take)(const void *elements, const int64_t *positions, intptr_t n, void *out);

    /* Sets n hashes, which are the same for equal elements, of which each step-th is hashed. */
    void (*hash)(const void *elements, intptr_t n, intptr_t step, uint64_t *hashes);

    /* Adds to a finding; NULL if equal elements have the same bits. */
    void (*inspect)(const void *elements, intptr_t n, struct mx_sort_finding *finding);

    /* Returns whether an element can be a splitter: NaN of float32 and float64 can't. */
    bool (*is_number)(const void *element);

    /* Sets the buckets of n elements: twice the number of splitters that are less, and one more
     * for each that is equal.  The splitters are numbers, and increasing. */
    void (*classify)(const void *elements, intptr_t n, const void *splitters, int n_splitters,
                     uint8_t *buckets);

    /* Moves n elements. */
    void (*distribute)(const struct mx_sort_move *move, intptr_t n);
};

#define MX_MOST_SPLITTERS 63 /* a number of a bucket has 8 bits */
#define MX_MOST_BUCKETS   (2 * MX_MOST_SPLITTERS + 1)
#define MX_MOST_ITEMSIZE  16 /* of elements that are sorted */

/* By dtype; the functions of a dtype that is not sorted are NULL. */
struct mx_sort_table {
    struct mx_sort_kernels kernels[MX_DTYPE_COUNT];
};

#define TABLE(isa) extern const struct mx_sort_table mx_sort_table_##isa;
MX_ISAS(TABLE)
#undef TABLE

/* Returns the kernels of a dtype for the processor.  It is defined in sort.c. */
const struct mx_sort_kernels *mx_sort_kernels_of(int dtype);
