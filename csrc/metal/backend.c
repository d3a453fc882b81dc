/* backend.c -- runs groups on a Metal device: their kernels are written, compiled and encoded,
 * and all that was begun is waited for at once.
 *
 * What happens there is told in words of one buffer, which the host reads when it waits: the
 * conditions that a step met, and checks that failed.  A kernel does not run after a check
 * that failed before its own.
 */
#include <stdio.h>
#include <string.h>

#include "../backend.h"
#include "../error.h"
#include "device.h"
#include "kernel.h"
#include "metal.h"
#include "pipelines.h"

#define WORDS          4096
#define NOTHING_FAILED UINT32_MAX
#define FAILED         16                 /* MX_FAILED of metal/element.metal */
#define COPIED_BYTES   ((size_t)64 << 20) /* of memory that is not the pool's, for one group */
#define WINNER_BYTES   ((size_t)1 << 30)
#define NO_DEVICE      "there is no Metal device, or it is that of the process that forked"
#define EMPTY_BYTES    16 /* that are bound for an array of no elements */

static struct {
    bool is_on;
    int64_t threshold;   /* elements of a group, from which on it is taken */
    const char *prelude; /* what all kernels begin with */

    struct mx_buffer *words;
    int n_words;
    struct mx_instruction *telling[WORDS]; /* whose word it is */
    int64_t n_groups;                      /* that were begun */
    bool has_checks;                       /* some of them */
    struct mx_kernel kernel;
    struct mx_metal_counts counts;
    char rejection[4096];
    int failure;              /* that is told of at the wait: MX_OK, or the first one */
    char failure_words[4096]; /* ... and its message */
} metal;

void mx_metal_use(const char *prelude, int64_t threshold)
{
    metal.is_on = prelude != NULL && mx_metal_is_there();
    metal.prelude = prelude;
    metal.threshold = threshold;
}

bool mx_metal_is_used(void) { return metal.is_on; }

int mx_metal_usable(void) { return mx_metal_is_there(); }

void mx_metal_count(struct mx_metal_counts *out)
{
    *out = metal.counts;
    mx_metal_add_counts(out);
}

const char *mx_metal_text(void)
{
    return metal.kernel.text.characters ? metal.kernel.text.characters : "";
}

const char *mx_metal_rejection(void) { return metal.rejection; }

/* -- What is taken ----------------------------------------------------------------- */

static const struct mx_instruction *instruction_of(const struct mx_group *group,
                                                   const struct mx_instruction *instructions,
                                                   int step)
{
    return &instructions[group->steps[step].instruction];
}

/* Operands of another dtype than their view's have its bits; those of bool are its own. */
static bool has_odd_bools(const struct mx_group *group, const struct mx_instruction *in,
                          const struct mx_step *step)
{
    for (int k = 0; k < mx_operand_count(in); k++) {
        int dtype = in->operands[k].dtype;
        int of_view = step->views[k] < 0 ? dtype : group->views[step->views[k]].dtype;
        if (of_view != dtype && (of_view == MX_DTYPE_bool || dtype == MX_DTYPE_bool))
            return true;
    }
    return false;
}

/* Memory that is not the pool's is copied, and so must not be more than `most` nor be written.
 */
static bool has_odd_memory(const struct mx_group *group, size_t most)
{
    size_t copied = 0;
    for (int v = 0; v < group->n_views; v++) {
        const struct mx_view *view = &group->views[v];
        if (view->buffer || view->low == view->high)
            continue;
        copied += (size_t)(view->high - view->low);
        if (view->is_written || copied > most)
            return true;
    }
    return false;
}

static bool is_possible(const struct mx_group *group, const struct mx_instruction *instructions)
{
    int64_t n = mx_element_count(instruction_of(group, instructions, 0));
    if (!metal.is_on || !mx_metal_is_there() || n >= UINT32_MAX ||
        has_odd_memory(group, COPIED_BYTES) || metal.n_words + group->n_steps >= WORDS)
        return false;
    bool is_wanted = n >= metal.threshold;
    for (int s = 0; s < group->n_steps; s++) {
        const struct mx_instruction *in = instruction_of(group, instructions, s);
        if (in->device == MX_PROCESSOR || !mx_step_is_possible(in) ||
            has_odd_bools(group, in, &group->steps[s]))
            return false;
        is_wanted |= in->device == MX_DEVICE;
    }
    return is_wanted;
}

/* -- Words ------------------------------------------------------------------------- */

/* With memory for so many bytes; NULL after mx_fail. */
static struct mx_buffer *new_placed(size_t nbytes)
{
    struct mx_buffer *buffer = mx_buffer_new(nbytes);
    if (buffer && mx_buffer_place(buffer) != MX_OK) {
        mx_buffer_release(buffer);
        return NULL;
    }
    return buffer;
}

static uint32_t *words(void) { return (uint32_t *)(void *)metal.words->data; }

static int begin_batch(void)
{
    if (!metal.words)
        metal.words = new_placed(WORDS * sizeof(uint32_t));
    if (!metal.words)
        return MX_ERROR_MEMORY;
    memset(words(), 0, WORDS * sizeof(uint32_t));
    words()[0] = NOTHING_FAILED;
    metal.n_words = 1;
    metal.n_groups = 0;
    metal.has_checks = false;
    return MX_OK;
}

static void give_words(struct mx_words *out, const struct mx_group *group,
                       struct mx_instruction *instructions)
{
    *out = (struct mx_words){.group = metal.n_groups + 1, .is_guarded = metal.has_checks};
    for (int s = 0; s < group->n_steps; s++) {
        struct mx_instruction *in = &instructions[group->steps[s].instruction];
        if (!mx_step_tells(in))
            continue;
        out->of_steps[s] = metal.n_words;
        metal.telling[metal.n_words++] = in;
    }
}

static void read_words(void)
{
    for (int w = 1; w < metal.n_words; w++) {
        struct mx_instruction *in = metal.telling[w];
        int told = (int)words()[w];
        if (told & FAILED)
            atomic_store(&in->is_failed, true);
        if (told & in->wanted)
            atomic_fetch_or(&in->raised, told & in->wanted);
    }
}

/* -- Encoding ---------------------------------------------------------------------- */

static struct mx_buffer *copy_of(const struct mx_binding *binding)
{
    struct mx_buffer *buffer = new_placed(binding->lead + binding->size);
    if (buffer)
        memcpy(buffer->data + binding->lead, binding->data, binding->size);
    return buffer;
}

/* Threads of a threadgroup for a grid of threads. */
static void share_threads(const struct mx_kernel *kernel, size_t *threads)
{
    size_t left = MX_KERNEL_THREADS;
    for (int i = 0; i < 3; i++) {
        threads[i] = kernel->kind == MX_THREADGROUPS ? left
                     : kernel->grid[i] < left        ? kernel->grid[i]
                                                     : left;
        left /= threads[i];
    }
}

/* The processor takes the group of a kernel that is not compiled. */
static int reject(void)
{
    metal.counts.rejected++;
    snprintf(metal.rejection, sizeof metal.rejection, "%s", mx_error_message());
    return MX_DECLINED;
}

/* Encodes the kernel that was written, and begins a new text. */
static int encode(void)
{
    struct mx_kernel *kernel = &metal.kernel;
    struct mx_buffer *buffers[MX_KERNEL_BUFFERS + 1];
    bool is_written[MX_KERNEL_BUFFERS + 1];
    int status = MX_OK, n = 0;
    if (kernel->is_full || kernel->text.is_broken)
        return MX_DECLINED;
    void *compiled = mx_pipeline_get(metal.prelude, kernel->text.characters, "mx_group");
    kernel->text.length = 0;
    if (!compiled)
        return reject();
    if (mx_metal_threads(compiled) < MX_KERNEL_THREADS)
        return MX_DECLINED;
    for (; n < kernel->n_bindings && status == MX_OK; n++) {
        const struct mx_binding *binding = &kernel->bindings[n];
        is_written[n] = binding->is_written;
        buffers[n] = binding->buffer ? binding->buffer : copy_of(binding);
        status = buffers[n] ? mx_buffer_place(buffers[n]) : MX_ERROR_MEMORY;
    }
    struct mx_dispatch dispatch = {
        .compiled = compiled,
        .buffers = buffers,
        .is_written = is_written,
        .n_buffers = n,
        .args = kernel->args,
        .args_size = (size_t)(kernel->n_args ? kernel->n_args : 1) * sizeof *kernel->args,
        .is_in_threadgroups = kernel->kind == MX_THREADGROUPS,
    };
    if (kernel->has_words) {
        buffers[n] = metal.words;
        is_written[n] = true;
        dispatch.n_buffers++;
    }
    memcpy(dispatch.grid, kernel->grid, sizeof dispatch.grid);
    share_threads(kernel, dispatch.threads);
    if (status == MX_OK)
        status = mx_metal_encode(&dispatch);
    for (int b = 0; b < n; b++)
        if (!kernel->bindings[b].buffer && buffers[b])
            mx_buffer_release(buffers[b]); /* held by what was encoded */
    return status;
}

/* -- Groups ------------------------------------------------------------------------ */

static int run_map(const struct mx_words *given)
{
    mx_pass_write_map(&metal.kernel, given);
    return encode();
}

static int run_scan(const struct mx_words *given)
{
    if (!metal.kernel.reduced) /* there is nothing to add up */
        return MX_DECLINED;
    if (mx_pass_has_long_lines(&metal.kernel))
        return MX_DECLINED;
    mx_pass_write_scan(&metal.kernel, given);
    return encode();
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
    struct mx_reduce_shape shape = mx_pass_shape_reduce(&metal.kernel);
    int status = make_partials(group, instructions, &shape, partials);
    if (status == MX_OK) {
        mx_pass_write_reduce(&metal.kernel, given, &shape, partials);
        status = encode();
    }
    for (int s = 0, n = 0; s < group->n_steps && shape.segments > 1 && status == MX_OK; s++) {
        if (instruction_of(group, instructions, s)->kind != MX_REDUCE)
            continue;
        mx_kernel_begin(&metal.kernel, group, instructions, true);
        mx_pass_write_combine(&metal.kernel, given, s, &shape, partials[n++]);
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
    struct mx_buffer *winners = size <= WINNER_BYTES ? new_placed(size) : NULL;
    if (winners)
        memset(winners->data, 0, size);
    return winners;
}

static int run_scatter(const struct mx_words *given, const struct mx_group *group,
                       struct mx_instruction *instructions)
{
    const struct mx_instruction *in = instruction_of(group, instructions, 0);
    if (in->op != MX_COPY || in->operands[in->nin - 1].is_value) {
        mx_pass_write_scatter(&metal.kernel, given, MX_SCATTER_UPDATES, NULL);
        return encode();
    }
    struct mx_buffer *winners = new_winners(&group->views[group->steps[0].views[in->nin]]);
    if (!winners)
        return MX_DECLINED;
    mx_pass_write_scatter(&metal.kernel, given, MX_SCATTER_FINDS_LAST, winners);
    int status = encode();
    if (status == MX_OK) {
        mx_kernel_begin(&metal.kernel, group, instructions, false);
        mx_pass_write_scatter(&metal.kernel, given, MX_SCATTER_WRITES_LAST, winners);
        status = encode();
    }
    mx_buffer_release(winners);
    return status;
}

/* A kernel of its own text, which finds each operand where it begins. */
static int run_launch(const struct mx_group *group, const struct mx_instruction *in)
{
    const struct mx_launch *launch = in->launch;
    const struct mx_step *step = &group->steps[0];
    struct mx_buffer *buffers[MX_MAX_OPERANDS] = {NULL};
    bool is_written[MX_MAX_OPERANDS], is_own[MX_MAX_OPERANDS];
    size_t offsets[MX_MAX_OPERANDS];
    int status = MX_OK, n = mx_operand_count(in);
    if (has_odd_memory(group, SIZE_MAX))
        return mx_fail(MX_ERROR_DEVICE, "memory that kernel '%s' writes is not the pool's",
                       launch->function);
    for (int k = 0; k < n && status == MX_OK; k++) {
        const struct mx_view *view = &group->views[step->views[k]];
        struct mx_binding binding = {.data = (const char *)view->low,
                                     .size = (size_t)(view->high - view->low)};
        bool is_empty = binding.size == 0; /* something must be bound */
        is_own[k] = is_empty || !view->buffer;
        is_written[k] = view->is_written;
        offsets[k] = (size_t)(is_own[k] ? view->at - view->low : view->at);
        buffers[k] = is_empty    ? mx_buffer_new(EMPTY_BYTES)
                     : is_own[k] ? copy_of(&binding)
                                 : view->buffer;
        status = buffers[k] ? mx_buffer_place(buffers[k]) : MX_ERROR_MEMORY;
    }
    void *compiled = status == MX_OK
                         ? mx_pipeline_get(launch->prelude, launch->source, launch->function)
                         : NULL;
    struct mx_dispatch dispatch = {
        .compiled = compiled,
        .buffers = buffers,
        .is_written = is_written,
        .offsets = offsets,
        .n_buffers = n,
        .args = launch->args,
        .args_size = (size_t)launch->n_args * sizeof *launch->args,
        .is_in_threadgroups = launch->is_in_threadgroups,
    };
    memcpy(dispatch.grid, launch->grid, sizeof dispatch.grid);
    memcpy(dispatch.threads, launch->threads, sizeof dispatch.threads);
    if (status == MX_OK)
        status = compiled ? mx_metal_encode(&dispatch) : MX_ERROR_DEVICE;
    for (int k = 0; k < n; k++)
        if (buffers[k] && is_own[k])
            mx_buffer_release(buffers[k]); /* held by what was encoded */
    return status;
}

/* A failure is told of at the wait, as those of the device are, and nothing is tried again. */
static int put_off(void)
{
    if (metal.failure == MX_OK)
        snprintf(metal.failure_words, sizeof metal.failure_words, "%s", mx_error_message());
    metal.failure = MX_ERROR_DEVICE;
    return MX_OK;
}

/* No other backend could run it.  Of memory there may be more later. */
static int end_launch(struct mx_instruction *in, int status)
{
    if (status == MX_OK || status == MX_ERROR_MEMORY)
        return status;
    snprintf(metal.failure_words, sizeof metal.failure_words, "%s", mx_error_message());
    atomic_store(&in->is_failed, true);
    return MX_OK;
}

static int64_t encoded(void)
{
    struct mx_metal_counts counts = {0};
    mx_metal_add_counts(&counts);
    return counts.dispatches;
}

/* The first passes of a group that is not gone on with: they must not run after whoever takes
 * it instead, and have told nothing. */
static void end_passes(int n_words)
{
    if (mx_metal_wait() != MX_OK)
        put_off();
    memset(words() + n_words, 0, (size_t)(metal.n_words - n_words) * sizeof *words());
}

static bool is_in_order(const struct mx_instruction *in)
{
    return in->kind == MX_SCATTER || in->kind == MX_SCAN;
}

static int run(struct mx_group *group, struct mx_instruction *instructions,
               bool (*interrupted)(void))
{
    (void)interrupted; /* what was encoded runs to its end */
    struct mx_instruction *in = &instructions[group->steps[0].instruction];
    struct mx_words given;
    bool is_launch = in->kind == MX_KERNEL;
    if (is_launch && metal.n_words && metal.has_checks)
        return MX_INTERRUPTED; /* it does not look at words: checks before it are waited for */
    int status = metal.n_words ? MX_OK : metal.is_on || is_launch ? begin_batch() : MX_DECLINED;
    if (status != MX_OK)
        return status;
    if (is_launch && !mx_metal_is_there())
        return end_launch(in, mx_fail(MX_ERROR_DEVICE, NO_DEVICE));
    if (!is_launch && !is_possible(group, instructions)) {
        metal.counts.declined++;
        return MX_DECLINED;
    }
    int n_words = metal.n_words;
    int64_t before = encoded();
    give_words(&given, group, instructions);
    mx_kernel_begin(&metal.kernel, group, instructions, !is_in_order(in));
    if (is_launch)
        status = end_launch(in, run_launch(group, in));
    else if (in->kind == MX_SCAN)
        status = run_scan(&given);
    else if (in->kind == MX_SCATTER)
        status = run_scatter(&given, group, instructions);
    else if (in->kind == MX_FIND && mx_pass_has_long_lines(&metal.kernel))
        status = MX_DECLINED;
    else if (group->has_reductions || in->kind == MX_FIND)
        status = run_reduce(&given, group, instructions);
    else
        status = run_map(&given);
    metal.kernel.text.length = 0;
    if (status != MX_OK) {
        if (encoded() > before)
            end_passes(n_words);
        metal.n_words = n_words;
        metal.counts.declined++;
        return status;
    }
    metal.n_groups++;
    metal.counts.groups++;
    metal.has_checks |= group->birth >= 0;
    group->threads = 0;
    return MX_OK;
}

static int finish(void)
{
    if (metal.n_words == 0)
        return MX_OK;
    int status = mx_metal_wait();
    if (status == MX_OK)
        read_words();
    if (status == MX_OK && metal.failure_words[0]) {
        mx_fail(MX_ERROR_DEVICE, "%s", metal.failure_words); /* also of a launch alone */
        status = metal.failure;
    }
    metal.failure = MX_OK;
    metal.failure_words[0] = 0;
    metal.n_words = 0;
    return status;
}

int mx_metal_check(const struct mx_launch *launch)
{
    if (!mx_metal_is_there())
        return mx_fail(MX_ERROR_DEVICE, NO_DEVICE);
    void *compiled = mx_pipeline_get(launch->prelude, launch->source, launch->function);
    const size_t *asked = launch->threads;
    if (!compiled)
        return MX_ERROR_VALUE;
    size_t most = mx_metal_threads(compiled);
    if (asked[0] > most || asked[1] > most / asked[0] || asked[2] > most / asked[0] / asked[1])
        return mx_fail(MX_ERROR_VALUE,
                       "threadgroups of kernel '%s' may have %zu threads, not %zu * %zu * %zu",
                       launch->function, most, asked[0], asked[1], asked[2]);
    return MX_OK;
}

const struct mx_backend mx_metal_backend = {.name = "metal", .run = run, .finish = finish};
