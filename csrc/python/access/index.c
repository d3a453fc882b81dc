/* index.c -- the analysis of a key with arrays in it. */
#include "python/access/index.h"
#include "python/access/selection.h"
#include "python/base/refusal.h"
#include "python/profile/profile.h"
#include "python/record/queue.h"
#include "python/record/record.h"
#include "python/record/wrapper.h"

/* -- Ranges ------------------------------------------------------------------------ */

void index_forget(struct array *array)
{
    PyMem_Free(array->range);
    array->range = NULL;
}

static struct index_range find_range(const struct source *indices)
{
    struct index_range range;
    const PyArrayObject *np_array = indices->np_array;
    int64_t begin = profile_is_on ? mx_now() : 0;
    core->mx_index_range(source_elements(indices), indices->code, PyArray_NDIM(np_array),
                         PyArray_DIMS(indices->np_array), PyArray_STRIDES(indices->np_array),
                         &range.least, &range.most);
    if (profile_is_on)
        profile_checked(begin, PyArray_SIZE(indices->np_array), false);
    return range;
}

const struct index_range *index_known_range(const struct source *indices)
{
    const struct index_range *range = as_array(indices->array)->range;
    bool is_known = range && range->version == root_of(indices->array)->version &&
                    !record_is_shared(indices->array);
    return is_known ? range : NULL;
}

void index_note_range(const struct source *indices, const struct index_range *range)
{
    struct array *array = as_array(indices->array);
    if (record_is_shared(indices->array))
        return;
    if (!array->range)
        array->range = PyMem_Calloc(1, sizeof *array->range);
    if (array->range)
        *array->range = *range;
}

struct index_range index_range_of(const struct source *indices)
{
    int64_t version = root_of(indices->array)->version;
    const struct index_range *known = index_known_range(indices);
    if (known && profile_is_on)
        profile_checked(0, PyArray_SIZE(indices->np_array), true);
    if (known)
        return *known;
    struct index_range range = find_range(indices);
    range.version = version;
    index_note_range(indices, &range);
    return range;
}

/* -- Keys -------------------------------------------------------------------------- */

void index_clear(struct index *index)
{
    for (int j = 0; j < index->n; j++)
        Py_CLEAR(index->arrays[j]);
    Py_CLEAR(index->view);
}

/* Return a new reference to an index array as an mxnp array, or NULL, with or without an
 * exception set. */
static PyObject *as_index_array(PyObject *x)
{
    if (is_array(x))
        return Py_NewRef(x);
    if (Py_TYPE(x) == np_array_type)
        return wrapper_new(Py_NewRef(x));
    PyObject *np_array = PyArray_FROM_O(x);
    return np_array ? wrapper_new(np_array) : NULL;
}

static bool add_array(struct index *index, PyObject *array, int axis)
{
    struct source *source = &index->sources[index->n];
    if (index->n == MX_MAX_INDICES || !source_read(array, source) ||
        !mx_dtype_is_integer(source->code) || PyArray_NDIM(source->np_array) == 0)
        return false;
    index->arrays[index->n] = Py_NewRef(array);
    index->axes[index->n++] = axis;
    return true;
}

/* Add the positions where a mask is true, as an index array for each of its axes. */
static bool add_mask(struct index *index, PyObject *mask, int axis)
{
    PyObject *positions = selection_nonzero(mask);
    Py_ssize_t n = positions ? PyTuple_Size(positions) : 0;
    bool fits = n > 0;
    for (Py_ssize_t i = 0; i < n && fits; i++)
        fits = add_array(index, PyTuple_GetItem(positions, i), axis + (int)i);
    Py_XDECREF(positions);
    return fits;
}

/* Add the index arrays of an item of the key.  Return false if NumPy has to index, or with an
 * exception set. */
static bool add_arrays(struct index *index, PyObject *item, int axis)
{
    PyObject *array = as_index_array(item);
    if (!array)
        refusal_drop();
    bool is_mask = array && PyArray_TYPE(np_array_of(array)) == NPY_BOOL, fits = false;
    if (is_mask) /* the size of a mask that is a list was not checked */
        fits = !PyList_CheckExact(item) && add_mask(index, array, axis);
    else if (array)
        fits = add_array(index, array, axis);
    Py_XDECREF(array);
    return fits;
}

/* Check whether a mask has the size of the axes that it indexes. */
static bool fits_axes(PyObject *item, const PyArrayObject *indexed, int axis)
{
    int n = access_axes(item);
    if (axis + n > PyArray_NDIM(indexed) || n == 0)
        return false;
    const PyArrayObject *mask = access_mask(item);
    return !mask ||
           PyArray_CompareLists(PyArray_DIMS(mask),
                                PyArray_DIMS((PyArrayObject *)(uintptr_t)indexed) + axis, n);
}

/* The position of the block follows NumPy's rule: it replaces the arrays and integers if they
 * are adjacent; otherwise it comes first. */
struct placing {
    bool has_begun, has_ended, is_apart;
    int before; /* axes of the view in front of it */
};

static void add_item(struct placing *placing, bool is_advanced, int axes_before)
{
    if (is_advanced) {
        if (!placing->has_begun)
            placing->before = axes_before;
        placing->is_apart |= placing->has_ended;
        placing->has_begun = true;
    } else {
        placing->has_ended = placing->has_begun;
    }
}

/* Add an index array or mask, and whole axes in its place to the basic key.  `axis` is one of
 * the array, and *at one of the view. */
static bool replace_array(struct index *index, PyObject *item, const PyArrayObject *indexed,
                          int axis, int *at, PyObject *basic)
{
    int first = index->n;
    if (!fits_axes(item, indexed, axis) || !add_arrays(index, item, axis))
        return false;
    for (int j = first; j < index->n; j++) {
        index->indexing.sizes[j] = (*at)++; /* the axis, until the view exists */
        PyObject *whole = PySlice_New(NULL, NULL, NULL);
        int status = whole ? PyList_Append(basic, whole) : -1;
        Py_XDECREF(whole);
        if (status < 0)
            return false;
    }
    return true;
}

static void keep_axes(struct index *index, int n, int *at)
{
    for (; n > 0 && index->n_rest < MX_MAX_NDIM; n--)
        index->rest[index->n_rest++] = (*at)++;
}

/* Read the items of a key.  Return a new reference to the basic key, with whole axes in place
 * of index arrays.  Return NULL if NumPy has to index, or with an exception set. */
static PyObject *replace_arrays(struct index *index, const struct access *access,
                                const PyArrayObject *indexed)
{
    int axis = 0, at = 0, ndim = PyArray_NDIM(indexed);
    int n_others = ndim - (int)access->n_axes;
    struct placing placing = {0};
    PyObject *basic = n_others < 0 ? NULL : PyList_New(0);
    for (Py_ssize_t i = 0; i < access->n && basic; i++) {
        PyObject *item = access_item(access, i);
        enum access_item kind = access->items[i];
        bool is_array = kind == ITEM_ARRAY, is_integer = kind == ITEM_INTEGER;
        add_item(&placing, is_array || is_integer, index->n_rest);
        if (is_array ? !replace_array(index, item, indexed, axis, &at, basic)
                     : PyList_Append(basic, item) < 0)
            Py_CLEAR(basic);
        if (!is_array && !is_integer)
            keep_axes(index, kind == ITEM_ELLIPSIS ? n_others : 1, &at);
        axis += is_array                ? access_axes(item)
                : kind == ITEM_ELLIPSIS ? n_others
                                        : kind != ITEM_NEW_AXIS;
    }
    keep_axes(index, ndim - axis, &at);
    index->block_at = placing.is_apart ? 0 : placing.before;
    PyObject *tuple = basic ? PyList_AsTuple(basic) : NULL;
    Py_XDECREF(basic);
    return tuple;
}

static bool settle_shape(struct index *index)
{
    const PyArrayObject *view = (const PyArrayObject *)index->view;
    for (int j = 0; j < index->n; j++)
        if (!shape_broadcast(&index->block, &index->sources[j]))
            return false;
    int ndim = index->block.ndim + index->n_rest;
    if (ndim > MX_MAX_NDIM || PyArray_NDIM(view) != index->n_rest + index->n)
        return false;
    index->shape.ndim = ndim;
    for (int i = 0, rest = 0; i < ndim; i++) {
        int in_block = i - index->block_at;
        bool is_block = in_block >= 0 && in_block < index->block.ndim;
        int axis = is_block ? 0 : index->rest[rest++];
        index->shape.dims[i] = is_block ? index->block.dims[in_block] : PyArray_DIM(view, axis);
        index->strides[i] =
            is_block || index->shape.dims[i] == 1 ? 0 : PyArray_STRIDE(view, axis);
    }
    for (int j = 0; j < index->n; j++) {
        int axis = (int)index->indexing.sizes[j];
        index->indexing.sizes[j] = PyArray_DIM(view, axis);
        index->indexing.strides[j] = PyArray_STRIDE(view, axis);
        if (index->indexing.sizes[j] == 0)
            return false;
    }
    return shape_size(&index->shape) > 0 && !shape_is_too_large(&index->shape);
}

/* Return a view of an array in C order whose first n axes are one, or NULL with an exception
 * set. */
static PyObject *join_axes(PyObject *a, int n)
{
    const PyArrayObject *np_array = np_array_of(a);
    npy_intp shape[NPY_MAXDIMS] = {-1};
    PyArray_Dims dims = {shape, PyArray_NDIM(np_array) - n + 1};
    for (int axis = 1; axis < dims.len; axis++)
        shape[axis] = PyArray_DIM(np_array, axis + n - 1);
    return PyArray_Newshape((PyArrayObject *)as_array(a)->unprepared, &dims, NPY_CORDER);
}

/* A mask of several axes selects rows of the array in which they are one axis, if both are in C
 * order. */
static bool read_whole_mask(struct index *index, PyObject *a, const struct access *access)
{
    const PyArrayObject *np_array = np_array_of(a);
    const PyArrayObject *mask = access_mask(access->key);
    if (access->kind != ACCESS_MASK || PyArray_NDIM(mask) < 2 ||
        !fits_axes(access->key, np_array, 0) || !PyArray_IS_C_CONTIGUOUS(np_array))
        return false;
    PyObject *positions = selection_positions(access->key);
    bool is_read = positions && add_array(index, positions, 0);
    if (is_read) {
        int at = 1;
        index->view = join_axes(a, PyArray_NDIM(mask));
        keep_axes(index, PyArray_NDIM(np_array) - PyArray_NDIM(mask), &at);
    }
    Py_XDECREF(positions);
    return is_read && index->view;
}

static void read_key(struct index *index, PyObject *a, const struct access *access)
{
    PyObject *basic = replace_arrays(index, access, np_array_of(a));
    index->view = basic ? PyObject_GetItem(as_array(a)->unprepared, basic) : NULL;
    if (basic && !index->view)
        refusal_drop();
    Py_XDECREF(basic);
}

int index_read(PyObject *a, const struct access *access, struct index *index)
{
    memset(index, 0, offsetof(struct index, strides));
    if (!access_selects(access) || !source_read_array(a, &index->table))
        return 0;
    if (!read_whole_mask(index, a, access) && index->n == 0 && !PyErr_Occurred())
        read_key(index, a, access);
    if (PyErr_Occurred())
        return -1;
    if (!index->view || Py_TYPE(index->view) != np_array_type)
        return 0;
    index->indexing.n = index->n;
    index->table.np_array = (PyArrayObject *)index->view;
    index->at =
        data_address(index->table.np_array) - data_address(np_array_of((PyObject *)root_of(a)));
    return settle_shape(index);
}

/* -- Sizes -------------------------------------------------------------------------- */

bool index_should_record(const struct index *index)
{
    npy_intp size = shape_size(&index->shape);
    bool is_waiting = queue_writes(index->table.array);
    for (int j = 0; j < index->n; j++)
        is_waiting |= queue_writes(index->arrays[j]);
    return is_waiting || size >= queue_threshold;
}
