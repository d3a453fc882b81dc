/* batch.c -- the groups that have begun since the last wait, and their status words. */
#include "gpu/batch.h"

#include <string.h>

#include "gpu/steps.h"
#include "memory/buffer.h"

#define MAX_WORDS      4096
#define NOTHING_FAILED UINT32_MAX
#define FAILED         16 /* MX_FAILED of the kernels' prelude */

static struct {
    struct mx_buffer *buffer;                    /* reused by the next batch */
    int n_words;                                 /* 0: no batch has begun */
    struct mx_instruction *reporting[MAX_WORDS]; /* the instruction of each word */
    int64_t n_groups;                            /* that have begun */
    bool has_checks;                             /* in one of them */
} batch;

static uint32_t *words(void) { return (uint32_t *)(void *)batch.buffer->data; }

int mx_batch_begin(void)
{
    if (batch.n_words)
        return MX_OK;
    if (!batch.buffer)
        batch.buffer = mx_buffer_new_allocated(MAX_WORDS * sizeof(uint32_t));
    if (!batch.buffer)
        return MX_ERROR_MEMORY;
    memset(words(), 0, MAX_WORDS * sizeof(uint32_t));
    words()[0] = NOTHING_FAILED;
    batch.n_words = 1;
    batch.n_groups = 0;
    batch.has_checks = false;
    return MX_OK;
}

bool mx_batch_is_begun(void) { return batch.n_words > 0; }

bool mx_batch_has_checks(void) { return batch.n_words > 0 && batch.has_checks; }

bool mx_batch_has_room(int n_steps) { return batch.n_words + n_steps < MAX_WORDS; }

struct mx_buffer *mx_batch_buffer(void) { return batch.buffer; }

void mx_batch_assign_words(struct mx_status_words *out, const struct mx_group *group,
                           struct mx_instruction *instructions)
{
    *out =
        (struct mx_status_words){.group = batch.n_groups + 1, .is_guarded = batch.has_checks};
    for (int s = 0; s < group->n_steps; s++) {
        struct mx_instruction *in = &instructions[group->steps[s].instruction];
        if (!mx_steps_has_status(in))
            continue;
        out->of_steps[s] = batch.n_words;
        batch.reporting[batch.n_words++] = in;
    }
}

int mx_batch_word_count(void) { return batch.n_words; }

void mx_batch_return_words(int n_words)
{
    memset(words() + n_words, 0, (size_t)(batch.n_words - n_words) * sizeof *words());
    batch.n_words = n_words;
}

void mx_batch_add(const struct mx_group *group)
{
    batch.n_groups++;
    batch.has_checks |= group->has_check;
}

void mx_batch_read(void)
{
    for (int w = 1; w < batch.n_words; w++) {
        struct mx_instruction *in = batch.reporting[w];
        int reported = (int)words()[w];
        if (reported & FAILED)
            atomic_store(&in->is_failed, true);
        if (reported & in->fpe_mask)
            atomic_fetch_or(&in->fpe_flags, reported & in->fpe_mask);
    }
}

void mx_batch_end(void) { batch.n_words = 0; }
