/* device.c -- functions written in Python that compute on the GPU. */
#include "python/base/device.h"
#include "python/base/settings.h"
#include "python/base/state.h"

static PyObject *functions[N_DEVICE_FUNCTIONS];

PyObject *device_type_error;

int device_load(void)
{
    device_type_error = PyErr_NewException("mxnp.DeviceTypeError", PyExc_TypeError, NULL);
    return device_type_error ? 0 : -1;
}

bool device_has(enum device_function name)
{
    enum mx_target device = settings_device();
    bool may_be_there = device == MX_ANYWHERE && core->mx_gpu_has_own_memory() &&
                        name != DEVICE_NARROW; /* the function looks where the arrays are */
    return functions[name] && (device == MX_DEVICE || may_be_there);
}

int device_call(enum device_function name, PyObject *args, PyObject **out)
{
    *out = args ? PyObject_CallObject(functions[name], args) : NULL;
    Py_XDECREF(args);
    if (*out == Py_NotImplemented)
        Py_CLEAR(*out);
    else
        return *out ? 1 : -1;
    return 0;
}

static PyObject *set_device_function(PyObject *module, PyObject *args)
{
    (void)module;
    int name;
    PyObject *function;
    if (!PyArg_ParseTuple(args, "iO", &name, &function))
        return NULL;
    if (name < 0 || name >= N_DEVICE_FUNCTIONS)
        return PyErr_Format(PyExc_ValueError, "there is no function %d", name);
    Py_XDECREF(functions[name]);
    functions[name] = Py_NewRef(function);
    Py_RETURN_NONE;
}

PyMethodDef device_methods[] = {
    {"set_device_function", set_device_function, METH_VARARGS,
     "set_device_function(name, function)\n--\n\nCall this function first if the GPU is the "
     "device. It may return NotImplemented."},
    {NULL, NULL, 0, NULL},
};
