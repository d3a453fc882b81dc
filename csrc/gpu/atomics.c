/* atomics.c -- which updates a GPU makes in one atomic operation. */
#include "gpu/atomics.h"

#include "gpu/device.h"
#include "ir/ops.h"

bool mx_atomics_is_sum(int op) { return op == MX_OP_add || op == MX_OP_subtract; }

const char *mx_atomics_name(int op, int dtype)
{
    static const char *const names[MX_OP_COUNT] = {
        [MX_OP_add] = "add",         [MX_OP_subtract] = "add",    [MX_OP_maximum] = "max",
        [MX_OP_minimum] = "min",     [MX_OP_bitwise_and] = "and", [MX_OP_bitwise_or] = "or",
        [MX_OP_bitwise_xor] = "xor",
    };
    const struct mx_limits *limits = &mx_device_used()->limits;
    int size = mx_dtype_get(dtype)->itemsize;
    bool has_operation =
        mx_dtype_is_integer(dtype)
            ? size >= 4 && size <= limits->atomic_bytes
            : mx_dtype_is_inexact(dtype) && mx_atomics_is_sum(op) && limits->adds_floats;
    return has_operation && op < MX_OP_COUNT ? names[op] : NULL;
}

/* Whether several updates of an element have the same result in any order, apart from the last
 * bits of floats. */
static bool may_reorder(int op)
{
    static const bool may[MX_OP_COUNT] = {
        [MX_OP_add] = true,         [MX_OP_subtract] = true,    [MX_OP_multiply] = true,
        [MX_OP_divide] = true,      [MX_OP_power] = true,       [MX_OP_float_power] = true,
        [MX_OP_maximum] = true,     [MX_OP_minimum] = true,     [MX_OP_fmax] = true,
        [MX_OP_fmin] = true,        [MX_OP_equal] = true,       [MX_OP_not_equal] = true,
        [MX_OP_logical_and] = true, [MX_OP_logical_or] = true,  [MX_OP_logical_xor] = true,
        [MX_OP_bitwise_and] = true, [MX_OP_bitwise_or] = true,  [MX_OP_bitwise_xor] = true,
        [MX_OP_left_shift] = true,  [MX_OP_right_shift] = true, [MX_OP_gcd] = true,
        [MX_OP_logaddexp] = true,   [MX_OP_logaddexp2] = true,  [MX_OP_hypot] = true,
        [MX_OP_ldexp] = true,
    };
    return op < MX_OP_COUNT && may[op];
}

bool mx_atomics_support(int op, int dtype)
{
    bool is_narrow = mx_device_used() &&
                     mx_dtype_get(dtype)->itemsize <= mx_device_used()->limits.atomic_bytes;
    return mx_device_used() && mx_device_supports(dtype) &&
           (op == MX_COPY || (may_reorder(op) && (is_narrow || mx_atomics_name(op, dtype))));
}
