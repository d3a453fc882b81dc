/* dialect.c -- Metal as a row of the devices: the Metal Shading Language, and Metal's limits.
 */
#include "metal/metal.h"

const struct mx_device mx_device_metal = {
    .row = {.name = "metal",
            .title = "Metal",
            .kernels = "metal",
            .suffix = "metal",
            .argument_bytes = 4096, /* of setBytes */
            .auto_size = 1 << 17},
    .types = {MX_KERNEL_TYPES},
    .limits =
        {
            .buffers = 31,
            .threadgroup_bytes = 32768,
            .atomic_bytes = 4,
            .work = (int64_t)1 << 35, /* about 1/30 s of the first M1 */
            .threadgroups = 256,
            .bytes_in_flight = 16,
            .shares_memory = true,
        },
#ifdef MX_METAL
    .driver = &mx_metal_driver,
#endif
};
