/* test_native_loops.c -- a loop that must have NumPy's bits is used only where it has them. */
#include <math.h>
#include <string.h>

#include "base/conditions.h"
#include "check.h"
#include "cpu/kernels/isa.h"
#include "cpu/kernels/native_loops.h"
#include "ir/dtypes.h"
#include "ir/ops.h"

/* How NumPy's loop computes: the function of the C library, and how many of each 1,000 results
 * differ from it, the last ones. */
struct library {
    double (*function)(double);
    int n_different;
};

/* A loop of NumPy's that calls the C library. */
static void call_library(char **args, const intptr_t *dimensions, const intptr_t *strides,
                         void *data)
{
    static int n_results;
    const struct library *library = data;
    for (intptr_t i = 0; i < dimensions[0]; i++) {
        double x, y;
        memcpy(&x, args[0] + i * strides[0], sizeof x);
        y = library->function(x);
        if (n_results++ % 1000 >= 1000 - library->n_different)
            y = nextafter(y, 0.5);
        memcpy(args[1] + i * strides[1], &y, sizeof y);
    }
}

static const int dtypes[] = {MX_DTYPE_float64, MX_DTYPE_float64};

/* Checks that mxnp's loop is used if and only if all results are those of the function. */
static void check_agreement(int op, double (*function)(double))
{
    struct library library = {.function = function};
    struct mx_loop found, numpys = {.function = call_library, .data = &library};
    bool is_found = mx_native_loop(&found, op, dtypes, &numpys);
#if defined(__x86_64__) && defined(__GLIBC__)
    CHECK(is_found == (mx_isa() != 0));
#else
    (void)is_found;
#endif
    CHECK(mx_conditions_met() == 0);
    library.n_different = 1;
    CHECK(!mx_native_loop(&found, op, dtypes, &numpys));
    CHECK(mx_conditions_met() == 0);
}

/* Checks the logarithms of numbers that are all close to 1, and of some that are not. */
static void check_logarithms(double step)
{
    enum { N = 1000 };
    struct library library = {.function = log};
    struct mx_loop found, numpys = {.function = call_library, .data = &library};
    if (!mx_native_loop(&found, MX_OP_log, dtypes, &numpys))
        return;
    double from[N], to[N];
    const intptr_t n = N, strides[] = {sizeof(double), sizeof(double)};
    for (int i = 0; i < N; i++)
        from[i] = 1 + (i - N / 2) * step;
    found.function((char *[]){(char *)from, (char *)to}, &n, strides, found.data);
    for (int i = 0; i < N; i++)
        CHECK(to[i] == log(from[i]));
}

/* Checks the conditions, as NumPy's number, of a function of 1, 5 and x together. */
static void check_conditions(int op, double (*function)(double), double x, int conditions)
{
    struct library library = {.function = function};
    struct mx_loop found, numpys = {.function = call_library, .data = &library};
    if (!mx_native_loop(&found, op, dtypes, &numpys))
        return;
    double from[] = {1, 5, x}, to[3];
    const intptr_t n = 3, strides[] = {sizeof(double), sizeof(double)};
    found.function((char *[]){(char *)from, (char *)to}, &n, strides, found.data);
    CHECK(mx_conditions_met() == conditions);
    mx_conditions_clear();
}

/* Checks that exp of a number and of its negative meet the same conditions. */
static void check_conditions_of_exp(double x, int conditions)
{
    check_conditions(MX_OP_exp, exp, x, conditions);
    check_conditions(MX_OP_exp, exp, -x, conditions);
}

int main(void)
{
    check_agreement(MX_OP_exp, exp);
    check_agreement(MX_OP_log, log);
    check_logarithms(1.2e-4);
    check_logarithms(1.2e-3);
    check_conditions_of_exp(0, 0);
    check_conditions_of_exp(5e-324, 0);
    check_conditions_of_exp(1e-310, 0);
    check_conditions_of_exp(1e-200, 0);
    check_conditions_of_exp(0x1p-55, 0);
    check_conditions_of_exp(600, 0);
    check_conditions_of_exp(NAN, 0);
    check_conditions(MX_OP_exp, exp, 710, 2);
    check_conditions(MX_OP_exp, exp, -746, 4);
    check_conditions(MX_OP_log, log, 1e308, 0);
    check_conditions(MX_OP_log, log, 5e-324, 0);
    check_conditions(MX_OP_log, log, INFINITY, 0);
    check_conditions(MX_OP_log, log, NAN, 0);
    check_conditions(MX_OP_log, log, 0, 1);
    check_conditions(MX_OP_log, log, -1, 8);

    struct library library = {.function = exp};
    struct mx_loop found, numpys = {.function = call_library, .data = &library};
    mx_isa_limit(0);
    CHECK(!mx_native_loop(&found, MX_OP_exp, dtypes, &numpys));

    CHECK(mx_native_loop_has_numpys_bits(MX_OP_exp, MX_DTYPE_float64));
    CHECK(mx_native_loop_has_numpys_bits(MX_OP_log, MX_DTYPE_float64));
    CHECK(!mx_native_loop_has_numpys_bits(MX_OP_sin, MX_DTYPE_float64));
    CHECK(mx_native_loop_has_numpys_bits(MX_OP_fmod, MX_DTYPE_float64));
    return 0;
}
