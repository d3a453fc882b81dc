/* test_layouts.c -- the layouts in which a loop rounds a few results in another way are found.
 */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "check.h"
#include "ir/dtypes.h"
#include "ir/layouts.h"

enum { RARE = 500 };

static int n_calls, longest;

/* The square root. Of inputs or outputs that are not contiguous, one result in RARE differs. */
static void root(char **args, const intptr_t *n, const intptr_t *strides, void *data)
{
    (void)data;
    bool is_contiguous = strides[0] == sizeof(double) && strides[1] == sizeof(double);
    n_calls++;
    longest = (int)*n > longest ? (int)*n : longest;
    for (intptr_t i = 0; i < *n; i++) {
        double x;
        memcpy(&x, args[0] + i * strides[0], sizeof x);
        double y = sqrt(x);
        if (!is_contiguous && i % RARE == RARE - 1)
            y = nextafter(y, INFINITY);
        memcpy(args[1] + i * strides[1], &y, sizeof y);
    }
}

/* A copy of float16 numbers. Of reversed ones, the result for one number differs. */
static void copy(char **args, const intptr_t *n, const intptr_t *strides, void *data)
{
    const uint16_t *number = data;
    for (intptr_t i = 0; i < *n; i++) {
        uint16_t x;
        memcpy(&x, args[0] + i * strides[0], sizeof x);
        if (strides[0] < 0 && x == *number)
            x++;
        memcpy(args[1] + i * strides[1], &x, sizeof x);
    }
}

static int layouts_of(mx_loop_function function, void *data, int dtype, bool is_thorough)
{
    const struct mx_loop loop = {.function = function, .data = data};
    const int dtypes[] = {dtype, dtype};
    return mx_layouts_of_bits(&loop, 1, 1, dtypes, is_thorough);
}

int main(void)
{
    const int all = MX_REVERSED | MX_STRIDED | MX_STRIDED_OUTPUT;
    CHECK(layouts_of(root, NULL, MX_DTYPE_float64, false) == 0);
    CHECK(longest < RARE && n_calls > 1);
    CHECK(layouts_of(root, NULL, MX_DTYPE_float64, true) == all);
    for (uint16_t number = 0; number < 0x7c00; number += 31 * 31)
        CHECK(layouts_of(copy, &number, MX_DTYPE_float16, true) == MX_REVERSED);
    CHECK(layouts_of(root, NULL, MX_DTYPE_int64, true) == 0); /* integers are not rounded */
    return 0;
}
