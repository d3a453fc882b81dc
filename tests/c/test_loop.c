/* test_loop.c -- a loop over several axes finds a length and a stride for each when it is
 * tried. */
#include "check.h"
#include "ir/loop.h"

enum { N_AXES = 4, N_STRIDES = 9 }; /* of matmul: the outer axis, and three of the matrices */

static int n_calls;

static void multiply(char **args, const intptr_t *lengths, const intptr_t *strides, void *data)
{
    (void)args;
    (void)data;
    n_calls++;
    CHECK(lengths[0] > 0);
    for (int i = 1; i < N_AXES; i++)
        CHECK(lengths[i] == 0);
    for (int i = 0; i < N_STRIDES; i++)
        CHECK(strides[i] == strides[0]);
}

int main(void)
{
    const mx_loop_function functions[] = {multiply};
    const struct { /* the fields of a ufunc */
        int nin, nout, nargs, identity;
        const mx_loop_function *functions;
        void *const *data;
        int ntypes, reserved;
        const char *name, *types;
    } ufunc = {2, 1, 3, 0, functions, NULL, 1, 0, "matmul", "ddd"};
    struct mx_loop loop;
    CHECK(mx_loop_read(&loop, (uintptr_t)&ufunc, 2, 1, 1, "ddd") == MX_OK);
    CHECK(loop.function == multiply && !loop.clears && n_calls == 0);
    mx_loop_try(&loop);
    CHECK(!loop.clears && n_calls == 1);
    return 0;
}
