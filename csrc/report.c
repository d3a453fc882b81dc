/* report.c -- what the last flush did. */
#include "report.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define MAX_ROWS 256

static struct {
    pthread_mutex_t lock;
    int count;
    struct mx_group_row rows[MAX_ROWS];
} report = {.lock = PTHREAD_MUTEX_INITIALIZER};

void mx_report_begin(void)
{
    pthread_mutex_lock(&report.lock);
    report.count = 0;
    pthread_mutex_unlock(&report.lock);
}

/* Bytes that a view covers in memory. */
static size_t view_size(const struct mx_group *group, const struct mx_view *view)
{
    size_t size = (size_t)view->itemsize;
    for (int i = 0; i < group->ndim; i++)
        if (view->strides[i] != 0)
            size *= (size_t)group->shape[i];
    return size;
}

void mx_report_add(const struct mx_group *group, const struct mx_instruction *instructions,
                   int64_t nanoseconds)
{
    pthread_mutex_lock(&report.lock);
    if (report.count < MAX_ROWS) {
        struct mx_group_row *row = &report.rows[report.count++];
        *row = (struct mx_group_row){.n_operations = group->n_steps,
                                     .ndim = group->ndim,
                                     .n_threads = group->threads,
                                     .nanoseconds = nanoseconds};
        memcpy(row->shape, group->shape, (size_t)group->ndim * sizeof *row->shape);
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
    pthread_mutex_unlock(&report.lock);
}

int mx_report_get(int number, struct mx_group_row *out)
{
    pthread_mutex_lock(&report.lock);
    bool exists = number >= 0 && number < report.count;
    if (exists)
        *out = report.rows[number];
    pthread_mutex_unlock(&report.lock);
    return exists;
}
