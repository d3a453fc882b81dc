/* backend.c -- runs groups on a GPU: decides which, starts them, and waits for all of them. */
#include "gpu/backend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "gpu/batch.h"
#include "gpu/dispatch.h"
#include "gpu/groups.h"
#include "gpu/launch.h"
#include "gpu/outside.h"
#include "gpu/steps.h"
#include "memory/coherence.h"

/* Memory outside the pool is copied before a group reads it: at most this much for one group.
 */
#define MAX_COPIED_BYTES ((size_t)64 << 20)
#define MAX_AHEAD        64 /* groups whose kernels are compiled before they are needed */

static struct {
    bool is_on;
    int64_t sizes[MX_SIZE_COUNT]; /* elements from which "auto" runs operations here */
    _Atomic int64_t opening;      /* bytes before it initializes the device */
    struct mx_gpu_counts counts;
    int failure;        /* status that the next wait returns */
    char message[4096]; /* of the failure, or of a launch that failed alone */
    struct mx_plan *plan;
    struct mx_instruction *instructions;
    const struct mx_group *group; /* of the plan, which is encoded now */
    int n_marks;                  /* of times, since the last wait */
} gpu;

/* -- The C API --------------------------------------------------------------------- */

void mx_gpu_use(int device, const char *const *preludes, const int64_t *sizes, int64_t opening)
{
    mx_device_use(device);
    gpu.opening = opening;
    gpu.is_on = preludes != NULL && mx_device_used() && mx_device_used()->driver->count() > 0;
    memcpy(gpu.sizes, sizes, sizeof gpu.sizes);
    mx_groups_use(preludes);
}

int mx_gpu_is_used(void) { return gpu.is_on; }

int mx_gpu_is_wanted(void) { return gpu.opening <= 0; }

int mx_gpu_is_usable(void)
{
    gpu.opening = 0; /* it is initialized now */
    return mx_device_is_usable();
}

int mx_gpu_has_own_memory(void) { return mx_coherence_is_on(); }

int64_t mx_gpu_max_bytes(void)
{
    size_t (*max_buffer)(void) = mx_device_used()->driver->max_buffer;
    return max_buffer ? (int64_t)(max_buffer() / 4 * 3) : INT64_MAX;
}

int64_t mx_gpu_prepare(int call, const int64_t *numbers, int n)
{
    size_t scratch = 0, size = (size_t)n * sizeof *numbers;
    const struct mx_device *device = mx_device_used();
    if (!device || !device->driver->prepare ||
        size != (call == MX_TRANSFORM ? sizeof(struct mx_transform) : sizeof(struct mx_linear)))
        return -1;
    int status = device->driver->prepare((enum mx_library_call)call, numbers, &scratch);
    return status == MX_OK ? (int64_t)scratch : -1;
}

static void add_counts(struct mx_gpu_counts *out, const struct mx_driver_counts *counts)
{
    out->dispatches += counts->dispatches;
    out->command_buffers += counts->command_buffers;
    out->compiled += counts->compiled;
}

void mx_gpu_count(struct mx_gpu_counts *out)
{
    *out = gpu.counts;
    out->rejected = mx_groups_rejected();
    out->work = mx_dispatch_work();
    if (mx_device_used())
        add_counts(out, mx_device_used()->driver->counts);
    mx_coherence_add_counts(out);
}

void mx_gpu_clear_cache(void)
{
    const struct mx_device *device = mx_device_used();
    if (device && device->driver->clear_cache)
        device->driver->clear_cache();
}

const char *mx_gpu_text(void) { return mx_groups_text(); }

const char *mx_gpu_rejection(void) { return mx_groups_rejection(); }

/* -- Which groups run on the GPU --------------------------------------------------- */

/* Whether an operand and its view have different dtypes, one of which is bool: their bits
 * differ, too. */
static bool has_reinterpreted_bools(const struct mx_group *group,
                                    const struct mx_instruction *in, const struct mx_step *step)
{
    for (int k = 0; k < mx_operand_count(in); k++) {
        int dtype = in->operands[k].dtype;
        int of_view = step->views[k] < 0 ? dtype : group->views[step->views[k]].dtype;
        if (of_view != dtype && (of_view == MX_DTYPE_bool || dtype == MX_DTYPE_bool))
            return true;
    }
    return false;
}

/* Whether the processor would have to wait for the device and copy an operand. */
static bool needs_device(const struct mx_instruction *in)
{
    for (int k = 0; k < mx_operand_count(in) && mx_coherence_is_on(); k++)
        if (in->operands[k].buffer && mx_coherence_lacks(in->operands[k].buffer))
            return true;
    return false;
}

/* The bytes that the processor moves for an instruction, if its results stay in the cache. */
static int64_t moved_bytes(const struct mx_instruction *in)
{
    int itemsize = 1;
    for (int k = 0; k < mx_operand_count(in); k++)
        if (in->operands[k].itemsize > itemsize)
            itemsize = in->operands[k].itemsize;
    return mx_element_count(in) * itemsize;
}

/* The bytes of memory that a view lies in. */
static size_t extent(const struct mx_instruction *in, const struct mx_operand *operand)
{
    size_t bytes = (size_t)operand->itemsize;
    for (int i = 0; i < in->ndim; i++)
        bytes += (size_t)(in->shape[i] - 1) * (size_t)llabs(operand->strides[i]);
    return bytes;
}

/* Whether an instruction that may run anywhere is worth the copies of what it reads. */
static bool is_worth(const struct mx_instruction *in)
{
    int64_t moved = moved_bytes(in);
    size_t outside = 0; /* the pool: it is copied for each flush */
    bool are_near = true;
    for (int k = 0; k < in->nin && mx_coherence_is_on(); k++) {
        const struct mx_operand *operand = &in->operands[k];
        bool is_repeated = k > 0 && operand->buffer == in->operands[k - 1].buffer;
        if (operand->buffer && !is_repeated)
            are_near &= mx_coherence_is_near(operand->buffer, moved);
        else if (!operand->buffer && !operand->is_value)
            outside += extent(in, operand);
    }
    return are_near && mx_coherence_is_worth(moved, outside);
}

static enum mx_size size_of(const struct mx_instruction *in)
{
    return in->kind == MX_SCAN                                 ? MX_SIZE_SCAN
           : in->kind == MX_REDUCE || in->kind == MX_ARGREDUCE ? MX_SIZE_REDUCTION
                                                               : MX_SIZE_ELEMENTWISE;
}

/* Whether "auto" initializes the device, if it is not: that takes as long as the processor
 * needs for a number of bytes, which programs often do not reach. */
static bool opens_for(const struct mx_instruction *in)
{
    if (!mx_gpu_is_wanted())
        gpu.opening -= moved_bytes(in);
    return mx_gpu_is_wanted();
}

static bool suits(const struct mx_instruction *in)
{
    if (in->kind == MX_KERNEL)
        return true;
    int64_t n = mx_element_count(in);
    if (!gpu.is_on || in->device == MX_PROCESSOR || n >= UINT32_MAX || !mx_steps_supports(in))
        return false;
    bool is_needed = in->device == MX_DEVICE || needs_device(in);
    return (is_needed || (n >= gpu.sizes[size_of(in)] && is_worth(in) && opens_for(in))) &&
           mx_gpu_is_usable();
}

static bool is_possible(const struct mx_group *group, const struct mx_instruction *instructions)
{
    if (!group->is_for_device || !mx_device_is_usable() ||
        !mx_dispatch_can_bind(group, MAX_COPIED_BYTES) || !mx_batch_has_room(group->n_steps))
        return false;
    for (int s = 0; s < group->n_steps; s++)
        if (has_reinterpreted_bools(group, &instructions[group->steps[s].instruction],
                                    &group->steps[s]))
            return false;
    return true;
}

/* -- Failures ---------------------------------------------------------------------- */

static void keep_message(void)
{
    snprintf(gpu.message, sizeof gpu.message, "%s", mx_error_message());
}

/* A failure is reported at the wait, as failures of the device are.  Nothing is tried again. */
static void defer_failure(void)
{
    if (gpu.failure == MX_OK)
        keep_message();
    gpu.failure = MX_ERROR_DEVICE;
}

/* Brings memory outside the pool back, for the processor. */
static void end_outside(void)
{
    if (mx_outside_end() != MX_OK)
        defer_failure();
}

/* No other backend can run a launch, so it ends here.  Only a lack of memory may pass. */
static int end_launch(struct mx_instruction *in, int status)
{
    if (status == MX_OK || status == MX_ERROR_MEMORY)
        return status;
    keep_message();
    atomic_store(&in->is_failed, true);
    return MX_OK;
}

static int64_t encoded_dispatches(void) { return mx_device_used()->driver->counts->dispatches; }

/* -- Compiling --------------------------------------------------------------------- */

static void gpu_begin(struct mx_plan *plan, struct mx_instruction *instructions)
{
    gpu.plan = plan;
    gpu.instructions = instructions;
}

static void begin_group(const struct mx_group *group, bool is_guarded)
{
    struct mx_status_words words = {.is_guarded = is_guarded};
    for (int s = 0; s < group->n_steps; s++)
        words.of_steps[s] = mx_steps_has_status(&gpu.instructions[group->steps[s].instruction]);
    mx_groups_begin(group, gpu.instructions, &words);
}

/* Begins to compile the other kernels of this group and those of the next ones.  The plan may
 * turn out otherwise: then some of them are compiled in vain. */
static void begin_rest(void)
{
    bool is_guarded = mx_batch_has_checks();
    const struct mx_group *end = gpu.plan->groups + gpu.plan->n_groups;
    for (const struct mx_group *group = gpu.group; group < end && group < gpu.group + MAX_AHEAD;
         group++) {
        const struct mx_instruction *in = &gpu.instructions[group->steps[0].instruction];
        if (in->kind == MX_KERNEL)
            mx_launch_begin(in->launch);
        else if (is_possible(group, gpu.instructions))
            begin_group(group, is_guarded);
        is_guarded |= group->has_check;
    }
}

/* -- Running ----------------------------------------------------------------------- */

static struct mx_buffer *outside_of(const struct mx_view *view)
{
    return mx_outside_find((const char *)view->low, (size_t)(view->high - view->low));
}

/* Takes back what kernels after that of a number wrote.  Returns whether the group can start
 * over: what it updates is as before. */
static bool undo(const struct mx_group *group, uint64_t kernel)
{
    bool can_start_over = true;
    for (int v = 0; v < group->n_views && can_start_over; v++) {
        const struct mx_view *view = &group->views[v];
        struct mx_buffer *buffer = view->buffer ? view->buffer : outside_of(view);
        if (buffer && view->is_written && !mx_fuse_overwrites(group, view))
            can_start_over = mx_coherence_undo(buffer, kernel);
    }
    return can_start_over;
}

/* What the group has updated is lost. */
static void fail_group(const struct mx_group *group, struct mx_instruction *instructions)
{
    keep_message();
    for (int s = 0; s < group->n_steps; s++)
        atomic_store(&instructions[group->steps[s].instruction].is_failed, true);
}

/* If a later part or pass of the group cannot be encoded, another backend runs the whole group.
 * Those that were encoded must have ended by then, and their reports are dropped.  Elements
 * that they have updated are not updated again: then the group fails. */
static int gpu_encode(const struct mx_group *group, struct mx_instruction *instructions)
{
    struct mx_status_words words;
    int n_words = mx_batch_word_count();
    int64_t before = encoded_dispatches();
    uint64_t kernel = mx_coherence_last_kernel();
    mx_batch_assign_words(&words, group, instructions);
    int status = mx_groups_encode(group, instructions, &words, begin_rest);
    if (status == MX_OK)
        return MX_OK;
    bool has_begun = encoded_dispatches() > before;
    char message[sizeof gpu.message];
    snprintf(message, sizeof message, "%s", mx_error_message());
    if (has_begun && mx_device_used()->driver->wait() != MX_OK)
        defer_failure();
    if (has_begun && !undo(group, kernel)) {
        mx_fail(MX_ERROR_DEVICE, "%s", message);
        fail_group(group, instructions);
        return MX_OK;
    }
    mx_batch_return_words(n_words);
    bool is_full = status == MX_ERROR_MEMORY, is_lost = status == MX_ERROR_DEVICE;
    bool is_too_large = status == MX_ERROR_VALUE && mx_device_used()->driver->max_buffer;
    bool is_left_to_others = mx_coherence_is_on() || has_begun;
    return is_too_large || (is_left_to_others && (is_full || is_lost)) ? MX_DECLINED : status;
}

/* Notes on the device that the kernels of a measured group begin, or that they have ended. */
static void gpu_mark(struct mx_group *group, bool is_end)
{
    const struct mx_driver *driver = mx_device_used()->driver;
    if (!group->is_measured || !driver->mark || (is_end && !group->mark))
        return;
    if (!is_end)
        group->mark = gpu.n_marks + 2 <= MX_MAX_MARKS ? gpu.n_marks + 1 : 0;
    if (group->mark && driver->mark(gpu.n_marks) == MX_OK)
        gpu.n_marks++;
    else
        group->mark = 0;
}

static bool times(const struct mx_group *group, int64_t *begin, int64_t *nanoseconds)
{
    const struct mx_driver *driver = mx_device_used()->driver;
    if (!group->mark)
        return false;
    *begin = driver->elapsed(0, group->mark - 1);
    *nanoseconds = driver->elapsed(group->mark - 1, group->mark);
    return *begin >= 0 && *nanoseconds >= 0;
}

static int gpu_run(struct mx_group *group, struct mx_instruction *instructions,
                   bool (*interrupted)(void))
{
    (void)interrupted; /* what was encoded runs to its end */
    struct mx_instruction *in = &instructions[group->steps[0].instruction];
    bool is_launch = in->kind == MX_KERNEL;
    if (is_launch && mx_batch_has_checks())
        return MX_INTERRUPTED; /* the program's kernels do not test for checks that failed */
    if (!is_launch && !gpu.is_on && !mx_batch_is_begun())
        return MX_DECLINED;
    gpu.n_marks = mx_batch_is_begun() ? gpu.n_marks : 0;
    int status = mx_batch_begin();
    if (status != MX_OK)
        return status;
    gpu.group = group;
    if (is_launch && !mx_device_is_usable())
        return end_launch(in, mx_launch_check(in->launch));
    gpu_mark(group, false);
    if (is_launch)
        status = end_launch(in, mx_launch_run(group, in, begin_rest));
    else
        status =
            is_possible(group, instructions) ? gpu_encode(group, instructions) : MX_DECLINED;
    if (status != MX_OK) {
        gpu.counts.declined++;
        end_outside();
        return status;
    }
    gpu_mark(group, true);
    mx_batch_add(group);
    gpu.counts.groups++;
    group->threads = 0;
    return MX_OK;
}

static int wait_and_read(void)
{
    const struct mx_device *device = mx_device_used();
    end_outside();
    int status = device ? device->driver->wait() : MX_OK;
    return status == MX_OK ? mx_batch_read() : status;
}

static int gpu_finish(void)
{
    if (!mx_batch_is_begun())
        return MX_OK;
    int status = wait_and_read();
    if (status == MX_OK && gpu.message[0]) {
        mx_fail(MX_ERROR_DEVICE, "%s", gpu.message); /* of a launch, `failure` may be MX_OK */
        status = gpu.failure;
    }
    gpu.failure = MX_OK;
    gpu.message[0] = 0;
    mx_batch_end();
    return status;
}

const struct mx_backend mx_gpu_backend = {.name = "gpu",
                                          .suits = suits,
                                          .begin = gpu_begin,
                                          .run = gpu_run,
                                          .finish = gpu_finish,
                                          .times = times};
