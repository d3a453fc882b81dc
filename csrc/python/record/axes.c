/* axes.c -- strides along the axes of an operation, and the order of axes in memory. */
#include "python/record/axes.h"
#include "ir/instruction.h"

void axes_strides(const struct source *source, const struct shape *shape, intptr_t *strides)
{
    int ndim = source->scalar ? 0 : PyArray_NDIM(source->np_array), before = shape->ndim - ndim;
    for (int i = 0; i < shape->ndim; i++) {
        bool is_broadcast = i < before || PyArray_DIM(source->np_array, i - before) == 1;
        strides[i] = is_broadcast ? 0 : PyArray_STRIDE(source->np_array, i - before);
    }
}

bool axes_repeat_some(const npy_intp *lengths, const intptr_t *strides, int ndim)
{
    bool repeats = false, moves = false;
    for (int i = 0; i < ndim; i++) {
        repeats |= lengths[i] > 1 && strides[i] == 0;
        moves |= lengths[i] > 1 && strides[i] != 0;
    }
    return repeats && moves;
}

bool axes_are_fortran(const struct source *sources, int n, const struct shape *shape)
{
    bool is_any = false;
    for (int s = 0; s < n; s++) {
        if (sources[s].scalar || PyArray_NDIM(sources[s].np_array) == 0)
            continue;
        if (!PyArray_IS_F_CONTIGUOUS(sources[s].np_array) ||
            PyArray_IS_C_CONTIGUOUS(sources[s].np_array) ||
            PyArray_NDIM(sources[s].np_array) != shape->ndim ||
            !PyArray_CompareLists(PyArray_DIMS(sources[s].np_array), shape->dims, shape->ndim))
            return false;
        is_any = true;
    }
    return is_any;
}

void axes_reverse(int ndim, int *order)
{
    for (int i = 0; i < ndim; i++)
        order[i] = ndim - 1 - i;
}

/* NumPy's iterator sorts axes by their strides.  The first operand with different strides along
 * two axes decides, and C order wins if operands contradict each other. */
void axes_order(const struct source *sources, int n, const struct shape *shape, int *order)
{
    intptr_t strides[MX_MAX_OPERANDS][MX_MAX_NDIM];
    int ndim = shape->ndim;
    axes_reverse(ndim, order); /* innermost first until the end */
    for (int s = 0; s < n; s++)
        axes_strides(&sources[s], shape, strides[s]);
    for (int i = 1; i < ndim; i++) {
        int axis = order[i], to = i;
        for (int j = i - 1; j >= 0; j--) {
            bool is_known = false, goes_before = false;
            for (int s = 0; s < n; s++) {
                intptr_t outer = strides[s][axis], inner = strides[s][order[j]];
                outer = outer < 0 ? -outer : outer;
                inner = inner < 0 ? -inner : inner;
                if (outer == 0 || inner == 0)
                    continue;
                if (inner <= outer)
                    goes_before = false;
                else if (!is_known)
                    goes_before = true;
                is_known = true;
            }
            if (is_known && !goes_before)
                break;
            if (is_known)
                to = j;
        }
        for (int j = i; j > to; j--)
            order[j] = order[j - 1];
        order[to] = axis;
    }
    for (int i = 0; i < ndim / 2; i++) {
        int axis = order[i];
        order[i] = order[ndim - 1 - i];
        order[ndim - 1 - i] = axis;
    }
}

void axes_sort(const struct source *source, int *order)
{
    const npy_intp *strides = PyArray_STRIDES(source->np_array);
    int ndim = PyArray_NDIM(source->np_array);
    for (int i = 0; i < ndim; i++)
        order[i] = i;
    if (PyArray_IS_C_CONTIGUOUS(source->np_array))
        return;
    if (PyArray_IS_F_CONTIGUOUS(source->np_array)) {
        axes_reverse(ndim, order);
        return;
    }
    for (int i = 1; i < ndim; i++)
        for (int j = i; j > 0 && Py_ABS(strides[order[j - 1]]) < Py_ABS(strides[order[j]]);
             j--) {
            int axis = order[j];
            order[j] = order[j - 1];
            order[j - 1] = axis;
        }
}
