#pragma once
/* sort_kernels.h -- kernels over sorted runs of elements, compiled for each instruction set.
 *
 * Their order is NumPy's: NaN is last, two NaN are equal, and so are zeros of both signs.
 * Complex numbers are ordered by their real parts, then by their imaginary parts.
 *
 * The tables mx_sort_kernels_base, _v3 and _v4 are defined in sort_kernels.c.
 */
#include "cpu/kernels/isa.h"
#include "ir/dtypes.h"

/* What tells elements apart that are equal: zeros of both signs, and the bits of NaN. */
struct mx_sort_finding {
    bool has_zero, has_negative_zero;
    uint64_t all_nan, any_nan; /* the bits that all NaN have, and those that one has */
};

enum mx_comparison { MX_RISES = 1, MX_FALLS = 2, MX_STAYS = 4 };

struct mx_sort_kernels {
    /* Merges two sorted runs.  Of equal elements, those of `a` come first.  The elements have
     * places, which move with them, unless place_a is NULL. */
    void (*merge)(const void *a, intptr_t na, const void *b, intptr_t nb, void *out,
                  const int64_t *place_a, const int64_t *place_b, int64_t *place_out);

    /* Returns how many of the first k elements of the merged runs are elements of `a`. */
    intptr_t (*split)(const void *a, intptr_t na, const void *b, intptr_t nb, intptr_t k);

    /* Returns how n elements compare with their next ones: bits of enum mx_comparison. */
    unsigned (*compare)(const void *elements, intptr_t n);

    /* Sets out to the elements at n positions. */
    void (*take)(const void *elements, const int64_t *positions, intptr_t n, void *out);

    /* Sets n hashes, which are the same for equal elements, of which each step-th is hashed. */
    void (*hash)(const void *elements, intptr_t n, intptr_t step, uint64_t *hashes);

    /* Adds to a finding; NULL if equal elements have the same bits. */
    void (*inspect)(const void *elements, intptr_t n, struct mx_sort_finding *finding);

    bool (*is_number)(const void *element); /* it is not NaN */

    /* Sets the buckets of n elements: twice the number of splitters that are less, and one more
     * for each that is equal.  The splitters are numbers, and increasing.  NULL for float16
     * and complex numbers, as the next one. */
    void (*classify)(const void *elements, intptr_t n, const void *splitters, int n_splitters,
                     uint8_t *buckets);

    /* Moves n elements to where those of their buckets go, and their places unless these are
     * NULL. */
    void (*distribute)(const void *elements, intptr_t n, const uint8_t *buckets, intptr_t *to,
                       void *elements_to, const int64_t *places, int64_t *places_to);
};

#define MX_MOST_SPLITTERS 15
#define MX_MOST_BUCKETS   (2 * MX_MOST_SPLITTERS + 1)

/* By dtype; the functions of a dtype that is not sorted are NULL. */
struct mx_sort_table {
    struct mx_sort_kernels kernels[MX_DTYPE_COUNT];
};

#define TABLE(isa) extern const struct mx_sort_table mx_sort_table_##isa;
MX_ISAS(TABLE)
#undef TABLE

/* Returns the kernels of a dtype for the processor.  It is defined in sort.c. */
const struct mx_sort_kernels *mx_sort_kernels_of(int dtype);
