#pragma once
/* report.h -- what the last flush did. */
#include "fuse.h"

void mx_report_begin(void);
void mx_report_add(const struct mx_group *group, const struct mx_instruction *instructions,
                   int64_t nanoseconds);
