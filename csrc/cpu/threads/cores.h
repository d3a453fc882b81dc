#pragma once
/* cores.h -- how many threads this process can really run at once. */
#include "base/base.h"

/* What its affinity and its container leave it; of Apple's cores the fast ones.  >= 1. */
int mx_cores_count(void);
