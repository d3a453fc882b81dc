/* dialect.c -- Metal as a row of the devices: the Metal Shading Language, and Metal's limits.
 */
#include "metal/metal.h"

/* -- Kernel language --------------------------------------------------------------- */

static const char *const positions[] = {
    [MX_THREADS] = "uint3 at [[thread_position_in_grid]]",
    [MX_THREADGROUPS] = "uint3 group [[threadgroup_position_in_grid]],\n"
                        "    uint thread_index [[thread_index_in_threadgroup]]",
};

static void print_head(struct mx_text *text, const struct mx_head *head)
{
    int n = head->n_buffers;
    mx_text_print(text, "kernel void mx_group(");
    for (int b = 0; b < n; b++)
        mx_text_print(text, "device %suchar *m%d [[buffer(%d)]], ",
                      head->is_written[b] ? "" : "const ", b, b);
    if (head->has_status)
        mx_text_print(text, "device atomic_uint *status [[buffer(%d)]], ", n++);
    mx_text_print(text, "constant long *args [[buffer(%d)]],\n    %s)\n{\n", n,
                  positions[head->grid]);
}

/* -- The row ----------------------------------------------------------------------- */

const struct mx_device mx_device_metal = {
    .row = {.name = "metal", .title = "Metal", .suffix = "metal"},
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
            .print_head = print_head,
        },
    .limits =
        {
            .buffers = 31,
            .argument_bytes = 4096, /* of setBytes */
            .threadgroup_bytes = 32768,
            .atomic_bytes = 4,
        },
#ifdef MX_METAL
    .driver = &mx_metal_driver,
#endif
};
