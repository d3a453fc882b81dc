#pragma once
/* groups.h -- prints, compiles and encodes the kernels of a group. */
#include "gpu/kernel.h"

void mx_groups_use(const char *const *preludes); /* the texts are not copied, or NULL */

/* Returns a status.  MX_DECLINED: the group must run elsewhere, but some of its kernels may
 * have been encoded.  While a kernel is compiled, calls `begin_others`, unless that is NULL. */
int mx_groups_encode(const struct mx_group *group, struct mx_instruction *instructions,
                     const struct mx_status_words *words, void (*begin_others)(void));

/* Begins to compile the kernels of a group.  Of the numbers of the words it only matters which
 * are 0. */
void mx_groups_begin(const struct mx_group *group, struct mx_instruction *instructions,
                     const struct mx_status_words *words);

const char *mx_groups_text(void); /* of the last kernel, without the prelude */

/* The number of kernels that the compiler rejected, and its last message about one. */
int64_t mx_groups_rejected(void);
const char *mx_groups_rejection(void);
