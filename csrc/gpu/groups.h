#pragma once
/* groups.h -- the kernels of a group are written, compiled and encoded. */
#include "gpu/kernel.h"

void mx_groups_use(const char *prelude); /* what all kernels begin with */

/* Status; MX_DECLINED, perhaps with some of the kernels encoded. */
int mx_groups_encode(const struct mx_group *group, struct mx_instruction *instructions,
                     const struct mx_words *words);

int64_t mx_groups_rejected(void); /* kernels that were not compiled */
