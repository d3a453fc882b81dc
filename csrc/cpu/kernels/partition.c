/* partition.c -- moves the elements that a sort would put at some places there, on all threads.
 *
 * A sorted sample has elements that are a little less and a little greater than the one that
 * belongs to a place.  These splitters divide a range of the row into buckets: the elements
 * between two splitters, and those equal to one.  Only the bucket around a place is divided
 * again, or sorted if it is small.
 */
#include "cpu/kernels/partition.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "cpu/kernels/sort_kernels.h"
#include "cpu/threads/thread_pool.h"
#include "memory/pool.h"

#define CHUNK       32768 /* elements that a thread moves at a time */
#define SORTED      2048  /* elements; shorter ranges are sorted */
#define SAMPLES     1024
#define DEVIATIONS  3 /* by which the ranks of two splitters differ from that of a place */
#define MOST_LEVELS 6 /* then a range is sorted, whatever its length */

struct range {
    const struct mx_partition *partition;
    const struct mx_sort_kernels *kernels;
    size_t itemsize;
    char *elements, *elements_to; /* of the row */
    int64_t *positions, *positions_to;
    uint8_t *buckets; /* of the elements of the row */
    intptr_t begin, end;
    char splitters[MX_MOST_SPLITTERS * 8];
    int n_splitters;
    intptr_t (*counts)[MX_MOST_BUCKETS]; /* of each chunk; then where its elements go */
};

bool mx_partition_has(int dtype) { return mx_sort_kernels_of(dtype)->classify != NULL; }

static char *partition_at(const struct range *range, char *elements, intptr_t i)
{
    return elements + (size_t)i * range->itemsize;
}

static intptr_t n_chunks_of(const struct range *range)
{
    return (range->end - range->begin + CHUNK - 1) / CHUNK;
}

static intptr_t chunk_begin(const struct range *range, size_t chunk)
{
    intptr_t begin = range->begin + (intptr_t)chunk * CHUNK;
    return begin < range->end ? begin : range->end;
}

/* -- Passes over a range ------------------------------------------------------------- */

static void classify_chunk(void *job, size_t chunk, int thread)
{
    (void)thread;
    const struct range *range = job;
    intptr_t begin = chunk_begin(range, chunk), end = chunk_begin(range, chunk + 1);
    intptr_t *counts = range->counts[chunk];
    range->kernels->classify(partition_at(range, range->elements, begin), end - begin,
                             range->splitters, range->n_splitters, range->buckets + begin);
    memset(counts, 0, sizeof range->counts[chunk]);
    for (intptr_t i = begin; i < end; i++)
        counts[range->buckets[i]]++;
}

static void move_chunk(void *job, size_t chunk, int thread)
{
    (void)thread;
    const struct range *range = job;
    intptr_t begin = chunk_begin(range, chunk), end = chunk_begin(range, chunk + 1);
    range->kernels->distribute(partition_at(range, range->elements, begin), end - begin,
                               range->buckets + begin, range->counts[chunk], range->elements_to,
                               range->positions ? range->positions + begin : NULL,
                               range->positions_to);
}

static void copy_chunk(void *job, size_t chunk, int thread)
{
    (void)thread;
    const struct range *range = job;
    intptr_t begin = chunk_begin(range, chunk), end = chunk_begin(range, chunk + 1);
    memcpy(partition_at(range, range->elements, begin),
           partition_at(range, range->elements_to, begin),
           (size_t)(end - begin) * range->itemsize);
    if (range->positions)
        memcpy(range->positions + begin, range->positions_to + begin,
               (size_t)(end - begin) * sizeof *range->positions);
}

static void partition_run(mx_chunk_function function, struct range *range)
{
    mx_thread_pool_run(function, range, (struct mx_chunks){0, (size_t)n_chunks_of(range)},
                       mx_thread_pool_size(), NULL);
}

/* Turns counts into where the elements of each chunk and bucket go.  Sets where buckets end. */
static void add_counts(struct range *range, intptr_t *ends)
{
    intptr_t to = range->begin;
    for (int bucket = 0; bucket <= 2 * range->n_splitters; bucket++) {
        for (intptr_t chunk = 0; chunk < n_chunks_of(range); chunk++) {
            intptr_t count = range->counts[chunk][bucket];
            range->counts[chunk][bucket] = to;
            to += count;
        }
        ends[bucket] = to;
    }
    MX_ASSERT(to == range->end);
}

/* -- Splitters ----------------------------------------------------------------------- */

/* Adds the rank of a splitter, unless it is that of one or there is none with it. */
static int add_rank(int *ranks, int n, double rank)
{
    int r = (int)rank;
    if (rank < 0 || r >= SAMPLES || (n > 0 && ranks[n - 1] >= r))
        return n;
    ranks[n] = r;
    return n + 1;
}

/* Finds splitters around the places.  Returns a status. */
static int find_splitters(struct range *range, const intptr_t *places, int n_places)
{
    char sample[SAMPLES * 8];
    int64_t picked[SAMPLES];
    int ranks[MX_MOST_SPLITTERS], n = 0;
    const double size = (double)(range->end - range->begin);
    for (int i = 0; i < SAMPLES; i++) /* not at equal distances: elements may repeat in them */
        picked[i] = range->begin +
                    (intptr_t)((i + (double)(i * 389 % SAMPLES) / SAMPLES) * size / SAMPLES);
    range->kernels->take(range->elements, picked, SAMPLES, sample);
    if (range->partition->sort(sample, SAMPLES, range->partition->array) < 0)
        return mx_fail(MX_ERROR_MEMORY, "unable to sort a sample");
    if (2 * n_places > MX_MOST_SPLITTERS)
        for (int i = 1; i <= MX_MOST_SPLITTERS; i++)
            n = add_rank(ranks, n, (double)i * SAMPLES / (MX_MOST_SPLITTERS + 1));
    else
        for (int i = 0; i < n_places; i++) {
            double part = ((double)(places[i] - range->begin) + 0.5) / size;
            double margin = 2 + DEVIATIONS * sqrt(SAMPLES * part * (1 - part));
            n = add_rank(ranks, n, part * SAMPLES - margin);
            n = add_rank(ranks, n, part * SAMPLES + margin);
        }
    range->n_splitters = 0;
    for (int i = 0; i < n; i++) {
        const char *splitter = sample + (size_t)ranks[i] * range->itemsize;
        char *last = range->splitters + (size_t)range->n_splitters * range->itemsize;
        if (!range->kernels->is_number(splitter))
            break; /* the others are NaN too */
        if (range->n_splitters > 0 &&
            memcmp(last - range->itemsize, splitter, range->itemsize) == 0)
            continue;
        memcpy(last, splitter, range->itemsize);
        range->n_splitters++;
    }
    return MX_OK;
}

/* -- Ranges ---------------------------------------------------------------------------- */

static int sort_range(const struct range *range)
{
    const struct mx_partition *partition = range->partition;
    const intptr_t n = range->end - range->begin;
    char *elements = partition_at(range, range->elements, range->begin);
    int status;
    if (!range->positions)
        status = partition->sort(elements, n, partition->array);
    else {
        int64_t *order = range->positions_to + range->begin;
        char *elements_to = partition_at(range, range->elements_to, range->begin);
        for (intptr_t i = 0; i < n; i++)
            order[i] = i;
        status = partition->argsort(elements, (intptr_t *)order, n, partition->array);
        range->kernels->take(elements, order, n, elements_to);
        memcpy(elements, elements_to, (size_t)n * range->itemsize);
        for (intptr_t i = 0; i < n; i++)
            order[i] = range->positions[range->begin + order[i]];
        memcpy(range->positions + range->begin, order, (size_t)n * sizeof *order);
    }
    return status < 0 ? mx_fail(MX_ERROR_MEMORY, "unable to sort a part") : MX_OK;
}

/* Partitions elements begin..end-1 of the row at places among them.  Returns a status. */
static int partition_divide(struct range *range, intptr_t begin, intptr_t end,
                            const intptr_t *places, int n_places, int level)
{
    intptr_t ends[MX_MOST_BUCKETS];
    range->begin = begin;
    range->end = end;
    if (end - begin <= SORTED || level == MOST_LEVELS)
        return sort_range(range);
    int status = find_splitters(range, places, n_places);
    if (status != MX_OK || range->n_splitters == 0)
        return status == MX_OK ? sort_range(range) : status;
    partition_run(classify_chunk, range);
    add_counts(range, ends);
    partition_run(move_chunk, range);
    partition_run(copy_chunk, range);
    const int n_buckets = 2 * range->n_splitters + 1;
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
    const intptr_t n = partition->n;
    struct range range = {
        .partition = partition,
        .kernels = mx_sort_kernels_of(partition->dtype),
        .itemsize = mx_itemsizes[partition->dtype],
        .elements = partition->elements,
        .positions = partition->positions,
        .end = n,
    };
    size_t item = range.itemsize, place = partition->positions ? sizeof(int64_t) : 0;
    size_t counts = (size_t)n_chunks_of(&range) * sizeof *range.counts;
    struct mx_block *block = mx_pool_take(counts + (size_t)n * (place + item + 1));
    if (!block)
        return mx_fail(MX_ERROR_MEMORY, "unable to hold what is partitioned");
    char *memory = mx_pool_data(block);
    range.counts = (void *)memory;
    range.positions_to = (void *)(memory + counts);
    range.elements_to = memory + counts + (size_t)n * place;
    range.buckets = (uint8_t *)range.elements_to + (size_t)n * item;
    for (intptr_t i = 0; partition->positions && i < n; i++)
        partition->positions[i] = i;
    int status = partition_divide(&range, 0, n, partition->places, partition->n_places, 0);
    mx_pool_put(block);
    return status;
}
