/* test_native_loops.c -- a loop that must have NumPy's bits is used only where it has them. */
#include <math.h>
#include <string.h>

#include "base/conditions.h"
#include "check.h"
#include "cpu/kernels/isa.h"
#include "cpu/kernels/native_loops.h"
#include "ir/dtypes.h"
#include "ir/ops.h"

/* A loop of NumPy's that calls the C library.  `data` is how many results differ, the last ones
 * of each 1,000. */
static void call_library(char **args, const intptr_t *dimensions, const intptr_t *strides,
                         void *data)
{
    static int n_results;
    for (intptr_t i = 0; i < dimensions[0]; i++) {
        double x, y;
        memcpy(&x, args[0] + i * strides[0], sizeof x);
        y = exp(x);
        if (n_results++ % 1000 >= 1000 - *(const int *)data)
            y = nextafter(y, 0.5);
        memcpy(args[1] + i * strides[1], &y, sizeof y);
    }
}

int main(void)
{
    const int dtypes[] = {MX_DTYPE_float64, MX_DTYPE_float64};
    int n_different = 0;
    struct mx_loop found, library = {.function = call_library, .data = &n_different};
    int isa = mx_isa();
    bool is_found = mx_native_loop(&found, MX_OP_exp, dtypes, &library);
#if defined(__x86_64__) && defined(__GLIBC__)
    CHECK(is_found == (isa != 0));
#else
    (void)isa;
    (void)is_found;
#endif
    CHECK(mx_conditions_met() == 0);
    n_different = 1;
    CHECK(!mx_native_loop(&found, MX_OP_exp, dtypes, &library));
    CHECK(mx_conditions_met() == 0);
    mx_isa_limit(0);
    n_different = 0;
    CHECK(!mx_native_loop(&found, MX_OP_exp, dtypes, &library));

    CHECK(mx_native_loop_has_numpys_bits(MX_OP_exp, MX_DTYPE_float64));
    CHECK(!mx_native_loop_has_numpys_bits(MX_OP_sin, MX_DTYPE_float64));
    CHECK(mx_native_loop_has_numpys_bits(MX_OP_fmod, MX_DTYPE_float64));
    return 0;
}
