/* batch.c -- the groups that have begun since the last wait, and their status words. */
#include "gpu/batch.h"

#include <string.h>

#include "gpu/steps.h"
#include "memory/coherence.h"

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

int mx_batch_begin(void)
{
    if (batch.n_words)
        return MX_OK;
    if (!batch.buffer)
        batch.buffer = mx_buffer_new(MAX_WORDS * sizeof(uint32_t));
    if (!batch.buffer)
        return MX_ERROR_MEMORY;
    char *data;
    int status = mx_coherence_write(batch.buffer, false, &data);
    if (status != MX_OK)
        return status;
    memset(data, 0, MAX_WORDS * sizeof(uint32_t));
    *(uint32_t *)(void *)data = NOTHING_FAILED;
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
    char *data;
    size_t used = (size_t)n_words * sizeof(uint32_t);
    /* If the device fails here, the wait reports it. */
    if (batch.n_words > n_words && mx_coherence_write(batch.buffer, true, &data) == MX_OK)
        memset(data + used, 0, (size_t)batch.n_words * sizeof(uint32_t) - used);
    batch.n_words = n_words;
}

void mx_batch_add(const struct mx_group *group)
{
    batch.n_groups++;
    batch.has_checks |= group->has_check;
}

int mx_batch_read(void)
{
    char *data;
    int status = batch.n_words > 1 ? mx_coherence_read(batch.buffer, &data) : MX_OK;
    if (status != MX_OK)
        return status;
    for (int w = 1; w < batch.n_words; w++) {
        struct mx_instruction *in = batch.reporting[w];
        int reported = ((const int *)(const void *)data)[w];
        if (reported & FAILED)
            atomic_store(&in->is_failed, true);
        if (reported & in->fpe_mask)
            atomic_fetch_or(&in->fpe_flags, reported & in->fpe_mask);
    }
    return MX_OK;
}

void mx_batch_end(void) { batch.n_words = 0; }
