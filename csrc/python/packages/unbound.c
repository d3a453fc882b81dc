/* unbound.c -- members of an array class, called with arrays of the other one.
 *
 * Code that says numpy.ndarray.sum(x) gets an mxnp array for x, and a program's
 * np.ndarray.sum(x) a NumPy array or an instance of its own subclass, which derives from
 * numpy.ndarray.  Python checks that the first argument is an instance of the class of the
 * member.  Here the member of the other class is called in that case: that of mxnp.ndarray for
 * mxnp arrays, and that of numpy.ndarray, whose results are adopted, for NumPy's.
 */
#include "python/packages/unbound.h"
#include "python/convert/convert.h"
#include "python/packages/arguments.h"
#include "python/packages/callables.h"
#include "python/packages/layout.h"

/* Return the class whose member is called with an array in place of that of `owner`, or NULL if
 * the member itself is. */
static inline PyTypeObject *class_for(PyTypeObject *owner, PyObject *array)
{
    if (owner == np_array_type)
        return is_array(array) ? array_type : NULL;
    bool is_own = owner == array_type || owner == ((struct type_struct *)array_type)->base;
    return is_own && PyObject_TypeCheck(array, np_array_type) ? np_array_type : NULL;
}

/* Call the member of another class.  What numpy.ndarray gets is unwrapped, and what it returns
 * is adopted. */
static PyObject *call_member(PyTypeObject *class, PyObject *name, PyObject *args,
                             PyObject *kwargs)
{
    struct arguments arguments;
    struct call_args none = {0};
    PyObject *member = PyObject_GetAttr((PyObject *)class, name);
    PyObject *result = NULL;
    if (member && class == array_type)
        result = PyObject_Call(member, args, kwargs);
    else if (member && arguments_begin(&arguments, NULL, args, kwargs) == 0)
        result = convert_adopt(arguments_end(&arguments, PyObject_Call(member, arguments.row[0],
                                                                       arguments.row[1])),
                               &none, MAX_DEPTH);
    Py_XDECREF(member);
    return result;
}

/* -- Methods ------------------------------------------------------------------------- */

static PyObject *call_shared(PyObject *descriptor, PyObject *const *args, size_t flags,
                             PyObject *names)
{
    const struct descriptor *d = (struct descriptor *)descriptor;
    Py_ssize_t n = arguments_positional(flags);
    PyTypeObject *class = n > 0 ? class_for(d->type, args[0]) : NULL;
    if (!class)
        return callable_original(descriptor)(descriptor, args, flags, names);
    PyObject *tuple, *kwargs;
    if (arguments_collect(args, n, names, &tuple, &kwargs) < 0)
        return NULL;
    PyObject *result = call_member(class, d->name, tuple, kwargs);
    Py_DECREF(tuple);
    Py_XDECREF(kwargs);
    return result;
}

/* -- Slots --------------------------------------------------------------------------- */

static ternaryfunc call_original_slot;

/* The descriptors of slots have no function of their own, and a class of their own would keep
 * Python from inheriting their slots.  So their class gets this function. */
static PyObject *slot_call(PyObject *descriptor, PyObject *args, PyObject *kwargs)
{
    const struct descriptor *d = (struct descriptor *)descriptor;
    PyTypeObject *class = Py_SIZE(args) > 0 ? class_for(d->type, *layout_items(args)) : NULL;
    return class ? call_member(class, d->name, args, kwargs)
                 : call_original_slot(descriptor, args, kwargs);
}

static void patch_slots(PyTypeObject *descriptor_class)
{
    struct type_struct *type = (struct type_struct *)descriptor_class;
    call_original_slot = (ternaryfunc)type->call;
    type->call = slot_call;
}

/* -- Attributes ---------------------------------------------------------------------- */

static PyTypeObject *attribute_type, *shared_attribute_type;

static PyObject *attribute_of(PyTypeObject *class, PyObject *descriptor)
{
    return PyObject_GetAttr((PyObject *)class, ((struct descriptor *)descriptor)->name);
}

static PyObject *get_of_other(PyTypeObject *class, PyObject *descriptor, PyObject *object)
{
    struct call_args none = {0};
    PyObject *other = attribute_of(class, descriptor);
    PyObject *value = other ? PyObject_CallMethod(other, "__get__", "O", object) : NULL;
    Py_XDECREF(other);
    return class == array_type ? value : convert_adopt(value, &none, MAX_DEPTH);
}

/* Attributes of instances of the class itself are read as fast as without this function. */
static PyObject *attribute_get(PyObject *descriptor, PyObject *object, PyObject *type)
{
    const struct attribute_descriptor *d = (struct attribute_descriptor *)descriptor;
    if (object && Py_TYPE(object) == d->common.type && d->def->get)
        return d->def->get(object, d->def->closure);
    PyTypeObject *class = object ? class_for(d->common.type, object) : NULL;
    if (class)
        return get_of_other(class, descriptor, object);
    descrgetfunc get = (descrgetfunc)((struct type_struct *)attribute_type)->descr_get;
    return get(descriptor, object, type);
}

static int attribute_set(PyObject *descriptor, PyObject *object, PyObject *value)
{
    PyTypeObject *class = class_for(((struct descriptor *)descriptor)->type, object);
    if (!class) {
        descrsetfunc set = (descrsetfunc)((struct type_struct *)attribute_type)->descr_set;
        return set(descriptor, object, value);
    }
    PyObject *other = attribute_of(class, descriptor);
    PyObject *done = !other  ? NULL
                     : value ? PyObject_CallMethod(other, "__set__", "OO", object, value)
                             : PyObject_CallMethod(other, "__delete__", "O", object);
    Py_XDECREF(other);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

static PyTypeObject *derive_attributes(void)
{
    PyType_Slot own[] = {{Py_tp_descr_get, (void *)attribute_get},
                         {Py_tp_descr_set, (void *)attribute_set},
                         {0, NULL}};
    return callable_derive(attribute_type, "builtins.getset_descriptor", own);
}

/* -- Classes ------------------------------------------------------------------------- */

static int patch_member(PyObject *member)
{
    PyTypeObject *kind = Py_TYPE(member);
    if (callable_is_method(member))
        return callable_replace(member, layout_vectorcall(member), call_shared);
    if (kind == attribute_type) {
        Py_INCREF((PyObject *)shared_attribute_type);
        Py_SET_TYPE(member, shared_attribute_type);
    }
    return 0;
}

static int patch_class(PyTypeObject *class)
{
    PyObject *members = PyDict_Values(((struct type_struct *)class)->dict);
    int status = members ? 0 : -1;
    for (Py_ssize_t i = 0; members && i < PyList_Size(members) && status == 0; i++)
        status = patch_member(PyList_GetItem(members, i));
    Py_XDECREF(members);
    PyType_Modified(class);
    return status;
}

static PyTypeObject *kind_of(PyTypeObject *class, const char *name)
{
    PyObject *member = PyDict_GetItemString(((struct type_struct *)class)->dict, name);
    return member ? Py_TYPE(member) : NULL;
}

int unbound_patch(void)
{
    attribute_type = kind_of(np_array_type, "shape");
    shared_attribute_type = derive_attributes();
    if (!shared_attribute_type)
        return -1;
    patch_slots(kind_of(np_array_type, "__add__"));
    PyTypeObject *base = ((struct type_struct *)array_type)->base;
    return patch_class(np_array_type) < 0 || patch_class(base) < 0 ? -1
                                                                   : patch_class(array_type);
}
