/* disguise.c -- the class that Python code sees in place of mxnp's own.
 *
 * Packages test `isinstance(a, numpy.ndarray)`.  Python answers by the type of `a`, and then by
 * its attribute __class__.  Compiled code asks in the same way (PyObject_IsInstance), but then
 * it reads a struct of NumPy that is not there.  So the attribute is NumPy's class for Python
 * code alone.  Python code asks in one of two ways:
 *
 * - It calls isinstance, getattr, or a class that has an abstract base.  These functions of
 *   Python are changed in place, so that they know the answer, or note who asks.
 * - It runs an instruction that reads the attribute: `a.__class__`, or `case numpy.ndarray():`.
 *   The instruction of the running frame is looked up, once for each place.
 *
 * Any other instruction has called compiled code, which asks.
 */
#include "python/packages/disguise.h"
#include "python/base/table.h"
#include "python/packages/layout.h"
#include "python/profile/call_site.h"

static bool is_active;         /* whether Python's functions could be changed */
static void *usual_getattr;    /* the slot of most objects */
static void *python_getattr;   /* the slot of classes with a __getattr__ written in Python */
static void *function_getattr; /* the slot of mxnp's functions and ufuncs */
static PyObject *class_name;

/* Return a borrowed reference to the class of NumPy that stands for an object, or NULL. */
static PyTypeObject *numpy_class(PyObject *x)
{
    if (is_array(x))
        return np_array_type;
    if (((struct type_struct *)Py_TYPE(x))->getattro == function_getattr)
        return Py_TYPE(((struct function *)x)->wrapped);
    return NULL;
}

/* Classes written in C, which nobody can change, and whether their objects show their class. */
struct static_class {
    struct table_key class;
    bool is_shown;
};
static struct table static_classes = {.row_size = sizeof(struct static_class)};

/* Check whether only `object` among a class and its bases has the attribute __class__. */
static bool has_usual_attribute(PyTypeObject *class)
{
    PyObject *mro = PyObject_GetAttrString((PyObject *)class, "__mro__");
    bool has = mro && PyTuple_Check(mro);
    for (Py_ssize_t i = 0; has && i + 1 < PyTuple_Size(mro); i++) {
        PyObject *names = PyObject_GetAttrString(PyTuple_GetItem(mro, i), "__dict__");
        has = names && PySequence_Contains(names, class_name) == 0;
        Py_XDECREF(names);
    }
    Py_XDECREF(mro);
    PyErr_Clear();
    return has;
}

/* Functions that are called seldom are not inlined, so that isinstance saves few registers. */
__attribute__((noinline)) static bool find_shown(PyTypeObject *class)
{
    bool is =
        ((struct type_struct *)class)->getattro == usual_getattr && has_usual_attribute(class);
    struct static_class *row = table_add(&static_classes, class, 0);
    if (row)
        row->is_shown = is;
    else
        PyErr_Clear();
    return is;
}

static inline bool is_shown(PyTypeObject *class)
{
    const struct static_class *known = table_find(&static_classes, class, 0);
    return known->class.address ? known->is_shown : find_shown(class);
}

/* Return the class that Python shows for an object, if this is known, or NULL. */
static inline PyTypeObject *shown_class(PyObject *x)
{
    PyTypeObject *type = Py_TYPE(x);
    if (layout_has_flag(x, Py_TPFLAGS_HEAPTYPE))
        return numpy_class(x);
    return is_shown(type) ? type : NULL;
}

/* -- Instructions of Python that ask ------------------------------------------------- */

enum opcode { LOAD_ATTR, LOAD_METHOD, MATCH_CLASS, EXTENDED_ARG, ISINSTANCE, N_OPCODES };

enum { N_NAMES = 3 };

/* The last one has other names in Python 3.11 and 3.12. */
static const char *const opcode_names[N_OPCODES][N_NAMES] = {
    [LOAD_ATTR] = {"LOAD_ATTR"},
    [LOAD_METHOD] = {"LOAD_METHOD"},
    [MATCH_CLASS] = {"MATCH_CLASS"},
    [EXTENDED_ARG] = {"EXTENDED_ARG"},
    [ISINSTANCE] = {"CALL_ISINSTANCE", "PRECALL_NO_KW_ISINSTANCE", "CALL_NO_KW_ISINSTANCE"},
};
static long opcodes[N_OPCODES]; /* their numbers, or -1 */

struct instruction {
    PyObject *code;
    int at; /* in the bytes of the code */
};

/* Return the name that an instruction refers to, a borrowed reference from `names`, or NULL. */
static PyObject *name_of(const unsigned char *bytes, int at, PyObject *names)
{
    Py_ssize_t argument = bytes[at + 1];
    for (int shift = 8; at >= 2 && bytes[at - 2] == opcodes[EXTENDED_ARG]; shift += 8) {
        at -= 2;
        argument |= (Py_ssize_t)bytes[at + 1] << shift;
    }
    if (Py_Version >= 0x030C0000)
        argument >>= 1; /* the lowest bit tells whether a method is called */
    return PyTuple_GetItem(names, argument);
}

static bool reads_class(const unsigned char *bytes, const struct instruction *i)
{
    if (bytes[i->at] == opcodes[MATCH_CLASS])
        return true;
    if (bytes[i->at] != opcodes[LOAD_ATTR] && bytes[i->at] != opcodes[LOAD_METHOD])
        return false;
    PyObject *names = PyObject_GetAttrString(i->code, "co_names");
    PyObject *name = names ? name_of(bytes, i->at, names) : NULL;
    bool is_class = name && PyUnicode_Compare(name, class_name) == 0;
    Py_XDECREF(names);
    return is_class;
}

/* Check whether the interpreter tests an instance itself.  It does so in code that ran often
 * before isinstance was changed. */
static bool is_isinstance(const unsigned char *bytes, const struct instruction *i)
{
    return bytes[i->at] == opcodes[ISINSTANCE];
}

static bool is_true_of(bool (*test)(const unsigned char *, const struct instruction *),
                       const char *attribute, const struct instruction *i)
{
    PyObject *bytes = PyObject_GetAttrString(i->code, attribute);
    bool is_inside = bytes && i->at >= 0 && i->at < PyBytes_Size(bytes);
    bool is_true = is_inside && test((unsigned char *)PyBytes_AsString(bytes), i);
    Py_XDECREF(bytes);
    PyErr_Clear();
    return is_true;
}

static bool instruction_asks(const struct instruction *i)
{
    return is_true_of(reads_class, "co_code", i) ||
           is_true_of(is_isinstance, "_co_code_adaptive", i);
}

/* A table of answers, which keeps as many code objects alive as it has rows. */
enum { N_ANSWERS = 512 };
static struct answer {
    struct instruction instruction;
    bool asks;
} answers[N_ANSWERS];

static bool cached_asks(const struct instruction *i)
{
    size_t row = ((size_t)i->code >> 4) * 31 + (size_t)i->at;
    struct answer *answer = &answers[row % N_ANSWERS], before = *answer;
    if (before.instruction.code == i->code && before.instruction.at == i->at)
        return before.asks;
    Py_INCREF(i->code);
    *answer = (struct answer){*i, instruction_asks(i)};
    bool asks = answer->asks;
    Py_XDECREF(before.instruction.code);
    return asks;
}

static bool frame_asks(PyFrameObject *frame)
{
    PyObject *code = (PyObject *)PyFrame_GetCode(frame);
    struct instruction i = {code, call_site_instruction((PyObject *)frame)};
    bool asks = cached_asks(&i);
    Py_DECREF(code);
    return asks;
}

/* -- Functions of Python that ask ---------------------------------------------------- */

typedef PyObject *(*fast_function)(PyObject *, PyObject *const *, Py_ssize_t);
typedef PyObject *(*fast_keywords_function)(PyObject *, PyObject *const *, Py_ssize_t,
                                            PyObject *);

static fast_function original_isinstance, original_getattr, original_abc;

/* What such a function asks for, or NULL for any object, and the frame that called it.  A frame
 * above may have called compiled code. */
static _Thread_local struct question {
    PyObject *x;
    PyFrameObject *frame;
} question;

/* Note who asks, until question_end().  Return what was noted before. */
static struct question question_begin(PyObject *x)
{
    struct question before = question;
    question = (struct question){x, PyEval_GetFrame()};
    return before;
}

static void question_end(struct question before) { question = before; }

/* Answer `isinstance(x, asked)`, and note that Python asks for the class of `about`. */
__attribute__((noinline)) static int note_and_ask(PyObject *about, PyObject *x, PyObject *asked)
{
    struct question before = question_begin(about);
    int is = PyObject_IsInstance(x, asked);
    question_end(before);
    return is;
}

/* Check whether an object may show the class of another one, as proxies do that are written in
 * C: its attributes are looked up in a way of its own.  A proxy written in Python runs an
 * instruction that asks. */
static bool may_be_proxy(PyObject *x)
{
    void *found = ((struct type_struct *)Py_TYPE(x))->getattro;
    return found != usual_getattr && found != python_getattr && !PyType_Check(x);
}

/* Check whether a class is, or derives from, a plain one. */
static inline bool derives(PyTypeObject *class, PyObject *plain)
{
    PyObject *mro = ((struct type_struct *)class)->mro;
    if (!mro) /* the class is being made */
        return PyType_IsSubtype(class, (PyTypeObject *)plain);
    PyObject *const *bases = layout_items(mro);
    Py_ssize_t i = 0, n = Py_SIZE(mro);
    while (i < n && bases[i] != plain)
        i++;
    return i < n;
}

/* Check for a class that has no __instancecheck__ of its own. */
static inline bool is_plain(PyObject *asked) { return Py_TYPE(asked) == &PyType_Type; }

static int is_instance_of_other(PyObject *x, PyTypeObject *class, PyObject *asked);

/* Answer `isinstance(x, asked)` for an object that shows a class. */
static inline int is_instance(PyObject *x, PyTypeObject *class, PyObject *asked)
{
    return is_plain(asked)
               ? derives(class, asked) || (Py_TYPE(x) != class && derives(Py_TYPE(x), asked))
               : is_instance_of_other(x, class, asked);
}

static int is_instance_of_any(PyObject *x, PyTypeObject *class, PyObject *asked)
{
    int is = 0;
    for (Py_ssize_t i = 0; i < Py_SIZE(asked) && is == 0; i++)
        is = is_instance(x, class, layout_items(asked)[i]);
    return is;
}

__attribute__((noinline)) static int is_instance_of_other(PyObject *x, PyTypeObject *class,
                                                          PyObject *asked)
{
    if (!PyTuple_Check(asked))
        return Py_TYPE(x) == class ? PyObject_IsInstance(x, asked) : note_and_ask(x, x, asked);
    if (Py_EnterRecursiveCall(" in __instancecheck__"))
        return -1;
    int is = is_instance_of_any(x, class, asked);
    Py_LeaveRecursiveCall();
    return is;
}

/* The same for an object that shows no class that is known. */
__attribute__((noinline)) static int is_instance_of_hidden(PyObject *x, PyObject *asked)
{
    return may_be_proxy(x) ? note_and_ask(NULL, x, asked) : PyObject_IsInstance(x, asked);
}

static inline PyObject *answer_usual(PyObject *x, PyObject *asked)
{
    PyTypeObject *type = Py_TYPE(x);
    bool asks_plain = is_plain(asked);
    if ((PyObject *)type == asked || (asks_plain && derives(type, asked)))
        Py_RETURN_TRUE;
    PyTypeObject *class = shown_class(x);
    int is = !class                            ? is_instance_of_hidden(x, asked)
             : asks_plain                      ? class != type && derives(class, asked)
             : Py_TYPE(asked) == &PyTuple_Type ? is_instance_of_any(x, class, asked)
                                               : is_instance_of_other(x, class, asked);
    return is < 0 ? NULL : Py_NewRef(is ? Py_True : Py_False);
}

__attribute__((noinline)) static PyObject *answer_unusual(PyObject *self, PyObject *const *args,
                                                          Py_ssize_t n, PyObject *names)
{
    if (names && PyTuple_Size(names))
        return PyErr_Format(PyExc_TypeError, "isinstance() takes no keyword arguments");
    return n == 2 ? answer_usual(args[0], args[1]) : original_isinstance(self, args, n);
}

static PyObject *asked_isinstance(PyObject *self, PyObject *const *args, Py_ssize_t n,
                                  PyObject *names)
{
    return n == 2 && !names ? answer_usual(args[0], args[1])
                            : answer_unusual(self, args, n, names);
}

static PyObject *asked_getattr(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    PyTypeObject *class = n >= 2 ? numpy_class(args[0]) : NULL;
    if (class && PyUnicode_Check(args[1]) && PyUnicode_Compare(args[1], class_name) == 0)
        return Py_NewRef((PyObject *)class);
    return original_getattr(self, args, n);
}

/* The part of an abstract class's __instancecheck__ that is written in C. */
static PyObject *asked_abc(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    bool is_ours = n == 2 && numpy_class(args[1]);
    if (n != 2 || (!is_ours && !may_be_proxy(args[1])))
        return original_abc(self, args, n);
    struct question before = question_begin(is_ours ? args[1] : NULL);
    PyObject *is = original_abc(self, args, n);
    question_end(before);
    return is;
}

/* -- Changing Python's functions ------------------------------------------------------- */

struct change {
    const char *module, *name;
    PyMethodDef def; /* a copy of its own, with another function and flags */
    fast_function *original;
    struct c_function *function;
};

/* The interpreter tests instances itself, without a call, only if isinstance takes no names. */
static struct change changes[] = {
    {"builtins",
     "isinstance",
     {.ml_meth = (PyCFunction)(void (*)(void))asked_isinstance,
      .ml_flags = METH_FASTCALL | METH_KEYWORDS},
     &original_isinstance,
     NULL},
    {"builtins",
     "getattr",
     {.ml_meth = (PyCFunction)(void (*)(void))asked_getattr, .ml_flags = METH_FASTCALL},
     &original_getattr,
     NULL},
    {"_abc",
     "_abc_instancecheck",
     {.ml_meth = (PyCFunction)(void (*)(void))asked_abc, .ml_flags = METH_FASTCALL},
     &original_abc,
     NULL},
};
enum { N_CHANGES = sizeof changes / sizeof *changes };

/* Find the function and check that it is called as expected.  Return 1; 0 if it is not; or -1
 * with an exception set. */
static int find_function(struct change *change)
{
    PyObject *module = PyImport_ImportModule(change->module);
    PyObject *found = module ? PyObject_GetAttrString(module, change->name) : NULL;
    Py_XDECREF(module);
    if (!found)
        return -1;
    change->function = (struct c_function *)found; /* it lives as long as Python */
    return Py_TYPE(found) == &PyCFunction_Type &&
           change->function->def->ml_flags == METH_FASTCALL;
}

static int change_function(struct change *change)
{
    struct c_function *function = change->function;
    PyMethodDef *def = &change->def;
    *change->original = (fast_function)(void (*)(void))function->def->ml_meth;
    def->ml_name = function->def->ml_name;
    def->ml_doc = function->def->ml_doc;
    /* The vectorcall belongs to the flags. */
    struct c_function *example = (struct c_function *)PyCFunction_NewEx(def, NULL, NULL);
    if (!example)
        return -1;
    function->call = example->call;
    function->def = def;
    Py_DECREF((PyObject *)example);
    return 0;
}

static int change_all(void)
{
    int status = 1;
    for (int i = 0; i < N_CHANGES && status > 0; i++)
        status = find_function(&changes[i]);
    for (int i = 0; i < N_CHANGES && status > 0; i++)
        status = change_function(&changes[i]) < 0 ? -1 : 1;
    is_active = status > 0;
    return status < 0 ? -1 : 0;
}

static int load_opcodes(void)
{
    PyObject *module = PyImport_ImportModule("dis");
    PyObject *numbers = module ? PyObject_GetAttrString(module, "_all_opmap") : NULL;
    Py_XDECREF(module);
    for (int i = 0; numbers && i < N_OPCODES; i++) {
        opcodes[i] = -1;
        for (int j = 0; j < N_NAMES && opcode_names[i][j] && opcodes[i] < 0; j++) {
            PyObject *number = PyDict_GetItemString(numbers, opcode_names[i][j]);
            opcodes[i] = number ? PyLong_AsLong(number) : -1;
        }
    }
    Py_XDECREF(numbers);
    return numbers ? 0 : -1;
}

static int load_slots(void)
{
    PyObject *class =
        PyObject_CallFunction((PyObject *)&PyType_Type, "s(){sO}", "C", "__getattr__", Py_None);
    if (!class)
        return -1;
    python_getattr = ((struct type_struct *)class)->getattro;
    usual_getattr = ((struct type_struct *)&PyBaseObject_Type)->getattro;
    function_getattr = ((struct type_struct *)function_type)->getattro;
    Py_DECREF(class);
    return 0;
}

int disguise_load(void)
{
    class_name = PyUnicode_InternFromString("__class__");
    if (!class_name || table_grow(&static_classes) < 0 || load_slots() < 0 ||
        load_opcodes() < 0)
        return -1;
    return layout_is_known() ? change_all() : 0;
}

/* -- The attribute ----------------------------------------------------------------------- */

/* Check whether Python code asks for the class of x, rather than compiled code. */
static bool python_asks(PyObject *x)
{
    if (!is_active)
        return true;
    PyFrameObject *frame = PyEval_GetFrame();
    bool is_noted = question.frame == frame && (question.x == x || !question.x);
    return frame && (is_noted || frame_asks(frame));
}

PyObject *disguise_class(PyObject *x)
{
    return Py_NewRef((PyObject *)(python_asks(x) ? numpy_class(x) : Py_TYPE(x)));
}
