/* dialect.c -- CUDA as a row of the devices.
 *
 * Its kernels have the text of Metal's, which translate.c makes CUDA C++ of.
 */
#include "cuda/cuda.h"
#include "cuda/translate.h"

const struct mx_device mx_device_cuda = {
    .row = {.name = "cuda", .title = "CUDA", .kernels = "metal", .suffix = "metal"},
    .dialect =
        {
            .types =
                {
                    [MX_DTYPE_bool] = "bool",
                    [MX_DTYPE_int8] = "char",
                    [MX_DTYPE_int16] = "short",
                    [MX_DTYPE_int32] = "int",
                    [MX_DTYPE_int64] = "long",
                    [MX_DTYPE_uint8] = "uchar",
                    [MX_DTYPE_uint16] = "ushort",
                    [MX_DTYPE_uint32] = "uint",
                    [MX_DTYPE_uint64] = "ulong",
                    [MX_DTYPE_float16] = "half",
                    [MX_DTYPE_bfloat16] = "bfloat",
                    [MX_DTYPE_float32] = "float",
                    [MX_DTYPE_float64] = "double",
                    [MX_DTYPE_complex64] = "float2",
                    [MX_DTYPE_complex128] = "double2",
                },
            .memory = "device ",
            .shared = "threadgroup ",
        },
    .limits =
        {
            .buffers = 31,
            .argument_bytes = MX_TRANSLATE_ARGS * sizeof(int64_t),
            .threadgroup_bytes = 48 << 10,
            .atomic_bytes = 8,
            .work = (int64_t)1 << 38,
        },
    .driver = &mx_cuda_driver,
};
