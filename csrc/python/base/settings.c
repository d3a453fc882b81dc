/* settings.c -- strict or fast, and the device: of the process, unless a context has its own;
 * what does on a device what the processor need not be asked for. */
#include "python/record/record.h"

static struct setting {
    long of_process;
    PyObject *get_of_context; /* of the context variable, once a context has been used */
} settings[N_SETTINGS];

static long value_of(enum setting_name name)
{
    const struct setting *setting = &settings[name];
    if (!setting->get_of_context)
        return setting->of_process;
    PyObject *own = PyObject_CallNoArgs(setting->get_of_context);
    long value = own && own != Py_None ? PyLong_AsLong(own) : setting->of_process;
    Py_XDECREF(own);
    PyErr_Clear();
    return value;
}

bool mode_is_fast(void) { return value_of(SETTING_FAST) != 0; }

enum mx_device device_now(void) { return (enum mx_device)value_of(SETTING_DEVICE); }

bool device_refuses_doubles(void) { return value_of(SETTING_DOUBLES) == DOUBLES_ARE_REFUSED; }

bool device_narrows_doubles(void)
{
    return value_of(SETTING_DOUBLES) == DOUBLES_ARE_NARROWED && device_now() == MX_DEVICE;
}

PyObject *device_type_error;

int settings_load(void)
{
    device_type_error = PyErr_NewException("mxnp.DeviceTypeError", PyExc_TypeError, NULL);
    return device_type_error ? 0 : -1;
}

/* -- Functions of a device --------------------------------------------------------- */

static PyObject *device_functions[N_DEVICE_FUNCTIONS];

bool device_has(enum device_function name)
{
    return device_functions[name] && device_now() == MX_DEVICE;
}

int device_call(enum device_function name, PyObject *args, PyObject **out)
{
    *out = args ? PyObject_CallObject(device_functions[name], args) : NULL;
    Py_XDECREF(args);
    if (*out == Py_NotImplemented)
        Py_CLEAR(*out);
    else
        return *out ? 1 : -1;
    return 0;
}

/* -- Methods of the module --------------------------------------------------------- */

static struct setting *setting_at(int name)
{
    if (name >= 0 && name < N_SETTINGS)
        return &settings[name];
    PyErr_Format(PyExc_ValueError, "there is no setting %d", name);
    return NULL;
}

static PyObject *set_setting(PyObject *module, PyObject *args)
{
    (void)module;
    int name;
    long value;
    if (!PyArg_ParseTuple(args, "il", &name, &value))
        return NULL;
    struct setting *setting = setting_at(name);
    if (!setting)
        return NULL;
    setting->of_process = value;
    Py_RETURN_NONE;
}

static PyObject *use_context(PyObject *module, PyObject *args)
{
    (void)module;
    int name;
    PyObject *get;
    if (!PyArg_ParseTuple(args, "iO", &name, &get))
        return NULL;
    struct setting *setting = setting_at(name);
    if (!setting)
        return NULL;
    Py_XDECREF(setting->get_of_context);
    setting->get_of_context = Py_NewRef(get);
    Py_RETURN_NONE;
}

static PyObject *get_setting(PyObject *module, PyObject *name)
{
    (void)module;
    int number = (int)PyLong_AsLong(name);
    if (PyErr_Occurred() || !setting_at(number))
        return NULL;
    return PyLong_FromLong(value_of((enum setting_name)number));
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
    Py_XDECREF(device_functions[name]);
    device_functions[name] = Py_NewRef(function);
    Py_RETURN_NONE;
}

PyMethodDef setting_methods[] = {
    {"set_device_function", set_device_function, METH_VARARGS,
     "set_device_function(name, function)\n--\n\nCall this function where \"metal\" is the "
     "device, before the processor is asked: it may give NotImplemented."},
    {"set_setting", set_setting, METH_VARARGS,
     "set_setting(name, value)\n--\n\nSet what the process has where a context has none."},
    {"use_context", use_context, METH_VARARGS,
     "use_context(name, get)\n--\n\nAsk this function for the setting from now on: None is "
     "that of the process."},
    {"get_setting", get_setting, METH_O, "get_setting(name)\n--\n\nGive the value."},
    {NULL, NULL, 0, NULL},
};
