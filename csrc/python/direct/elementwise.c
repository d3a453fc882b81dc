/* elementwise.c -- small elementwise operations, computed with NumPy's inner loops, or with own
 * loops that have NumPy's bits.
 *
 * NumPy spends most of a small operation on finding the loop, checking the arguments and
 * allocating the result.  Here the loop comes from a table, the usual arguments need a few
 * comparisons, and the result is a recycled array.
 */
#include "python/direct/elementwise.h"
#include "base/conditions.h"
#include "ir/ops.h"
#include "python/base/state.h"
#include "python/direct/recycle.h"
#include "python/direct/scalars.h"
#include "python/profile/errstate.h"
#include "python/record/axes.h"
#include "python/record/signature.h"
#include "python/record/source.h"

#define MOST_NDIM    4
#define MOST_IN      3
#define SHORT_AXIS   16    /* elements: a loop is called for a longer axis where there is one */
#define COPIED_BYTES 16384 /* of a result that is copied: above, NumPy is faster */
#define MOST_LOCKED  500   /* elements: for more, NumPy releases the interpreter's lock */

/* One input: an array, or a scalar whose value is in the dtype of the loop. */
struct input {
    struct source source;
    char *data;
    npy_intp strides[MOST_NDIM]; /* along the axes of the result */
    _Alignas(16) char value[16];
};

struct operation {
    const struct signature *signature;
    const struct mx_loop *loop;  /* NumPy's, or one with its bits if no condition is met */
    const PyUFuncObject *others; /* a ufunc of another package, or NULL */
    int op, nin, ndim;
    int inner; /* the last axis of more than one element, or else 0 */
    npy_intp shape[MOST_NDIM], size;
    bool is_flat; /* each input is one run of memory */
    struct input inputs[MOST_IN];
    char *casts; /* memory for cast elements, so many bytes for each input */
    npy_intp room;
};

static _Alignas(64) char scratch[1 + MOST_IN][RECYCLED_BYTES]; /* the result, cast inputs */

/* Python's larger integers have other rules: NumPy's logical functions refuse them. */
static bool fits_int64(PyObject *integer)
{
    int overflow;
    PyLong_AsLongLongAndOverflow(integer, &overflow);
    return overflow == 0;
}

/* Read the dtype of an argument: plain, aligned arrays and plain numbers. */
static bool read_input(PyObject *x, struct input *input)
{
    struct source *source = &input->source;
    if (!is_array(x)) {
        int row = scalars_row(x);
        *source = (struct source){.code = row, .scalar = x};
        return row >= 0 ||
               (source_read(x, source) && (source->code != WEAK_INT || fits_int64(x)));
    }
    const PyArrayObject *np_array = np_array_of(x);
    *source = (struct source){
        .code = recycle_row(PyArray_DESCR(np_array)), .array = x, .np_array = np_array};
    return source->code >= 0 && PyArray_NDIM(np_array) <= MOST_NDIM &&
           PyArray_ISALIGNED(np_array);
}

/* Check whether the axes of an array are in C order in memory: then NumPy's result is in C
 * order.  NumPy goes through axes that all operands reverse from their ends. */
static bool is_in_c_order(const PyArrayObject *np_array, bool may_reverse)
{
    npy_intp last = NPY_MAX_INTP;
    if (is_c_contiguous(np_array))
        return true;
    for (int i = 0; i < PyArray_NDIM(np_array); i++) {
        npy_intp stride = PyArray_STRIDE(np_array, i);
        if (PyArray_DIM(np_array, i) == 1)
            continue;
        stride = may_reverse ? Py_ABS(stride) : stride;
        if (stride <= 0 || stride > last)
            return false;
        last = stride;
    }
    return true;
}

/* Broadcast the shape of the result and that of an array.  Return false if they differ. */
static bool broadcast(struct operation *operation, const PyArrayObject *np_array)
{
    int ndim = PyArray_NDIM(np_array), more = ndim - operation->ndim;
    if (more > 0) {
        memmove(operation->shape + more, operation->shape,
                (size_t)operation->ndim * sizeof *operation->shape);
        for (int axis = 0; axis < more; axis++)
            operation->shape[axis] = 1;
        operation->ndim = ndim;
    }
    npy_intp *shape = operation->shape + operation->ndim - ndim;
    for (int axis = 0; axis < ndim; axis++) {
        npy_intp length = PyArray_DIM(np_array, axis);
        if (length != shape[axis] && shape[axis] != 1 && length != 1)
            return false;
        if (length != 1)
            shape[axis] = length;
    }
    return true;
}

/* Find the shape of the result, which is a scalar if no input is an array.  Return false if the
 * arrays cannot be broadcast, or have no axes, or if NumPy chooses the strides of an empty
 * result. */
static bool find_shape(struct operation *operation)
{
    bool is_scalar = true;
    operation->ndim = 0;
    operation->shape[0] = 1;
    for (int i = 0; i < operation->nin; i++) {
        const PyArrayObject *np_array = operation->inputs[i].source.np_array;
        if (np_array && !broadcast(operation, np_array))
            return false;
        is_scalar &= !np_array;
    }
    operation->size = 1;
    operation->inner = 0;
    for (int axis = 0; axis < operation->ndim; axis++) {
        operation->size *= operation->shape[axis];
        if (operation->shape[axis] > 1)
            operation->inner = axis;
    }
    bool is_small =
        operation->size > 0 ? operation->size <= MX_MOST_DIRECT : operation->ndim == 1;
    return (operation->ndim > 0 || is_scalar) && is_small;
}

/* Cast the elements of an array to the dtype of the loop.  Return false if NumPy has to, also
 * where it reports a condition: signaling NaN. */
static bool cast_array(struct operation *operation, int number)
{
    struct input *input = &operation->inputs[number];
    int row = operation->signature->in[number];
    char *to = operation->casts + number * operation->room;
    PyArrayObject *np_array = queue_ready(input->source.array);
    npy_intp n = array_size(np_array);
    mx_loop_function cast = core->mx_cast_loop(input->source.code, row);
    if (!cast || !is_c_contiguous(np_array) || n * dtype_itemsizes[row] > operation->room)
        return false;
    char *args[] = {PyArray_BYTES(np_array), to};
    intptr_t length = n,
             strides[] = {dtype_itemsizes[input->source.code], dtype_itemsizes[row]};
    mx_conditions_clear();
    cast(args, &length, strides, NULL);
    input->data = to;
    return !mx_conditions_met();
}

static bool is_real_arithmetic(const struct operation *operation)
{
    return signature_is_arithmetic(operation->op) &&
           !mx_dtype_is_complex(operation->signature->out[0]);
}

/* Bring an input into the dtype of the loop and the shape of the result. */
static bool prepare_input(struct operation *operation, int number)
{
    struct input *input = &operation->inputs[number];
    int row = operation->signature->in[number];
    const PyArrayObject *np_array = input->source.np_array;
    memset(input->strides, 0, sizeof input->strides);
    if (!np_array) {
        input->data = input->value;
        return scalars_read(input->source.scalar, row, input->value) ||
               source_value(&input->source, row, input->value);
    }
    bool is_cast = row != input->source.code;
    /* An axis of one element may have any stride, which NumPy passes to the loop. */
    bool is_contiguous = is_cast || (PyArray_NDIM(np_array) > 1 && is_c_contiguous(np_array));
    input->data = PyArray_BYTES(queue_ready(input->source.array));
    if (is_cast ? !cast_array(operation, number)
                : !is_in_c_order(np_array, is_real_arithmetic(operation)))
        return false;
    if (operation->signature->layouts & MX_STRIDED && operation->ndim > 1 && !is_cast &&
        !is_c_contiguous(np_array))
        return false;
    int first = operation->ndim - PyArray_NDIM(np_array);
    npy_intp stride = dtype_itemsizes[row]; /* of a contiguous array */
    for (int axis = operation->ndim - 1; axis >= first; axis--) {
        npy_intp length = PyArray_DIM(np_array, axis - first);
        if (length == operation->shape[axis])
            input->strides[axis] =
                is_contiguous ? stride : PyArray_STRIDE(np_array, axis - first);
        stride *= length;
    }
    return true;
}

/* Check whether the elements of an input are one run with the stride of the innermost axis. */
static bool is_one_run(const struct operation *operation, const npy_intp *strides)
{
    npy_intp step = strides[operation->inner] * operation->shape[operation->inner];
    for (int axis = operation->inner - 1; axis >= 0; axis--) {
        if (operation->shape[axis] == 1)
            continue;
        if (strides[axis] != step)
            return false;
        step *= operation->shape[axis];
    }
    return true;
}

/* Read the inputs, and find the shape and the dtypes.  `others` is a ufunc of another package,
 * or NULL. */
static bool read_inputs(struct operation *operation, int op, const PyUFuncObject *others,
                        PyObject *const *inputs, int nin)
{
    struct source sources[MOST_IN];
    operation->op = op;
    operation->others = others;
    operation->nin = nin;
    for (int i = 0; i < nin; i++) {
        if (!read_input(inputs[i], &operation->inputs[i]))
            return false;
        sources[i] = operation->inputs[i].source;
    }
    if (!find_shape(operation))
        return false;
    operation->signature = others ? signature_of_others((PyObject *)others, sources, nin)
                                  : signature_of(op, sources, nin);
    return operation->signature;
}

static bool prepare_inputs(struct operation *operation)
{
    bool is_own = operation->ndim > 0 && operation->signature->has_numpys_bits;
    operation->loop = is_own ? &operation->signature->loop : &operation->signature->numpys;
    operation->is_flat = true;
    for (int i = 0; i < operation->nin; i++) {
        if (!prepare_input(operation, i))
            return false;
        operation->is_flat &= is_one_run(operation, operation->inputs[i].strides);
    }
    return true;
}

static bool read_operation(struct operation *operation, int op, PyObject *const *inputs,
                           int nin)
{
    operation->casts = scratch[1];
    operation->room = RECYCLED_BYTES;
    if (!read_inputs(operation, op, NULL, inputs, nin) || !prepare_inputs(operation))
        return false;
    /* NumPy's iterator decides whether a loop has a single exponent: see call_record(). */
    return op != MX_OP_power ||
           (operation->ndim > 0 &&
            !axes_repeat_some(operation->shape, operation->inputs[1].strides, operation->ndim));
}

/* The axes over which an operation goes, the innermost one first, with the strides of its
 * inputs and of the result. */
struct axes {
    int n;
    intptr_t shape[MOST_NDIM], strides[MOST_NDIM][MOST_IN + 1];
};

/* Add an axis outside of the others, or make it a part of the last one if all operands go on
 * there. */
static void add_axis(struct axes *axes, intptr_t length, const intptr_t *strides, int n)
{
    intptr_t *outer = axes->strides[axes->n];
    bool follows = axes->n > 0;
    for (int k = 0; k < n && follows; k++)
        follows = strides[k] == axes->strides[axes->n - 1][k] * axes->shape[axes->n - 1];
    if (follows) {
        axes->shape[axes->n - 1] *= length;
        return;
    }
    memcpy(outer, strides, (size_t)n * sizeof *strides);
    axes->shape[axes->n++] = length;
}

/* Exchange the two innermost axes if that makes calls of a loop longer, for arithmetic of real
 * numbers. */
static void choose_inner(const struct operation *operation, struct axes *axes)
{
    intptr_t strides[MOST_IN + 1], length = axes->shape[0];
    if (axes->n < 2 || length >= SHORT_AXIS || axes->shape[1] <= length ||
        !is_real_arithmetic(operation))
        return;
    memcpy(strides, axes->strides[0], sizeof strides);
    memcpy(axes->strides[0], axes->strides[1], sizeof strides);
    memcpy(axes->strides[1], strides, sizeof strides);
    axes->shape[0] = axes->shape[1];
    axes->shape[1] = length;
}

static void find_axes(const struct operation *operation, const npy_intp *out_strides,
                      struct axes *axes)
{
    int nin = operation->nin;
    axes->n = 0;
    for (int axis = operation->inner; axis >= 0; axis--) {
        intptr_t strides[MOST_IN + 1];
        if (operation->shape[axis] == 1)
            continue;
        for (int i = 0; i < nin; i++)
            strides[i] = operation->inputs[i].strides[axis];
        strides[nin] = out_strides[axis];
        add_axis(axes, operation->shape[axis], strides, nin + 1);
    }
    choose_inner(operation, axes);
}

/* Run a loop over axes, from the addresses of the first elements. */
static void run_loop(const struct mx_loop *loop, const struct axes *axes, char *const *first,
                     int n)
{
    char *args[MOST_IN + 1], *rows[MOST_IN + 1];
    intptr_t index[MOST_NDIM] = {0};
    memcpy(args, first, (size_t)n * sizeof *args);
    for (int axis = 0; axis < axes->n;) {
        memcpy(rows, args, (size_t)n * sizeof *args);
        loop->function(rows, axes->shape, axes->strides[0], loop->data);
        for (axis = 1; axis < axes->n; axis++) {
            bool is_over = ++index[axis] == axes->shape[axis];
            intptr_t step = is_over ? 1 - axes->shape[axis] : 1;
            for (int k = 0; k < n; k++)
                args[k] += step * axes->strides[axis][k];
            if (!is_over)
                break;
            index[axis] = 0;
        }
    }
}

/* Compute the elements into memory.  Return false if a loop met a condition. */
static bool elementwise_compute(const struct operation *operation, char *out,
                                const npy_intp *out_strides)
{
    const struct mx_loop *loop = operation->loop;
    int inner = operation->inner, nin = operation->nin;
    char *args[MOST_IN + 1];
    for (int i = 0; i < nin; i++)
        args[i] = operation->inputs[i].data;
    args[nin] = out;
    mx_conditions_clear();
    if (operation->is_flat && is_one_run(operation, out_strides)) {
        intptr_t strides[MOST_IN + 1], n = operation->size;
        for (int i = 0; i < nin; i++)
            strides[i] = operation->inputs[i].strides[inner];
        strides[nin] = out_strides[inner];
        if (n > 0)
            loop->function(args, &n, strides, loop->data);
    } else if (operation->size > 0) {
        struct axes axes;
        find_axes(operation, out_strides, &axes);
        run_loop(loop, &axes, args, nin + 1);
    }
    return !mx_conditions_met();
}

/* Report the conditions that a loop met, as NumPy does after its loop.  They remain set: a
 * ufunc that calls Python functions also reports those of its last call.  Return 1, or -1 if
 * NumPy turns one into an exception. */
static int report_conditions(const struct operation *operation)
{
    int met = operation->signature->is_silent ? 0 : mx_conditions_met();
    const char *name =
        operation->others ? operation->others->name : core->mx_op_get(operation->op)->name;
    return errstate_report(met, name) < 0 ? -1 : 1;
}

/* Compute the elements with NumPy's loop after one has met conditions, and report those of
 * NumPy's.  Return 1 or -1. */
static int compute_and_report(struct operation *operation, char *out, const npy_intp *strides)
{
    const struct mx_loop *numpys = &operation->signature->numpys;
    if (operation->loop->function != numpys->function) {
        operation->loop = numpys;
        if (elementwise_compute(operation, out, strides))
            return 1;
    }
    return report_conditions(operation);
}

/* Compute all elements.  Return 1, or -1 if NumPy turns a condition into an exception. */
static int compute_all(struct operation *operation, char *out, const npy_intp *strides)
{
    return elementwise_compute(operation, out, strides)
               ? 1
               : compute_and_report(operation, out, strides);
}

/* Compute a new scalar.  The stride of the result decides which instructions NumPy's loops for
 * complex numbers use.  With one input it is 0, and with two it is the size of an element. */
static int compute_scalar(struct operation *operation, PyObject **result)
{
    int row = operation->signature->out[0];
    const npy_intp strides[MOST_NDIM] = {operation->nin == 1 ? 0 : dtype_itemsizes[row]};
    _Alignas(16) char value[16];
    if (compute_all(operation, value, strides) < 0)
        return -1;
    *result = scalars_new(row, value);
    return *result ? 1 : -1;
}

/* Compute the elements into a new array, or a scalar. */
static int compute_new(struct operation *operation, PyObject **result)
{
    if (operation->ndim == 0)
        return compute_scalar(operation, result);
    PyObject *out =
        recycle_new(operation->signature->out[0], operation->ndim, operation->shape);
    if (!out)
        return -1;
    PyArrayObject *np_array = (PyArrayObject *)out;
    if (compute_all(operation, PyArray_BYTES(np_array), PyArray_STRIDES(np_array)) < 0) {
        Py_DECREF(out);
        return -1;
    }
    *result = recycle_wrap(out);
    return *result ? 1 : -1;
}

int elementwise_call(int op, PyObject *const *inputs, int nin, PyObject **result)
{
    struct operation operation;
    *result = NULL;
    if (!read_operation(&operation, op, inputs, nin))
        return PyErr_Occurred() ? -1 : 0;
    return compute_new(&operation, result);
}

/* Check whether a loop computes here what it computes for a recorded operation, and whether
 * one thread does so as fast. */
static bool is_as_recorded(const struct operation *operation)
{
    const struct signature *signature = operation->signature;
    bool is_own = signature->loop.function != signature->numpys.function;
    npy_intp nbytes = operation->size * dtype_itemsizes[signature->out[0]];
    return !is_own || (signature->has_numpys_bits &&
                       (nbytes <= QUEUE_LIGHT_BYTES || core->mx_thread_pool_size() == 1));
}

int elementwise_call_eager(int op, PyObject *const *inputs, int nin, PyObject **result)
{
    struct operation operation;
    npy_intp size = 0, nbytes = 0;
    *result = NULL;
    for (int i = 0; i < nin; i++) {
        if (!is_array(inputs[i]))
            continue;
        const PyArrayObject *np_array = np_array_of(inputs[i]);
        npy_intp n = array_size(np_array), itemsize = PyArray_ITEMSIZE(np_array);
        size = n > size ? n : size;
        nbytes = n * itemsize > nbytes ? n * itemsize : nbytes;
    }
    if (nbytes > QUEUE_LIGHT_BYTES && strcmp(core->mx_op_get(op)->result, "truth") == 0)
        nbytes = size;
    if (!queue_is_eager_first(size, nbytes))
        return 0;
    if (!read_operation(&operation, op, inputs, nin))
        return PyErr_Occurred() ? -1 : 0;
    return is_as_recorded(&operation) ? compute_new(&operation, result) : 0;
}

/* Compute a new array with a loop that may run code of the program, as in a filter of warnings,
 * which may write the inputs. */
static int compute_held(struct operation *operation, PyObject **result)
{
    struct array *roots[MOST_IN];
    int n = 0;
    for (int i = 0; i < operation->nin; i++)
        if (operation->inputs[i].source.array)
            roots[n++] = root_of(operation->inputs[i].source.array);
    for (int i = 0; i < n; i++)
        roots[i]->n_holds++;
    int status = compute_new(operation, result);
    for (int i = 0; i < n; i++)
        roots[i]->n_holds--;
    if (status > 0 && PyErr_Occurred()) {
        Py_CLEAR(*result);
        status = -1;
    }
    return status;
}

/* The loop is called once, as NumPy calls it for these operands. */
int elementwise_call_others(PyObject *ufunc, PyObject *const *inputs, int nin,
                            PyObject **result)
{
    /* The loop may run code of the program, whose operations use the static memory. */
    _Alignas(16) char casts[MOST_IN][MOST_LOCKED * 16];
    const PyUFuncObject *others = (const PyUFuncObject *)ufunc;
    struct operation operation;
    *result = NULL;
    operation.casts = casts[0];
    operation.room = sizeof casts[0];
    if (nin != others->nin || nin > MOST_IN || others->nout != 1 || others->core_enabled ||
        !read_inputs(&operation, MX_NO_OP, others, inputs, nin) || operation.ndim == 0 ||
        operation.size == 0 || operation.size > MOST_LOCKED || !prepare_inputs(&operation) ||
        !operation.is_flat)
        return PyErr_Occurred() ? -1 : 0;
    return compute_held(&operation, result);
}

/* -- Results in an array of the program ------------------------------------------------ */

static bool can_take(PyArrayObject *to, const struct operation *operation)
{
    return recycle_row(PyArray_DESCR(to)) == operation->signature->out[0] &&
           PyArray_ISBEHAVED(to) && recycle_is_plain(to) &&
           has_shape(to, operation->ndim, operation->shape);
}

static bool is_same_memory(const struct operation *operation, const struct input *input,
                           const struct view *to)
{
    if (input->data != to->data)
        return false;
    for (int axis = 0; axis < operation->ndim; axis++)
        if (to->shape[axis] != 1 && input->strides[axis] != to->strides[axis])
            return false;
    return true;
}

/* How the memory of the result is related to that of the inputs. */
enum overlap { APART, SAME_ELEMENTS, MIXED };

static enum overlap find_overlap(const struct operation *operation, const struct view *to)
{
    enum overlap overlap = APART;
    npy_intp itemsize = dtype_itemsizes[operation->signature->out[0]];
    struct extent extent = extent_of_view(to, itemsize);
    for (int i = 0; i < operation->nin; i++) {
        const struct input *input = &operation->inputs[i];
        const PyArrayObject *np_array = input->source.np_array;
        bool is_own = np_array && input->data == data_address(np_array); /* not cast */
        if (is_own && is_same_memory(operation, input, to))
            overlap = SAME_ELEMENTS;
        else if (is_own && !are_apart(extent_of_array(np_array), extent))
            return MIXED;
    }
    return overlap;
}

/* Compute into memory that no input shares, and copy the result: nothing is lost if a loop
 * meets a condition. */
static bool compute_apart(const struct operation *operation, const struct view *to)
{
    npy_intp strides[MOST_NDIM], itemsize = dtype_itemsizes[operation->signature->out[0]];
    npy_intp step = itemsize;
    for (int axis = operation->ndim - 1; axis >= 0; axis--) {
        strides[axis] = step;
        step *= operation->shape[axis];
    }
    if (step > COPIED_BYTES || !elementwise_compute(operation, scratch[0], strides))
        return false;
    if (operation->size > 0)
        arrays_copy(to, scratch[0], strides, itemsize);
    return true;
}

/* Compute over an input.  Return 1, or -1 if NumPy turns a condition into an exception. */
static int compute_over(const struct operation *operation, const struct view *to)
{
    return elementwise_compute(operation, to->data, to->strides) ? 1
                                                                 : report_conditions(operation);
}

int elementwise_call_into(int op, PyObject *const *inputs, int nin, PyObject *out,
                          PyObject **result)
{
    struct operation operation;
    *result = NULL;
    if (!is_array(out) || !read_operation(&operation, op, inputs, nin) || operation.ndim == 0)
        return PyErr_Occurred() ? -1 : 0;
    PyArrayObject *to = queue_ready(out);
    if (!can_take(to, &operation) || !source_is_apart(to))
        return 0;
    struct view view;
    view.data = PyArray_BYTES(to);
    view.ndim = operation.ndim;
    memcpy(view.shape, operation.shape, sizeof operation.shape);
    memcpy(view.strides, PyArray_STRIDES(to), (size_t)view.ndim * sizeof *view.strides);
    enum overlap overlap = find_overlap(&operation, &view);
    bool is_run = operation.is_flat && is_one_run(&operation, view.strides);
    int layouts = (is_run ? 0 : MX_STRIDED_OUTPUT) | (overlap == MIXED ? MX_OVERLAPPING : 0);
    bool is_bool_with_gaps = PyArray_ITEMSIZE(to) == 1 && view.strides[view.ndim - 1] != 1;
    if (operation.signature->layouts & layouts || is_bool_with_gaps || /* see plan/blocks.c */
        signature_asks_iterator(operation.signature, op, operation.size))
        return 0;
    int status;
    if (overlap == APART)
        status = elementwise_compute(&operation, view.data, view.strides);
    else if (overlap == SAME_ELEMENTS && signature_is_arithmetic(op))
        status = compute_over(&operation, &view);
    else
        status = compute_apart(&operation, &view);
    *result = status > 0 ? Py_NewRef(out) : NULL;
    return status;
}
