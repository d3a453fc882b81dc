/* layout.c -- comparison of this Python's structs with layout.h. */
#include "python/packages/layout.h"
#include <stddef.h>
#include <string.h>

static PyObject *probe(PyObject *self, PyObject *argument)
{
    (void)self;
    return Py_NewRef(argument);
}

static bool functions_are_known(void)
{
    static PyMethodDef def = {"probe", probe, METH_O, NULL};
    PyObject *module = PyUnicode_FromString("mxnp");
    PyObject *function = module ? PyCFunction_NewEx(&def, module, module) : NULL;
    struct c_function *f = (struct c_function *)function;
    struct type_struct *type = (struct type_struct *)&PyCFunction_Type;
    bool known = f && f->def == &def && f->self == module && f->module == module && f->call &&
                 (type->flags & HAS_VECTORCALL) &&
                 type->vectorcall_offset == offsetof(struct c_function, call);
    Py_XDECREF(function);
    Py_XDECREF(module);
    return known;
}

static bool descriptors_are_known(void)
{
    PyObject *append = PyObject_GetAttrString((PyObject *)&PyList_Type, "append");
    PyObject *add = PyObject_GetAttrString((PyObject *)&PyLong_Type, "__add__");
    PyObject *real = PyObject_GetAttrString((PyObject *)&PyLong_Type, "real");
    struct method_descriptor *method = (struct method_descriptor *)append;
    struct slot_descriptor *slot = (struct slot_descriptor *)add;
    struct attribute_descriptor *attribute = (struct attribute_descriptor *)real;
    bool known = method && slot && attribute && method->common.type == &PyList_Type &&
                 strcmp(method->def->ml_name, "append") == 0 && method->call &&
                 slot->wrapped == PyType_GetSlot(&PyLong_Type, Py_nb_add) &&
                 strcmp(slot->base->name, "__add__") == 0 && slot->base->wrapper &&
                 strcmp(attribute->def->name, "real") == 0;
    Py_XDECREF(append);
    Py_XDECREF(add);
    Py_XDECREF(real);
    return known;
}

/* Check whether a slot that the limited API returns is among the functions of a struct. */
static bool has_slot(PyTypeObject *type, int id, void *const *functions, int n)
{
    void *slot = PyType_GetSlot(type, id);
    bool found = false;
    for (int i = 0; functions && i < n; i++)
        found |= functions[i] == slot;
    return slot && found;
}

static bool types_are_known(void)
{
    PyTypeObject *dict = &PyDict_Type;
    struct type_struct *type = (struct type_struct *)dict;
    struct type_struct *number = (struct type_struct *)&PyLong_Type;
    struct type_struct *class = (struct type_struct *)&PyType_Type;
    PyObject *mro = PyObject_GetAttrString((PyObject *)dict, "__mro__");
    Py_XDECREF(mro);
    return type->mro == mro && type->new == PyType_GetSlot(dict, Py_tp_new) &&
           type->init == PyType_GetSlot(dict, Py_tp_init) &&
           type->richcompare == PyType_GetSlot(dict, Py_tp_richcompare) &&
           class->call == PyType_GetSlot(&PyType_Type, Py_tp_call) &&
           type->base == &PyBaseObject_Type &&
           has_slot(dict, Py_mp_subscript, type->as_mapping, N_MAPPING_SLOTS) &&
           has_slot(dict, Py_sq_contains, type->as_sequence, N_SEQUENCE_SLOTS) &&
           has_slot(&PyLong_Type, Py_nb_index, number->as_number, N_NUMBER_SLOTS);
}

static bool containers_are_known(void)
{
    PyObject *tuple = PyTuple_Pack(2, Py_None, (PyObject *)&PyDict_Type);
    PyObject *list = tuple ? PySequence_List(tuple) : NULL;
    PyObject *reference = PyWeakref_NewRef((PyObject *)&PyDict_Type, NULL);
    bool known = list && reference && Py_SIZE(tuple) == 2 && Py_SIZE(list) == 2 &&
                 layout_items(tuple)[1] == (PyObject *)&PyDict_Type &&
                 layout_items(list)[1] == (PyObject *)&PyDict_Type &&
                 ((struct weak_reference *)reference)->object == (PyObject *)&PyDict_Type;
    Py_XDECREF(tuple);
    Py_XDECREF(list);
    Py_XDECREF(reference);
    return known;
}

bool layout_is_known(void)
{
    static enum { UNKNOWN, KNOWN, UNTRIED } layout = UNTRIED;
    if (layout == UNTRIED) {
        layout = functions_are_known() && descriptors_are_known() && types_are_known() &&
                 containers_are_known();
        PyErr_Clear();
    }
    return layout == KNOWN;
}

size_t layout_frame_offset;
bool layout_frame_is_inside;
size_t layout_frame_inner;

void layout_find_frame(void)
{
    enum { N_WORDS = 16, CFRAME = 7 }; /* fields of a thread's state, that before 3.13 */
    struct frame_object {
        PyObject base;
        PyObject *back;
        void *frame;
    } *object = (struct frame_object *)PyEval_GetFrame();
    void *const *state = (void *const *)PyThreadState_Get();
    bool is_inside = Py_Version < 0x030D0000;
    size_t i = is_inside ? CFRAME : 1;
    size_t inner = Py_Version < 0x030C0000; /* of the struct, after a number */
    if (!object || !layout_is_known())
        return;
    if (is_inside && !(state[i] && ((void **)state[i])[inner] == object->frame))
        return;
    while (!is_inside && i < N_WORDS && state[i] != object->frame)
        i++;
    layout_frame_is_inside = is_inside;
    layout_frame_inner = inner;
    layout_frame_offset = i < N_WORDS ? i * sizeof(void *) : 0;
}

PyObject *layout_subclasses(PyObject *class)
{
    const struct type_struct *type = (struct type_struct *)class;
    if (!type->subclasses && !(type->flags & PYTHONS_OWN)) /* it takes long to ask Python */
        return PyList_New(0);
    return PyObject_CallMethod((PyObject *)&PyType_Type, "__subclasses__", "O", class);
}

vector_call *layout_vectorcall(PyObject *x)
{
    struct type_struct *type = (struct type_struct *)Py_TYPE(x);
    bool has_one = (type->flags & HAS_VECTORCALL) && type->vectorcall_offset > 0;
    return has_one ? (vector_call *)((char *)x + type->vectorcall_offset) : NULL;
}
