#pragma once
/* gather.h -- copies the elements, or the rows of elements, that indices select. */
#include "cpu/plan/plan.h"

/* A loop over indices, the elements that they select, and the output.  Its data argument is the
 * instruction. */
void mx_gather_loop(char **args, const intptr_t *dimensions, const intptr_t *strides,
                    void *data);

/* Plans the chunks of a program whose only call gathers rows. */
void mx_gather_plan(struct mx_program *program);
void mx_gather_run_chunk(const struct mx_program *program, size_t chunk);
