#pragma once
/* scan.h -- groups that are one scan: running results along an axis.
 *
 * Each result depends on the one before it, so a scan is divided only across its axis.  A unit
 * is a single line along the axis or, where memory lies across it, a row of lines side by side.
 */
#include "cpu/plan/plan.h"

/* Plans the chunks of a program whose only call is a scan. */
void mx_scan_plan(struct mx_program *program);

void mx_scan_run_chunk(const struct mx_program *program, size_t chunk);
