/* fuse.c -- plans groups: recorded instructions that run as one pass over memory. */
#include "scheduler/fuse.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "ir/dtypes.h"
#include "memory/buffer.h"

#define LOOK_BACK 12 /* groups that an instruction may move in front of */

/* A reduction of more bytes is fused even if that changes its last bits. */
#define MAX_ONE_ROW_BYTES ((intptr_t)4 << 20)

/* -- Views ------------------------------------------------------------------------ */

static struct mx_view view_of(const struct mx_instruction *in, int k)
{
    const struct mx_operand *operand = &in->operands[k];
    struct mx_view view = {
        .buffer = operand->buffer,
        .at = operand->at,
        .itemsize = operand->itemsize,
        .dtype = operand->dtype,
        .low = operand->at,
        .high = operand->at + operand->itemsize,
        .is_reduced = (in->kind == MX_REDUCE || in->kind == MX_ARGREDUCE) && k >= in->nin,
        .is_indexed = k == mx_indexed_operand(in) || in->kind == MX_KERNEL,
        .is_checked = in->kind == MX_BOUNDS_CHECK,
    };
    if (in->kind == MX_KERNEL) {
        view.low = operand->at - operand->strides[0];
        view.high = operand->at + operand->strides[1];
    }
    for (int i = 0; i < in->ndim; i++) {
        intptr_t reach = (in->shape[i] - 1) * operand->strides[i];
        view.strides[i] = operand->strides[i];
        *(reach < 0 ? &view.low : &view.high) += reach;
    }
    for (int i = 0; i < in->indexing.n && k == mx_indexed_operand(in); i++) {
        intptr_t reach = (in->indexing.sizes[i] - 1) * in->indexing.strides[i];
        *(reach < 0 ? &view.low : &view.high) += reach;
    }
    return view;
}

static bool have_same_strides(const struct mx_view *a, const struct mx_view *b, int ndim)
{
    return a->itemsize == b->itemsize &&
           memcmp(a->strides, b->strides, (size_t)ndim * sizeof *a->strides) == 0;
}

/* Returns whether two views have the same elements in the same order. */
static bool are_same(const struct mx_view *a, const struct mx_view *b, int ndim)
{
    return a->buffer == b->buffer && a->at == b->at && !a->is_indexed && !b->is_indexed &&
           have_same_strides(a, b, ndim);
}

/* Returns whether steps along the axes can lead from an element to bytes of another one that
 * begins `distance` bytes later.  Axes are tried in the order of their strides, longest first,
 * and only with numbers of steps whose remaining distance the shorter strides can cover. */
static bool can_reach(intptr_t distance, const intptr_t *strides, const intptr_t *shape,
                      int ndim, unsigned tried, int itemsize)
{
    int longest = -1;
    intptr_t stride = 0, rest = 0;
    for (int i = 0; i < ndim; i++) {
        if (tried >> i & 1 || shape[i] == 1 || strides[i] == 0)
            continue;
        intptr_t length = strides[i] < 0 ? -strides[i] : strides[i];
        if (length > stride) {
            rest += stride ? (shape[longest] - 1) * stride : 0;
            longest = i;
            stride = length;
        } else {
            rest += (shape[i] - 1) * length;
        }
    }
    if (longest < 0)
        return distance > -itemsize && distance < itemsize;
    rest += itemsize - 1;
    intptr_t most = shape[longest] - 1;
    intptr_t first = (distance - rest) / stride - 1, last = (distance + rest) / stride + 1;
    first = first < -most ? -most : first;
    last = last > most ? most : last;
    if (last - first > 8)
        return true;
    for (intptr_t steps = first; steps <= last; steps++) {
        intptr_t left = distance - steps * stride;
        if (left >= -rest && left <= rest &&
            can_reach(left, strides, shape, ndim, tried | 1u << longest, itemsize))
            return true;
    }
    return false;
}

/* Returns false only if the views have no byte in common. */
static bool overlap(const struct mx_view *a, const struct mx_view *b, const intptr_t *shape,
                    int ndim)
{
    if (a->buffer != b->buffer || a->high <= b->low || b->high <= a->low)
        return false;
    if (!shape || a->is_indexed || b->is_indexed || !have_same_strides(a, b, ndim))
        return true;
    return can_reach(b->at - a->at, a->strides, shape, ndim, 0, a->itemsize);
}

/* -- Groups ----------------------------------------------------------------------- */

enum relation { INDEPENDENT, COMPATIBLE, DEPENDENT };

static unsigned reduced_axes(const struct mx_instruction *in)
{
    unsigned axes = 0;
    const struct mx_operand *out = &in->operands[in->nin];
    for (int i = 0; i < in->ndim; i++)
        if (out->strides[i] == 0 && in->shape[i] > 1)
            axes |= 1u << i;
    return axes;
}

static bool is_reduced(unsigned reduced, int axis) { return reduced >> axis & 1; }

static intptr_t length_of(intptr_t stride) { return stride < 0 ? -stride : stride; }

/* Returns the axis with the smallest stride, or -1 if no axis has a stride. */
static int inner_axis(const struct mx_instruction *in, const struct mx_view *views)
{
    const struct mx_view *view =
        &views[in->kind == MX_REDUCE || in->kind == MX_BOUNDS_CHECK ? 0 : in->nin];
    int inner = -1;
    intptr_t least = 0;
    for (int i = 0; i < in->ndim; i++) {
        intptr_t length = length_of(view->strides[i]);
        if (in->shape[i] == 1 || length == 0 || (inner >= 0 && length > least))
            continue;
        inner = i;
        least = length;
    }
    return inner;
}

/* -- The order of additions ------------------------------------------------------- */

/* Returns whether a reduction keeps NumPy's order, which follows from the strides of its input.
 */
static bool is_ordered(const struct mx_instruction *in)
{
    return in->kind == MX_REDUCE && in->keeps_order && !in->is_for_device &&
           !in->operands[0].is_value;
}

/* Returns whether sums of two views halve their rows alike and go through the axes in the same
 * order. */
static bool have_same_order(const struct mx_view *a, const struct mx_view *b,
                            const struct mx_instruction *in)
{
    for (int i = 0; i < in->ndim; i++)
        for (int j = 0; j < in->ndim; j++)
            if (in->shape[i] > 1 && in->shape[j] > 1 &&
                (length_of(a->strides[i]) < length_of(a->strides[j])) !=
                    (length_of(b->strides[i]) < length_of(b->strides[j])))
                return false;
    return mx_dtype_is_complex(a->dtype) == mx_dtype_is_complex(b->dtype);
}

/* Returns whether a view goes over two axes as one wherever the input of a reduction does.  The
 * length of a row determines the order of the additions.  Kept axes matter if they are outside
 * of short rows. */
static bool keeps_rows(const struct mx_view *view, const struct mx_view *input,
                       const struct mx_instruction *in, unsigned reduced, int inner)
{
    for (int o = 0; o < in->ndim; o++)
        for (int i = 0; i < in->ndim; i++) {
            bool are_one = o != i && in->shape[o] > 1 && in->shape[i] > 1 &&
                           input->strides[o] == input->strides[i] * in->shape[i];
            bool is_short = inner >= 0 && is_reduced(reduced, inner) &&
                            in->shape[inner] * in->shape[i] < MX_LEAST_ROWS;
            if (are_one && is_reduced(reduced, o) == is_reduced(reduced, i) &&
                (is_reduced(reduced, i) || is_short) &&
                view->strides[o] != view->strides[i] * in->shape[i])
                return false;
        }
    return true;
}

/* Returns whether the reductions of a group and an instruction add up as each would alone. */
static bool keep_order(const struct mx_group *group, const struct mx_instruction *in,
                       const struct mx_view *views)
{
    bool is_new = is_ordered(in);
    const struct mx_view *input = group->ordered >= 0 ? &group->views[group->ordered] : NULL;
    if (is_new && input && !have_same_order(input, &views[0], in))
        return false;
    if (!(is_new || input) ||
        mx_element_count(in) * (is_new ? views : input)->itemsize > MAX_ONE_ROW_BYTES)
        return true;
    for (int k = 0; input && k < mx_operand_count(in); k++)
        if (!in->operands[k].is_value &&
            !keeps_rows(&views[k], input, in, group->reduced, group->ordered_inner))
            return false;
    for (int v = 0; is_new && v < group->n_views; v++)
        if (!keeps_rows(&group->views[v], &views[0], in, reduced_axes(in),
                        inner_axis(in, views)))
            return false;
    return true;
}

/* -- Relations --------------------------------------------------------------------- */

/* Returns whether each index of a gather selects more than one element. */
static bool takes_rows(const struct mx_instruction *in)
{
    for (int i = 0; i < in->ndim; i++)
        if (in->shape[i] > 1 && in->operands[in->nin - 1].strides[i] != 0)
            return true;
    return false;
}

static bool runs_alone(const struct mx_instruction *in)
{
    return in->kind == MX_SCAN || in->kind == MX_ARGREDUCE || in->kind == MX_SCATTER ||
           in->kind == MX_KERNEL || (in->kind == MX_GATHER && takes_rows(in));
}

/* Returns whether an instruction has to run after the first check of the group, because it
 * changes memory that existed before that check. */
static bool must_wait(const struct mx_group *group, const struct mx_instruction *in)
{
    if (!group->has_check || group->check_thread != in->thread)
        return false;
    for (int k = in->nin; k < mx_operand_count(in); k++)
        if (!in->operands[k].buffer || in->operands[k].buffer->number <= group->newest_buffer)
            return true;
    return false;
}

/* Returns whether a view needs memory that the group does not use yet.  A buffer without an
 * array is a temporary. */
static bool needs_more_memory(const struct mx_group *group, const struct mx_view *view)
{
    if (view->buffer && !view->buffer->published)
        return false;
    for (int v = 0; v < group->n_views; v++)
        if (view->buffer && group->views[v].buffer == view->buffer)
            return false;
    return true;
}

/* A kernel has a limited number of buffers.  A group with more would run on the processor. */
static bool has_room(const struct mx_group *group, const struct mx_instruction *in,
                     const struct mx_view *views)
{
    int n = group->n_kept;
    if (!group->is_for_device || n + mx_operand_count(in) <= MX_MAX_KEPT)
        return true;
    for (int k = 0; k < mx_operand_count(in); k++)
        n += !in->operands[k].is_value && needs_more_memory(group, &views[k]);
    return n <= MX_MAX_KEPT;
}

/* Returns whether an instruction may run as a step of the group, only after the group, or even
 * before it.  An instruction that shares no view with the group joins it only if both go
 * through memory along the same axis. */
static enum relation relate(const struct mx_group *group, const struct mx_instruction *in,
                            const struct mx_view *views)
{
    bool same_shape =
        group->ndim == in->ndim &&
        memcmp(group->shape, in->shape, (size_t)in->ndim * sizeof *in->shape) == 0;
    const intptr_t *shape = same_shape ? in->shape : NULL;
    bool joins = same_shape && group->n_steps < MX_MAX_STEPS && has_room(group, in, views);
    bool depends = false;
    bool shares = false;
    if (must_wait(group, in))
        return DEPENDENT;
    if (runs_alone(in) || group->is_alone ||
        (group->has_check && group->check_thread != in->thread))
        joins = false;
    if (group->is_for_device && !in->is_for_device)
        joins = false;
    if (in->kind == MX_REDUCE && group->has_reductions && group->reduced != reduced_axes(in))
        joins = false;
    for (int k = 0; k < mx_operand_count(in) && (joins || !depends); k++) {
        if (in->operands[k].is_value)
            continue;
        for (int v = 0; v < group->n_views; v++) {
            const struct mx_view *view = &group->views[v];
            bool conflicts = k >= in->nin || view->is_written;
            shares = shares || (same_shape && are_same(view, &views[k], in->ndim));
            if (!conflicts || !overlap(view, &views[k], shape, in->ndim))
                continue;
            depends = true;
            if (!same_shape || view->is_reduced || views[k].is_reduced ||
                !are_same(view, &views[k], in->ndim))
                joins = false;
        }
    }
    /* An instruction for the device joins a group of the processor only if it needs its
     * results. */
    if (in->is_for_device && !group->is_for_device && !depends)
        joins = false;
    if (joins && !shares)
        joins = group->inner == inner_axis(in, views);
    if (joins)
        joins = keep_order(group, in, views);
    bool is_after_check = group->has_check && group->check_thread == in->thread;
    return joins ? COMPATIBLE : depends || is_after_check ? DEPENDENT : INDEPENDENT;
}

/* Makes room for one more item of `size` bytes.  array is the address of a pointer to the
 * items. Returns a status. */
static int fuse_reserve(void *array, int count, int *capacity, size_t size)
{
    if (count < *capacity)
        return MX_OK;
    int more = *capacity ? 2 * *capacity : 8;
    void *grown;
    memcpy(&grown, array, sizeof grown);
    grown = mx_realloc(grown, (size_t)more * size);
    if (!grown)
        return mx_fail(MX_ERROR_MEMORY, "unable to plan %d operations", count);
    memcpy(array, &grown, sizeof grown);
    *capacity = more;
    return MX_OK;
}

static int add_group(struct mx_plan *plan, const struct mx_instruction *in)
{
    int status =
        fuse_reserve(&plan->groups, plan->n_groups, &plan->capacity, sizeof *plan->groups);
    if (status != MX_OK)
        return status;
    struct mx_group *group = &plan->groups[plan->n_groups++];
    memset(group, 0, sizeof *group);
    group->ndim = in->ndim;
    group->is_for_device = in->is_for_device;
    group->ordered = -1;
    memcpy(group->shape, in->shape, sizeof group->shape);
    return MX_OK;
}

/* Adds an instruction to a group, and its views where the group does not have them yet. Returns
 * a status. */
static int add_step(struct mx_group *group, const struct mx_instruction *in, int number,
                    const struct mx_view *views)
{
    int status = fuse_reserve(&group->steps, group->n_steps, &group->step_capacity,
                              sizeof *group->steps);
    struct mx_step step = {.instruction = number};
    for (int k = 0; k < mx_operand_count(in) && status == MX_OK; k++) {
        int v = 0;
        if (in->operands[k].is_value) {
            step.views[k] = -1;
            continue;
        }
        while (v < group->n_views && !are_same(&group->views[v], &views[k], in->ndim))
            v++;
        if (v == group->n_views) {
            status =
                fuse_reserve(&group->views, v, &group->view_capacity, sizeof *group->views);
            if (status != MX_OK)
                break;
            group->n_kept += needs_more_memory(group, &views[k]);
            group->views[group->n_views++] = views[k];
            group->views[v].begins_empty =
                k >= in->nin && in->kind != MX_REDUCE && !group->views[v].is_indexed;
        }
        group->views[v].is_checked |= views[k].is_checked;
        *(k < in->nin ? &group->views[v].is_read : &group->views[v].is_written) = true;
        group->views[v].n_uses++;
        step.views[k] = v;
    }
    if (status == MX_OK) {
        if (group->n_steps == 0)
            group->inner = inner_axis(in, views);
        group->steps[group->n_steps++] = step;
        MX_ASSERT(group->n_steps <= MX_MAX_STEPS);
        group->is_alone = runs_alone(in);
        if (in->kind == MX_REDUCE) {
            group->has_reductions = true;
            group->reduced = reduced_axes(in);
        }
        if (is_ordered(in)) {
            group->ordered = step.views[0];
            group->ordered_inner = inner_axis(in, views);
        }
        if (in->kind == MX_BOUNDS_CHECK && !group->has_check) {
            group->has_check = true;
            group->newest_buffer = in->newest_buffer;
            group->check_thread = in->thread;
        }
    }
    return status;
}

/* Returns the latest group that the instruction can join without running before a group that it
 * depends on, or NULL. */
static struct mx_group *find_group(const struct mx_plan *plan, const struct mx_instruction *in,
                                   const struct mx_view *views)
{
    int first = plan->n_groups > LOOK_BACK ? plan->n_groups - LOOK_BACK : 0;
    for (int g = plan->n_groups - 1; g >= first; g--) {
        enum relation relation = relate(&plan->groups[g], in, views);
        if (relation == COMPATIBLE)
            return &plan->groups[g];
        if (relation == DEPENDENT)
            break;
    }
    return NULL;
}

/* Returns whether no output overlaps another operand, unless both are the same view.  Views
 * with different strides may interleave, and pass. */
static bool are_outputs_legal(const struct mx_instruction *in, const struct mx_view *views)
{
    for (int k = in->nin; k < mx_operand_count(in) && in->kind != MX_KERNEL; k++)
        for (int j = 0; j < k; j++)
            if (!in->operands[j].is_value &&
                have_same_strides(&views[j], &views[k], in->ndim) && !views[j].is_indexed &&
                !views[k].is_indexed && !views[k].is_reduced &&
                overlap(&views[j], &views[k], in->shape, in->ndim) &&
                !are_same(&views[j], &views[k], in->ndim))
                return false;
    return true;
}

int mx_fuse_plan(struct mx_plan *plan, const struct mx_instruction *instructions, int count,
                 bool fuse)
{
    int status = MX_OK;
    for (int i = 0; i < count && status == MX_OK; i++) {
        const struct mx_instruction *in = &instructions[i];
        struct mx_view views[MX_MAX_OPERANDS];
        if (in->is_finished)
            continue;
        for (int k = 0; k < mx_operand_count(in); k++)
            if (!in->operands[k].is_value)
                views[k] = view_of(in, k);
        MX_ASSERT(are_outputs_legal(in, views));
        struct mx_group *group = fuse ? find_group(plan, in, views) : NULL;
        if (!group && (status = add_group(plan, in)) == MX_OK)
            group = &plan->groups[plan->n_groups - 1];
        if (status == MX_OK)
            status = add_step(group, in, i, views);
    }
    if (status != MX_OK)
        mx_fuse_clear(plan);
    return status;
}

static void clear_uses(struct mx_buffer *buffer)
{
    buffer->n_views = 0;
    buffer->n_uses = 0;
}

/* Returns whether a group overwrites memory that it reads. */
static bool overwrites(const struct mx_group *group)
{
    for (int v = 0; v < group->n_views; v++) {
        const struct mx_view *view = &group->views[v];
        if (view->is_written && !view->begins_empty && !view->is_reduced && !view->is_temporary)
            return true;
    }
    return false;
}

/* Makes at most one view of the last group a temporary although its owner holds it. */
static void elide_view(struct mx_plan *plan)
{
    struct mx_group *last = plan->n_groups ? &plan->groups[plan->n_groups - 1] : NULL;
    plan->elision_owner = NULL;
    if (!last || last->is_alone || overwrites(last))
        return;
    for (int v = 0; v < last->n_views && !plan->elision_owner; v++) {
        struct mx_view *view = &last->views[v];
        if (!view->buffer || !view->buffer->elision_owner || !view->begins_empty ||
            view->is_reduced || view->buffer->n_views != 1 || view->is_checked ||
            atomic_load(&view->buffer->count) != view->buffer->n_uses + 1)
            continue;
        view->is_temporary = view->is_elided = true;
        plan->elision_owner = view->buffer->elision_owner;
    }
}

void mx_fuse_find_temporaries(struct mx_plan *plan)
{
    for (int g = 0; g < plan->n_groups; g++)
        for (int v = 0; v < plan->groups[g].n_views; v++)
            if (plan->groups[g].views[v].buffer)
                clear_uses(plan->groups[g].views[v].buffer);
    for (int g = 0; g < plan->n_groups; g++) {
        for (int v = 0; v < plan->groups[g].n_views; v++) {
            const struct mx_view *view = &plan->groups[g].views[v];
            if (!view->buffer)
                continue;
            view->buffer->n_views++;
            view->buffer->n_uses += view->n_uses;
        }
    }
    for (int g = 0; g < plan->n_groups; g++) {
        for (int v = 0; v < plan->groups[g].n_views; v++) {
            struct mx_view *view = &plan->groups[g].views[v];
            view->is_elided = false;
            view->is_temporary = !plan->groups[g].is_alone && view->buffer &&
                                 view->begins_empty && !view->is_checked &&
                                 view->buffer->n_views == 1 &&
                                 atomic_load(&view->buffer->count) == view->buffer->n_uses;
        }
    }
    elide_view(plan);
}

void mx_fuse_find_elided_steps(const struct mx_group *group,
                               const struct mx_instruction *instructions, bool *is_marked)
{
    bool is_needed[group->n_views];
    for (int v = 0; v < group->n_views; v++)
        is_needed[v] = group->views[v].is_elided;
    for (int s = group->n_steps - 1; s >= 0; s--) {
        const struct mx_instruction *in = &instructions[group->steps[s].instruction];
        const int *views = group->steps[s].views;
        is_marked[s] = false;
        for (int k = in->nin; k < mx_operand_count(in); k++)
            is_marked[s] |= views[k] >= 0 && is_needed[views[k]];
        for (int k = 0; k < in->nin && is_marked[s]; k++)
            if (views[k] >= 0 && group->views[views[k]].is_temporary)
                is_needed[views[k]] = true;
    }
}

void mx_fuse_clear(struct mx_plan *plan)
{
    for (int g = 0; g < plan->n_groups; g++) {
        mx_free(plan->groups[g].steps);
        mx_free(plan->groups[g].views);
    }
    mx_free(plan->groups);
    *plan = (struct mx_plan){0};
}

bool mx_fuse_overwrites(const struct mx_group *group, const struct mx_view *view)
{
    size_t size = (size_t)view->itemsize;
    for (int i = 0; i < group->ndim; i++)
        size *= view->strides[i] ? (size_t)group->shape[i] : 1;
    return view->buffer && view->is_written && (view->begins_empty || view->is_reduced) &&
           !view->is_indexed && size == view->buffer->nbytes;
}
