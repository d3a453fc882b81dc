#pragma once
/* reductions.h -- the kernels of reductions and of searches for an extreme. */
#include "gpu/kernel.h"

/* How the elements of a reduction are divided among threads.  A thread loads a batch of
 * elements before it combines them, so that the memory always has loads to serve. */
struct mx_reduce_shape {
    int64_t n_units;  /* results */
    int64_t length;   /* elements of each result */
    int64_t segments; /* parts into which these elements are cut */
    int64_t segment;  /* elements of each, but the last one may have fewer */
    int width;        /* threads side by side that have different results */
    int results;      /* adjacent results of a thread */
    int batch;        /* loads of a view by a thread at a time; 1: none is ahead of its use */
    bool has_columns; /* adjacent threads have adjacent results, not elements of one */
};

/* What the segments of a reduction found. */
struct mx_partials {
    struct mx_buffer *results;
    struct mx_buffer *indices; /* of a search, in 64 bits */
};

/* Chooses the shape, and the pack of the kernel. */
struct mx_reduce_shape mx_reductions_shape(struct mx_kernel *kernel);

/* Prints the kernel of a group with reductions.  If there are several segments, what they find
 * goes to `partials`, which has an element for each step. */
void mx_reductions_print(struct mx_kernel *kernel, const struct mx_status_words *words,
                         const struct mx_reduce_shape *shape,
                         const struct mx_partials *partials);

/* Prints the kernel that then combines the segments of one step. */
void mx_reductions_print_combine(struct mx_kernel *kernel, const struct mx_status_words *words,
                                 int step, const struct mx_reduce_shape *shape,
                                 const struct mx_partials *partials);

/* Bytes of a threadgroup's shared variables in the kernel of a group with reductions. */
size_t mx_reductions_shared_bytes(const struct mx_kernel *kernel,
                                  const struct mx_reduce_shape *shape);
