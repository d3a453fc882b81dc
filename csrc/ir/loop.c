/* loop.c -- finds NumPy's inner loops in the ufuncs that own them. */
#include "ir/loop.h"

#include <fenv.h>
#include <string.h>

#include "base/error.h"

/* The public fields of PyUFuncObject after PyObject_HEAD: see numpy/ufuncobject.h. */
struct ufunc_fields {
    int nin, nout, nargs;
    int identity;
    const mx_loop_function *functions;
    void *const *data;
    int ntypes;
    int reserved;
    const char *name;
    const char *types; /* nargs type numbers for each of ntypes loops */
};

void mx_loop_try(struct mx_loop *loop)
{
    enum { COUNT = 64, STRIDE = 16 };
    _Alignas(16) char memory[MX_MAX_OPERANDS][COUNT * STRIDE] = {{0}};
    char *args[MX_MAX_OPERANDS];
    intptr_t lengths[MX_MAX_OPERANDS] = {COUNT}, strides[MX_MAX_OPERANDS];
    for (int k = 0; k < MX_MAX_OPERANDS; k++) {
        args[k] = memory[k];
        strides[k] = STRIDE;
    }
    fenv_t environment;
    feholdexcept(&environment);
    feraiseexcept(FE_DIVBYZERO);
    loop->function(args, lengths, strides, loop->data);
    loop->clears = !fetestexcept(FE_DIVBYZERO);
    fesetenv(&environment);
}

int mx_loop_read(struct mx_loop *out, uintptr_t ufunc_fields, int nin, int nout, int ntypes,
                 const char *types)
{
    const struct ufunc_fields *ufunc = (const struct ufunc_fields *)ufunc_fields;
    if (ufunc->nin != nin || ufunc->nout != nout || ufunc->nargs != nin + nout ||
        ufunc->ntypes != ntypes)
        return mx_fail(MX_ERROR_VALUE, "no ufunc of %d inputs, %d outputs and %d loops here",
                       nin, nout, ntypes);
    size_t nargs = (size_t)ufunc->nargs;
    for (int i = 0; i < ntypes; i++) {
        if (memcmp(ufunc->types + (size_t)i * nargs, types, nargs) != 0)
            continue;
        if (!ufunc->functions[i])
            break;
        *out = (struct mx_loop){
            .function = ufunc->functions[i],
            .data = ufunc->data ? ufunc->data[i] : NULL,
        };
        return MX_OK;
    }
    return mx_fail(MX_ERROR_VALUE, "ufunc '%s' has no loop for these types", ufunc->name);
}
