/* atomics.c -- which updates a GPU makes in one atomic operation. */
#include "gpu/atomics.h"

#include "gpu/device.h"
#include "ir/ops.h"

bool mx_atomics_is_sum(int op) { return op == MX_OP_add || op == MX_OP_subtract; }

bool mx_atomics_is_integer(int dtype)
{
    char kind = mx_dtype_get(dtype)->kind;
    return kind == 'i' || kind == 'u';
}

const char *mx_atomics_name(int op, int dtype)
{
    static const char *const names[MX_OP_COUNT] = {
        [MX_OP_add] = "add",         [MX_OP_subtract] = "add",    [MX_OP_maximum] = "max",
        [MX_OP_minimum] = "min",     [MX_OP_bitwise_and] = "and", [MX_OP_bitwise_or] = "or",
        [MX_OP_bitwise_xor] = "xor",
    };
    const struct mx_limits *limits = &mx_device_used()->limits;
    int size = mx_dtype_get(dtype)->itemsize;
    bool is_float = mx_dtype_get(dtype)->kind == 'f' || mx_dtype_get(dtype)->kind == 'c';
    bool has_operation = mx_atomics_is_integer(dtype)
                             ? size >= 4 && size <= limits->atomic_bytes
                             : is_float && mx_atomics_is_sum(op) && limits->adds_floats;
    return has_operation && op < MX_OP_COUNT ? names[op] : NULL;
}

bool mx_atomics_support(int op, int dtype)
{
    return mx_device_used() && mx_device_supports(dtype) &&
           (op == MX_COPY ||
            mx_dtype_get(dtype)->itemsize <= mx_device_used()->limits.atomic_bytes ||
            mx_atomics_name(op, dtype));
}
