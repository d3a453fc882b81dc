/* outside.c -- memory outside the pool that kernels of a device with its own memory use. */
#include "gpu/outside.h"

#include "memory/coherence.h"

#define MAX_RANGES 256
#define ALIGNMENT  16 /* of the vectors that kernels load */

struct range {
    struct mx_buffer *buffer;
    const char *data;
    size_t size;
    bool is_written;
};

static struct range ranges[MAX_RANGES];
static int n_ranges;

bool mx_outside_is_aligned(const char *data, size_t size)
{
    return mx_coherence_is_on() && size > 0 && (uintptr_t)data % ALIGNMENT == 0;
}

static struct range range_of(const struct mx_view *view)
{
    return (struct range){.data = (const char *)view->low,
                          .size = (size_t)(view->high - view->low),
                          .is_written = view->is_written};
}

/* Whether two ranges would be two buffers with the same bytes, some of which are written. */
static bool collide(const struct range *a, const struct range *b)
{
    bool are_apart = a->data + a->size <= b->data || b->data + b->size <= a->data;
    bool are_same = a->data == b->data && a->size == b->size;
    return !are_apart && !are_same && (a->is_written || b->is_written);
}

static bool collides_with_others(const struct range *range, const struct mx_group *group)
{
    for (int v = 0; v < group->n_views; v++) {
        struct range other = range_of(&group->views[v]);
        if (!group->views[v].buffer && collide(range, &other))
            return true;
    }
    for (int i = 0; i < n_ranges; i++)
        if (collide(range, &ranges[i]))
            return true;
    return false;
}

bool mx_outside_can_bind(const struct mx_group *group)
{
    int n = n_ranges;
    for (int v = 0; v < group->n_views; v++) {
        struct range range = range_of(&group->views[v]);
        if (group->views[v].buffer || range.size == 0)
            continue;
        bool can_write = mx_outside_is_aligned(range.data, range.size) && ++n <= MAX_RANGES;
        if ((range.is_written && !can_write) || collides_with_others(&range, group))
            return false;
    }
    return true;
}

static struct range *outside_find(const char *data, size_t size)
{
    for (int i = 0; i < n_ranges; i++)
        if (ranges[i].data == data && ranges[i].size == size)
            return &ranges[i];
    return NULL;
}

struct mx_buffer *mx_outside_find(const char *data, size_t size)
{
    const struct range *range = outside_find(data, size);
    return range ? range->buffer : NULL;
}

struct mx_buffer *mx_outside_get(const char *data, size_t size, bool is_written)
{
    struct range *range = outside_find(data, size);
    if (!range) {
        struct mx_buffer *buffer = mx_buffer_borrow((char *)(uintptr_t)data, size);
        if (!buffer)
            return NULL;
        range = &ranges[n_ranges++];
        *range = (struct range){.buffer = buffer, .data = data, .size = size};
    }
    range->is_written |= is_written;
    return range->buffer;
}

int mx_outside_end(void)
{
    int status = MX_OK;
    while (n_ranges > 0) {
        char *data;
        struct mx_buffer *buffer = ranges[--n_ranges].buffer;
        int copied = mx_coherence_read(buffer, &data);
        status = status == MX_OK ? copied : status;
        mx_buffer_release(buffer);
    }
    return status;
}
