/* dtypes.h -- the rows of dtypes.def, and NumPy's numbers for these dtypes. */
#pragma once
#include "ir/dtypes.h"
#include "python/base/numpy.h"

/* Rows of dtypes.def, then Python's numbers, whose dtype depends on the other operand. */
enum {
#define DTYPE(name, ...) ROW_##name = MX_DTYPE_##name,
#include "ir/dtypes.def"
#undef DTYPE
    NTYPES,
    WEAK_INT = NTYPES,
    WEAK_FLOAT,
    WEAK_COMPLEX,
    NCODES,
};

extern const int dtype_itemsizes[NTYPES];

/* Return the row of a type number of NumPy, or -1. */
int dtype_row(int type_number);
int dtype_type_number(int row);

/* Check whether the number of a dtype describes it: it has neither fields nor metadata. */
static inline bool dtype_is_plain(const PyArray_Descr *dtype)
{
    return !PyDataType_HASFIELDS(dtype) && !PyDataType_METADATA(dtype);
}

/* Check whether a string names one dtype, without fields, shapes and the alias "a", of which
 * NumPy warns. */
bool dtype_is_name(PyObject *text);
bool dtype_can_cast(int from, int to, NPY_CASTING casting);
