/* dialect.c -- CUDA as a row of the devices.
 *
 * Its kernels have the text of Metal's, which translate.c makes CUDA C++ of.
 */
#include "cuda/cuda.h"
#include "cuda/translate.h"

const struct mx_device mx_device_cuda = {
    .row = {.name = "cuda",
            .title = "CUDA",
            .kernels = "metal",
            .suffix = "metal",
            .argument_bytes = MX_TRANSLATE_ARGS * sizeof(int64_t),
            .auto_size = 1 << 15,
            .opening = 4 << 10,
            .makes_progress = 1},
    .types = {MX_KERNEL_TYPES, [MX_DTYPE_float64] = "double",
              [MX_DTYPE_complex128] = "double2"},
    .limits =
        {
            .buffers = 31,
            .threadgroup_bytes = 48 << 10,
            .atomic_bytes = 8,
            .adds_floats = true,
            .work = (int64_t)1 << 38,
            .threadgroups = 2112, /* 16 for each of the 132 multiprocessors of an H200 */
            .bytes_in_flight = 64,
        },
    .driver = &mx_cuda_driver,
};
