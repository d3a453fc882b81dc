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

/* -- States of bit generators in NumPy's memory ------------------------------------- */

/* The beginning of NumPy's bitgen_t, to which the capsule of a bit generator points. */
struct bitgen {
    void *state;
};

/* The structures of states, as NumPy 2 has them.  The first draw of each kind is compared with
 * NumPy's, and the state after it (random_streams.py). */
struct pcg_memory {
    uint64_t *numbers; /* the state and the increment */
    int has_half;
    uint32_t half;
};

struct philox_memory {
    uint64_t *counter, *key;
    int n_used;
    uint64_t buffer[4];
    int has_half;
    uint32_t half;
};

struct sfc_memory {
    uint64_t numbers[4];
    int has_half;
    uint32_t half;
};

struct mt_memory {
    uint32_t key[MX_MT_WORDS];
    int n_used;
};

static void read_half(struct mx_draws *draws, int has_half, uint32_t half)
{
    draws->has_half = has_half != 0;
    draws->half = half;
}

static void read_state(struct mx_draws *draws, const void *memory)
{
    struct mx_generator_state *state = draws->state;
    if (draws->generator == MX_MT19937) {
        const struct mt_memory *mt = memory;
        memcpy(state->mt.key, mt->key, sizeof mt->key);
        state->mt.n_used = (uint32_t)mt->n_used;
    } else if (draws->generator == MX_SFC64) {
        const struct sfc_memory *sfc = memory;
        memcpy(state->sfc, sfc->numbers, sizeof sfc->numbers);
        read_half(draws, sfc->has_half, sfc->half);
    } else if (draws->generator == MX_PHILOX) {
        const struct philox_memory *philox = memory;
        memcpy(state->philox.key, philox->key, sizeof state->philox.key);
        memcpy(state->philox.counter, philox->counter, sizeof state->philox.counter);
        memcpy(state->philox.buffer, philox->buffer, sizeof philox->buffer);
        state->philox.n_used = (uint64_t)philox->n_used;
        read_half(draws, philox->has_half, philox->half);
    } else {
        const struct pcg_memory *pcg = memory;
        memcpy(&state->pcg, pcg->numbers, sizeof state->pcg);
        read_half(draws, pcg->has_half, pcg->half);
    }
}

static void write_state(const struct mx_draws *draws, void *memory)
{
    const struct mx_generator_state *state = draws->state;
    if (draws->generator == MX_MT19937) {
        struct mt_memory *mt = memory;
        memcpy(mt->key, state->mt.key, sizeof mt->key);
        mt->n_used = (int)state->mt.n_used;
    } else if (draws->generator == MX_SFC64) {
        struct sfc_memory *sfc = memory;
        memcpy(sfc->numbers, state->sfc, sizeof sfc->numbers);
        sfc->has_half = draws->has_half, sfc->half = draws->half;
    } else if (draws->generator == MX_PHILOX) {
        struct philox_memory *philox = memory;
        memcpy(philox->counter, state->philox.counter, sizeof state->philox.counter);
        memcpy(philox->buffer, state->philox.buffer, sizeof philox->buffer);
        philox->n_used = (int)state->philox.n_used;
        philox->has_half = draws->has_half, philox->half = draws->half;
    } else {
        struct pcg_memory *pcg = memory;
        memcpy(pcg->numbers, &state->pcg, sizeof state->pcg);
        pcg->has_half = draws->has_half, pcg->half = draws->half;
    }
}

/* -- Draws -------------------------------------------------------------------------- */

/* Draw without the GIL, while no other thread runs the queue.  No code of the program runs
 * between reading the state in `memory` and writing it.  Return 1, 0 if NumPy has to draw, or
 * -1 with an exception set. */
static int draw_into(PyObject *out, struct mx_draws *draws, void *memory)
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
    read_state(draws, memory);
    bool has_drawn = core->mx_streams_draw(draws);
    if (has_drawn)
        write_state(draws, memory);
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
    PyObject *out, *parameters, *capsule;
    Py_ssize_t first, n;
    if (!PyArg_ParseTuple(args, "O!nnsO!sO:draw", array_type, &out, &first, &n, &sampler,
                          &PyTuple_Type, &parameters, &generator, &capsule))
        return NULL;
    const struct bitgen *bitgen = PyCapsule_GetPointer(capsule, "BitGenerator");
    if (!bitgen)
        return NULL;
    draws.sampler = core->mx_streams_find(sampler);
    draws.generator = core->mx_generator_find(generator);
    if (draws.sampler < 0 || draws.generator < 0 || first < 0 || n < 1 ||
        n > PyArray_SIZE(np_array_of(out)) - first || !read_parameters(parameters, &draws))
        Py_RETURN_NOTIMPLEMENTED;
    draws.state = &state;
    draws.n = (size_t)n;
    draws.out = (void *)(first * PyArray_ITEMSIZE(np_array_of(out)));
    int status = draw_into(out, &draws, bitgen->state);
    return status < 0 ? NULL : PyBool_FromLong(status);
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
     "draw(out, first, n, sampler, parameters, generator, capsule, /)\n--\n\n"
     "Draw n numbers from the bit generator of a capsule and write them to a contiguous array "
     "from an element on. Return whether it did. If not, or if it returns NotImplemented, "
     "NumPy "
     "has to draw."},
    {"has_samplers", has_samplers, METH_O,
     "has_samplers(version)\n--\n\nReturn whether the build has the samplers of this NumPy."},
    {NULL, NULL, 0, NULL},
};
