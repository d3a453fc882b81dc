#pragma once
/* passes.h -- the kernels: passes over elements, reductions, scans and scatters. */
#include "gpu/kernel.h"

/* How the elements of a reduction are divided among threads. */
struct mx_reduce_shape {
    int64_t n_units;  /* results */
    int64_t length;   /* elements of each result */
    int64_t segments; /* parts into which these elements are cut */
    int64_t segment;  /* elements of each, but the last one may have fewer */
    int width;        /* results that a threadgroup computes side by side */
    bool has_columns; /* adjacent threads have adjacent results, not elements of one */
};

void mx_passes_print_map(struct mx_kernel *kernel, const struct mx_status_words *words);

/* Chooses the shape, and the pack of the kernel. */
struct mx_reduce_shape mx_passes_reduce_shape(struct mx_kernel *kernel);

/* Prints the kernel of a group with reductions.  If there are several segments, their results
 * go to `partials`, one buffer for each reduction in order, which must be large enough. */
void mx_passes_print_reduce(struct mx_kernel *kernel, const struct mx_status_words *words,
                            const struct mx_reduce_shape *shape, struct mx_buffer **partials);

/* Prints the kernel that then combines the segments of one reduction. */
void mx_passes_print_combine(struct mx_kernel *kernel, const struct mx_status_words *words,
                             int step, const struct mx_reduce_shape *shape,
                             struct mx_buffer *partial);

/* The type in which a reduction accumulates its result. */
const char *mx_passes_partial_type(const struct mx_instruction *in, int *itemsize);

/* Bytes of a threadgroup's shared variables in the kernel of a group with reductions. */
size_t mx_passes_shared_bytes(const struct mx_kernel *kernel,
                              const struct mx_reduce_shape *shape);

/* Whether a search or a scan has so few and so long lines that the processor is faster, or
 * threads that would run too long: a line has one threadgroup or less, and cannot be cut. */
bool mx_passes_has_long_searches(const struct mx_kernel *kernel,
                                 const struct mx_reduce_shape *shape);
bool mx_passes_has_long_scans(const struct mx_kernel *kernel);

void mx_passes_print_scan(struct mx_kernel *kernel, const struct mx_status_words *words);

/* The pass of a scatter.  If several values may go to one element, there are two passes, and
 * `winners` has a number for each element, zero at first.  The first pass stores which value is
 * the last, and the second one writes that value. */
enum mx_scatter_pass { MX_SCATTER_UPDATES, MX_SCATTER_FINDS_LAST, MX_SCATTER_WRITES_LAST };
void mx_passes_print_scatter(struct mx_kernel *kernel, const struct mx_status_words *words,
                             enum mx_scatter_pass pass, struct mx_buffer *winners);
