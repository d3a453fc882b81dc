/* device.h -- functions written in Python that compute on the GPU. */
#pragma once
#include "python/base/numpy.h"

enum device_function {
    DEVICE_MATMUL, /* (a, b): the product of large matrices */
    DEVICE_SELECT, /* (mask, items or None): the elements, or the positions, that it selects */
    DEVICE_UPDATE, /* updates in order: see update.c */
    DEVICE_RANGE,  /* (indices): the least and the greatest of them */
    DEVICE_NARROW, /* (result, args, kwargs): the result in a dtype that the device supports */
    N_DEVICE_FUNCTIONS
};

/* mxnp.DeviceTypeError: the device does not support a dtype.  Other TypeErrors make mxnp call
 * NumPy, which raises its own; this one reaches the program. */
extern PyObject *device_type_error;

/* Check whether there is such a function, and the GPU is the device or "auto" may choose it. */
bool device_has(enum device_function name);

/* Call the function.  It steals the reference to the arguments; NULL passes through.  Return 1
 * with a new reference in *out, 0 if the device does not take the call, or -1 with an exception
 * set. */
int device_call(enum device_function name, PyObject *args, PyObject **out);

int device_load(void); /* -1 with an exception set */

/* Methods of the module. */
extern PyMethodDef device_methods[];
