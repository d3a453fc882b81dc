/* call_site.c -- where an operation was recorded: for warnings that come when it has run. */
#include "python/profile/profile.h"

struct call_site {
    PyObject *code, *globals, *instruction; /* of the frame; NULL when there was none */
    int n_kept;
    PyObject *kept[MX_MAX_OPERANDS + 1]; /* memory, and what a kernel is launched with */
};

/* Names of attributes, which Python finds faster than C strings. */
static PyObject *f_globals, *f_back, *f_lasti, *package;

/* -- What the program wants to hear of --------------------------------------------- */

static PyObject *get_state;     /* of the context variable behind numpy.errstate */
static PyObject *geterr;        /* numpy.geterr */
static PyObject *current_state; /* its value when it was last looked at */
static int current_conditions;

/* In NumPy's numbers, the kinds of numpy.errstate. */
static const struct {
    int number;
    const char *kind, *text;
} conditions[] = {
    {1, "divide", "divide by zero"},
    {2, "over", "overflow"},
    {4, "under", "underflow"},
    {8, "invalid", "invalid value"},
};

static int read_conditions(void)
{
    PyObject *modes = PyObject_CallNoArgs(geterr);
    int fpe_mask = 0;
    if (!modes)
        return -2;
    for (size_t i = 0; i < sizeof conditions / sizeof *conditions && fpe_mask >= 0; i++) {
        PyObject *mode = PyDict_GetItemString(modes, conditions[i].kind);
        if (!mode) { /* there is no memory for its name */
            PyErr_NoMemory();
            fpe_mask = -2;
        } else if (PyUnicode_CompareWithASCIIString(mode, "warn") == 0) {
            fpe_mask |= conditions[i].number;
        } else if (PyUnicode_CompareWithASCIIString(mode, "ignore") != 0) {
            fpe_mask = -1;
        }
    }
    Py_DECREF(modes);
    return fpe_mask;
}

int call_site_conditions(void)
{
    if (mode_is_fast())
        return 0;
    PyObject *state = PyObject_CallNoArgs(get_state);
    if (!state)
        return -2;
    if (state != current_state) {
        int fpe_mask = read_conditions();
        if (fpe_mask == -2) {
            Py_DECREF(state);
            return -2;
        }
        current_conditions = fpe_mask;
        Py_XDECREF(current_state);
        current_state = Py_NewRef(state);
    }
    Py_DECREF(state);
    if (current_conditions == -1)
        span_note_errstate();
    return current_conditions;
}

/* -- Places ------------------------------------------------------------------------ */

const char *call_site_package(PyObject *globals)
{
    PyObject *name = globals ? PyDict_GetItemWithError(globals, package) : NULL;
    return name && PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
}

bool call_site_is_own(const char *name)
{
    return name && (strcmp(name, "mxnp") == 0 || strncmp(name, "mxnp._", 6) == 0);
}

/* Finds the innermost frame that is not mxnp's own.  No exception is left. */
static void find_frame(struct call_site *site)
{
    PyObject *frame = Py_XNewRef((PyObject *)PyEval_GetFrame());
    while (frame && frame != Py_None) {
        PyObject *globals = PyObject_GetAttr(frame, f_globals);
        if (!call_site_is_own(call_site_package(globals))) {
            site->code = (PyObject *)PyFrame_GetCode((PyFrameObject *)frame);
            site->globals = globals;
            site->instruction = PyObject_GetAttr(frame, f_lasti);
            break;
        }
        Py_XDECREF(globals);
        PyObject *back = PyObject_GetAttr(frame, f_back);
        Py_DECREF(frame);
        frame = back;
    }
    Py_XDECREF(frame);
    PyErr_Clear();
}

struct call_site *call_site_new(void)
{
    struct call_site *site = PyMem_Malloc(sizeof *site);
    if (!site) {
        PyErr_NoMemory();
        return NULL;
    }
    site->code = site->globals = site->instruction = NULL;
    site->n_kept = 0;
    find_frame(site);
    return site;
}

PyObject *call_site_code(const struct call_site *site, int *instruction)
{
    *instruction = site->instruction ? (int)PyLong_AsLong(site->instruction) : -1;
    return site->code;
}

void call_site_keep(struct call_site *site, PyObject *object)
{
    site->kept[site->n_kept++] = Py_NewRef(object);
}

void call_site_free(struct call_site *site)
{
    Py_XDECREF(site->code);
    Py_XDECREF(site->globals);
    Py_XDECREF(site->instruction);
    for (int i = 0; i < site->n_kept; i++)
        Py_DECREF(site->kept[i]);
    PyMem_Free(site);
}

/* New reference: where Python notes the warnings of a module that were shown. */
static PyObject *registry_of(PyObject *globals)
{
    PyObject *registry = PyDict_GetItemString(globals, "__warningregistry__");
    if (registry)
        return Py_NewRef(registry);
    registry = PyDict_New();
    if (registry && PyDict_SetItemString(globals, "__warningregistry__", registry) < 0)
        Py_CLEAR(registry);
    return registry;
}

/* The line of the instruction, from the code's table of (begin, end, line). */
static int line_of(const struct call_site *site)
{
    Py_ssize_t at = site->instruction ? PyNumber_AsSsize_t(site->instruction, NULL) : -1;
    PyObject *row, *lines = PyObject_CallMethod(site->code, "co_lines", NULL);
    int line = 0;
    while (line == 0 && lines && (row = PyIter_Next(lines))) {
        Py_ssize_t begin, end;
        PyObject *number;
        if (PyArg_ParseTuple(row, "nnO", &begin, &end, &number) && begin <= at && at < end &&
            number != Py_None)
            line = (int)PyNumber_AsSsize_t(number, NULL);
        Py_DECREF(row);
    }
    Py_XDECREF(lines);
    PyErr_Clear();
    return line;
}

PyObject *call_site_text(const struct call_site *site)
{
    PyObject *file = site->code ? PyObject_GetAttrString(site->code, "co_filename") : NULL;
    PyObject *text =
        file ? PyUnicode_FromFormat("recorded at %U:%d", file, line_of(site)) : NULL;
    Py_XDECREF(file);
    PyErr_Clear();
    return text;
}

static int warn_once(const struct call_site *site, const char *text)
{
    if (!site->code)
        return PyErr_WarnEx(PyExc_RuntimeWarning, text, 1);
    PyObject *file = PyObject_GetAttrString(site->code, "co_filename");
    PyObject *file_bytes = file ? PyUnicode_EncodeFSDefault(file) : NULL;
    PyObject *module = PyDict_GetItemString(site->globals, "__name__");
    PyObject *module_bytes =
        module && PyUnicode_Check(module) ? PyUnicode_AsUTF8String(module) : NULL;
    PyObject *registry = registry_of(site->globals);
    int status = -1;
    if (file_bytes && registry)
        status = PyErr_WarnExplicit(
            PyExc_RuntimeWarning, text, PyBytes_AsString(file_bytes), line_of(site),
            module_bytes ? PyBytes_AsString(module_bytes) : NULL, registry);
    Py_XDECREF(registry);
    Py_XDECREF(module_bytes);
    Py_XDECREF(file_bytes);
    Py_XDECREF(file);
    return status;
}

int call_site_warn(const struct call_site *site, int met, const char *name)
{
    for (size_t i = 0; i < sizeof conditions / sizeof *conditions; i++) {
        if (!(met & conditions[i].number))
            continue;
        char text[100];
        PyOS_snprintf(text, sizeof text, "%s encountered in %s", conditions[i].text, name);
        if (warn_once(site, text) < 0)
            return -1;
    }
    return 0;
}

int call_site_load(PyObject *numpy)
{
    PyObject *umath = PyImport_ImportModule("numpy._core.umath");
    PyObject *state = umath ? PyObject_GetAttrString(umath, "_extobj_contextvar") : NULL;
    get_state = state ? PyObject_GetAttrString(state, "get") : NULL;
    geterr = PyObject_GetAttrString(numpy, "geterr");
    Py_XDECREF(state);
    Py_XDECREF(umath);
    f_globals = PyUnicode_InternFromString("f_globals");
    f_back = PyUnicode_InternFromString("f_back");
    f_lasti = PyUnicode_InternFromString("f_lasti");
    package = PyUnicode_InternFromString("__package__");
    return get_state && geterr && f_globals && f_back && f_lasti && package ? 0 : -1;
}
