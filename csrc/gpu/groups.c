/* groups.c -- the kernels of a group are written, compiled and encoded: one for a map or a
 * scan, more than one where results of a first pass are the second's operands.
 */
#include "gpu/groups.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "gpu/batch.h"
#include "gpu/dispatch.h"
#include "gpu/pipelines.h"
#include "scheduler/backend.h"

#define WINNER_BYTES ((size_t)1 << 30)

static const char *prelude;
static struct mx_kernel kernel;
static int64_t n_rejected;
static char rejection[4096];

void mx_groups_use(const char *text) { prelude = text; }

int64_t mx_groups_rejected(void) { return n_rejected; }

const char *mx_metal_text(void) { return kernel.text.characters ? kernel.text.characters : ""; }

const char *mx_metal_rejection(void) { return rejection; }

/* -- One kernel -------------------------------------------------------------------- */

/* Threads of a threadgroup for the grid. */
static void share_threads(size_t *threads)
{
    size_t left = MX_KERNEL_THREADS;
    for (int i = 0; i < 3; i++) {
        threads[i] = kernel.kind == MX_THREADGROUPS ? left
                     : kernel.grid[i] < left        ? kernel.grid[i]
                                                    : left;
        left /= threads[i];
    }
}

/* The processor takes the group of a kernel that is not compiled. */
static int reject(void)
{
    n_rejected++;
    snprintf(rejection, sizeof rejection, "%s", mx_error_message());
    return MX_DECLINED;
}

/* Encodes the kernel that was written, and begins a new text. */
static int encode(void)
{
    if (kernel.is_full || kernel.text.is_broken)
        return MX_DECLINED;
    struct mx_dispatch dispatch = {
        .args = kernel.args,
        .args_size = (size_t)(kernel.n_args ? kernel.n_args : 1) * sizeof *kernel.args,
        .is_in_threadgroups = kernel.kind == MX_THREADGROUPS,
    };
    int status =
        mx_pipeline_get(&dispatch.compiled, prelude, kernel.text.characters, "mx_group");
    mx_text_clear(&kernel.text);
    if (status != MX_OK)
        return status == MX_ERROR_MEMORY ? MX_DECLINED : reject();
    if (mx_metal_threads(dispatch.compiled) < MX_KERNEL_THREADS)
        return MX_DECLINED;
    memcpy(dispatch.grid, kernel.grid, sizeof dispatch.grid);
    share_threads(dispatch.threads);
    return mx_dispatch_encode(&dispatch, kernel.bindings, kernel.n_bindings,
                              kernel.has_words ? mx_batch_buffer() : NULL);
}

/* -- Groups ------------------------------------------------------------------------ */

static int run_map(const struct mx_words *given)
{
    mx_pass_write_map(&kernel, given);
    return encode();
}

static int run_scan(const struct mx_words *given)
{
    if (!kernel.reduced) /* there is nothing to add up */
        return MX_DECLINED;
    if (mx_pass_has_long_lines(&kernel))
        return MX_DECLINED;
    mx_pass_write_scan(&kernel, given);
    return encode();
}

static const struct mx_instruction *instruction_of(const struct mx_group *group,
                                                   const struct mx_instruction *instructions,
                                                   int step)
{
    return &instructions[group->steps[step].instruction];
}

/* The results of segments, for each reduction. */
static int make_partials(const struct mx_group *group, struct mx_instruction *instructions,
                         const struct mx_reduce_shape *shape, struct mx_buffer **partials)
{
    int n = 0, itemsize;
    for (int s = 0; s < group->n_steps && shape->segments > 1; s++) {
        const struct mx_instruction *in = instruction_of(group, instructions, s);
        if (in->kind != MX_REDUCE)
            continue;
        mx_pass_partial_type(in, &itemsize);
        partials[n] = mx_buffer_new((size_t)(shape->n_units * shape->segments * itemsize));
        if (!partials[n++])
            return MX_ERROR_MEMORY;
    }
    return MX_OK;
}

static int run_reduce(const struct mx_words *given, const struct mx_group *group,
                      struct mx_instruction *instructions)
{
    struct mx_buffer *partials[MX_MAX_STEPS] = {NULL};
    struct mx_reduce_shape shape = mx_pass_shape_reduce(&kernel);
    int status = make_partials(group, instructions, &shape, partials);
    if (status == MX_OK) {
        mx_pass_write_reduce(&kernel, given, &shape, partials);
        status = encode();
    }
    for (int s = 0, n = 0; s < group->n_steps && shape.segments > 1 && status == MX_OK; s++) {
        if (instruction_of(group, instructions, s)->kind != MX_REDUCE)
            continue;
        mx_kernel_begin(&kernel, group, instructions, true);
        mx_pass_write_combine(&kernel, given, s, &shape, partials[n++]);
        status = encode();
    }
    for (int n = 0; n < MX_MAX_STEPS && partials[n]; n++)
        mx_buffer_release(partials[n]);
    return status;
}

/* A number for each element that a scatter may write, all zero; NULL: too many. */
static struct mx_buffer *new_winners(const struct mx_view *view)
{
    size_t size = (size_t)(view->high - view->low) / (size_t)view->itemsize * 4;
    struct mx_buffer *winners = size <= WINNER_BYTES ? mx_buffer_new_allocated(size) : NULL;
    if (winners)
        memset(winners->data, 0, size);
    return winners;
}

static int run_scatter(const struct mx_words *given, const struct mx_group *group,
                       struct mx_instruction *instructions)
{
    const struct mx_instruction *in = instruction_of(group, instructions, 0);
    if (in->op != MX_COPY || in->operands[in->nin - 1].is_value) {
        mx_pass_write_scatter(&kernel, given, MX_SCATTER_UPDATES, NULL);
        return encode();
    }
    struct mx_buffer *winners = new_winners(&group->views[group->steps[0].views[in->nin]]);
    if (!winners)
        return MX_DECLINED;
    mx_pass_write_scatter(&kernel, given, MX_SCATTER_FINDS_LAST, winners);
    int status = encode();
    if (status == MX_OK) {
        mx_kernel_begin(&kernel, group, instructions, false);
        mx_pass_write_scatter(&kernel, given, MX_SCATTER_WRITES_LAST, winners);
        status = encode();
    }
    mx_buffer_release(winners);
    return status;
}

static bool is_in_order(const struct mx_instruction *in)
{
    return in->kind == MX_SCATTER || in->kind == MX_SCAN;
}

static int run(const struct mx_words *given, const struct mx_group *group,
               struct mx_instruction *instructions)
{
    const struct mx_instruction *in = instruction_of(group, instructions, 0);
    if (in->kind == MX_SCAN)
        return run_scan(given);
    if (in->kind == MX_SCATTER)
        return run_scatter(given, group, instructions);
    if (in->kind == MX_ARGREDUCE && mx_pass_has_long_lines(&kernel))
        return MX_DECLINED;
    if (group->has_reductions || in->kind == MX_ARGREDUCE)
        return run_reduce(given, group, instructions);
    return run_map(given);
}

int mx_groups_encode(const struct mx_group *group, struct mx_instruction *instructions,
                     const struct mx_words *words)
{
    bool sorts = !is_in_order(instruction_of(group, instructions, 0));
    mx_kernel_begin(&kernel, group, instructions, sorts);
    int status = run(words, group, instructions);
    mx_text_clear(&kernel.text);
    return status;
}
