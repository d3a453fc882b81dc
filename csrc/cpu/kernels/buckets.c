/* buckets.c -- moves elements into buckets, on all threads. */
#include "cpu/kernels/buckets.h"

#include <string.h>

#include "base/error.h"
#include "cpu/threads/thread_pool.h"
#include "memory/pool.h"

#define CHUNK  16384 /* elements that a thread moves at a time */
#define PICKED 256   /* elements of a sample that are picked together */

static intptr_t n_chunks_of(const struct mx_buckets *buckets)
{
    return (buckets->end - buckets->begin + CHUNK - 1) / CHUNK;
}

static intptr_t chunk_begin(const struct mx_buckets *buckets, size_t chunk)
{
    intptr_t begin = buckets->begin + (intptr_t)chunk * CHUNK;
    return begin < buckets->end ? begin : buckets->end;
}

struct mx_block *mx_buckets_take_memory(struct mx_buckets *buckets)
{
    const size_t n = (size_t)(buckets->end - buckets->begin), item = buckets->itemsize;
    const size_t lanes = (size_t)n_chunks_of(buckets) * MX_SORT_LANES;
    const size_t counts = lanes * MX_MOST_BUCKETS * sizeof *buckets->counts;
    const size_t positions = buckets->positions ? n * sizeof *buckets->positions : 0;
    struct mx_block *block = mx_pool_take(counts + positions + n * (item + 1));
    if (!block)
        return NULL;
    char *memory = mx_pool_data(block);
    buckets->counts = (void *)memory;
    buckets->positions_to = (void *)(memory + counts);
    buckets->elements_to = memory + counts + positions;
    buckets->numbers = (uint8_t *)buckets->elements_to + n * item;
    return block;
}

/* -- Splitters ----------------------------------------------------------------------- */

/* Sorts a sample where elements move to.  Returns a status. */
static int sort_sample(const struct mx_buckets *buckets, int n_samples)
{
    char *sample = mx_buckets_at(buckets, buckets->elements_to, buckets->begin);
    const double step = (double)(buckets->end - buckets->begin) / n_samples;
    for (int first = 0; first < n_samples; first += PICKED) {
        int64_t picked[PICKED];
        for (int i = 0; i < PICKED; i++) { /* elements may repeat at equal distances */
            double part = (double)((first + i) * 389 % n_samples) / n_samples;
            picked[i] = buckets->begin + (intptr_t)((first + i + part) * step);
        }
        buckets->kernels->take(buckets->elements, picked, PICKED,
                               mx_buckets_at(buckets, sample, first));
    }
    if (buckets->sort(sample, n_samples, buckets->array) < 0)
        return mx_fail(MX_ERROR_MEMORY, "unable to sort a sample");
    return MX_OK;
}

int mx_buckets_choose(struct mx_buckets *buckets, int n_samples, const int *ranks, int n_ranks)
{
    MX_ASSERT(n_samples % PICKED == 0 && n_samples < buckets->end - buckets->begin);
    int status = sort_sample(buckets, n_samples);
    const char *sample = mx_buckets_at(buckets, buckets->elements_to, buckets->begin);
    char *splitter = buckets->splitters;
    buckets->n_splitters = 0;
    for (int i = 0; i < n_ranks && status == MX_OK; i++) {
        const char *element = sample + (size_t)ranks[i] * buckets->itemsize;
        if (!buckets->kernels->is_number(element))
            break; /* the others are NaN too */
        if (i > 0 && memcmp(splitter - buckets->itemsize, element, buckets->itemsize) == 0)
            continue;
        memcpy(splitter, element, buckets->itemsize);
        splitter += buckets->itemsize;
        buckets->n_splitters++;
    }
    return status;
}

/* -- Passes -------------------------------------------------------------------------- */

/* The lanes of a chunk have counts of their own, so that none waits for the count before. */
static intptr_t *counts_of(const struct mx_buckets *buckets, size_t chunk)
{
    return buckets->counts + chunk * MX_SORT_LANES * (size_t)mx_buckets_count(buckets);
}

static void classify_chunk(void *job, size_t chunk, int thread)
{
    (void)thread;
    const struct mx_buckets *buckets = job;
    const int n_buckets = mx_buckets_count(buckets);
    intptr_t begin = chunk_begin(buckets, chunk), n = chunk_begin(buckets, chunk + 1) - begin;
    intptr_t *counts = counts_of(buckets, chunk), in_lane = n / MX_SORT_LANES;
    uint8_t *numbers = buckets->numbers + begin;
    buckets->kernels->classify(mx_buckets_at(buckets, buckets->elements, begin), n,
                               buckets->splitters, buckets->n_splitters, numbers);
    memset(counts, 0, MX_SORT_LANES * (size_t)n_buckets * sizeof *counts);
    for (intptr_t i = 0; i < in_lane; i++)
        for (int lane = 0; lane < MX_SORT_LANES; lane++)
            counts[lane * n_buckets + numbers[lane * in_lane + i]]++;
    for (intptr_t i = MX_SORT_LANES * in_lane; i < n; i++)
        counts[(MX_SORT_LANES - 1) * n_buckets + numbers[i]]++;
}

static void move_chunk(void *job, size_t chunk, int thread)
{
    (void)thread;
    const struct mx_buckets *buckets = job;
    intptr_t begin = chunk_begin(buckets, chunk), n = chunk_begin(buckets, chunk + 1) - begin;
    struct mx_sort_move move = {
        .elements = mx_buckets_at(buckets, buckets->elements, begin),
        .places = buckets->positions ? buckets->positions + begin : NULL,
        .buckets = buckets->numbers + begin,
        .n_buckets = mx_buckets_count(buckets),
        .to = counts_of(buckets, chunk),
        .elements_to = buckets->elements_to,
        .places_to = buckets->positions_to,
    };
    buckets->kernels->distribute(&move, n);
}

/* Turns counts into where the elements of each lane and bucket go. */
static void add_counts(struct mx_buckets *buckets, intptr_t *ends)
{
    const intptr_t n_buckets = mx_buckets_count(buckets);
    const intptr_t n_counts = n_chunks_of(buckets) * MX_SORT_LANES * n_buckets;
    intptr_t to = buckets->begin;
    for (intptr_t bucket = 0; bucket < n_buckets; bucket++) {
        for (intptr_t i = bucket; i < n_counts; i += n_buckets) {
            intptr_t count = buckets->counts[i];
            buckets->counts[i] = to;
            to += count;
        }
        ends[bucket] = to;
    }
    MX_ASSERT(to == buckets->end);
}

void mx_buckets_divide(struct mx_buckets *buckets, intptr_t *ends)
{
    const struct mx_chunks chunks = {0, (size_t)n_chunks_of(buckets)};
    mx_thread_pool_run(classify_chunk, buckets, chunks, mx_thread_pool_size(), NULL);
    add_counts(buckets, ends);
    mx_thread_pool_run(move_chunk, buckets, chunks, mx_thread_pool_size(), NULL);
}
