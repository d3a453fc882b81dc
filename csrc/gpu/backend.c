/* backend.c -- runs groups on a Metal device: which it takes, how one begins, and the wait for
 * all that was begun at once.
 */
#include <stdio.h>

#include "base/error.h"
#include "gpu/batch.h"
#include "gpu/dispatch.h"
#include "gpu/gpu.h"
#include "gpu/groups.h"
#include "gpu/launch.h"
#include "scheduler/backend.h"

#define COPIED_BYTES ((size_t)64 << 20) /* of memory that is not the pool's, for one group */

static struct {
    bool is_on;
    int64_t threshold; /* elements of a group, from which on it is taken */
    struct mx_metal_counts counts;
    int failure;              /* that is told of at the wait: MX_OK, or the first one */
    char failure_words[4096]; /* ... and its message */
} metal;

void mx_metal_use(const char *prelude, int64_t threshold)
{
    metal.is_on = prelude != NULL && mx_metal_is_there();
    metal.threshold = threshold;
    mx_groups_use(prelude);
}

bool mx_metal_is_used(void) { return metal.is_on; }

int mx_metal_usable(void) { return mx_metal_is_there(); }

void mx_metal_count(struct mx_metal_counts *out)
{
    *out = metal.counts;
    out->rejected = mx_groups_rejected();
    mx_metal_add_counts(out);
}

/* -- What is taken ----------------------------------------------------------------- */

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

static bool suits(const struct mx_instruction *in)
{
    if (in->kind == MX_KERNEL)
        return true;
    int64_t n = mx_element_count(in);
    bool is_wanted =
        in->device == MX_DEVICE || (in->device == MX_ANYWHERE && n >= metal.threshold);
    return metal.is_on && is_wanted && n < UINT32_MAX && mx_step_is_possible(in);
}

static bool is_possible(const struct mx_group *group, const struct mx_instruction *instructions)
{
    if (!group->is_for_device || !mx_metal_is_there() ||
        !mx_dispatch_can_bind(group, COPIED_BYTES) || !mx_batch_has_room(group->n_steps))
        return false;
    for (int s = 0; s < group->n_steps; s++)
        if (has_odd_bools(group, &instructions[group->steps[s].instruction], &group->steps[s]))
            return false;
    return true;
}

/* -- Failures ---------------------------------------------------------------------- */

/* A failure is told of at the wait, as those of the device are, and nothing is tried again. */
static void put_off(void)
{
    if (metal.failure == MX_OK)
        snprintf(metal.failure_words, sizeof metal.failure_words, "%s", mx_error_message());
    metal.failure = MX_ERROR_DEVICE;
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

/* -- Running ----------------------------------------------------------------------- */

/* The first passes of a group that is not gone on with must not run after whoever takes it
 * instead, and have told nothing. */
static int encode(const struct mx_group *group, struct mx_instruction *instructions)
{
    struct mx_words words;
    int n_words = mx_batch_word_count();
    int64_t before = encoded();
    mx_batch_give_words(&words, group, instructions);
    int status = mx_groups_encode(group, instructions, &words);
    if (status == MX_OK)
        return MX_OK;
    if (encoded() > before && mx_metal_wait() != MX_OK)
        put_off();
    mx_batch_take_back(n_words);
    return status;
}

static int run(struct mx_group *group, struct mx_instruction *instructions,
               bool (*interrupted)(void))
{
    (void)interrupted; /* what was encoded runs to its end */
    struct mx_instruction *in = &instructions[group->steps[0].instruction];
    bool is_launch = in->kind == MX_KERNEL;
    if (is_launch && mx_batch_has_checks())
        return MX_INTERRUPTED; /* it does not look at words: checks before it are waited for */
    if (!is_launch && !metal.is_on && !mx_batch_is_begun())
        return MX_DECLINED;
    int status = mx_batch_begin();
    if (status != MX_OK)
        return status;
    if (is_launch && !mx_metal_is_there())
        return end_launch(in, mx_launch_check(in->launch));
    if (is_launch)
        status = end_launch(in, mx_launch_run(group, in));
    else
        status = is_possible(group, instructions) ? encode(group, instructions) : MX_DECLINED;
    if (status != MX_OK) {
        metal.counts.declined++;
        return status;
    }
    mx_batch_add(group);
    metal.counts.groups++;
    group->threads = 0;
    return MX_OK;
}

static int finish(void)
{
    if (!mx_batch_is_begun())
        return MX_OK;
    int status = mx_metal_wait();
    if (status == MX_OK)
        mx_batch_read();
    if (status == MX_OK && metal.failure_words[0]) {
        mx_fail(MX_ERROR_DEVICE, "%s", metal.failure_words); /* also of a launch alone */
        status = metal.failure;
    }
    metal.failure = MX_OK;
    metal.failure_words[0] = 0;
    mx_batch_end();
    return status;
}

const struct mx_backend mx_metal_backend = {
    .name = "metal", .suits = suits, .run = run, .finish = finish};
