/* draws.c -- random numbers, which threads draw from NumPy's bit generators. */
#include "python/direct/draws.h"
#include "python/profile/profile.h"
#include "python/record/memory.h"
#include "python/record/queue.h"

/* Read the parameters: floats and integers in their own order.  Return false if one is neither,
 * or does not fit. */
static bool read_parameters(PyObject *tuple, struct mx_draws *draws)
{
    int n_numbers = 0, n_integers = 0;
    for (Py_ssize_t i = 0; i < PyTuple_Size(tuple) && i < 6; i++) {
        PyObject *x = PyTuple_GetItem(tuple, i);
        if (PyLong_Check(x) && n_integers < 3)
            draws->integers[n_integers++] = PyLong_AsUnsignedLongLongMask(x);
        else if (PyFloat_Check(x) && n_numbers < 3)
            draws->numbers[n_numbers++] = PyFloat_AsDouble(x);
        else
            return false;
    }
    return !PyErr_Occurred();
}

/* Draw without the GIL, while no other thread runs the queue.  Return 1, 0 if NumPy has to
 * draw, or -1 with an exception set. */
static int draw_into(PyObject *out, struct mx_draws *draws)
{
    if (queue_before_write(out) < 0 || queue_enter() < 0)
        return -1;
    struct array *root = root_of(out);
    int64_t begin = profile_is_on ? mx_now() : 0;
    root->version++;
    memory_note_written((PyObject *)root);
    draws->out = PyArray_BYTES(queue_ready(out)) + (uintptr_t)draws->out;
    root->n_holds++;
    PyThreadState *saved = PyEval_SaveThread();
    bool has_drawn = core->mx_streams_draw(draws);
    queue_leave();
    PyEval_RestoreThread(saved);
    root->n_holds--;
    queue_after_write();
    if (profile_is_on && has_drawn)
        profile_computed(begin, core->mx_streams_name(draws->sampler),
                         PyArray_SIZE(np_array_of(out)), 0, PyArray_NBYTES(np_array_of(out)));
    return has_drawn;
}

static PyObject *draw(PyObject *module, PyObject *args)
{
    (void)module;
    struct mx_draws draws = {0};
    struct mx_generator_state state;
    const char *sampler, *generator;
    PyObject *out, *parameters, *bytes;
    Py_ssize_t first, n;
    int has_half;
    if (!PyArg_ParseTuple(args, "O!nnsO!sO!pI:draw", array_type, &out, &first, &n, &sampler,
                          &PyTuple_Type, &parameters, &generator, &PyByteArray_Type, &bytes,
                          &has_half, &draws.half))
        return NULL;
    draws.sampler = core->mx_streams_find(sampler);
    draws.generator = core->mx_generator_find(generator);
    size_t size = (size_t)PyByteArray_Size(bytes);
    if (draws.sampler < 0 || draws.generator < 0 || first < 0 || n < 1 ||
        n > PyArray_SIZE(np_array_of(out)) - first || !read_parameters(parameters, &draws) ||
        size != core->mx_generator_state_size(draws.generator))
        Py_RETURN_NOTIMPLEMENTED;
    memcpy(&state, PyByteArray_AsString(bytes), size);
    draws.state = &state;
    draws.has_half = has_half;
    draws.n = (size_t)n;
    draws.out = (void *)(first * PyArray_ITEMSIZE(np_array_of(out)));
    int status = draw_into(out, &draws);
    if (status == 0)
        Py_RETURN_NOTIMPLEMENTED;
    if (status < 0)
        return NULL;
    memcpy(PyByteArray_AsString(bytes), &state, size);
    return Py_BuildValue("iI", draws.has_half, draws.half);
}

static PyObject *has_samplers(PyObject *module, PyObject *version)
{
    (void)module;
    const char *text = PyUnicode_AsUTF8AndSize(version, NULL),
               *own = core->mx_streams_version();
    size_t n = strlen(own);
    return text ? PyBool_FromLong(n > 0 && strncmp(text, own, n) == 0 && text[n] == '.') : NULL;
}

PyMethodDef draws_methods[] = {
    {"draw", draw, METH_VARARGS,
     "draw(out, first, n, sampler, parameters, generator, state, has_half, half)\n--\n\n"
     "Draw n numbers, write them to a contiguous array from an element on, and update the "
     "state "
     "of the generator, a bytearray. Return whether half a word is left, and which, or "
     "NotImplemented."},
    {"has_samplers", has_samplers, METH_O,
     "has_samplers(version)\n--\n\nReturn whether the build has the samplers of this NumPy."},
    {NULL, NULL, 0, NULL},
};
