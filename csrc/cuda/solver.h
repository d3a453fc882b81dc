#pragma once
/* solver.h -- factorizations of matrices with cuSOLVER. */
#include "cuda/api.h"
#include "gpu/device.h"

/* Both need the current context.  See `prepare` and `call` of struct mx_driver. */
int mx_solver_prepare(const struct mx_linear *linear, size_t *scratch, mx_cuda_stream stream);
int mx_solver_run(const struct mx_linear *linear, void *const *memories, mx_cuda_stream stream);
