/* convert.h -- arguments on their way to NumPy, and results on their way back. */
#pragma once
#include "python/convert/call_args.h"

/* Return a new reference to x with the arrays in it unwrapped, to this depth of tuples and
 * lists. */
PyObject *convert_unwrap(PyObject *x, struct call_args *call_args, int depth);

/* Return a new dict of keyword arguments unwrapped, and tuples such as out=(a, b) with them. */
PyObject *convert_unwrap_kwargs(PyObject *kwargs, struct call_args *call_args, int depth);

/* Note the NumPy arrays of an argument, also in tuples and dicts, which a result may be. */
void convert_note_out(struct call_args *call_args, PyObject *out);

/* Check for a dtype with objects, as an argument names it, with tuples, lists and dicts to this
 * depth. */
bool convert_is_object_dtype(PyObject *x, int depth);

/* Check for a function of Python among the arguments.  The callee then mostly hands lists,
 * dicts and tuples on to it, which knows them as its own. */
bool convert_has_callback(PyObject *args, PyObject *kwargs);

/* Check for an array with objects, of mxnp or of NumPy. */
bool convert_holds_objects(PyObject *x);

/* Check for a function of Python, an array with objects or a dtype with objects.  Items of
 * lists and tuples may then reach the program again, or become elements. */
bool convert_keeps_items(PyObject *args, PyObject *kwargs);

/* Wait for the operations on the arrays before NumPy gets the NumPy arrays inside.  Where NumPy
 * does not read elements, only their memory is allocated.  Return 0, or -1 with an exception
 * set. */
int convert_prepare(struct call_args *call_args, bool reads);

/* At the end of the call, mark those arrays as exported whose NumPy array other code still
 * holds. */
void convert_mark_exported(struct call_args *call_args);

/* Do the same, and let go of the arrays. */
void convert_end_call(struct call_args *call_args);

/* Steal a reference to a NumPy array.  Return the array of the call that has this NumPy array
 * inside, or else a new array. */
PyObject *convert_adopt_array(PyObject *np_array, struct call_args *call_args);

/* Steal a reference to the result; NULL passes through.  Return it with mxnp arrays in place of
 * NumPy arrays, also inside tuples, lists and dicts. */
PyObject *convert_adopt(PyObject *result, struct call_args *call_args, int depth);

/* Steal a reference to the result; NULL passes through.  Return it with arrays of the Array API
 * standard in place of arrays and NumPy scalars, also inside tuples, lists and dicts.  Items of
 * such an array, and results of operators and methods, are such arrays again, and never NumPy
 * scalars. */
PyObject *convert_standard(PyObject *result, int depth);

/* Return a new reference to x with NumPy arrays in place of mxnp arrays, also inside tuples,
 * lists and, for a package, named tuples and dicts, for code that keeps them.  Return NULL with
 * an exception set. */
PyObject *convert_export(PyObject *x, int depth, bool is_package);

/* Call a NumPy callable with args and kwargs unwrapped. */
PyObject *convert_call(const struct function *f, PyObject *callable, PyObject *args,
                       PyObject *kwargs);

/* Return a borrowed reference to a keyword argument, or NULL.  *key keeps the interned name. */
static inline PyObject *convert_keyword(PyObject *kwargs, PyObject **key, const char *name)
{
    if (!*key)
        *key = PyUnicode_InternFromString(name);
    PyObject *value = *key ? PyDict_GetItemWithError(kwargs, *key) : NULL;
    if (!value)
        PyErr_Clear();
    return value;
}
