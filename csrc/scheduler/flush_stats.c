/* flush_stats.c -- the record of the last flush, and the costs of its instructions. */
#include "scheduler/flush_stats.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define MAX_ROWS 256

static struct {
    pthread_mutex_t lock;
    int count;
    struct mx_group_row rows[MAX_ROWS];
} record = {.lock = PTHREAD_MUTEX_INITIALIZER};

void mx_flush_stats_begin(void)
{
    pthread_mutex_lock(&record.lock);
    record.count = 0;
    pthread_mutex_unlock(&record.lock);
}

/* Returns the bytes of memory that a pass over a view reads or writes.  For an indexed view
 * these are the bytes of the elements that indices select. */
static size_t view_size(const struct mx_group *group, const struct mx_view *view)
{
    if (view->is_indexed && group->ndim == 0)
        return (size_t)(view->high - view->low);
    size_t size = (size_t)view->itemsize;
    for (int i = 0; i < group->ndim; i++)
        if (view->strides[i] != 0 || view->is_indexed)
            size *= (size_t)group->shape[i];
    return size;
}

void mx_flush_stats_add(const struct mx_group *group, const struct mx_instruction *instructions,
                        int64_t nanoseconds)
{
    pthread_mutex_lock(&record.lock);
    if (record.count < MAX_ROWS) {
        struct mx_group_row *row = &record.rows[record.count++];
        *row = (struct mx_group_row){.n_operations = group->n_steps,
                                     .ndim = group->ndim,
                                     .n_threads = group->threads,
                                     .n_compiled = group->n_compiled,
                                     .nanoseconds = nanoseconds};
        memcpy(row->shape, group->shape, (size_t)group->ndim * sizeof *row->shape);
        _Static_assert(sizeof row->names / sizeof *row->names == MX_MAX_STEPS,
                       "struct mx_group_row of mxnp.h has room for all steps");
        for (int s = 0; s < group->n_steps; s++) {
            const struct mx_instruction *in = &instructions[group->steps[s].instruction];
            row->names[s] = in->name;
            row->kinds[s] = (unsigned char)in->kind;
        }
        for (int v = 0; v < group->n_views; v++) {
            const struct mx_view *view = &group->views[v];
            if (view->is_temporary) {
                row->n_temporaries++;
                continue;
            }
            row->bytes_read +=
                view->is_read && !view->begins_empty ? view_size(group, view) : 0;
            row->bytes_written += view->is_written ? view_size(group, view) : 0;
        }
    }
    pthread_mutex_unlock(&record.lock);
}

int mx_flush_stats_get(int number, struct mx_group_row *out)
{
    pthread_mutex_lock(&record.lock);
    bool exists = number >= 0 && number < record.count;
    if (exists)
        *out = record.rows[number];
    pthread_mutex_unlock(&record.lock);
    return exists;
}

/* -- Costs ------------------------------------------------------------------------- */

/* Adds the bytes of each view in memory to the first step that reads it and to the last one
 * that writes it. */
static void share_bytes(const struct mx_group *group, struct mx_instruction *instructions)
{
    for (int v = 0; v < group->n_views; v++) {
        const struct mx_view *view = &group->views[v];
        struct mx_cost *reader = NULL, *writer = NULL;
        for (int s = 0; s < group->n_steps; s++) {
            struct mx_instruction *in = &instructions[group->steps[s].instruction];
            for (int k = 0; k < mx_operand_count(in); k++) {
                if (group->steps[s].views[k] != v)
                    continue;
                if (k < in->nin && !reader)
                    reader = &in->cost;
                else if (k >= in->nin)
                    writer = &in->cost;
            }
        }
        if (writer && view->is_temporary)
            writer->n_elided++;
        if (reader && !view->is_temporary && !view->begins_empty)
            reader->bytes_read += view_size(group, view);
        if (writer && !view->is_temporary)
            writer->bytes_written += view_size(group, view);
    }
}

void mx_flush_stats_share(const struct mx_group *group, struct mx_instruction *instructions,
                          int64_t begin, int64_t nanoseconds, bool is_on_device)
{
    static int64_t
        last; /* number of the last group; only the thread that holds the stream is here */
    int64_t shared = 0;
    double sampled = 0, all = 0;
    last++;
    for (int s = 0; s < group->n_steps; s++)
        all += (double)instructions[group->steps[s].instruction].cost.nanoseconds;
    for (int s = 0; s < group->n_steps; s++) {
        struct mx_cost *cost = &instructions[group->steps[s].instruction].cost;
        sampled += (double)cost->nanoseconds;
        double part = all > 0 ? sampled / all : (s + 1.0) / group->n_steps;
        int64_t until =
            s + 1 < group->n_steps ? (int64_t)((double)nanoseconds * part) : nanoseconds;
        *cost = (struct mx_cost){
            .group = last,
            .begin = begin,
            .nanoseconds = until - shared,
            .n_together = group->n_steps,
            .is_on_device = is_on_device,
            .is_rematerialized = cost->is_rematerialized,
        };
        shared = until;
    }
    share_bytes(group, instructions);
}
