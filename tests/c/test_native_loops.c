/* test_native_loops.c -- a loop that must have NumPy's bits is used only where it has them. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/conditions.h"
#include "check.h"
#include "cpu/kernels/native_kernels.h"
#include "cpu/kernels/native_loops.h"
#include "ir/dtypes.h"
#include "ir/ops.h"

/* How NumPy's loop computes: the function of the C library, and how many of each 1,000 results
 * differ from it, the last ones. */
struct library {
    double (*function)(double);
    double (*of_two)(double, double);
    int n_different;
};

/* A loop of NumPy's that calls the C library. */
static void call_library(char **args, const intptr_t *dimensions, const intptr_t *strides,
                         void *data)
{
    static int n_results;
    const struct library *library = data;
    const int nin = library->of_two ? 2 : 1;
    for (intptr_t i = 0; i < dimensions[0]; i++) {
        double x[2], y;
        for (int k = 0; k < nin; k++)
            memcpy(&x[k], args[k] + i * strides[k], sizeof x[k]);
        y = library->of_two ? library->of_two(x[0], x[1]) : library->function(x[0]);
        if (n_results++ % 1000 >= 1000 - library->n_different)
            y = nextafter(y, 0.5);
        memcpy(args[nin] + i * strides[nin], &y, sizeof y);
    }
}

static const int dtypes[] = {MX_DTYPE_float64, MX_DTYPE_float64, MX_DTYPE_float64};

/* Returns a positive NaN for negative numbers, as the logarithm of an older C library does. */
static double positive_log(double x) { return copysign(log(x), x < 0 ? 1 : log(x)); }

/* Loops of logarithms and powers keep NumPy's, so its data has to live as long. */
static struct library exponentials = {.function = exp}, logarithms = {.function = positive_log},
                      powers = {.of_two = pow};
static const struct mx_loop numpys_logarithms = {.function = call_library, .data = &logarithms},
                            numpys_powers = {.function = call_library, .data = &powers};

/* Checks that mxnp's loop is used if and only if all results are those of the library. */
static void check_agreement(int op, struct library *library)
{
    struct mx_loop found, numpys = {.function = call_library, .data = library};
    bool is_found = mx_native_loop(&found, op, dtypes, &numpys);
#if defined(__x86_64__) && defined(__GLIBC__)
    CHECK(is_found == (mx_isa() != 0));
#else
    (void)is_found;
#endif
    CHECK(mx_conditions_met() == 0);
    library->n_different = 1;
    CHECK(!mx_native_loop(&found, op, dtypes, &numpys));
    CHECK(mx_conditions_met() == 0);
    library->n_different = 0;
}

/* Checks the logarithms of numbers that are all close to 1, and of some that are not. */
static void check_logarithms(double step)
{
    enum { N = 1000 };
    struct mx_loop found;
    if (!mx_native_loop(&found, MX_OP_log, dtypes, &numpys_logarithms))
        return;
    double from[N], to[N];
    const intptr_t n = N, strides[] = {sizeof(double), sizeof(double)};
    for (int i = 0; i < N; i++)
        from[i] = 1 + (i - N / 2) * step;
    found.function((char *[]){(char *)from, (char *)to}, &n, strides, found.data);
    for (int i = 0; i < N; i++)
        CHECK(to[i] == log(from[i]));
}

/* Checks that the library computes logarithms of negative numbers, at any place and stride, and
 * writes nothing else. */
static void check_logarithms_of_negatives(void)
{
    enum { N = 2000 };
    struct mx_loop found;
    if (!mx_native_loop(&found, MX_OP_log, dtypes, &numpys_logarithms))
        return;
    double from[N], to[N], expected[N];
    for (int step = 1; step <= 2; step++) {
        const intptr_t n = N / step, strides[] = {step * (intptr_t)sizeof(double),
                                                  step * (intptr_t)sizeof(double)};
        for (int i = 0; i < N; i++) {
            from[i] = i % 400 == 0 ? -1.5 : 1.5;
            to[i] = 7;
            expected[i] = i % step == 0 ? positive_log(from[i]) : 7;
        }
        found.function((char *[]){(char *)from, (char *)to}, &n, strides, found.data);
        CHECK(memcmp(to, expected, sizeof to) == 0);
    }
    mx_conditions_clear();
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

/* Checks whether heaviside of a float16 number meets a condition. */
static void check_condition_of_step(uint16_t half, bool is_met)
{
    uint16_t step;
    mx_conditions_clear();
    mx_native_kernels_base.float16[MX_OP_heaviside](&half, &half, &step, 1);
    CHECK((mx_conditions_met() != 0) == is_met);
    mx_conditions_clear();
}

static void check_conditions_of_steps(void)
{
    static const uint16_t signaling[] = {0x7c01, 0x7dff, 0xfc01, 0xfdff},
                          quiet[] = {0, 0x3c00, 0x7c00, 0x7e00, 0x7fff, 0xfe00, 0xffff};
    for (size_t i = 0; i < sizeof signaling / sizeof *signaling; i++)
        check_condition_of_step(signaling[i], true);
    for (size_t i = 0; i < sizeof quiet / sizeof *quiet; i++)
        check_condition_of_step(quiet[i], false);
}

static double random_unit(void)
{
    static uint64_t state;
    uint64_t bits = (state += 0x9e3779b97f4a7c15);
    bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9;
    bits = (bits ^ bits >> 27) * 0x94d049bb133111eb;
    return (double)((bits ^ bits >> 31) >> 11) * 0x1p-53;
}

/* Returns a number of a kind: ordinary, close to 1, of any magnitude, medium, or whole. */
static double random_number(int kind)
{
    switch (kind) {
    case 0:
        return random_unit() * 10;
    case 1:
        return 1 + (random_unit() - 0.5) * exp2(random_unit() * -50);
    case 2:
        return copysign(exp2(random_unit() * 2200 - 1100), random_unit() - 0.5);
    case 3:
        return (random_unit() - 0.5) * exp2(random_unit() * 20);
    default:
        return rint((random_unit() - 0.5) * exp2(random_unit() * 12));
    }
}

enum { N_POWERS = 1000, N_KINDS = 5 };

/* Checks that powers have the bits and the conditions of the C library's. */
static void check_powers_of(const struct mx_loop *loop, const double *x, const double *y, int n)
{
    double ours[N_POWERS], theirs[N_POWERS];
    const intptr_t count = n, strides[] = {sizeof(double), sizeof(double), sizeof(double)};
    mx_conditions_clear();
    loop->function((char *[]){(char *)x, (char *)y, (char *)ours}, &count, strides, loop->data);
    int conditions = mx_conditions_met();
    mx_conditions_clear();
    for (int i = 0; i < n; i++)
        theirs[i] = pow(x[i], y[i]);
    CHECK(conditions == mx_conditions_met());
    mx_conditions_clear();
    for (int i = 0; i < n; i++)
        CHECK((isnan(ours[i]) && isnan(theirs[i])) || !memcmp(&ours[i], &theirs[i], 8));
}

/* Checks a power alone beside ordinary ones. */
static void check_single_power(const struct mx_loop *loop, double x, double y)
{
    enum { N = 16 };
    double bases[N], exponents[N];
    for (int i = 0; i < N; i++) {
        bases[i] = i == 5 ? x : 1.5;
        exponents[i] = i == 5 ? y : -2.5;
    }
    check_powers_of(loop, bases, exponents, N);
}

/* Checks powers of numbers of two kinds, together and alone. */
static void check_kinds(const struct mx_loop *loop, int kind_of_x, int kind_of_y)
{
    double x[N_POWERS], y[N_POWERS];
    for (int round = 0; round < 200; round++) {
        for (int i = 0; i < N_POWERS; i++) {
            x[i] = random_number(kind_of_x);
            y[i] = random_number(kind_of_y);
        }
        check_powers_of(loop, x, y, N_POWERS);
        for (int i = 0; i < 100; i++)
            check_single_power(loop, x[i], y[i]);
    }
}

/* Checks powers of all pairs of numbers at which the method changes, and their negatives. */
static void check_special_powers(const struct mx_loop *loop)
{
    static const double limits[] = {
        0,       1,        0.5,       2,       3,         4,      1.5,   0.1,    5e-324,
        1e-310,  0x1p-65,  0x1p-1022, 0x1p-54, 0x1p-27,   1e-200, 1e200, 0x1p51, 0x1p52,
        0x1p53,  0x1p62,   0x1p63,    0x1p64,  512,       709.5,  745.2, 1074,   1075.5,
        DBL_MAX, INFINITY, NAN,       1e-17,   M_SQRT1_2, M_E,    1e17};
    enum { N = sizeof limits / sizeof *limits };
    for (int i = 0; i < N * 6; i++)
        for (int j = 0; j < N * 6; j++) {
            double pair[] = {limits[i / 6], limits[j / 6]};
            for (int k = 0; k < 2; k++) {
                int variant = (k ? j : i) % 6;
                if (variant % 3 != 0)
                    pair[k] = nextafter(pair[k], variant % 3 == 1 ? 0 : INFINITY);
                if (variant >= 3)
                    pair[k] = -pair[k];
            }
            check_single_power(loop, pair[0], pair[1]);
        }
}

/* Checks that NumPy's loop computes powers with a single exponent if and only if it is simple.
 */
static void check_single_exponent(const struct mx_loop *loop, double exponent, bool is_simple)
{
    double x[3] = {3, 5, 7}, found[3];
    const intptr_t n = 3, strides[] = {sizeof(double), 0, sizeof(double)};
    char *args[] = {(char *)x, (char *)&exponent, (char *)found};
    powers.n_different = 1000;
    loop->function(args, &n, strides, loop->data);
    for (int i = 0; i < n; i++)
        CHECK((found[i] != pow(x[i], exponent)) == is_simple);
    mx_conditions_clear();
    powers.n_different = 0;
}

static void check_single_exponents(const struct mx_loop *loop)
{
    static const double simple[] = {-1, 0, 0.5, 1, 2}, others[] = {3, 1.7, -2, -0.5, 4};
    for (int i = 0; i < 5; i++) {
        check_single_exponent(loop, simple[i], true);
        check_single_exponent(loop, others[i], false);
    }
}

static void run_kernel(char **args, const intptr_t *dimensions, const intptr_t *strides,
                       void *data)
{
    const struct mx_native_kernels *kernels = data;
    (void)strides;
    kernels->float64[MX_OP_power](args[0], args[1], args[2], dimensions[0]);
}

/* Checks the powers of each instruction set of this processor that computes them. */
static void check_powers(void)
{
    static const struct mx_native_kernels *const tables[] = {
#define ISA(name) &mx_native_kernels_##name,
        MX_ISAS(ISA)
#undef ISA
    };
    struct mx_loop found;
    if (!mx_native_loop(&found, MX_OP_power, dtypes, &numpys_powers))
        return;
    check_single_exponents(&found);
    for (int isa = 0; isa <= mx_isa(); isa++) {
        if (!tables[isa]->float64[MX_OP_power])
            continue;
        struct mx_loop loop = {.function = run_kernel, .data = (void *)tables[isa]};
        check_special_powers(&loop);
        for (int kinds = 0; kinds < N_KINDS * N_KINDS; kinds++)
            check_kinds(&loop, kinds % N_KINDS, kinds / N_KINDS);
    }
}

int main(void)
{
    check_powers();
    check_agreement(MX_OP_exp, &exponentials);
    check_agreement(MX_OP_log, &logarithms);
    check_agreement(MX_OP_power, &powers);
    check_agreement(MX_OP_float_power, &powers);
    check_logarithms_of_negatives();
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
    check_conditions_of_steps();

    struct mx_loop found, numpys = {.function = call_library, .data = &exponentials};
    mx_isa_limit(0);
    CHECK(!mx_native_loop(&found, MX_OP_exp, dtypes, &numpys));

    CHECK(mx_native_loop_has_numpys_bits(MX_OP_exp, MX_DTYPE_float64));
    CHECK(mx_native_loop_has_numpys_bits(MX_OP_log, MX_DTYPE_float64));
    CHECK(mx_native_loop_has_numpys_bits(MX_OP_power, MX_DTYPE_float64));
    CHECK(!mx_native_loop_has_numpys_bits(MX_OP_sin, MX_DTYPE_float64));
    CHECK(mx_native_loop_has_numpys_bits(MX_OP_fmod, MX_DTYPE_float64));
    return 0;
}
