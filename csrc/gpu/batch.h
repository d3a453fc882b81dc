#pragma once
/* batch.h -- the groups that have begun since the last wait, and the status words of their
 * kernels.
 *
 * Kernels report in 32-bit words of one buffer, which the host reads when it waits.  A step
 * that may have something to report has one word: it contains the floating-point conditions
 * that the step met, and whether a check failed.  The first word is the complement of the least
 * number of a group with a check that failed, or 0.  The kernels of later groups read it and do
 * not run.  All words are 0 before a batch, so they are renewed only after a report.
 *
 * If the host cannot read the device's memory, it reads the words only after a report: a kernel
 * that reports anything also sets a word of the host.
 */
#include "gpu/kernel.h"

int mx_batch_begin(void); /* unless one has begun; returns a status */
bool mx_batch_is_begun(void);
bool mx_batch_has_checks(void);
bool mx_batch_has_room(int n_steps);

/* Returns the buffer of the status words, for a kernel; the reference is borrowed.  Returns a
 * status. */
int mx_batch_prepare_words(struct mx_buffer **buffer);

/* Assigns status words to the steps of a group that may be the next of the batch. */
void mx_batch_assign_words(struct mx_status_words *out, const struct mx_group *group,
                           struct mx_instruction *instructions);

/* Returns the words that were assigned since there were `n_words`. */
void mx_batch_return_words(int n_words);
int mx_batch_word_count(void);

void mx_batch_add(const struct mx_group *group);

/* Copies the status words to the instructions.  All kernels must have run, unless the device
 * has memory of its own: then this waits for them.  Returns a status. */
int mx_batch_read(void);
void mx_batch_end(void);
