/* backend.c -- runs instructions on the calling thread, block by block. */
#include <fenv.h>

#include "../backend.h"

#define BLOCK 1024 /* elements: the operands of one block fit the first-level cache */

static void run_loop(const struct mx_instruction *in)
{
    char *args[MX_MAX_OPERANDS];
    intptr_t strides[MX_MAX_OPERANDS];
    for (int k = 0; k < in->loop.nargs; k++)
        strides[k] = in->operands[k].stride;
    for (intptr_t i = 0; i < in->n; i += BLOCK) {
        intptr_t size = in->n - i < BLOCK ? in->n - i : BLOCK;
        for (int k = 0; k < in->loop.nargs; k++)
            args[k] = in->operands[k].data + i * strides[k];
        in->loop.function(args, &size, strides, in->loop.data);
    }
}

/* The conditions as NumPy numbers them. */
static int read_floating_status(void)
{
    int raised = fetestexcept(FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW | FE_INVALID);
    return (raised & FE_DIVBYZERO ? 1 : 0) | (raised & FE_OVERFLOW ? 2 : 0) |
           (raised & FE_UNDERFLOW ? 4 : 0) | (raised & FE_INVALID ? 8 : 0);
}

static int run(const struct mx_instruction *instructions, size_t count, int *floating_status)
{
    feclearexcept(FE_ALL_EXCEPT);
    for (size_t i = 0; i < count; i++)
        run_loop(&instructions[i]);
    *floating_status |= read_floating_status();
    feclearexcept(FE_ALL_EXCEPT);
    return MX_OK;
}

const struct mx_backend mx_cpu_backend = {.name = "cpu", .run = run};
