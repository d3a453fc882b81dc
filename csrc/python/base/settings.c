/* settings.c -- settings of the process, which a context may override. */
#include "python/base/settings.h"
#include "python/base/state.h"

static struct setting {
    long of_process;
    PyObject *get_of_context; /* `get` of the context variable, or NULL if it was never set */
} settings[N_SETTINGS];

/* This function is separate because each call of a function for small arrays reads a setting.
 */
__attribute__((noinline)) static long value_in_context(const struct setting *setting)
{
    PyObject *type, *error, *traceback;
    PyErr_Fetch(&type, &error, &traceback); /* an array may be freed while one is raised */
    PyObject *own = PyObject_CallNoArgs(setting->get_of_context);
    long value = own && own != Py_None ? PyLong_AsLong(own) : setting->of_process;
    Py_XDECREF(own);
    PyErr_Restore(type, error, traceback);
    return value;
}

static inline long value_of(enum setting_name name)
{
    const struct setting *setting = &settings[name];
    return setting->get_of_context ? value_in_context(setting) : setting->of_process;
}

bool settings_are_fast(void) { return value_of(SETTING_FAST) != 0; }

enum mx_target settings_device(void) { return (enum mx_target)value_of(SETTING_DEVICE); }

bool settings_refuse_doubles(void) { return value_of(SETTING_DOUBLES) == DOUBLES_ARE_REFUSED; }

bool settings_narrow_doubles(void)
{
    return value_of(SETTING_DOUBLES) == DOUBLES_ARE_NARROWED && settings_device() == MX_DEVICE;
}

bool settings_use_gpu(void)
{
    return core->mx_gpu_is_used() && settings_device() != MX_PROCESSOR;
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

PyMethodDef settings_methods[] = {
    {"set_setting", set_setting, METH_VARARGS,
     "set_setting(name, value)\n--\n\nSet the value for contexts without their own value."},
    {"use_context", use_context, METH_VARARGS,
     "use_context(name, get)\n--\n\nCall this function for the value from now on. If it "
     "returns "
     "None, the value of the process applies."},
    {"get_setting", get_setting, METH_O, "get_setting(name)\n--\n\nReturn the value."},
    {NULL, NULL, 0, NULL},
};
