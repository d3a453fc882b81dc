/* work.c -- how much work a kernel is, and how its grid is divided among dispatches. */
#include "gpu/work.h"

#include <stdlib.h>
#include <string.h>

#define STEP       8   /* of simple arithmetic, conversions included */
#define FUNCTION   64  /* such as a logarithm, of floats */
#define DIVISION   730 /* of integers, by a number from memory */
#define BISECTION  256 /* of a sorted array: some of its lines are cached */
#define LINE_BYTES 64

static int64_t chosen_limit; /* 0: that of the device */

int64_t mx_work_set_limit(int64_t limit)
{
    int64_t before = chosen_limit;
    chosen_limit = limit > 0 ? limit : 0;
    return before;
}

static int64_t get_limit(void)
{
    return chosen_limit ? chosen_limit : mx_device_used()->limits.work;
}

double mx_work_share(int64_t work) { return (double)work / (double)get_limit(); }

/* -- Elements ---------------------------------------------------------------------- */

/* Bytes of memory that are moved to read or write an element of a view.  An element without
 * neighbours costs a part of a line, and one that all elements share costs nothing. */
static int64_t moved_bytes(const struct mx_kernel *kernel, int v)
{
    const struct mx_view *view = &kernel->group->views[v];
    int64_t size = view->itemsize;
    if (view->is_temporary || view->is_indexed || view->is_reduced)
        return 0;
    if (kernel->ndim > 0) {
        int64_t stride = llabs(kernel->strides[v][kernel->ndim - 1]);
        size = stride == 0           ? 0
               : stride < size       ? size
               : stride > LINE_BYTES ? LINE_BYTES
                                     : stride;
    }
    return size * ((view->is_read && !view->begins_empty) + view->is_written);
}

static bool takes_floats_only(const struct mx_op_row *row)
{
    return strcmp(row->types, "floating") == 0 || strcmp(row->types, "real_floating") == 0 ||
           strcmp(row->types, "double") == 0;
}

static int64_t of_operation(const struct mx_instruction *in)
{
    const struct mx_op_row *row = mx_op_get(in->op);
    bool is_integer = mx_dtype_is_integer(in->operands[0].dtype);
    if (!row)
        return STEP;
    if (takes_floats_only(row) || in->op == MX_OP_power)
        return FUNCTION;
    bool divides = in->op == MX_OP_floor_divide || in->op == MX_OP_remainder ||
                   in->op == MX_OP_fmod || in->op == MX_OP_divmod;
    return divides && is_integer ? DIVISION : STEP;
}

static int64_t of_step(const struct mx_instruction *in)
{
    if (in->kind != MX_GATHER)
        return of_operation(in);
    int64_t work = MX_WORK_ACCESS;
    if (in->op != MX_NO_OP) /* a search */
        for (int64_t size = in->indexing.sizes[0]; size > 1; size /= 2)
            work += BISECTION;
    return work;
}

int64_t mx_work_of_element(const struct mx_kernel *kernel)
{
    int64_t work = 0;
    for (int v = 0; v < kernel->group->n_views; v++)
        work += MX_WORK_BYTE * moved_bytes(kernel, v);
    for (int s = 0; s < kernel->group->n_steps; s++)
        work += of_step(mx_kernel_instruction(kernel, s));
    return work;
}

/* The host does not know the indices.  Updates of one element run one after the other.  There
 * are at least as many of an element as there would be if all elements had the same number.  So
 * that other updates take no seconds either, an update counts as a 16th of that at least. */
int64_t mx_work_of_update(const struct mx_kernel *kernel)
{
    const struct mx_instruction *in = mx_kernel_instruction(kernel, 0);
    const struct mx_view *view = &kernel->group->views[kernel->group->steps[0].views[in->nin]];
    int64_t n_elements = (int64_t)(view->high - view->low) / view->itemsize;
    return MX_WORK_UPDATE / (n_elements < 1 ? 1 : n_elements < 16 ? n_elements : 16);
}

/* -- Kernels ----------------------------------------------------------------------- */

void mx_work_estimate(struct mx_kernel *kernel, int64_t of_element)
{
    int64_t n = 1;
    for (int i = 0; i < kernel->ndim; i++)
        n *= kernel->shape[i];
    kernel->work = n * of_element;
    if (kernel->work <= get_limit())
        return;
    kernel->origin = mx_kernel_arg(kernel, 0);
    mx_kernel_arg(kernel, 0);
    mx_kernel_arg(kernel, 0);
}

/* Divides n items evenly, as parts of at most `most` items. */
static size_t work_divide(size_t n, double most)
{
    size_t at_once = most >= (double)n ? n : most < 1 ? 1 : (size_t)most;
    size_t n_parts = (n + at_once - 1) / at_once;
    return (n + n_parts - 1) / n_parts;
}

void mx_work_cut(const struct mx_dispatch *dispatch, size_t *part)
{
    const size_t *grid = dispatch->grid;
    memcpy(part, grid, 3 * sizeof *part);
    if (dispatch->origin < 0 || dispatch->work <= get_limit())
        return;
    double slice = (double)grid[0] * (double)grid[1] * (double)grid[2];
    double at_once = slice / mx_work_share(dispatch->work);
    for (int i = 2; i >= 0; i--) {
        slice /= (double)grid[i];
        part[i] = work_divide(grid[i], at_once / slice);
        if (part[i] > 1)
            break;
    }
    size_t threads = dispatch->threads[0];
    if (dispatch->kind == MX_THREADS && part[0] < grid[0])
        part[0] = part[0] > threads ? part[0] - part[0] % threads : threads;
}
