/* call_site.c -- the place in the program that recorded an operation. */
#include "python/profile/call_site.h"
#include "python/base/state.h"
#include <dlfcn.h>
#include <limits.h>

struct call_site {
    PyObject *code, *globals; /* of the frame, or NULL if there was none */
    int instruction;          /* -1: unknown */
    PyObject *caller;         /* of NumPy's code, for a report */
    int caller_instruction;
    long joined;      /* number of the joined operations, or 0 */
    const char *name; /* of these operations in warnings, or NULL */
    int n_kept;
    PyObject *kept[MX_MAX_OPERANDS + 1]; /* NumPy arrays, and the launch of a kernel */
};

/* Names of attributes: Python looks up str objects faster than C strings. */
static PyObject *f_globals, *f_back, *f_lasti, *package_name;

/* Python has this function, which is faster than the attribute, but its limited API hides it.
 */
static int (*frame_instruction)(PyObject *frame); /* PyFrame_GetLasti, or NULL */

int call_site_load(void)
{
    f_globals = PyUnicode_InternFromString("f_globals");
    f_back = PyUnicode_InternFromString("f_back");
    f_lasti = PyUnicode_InternFromString("f_lasti");
    *(void **)&frame_instruction = dlsym(RTLD_DEFAULT, "PyFrame_GetLasti");
    package_name = PyUnicode_InternFromString("__package__");
    return f_globals && f_back && f_lasti && package_name ? 0 : -1;
}

/* -- Frames ------------------------------------------------------------------------ */

const char *call_site_package(PyObject *frame)
{
    PyObject *globals = PyObject_GetAttr(frame, f_globals);
    PyObject *name = globals ? PyDict_GetItemWithError(globals, package_name) : NULL;
    Py_XDECREF(globals); /* the frame has a reference, too */
    return name && PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
}

bool call_site_is_own(const char *package)
{
    return package && (strcmp(package, "mxnp") == 0 || strncmp(package, "mxnp._", 6) == 0);
}

bool call_site_is_library(const char *package)
{
    bool is_numpys =
        package && (strcmp(package, "numpy") == 0 || strncmp(package, "numpy.", 6) == 0);
    return is_numpys || call_site_is_own(package);
}

int call_site_instruction(PyObject *frame)
{
    if (frame_instruction)
        return frame_instruction(frame);
    PyObject *number = PyObject_GetAttr(frame, f_lasti);
    int instruction = number ? (int)PyLong_AsLong(number) : -1;
    Py_XDECREF(number);
    return instruction;
}

PyObject *call_site_find_frame(bool (*is_skipped)(PyObject *frame))
{
    PyObject *frame = Py_XNewRef((PyObject *)PyEval_GetFrame());
    while (frame && frame != Py_None && is_skipped(frame)) {
        PyObject *back = PyObject_GetAttr(frame, f_back);
        Py_DECREF(frame);
        frame = back;
    }
    if (frame == Py_None)
        Py_CLEAR(frame);
    PyErr_Clear();
    return frame;
}

/* -- Call sites -------------------------------------------------------------------- */

static bool is_own_frame(PyObject *frame) { return call_site_is_own(call_site_package(frame)); }

static bool is_library_frame(PyObject *frame)
{
    return call_site_is_library(call_site_package(frame));
}

/* NumPy's functions may record operations.  Reports count them for the line of the program that
 * called NumPy.  Warnings name the line of NumPy that calls a ufunc, as NumPy's do, but not one
 * that calls a function of mxnp: NumPy's own function would warn in another file. */
static PyObject *find_warned(void)
{
    PyObject *frame = call_site_find_frame(is_own_frame);
    if (frame == (PyObject *)PyEval_GetFrame() || !frame || !is_library_frame(frame))
        return frame;
    Py_DECREF(frame);
    return call_site_find_frame(is_library_frame);
}

static void find_caller(struct call_site *site)
{
    PyObject *frame = call_site_find_frame(is_library_frame);
    site->caller = frame ? (PyObject *)PyFrame_GetCode((PyFrameObject *)frame) : NULL;
    site->caller_instruction = frame ? call_site_instruction(frame) : -1;
    Py_XDECREF(frame);
}

/* The operations that a thread records as one call of a ufunc. */
static _Thread_local struct {
    bool is_on;
    long number;
    const char *name;
} joined;
static long n_joined; /* how often there were some, which the global interpreter lock guards */

void call_site_join(const char *name)
{
    joined.is_on = true;
    joined.number = ++n_joined;
    joined.name = name;
}

void call_site_end_join(void) { joined.is_on = false; }

struct call_site *call_site_new(void)
{
    struct call_site *site = PyMem_Malloc(sizeof *site);
    if (!site) {
        PyErr_NoMemory();
        return NULL;
    }
    PyObject *frame = find_warned();
    site->code = frame ? (PyObject *)PyFrame_GetCode((PyFrameObject *)frame) : NULL;
    site->globals = frame ? PyObject_GetAttr(frame, f_globals) : NULL;
    site->instruction = frame ? call_site_instruction(frame) : -1;
    site->joined = joined.is_on ? joined.number : 0;
    site->name = joined.is_on ? joined.name : NULL;
    site->n_kept = 0;
    site->caller = NULL;
    if (profile_is_on && frame && is_library_frame(frame))
        find_caller(site);
    Py_XDECREF(frame);
    PyErr_Clear();
    return site;
}

void call_site_free(struct call_site *site)
{
    Py_XDECREF(site->code);
    Py_XDECREF(site->globals);
    Py_XDECREF(site->caller);
    for (int i = 0; i < site->n_kept; i++)
        Py_DECREF(site->kept[i]);
    PyMem_Free(site);
}

void call_site_keep(struct call_site *site, const void *object)
{
    site->kept[site->n_kept++] = Py_NewRef((PyObject *)(uintptr_t)object);
}

PyObject *call_site_code(const struct call_site *site, int *instruction)
{
    *instruction = site->caller ? site->caller_instruction : site->instruction;
    return site->caller ? site->caller : site->code;
}

/* Return the line of the instruction, or 0, from the code's table of (begin, end, line). */
static int line_of(const struct call_site *site)
{
    PyObject *row, *lines = PyObject_CallMethod(site->code, "co_lines", NULL);
    int line = 0;
    while (line == 0 && lines && (row = PyIter_Next(lines))) {
        int begin, end;
        PyObject *number;
        if (PyArg_ParseTuple(row, "iiO", &begin, &end, &number) && begin <= site->instruction &&
            site->instruction < end && number != Py_None)
            line = (int)PyNumber_AsSsize_t(number, NULL);
        Py_DECREF(row);
    }
    Py_XDECREF(lines);
    PyErr_Clear();
    return line;
}

PyObject *call_site_place(const struct call_site *site, int *line)
{
    PyObject *file = site->code ? PyObject_GetAttrString(site->code, "co_filename") : NULL;
    *line = file ? line_of(site) : 0;
    PyErr_Clear();
    return file;
}

/* -- Warnings ---------------------------------------------------------------------- */

/* Return a new reference to the dict in which Python notes the warnings that were shown. */
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

int call_site_conditions(const struct call_site *site, int met, const char **name)
{
    static struct {
        long number;
        const char *name;
        int met;
    } last;
    if (site->joined == 0)
        return met;
    *name = site->name ? site->name : *name;
    bool is_continued = last.number == site->joined && strcmp(last.name, *name) == 0;
    int warned = is_continued ? last.met : 0;
    last.number = site->joined;
    last.name = *name;
    last.met = warned | met;
    return met & ~warned;
}

int call_site_warn(const struct call_site *site, const char *text)
{
    if (!site->code)
        return PyErr_WarnEx(PyExc_RuntimeWarning, text, INT_MAX); /* names no frame */
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

static PyObject *join_warnings(PyObject *module, PyObject *is_on)
{
    (void)module;
    if (PyObject_IsTrue(is_on))
        call_site_join(NULL);
    else
        call_site_end_join();
    Py_RETURN_NONE;
}

PyMethodDef call_site_methods[] = {
    {"join_warnings", join_warnings, METH_O,
     "join_warnings(flag, /)\n--\n\nSet whether the operations that this thread records are "
     "one call of a ufunc in NumPy, which issues each warning once."},
    {NULL, NULL, 0, NULL},
};
