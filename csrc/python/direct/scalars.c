/* scalars.c -- values of numbers of Python and of NumPy, without NumPy's conversions. */
#include "python/direct/scalars.h"
#include "python/direct/recycle.h"

/* NumPy's scalar types, and the bytes of an object of each, by row.  The value of an object
 * follows its head. */
static PyTypeObject *types[NTYPES];
static size_t sizes[NTYPES];

int scalars_load(void)
{
    for (int row = 0; row < NTYPES; row++) {
        if (!recycle_dtypes[row])
            continue;
        types[row] = recycle_dtypes[row]->typeobj;
        PyObject *size = PyObject_GetAttrString((PyObject *)types[row], "__basicsize__");
        if (!size)
            return -1;
        sizes[row] = PyLong_AsSize_t(size);
        Py_DECREF(size);
    }
    return 0;
}

PyObject *scalars_new(int row, const char *value)
{
    if (row == ROW_bool)
        return Py_NewRef(*value ? PyArrayScalar_True : PyArrayScalar_False);
    /* The classes are not on the heap, and not collected: a block with a head is an object. */
    PyObject *scalar = PyObject_Malloc(sizes[row]);
    if (!scalar)
        return PyErr_NoMemory();
    PyObject_Init(scalar, types[row]);
    if (row == ROW_float64)
        memcpy((char *)scalar + sizeof(PyObject), value, sizeof(double));
    else
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
