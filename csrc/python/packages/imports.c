/* imports.c -- Python's import functions, with a hook for the imports of NumPy, and a garbage
 * collector that waits while packages are imported.
 *
 * `__import__` and `importlib.import_module` work as before, but a module that they found under
 * the name of NumPy is passed to a Python function that may return another one.  They are
 * written in C because each traceback and warning that passes through an import would name a
 * Python frame, and each import would be slower.
 */
#include "python/packages/imports.h"
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

struct hook {
    PyObject *original; /* the function that was replaced */
    PyObject *replace;  /* replace(found, *args, **kwargs) returns the module for the caller */
};

static struct hook import_hook;
static bool import_hook_is_over_pythons; /* its original is Python's own function */
static struct hook import_module_hook;

/* Check whether a name is that of a module of NumPy, or a relative name that may be one. */
static bool is_numpy(PyObject *name)
{
    Py_ssize_t length;
    const char *text;
    if (!name || !PyUnicode_Check(name))
        return false;
    text = PyUnicode_AsUTF8AndSize(name, &length);
    if (!text) {
        PyErr_Clear(); /* a lone surrogate */
        return false;
    }
    if (length < 5 || memcmp(text, "numpy", 5) != 0)
        return text[0] == '.';
    return length == 5 || text[5] == '.';
}

static PyObject *import_call(struct hook *hook, PyObject *args, PyObject *kwargs)
{
    /* Another thread may install or remove the hook meanwhile. */
    PyObject *original = Py_NewRef(hook->original);
    PyObject *replace = Py_NewRef(hook->replace);
    PyObject *name = PyTuple_Size(args) > 0 ? PyTuple_GetItem(args, 0)
                     : kwargs               ? PyDict_GetItemString(kwargs, "name")
                                            : NULL;
    PyObject *found = PyObject_Call(original, args, kwargs);
    if (found && is_numpy(name)) {
        PyObject *first = PyTuple_Pack(1, found);
        PyObject *all = first ? PySequence_Concat(first, args) : NULL;
        Py_DECREF(found);
        found = all ? PyObject_Call(replace, all, kwargs) : NULL;
        Py_XDECREF(first);
        Py_XDECREF(all);
    }
    Py_DECREF(original);
    Py_DECREF(replace);
    return found;
}

/* Check for Python's own function, rather than one of other code. */
static bool is_pythons(PyObject *function)
{
    return PyCFunction_Check(function) &&
           PyCFunction_GetSelf(function) == PyImport_AddModule("builtins");
}

/* A statement passes all five arguments by position. */
static PyObject *import(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names)
{
    (void)self;
    if (n == 5 && !names && import_hook_is_over_pythons && !is_numpy(args[0])) {
        int level = (int)PyLong_AsLong(args[4]);
        if (level == -1 && PyErr_Occurred())
            return NULL;
        return PyImport_ImportModuleLevelObject(args[0], args[1], args[2], args[3], level);
    }
    PyObject *tuple = PyTuple_New(n), *dict = names ? PyDict_New() : NULL, *found = NULL;
    for (Py_ssize_t i = 0; tuple && i < n; i++)
        PyTuple_SetItem(tuple, i, Py_NewRef(args[i]));
    for (Py_ssize_t i = 0; dict && i < PyTuple_Size(names); i++)
        if (PyDict_SetItem(dict, PyTuple_GetItem(names, i), args[n + i]) < 0)
            Py_CLEAR(dict);
    if (tuple && (dict || !names))
        found = import_call(&import_hook, tuple, dict);
    Py_XDECREF(tuple);
    Py_XDECREF(dict);
    return found;
}

static PyObject *import_module(PyObject *self, PyObject *args, PyObject *kwargs)
{
    (void)self;
    return import_call(&import_module_hook, args, kwargs);
}

#define FUNCTION(f) ((PyCFunction)(void (*)(void))(f))

static PyMethodDef import_def = {
    "__import__", FUNCTION(import), METH_FASTCALL | METH_KEYWORDS,
    PyDoc_STR("__import__(name, globals=None, locals=None, fromlist=(), level=0)\n--\n\n"
              "Import a module.")};
static PyMethodDef import_module_def = {
    "import_module", FUNCTION(import_module), METH_VARARGS | METH_KEYWORDS,
    PyDoc_STR("import_module(name, package=None)\n--\n\nImport a module.")};

/* Without a self, a function is printed and pickled like a function of its module. */
static PyObject *function_of(const char *owner, PyMethodDef *def)
{
    PyObject *module = PyUnicode_FromString(owner);
    PyObject *function = module ? PyCFunction_NewEx(def, NULL, module) : NULL;
    Py_XDECREF(module);
    return function;
}

static PyObject *hook(struct hook *hook, PyMethodDef *def, const char *owner, PyObject *args)
{
    PyObject *original, *replace;
    struct hook before = *hook;
    if (!PyArg_ParseTuple(args, "OO", &original, &replace))
        return NULL;
    hook->original = Py_NewRef(original);
    hook->replace = Py_NewRef(replace);
    Py_XDECREF(before.original);
    Py_XDECREF(before.replace);
    return function_of(owner, def);
}

static PyObject *hook_import(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *function = hook(&import_hook, &import_def, "builtins", args);
    import_hook_is_over_pythons = function && is_pythons(import_hook.original);
    return function;
}

static PyObject *hook_import_module(PyObject *module, PyObject *args)
{
    (void)module;
    return hook(&import_module_hook, &import_module_def, "importlib", args);
}

/* -- Garbage ------------------------------------------------------------------------- */

/* Nearly all objects that an import makes stay, and the collector looks at them after every 700
 * (2,000 from Python 3.12 on).  While an installed package loads its modules, it waits for
 * more.  A program's own modules may compute for hours and are left alone. */
enum { LEAST_COLLECTED = 50000 };

static PyObject *find_and_load; /* importlib's function */
static PyObject *get_threshold, *set_threshold;
static int usual_threshold; /* the program's, while it is raised, or 0 */

/* The package of a module that this thread is loading, or NULL. */
static _Thread_local PyObject *awaited;

/* Set the first threshold of the collector if it is between two values.  Return the value
 * before, or 0. */
static int exchange_threshold(int least, int most, int value)
{
    int before = 0, second, third;
    PyObject *all = PyObject_CallNoArgs(get_threshold), *done = NULL;
    if (all && PyArg_ParseTuple(all, "iii", &before, &second, &third) && before >= least &&
        before <= most)
        done = PyObject_CallFunction(set_threshold, "iii", value, second, third);
    bool is_set = done != NULL;
    Py_XDECREF(all);
    Py_XDECREF(done);
    PyErr_Clear();
    return is_set ? before : 0;
}

/* Raise the threshold if a package is installed. */
static void collect_late(PyObject *package)
{
    PyObject *module = PyDict_GetItemWithError(PyImport_GetModuleDict(), package);
    PyObject *file = module && PyModule_Check(module)
                         ? PyDict_GetItemString(PyModule_GetDict(module), "__file__")
                         : NULL;
    const char *path =
        file && PyUnicode_Check(file) ? PyUnicode_AsUTF8AndSize(file, NULL) : NULL;
    if (path && (strstr(path, "/site-packages/") || strstr(path, "/dist-packages/")))
        usual_threshold = exchange_threshold(1, LEAST_COLLECTED - 1, LEAST_COLLECTED);
    PyErr_Clear();
}

/* Set the program's threshold again, unless a package has set another one. */
static void collect_as_usual(void)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    exchange_threshold(LEAST_COLLECTED, LEAST_COLLECTED, usual_threshold);
    usual_threshold = 0;
    PyErr_Restore(type, value, traceback);
}

/* Return the outermost package of a module, or NULL if it is in none. */
static PyObject *outermost(PyObject *name)
{
    const char *text = PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
    const char *dot = text ? strchr(text, '.') : NULL;
    PyObject *package = dot ? PyUnicode_FromStringAndSize(text, dot - text) : NULL;
    PyErr_Clear(); /* of a lone surrogate */
    return package;
}

/* Load a module that is not in sys.modules: importlib's function does, which each import calls.
 * It loads the package of the module first. */
static PyObject *load(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *original = Py_NewRef(find_and_load), *before = awaited;
    PyObject *name = PyTuple_Size(args) > 0 ? PyTuple_GetItem(args, 0) : Py_None;
    PyObject *package = usual_threshold ? NULL : outermost(name);
    if (package) {
        collect_late(package);
        awaited = package;
    }
    PyObject *found = PyObject_CallObject(original, args);
    Py_DECREF(original);
    if (package) {
        if (usual_threshold)
            collect_as_usual();
        awaited = before;
        Py_DECREF(package);
    } else if (found && awaited && !usual_threshold && PyUnicode_Compare(name, awaited) == 0)
        collect_late(awaited);
    return found;
}

static PyMethodDef loading_def = {
    "_find_and_load", load, METH_VARARGS,
    PyDoc_STR("_find_and_load(name, import_)\n--\n\nFind and load the module.")};

static PyObject *hook_loading(PyObject *module, PyObject *original)
{
    (void)module;
    PyObject *before = find_and_load;
    PyObject *collector = get_threshold ? NULL : PyImport_AddModule("gc"); /* it is loaded */
    if (collector) {
        set_threshold = PyObject_GetAttrString(collector, "set_threshold");
        get_threshold =
            set_threshold ? PyObject_GetAttrString(collector, "get_threshold") : NULL;
    }
    if (!get_threshold)
        return NULL;
    find_and_load = Py_NewRef(original);
    Py_XDECREF(before);
    return function_of("importlib._bootstrap", &loading_def);
}

/* Return objects to the collector's youngest generation.  gc.freeze() takes all objects from
 * the collector, and this returns the program's. */
static PyObject *track_again(PyObject *module, PyObject *objects)
{
    (void)module;
    for (Py_ssize_t i = 0; i < PyList_Size(objects); i++) {
        PyObject *object = PyList_GetItem(objects, i);
        if (PyObject_GC_IsTracked(object)) {
            PyObject_GC_UnTrack(object);
            PyObject_GC_Track(object);
        }
    }
    Py_RETURN_NONE;
}

/* -- Extension modules -------------------------------------------------------------- */

/* Python's own functions, through which each loader loads an extension module, and a function
 * of mxnp that receives the module.  They are written in C for the same reason: the traceback
 * of a failed import shows no frame of mxnp. */
static PyObject *create, *execute, *imported;

/* Check whether a module is filled when it is executed, rather than when it is created. */
static bool is_filled_later(PyObject *module)
{
    PyModuleDef *def = PyModule_Check(module) ? PyModule_GetDef(module) : NULL;
    return def && def->m_slots;
}

/* Steal a reference to the result of a step.  Return it after reporting the module. */
static PyObject *import_report(PyObject *result, PyObject *module)
{
    PyObject *reported = PyObject_CallFunctionObjArgs(imported, module, NULL);
    if (!reported)
        Py_CLEAR(result);
    Py_XDECREF(reported);
    return result;
}

static PyObject *create_dynamic(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *module = PyObject_Call(create, args, NULL);
    if (!module || !PyModule_Check(module) || is_filled_later(module))
        return module;
    /* The module's place, which is set after this call otherwise. */
    if (PyObject_SetAttrString(module, "__spec__", PyTuple_GetItem(args, 0)) < 0)
        PyErr_Clear();
    return import_report(module, module);
}

static PyObject *exec_dynamic(PyObject *self, PyObject *module)
{
    (void)self;
    PyObject *status = PyObject_CallFunctionObjArgs(execute, module, NULL);
    return status && is_filled_later(module) ? import_report(status, module) : status;
}

static PyMethodDef extension_defs[] = {
    {"create_dynamic", create_dynamic, METH_VARARGS,
     PyDoc_STR("create_dynamic($module, spec, file=<unrepresentable>, /)\n--\n\n"
               "Create an extension module.")},
    {"exec_dynamic", exec_dynamic, METH_O,
     PyDoc_STR("exec_dynamic($module, mod, /)\n--\n\n"
               "Initialize an extension module.")},
};

/* Replace a function of the module _imp.  Return the original, or NULL. */
static PyObject *replace_loading(PyObject *module, PyMethodDef *def)
{
    PyObject *name = PyObject_GetAttrString(module, "__name__");
    PyObject *original = PyObject_GetAttrString(module, def->ml_name);
    PyObject *function = name && original ? PyCFunction_NewEx(def, module, name) : NULL;
    if (!function || PyObject_SetAttrString(module, def->ml_name, function) < 0)
        Py_CLEAR(original);
    Py_XDECREF(function);
    Py_XDECREF(name);
    return original;
}

static PyObject *hook_extensions(PyObject *module, PyObject *callback)
{
    (void)module;
    if (imported)
        Py_RETURN_NONE;
    imported = Py_NewRef(callback);
    PyObject *loading = PyImport_ImportModule("_imp");
    create = loading ? replace_loading(loading, &extension_defs[0]) : NULL;
    execute = create ? replace_loading(loading, &extension_defs[1]) : NULL;
    Py_XDECREF(loading);
    return execute ? Py_NewRef(Py_None) : NULL;
}

/* The strings of which each compiled user of NumPy arrays contains one, and the place of a
 * letter that is rare in compiled code, for which memchr() looks.  Constants are near the end
 * of a library, so it is searched in blocks from there. */
static const struct text {
    const char *text;
    size_t length, rare;
} texts[] = {{"ndarray", 7, 6}, {"_ARRAY_API", 10, 5}};
enum { BLOCK = 1 << 17, OVERLAP = sizeof "_ARRAY_API" - 2 };

static bool has_text(const char *bytes, size_t size, const struct text *text)
{
    if (size < text->length)
        return false;
    const char *at = bytes + text->rare, *end = bytes + size - text->length + text->rare + 1;
    for (; at < end && (at = memchr(at, text->text[text->rare], (size_t)(end - at))); at++)
        if (memcmp(at - text->rare, text->text, text->length) == 0)
            return true;
    return false;
}

/* Without an answer, a library may have them. */
static bool file_has_text(const char *path)
{
    struct stat status;
    FILE *file = fopen(path, "r");
    bool is_known = file && fstat(fileno(file), &status) == 0;
    size_t size = is_known ? (size_t)status.st_size : 0;
    const char *bytes =
        size ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, fileno(file), 0) : MAP_FAILED;
    if (file)
        fclose(file);
    if (bytes == MAP_FAILED)
        return !is_known || size;
    bool has = false;
    for (size_t begin = size, end; begin > 0 && !has;) {
        end = begin + OVERLAP < size ? begin + OVERLAP : size;
        begin = begin > BLOCK ? begin - BLOCK : 0;
        has = has_text(bytes + begin, end - begin, &texts[0]) ||
              has_text(bytes + begin, end - begin, &texts[1]);
    }
    munmap((void *)(uintptr_t)bytes, size);
    return has;
}

static PyObject *mentions_arrays(PyObject *module, PyObject *path)
{
    PyObject *name;
    (void)module;
    if (!PyUnicode_FSConverter(path, &name))
        return NULL;
    bool has = file_has_text(PyBytes_AsString(name));
    Py_DECREF(name);
    return PyBool_FromLong(has);
}

/* Print the exception that ended a program through sys.excepthook, which the program may have
 * changed. */
static PyObject *print_exception(PyObject *module, PyObject *error)
{
    (void)module;
    PyErr_Restore(PyObject_Type(error), Py_NewRef(error), PyException_GetTraceback(error));
    PyErr_Print();
    Py_RETURN_NONE;
}

PyMethodDef imports_methods[] = {
    {"hook_import", hook_import, METH_VARARGS,
     "hook_import(original, replace)\n--\n\n"
     "Return an __import__ that passes modules of NumPy to replace()."},
    {"hook_import_module", hook_import_module, METH_VARARGS,
     "hook_import_module(original, replace)\n--\n\n"
     "Return an importlib.import_module that does the same."},
    {"hook_loading", hook_loading, METH_O,
     "hook_loading(original)\n--\n\n"
     "Return a function that loads a module as importlib's function does, while the\n"
     "garbage collector waits if it is of an installed package."},
    {"track_again", track_again, METH_O,
     "track_again(objects)\n--\n\n"
     "Return a list of frozen objects to the garbage collector."},
    {"hook_extensions", hook_extensions, METH_O,
     "hook_extensions(imported)\n--\n\n"
     "Call imported(module) after any loader initialised an extension module."},
    {"mentions_arrays", mentions_arrays, METH_O,
     "mentions_arrays(path)\n--\n\n"
     "Return whether a library contains the name of numpy.ndarray or NumPy's C API."},
    {"print_exception", print_exception, METH_O,
     "print_exception(error)\n--\n\n"
     "Print an exception as Python does for an uncaught one."},
    {NULL, NULL, 0, NULL},
};
