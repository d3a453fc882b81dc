/* profile.c -- calls, elements, time and bytes by line, operation and lane.
 *
 * The process has one table, which the GIL guards.  While reports are active, the table only
 * grows, so the counts of a part of the program are the difference between two readings.
 */
#include "python/profile/profile.h"
#include "ir/dtypes.h"
#include "python/base/types.h"
#include "python/profile/call_site.h"

static _Thread_local struct span *innermost;

struct span *profile_innermost(void) { return innermost; }

/* -- The table --------------------------------------------------------------------- */

/* The lane in which an operation ran, or the other thing that a row counts. */
/* clang-format off */
#define LANES(M)                                                           \
    M(CPU, "cpu") M(GPU, "gpu") M(NUMPY, "numpy") M(RECORD, "record")  \
    M(WAIT, "wait") M(CHECK, "check") M(SPARED, "spared")                  \
    M(PACKAGE, "package") M(DIVIDED, "divided")
/* clang-format on */

#define DEFINE_LANE(name, text) LANE_##name,
enum lane { LANES(DEFINE_LANE) };
#undef DEFINE_LANE
#define DEFINE_TEXT(name, text) text,
static const char *const lane_names[] = {LANES(DEFINE_TEXT)};
static const char *const kind_names[] = {SPAN_KINDS(DEFINE_TEXT)};

struct key {
    PyObject *code; /* NULL: unknown */
    int instruction;
    enum lane lane;
    int kind; /* for a wait, an enum span_kind; for a recorded operation, an enum mx_kind; for
               * a divided call, its threads; for an argument of a package's function, its place
               * from the end, and 0 for the call */
    struct span_name name;
};

struct row {
    struct key key; /* with references to its objects */
    int64_t calls, elements, nanoseconds, bytes_read, bytes_written;
    int64_t n_fused, fused_nanoseconds; /* calls in a group with others */
    int64_t n_elided;                   /* results that were never in memory */
    int64_t n_large;                    /* calls of NumPy with arrays above the threshold */
    int64_t n_doubles;                  /* calls with operands that a GPU may not support */
    int64_t n_plain;                    /* calls of NumPy with arrays of NumPy only */
    int64_t n_arrays, n_waits;          /* of calls of packages */
    int64_t n_same, n_parts;    /* calls with the array of the call before, or of its memory */
    int64_t n_unchanged;        /* the former, if the program did not write it in between */
    PyObject *last, *last_root; /* weak references to that array, and the root of its chain */
    int64_t last_version;       /* of the root */
};

struct event {
    int32_t row;
    int64_t begin, nanoseconds, group, elements;
    unsigned long thread;
};

static struct {
    int n_users;
    struct row *rows;
    Py_ssize_t n, capacity;
    int32_t *slots; /* a hash table with open addressing: the number of a row + 1, or 0 */
    Py_ssize_t n_slots;
    struct event *events;
    Py_ssize_t n_events, event_capacity, event_limit;
    int64_t n_dropped;
} table;

static size_t profile_hash(const struct key *key)
{
    uintptr_t parts[] = {
        (uintptr_t)key->code, (uintptr_t)key->name.function, (uintptr_t)key->name.text,
        (uintptr_t)(key->instruction * 16 + (int)key->lane), (uintptr_t)key->kind};
    size_t value = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        value = (value ^ parts[i]) * 0x9E3779B97F4A7C15u + (value >> 29);
    return value ^ value >> 32;
}

static bool is_same(const struct key *a, const struct key *b)
{
    return a->code == b->code && a->instruction == b->instruction && a->lane == b->lane &&
           a->kind == b->kind && a->name.function == b->name.function &&
           a->name.text == b->name.text;
}

static int32_t *slot_of(const struct key *key)
{
    size_t mask = (size_t)table.n_slots - 1, at = profile_hash(key) & mask;
    while (table.slots[at] && !is_same(&table.rows[table.slots[at] - 1].key, key))
        at = (at + 1) & mask;
    return &table.slots[at];
}

static bool profile_grow(void)
{
    Py_ssize_t capacity = table.capacity ? 2 * table.capacity : 512;
    struct row *rows = PyMem_Realloc(table.rows, (size_t)capacity * sizeof *rows);
    if (rows)
        table.rows = rows;
    int32_t *slots = rows ? PyMem_Calloc((size_t)capacity * 2, sizeof *slots) : NULL;
    if (!slots)
        return false;
    PyMem_Free(table.slots);
    table.slots = slots;
    table.n_slots = capacity * 2;
    table.capacity = capacity;
    for (Py_ssize_t i = 0; i < table.n; i++)
        *slot_of(&table.rows[i].key) = (int32_t)(i + 1);
    return true;
}

/* Return the row of a key, or NULL if there is no memory for it. */
static struct row *row_of(const struct key *key)
{
    if (table.n == table.capacity && !profile_grow())
        return NULL;
    int32_t *slot = slot_of(key);
    if (*slot == 0) {
        table.rows[table.n] = (struct row){.key = *key};
        Py_XINCREF(key->code);
        Py_XINCREF(key->name.function);
        *slot = (int32_t)++table.n;
    }
    return &table.rows[*slot - 1];
}

static void add_event(const struct row *row, int64_t begin, int64_t nanoseconds, int64_t group,
                      int64_t elements)
{
    if (table.event_limit == 0)
        return;
    if (table.n_events == table.event_capacity && table.n_events < table.event_limit) {
        Py_ssize_t capacity = table.event_capacity ? 2 * table.event_capacity : 4096;
        struct event *events = PyMem_Realloc(table.events, (size_t)capacity * sizeof *events);
        if (events) {
            table.events = events;
            table.event_capacity = capacity;
        }
    }
    if (table.n_events >= table.event_capacity || table.n_events >= table.event_limit) {
        table.n_dropped++;
        return;
    }
    table.events[table.n_events++] =
        (struct event){(int32_t)(row - table.rows), begin, nanoseconds, group, elements,
                       PyThread_get_thread_ident()};
}

static void profile_clear(void)
{
    for (Py_ssize_t i = 0; i < table.n; i++) {
        Py_XDECREF(table.rows[i].key.code);
        Py_XDECREF(table.rows[i].key.name.function);
        Py_XDECREF(table.rows[i].last);
        Py_XDECREF(table.rows[i].last_root);
    }
    PyMem_Free(table.rows);
    PyMem_Free(table.slots);
    PyMem_Free(table.events);
    memset(&table, 0, sizeof table);
}

/* -- Lines of the program ----------------------------------------------------------- */

/* Whose code it is: mxnp's or NumPy's, or else a package's or the program's, if that was asked.
 */
enum owner { LIBRARY, OTHER, PACKAGE, PROGRAM };

/* A cache by code object, with a reference to each. */
static struct {
    PyObject *code;
    enum owner owner;
} known_codes[256];

static PyObject *is_in_program; /* a function of the name of a file */

static enum owner ask_owner(PyObject *code)
{
    PyObject *file = PyObject_GetAttrString(code, "co_filename");
    PyObject *is = file ? PyObject_CallFunctionObjArgs(is_in_program, file, NULL) : NULL;
    bool is_programs = is == Py_True;
    Py_XDECREF(file);
    Py_XDECREF(is);
    return is_programs ? PROGRAM : PACKAGE;
}

static enum owner owner_of(PyObject *frame, bool asks)
{
    PyObject *code = (PyObject *)PyFrame_GetCode((PyFrameObject *)frame);
    size_t slot = ((uintptr_t)code >> 4) % (sizeof known_codes / sizeof *known_codes);
    enum owner owner = known_codes[slot].owner;
    if (known_codes[slot].code != code) {
        PyObject *before = known_codes[slot].code;
        owner = call_site_is_library(call_site_package(frame)) ? LIBRARY : OTHER;
        known_codes[slot].code = Py_NewRef(code);
        known_codes[slot].owner = owner;
        Py_XDECREF(before);
    }
    if (asks && owner == OTHER) {
        owner = ask_owner(code);
        if (known_codes[slot].code == code) /* the question may have run other code */
            known_codes[slot].owner = owner;
    }
    PyErr_Clear();
    Py_DECREF(code);
    return owner;
}

/* Check whether a frame runs code of mxnp or NumPy.  Its time counts for the line that called
 * it. */
static bool is_library_frame(PyObject *frame) { return owner_of(frame, false) == LIBRARY; }

static bool is_foreign_frame(PyObject *frame) { return owner_of(frame, true) != PROGRAM; }

/* Put a new reference to the code of a frame, and its instruction, into the key.  Return a
 * borrowed reference to the frame, or NULL. */
static PyObject *find_frame(struct key *key, bool (*is_skipped)(PyObject *frame))
{
    PyObject *frame = call_site_find_frame(is_skipped);
    if (frame) {
        key->code = (PyObject *)PyFrame_GetCode((PyFrameObject *)frame);
        key->instruction = call_site_instruction(frame);
        Py_DECREF(frame); /* the interpreter has a reference while it runs */
    }
    PyErr_Clear();
    return frame;
}

/* Find the code that calls mxnp or NumPy, which may be a package's. */
static PyObject *find_site(struct key *key) { return find_frame(key, is_library_frame); }

/* Count in the row of the program's line.  Steals the reference to the code. */
static struct row *count(struct key *key, int64_t nanoseconds, int64_t elements)
{
    struct row *row = row_of(key);
    Py_XDECREF(key->code);
    if (!row)
        return NULL;
    row->calls++;
    row->nanoseconds += nanoseconds;
    row->elements += elements;
    return row;
}

/* -- Spans -------------------------------------------------------------------------- */

void profile_begin(struct span *span, enum span_kind kind, struct span_name name)
{
    *span = (struct span){.is_on = true, .kind = kind, .name = name, .outer = innermost};
    span->frame = (PyObject *)PyEval_GetFrame();
    innermost = span;
    span->begin = mx_now();
}

void profile_pop(struct span *span)
{
    innermost = span->outer;
    if (span->outer)
        span->outer->counted += span->counted;
}

struct extent {
    Py_ssize_t elements, weight;
    int64_t bytes;
    bool has_own;    /* an array of mxnp */
    PyObject *first; /* array of mxnp */
    Py_ssize_t n;    /* arrays */
};

static void profile_measure(PyObject *x, int depth, struct extent *extent)
{
    const PyArrayObject *np_array = x ? np_array_in(x) : NULL;
    if (np_array) {
        Py_ssize_t size = PyArray_SIZE(np_array), weight = queue_weight(np_array);
        extent->elements = size > extent->elements ? size : extent->elements;
        extent->weight = weight > extent->weight ? weight : extent->weight;
        extent->bytes += PyArray_NBYTES(np_array);
        extent->has_own |= is_array(x);
    } else if (x && depth > 0 && (PyTuple_Check(x) || PyList_CheckExact(x))) {
        bool is_list = PyList_CheckExact(x);
        Py_ssize_t n = is_list ? PyList_Size(x) : PyTuple_Size(x);
        for (Py_ssize_t i = 0; i < n && i < 64; i++)
            profile_measure(is_list ? PyList_GetItem(x, i) : PyTuple_GetItem(x, i), depth - 1,
                            extent);
    }
}

/* Return the call of the program that runs NumPy's own code around a span, or NULL. */
static struct span *layer_of(const struct span *span)
{
    struct span *layer = NULL;
    for (struct span *at = span->outer; at; at = at->outer)
        layer = at->is_layer ? at : layer;
    return layer;
}

static void profile_end_span(struct span *span, struct extent *extent, int threshold_factor,
                             PyObject *result)
{
    int64_t total = mx_now() - span->begin;
    /* A read for another operation counts as a part of that operation. */
    bool is_part = span->outer && span->kind != SPAN_OPERATION;
    innermost = span->outer;
    if (span->outer)
        span->outer->counted += is_part ? span->counted : total;
    if (!profile_is_on || is_part)
        return;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    struct span *layer = layer_of(span);
    struct key key = {.lane = span->threads     ? LANE_DIVIDED
                              : span->is_numpys ? LANE_NUMPY
                                                : LANE_RECORD,
                      .kind = span->threads,
                      .name = layer ? layer->name : span->name};
    int64_t read = extent->bytes;
    bool is_of_package = span->kind == SPAN_PACKAGE;
    bool is_plain = extent->elements > 0 && !extent->has_own && !is_of_package;
    profile_measure(result, 1, extent);
    find_frame(&key, is_of_package ? is_foreign_frame : is_library_frame);
    int64_t elements = span->elements                             ? span->elements
                       : span->is_numpys && extent->elements == 0 ? 1
                                                                  : extent->elements;
    struct row *row = count(&key, total - span->counted, span->is_numpys ? elements : 0);
    if (row && span->is_numpys) {
        bool is_large = span->kind != SPAN_READ && !is_of_package && extent->weight > 0 &&
                        extent->weight / threshold_factor >= queue_threshold;
        if (layer) { /* the calls inside are one of the program */
            row->calls -= layer->has_counted;
            is_large &= !layer->has_large;
            layer->has_counted = true;
            layer->has_large |= is_large;
        }
        row->n_large += is_large;
        row->bytes_read += read;
        row->bytes_written += extent->bytes - read;
        row->n_plain += is_plain;
        add_event(row, span->begin, total, 0, elements);
    }
    PyErr_Restore(type, value, traceback);
}

void profile_end(struct span *span, PyObject *const *operands, Py_ssize_t n,
                 int threshold_factor, PyObject *result)
{
    struct extent extent = {0};
    for (Py_ssize_t i = 0; i < n && span->is_numpys; i++)
        profile_measure(operands[i], 0, &extent);
    profile_end_span(span, &extent, threshold_factor, result);
}

void profile_end_call(struct span *span, PyObject *args, int threshold_factor, PyObject *result)
{
    struct extent extent = {0};
    if (span->is_numpys)
        profile_measure(args, 2, &extent);
    profile_end_span(span, &extent, threshold_factor, result);
}

/* -- Costs beside the spans ----------------------------------------------------------- */

/* Put the reason for a wait into the key, as the line that waits sees it.  It is the call of
 * this line, which is the outermost span of its frame, unless a span inside has its own reason.
 */
static void find_reason(const PyObject *frame, struct key *key)
{
    const struct span *reason = innermost;
    bool is_numpys = false, has_errstate = false, is_own = false;
    for (const struct span *at = innermost; at; at = at->outer) {
        if (is_own && at->frame != frame)
            break;
        is_own |= at->frame == frame;
        is_numpys |= at->is_numpys && at->kind == SPAN_OPERATION;
        has_errstate |= at->has_errstate;
        reason = at;
        if (at->kind >= SPAN_FULL)
            break;
    }
    key->kind = N_SPAN_KINDS;
    if (!reason)
        return;
    key->name = reason->name;
    key->kind = reason->kind != SPAN_OPERATION ? (int)reason->kind
                : has_errstate                 ? SPAN_ERRSTATE
                : is_numpys                    ? SPAN_NUMPY
                                               : SPAN_RESULT;
}

void profile_waited(int64_t begin, int64_t operations)
{
    int64_t waited = mx_now() - begin;
    struct key key = {.lane = LANE_WAIT};
    PyObject *type, *value, *traceback;
    if (innermost)
        innermost->counted += waited;
    PyErr_Fetch(&type, &value, &traceback);
    find_reason(find_site(&key), &key);
    const struct row *row = count(&key, waited, operations);
    if (row)
        add_event(row, begin, waited, 0, operations);
    PyErr_Restore(type, value, traceback);
}

#define ALL (-1) /* places */

/* Add up the arrays in the argument at a place, or in all. */
static struct extent extent_of(PyObject *const *arrays, const int *places, int n, int place)
{
    struct extent extent = {0};
    for (int i = 0; i < n; i++) {
        if (place != ALL && places[i] != place)
            continue;
        extent.elements += PyArray_SIZE(np_array_of(arrays[i]));
        extent.bytes += PyArray_NBYTES(np_array_of(arrays[i]));
        extent.first = extent.first ? extent.first : arrays[i];
        extent.n++;
    }
    return extent;
}

/* Check whether a weak reference refers to x, and make it do so. */
static bool refer(PyObject **reference, PyObject *x)
{
    PyObject *before = *reference;
    if (before && PyWeakref_GetObject(before) == x)
        return true;
    *reference = PyWeakref_NewRef(x, NULL);
    Py_XDECREF(before);
    return false;
}

/* Note whether an argument is the array of the call before, or has its memory, and whether this
 * may have been written since. */
static void compare_with_last(struct row *row, PyObject *a)
{
    struct array *root = root_of(a);
    bool is_same = refer(&row->last, a), is_part = refer(&row->last_root, (PyObject *)root);
    row->n_same += is_same;
    row->n_parts += is_part && !is_same;
    /* this call has increased the version */
    row->n_unchanged += is_same && root->version == row->last_version + 1;
    row->last_version = root->version;
}

static struct row *count_arrays(struct key *key, const struct extent *extent)
{
    Py_XINCREF(key->code);
    struct row *row = count(key, 0, extent->elements);
    if (!row)
        return NULL;
    row->n_arrays += extent->n;
    row->bytes_read += extent->bytes;
    return row;
}

void profile_converted(struct span *span, PyObject *const *arrays, const int *places,
                       int n_arrays, Py_ssize_t n)
{
    struct key key = {.lane = LANE_PACKAGE, .name = span->name};
    struct extent all = extent_of(arrays, places, n_arrays, ALL);
    struct row *row;
    profile_pop(span);
    if (all.n == 0 || !profile_is_on ||
        !(find_frame(&key, is_foreign_frame) || find_site(&key)))
        return;
    if ((row = count_arrays(&key, &all))) {
        row->nanoseconds += span->counted;
        row->n_waits += span->counted > 0;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        struct extent extent = extent_of(arrays, places, n_arrays, (int)i);
        key.kind = (int)(n - i);
        if (extent.n > 0 && (row = count_arrays(&key, &extent)))
            compare_with_last(row, extent.first);
    }
    Py_XDECREF(key.code);
    PyErr_Clear();
}

void profile_checked(int64_t begin, Py_ssize_t elements, bool is_spared)
{
    int64_t taken = is_spared ? 0 : mx_now() - begin;
    struct key key = {.lane = is_spared ? LANE_SPARED : LANE_CHECK, .name.text = "check"};
    if (innermost)
        innermost->counted += taken;
    find_site(&key);
    const struct row *row = count(&key, taken, elements);
    if (row && !is_spared)
        add_event(row, begin, taken, 0, elements);
}

void profile_computed(int64_t begin, const char *name, Py_ssize_t elements, int64_t bytes_read,
                      int64_t bytes_written)
{
    int64_t taken = mx_now() - begin;
    struct key key = {.lane = LANE_CPU, .kind = MX_GATHER, .name.text = name};
    if (innermost)
        innermost->counted += taken;
    find_site(&key);
    struct row *row = count(&key, taken, elements);
    if (!row)
        return;
    row->bytes_read += bytes_read;
    row->bytes_written += bytes_written;
    add_event(row, begin, taken, 0, elements);
}

static bool has_doubles(const struct mx_instruction *in)
{
    bool has = false;
    for (int k = 0; k < mx_operand_count(in); k++)
        has |= in->operands[k].dtype == MX_DTYPE_float64 ||
               in->operands[k].dtype == MX_DTYPE_complex128;
    return has;
}

void profile_ran(const struct mx_instruction *in)
{
    const struct mx_cost *cost = &in->cost;
    struct key key = {.lane = cost->is_on_device ? LANE_GPU : LANE_CPU,
                      .kind = (int)in->kind,
                      .name.text = in->name};
    key.code = Py_XNewRef(call_site_code(in->call_site, &key.instruction));
    int64_t elements = mx_element_count(in);
    struct row *row = count(&key, cost->nanoseconds, elements);
    if (!row)
        return;
    if (cost->is_rematerialized) /* the call was counted when it ran first */
        row->calls--;
    else
        row->n_doubles += has_doubles(in);
    row->bytes_read += (int64_t)cost->bytes_read;
    row->bytes_written += (int64_t)cost->bytes_written;
    row->n_elided += cost->n_elided;
    if (cost->n_together > 1) {
        row->n_fused += !cost->is_rematerialized;
        row->fused_nanoseconds += cost->nanoseconds;
    }
    add_event(row, cost->begin, cost->nanoseconds, cost->group, elements);
}

enum span_kind profile_kind(const char *name)
{
    for (int kind = 0; kind < N_SPAN_KINDS; kind++)
        if (strcmp(kind_names[kind], name) == 0)
            return (enum span_kind)kind;
    return SPAN_OPERATION;
}

/* -- Methods of the module ---------------------------------------------------------- */

static PyObject *profile_note_threads(PyObject *module, PyObject *n)
{
    (void)module;
    struct span *span = profile_is_on ? profile_innermost() : NULL;
    if (span)
        span->threads = (int)PyLong_AsLong(n);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

static PyObject *profile_start(PyObject *module, PyObject *args)
{
    PyObject *function;
    Py_ssize_t events;
    (void)module;
    if (!PyArg_ParseTuple(args, "nO:profile_start", &events, &function))
        return NULL;
    PyObject *before = is_in_program;
    is_in_program = Py_NewRef(function);
    Py_XDECREF(before);
    if (!table.rows && !profile_grow())
        return PyErr_NoMemory();
    table.event_limit = events > table.event_limit ? events : table.event_limit;
    table.n_users++;
    profile_is_on = true;
    core->mx_stream_set_measured(true);
    Py_RETURN_NONE;
}

static PyObject *profile_stop(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    if (table.n_users > 0 && --table.n_users == 0) {
        profile_is_on = false;
        core->mx_stream_set_measured(false);
        profile_clear();
    }
    Py_RETURN_NONE;
}

static PyObject *name_object(const struct span_name *name)
{
    if (name->text)
        return PyUnicode_FromString(name->text);
    return Py_NewRef(name->function ? name->function : Py_None);
}

static PyObject *row_object(const struct row *row)
{
    const struct key *key = &row->key;
    PyObject *name = name_object(&key->name), *kind;
    if (key->lane == LANE_WAIT)
        kind = PyUnicode_FromString(key->kind < N_SPAN_KINDS ? kind_names[key->kind] : "");
    else
        kind = PyLong_FromLong(key->kind);
    if (!name || !kind) {
        Py_XDECREF(name);
        Py_XDECREF(kind);
        return NULL;
    }
    return Py_BuildValue(
        "(OisNNLLLLLLLLLLLLLLLL)", key->code ? key->code : Py_None, key->instruction,
        key->lane == LANE_GPU ? core->mx_device_name() : lane_names[key->lane], kind, name,
        (long long)row->calls, (long long)row->elements, (long long)row->nanoseconds,
        (long long)row->bytes_read, (long long)row->bytes_written, (long long)row->n_fused,
        (long long)row->fused_nanoseconds, (long long)row->n_elided, (long long)row->n_large,
        (long long)row->n_doubles, (long long)row->n_plain, (long long)row->n_arrays,
        (long long)row->n_waits, (long long)row->n_same, (long long)row->n_parts,
        (long long)row->n_unchanged);
}

static PyObject *profile_rows(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    PyObject *list = PyList_New(0);
    for (Py_ssize_t i = 0; list && i < table.n; i++) {
        PyObject *row = row_object(&table.rows[i]);
        if (!row || PyList_Append(list, row) < 0)
            Py_CLEAR(list);
        Py_XDECREF(row);
    }
    return list;
}

static PyObject *profile_events(PyObject *module, PyObject *first)
{
    (void)module;
    Py_ssize_t begin = PyNumber_AsSsize_t(first, NULL);
    if (begin == -1 && PyErr_Occurred())
        return NULL;
    PyObject *list = PyList_New(0);
    for (Py_ssize_t i = begin < 0 ? 0 : begin; list && i < table.n_events; i++) {
        const struct event *event = &table.events[i];
        PyObject *one = Py_BuildValue("(iLLLLk)", (int)event->row, (long long)event->begin,
                                      (long long)event->nanoseconds, (long long)event->group,
                                      (long long)event->elements, event->thread);
        if (!one || PyList_Append(list, one) < 0)
            Py_CLEAR(list);
        Py_XDECREF(one);
    }
    return list;
}

static PyObject *profile_event_count(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return Py_BuildValue("(nL)", table.n_events, (long long)table.n_dropped);
}

PyMethodDef profile_methods[] = {
    {"profile_note_threads", profile_note_threads, METH_O,
     "profile_note_threads(n)\n--\n\nNote that the current call is divided among so many "
     "threads."},
    {"profile_start", profile_start, METH_VARARGS,
     "profile_start(n_events, is_in_program)\n--\n\nCount the cost of lines, and keep at most "
     "so many single events, until profile_stop has been called as often."},
    {"profile_stop", profile_stop, METH_NOARGS,
     "profile_stop()\n--\n\nForget all counts when the last report ends."},
    {"profile_rows", profile_rows, METH_NOARGS,
     "profile_rows()\n--\n\nReturn a tuple for each line, operation and lane, in the order in "
     "which they were first seen."},
    {"profile_events", profile_events, METH_O,
     "profile_events(first)\n--\n\nReturn a tuple for each event from this number on."},
    {"profile_event_count", profile_event_count, METH_NOARGS,
     "profile_event_count()\n--\n\nReturn how many events were kept and how many were "
     "dropped."},
    {NULL, NULL, 0, NULL},
};
