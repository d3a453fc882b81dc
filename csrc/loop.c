/* loop.c -- NumPy's inner loops, taken from the ufuncs that own them. */
#include "loop.h"

#include <string.h>

#include "error.h"

/* The public fields of PyUFuncObject behind PyObject_HEAD: numpy/ufuncobject.h. */
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
