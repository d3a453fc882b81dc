/* scalars.c -- values of numbers of Python and of NumPy, without NumPy's conversions. */
#include "python/direct/scalars.h"
#include "python/direct/recycle.h"

/* NumPy's scalar types, by row.  The value of an object follows its head. */
static PyTypeObject *types[NTYPES];

void scalars_load(void)
{
    for (int row = 0; row < NTYPES; row++)
        types[row] = recycle_dtypes[row] ? recycle_dtypes[row]->typeobj : NULL;
}

PyObject *scalars_new(int row, const char *value)
{
    if (row == ROW_bool)
        return Py_NewRef(*value ? PyArrayScalar_True : PyArrayScalar_False);
    PyObject *scalar = PyType_GenericAlloc(types[row], 0);
    if (scalar)
        memcpy((char *)scalar + sizeof(PyObject), value, (size_t)dtype_itemsizes[row]);
    return scalar;
}

int scalars_row(PyObject *x)
{
    PyTypeObject *type = Py_TYPE(x);
    if (type == types[ROW_float64])
        return ROW_float64;
    for (int row = 0; row < NTYPES; row++)
        if (types[row] == type)
            return row;
    return -1;
}

static bool read_integer(PyObject *x, int row, char *value)
{
    int overflow;
    long long integer = PyLong_AsLongLongAndOverflow(x, &overflow);
    double real = (double)integer;
    if (overflow)
        return false;
    memcpy(value, row == ROW_int64 ? (char *)&integer : (char *)&real, 8);
    return true;
}

bool scalars_read(PyObject *x, int row, char *value)
{
    if (row == ROW_float64 && PyFloat_CheckExact(x)) {
        double real = PyFloat_AsDouble(x);
        memcpy(value, &real, sizeof real);
        return true;
    }
    if ((row == ROW_float64 || row == ROW_int64) && PyLong_CheckExact(x))
        return read_integer(x, row, value);
    if (Py_TYPE(x) != types[row] || row == ROW_bool)
        return false;
    memcpy(value, (char *)x + sizeof(PyObject), (size_t)dtype_itemsizes[row]);
    return true;
}
