#pragma once
/* blas.h -- products of matrices with cuBLAS. */
#include "cuda/api.h"
#include "gpu/device.h"

/* Encodes products, in the current context.  See `multiply` of struct mx_driver. */
int mx_blas_multiply(const struct mx_product *product, int dtype, void *const *memories,
                     mx_cuda_stream stream);
