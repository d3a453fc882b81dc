#pragma once
/* batch.h -- the groups that were begun and not waited for, and the words of their kernels.
 *
 * What happens on the device is told in words of one buffer, which the host reads when it
 * waits: the conditions that a step met, and checks that failed.  A kernel does not run after
 * a check that failed before its own.
 */
#include "gpu/kernel.h"

int mx_batch_begin(void); /* unless there is one; status */
bool mx_batch_is_begun(void);
bool mx_batch_has_checks(void);
bool mx_batch_has_room(int n_steps);
struct mx_buffer *mx_batch_buffer(void); /* of the words; the batch's */

/* Words for the steps of the group that may be the next of the batch. */
void mx_batch_give_words(struct mx_words *out, const struct mx_group *group,
                         struct mx_instruction *instructions);

int mx_batch_word_count(void);
void mx_batch_take_back(int n_words); /* those given since there were so many */
void mx_batch_add(const struct mx_group *group);

void mx_batch_read(void); /* once all kernels have run: tells the instructions */
void mx_batch_end(void);
