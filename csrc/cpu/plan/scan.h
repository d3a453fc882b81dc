#pragma once
/* scan.h -- groups that are one scan: running results along an axis.
 *
 * Each result comes from the one before it, so a scan is cut across its axis alone: into
 * units, which are single lines along the axis or, where memory lies across it, rows of them
 * side by side.
 */
#include "cpu/plan/program.h"

/* Plans the chunks of a program whose only call is a scan. */
void mx_scan_plan(struct mx_program *program);

void mx_scan_run_chunk(const struct mx_program *program, size_t chunk);
