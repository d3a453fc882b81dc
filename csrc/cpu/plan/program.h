#pragma once
/* program.h -- prepares a group for execution on the processor, and runs it chunk by chunk. */
#include "cpu/plan/plan.h"

/* Allocates the memory that the group needs and plans its chunks.  Returns a status;
 * mx_program_free frees *out. */
int mx_program_new(struct mx_program **out, const struct mx_group *group,
                   struct mx_instruction *instructions);
void mx_program_free(struct mx_program *program);

/* Runs one chunk; scratch belongs to the calling thread and is aligned to 64 bytes. */
void mx_program_run_chunk(struct mx_program *program, size_t chunk, char *scratch);

/* Completes the results after the last chunk, and writes the sampled times of the calls onto
 * the instructions. */
void mx_program_finish(struct mx_program *program);
