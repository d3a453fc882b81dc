#pragma once
/* report.h -- what the last flush did. */
#include "scheduler/fuse.h"

void mx_flush_stats_begin(void);
void mx_flush_stats_add(const struct mx_group *group, const struct mx_instruction *instructions,
                        int64_t nanoseconds);

/* Writes onto the instructions of a group that has run what they took: in proportion to what is
 * on them already, or the same for all. */
void mx_flush_stats_share(const struct mx_group *group, struct mx_instruction *instructions,
                          int64_t begin, int64_t nanoseconds, bool is_on_device);
