/* recycle.c -- NumPy arrays of small results, which are used again when nobody holds them.
 *
 * NumPy takes longer to make and to free an array than to add a hundred numbers.  An array
 * that an mxnp array leaves behind is kept if its memory cannot be reached from anywhere: it
 * has one reference, no base, no weak reference and no buffer export, and owns memory of
 * NumPy's default allocator.  Arrays are kept by dtype, number of dimensions and bytes,
 * because NumPy's allocator is told these numbers again when the array is freed.  Only kinds
 * that recycle_new was asked for are kept.
 */
#include "python/direct/recycle.h"
#include "python/record/queue.h"

#ifdef Py_GIL_DISABLED
#error "the free lists need the global interpreter lock"
#endif

#define N_BUCKETS    128
#define BUCKET_DEPTH 4
#define POOLED_BYTES 131072              /* the C library returns such memory to the system */
#define MOST_BYTES   ((npy_intp)1 << 20) /* of all arrays that are kept */

struct bucket {
    int n, row, ndim;
    npy_intp nbytes;
    PyObject *arrays[BUCKET_DEPTH];
};

static struct bucket buckets[N_BUCKETS];

#define VIEW_NDIM  4
#define VIEW_DEPTH 64

/* Views without memory, by their number of dimensions. */
static struct {
    int n;
    PyObject *arrays[VIEW_DEPTH];
} views[VIEW_NDIM + 1];
static npy_intp kept_bytes;
static PyObject *default_handler; /* the capsule of NumPy's own allocator */

PyArray_Descr *recycle_dtypes[NTYPES];
signed char recycle_rows[NPY_NTYPES_LEGACY];

#define NEEDED \
    (NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED | NPY_ARRAY_WRITEABLE | NPY_ARRAY_OWNDATA)

static inline struct bucket *bucket_of(int row, int ndim, npy_intp nbytes)
{
    size_t key = (size_t)nbytes * 31 + (size_t)row * 7 + (size_t)ndim;
    return &buckets[(key ^ key >> 7) % N_BUCKETS];
}

/* Check whether arrays of this kind were the last that were asked of the bucket. */
static inline bool is_for(const struct bucket *bucket, int row, int ndim, npy_intp nbytes)
{
    return bucket->nbytes == nbytes && bucket->row == row && bucket->ndim == ndim;
}

/* An array that is kept has no reference to its dtype, so that the dtype's count is that of the
 * program.  These give it one again, and take it away. */
static inline PyObject *take_array(PyObject *np_array)
{
    Py_INCREF((PyObject *)((PyArrayObject_fields *)np_array)->descr);
    return np_array;
}

static inline PyObject *keep_array(PyObject *np_array, PyArray_Descr *dtype)
{
    PyArrayObject_fields *fields = (PyArrayObject_fields *)np_array;
    Py_DECREF((PyObject *)fields->descr);
    fields->descr = dtype; /* one that is never freed */
    return np_array;
}

static void clear_bucket(struct bucket *bucket)
{
    while (bucket->n > 0) {
        kept_bytes -= bucket->nbytes;
        Py_DECREF(take_array(bucket->arrays[--bucket->n]));
    }
}

void recycle_clear(void)
{
    for (int ndim = 0; ndim <= VIEW_NDIM; ndim++)
        while (views[ndim].n > 0)
            Py_DECREF(take_array(views[ndim].arrays[--views[ndim].n]));
    for (int i = 0; i < N_BUCKETS; i++)
        clear_bucket(&buckets[i]);
}

static void set_shape(PyArrayObject_fields *fields, const npy_intp *shape, npy_intp itemsize)
{
    npy_intp stride = itemsize;
    int longer = 0; /* dimensions of more than one element */
    for (int i = fields->nd - 1; i >= 0; i--) {
        fields->dimensions[i] = shape[i];
        fields->strides[i] = stride;
        stride *= shape[i];
        longer += shape[i] > 1;
    }
    fields->flags = NEEDED | (longer < 2 ? NPY_ARRAY_F_CONTIGUOUS : 0);
}

PyObject *recycle_new(int row, int ndim, const npy_intp *shape)
{
    npy_intp nbytes = dtype_itemsizes[row];
    for (int i = 0; i < ndim; i++)
        nbytes *= shape[i];
    struct bucket *bucket = bucket_of(row, ndim, nbytes);
    if (!is_for(bucket, row, ndim, nbytes)) {
        clear_bucket(bucket);
        bucket->nbytes = nbytes;
        bucket->row = row;
        bucket->ndim = ndim;
    }
    if (bucket->n > 0) {
        PyObject *np_array = take_array(bucket->arrays[--bucket->n]);
        kept_bytes -= nbytes;
        set_shape((PyArrayObject_fields *)np_array, shape, dtype_itemsizes[row]);
        return np_array;
    }
    if (nbytes >= POOLED_BYTES)
        return memory_new_filled(dtype_type_number(row), ndim, shape);
    return PyArray_NewFromDescr(&PyArray_Type,
                                (PyArray_Descr *)Py_NewRef((PyObject *)recycle_dtypes[row]),
                                ndim, shape, NULL, NULL, 0, NULL);
}

/* Return the array that owns the memory, which is the base of all its views. */
static PyObject *owner_of(PyArrayObject *array)
{
    PyObject *base = PyArray_BASE(array);
    bool is_owned =
        base && Py_TYPE(base) == np_array_type && !PyArray_CHKFLAGS(array, NPY_ARRAY_OWNDATA);
    return is_owned ? base : (PyObject *)array;
}

/* Set the shape and the strides of a view, and return its flags of contiguity.  An axis of one
 * element may have any stride. */
static int set_axes(PyArrayObject_fields *fields, const struct view *view, npy_intp itemsize)
{
    npy_intp forward = itemsize, backward = itemsize;
    bool is_c = true, is_f = true, is_empty = false;
    for (int axis = 0, last = view->ndim - 1; axis < view->ndim; axis++, last--) {
        fields->dimensions[axis] = view->shape[axis];
        fields->strides[axis] = view->strides[axis];
        is_f = is_f && (view->shape[axis] == 1 || view->strides[axis] == forward);
        is_c = is_c && (view->shape[last] == 1 || view->strides[last] == backward);
        is_empty |= view->shape[axis] == 0;
        forward *= view->shape[axis];
        backward *= view->shape[last];
    }
    return (is_c || is_empty ? NPY_ARRAY_C_CONTIGUOUS : 0) |
           (is_f || is_empty ? NPY_ARRAY_F_CONTIGUOUS : 0);
}

/* Return a new numpy.ndarray of a dtype over the memory of another, or NULL with an exception
 * set. */
static PyObject *new_view(PyArrayObject *base, PyArray_Descr *dtype, const struct view *view)
{
    const int kept_flags = NPY_ARRAY_WRITEABLE | NPY_ARRAY_ALIGNED;
    PyObject *owner = Py_NewRef(owner_of(base));
    int ndim = view->ndim;
    Py_INCREF((PyObject *)dtype);
    if (ndim <= VIEW_NDIM && views[ndim].n > 0) {
        PyObject *np_array = views[ndim].arrays[--views[ndim].n];
        PyArrayObject_fields *fields = (PyArrayObject_fields *)np_array;
        fields->descr = dtype;
        fields->data = view->data;
        fields->base = owner;
        fields->flags = PyArray_FLAGS(base) & kept_flags;
        fields->flags |= set_axes(fields, view, PyDataType_ELSIZE(dtype));
        if (!PyArray_ISALIGNED(base))
            PyArray_UpdateFlags((PyArrayObject *)np_array, NPY_ARRAY_ALIGNED);
        return np_array;
    }
    PyObject *np_array =
        PyArray_NewFromDescr(&PyArray_Type, dtype, ndim, view->shape, view->strides, view->data,
                             PyArray_FLAGS(base) & NPY_ARRAY_WRITEABLE, NULL);
    if (!np_array) {
        Py_DECREF(owner);
        return NULL;
    }
    if (PyArray_SetBaseObject((PyArrayObject *)np_array, owner) < 0)
        Py_CLEAR(np_array);
    return np_array;
}

PyObject *recycle_view_as(PyObject *a, PyArray_Descr *dtype, const struct view *view)
{
    PyObject *np_array = new_view(queue_ready(a), dtype, view);
    PyObject *out = np_array ? wrapper_new_small(np_array) : NULL;
    if (out)
        as_array(out)->base = Py_NewRef((PyObject *)root_of(a));
    return out;
}

PyObject *recycle_view(PyObject *a, const struct view *view)
{
    return recycle_view_as(a, PyArray_DESCR(queue_ready(a)), view);
}

/* Check whether nobody else can reach an array of NumPy's own class. */
static inline bool is_alone(PyObject *np_array)
{
    const PyArrayObject_fields *fields = (const PyArrayObject_fields *)np_array;
    return Py_REFCNT(np_array) == 1 && Py_TYPE(np_array) == np_array_type &&
           !fields->weakreflist && !fields->_buffer_info &&
           !(fields->flags & NPY_ARRAY_WRITEBACKIFCOPY);
}

static bool keep_view(PyObject *np_array)
{
    PyArrayObject_fields *fields = (PyArrayObject_fields *)np_array;
    if (fields->nd > VIEW_NDIM || fields->flags & NPY_ARRAY_OWNDATA ||
        views[fields->nd].n == VIEW_DEPTH)
        return false;
    PyObject *base = fields->base;
    fields->base = NULL;
    fields->data = NULL;
    views[fields->nd].arrays[views[fields->nd].n++] =
        keep_array(np_array, recycle_dtypes[ROW_bool]);
    Py_DECREF(base);
    return true;
}

bool recycle_keep(PyObject *np_array)
{
    const PyArrayObject_fields *fields = (const PyArrayObject_fields *)np_array;
    if (!is_alone(np_array))
        return false;
    if (fields->base)
        return keep_view(np_array);
    if (fields->nd == 0 || (fields->flags & NEEDED) != NEEDED ||
        fields->mem_handler != default_handler)
        return false;
    int row = recycle_row(fields->descr);
    npy_intp nbytes = row < 0 ? 0 : dtype_itemsizes[row];
    for (int i = 0; i < fields->nd; i++)
        nbytes *= fields->dimensions[i];
    if (nbytes == 0 || nbytes > RECYCLED_BYTES)
        return false;
    struct bucket *bucket = bucket_of(row, fields->nd, nbytes);
    if (!is_for(bucket, row, fields->nd, nbytes) || bucket->n == BUCKET_DEPTH)
        return false;
    if (kept_bytes + nbytes > MOST_BYTES)
        recycle_clear();
    kept_bytes += nbytes;
    bucket->arrays[bucket->n++] = keep_array(np_array, recycle_dtypes[row]);
    return true;
}

int recycle_load(void)
{
    memset(recycle_rows, -1, sizeof recycle_rows);
    for (int row = 0; row < NTYPES; row++) {
        int number = dtype_type_number(row);
        if (row == ROW_bfloat16)
            continue; /* not a dtype of NumPy's own */
        if (!(recycle_dtypes[row] = PyArray_DescrFromType(number)))
            return -1;
        recycle_rows[number] = (signed char)row;
    }
    PyObject *probe = PyArray_SimpleNew(1, &(npy_intp){1}, NPY_DOUBLE);
    if (!probe)
        return -1;
    default_handler = ((PyArrayObject_fields *)probe)->mem_handler;
    Py_XINCREF(default_handler);
    Py_DECREF(probe);
    return 0;
}
