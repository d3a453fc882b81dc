#pragma once
/* buckets.h -- moves elements into buckets, on all threads.
 *
 * The splitters of buckets are elements of a sorted sample.  The buckets with an even number
 * have the elements between two splitters, and the others those equal to one.  In a bucket,
 * elements keep their order.
 */
#include "cpu/kernels/sort_kernels.h"

struct mx_block;

struct mx_buckets {
    const struct mx_sort_kernels *kernels;
    size_t itemsize;
    mx_sort_function *sort; /* sorts the sample */
    void *array;            /* its argument */

    char *elements;     /* a row without gaps */
    int64_t *positions; /* which move with the elements, or NULL */
    intptr_t begin, end;

    char *elements_to; /* where they move */
    int64_t *positions_to;
    uint8_t *numbers; /* of the buckets of the elements */
    intptr_t *counts; /* by chunk, lane and bucket; then where the next element goes */
    char splitters[MX_MOST_SPLITTERS * MX_MOST_ITEMSIZE];
    int n_splitters;
};

/* Takes memory for the elements begin..end-1, and sets where it is.  Returns NULL if there is
 * none. */
struct mx_block *mx_buckets_take_memory(struct mx_buckets *buckets);

/* Sets the splitters to the elements of a sample with some increasing ranks among n_samples.
 * There are fewer if elements are equal or NaN.  The range has more elements than the sample.
 * Returns a status. */
int mx_buckets_choose(struct mx_buckets *buckets, int n_samples, const int *ranks, int n_ranks);

/* Moves the elements begin..end-1.  Sets where each bucket ends. */
void mx_buckets_divide(struct mx_buckets *buckets, intptr_t *ends);

/* Returns the number of buckets, empty ones included. */
static inline int mx_buckets_count(const struct mx_buckets *buckets)
{
    return 2 * buckets->n_splitters + 1;
}

static inline char *mx_buckets_at(const struct mx_buckets *buckets, char *elements, intptr_t i)
{
    return elements + (size_t)i * buckets->itemsize;
}
