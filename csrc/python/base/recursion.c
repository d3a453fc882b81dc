/* recursion.c -- a limit of operations that are inside each other. */
#include "python/base/recursion.h"
#include "python/base/numpy.h"

/* An operation takes 2.2 to 3.9 kB of the C stack, which usually has 8 MB. */
#define LIMIT 1000
#define TEXT  " in an operation on an array"

static _Thread_local int depth;

int recursion_enter(void)
{
    if (Py_EnterRecursiveCall(TEXT))
        return -1;
    if (depth >= LIMIT) {
        Py_LeaveRecursiveCall();
        PyErr_SetString(PyExc_RecursionError, "maximum recursion depth exceeded" TEXT);
        return -1;
    }
    depth++;
    return 0;
}

void recursion_leave(void)
{
    depth--;
    Py_LeaveRecursiveCall();
}
