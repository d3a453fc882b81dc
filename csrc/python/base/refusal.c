/* refusal.c -- exceptions with which Python or NumPy refuse arguments. */
#include "python/base/refusal.h"
#include "python/base/numpy.h"

int refusal_drop(void)
{
    PyObject *const refusals[] = {
        PyExc_TypeError,      PyExc_ValueError,   PyExc_LookupError, PyExc_ArithmeticError,
        PyExc_AttributeError, PyExc_RuntimeError, PyExc_MemoryError};
    if (!PyErr_Occurred())
        return 0;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
        if (PyErr_ExceptionMatches(refusals[i])) {
            PyErr_Clear();
            return 0;
        }
    return -1;
}
