/* partition.c -- moves the elements that a sort would put at some places there, on all threads.
 *
 * Splitters a little less and a little greater than the element that belongs to a place divide
 * a range of the row into buckets.  Only the bucket around a place is divided again, or sorted
 * if it is small.
 */
#include "cpu/kernels/partition.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "cpu/kernels/buckets.h"
#include "cpu/kernels/sort.h"
#include "cpu/threads/thread_pool.h"
#include "memory/pool.h"

#define COPIED         32768 /* elements that a thread copies at a time */
#define SORTED         2048  /* elements; shorter ranges are sorted */
#define SAMPLES        1024
#define MOST_SPLITTERS 15
#define DEVIATIONS     3 /* standard deviations from the rank of a place to its splitters */
#define MOST_LEVELS    6 /* then a range is sorted, whatever its length */

struct range {
    const struct mx_partition *partition;
    struct mx_buckets buckets; /* of the elements begin..end-1 of the row */
};

bool mx_partition_has(int dtype)
{
    return mx_sort_has(dtype) && dtype != MX_DTYPE_float16 && !mx_dtype_is_complex(dtype);
}

static void copy_chunk(void *job, size_t chunk, int thread)
{
    (void)thread;
    const struct mx_buckets *buckets = job;
    intptr_t begin = buckets->begin + (intptr_t)chunk * COPIED, end = begin + COPIED;
    end = end < buckets->end ? end : buckets->end;
    memcpy(mx_buckets_at(buckets, buckets->elements, begin),
           mx_buckets_at(buckets, buckets->elements_to, begin),
           (size_t)(end - begin) * buckets->itemsize);
    if (buckets->positions)
        memcpy(buckets->positions + begin, buckets->positions_to + begin,
               (size_t)(end - begin) * sizeof *buckets->positions);
}

/* Adds the rank of a splitter, unless it is that of one or there is none with it. */
static int add_rank(int *ranks, int n, double rank)
{
    int r = (int)rank;
    if (rank < 0 || r >= SAMPLES || (n > 0 && ranks[n - 1] >= r))
        return n;
    ranks[n] = r;
    return n + 1;
}

/* Sets the ranks of splitters around the places.  Returns their number. */
static int find_ranks(const struct mx_buckets *buckets, const intptr_t *places, int n_places,
                      int *ranks)
{
    const double size = (double)(buckets->end - buckets->begin);
    int n = 0;
    if (2 * n_places > MOST_SPLITTERS)
        for (int i = 1; i <= MOST_SPLITTERS; i++)
            n = add_rank(ranks, n, (double)i * SAMPLES / (MOST_SPLITTERS + 1));
    else
        for (int i = 0; i < n_places; i++) {
            double part = ((double)(places[i] - buckets->begin) + 0.5) / size;
            double margin = 2 + DEVIATIONS * sqrt(SAMPLES * part * (1 - part));
            n = add_rank(ranks, n, part * SAMPLES - margin);
            n = add_rank(ranks, n, part * SAMPLES + margin);
        }
    return n;
}

static int sort_range(const struct range *range)
{
    const struct mx_partition *partition = range->partition;
    const struct mx_buckets *buckets = &range->buckets;
    const intptr_t begin = buckets->begin, n = buckets->end - begin;
    char *elements = mx_buckets_at(buckets, buckets->elements, begin);
    int status;
    if (!buckets->positions)
        status = partition->sort(elements, n, partition->array);
    else {
        int64_t *order = buckets->positions_to + begin, *positions = buckets->positions + begin;
        char *elements_to = mx_buckets_at(buckets, buckets->elements_to, begin);
        for (intptr_t i = 0; i < n; i++)
            order[i] = i;
        status = partition->argsort(elements, (intptr_t *)order, n, partition->array);
        buckets->kernels->take(elements, order, n, elements_to);
        memcpy(elements, elements_to, (size_t)n * buckets->itemsize);
        for (intptr_t i = 0; i < n; i++)
            order[i] = positions[order[i]];
        memcpy(positions, order, (size_t)n * sizeof *order);
    }
    return status < 0 ? mx_fail(MX_ERROR_MEMORY, "unable to sort a part") : MX_OK;
}

/* Partitions elements begin..end-1 of the row at places among them.  Returns a status. */
static int partition_divide(struct range *range, intptr_t begin, intptr_t end,
                            const intptr_t *places, int n_places, int level)
{
    struct mx_buckets *buckets = &range->buckets;
    intptr_t ends[MX_MOST_BUCKETS];
    int ranks[MOST_SPLITTERS];
    buckets->begin = begin;
    buckets->end = end;
    if (end - begin <= SORTED || level == MOST_LEVELS)
        return sort_range(range);
    int n_ranks = find_ranks(buckets, places, n_places, ranks);
    int status = mx_buckets_choose(buckets, SAMPLES, ranks, n_ranks);
    if (status != MX_OK || buckets->n_splitters == 0)
        return status == MX_OK ? sort_range(range) : status;
    mx_buckets_divide(buckets, ends);
    const struct mx_chunks copied = {0, (size_t)(end - begin + COPIED - 1) / COPIED};
    mx_thread_pool_run(copy_chunk, buckets, copied, mx_thread_pool_size(), NULL);
    const int n_buckets = mx_buckets_count(buckets);
    for (int bucket = 0; bucket < n_buckets && status == MX_OK; bucket++) {
        int n = 0;
        while (n < n_places && places[n] < ends[bucket])
            n++;
        if (n > 0 && bucket % 2 == 0) /* otherwise all are equal */
            status = partition_divide(range, bucket ? ends[bucket - 1] : begin, ends[bucket],
                                      places, n, level + 1);
        places += n;
        n_places -= n;
    }
    return status;
}

int mx_partition_row(const struct mx_partition *partition)
{
    struct range range = {
        .partition = partition,
        .buckets = {.kernels = mx_sort_kernels_of(partition->dtype),
                    .itemsize = mx_itemsizes[partition->dtype],
                    .sort = partition->sort,
                    .array = partition->array,
                    .elements = partition->elements,
                    .positions = partition->positions,
                    .end = partition->n},
    };
    struct mx_block *block = mx_buckets_take_memory(&range.buckets);
    if (!block)
        return mx_fail(MX_ERROR_MEMORY, "unable to hold what is partitioned");
    for (intptr_t i = 0; partition->positions && i < partition->n; i++)
        partition->positions[i] = i;
    int status =
        partition_divide(&range, 0, partition->n, partition->places, partition->n_places, 0);
    mx_pool_put(block);
    return status;
}
