/* dtypes.c -- the rows of dtypes.def, and NumPy's numbers for these dtypes. */
#include "python/base/dtypes.h"

#include <ctype.h>

/* The number of bfloat16 is unknown until an array of this dtype is seen. */
static int type_numbers[NTYPES] = {
    NPY_BOOL,   NPY_INT8,    NPY_INT16,   NPY_INT32,     NPY_INT64,
    NPY_UINT8,  NPY_UINT16,  NPY_UINT32,  NPY_UINT64,    NPY_HALF,
    NPY_NOTYPE, NPY_FLOAT32, NPY_FLOAT64, NPY_COMPLEX64, NPY_COMPLEX128,
};

const int dtype_itemsizes[NTYPES] = {
#define DTYPE(name, c_type, itemsize, kind) itemsize,
#include "ir/dtypes.def"
#undef DTYPE
};

int dtype_type_number(int row) { return type_numbers[row]; }

static bool has_attribute(PyObject *type, const char *name, const char *value)
{
    PyObject *text = PyObject_GetAttrString(type, name);
    bool is_it =
        text && PyUnicode_Check(text) && PyUnicode_CompareWithASCIIString(text, value) == 0;
    Py_XDECREF(text);
    PyErr_Clear();
    return is_it;
}

/* Check whether NumPy assigned the number to the bfloat16 of ml_dtypes.  mxnp does not import
 * ml_dtypes for this; the array of this dtype shows that it is imported.  From version 0.7 on,
 * it has a class of dtypes of its own, whose casts have other values, and whose loops a ufunc
 * does not show.  NumPy computes these. */
static bool is_bfloat16(int type_number)
{
    PyArray_Descr *dtype = PyArray_DescrFromType(type_number);
    PyObject *type = dtype ? (PyObject *)dtype->typeobj : NULL;
    bool is_it = type && has_attribute(type, "__name__", "bfloat16") &&
                 has_attribute(type, "__module__", "ml_dtypes") &&
                 has_attribute((PyObject *)Py_TYPE((PyObject *)dtype), "__module__", "numpy");
    Py_XDECREF((PyObject *)dtype);
    PyErr_Clear();
    return is_it;
}

int dtype_row(int type_number)
{
    for (int row = 0; row < NTYPES; row++)
        if (type_numbers[row] == type_number && type_number != NPY_NOTYPE)
            return row;
    if (type_number < NPY_USERDEF || type_numbers[ROW_bfloat16] != NPY_NOTYPE ||
        !is_bfloat16(type_number))
        return -1;
    type_numbers[ROW_bfloat16] = type_number;
    return ROW_bfloat16;
}

bool dtype_is_name(PyObject *text)
{
    const char *name = PyUnicode_AsUTF8AndSize(text, NULL);
    if (!name) {
        PyErr_Clear();
        return false;
    }
    name += strspn(name, "<>=|");
    bool is_it = isalpha((unsigned char)*name) && *name != 'a';
    while (isalnum((unsigned char)*name))
        name++;
    return is_it && *name == '\0';
}

bool dtype_can_cast(int from, int to, NPY_CASTING casting)
{
    PyArray_Descr *a = PyArray_DescrFromType(type_numbers[from]);
    PyArray_Descr *b = PyArray_DescrFromType(type_numbers[to]);
    bool can = PyArray_CanCastTypeTo(a, b, casting);
    Py_DECREF(a);
    Py_DECREF(b);
    return can;
}
