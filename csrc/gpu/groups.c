/* groups.c -- prints, compiles and encodes the kernels of a group.  There are several if a
 * second pass uses results of the first.
 */
#include "gpu/groups.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "gpu/batch.h"
#include "gpu/dispatch.h"
#include "gpu/passes.h"
#include "gpu/pipelines.h"
#include "gpu/reductions.h"
#include "gpu/scans.h"
#include "gpu/scatter.h"
#include "memory/coherence.h"
#include "scheduler/backend.h"

#define MAX_WINNER_BYTES ((size_t)1 << 30)

static const char *preludes[MX_PRELUDE_COUNT];
static struct mx_kernel encoded, compiled_only;
static struct mx_kernel *kernel = &encoded; /* the one that is printed now */
static void (*begin_rest)(void);            /* begins to compile what is needed next */
static int64_t n_rejected;
static char rejection[4096];

void mx_groups_use(const char *const *texts)
{
    if (texts)
        memcpy(preludes, texts, sizeof preludes);
    if (texts)
        mx_pipelines_keep(texts);
}

int64_t mx_groups_rejected(void) { return n_rejected; }

const char *mx_groups_text(void)
{
    return encoded.text.characters ? encoded.text.characters : "";
}

const char *mx_groups_rejection(void) { return rejection; }

/* -- One kernel -------------------------------------------------------------------- */

#define DEEPEST 64 /* threads along the third axis: some devices allow no more */

/* Divides the threads of a threadgroup among the axes of the grid. */
static void divide_threads(size_t *threads)
{
    size_t left = MX_KERNEL_THREADS;
    for (int i = 0; i < 3; i++) {
        threads[i] = kernel->kind == MX_THREADGROUPS ? left
                     : kernel->grid[i] < left        ? kernel->grid[i]
                                                     : left;
        left /= threads[i];
    }
    threads[2] = threads[2] < DEEPEST ? threads[2] : DEEPEST;
}

/* The processor runs the group of a kernel that does not compile. */
static int reject(void)
{
    n_rejected++;
    snprintf(rejection, sizeof rejection, "%s", mx_error_message());
    return MX_DECLINED;
}

static bool only_compiles(void) { return kernel == &compiled_only; }

/* Encodes the kernel that was printed, or only begins to compile it.  Begins a new text. */
static int groups_encode(void)
{
    if (kernel->is_full || kernel->text.is_broken)
        return MX_DECLINED;
    if (only_compiles()) {
        mx_pipelines_begin(preludes[kernel->prelude], kernel->text.characters, "mx_group");
        mx_text_clear(&kernel->text);
        return MX_OK;
    }
    struct mx_dispatch dispatch = {
        .args = kernel->args,
        .args_size = (size_t)(kernel->n_args ? kernel->n_args : 1) * sizeof *kernel->args,
        .kind = kernel->kind,
        .work = kernel->work,
        .origin = kernel->origin,
    };
    struct mx_buffer *words = NULL;
    int status = mx_pipelines_get(&dispatch.compiled, preludes[kernel->prelude],
                                  kernel->text.characters, "mx_group", begin_rest);
    mx_text_clear(&kernel->text);
    if (status == MX_ERROR_VALUE)
        return reject();
    if (status != MX_OK)
        return status == MX_ERROR_MEMORY ? MX_DECLINED : status;
    if (kernel->device->driver->max_threads(dispatch.compiled) < MX_KERNEL_THREADS)
        return MX_DECLINED;
    memcpy(dispatch.grid, kernel->grid, sizeof dispatch.grid);
    divide_threads(dispatch.threads);
    if (kernel->has_status)
        status = mx_batch_prepare_words(&words);
    return status == MX_OK
               ? mx_dispatch_encode(&dispatch, kernel->bindings, kernel->n_bindings, words)
               : status;
}

/* -- Groups ------------------------------------------------------------------------ */

static int run_map(const struct mx_status_words *words)
{
    mx_passes_print_map(kernel, words);
    return groups_encode();
}

static const struct mx_instruction *instruction_of(const struct mx_group *group,
                                                   const struct mx_instruction *instructions,
                                                   int step)
{
    return &instructions[group->steps[step].instruction];
}

/* Returns memory for a pass of a kernel.  Without a dispatch none is needed, but the pointers
 * of different buffers differ. */
static struct mx_buffer *new_buffer(size_t size)
{
    static struct mx_buffer none[MX_MAX_STEPS];
    static int n;
    return only_compiles() ? &none[n++ % MX_MAX_STEPS] : mx_buffer_new(size);
}

static void groups_release(struct mx_buffer *buffer)
{
    if (!only_compiles())
        mx_buffer_release(buffer);
}

static int run_scan(const struct mx_status_words *words, const struct mx_group *group,
                    struct mx_instruction *instructions)
{
    struct mx_buffer *totals = NULL;
    bool has_one_element = !kernel->reduced; /* along the axis */
    if (has_one_element)
        return MX_DECLINED;
    struct mx_scan_shape shape = mx_scans_shape(kernel);
    if (shape.segments > 1 && !(totals = new_buffer(mx_scans_total_bytes(kernel, &shape))))
        return MX_ERROR_MEMORY;
    int status = MX_OK;
    for (int pass = totals ? MX_SCAN_TOTALS : MX_SCAN_RESULTS;
         pass <= MX_SCAN_RESULTS && status == MX_OK; pass++) {
        mx_kernel_begin(kernel, group, instructions, false);
        shape = mx_scans_shape(kernel);
        mx_scans_print(kernel, words, &shape, pass, totals);
        status = groups_encode();
    }
    if (totals)
        groups_release(totals);
    return status;
}

/* Allocates memory for what the segments of each reduction found: results, and the indices of
 * those of a search.  Returns a status. */
static int allocate_partials(const struct mx_group *group, struct mx_instruction *instructions,
                             const struct mx_reduce_shape *shape, struct mx_partials *partials)
{
    size_t n = (size_t)(shape->n_units * shape->segments);
    int itemsize;
    for (int s = 0; s < group->n_steps && shape->segments > 1; s++) {
        const struct mx_instruction *in = instruction_of(group, instructions, s);
        bool searches = in->kind == MX_ARGREDUCE;
        if (in->kind != MX_REDUCE && !searches)
            continue;
        mx_passes_partial_type(in, &itemsize);
        partials[s].results = new_buffer(n * (size_t)itemsize);
        if (searches)
            partials[s].indices = new_buffer(n * sizeof(int64_t));
        if (!partials[s].results || (searches && !partials[s].indices))
            return MX_ERROR_MEMORY;
    }
    return MX_OK;
}

static void release_partials(struct mx_partials *partials)
{
    for (int s = 0; s < MX_MAX_STEPS; s++) {
        if (partials[s].results)
            groups_release(partials[s].results);
        if (partials[s].indices)
            groups_release(partials[s].indices);
    }
}

static int run_reduce(const struct mx_status_words *words, const struct mx_group *group,
                      struct mx_instruction *instructions)
{
    struct mx_partials partials[MX_MAX_STEPS] = {{NULL, NULL}};
    struct mx_reduce_shape shape = mx_reductions_shape(kernel);
    if (mx_reductions_shared_bytes(kernel, &shape) > kernel->device->limits.threadgroup_bytes)
        return MX_DECLINED;
    int status = allocate_partials(group, instructions, &shape, partials);
    if (status == MX_OK) {
        mx_reductions_print(kernel, words, &shape, partials);
        status = groups_encode();
    }
    for (int s = 0; s < group->n_steps && status == MX_OK; s++) {
        if (!partials[s].results)
            continue;
        mx_kernel_begin(kernel, group, instructions, true);
        mx_reductions_print_combine(kernel, words, s, &shape, &partials[s]);
        status = groups_encode();
    }
    release_partials(partials);
    return status;
}

/* Returns a number for each element or row that a scatter may write, all zero.  NULL: too many.
 */
static struct mx_buffer *new_winners(void)
{
    size_t size = (size_t)mx_scatter_winners(kernel) * 4;
    struct mx_buffer *winners = size <= MAX_WINNER_BYTES ? new_buffer(size) : NULL;
    if (winners && !only_compiles() && mx_coherence_clear(winners) != MX_OK) {
        mx_buffer_release(winners);
        return NULL;
    }
    return winners;
}

static int run_scatter(const struct mx_status_words *words, const struct mx_group *group,
                       struct mx_instruction *instructions)
{
    const struct mx_instruction *in = instruction_of(group, instructions, 0);
    if (mx_scatter_waits(kernel))
        return MX_DECLINED;
    if (in->op != MX_COPY || in->operands[in->nin - 1].is_value) {
        mx_scatter_print(kernel, words, MX_SCATTER_UPDATES, NULL);
        return groups_encode();
    }
    struct mx_buffer *winners = new_winners();
    if (!winners)
        return MX_DECLINED;
    mx_scatter_print(kernel, words, MX_SCATTER_FINDS_LAST, winners);
    int status = groups_encode();
    if (status == MX_OK) {
        mx_kernel_begin(kernel, group, instructions, false);
        mx_scatter_print(kernel, words, MX_SCATTER_WRITES_LAST, winners);
        status = groups_encode();
    }
    groups_release(winners);
    return status;
}

static bool is_in_order(const struct mx_instruction *in)
{
    return in->kind == MX_SCATTER || in->kind == MX_SCAN;
}

static int groups_run(const struct mx_status_words *words, const struct mx_group *group,
                      struct mx_instruction *instructions)
{
    const struct mx_instruction *in = instruction_of(group, instructions, 0);
    if (in->kind == MX_SCAN)
        return run_scan(words, group, instructions);
    if (in->kind == MX_SCATTER)
        return run_scatter(words, group, instructions);
    if (group->has_reductions || in->kind == MX_ARGREDUCE)
        return run_reduce(words, group, instructions);
    return run_map(words);
}

int mx_groups_encode(const struct mx_group *group, struct mx_instruction *instructions,
                     const struct mx_status_words *words, void (*begin_others)(void))
{
    begin_rest = begin_others;
    bool sorts = !is_in_order(instruction_of(group, instructions, 0));
    mx_kernel_begin(kernel, group, instructions, sorts);
    int status = groups_run(words, group, instructions);
    mx_text_clear(&kernel->text);
    return status;
}

void mx_groups_begin(const struct mx_group *group, struct mx_instruction *instructions,
                     const struct mx_status_words *words)
{
    struct mx_kernel *before = kernel;
    void (*begin_others)(void) = begin_rest;
    kernel = &compiled_only;
    mx_groups_encode(group, instructions, words, NULL);
    kernel = before;
    begin_rest = begin_others;
}
