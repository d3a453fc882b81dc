#pragma once
/* dispatch.h -- binds a compiled kernel to memory and encodes it. */
#include "gpu/kernel.h"

/* Whether all memory of a group can be bound.  Memory outside the pool is copied, so it must
 * not have more than `max_bytes` bytes.  If the device shares the processor's memory, it must
 * not be written either. */
bool mx_dispatch_can_bind(const struct mx_group *group, size_t max_bytes);

/* Binds the `bindings` and then the status words, unless these are NULL, and encodes the
 * dispatch, whose other fields are set.  If its work is above the limit, several dispatches
 * with a part of its grid each are encoded.  The driver retains copies.  Returns a status. */
int64_t mx_dispatch_work(void); /* of all dispatches since the start, as estimated */

int mx_dispatch_encode(struct mx_dispatch *dispatch, const struct mx_binding *bindings, int n,
                       struct mx_buffer *words);

/* Lets a library of the driver compute what a launch asks for, with elements of a dtype.
 * MX_ERROR_VALUE if there is none, or it cannot: nothing was done then. */
int mx_dispatch_call(const struct mx_launch *launch, int dtype,
                     const struct mx_binding *bindings, int n);
