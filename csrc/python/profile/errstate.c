/* errstate.c -- the floating-point conditions of numpy.errstate. */
#include "python/profile/errstate.h"
#include "python/base/settings.h"
#include "python/profile/filters.h"
#include "python/profile/profile.h"

static PyObject *get_state;     /* `get` of the context variable behind numpy.errstate */
static PyObject *geterr;        /* numpy.geterr */
static PyObject *current_state; /* the value that current_mask was computed from */
static int current_mask;

static const struct {
    int number; /* NumPy's */
    const char *kind, *text;
} conditions[] = {
    {1, "divide", "divide by zero"},
    {2, "over", "overflow"},
    {4, "under", "underflow"},
    {8, "invalid", "invalid value"},
};

static int read_mask(void)
{
    PyObject *modes = PyObject_CallNoArgs(geterr);
    int mask = 0;
    if (!modes)
        return -2;
    for (size_t i = 0; i < sizeof conditions / sizeof *conditions && mask >= 0; i++) {
        PyObject *mode = PyDict_GetItemString(modes, conditions[i].kind);
        if (!mode) { /* there was no memory for the string of the key */
            PyErr_NoMemory();
            mask = -2;
        } else if (PyUnicode_CompareWithASCIIString(mode, "warn") == 0) {
            mask |= conditions[i].number;
        } else if (PyUnicode_CompareWithASCIIString(mode, "ignore") != 0) {
            mask = -1;
        }
    }
    Py_DECREF(modes);
    return mask;
}

int errstate_mask(void)
{
    if (settings_are_fast())
        return 0;
    PyObject *state = PyObject_CallNoArgs(get_state);
    if (!state)
        return -2;
    if (state != current_state) {
        int mask = read_mask();
        if (mask == -2) {
            Py_DECREF(state);
            return -2;
        }
        current_mask = mask;
        Py_XDECREF(current_state);
        current_state = Py_NewRef(state);
    }
    Py_DECREF(state);
    int raises = current_mask > 0 ? filters_raise() : current_mask == -1;
    if (raises > 0)
        span_note_errstate();
    return raises == 0 ? current_mask : raises > 0 ? -1 : -2;
}

int errstate_warn(const struct call_site *site, int met, const char *name)
{
    met = call_site_conditions(site, met, &name);
    for (size_t i = 0; i < sizeof conditions / sizeof *conditions; i++) {
        if (!(met & conditions[i].number))
            continue;
        char text[100];
        PyOS_snprintf(text, sizeof text, "%s encountered in %s", conditions[i].text, name);
        if (call_site_warn(site, text) < 0)
            return -1;
    }
    return 0;
}

/* Warnings of NumPy's name the innermost frame, which is not the program's inside a function of
 * mxnp that is written in Python. */
int errstate_report(int met, const char *name)
{
    PyObject *frame = met ? (PyObject *)PyEval_GetFrame() : NULL;
    int mask = frame && call_site_is_own(call_site_package(frame)) ? errstate_mask() : -1;
    if (mask == -1)
        return PyUFunc_GiveFloatingpointErrors(name, met);
    struct call_site *site = mask < 0 ? NULL : call_site_new();
    int status = site ? errstate_warn(site, met & mask, name) : -1;
    if (site)
        call_site_free(site);
    return status;
}

int errstate_load(PyObject *numpy)
{
    PyObject *umath = PyImport_ImportModule("numpy._core.umath");
    PyObject *state = umath ? PyObject_GetAttrString(umath, "_extobj_contextvar") : NULL;
    get_state = state ? PyObject_GetAttrString(state, "get") : NULL;
    geterr = PyObject_GetAttrString(numpy, "geterr");
    Py_XDECREF(state);
    Py_XDECREF(umath);
    return get_state && geterr ? filters_load() : -1;
}
