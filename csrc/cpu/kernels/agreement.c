/* agreement.c -- comparison of the bits of two loops on this machine. */
#include "cpu/kernels/agreement.h"

#include <fenv.h>
#include <math.h>

#include "cpu/kernels/float64.h"

#define BLOCKS 64

/* Returns a number for each seed.  A quarter have any bits, so any magnitude; the others are of
 * the size that functions meet, close to 1, or as large as the limits of exp. */
static double number_of(uint64_t seed)
{
    uint64_t bits = seed * 0x9e3779b97f4a7c15; /* 2**64 over the golden ratio */
    bits = (bits ^ bits >> 29) * 0xbf58476d1ce4e5b9;
    double unit = (double)(bits >> 11) * 0x1p-53;
    switch (seed % 4) {
    case 0:
        return of_bits((int64_t)bits);
    case 1:
        return (unit - 0.5) * 1500;
    case 2:
        return unit * 4;
    default:
        return 1 + (unit - 0.5) * 0.25;
    }
}

static bool are_equal(const double *x, const double *y, int n)
{
    bool are_equal = true;
    for (int i = 0; i < n; i++)
        are_equal &= bits_of(x[i]) == bits_of(y[i]) || (isnan(x[i]) && isnan(y[i]));
    return are_equal;
}

bool mx_agreement_holds(const struct mx_loop *a, const struct mx_loop *b, int nin)
{
    const struct mx_loop *loops[] = {a, b};
    const intptr_t n = MX_BLOCK, strides[] = {sizeof(double), sizeof(double), sizeof(double)};
    double inputs[2][MX_BLOCK], outputs[2][MX_BLOCK];
    bool agree = true;
    fenv_t environment;
    feholdexcept(&environment);
    for (uint64_t at = 0; at < BLOCKS * MX_BLOCK && agree; at += MX_BLOCK) {
        for (uint64_t i = 0; i < MX_BLOCK; i++) {
            inputs[0][i] = number_of(at + i);
            inputs[1][i] = number_of((at + i) * 7 + 3);
        }
        for (int k = 0; k < 2; k++) {
            char *args[] = {(char *)inputs[0], (char *)inputs[1], (char *)outputs[k]};
            args[nin] = (char *)outputs[k];
            loops[k]->function(args, &n, strides, loops[k]->data);
        }
        agree = are_equal(outputs[0], outputs[1], MX_BLOCK);
    }
    fesetenv(&environment);
    return agree;
}
