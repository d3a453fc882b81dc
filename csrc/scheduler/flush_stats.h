#pragma once
/* flush_stats.h -- the record of the last flush, and the costs of its instructions.
 *
 * explain() shows the record: mx_flush_stats_get of mxnp.h.
 */
#include "scheduler/fuse.h"

/* Begins a new record, and adds a group to it. */
void mx_flush_stats_begin(void);
void mx_flush_stats_add(const struct mx_group *group, const struct mx_instruction *instructions,
                        int64_t nanoseconds);

/* Distributes the cost of a group that has run among its instructions: in proportion to the
 * samples that they already hold, or equally.  The calling thread holds the stream. */
void mx_flush_stats_share(const struct mx_group *group, struct mx_instruction *instructions,
                          int64_t begin, int64_t nanoseconds, bool is_on_device);
