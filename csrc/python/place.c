/* place.c -- where an operation was recorded: for warnings that come when it has run. */
#include "python/queue.h"

struct place {
    PyObject *code, *globals; /* of the frame; NULL when there was none */
    int line;
    int n_kept;
    PyObject *kept[MX_MAX_OPERANDS];
};

/* -- What the program wants to hear of --------------------------------------------- */

static PyObject *error_state;   /* the context variable behind numpy.errstate */
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
    int wanted = 0;
    if (!modes)
        return -2;
    for (size_t i = 0; i < sizeof conditions / sizeof *conditions && wanted >= 0; i++) {
        PyObject *mode = PyDict_GetItemString(modes, conditions[i].kind);
        if (mode && PyUnicode_CompareWithASCIIString(mode, "warn") == 0)
            wanted |= conditions[i].number;
        else if (!mode || PyUnicode_CompareWithASCIIString(mode, "ignore") != 0)
            wanted = -1;
    }
    Py_DECREF(modes);
    return wanted;
}

int place_conditions(void)
{
    PyObject *state = PyObject_CallMethod(error_state, "get", NULL);
    if (!state)
        return -2;
    if (state != current_state) {
        current_conditions = read_conditions();
        Py_XDECREF(current_state);
        current_state = Py_NewRef(state);
    }
    Py_DECREF(state);
    return current_conditions;
}

/* -- Places ------------------------------------------------------------------------ */

static bool is_of_mxnp(PyObject *globals)
{
    PyObject *name = globals ? PyDict_GetItemString(globals, "__package__") : NULL;
    return name && PyUnicode_Check(name) && PyUnicode_CompareWithASCIIString(name, "mxnp") == 0;
}

/* New reference: the innermost frame that is not mxnp's own; NULL without an exception. */
static PyFrameObject *program_frame(void)
{
    PyFrameObject *frame = PyEval_GetFrame();
    Py_XINCREF((PyObject *)frame);
    while (frame) {
        PyObject *globals = PyObject_GetAttrString((PyObject *)frame, "f_globals");
        bool is_own = is_of_mxnp(globals);
        Py_XDECREF(globals);
        if (!is_own)
            break;
        PyFrameObject *back =
            (PyFrameObject *)PyObject_GetAttrString((PyObject *)frame, "f_back");
        Py_DECREF((PyObject *)frame);
        if ((PyObject *)back == Py_None)
            Py_CLEAR(back);
        frame = back;
    }
    PyErr_Clear();
    return frame;
}

struct place *place_new(void)
{
    struct place *place = PyMem_Calloc(1, sizeof *place);
    if (!place) {
        PyErr_NoMemory();
        return NULL;
    }
    PyFrameObject *frame = program_frame();
    if (frame) {
        place->code = (PyObject *)PyFrame_GetCode(frame);
        place->globals = PyObject_GetAttrString((PyObject *)frame, "f_globals");
        place->line = PyFrame_GetLineNumber(frame);
        Py_DECREF((PyObject *)frame);
    }
    return place;
}

void place_keep(struct place *place, PyObject *object)
{
    place->kept[place->n_kept++] = Py_NewRef(object);
}

void place_free(struct place *place)
{
    Py_XDECREF(place->code);
    Py_XDECREF(place->globals);
    for (int i = 0; i < place->n_kept; i++)
        Py_DECREF(place->kept[i]);
    PyMem_Free(place);
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

static int warn_once(const struct place *place, const char *text)
{
    if (!place->code)
        return PyErr_WarnEx(PyExc_RuntimeWarning, text, 1);
    PyObject *file = PyObject_GetAttrString(place->code, "co_filename");
    PyObject *file_bytes = file ? PyUnicode_EncodeFSDefault(file) : NULL;
    PyObject *module = PyDict_GetItemString(place->globals, "__name__");
    PyObject *module_bytes =
        module && PyUnicode_Check(module) ? PyUnicode_AsUTF8String(module) : NULL;
    PyObject *registry = registry_of(place->globals);
    int status = -1;
    if (file_bytes && registry)
        status = PyErr_WarnExplicit(PyExc_RuntimeWarning, text, PyBytes_AsString(file_bytes),
                                    place->line,
                                    module_bytes ? PyBytes_AsString(module_bytes) : NULL,
                                    registry);
    Py_XDECREF(registry);
    Py_XDECREF(module_bytes);
    Py_XDECREF(file_bytes);
    Py_XDECREF(file);
    return status;
}

int place_warn(const struct place *place, int met, const char *name)
{
    for (size_t i = 0; i < sizeof conditions / sizeof *conditions; i++) {
        if (!(met & conditions[i].number))
            continue;
        char text[100];
        PyOS_snprintf(text, sizeof text, "%s encountered in %s", conditions[i].text, name);
        if (warn_once(place, text) < 0)
            return -1;
    }
    return 0;
}

int place_load(PyObject *numpy)
{
    PyObject *umath = PyImport_ImportModule("numpy._core.umath");
    error_state = umath ? PyObject_GetAttrString(umath, "_extobj_contextvar") : NULL;
    geterr = PyObject_GetAttrString(numpy, "geterr");
    Py_XDECREF(umath);
    return error_state && geterr ? 0 : -1;
}
