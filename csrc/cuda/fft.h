#pragma once
/* fft.h -- Fourier transforms with cuFFT. */
#include "cuda/api.h"
#include "gpu/device.h"

/* Both need the current context.  See `prepare_transform` and `transform` of struct mx_driver.
 */
int mx_fft_prepare(const struct mx_transform *transform, size_t *scratch,
                   mx_cuda_stream stream);
int mx_fft_run(const struct mx_transform *transform, void *const *memories,
               mx_cuda_stream stream);
