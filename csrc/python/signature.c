/* signature.c -- which loop a ufunc has for some dtypes: NumPy is asked once for each. */
#include "python/record.h"

static struct signature signatures[MX_OP_COUNT][NCODES][NCODES];
static PyObject *ufuncs[MX_OP_COUNT];

/* What ufunc.resolve_dtypes takes: dtypes, and the classes of Python's numbers. */
static PyObject *kinds[NCODES];

int signature_load(PyObject *numpy)
{
    for (int row = 0; row < NTYPES; row++)
        kinds[row] = (PyObject *)PyArray_DescrFromType(source_type_number(row));
    kinds[WEAK_INT] = (PyObject *)&PyLong_Type;
    kinds[WEAK_FLOAT] = (PyObject *)&PyFloat_Type;
    kinds[WEAK_COMPLEX] = (PyObject *)&PyComplex_Type;
    for (int op = 0; op < MX_OP_COUNT; op++) {
        ufuncs[op] = PyObject_GetAttrString(numpy, core->op_get(op)->name);
        if (!ufuncs[op])
            return -1;
    }
    return 0;
}

/* New reference: the dtypes of the loop, or NULL without an exception when there is none. */
static PyObject *resolve(int op, const int *codes, int nin, int nout)
{
    PyObject *given = PyTuple_New(nin + nout);
    for (int i = 0; given && i < nin + nout; i++)
        PyTuple_SetItem(given, i, Py_NewRef(i < nin ? kinds[codes[i]] : Py_None));
    PyObject *resolved =
        given ? PyObject_CallMethod(ufuncs[op], "resolve_dtypes", "(O)", given) : NULL;
    Py_XDECREF(given);
    PyErr_Clear();
    return resolved;
}

/* Integer powers raise when an exponent is negative, which a loop cannot do later; and expm1 of
 * complex limits is not NumPy's. */
static bool is_special(int op, const struct signature *signature)
{
    return (op == MX_OP_power && signature->in[0] < ROW_float16) ||
           (op == MX_OP_expm1 && is_complex_row(signature->in[0]));
}

static void find(int op, const int *codes, int nin, struct signature *signature)
{
    const struct mx_op_row *row = core->op_get(op);
    int nargs = nin + row->nout, rows[MX_MAX_OPERANDS];
    char types[MX_MAX_OPERANDS];
    PyObject *resolved = resolve(op, codes, nin, row->nout);
    if (!resolved)
        return;
    bool is_known = true;
    for (int i = 0; i < nargs; i++) {
        PyArray_Descr *dtype = (PyArray_Descr *)PyTuple_GetItem(resolved, i);
        types[i] = (char)dtype->type_num;
        rows[i] = source_row(dtype->type_num);
        is_known = is_known && rows[i] >= 0;
    }
    Py_DECREF(resolved);
    if (!is_known)
        return;
    const PyUFuncObject *ufunc = (const PyUFuncObject *)ufuncs[op];
    uintptr_t fields = (uintptr_t)ufunc + sizeof(PyObject);
    if (core->loop_find(&signature->numpys, fields, nin, row->nout, ufunc->ntypes, types) !=
        MX_OK)
        return;
    if (!core->own_loop(&signature->loop, op, rows))
        signature->loop = signature->numpys;
    for (int i = 0; i < nin; i++)
        signature->in[i] = (signed char)rows[i];
    for (int j = 0; j < row->nout; j++)
        signature->out[j] = (signed char)rows[nin + j];
    signature->exists = !is_special(op, signature);
}

const struct signature *signature_of(int op, const struct source *inputs, int nin)
{
    int codes[2] = {inputs[0].code, nin > 1 ? inputs[1].code : 0};
    struct signature *signature = &signatures[op][codes[0]][codes[1]];
    if (!signature->is_known) {
        find(op, codes, nin, signature);
        signature->is_known = true;
    }
    return signature->exists ? signature : NULL;
}

int signature_op(PyObject *ufunc)
{
    for (int op = 0; op < MX_OP_COUNT; op++)
        if (ufuncs[op] == ufunc)
            return op;
    return MX_NO_OP;
}
