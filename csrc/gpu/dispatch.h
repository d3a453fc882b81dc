#pragma once
/* dispatch.h -- a compiled kernel is bound to memory and encoded. */
#include "gpu/device.h"
#include "gpu/kernel.h"

/* Whether all memory of a group can be bound: what is not the pool's is copied, and so must not
 * be more than `most` bytes nor be written. */
bool mx_dispatch_can_bind(const struct mx_group *group, size_t most);

/* Binds these and, unless NULL, the buffer of the words after them, and encodes the rest of the
 * dispatch as it is.  Copies are held by what was encoded.  Status. */
int mx_dispatch_encode(struct mx_dispatch *dispatch, const struct mx_binding *bindings, int n,
                       struct mx_buffer *words);
