/* sorting.c -- sorts of large arrays.  They are not recorded: all but the last pass over memory
 * would be a pass of its own, and the result of an argsort is mostly an index. */
#include "python/direct/sorting.h"
#include "python/profile/profile.h"
#include "python/record/memory.h"
#include "python/record/queue.h"
#include "python/record/source.h"

/* Read what is sorted along an axis.  Code of the program may have run while the array waited,
 * so call it afterwards.  Return false if NumPy has to sort it. */
static bool read_sort(PyObject *a, int axis, int kind, struct mx_sort *sort)
{
    struct source source;
    if (!source_read(a, &source) || !core->mx_sort_has(source.code))
        return false;
    PyArray_Descr *dtype = PyArray_DESCR(source.np_array);
    PyArray_Descr *plain = PyArray_DescrFromType(dtype_type_number(source.code));
    PyArray_ArrFuncs *functions = PyDataType_GetArrFuncs(plain);
    int ndim = PyArray_NDIM(source.np_array);
    *sort = (struct mx_sort){.array = as_array(a)->unprepared,
                             .dtype = source.code,
                             .is_stable = kind == NPY_STABLESORT};
    /* NumPy's heapsort is a quicksort from 2.4 on. */
    bool is_known = dtype == plain && axis >= 0 && axis < ndim &&
                    (kind == NPY_QUICKSORT || kind == NPY_STABLESORT);
    if (is_known) {
        sort->sort = functions->sort[kind];
        sort->argsort = functions->argsort[kind];
    }
    Py_DECREF(plain);
    if (!sort->sort || !sort->argsort || PyArray_SIZE(source.np_array) == 0)
        return false;
    for (int i = 0; i < ndim; i++)
        if (i != axis) {
            sort->shape[sort->ndim] = PyArray_DIM(source.np_array, i);
            sort->strides[sort->ndim++] = PyArray_STRIDE(source.np_array, i);
        }
    sort->n = PyArray_DIM(source.np_array, axis);
    sort->stride = PyArray_STRIDE(source.np_array, axis);
    return true;
}

static void set_positions(struct mx_sort *sort, PyArrayObject *positions, int axis)
{
    for (int i = 0, k = 0; i < PyArray_NDIM(positions); i++)
        if (i != axis)
            sort->position_strides[k++] = PyArray_STRIDE(positions, i);
    sort->position_stride = PyArray_STRIDE(positions, axis);
    sort->positions = PyArray_BYTES(positions);
}

/* Wait for the elements.  Return 0, or -1 with an exception set. */
static int sorting_wait_for(PyObject *a, bool writes)
{
    struct span span;
    span_begin(&span, SPAN_OPERATION, NULL);
    int status = writes ? queue_before_write(a) : queue_before_read(a);
    span_pop(&span);
    return status;
}

static void note_cost(PyObject *a, const char *name, bool has_positions, int64_t begin)
{
    npy_intp size = PyArray_SIZE(np_array_of(a)), nbytes = PyArray_NBYTES(np_array_of(a));
    profile_computed(begin, name, size, nbytes, has_positions ? 8 * size : nbytes);
}

static int sort_rows(const void *sort) { return core->mx_sort_rows(sort); }

static int partition_row(const void *partition) { return core->mx_partition_row(partition); }

/* Call a function of the core without the GIL, while no other thread runs the queue.  Return 1,
 * 0 if NumPy has to compute, or -1 with an exception set. */
static int call_core(PyObject *a, int (*function)(const void *), const void *job,
                     const char *name, bool has_positions)
{
    struct array *root = root_of(a);
    root->n_holds++;
    if (queue_enter() < 0) {
        root->n_holds--;
        return -1;
    }
    int64_t begin = profile_is_on ? mx_now() : 0;
    PyThreadState *saved = PyEval_SaveThread();
    int status = function(job);
    queue_leave();
    PyEval_RestoreThread(saved);
    root->n_holds--;
    if (profile_is_on && status == MX_OK)
        note_cost(a, name, has_positions, begin);
    return status == MX_OK;
}

static bool can_write(PyObject *a)
{
    return is_array(a) && PyArray_ISWRITEABLE(np_array_of(a));
}

/* Leave a call to NumPy after prepare_to_write(). */
static PyObject *leave_to_numpy(void)
{
    queue_after_write();
    Py_RETURN_NOTIMPLEMENTED;
}

/* Wait for an array, and note that it is written. */
static int prepare_to_write(PyObject *a)
{
    if (sorting_wait_for(a, true) < 0)
        return -1;
    root_of(a)->version++;
    memory_note_written((PyObject *)root_of(a));
    return 0;
}

static PyObject *sort(PyObject *module, PyObject *args)
{
    (void)module;
    struct mx_sort sort;
    PyObject *a;
    int axis, kind;
    if (!PyArg_ParseTuple(args, "Oii:sort", &a, &axis, &kind))
        return NULL;
    if (!can_write(a))
        Py_RETURN_NOTIMPLEMENTED;
    if (prepare_to_write(a) < 0)
        return NULL;
    if (!can_write(a) || queue_uses(a) || !read_sort(a, axis, kind, &sort) ||
        !source_is_apart(np_array_of(a)))
        return leave_to_numpy();
    sort.data = PyArray_BYTES(queue_ready(a));
    int status = call_core(a, sort_rows, &sort, "sort", false);
    if (status == 0) {
        span_note_numpy();
        status = PyArray_Sort(queue_ready(a), axis, (NPY_SORTKIND)kind);
    }
    queue_after_write();
    return status < 0 ? NULL : Py_NewRef(Py_None);
}

/* Check whether positions that are continued fit the keys, and are a new array. */
static bool are_positions(PyObject *positions, PyObject *a)
{
    return is_array(positions) && !as_array(positions)->base &&
           PyArray_TYPE(np_array_of(positions)) == NPY_INTP &&
           PyArray_NDIM(np_array_of(positions)) == PyArray_NDIM(np_array_of(a)) &&
           PyArray_SAMESHAPE(np_array_of(positions), np_array_of(a)) && !queue_uses(positions);
}

static PyObject *argsort(PyObject *module, PyObject *args)
{
    (void)module;
    struct mx_sort sort;
    PyObject *a, *positions;
    int axis, kind, continues;
    if (!PyArg_ParseTuple(args, "OiiOp:argsort", &a, &axis, &kind, &positions, &continues))
        return NULL;
    if (!is_array(a))
        Py_RETURN_NOTIMPLEMENTED;
    if (sorting_wait_for(a, false) < 0)
        return NULL;
    if (queue_writes(a) || !read_sort(a, axis, kind, &sort) || !are_positions(positions, a))
        Py_RETURN_NOTIMPLEMENTED;
    sort.data = PyArray_BYTES(queue_ready(a));
    set_positions(&sort, queue_ready(positions), axis);
    sort.continues = continues;
    root_of(positions)->version++;
    memory_note_written(positions);
    int status = call_core(a, sort_rows, &sort, "argsort", true);
    if (status == 0)
        Py_RETURN_NOTIMPLEMENTED;
    return status < 0 ? NULL : Py_NewRef(Py_None);
}

#define MOST_PLACES 64

/* Read increasing places in a row of n elements.  Return how many there are, or 0. */
static int read_places(PyObject *tuple, npy_intp n, intptr_t *places)
{
    Py_ssize_t count = PyTuple_Size(tuple);
    for (Py_ssize_t i = 0; i < count && count <= MOST_PLACES; i++) {
        places[i] = PyLong_AsSsize_t(PyTuple_GetItem(tuple, i));
        if (places[i] < 0 || places[i] >= n || (i > 0 && places[i] <= places[i - 1])) {
            PyErr_Clear();
            return 0;
        }
    }
    return count <= MOST_PLACES ? (int)count : 0;
}

static PyObject *partition(PyObject *module, PyObject *args)
{
    (void)module;
    struct mx_sort sort;
    intptr_t places[MOST_PLACES];
    PyObject *a, *tuple, *positions;
    if (!PyArg_ParseTuple(args, "OO!O:partition", &a, &PyTuple_Type, &tuple, &positions))
        return NULL;
    bool has_positions = positions != Py_None;
    if (!can_write(a) || (has_positions && !can_write(positions)))
        Py_RETURN_NOTIMPLEMENTED;
    if (prepare_to_write(a) < 0 || (has_positions && prepare_to_write(positions) < 0))
        return NULL;
    if (!can_write(a) || queue_uses(a) || !read_sort(a, 0, NPY_QUICKSORT, &sort) ||
        !core->mx_partition_has(sort.dtype) || sort.ndim != 0 ||
        sort.stride != dtype_itemsizes[sort.dtype] ||
        (has_positions && !are_positions(positions, a)))
        return leave_to_numpy();
    int n_places = read_places(tuple, sort.n, places);
    if (n_places == 0)
        return leave_to_numpy();
    struct mx_partition partition = {
        sort.dtype, sort.sort, sort.argsort, sort.array, PyArray_DATA(queue_ready(a)),
        NULL,       sort.n,    places,       n_places};
    if (has_positions)
        partition.positions = PyArray_DATA(queue_ready(positions));
    int status = call_core(a, partition_row, &partition,
                           has_positions ? "argpartition" : "partition", has_positions);
    queue_after_write();
    if (status == 0)
        Py_RETURN_NOTIMPLEMENTED;
    return status < 0 ? NULL : Py_NewRef(Py_None);
}

/* Count rows that threads of Python have partitioned. */
static PyObject *count_partition(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *a;
    int has_positions;
    long long begin;
    if (!PyArg_ParseTuple(args, "O!pL:count_partition", array_type, &a, &has_positions, &begin))
        return NULL;
    if (profile_is_on)
        note_cost(a, has_positions ? "argpartition" : "partition", has_positions, begin);
    Py_RETURN_NONE;
}

static PyObject *packs_slowly(PyObject *module, PyObject *args)
{
    (void)module, (void)args;
    return PyBool_FromLong(core->mx_isa_packs_slowly());
}

PyMethodDef sorting_methods[] = {
    {"sort", sort, METH_VARARGS,
     "sort(a, axis, kind)\n--\n\nSort an array in place and return None, or return "
     "NotImplemented. The kind is NumPy's number."},
    {"argsort", argsort, METH_VARARGS,
     "argsort(a, axis, kind, positions, continues)\n--\n\nWrite the positions that sort an "
     "array to a new array of its shape, whose order counts for equal elements if the sort "
     "continues. Return None, or NotImplemented."},
    {"partition", partition, METH_VARARGS,
     "partition(a, places, positions)\n--\n\nMove the elements of a row to where a sort would "
     "put those at some places, which increase, and write their positions unless that is None. "
     "Return None, or NotImplemented."},
    {"count_partition", count_partition, METH_VARARGS,
     "count_partition(a, has_positions, begin)\n--\n\nCount a partition of rows, which began "
     "at "
     "a time in nanoseconds."},
    {"packs_slowly", packs_slowly, METH_NOARGS,
     "packs_slowly()\n--\n\nReturn whether the processor writes chosen elements of a vector "
     "of 64 bytes slowly."},
    {NULL, NULL, 0, NULL},
};
