/* test_tables.c -- the rows of ops.def and dtypes.def, and numbers out of their range. */
#include <string.h>

#include "check.h"
#include "ir/dtypes.h"
#include "ir/ops.h"

int main(void)
{
    CHECK(mx_op_count() == MX_OP_COUNT);
    CHECK(strcmp(mx_op_get(MX_OP_add)->name, "add") == 0);
    CHECK(strcmp(mx_op_get(MX_OP_modf)->expression, "mx_modf(a, &c)") == 0);
    CHECK(mx_op_get(MX_OP_modf)->nout == 2);
    CHECK(!mx_op_get(-1));
    CHECK(!mx_op_get(MX_OP_COUNT));

    CHECK(mx_dtype_count() == MX_DTYPE_COUNT);
    CHECK(strcmp(mx_device_type_name(0, MX_DTYPE_float16), "half") == 0);
    CHECK(strcmp(mx_device_type_name(0, MX_DTYPE_float64), "") == 0);
    CHECK(!mx_dtype_get(-1));
    CHECK(!mx_dtype_get(MX_DTYPE_COUNT));
    return 0;
}
