/* batch.c -- the groups that have begun since the last wait, and their status words. */
#include "gpu/batch.h"

#include <string.h>

#include "gpu/steps.h"
#include "memory/coherence.h"

#define MAX_WORDS 4096
#define FAILED    16 /* MX_FAILED of the kernels' prelude */

/* The contents of the buffer: see MX_STATUS_WORDS of the prelude. */
struct words {
    uint32_t words[MAX_WORDS];
    volatile uint32_t *flag; /* a word of the host that is not 0 if there are reports */
};

static struct {
    struct mx_buffer *buffer;                    /* reused by the next batch */
    bool is_zero;                                /* all of it, before the batch */
    volatile uint32_t *flag;                     /* NULL: the words have to be read */
    bool is_prepared;                            /* kernels of the batch may write it */
    int n_words;                                 /* 0: no batch has begun */
    struct mx_instruction *reporting[MAX_WORDS]; /* the instruction of each word */
    int64_t n_groups;                            /* that have begun */
    bool has_checks;                             /* in one of them */
} batch;

int mx_batch_begin(void)
{
    if (batch.n_words)
        return MX_OK;
    batch.n_words = 1;
    batch.n_groups = 0;
    batch.has_checks = false;
    return MX_OK;
}

bool mx_batch_is_begun(void) { return batch.n_words > 0; }

bool mx_batch_has_checks(void) { return batch.n_words > 0 && batch.has_checks; }

bool mx_batch_has_room(int n_steps) { return batch.n_words + n_steps < MAX_WORDS; }

static int renew_words(void)
{
    static struct words blank;
    const struct mx_driver *driver = mx_device_used()->driver;
    if (batch.buffer)
        mx_buffer_release(batch.buffer);
    blank.flag = batch.flag = driver->shared_word ? driver->shared_word() : NULL;
    if (batch.flag)
        *batch.flag = 0;
    batch.buffer = mx_coherence_new_copy((const char *)&blank, sizeof blank, 0);
    return batch.buffer ? MX_OK : MX_ERROR_MEMORY;
}

int mx_batch_prepare_words(struct mx_buffer **buffer)
{
    int status = MX_OK;
    if (!batch.is_prepared && !batch.is_zero)
        status = renew_words();
    batch.is_prepared |= status == MX_OK;
    batch.is_zero &= !batch.is_prepared;
    *buffer = batch.buffer;
    return status;
}

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
    if (batch.n_words > n_words && batch.is_prepared &&
        mx_coherence_write(batch.buffer, true, &data) == MX_OK)
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
    static int words[MAX_WORDS];
    bool is_zero = true;
    if (!batch.is_prepared)
        return MX_OK;
    if (batch.flag && *batch.flag == 0) {
        batch.is_zero = true;
        return MX_OK;
    }
    size_t size = batch.n_words > 1 ? (size_t)batch.n_words * sizeof *words : 0;
    int status = size ? mx_coherence_peek(batch.buffer, words, size) : MX_OK;
    if (status != MX_OK)
        return status;
    for (int w = 1; w < batch.n_words; w++) {
        struct mx_instruction *in = batch.reporting[w];
        int reported = words[w];
        is_zero &= reported == 0;
        if (reported & FAILED)
            atomic_store(&in->is_failed, true);
        if (reported & in->fpe_mask)
            atomic_fetch_or(&in->fpe_flags, reported & in->fpe_mask);
    }
    batch.is_zero = is_zero;
    return MX_OK;
}

void mx_batch_end(void)
{
    batch.n_words = 0;
    batch.is_prepared = false;
}
