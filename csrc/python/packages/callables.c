/* callables.c -- functions, methods and attributes of compiled code, changed in place. */
#include "python/packages/callables.h"
#include "python/base/table.h"
#include "python/direct/elementwise.h"
#include "python/packages/arguments.h"
#include "python/packages/layout.h"
#include "python/packages/slots.h"
#include "python/record/queue.h"

/* -- Functions that are called through a vectorcall -------------------------------- */

/* Functions that Cython and nanobind compiled.  A patched function is never freed, as modules
 * are not. */
struct patched_function {
    struct table_key function;
    vector_call call;
    bool adopts;
};
static struct table functions = {.row_size = sizeof(struct patched_function)};

vector_call callable_original(PyObject *function)
{
    return ((struct patched_function *)table_find(&functions, function, 0))->call;
}

/* Call a patched function.  If it adopts, the program gets mxnp arrays. */
static inline PyObject *call_patched(vector_call call, bool adopts, PyObject *function,
                                     PyObject *const *args, size_t flags, PyObject *names)
{
    PyObject *result = arguments_call(call, function, args, flags, names);
    return adopts ? arguments_take(result, args,
                                   arguments_positional(flags) + arguments_count(names))
                  : result;
}

static PyObject *function_patched(PyObject *function, PyObject *const *args, size_t flags,
                                  PyObject *names)
{
    const struct patched_function *f = table_find(&functions, function, 0);
    return call_patched(f->call, f->adopts, function, args, flags, names);
}

/* Check whether a ufunc may get NumPy arrays in place of mxnp arrays: no other operand has a
 * protocol of its own, and nobody watches the calls of mxnp's. */
static bool are_operands(PyObject *const *args, Py_ssize_t n)
{
    bool has_array = false, are = !(profile_is_on || calls_are_intercepted);
    for (Py_ssize_t i = 0; i < n && are; i++) {
        has_array |= is_array(args[i]);
        are = is_array(args[i]) || is_static(Py_TYPE(args[i]));
    }
    return has_array && are;
}

/* Check whether nothing waits for the arrays. */
static bool are_ready(PyObject *const *args, Py_ssize_t n)
{
    Py_ssize_t i = 0;
    while (i < n && !(is_array(args[i]) && !queue_is_free(args[i])))
        i++;
    return i == n;
}

/* Call a ufunc for the program.  It finds mxnp arrays by NumPy's protocol, which takes several
 * times as long as a call with few elements. */
static PyObject *call_ufunc(vector_call call, PyObject *ufunc, PyObject *const *args,
                            size_t flags, PyObject *names)
{
    Py_ssize_t n = arguments_positional(flags);
    PyObject *result;
    int status = are_ready(args, n) ? elementwise_call_others(ufunc, args, (int)n, &result) : 0;
    if (status != 0)
        return result;
    return arguments_call_with_arrays(call, ufunc, args, flags, names, true);
}

static PyObject *ufunc_patched(PyObject *ufunc, PyObject *const *args, size_t flags,
                               PyObject *names)
{
    vector_call call = callable_original(ufunc);
    Py_ssize_t n = arguments_positional(flags) + arguments_count(names);
    int is_own = !names && are_operands(args, n) ? owners_is_program() : 0;
    if (is_own < 0)
        return NULL;
    return is_own ? call_ufunc(call, ufunc, args, flags, names)
                  : arguments_take(call(ufunc, args, flags, names), args, n);
}

static const char *class_name(PyObject *x) { return ((struct type_struct *)Py_TYPE(x))->name; }

/* Check whether x is a function that Cython, nanobind or Boost.Python compiled, or one of
 * f2py's objects. */
static bool is_compiled(PyObject *x)
{
    static const char *const names[] = {"cython_function", "nb_func", "nb_method",
                                        "Boost.Python.function"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strstr(class_name(x), names[i]))
            return true;
    return strcmp(class_name(x), "fortran") == 0;
}

int callable_replace(PyObject *function, vector_call *call, vector_call replacement)
{
    if (*call == replacement)
        return 0;
    struct patched_function *row = table_add(&functions, function, 0);
    if (!row)
        return -1;
    row->call = *call;
    Py_INCREF(function);
    *call = replacement;
    return 0;
}

static int patch_vectorcall(PyObject *function, vector_call *call)
{
    int status = callable_replace(function, call, function_patched);
    struct patched_function *row = status < 0 ? NULL : table_find(&functions, function, 0);
    if (row)
        row->adopts = !arguments_keep_results(function, NULL);
    return status;
}

/* -- Functions that are called through a PyMethodDef ------------------------------- */

/* Functions and methods that a PyMethodDef defines get a copy of it, followed by the functions
 * that they called before.  The interpreter calls the C functions of definitions with known
 * flags directly.  An additional flag, which has no effect here, prevents this. */
struct definition {
    PyMethodDef patched;
    vector_call function, method; /* for builtin functions, also bound ones; for descriptors */
    bool adopts;
};

#define NOT_BY_INTERPRETER METH_COEXIST

static struct definition *definition_of(PyObject *function)
{
    return (struct definition *)((struct c_function *)function)->def;
}

static struct definition *new_definition(PyMethodDef *original)
{
    struct definition *d = PyMem_Calloc(1, sizeof *d);
    if (!d)
        return NULL;
    d->patched = *original;
    d->patched.ml_flags |= NOT_BY_INTERPRETER;
    return d;
}

PyObject *callable_call_packed(PyObject *function, PyObject *const *args, Py_ssize_t n,
                               PyObject *names)
{
    ternaryfunc call = (ternaryfunc)((struct type_struct *)Py_TYPE(function))->call;
    PyObject *tuple, *named;
    if (arguments_collect(args, n, names, &tuple, &named) < 0)
        return NULL;
    PyObject *result = call(function, tuple, named);
    Py_DECREF(tuple);
    Py_XDECREF(named);
    return result;
}

static PyObject *call_builtin(PyObject *function, PyObject *const *args, size_t flags,
                              PyObject *names)
{
    vector_call call = definition_of(function)->function;
    Py_ssize_t n = arguments_positional(flags);
    return call ? call(function, args, flags, names)
                : callable_call_packed(function, args, n, names);
}

static PyObject *builtin_patched(PyObject *function, PyObject *const *args, size_t flags,
                                 PyObject *names)
{
    bool adopts = definition_of(function)->adopts;
    return call_patched(call_builtin, adopts, function, args, flags, names);
}

static PyObject *call_method(PyObject *descriptor, PyObject *const *args, size_t flags,
                             PyObject *names)
{
    struct method_descriptor *m = (struct method_descriptor *)descriptor;
    return ((struct definition *)m->def)->method(descriptor, args, flags, names);
}

static PyObject *method_patched(PyObject *descriptor, PyObject *const *args, size_t flags,
                                PyObject *names)
{
    const struct definition *d =
        (struct definition *)((struct method_descriptor *)descriptor)->def;
    return call_patched(call_method, d->adopts, descriptor, args, flags, names);
}

/* Patch a builtin function that was made by looking up a method in an object or class. */
static PyObject *bound(PyObject *function)
{
    struct c_function *f = (struct c_function *)function;
    if (function && Py_TYPE(function) == &PyCFunction_Type) {
        definition_of(function)->function = f->call;
        f->call = builtin_patched;
    }
    return function;
}

/* -- Attributes --------------------------------------------------------------------- */

struct attribute {
    PyGetSetDef *original, patched;
};

static PyObject *attribute_get(PyObject *self, void *closure)
{
    PyGetSetDef *original = ((struct attribute *)closure)->original;
    struct noted_caller noted = owners_enter();
    PyObject *value = original->get(self, original->closure);
    owners_leave(noted);
    return value;
}

static int attribute_set(PyObject *self, PyObject *value, void *closure)
{
    PyGetSetDef *original = ((struct attribute *)closure)->original;
    struct arguments arguments;
    if (!value)
        return original->set(self, NULL, original->closure);
    if (arguments_begin(&arguments, self, value, NULL) < 0)
        return -1;
    return arguments_end_status(&arguments,
                                original->set(self, arguments.row[0], original->closure));
}

/* -- Changing definitions ------------------------------------------------------------- */

static PyTypeObject *method_type, *class_method_type, *attribute_type, *slot_type;
static PyObject *static_method, *class_method;
static PyTypeObject *patched_method_type, *patched_class_method_type;

static PyObject *get_method(PyObject *descriptor, PyObject *object, PyObject *class)
{
    descrgetfunc get = (descrgetfunc)((struct type_struct *)method_type)->descr_get;
    PyObject *function = get(descriptor, object, class);
    return function == descriptor ? function : bound(function);
}

static PyObject *get_class_method(PyObject *descriptor, PyObject *object, PyObject *class)
{
    descrgetfunc get = (descrgetfunc)((struct type_struct *)class_method_type)->descr_get;
    return bound(get(descriptor, object, class));
}

static int patch_builtin(PyObject *function)
{
    struct c_function *f = (struct c_function *)function;
    struct definition *d = f->call == builtin_patched ? NULL : new_definition(f->def);
    if (!d)
        return 0;
    d->function = f->call;
    d->adopts = !arguments_keep_results(function, NULL);
    Py_INCREF(function); /* never freed, because it points to the definition */
    f->def = &d->patched;
    f->call = builtin_patched;
    return 0;
}

static int patch_method(PyObject *method)
{
    struct method_descriptor *m = (struct method_descriptor *)method;
    struct definition *d = new_definition(m->def);
    if (!d)
        return 0;
    bool is_of_class = Py_TYPE(method) == class_method_type;
    d->adopts = !arguments_keep_results(method, m->common.type);
    Py_INCREF(method);
    m->def = &d->patched;
    PyTypeObject *type = is_of_class ? patched_class_method_type : patched_method_type;
    Py_INCREF((PyObject *)type);
    Py_SET_TYPE(method, type);
    if (is_of_class)
        return 0;
    d->method = m->call;
    m->call = method_patched;
    return 0;
}

static int patch_attribute(PyObject *descriptor)
{
    struct attribute_descriptor *a = (struct attribute_descriptor *)descriptor;
    if (!a->def->get || a->def->get == attribute_get)
        return 0;
    struct attribute *made = PyMem_Malloc(sizeof *made);
    if (!made)
        return -1;
    made->original = a->def;
    made->patched = *a->def;
    made->patched.get = attribute_get;
    made->patched.set = a->def->set ? attribute_set : NULL;
    made->patched.closure = made;
    a->def = &made->patched;
    return 0;
}

/* Check for a ufunc, whose structs have a vectorcall from NumPy 1.21 on. */
static bool is_ufunc(PyObject *x)
{
    vector_call *call = strcmp(class_name(x), "numpy.ufunc") == 0 ? layout_vectorcall(x) : NULL;
    return call && *call;
}

static bool is_instance_method(PyObject *x)
{
    return strcmp(class_name(x), "instancemethod") == 0;
}

static bool is_wrapper(PyObject *x)
{
    return (PyObject *)Py_TYPE(x) == static_method || (PyObject *)Py_TYPE(x) == class_method ||
           is_instance_method(x);
}

/* Cython's functions for several types, and those that accept any arguments, lack a vectorcall.
 * So do functions of Boost.Python and the objects of f2py.  They are called through their
 * class.
 */
static int patch_compiled(PyObject *function)
{
    vector_call *call = layout_vectorcall(function);
    if (call && *call)
        return patch_vectorcall(function, call);
    slot_patch_call(Py_TYPE(function));
    return 0;
}

int callable_patch_class(PyTypeObject *type)
{
    vector_call *call = layout_vectorcall((PyObject *)type);
    return call && *call ? patch_vectorcall((PyObject *)type, call) : 0;
}

bool callable_is_method(PyObject *x)
{
    return Py_TYPE(x) == method_type || Py_TYPE(x) == patched_method_type;
}

bool callable_is_function(PyObject *x)
{
    return Py_TYPE(x) == &PyCFunction_Type || is_compiled(x) || is_wrapper(x) || is_ufunc(x);
}

bool callable_is_decorated(PyObject *x)
{
    return strcmp(class_name(x), "function") == 0 ||
           strcmp(class_name(x), "functools._lru_cache_wrapper") == 0;
}

int callable_patch(PyObject *x)
{
    if (is_wrapper(x)) {
        PyObject *function = PyObject_GetAttrString(x, "__func__");
        int status = function ? callable_patch(function) : -1;
        Py_XDECREF(function);
        return status;
    }
    if (Py_TYPE(x) == &PyCFunction_Type)
        return patch_builtin(x);
    if (is_ufunc(x))
        return callable_replace(x, layout_vectorcall(x), ufunc_patched);
    return is_compiled(x) ? patch_compiled(x) : 0;
}

vector_call *callable_innermost(PyObject *x)
{
    if (Py_TYPE(x) == &PyCFunction_Type && patch_builtin(x) < 0)
        return NULL;
    vector_call *call = layout_vectorcall(x);
    if (call && *call == builtin_patched)
        return &definition_of(x)->function;
    if (call && (*call == function_patched || *call == ufunc_patched))
        return &((struct patched_function *)table_find(&functions, x, 0))->call;
    return call && *call ? call : NULL;
}

int callable_patch_member(PyTypeObject *type, PyObject *name, PyObject *member)
{
    PyTypeObject *kind = Py_TYPE(member);
    if (kind == slot_type)
        return slot_patch(type, name, member);
    if (kind == attribute_type)
        return patch_attribute(member);
    if (kind == method_type || kind == class_method_type)
        return patch_method(member);
    if (kind == &PyCFunction_Type && ((struct c_function *)member)->self == (PyObject *)type)
        return slot_patch_new(type); /* the member is __new__, which calls the slot */
    return callable_patch(member);
}

static PyTypeObject *type_of_member(PyTypeObject *type, const char *name)
{
    PyObject *dict = PyObject_GetAttrString((PyObject *)type, "__dict__");
    PyObject *member = dict ? PyMapping_GetItemString(dict, name) : NULL;
    PyTypeObject *kind = member ? Py_TYPE(member) : NULL;
    Py_XDECREF(member);
    Py_XDECREF(dict);
    return kind;
}

PyTypeObject *callable_derive(PyTypeObject *final, const char *name, PyType_Slot *own)
{
    struct type_struct *type = (struct type_struct *) final;
    unsigned long flags = type->flags;
    PyType_Spec spec = {
        .name = name,
        .basicsize = (int)type->basicsize,
        .flags = (unsigned)(Py_TPFLAGS_DEFAULT | (flags & METHOD_FLAGS)),
        .slots = own,
    };
    PyObject *bases = PyTuple_Pack(1, final);
    type->flags |= Py_TPFLAGS_BASETYPE;
    PyObject *made = bases ? PyType_FromSpecWithBases(&spec, bases) : NULL;
    type->flags = flags;
    Py_XDECREF(bases);
    /* Descriptors have their own __doc__, and no __module__. */
    PyObject *dict = made ? ((struct type_struct *)made)->dict : NULL;
    if (dict && (PyDict_DelItemString(dict, "__doc__") < 0 ||
                 PyDict_DelItemString(dict, "__module__") < 0))
        Py_CLEAR(made);
    if (made)
        ((struct type_struct *)made)->name = type->name;
    PyType_Modified(final);
    return (PyTypeObject *)made;
}

static int derive_types(void)
{
    PyType_Slot of_methods[] = {{Py_tp_descr_get, (void *)get_method}, {0, NULL}};
    PyType_Slot of_class_methods[] = {{Py_tp_descr_get, (void *)get_class_method}, {0, NULL}};
    patched_method_type =
        callable_derive(method_type, "builtins.method_descriptor", of_methods);
    patched_class_method_type =
        callable_derive(class_method_type, "builtins.classmethod_descriptor", of_class_methods);
    return patched_method_type && patched_class_method_type ? 0 : -1;
}

static int load_kinds(void)
{
    PyObject *builtins = PyImport_ImportModule("builtins");
    if (!builtins)
        return -1;
    static_method = PyObject_GetAttrString(builtins, "staticmethod");
    class_method = PyObject_GetAttrString(builtins, "classmethod");
    Py_DECREF(builtins);
    method_type = type_of_member(&PyList_Type, "append");
    class_method_type = type_of_member(&PyDict_Type, "fromkeys");
    attribute_type = type_of_member(&PyLong_Type, "real");
    slot_type = type_of_member(&PyLong_Type, "__add__");
    return PyErr_Occurred() ? -1 : 0;
}

int callable_load(void)
{
    if (load_kinds() < 0)
        return -1;
    if (!layout_is_known())
        return 0;
    return derive_types() < 0 ? -1 : 1;
}
