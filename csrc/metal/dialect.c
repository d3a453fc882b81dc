/* dialect.c -- Metal as a row of the devices: the Metal Shading Language, and Metal's limits.
 */
#include "metal/metal.h"

const struct mx_device mx_device_metal = {
    .row = {.name = "metal", .title = "Metal", .kernels = "metal", .suffix = "metal"},
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
                    [MX_DTYPE_complex64] = "float2",
                },
            .memory = "device ",
            .shared = "threadgroup ",
        },
    .limits =
        {
            .buffers = 31,
            .argument_bytes = 4096, /* of setBytes */
            .threadgroup_bytes = 32768,
            .atomic_bytes = 4,
            .work = (int64_t)1 << 35, /* about 1/30 s of the first M1 */
            .shares_memory = true,
        },
#ifdef MX_METAL
    .driver = &mx_metal_driver,
#endif
};
