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

/* -- Legacy normal numbers ---------------------------------------------------------- */

/* The beginning of NumPy's RandomState.  Normal numbers are made in pairs, of which it keeps
 * the second one, before it is scaled. */
struct random_state {
    PyObject_HEAD void *methods;
    PyObject *bit_generator;
    struct {
        void *state, *functions[4];
    } bitgen;
    const void *source; /* the bitgen before */
    int has_number;
    double number;
};

/* Return the memory of a RandomState, or NULL if NumPy has another structure. */
static struct random_state *find_random_state(PyObject *x)
{
    struct random_state *state = (struct random_state *)x;
    PyObject *size = PyObject_GetAttrString((PyObject *)Py_TYPE(x), "__basicsize__");
    bool fits = size && PyLong_AsLong(size) >= (long)sizeof *state;
    Py_XDECREF(size);
    PyErr_Clear();
    return fits && state->source == &state->bitgen ? state : NULL;
}

/* Draw n numbers.  Return whether it did: if not, only the contents of the output changed. */
static bool draw_normal(struct mx_draws *draws, size_t n, struct random_state *keeper)
{
    double *out = draws->out, pair[2], mean = draws->numbers[0], scale = draws->numbers[1];
    bool has_first = keeper->has_number != 0, has_last = (n - has_first) % 2;
    draws->out = out + has_first;
    draws->n = (n - has_first) / 2;
    if (draws->n > 0 && !core->mx_streams_draw(draws))
        return false;
    if (has_last) {
        draws->out = pair;
        draws->n = 1;
        draws->numbers[0] = 0.0, draws->numbers[1] = 1.0;
        if (!core->mx_streams_draw(draws))
            return false;
        out[n - 1] = mean + scale * pair[0];
    }
    if (has_first)
        out[0] = mean + scale * keeper->number;
    keeper->has_number = has_last;
    keeper->number = has_last ? pair[1] : 0.0;
    return true;
}

/* -- Draws -------------------------------------------------------------------------- */

/* Draw without the GIL, while no other thread runs the queue.  No code of the program runs
 * between reading the state in `memory` and writing it.  Return 1, 0 if NumPy has to draw, or
 * -1 with an exception set. */
static int draw_into(PyObject *out, struct mx_draws *draws, void *memory,
                     struct random_state *keeper)
{
    if (queue_before_write(out) < 0 || queue_enter() < 0)
        return -1;
    struct array *root = root_of(out);
    int64_t begin = profile_is_on ? mx_now() : 0;
    root->version++;
    memory_note_written((PyObject *)root);
    draws->out = PyArray_BYTES(queue_ready(out));
    draws->n = (size_t)PyArray_SIZE(np_array_of(out));
    root->n_holds++;
    PyThreadState *saved = PyEval_SaveThread();
    read_state(draws, memory);
    bool has_drawn =
        keeper ? draw_normal(draws, draws->n, keeper) : core->mx_streams_draw(draws);
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
    struct random_state *keeper = NULL;
    const char *sampler, *generator;
    PyObject *out, *parameters, *capsule, *owner;
    if (!PyArg_ParseTuple(args, "O!sO!sOO:draw", array_type, &out, &sampler, &PyTuple_Type,
                          &parameters, &generator, &capsule, &owner))
        return NULL;
    const struct bitgen *bitgen = PyCapsule_GetPointer(capsule, "BitGenerator");
    if (!bitgen)
        return NULL;
    draws.sampler = core->mx_streams_find(sampler);
    draws.generator = core->mx_generator_find(generator);
    bool is_normal = draws.sampler == MX_SAMPLER_gauss_pair;
    if (draws.sampler < 0 || draws.generator < 0 || PyArray_SIZE(np_array_of(out)) == 0 ||
        !read_parameters(parameters, &draws) ||
        (is_normal && !(keeper = find_random_state(owner))))
        Py_RETURN_NOTIMPLEMENTED;
    draws.state = &state;
    int status = draw_into(out, &draws, bitgen->state, keeper);
    return status < 0 ? NULL : PyBool_FromLong(status);
}

/* Copy a state to a bit generator, if the generator still has the state that was read. */
static PyObject *replace_state(PyObject *module, PyObject *args)
{
    (void)module;
    const char *name;
    PyObject *capsules[3];
    const struct bitgen *bitgens[3];
    if (!PyArg_ParseTuple(args, "sOOO:replace_state", &name, &capsules[0], &capsules[1],
                          &capsules[2]))
        return NULL;
    struct mx_generator_state states[3] = {0};
    struct mx_draws draws[3] = {0};
    for (int i = 0; i < 3; i++) {
        if (!(bitgens[i] = PyCapsule_GetPointer(capsules[i], "BitGenerator")))
            return NULL;
        if ((draws[i].generator = core->mx_generator_find(name)) < 0)
            Py_RETURN_FALSE;
        draws[i].state = &states[i];
        read_state(&draws[i], bitgens[i]->state);
    }
    if (memcmp(&states[0], &states[1], sizeof states[0]) != 0 ||
        draws[0].has_half != draws[1].has_half || draws[0].half != draws[1].half)
        Py_RETURN_FALSE;
    write_state(&draws[2], bitgens[0]->state);
    Py_RETURN_TRUE;
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
     "draw(out, sampler, parameters, generator, capsule, owner, /)\n--\n\n"
     "Fill a contiguous array with numbers from the bit generator of a capsule. The owner is "
     "the RandomState that keeps one of two normal numbers. Return whether it did. If not, or "
     "if it returns NotImplemented, NumPy has to draw."},
    {"replace_state", replace_state, METH_VARARGS,
     "replace_state(name, capsule, before, after, /)\n--\n\n"
     "Set the state in a capsule to the one in `after`, if it equals the one in `before`. "
     "Return whether it did. No code of the program runs in between."},
    {"has_samplers", has_samplers, METH_O,
     "has_samplers(version)\n--\n\nReturn whether the build has the samplers of this NumPy."},
    {NULL, NULL, 0, NULL},
};
