#pragma once
/* scans.h -- the kernels of running results along an axis. */
#include "gpu/kernel.h"

/* How the elements of a scan are divided among threads. */
struct mx_scan_shape {
    int axis;
    int threads;      /* of a line: some lanes of a SIMD-group, or a threadgroup */
    int64_t lines;    /* along the axis */
    int64_t length;   /* elements of each */
    int64_t segments; /* parts into which each line is cut */
    int64_t segment;  /* elements of each, but the last one may have fewer */
};

/* Chooses the shape, and the pack of the kernel. */
struct mx_scan_shape mx_scans_shape(struct mx_kernel *kernel);

/* The passes of a scan.  If there is one segment, the last pass is the only one. */
enum mx_scan_pass {
    MX_SCAN_TOTALS,  /* stores the total of each segment */
    MX_SCAN_CARRIES, /* replaces the totals by their running results */
    MX_SCAN_RESULTS  /* stores the results of each segment */
};

/* Bytes of the totals of all segments. */
size_t mx_scans_total_bytes(const struct mx_kernel *kernel, const struct mx_scan_shape *shape);

/* Prints the kernel of a pass.  `totals` is not used if there is one segment. */
void mx_scans_print(struct mx_kernel *kernel, const struct mx_status_words *words,
                    const struct mx_scan_shape *shape, enum mx_scan_pass pass,
                    struct mx_buffer *totals);
