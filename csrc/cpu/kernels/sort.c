/* sort.c -- sorts the rows of an array on several threads, by NumPy's functions. */
#include "cpu/kernels/sort.h"

#include <stdatomic.h>
#include <string.h>

#include "base/axes.h"
#include "base/error.h"
#include "cpu/kernels/buckets.h"
#include "cpu/kernels/counting.h"
#include "cpu/threads/thread_pool.h"
#include "memory/pool.h"

#define CHUNK         4096   /* elements; a chunk of rows has at least as many */
#define PART          32768  /* elements that a thread inspects at a time */
#define LONG_ROW      32768  /* elements; shorter rows are not divided */
#define LINE          64     /* bytes: elements of so many adjacent rows are copied together */
#define LIGHT_ROW     262144 /* elements; shorter rows are inspected by one thread */
#define LEAST_RUN     256    /* elements */
#define LEAST_BUCKETS 32     /* of a long row: smaller ones stay in the caches */
#define BUCKETS       4      /* for each thread, so that all of them end at the same time */
#define SAMPLES       1024
#define LARGE_ROW     524288 /* elements; a larger sample costs little beside them */
#define MORE_SAMPLES  4096
#define MOST_SAMPLES  131072 /* elements among which equal ones are looked for */

const struct mx_sort_kernels *mx_sort_kernels_of(int dtype)
{
    static const struct mx_sort_table *const tables[] = {
#define ISA(name) &mx_sort_table_##name, /* mx_sort_table_base, _v3, _v4 */
        MX_ISAS(ISA)
#undef ISA
    };
    return &tables[mx_isa()]->kernels[dtype];
}

bool mx_sort_has(int dtype) { return mx_sort_kernels_of(dtype)->take != NULL; }

static int fail_memory(void)
{
    return mx_fail(MX_ERROR_MEMORY, "unable to hold what is sorted");
}

/* Takes a block from the pool, which caches blocks.  Returns NULL if there is no memory. */
static char *take_memory(size_t nbytes)
{
    struct mx_block *block = mx_pool_take(nbytes ? nbytes : 1);
    return block ? mx_pool_data(block) : NULL;
}

static void put_memory(char *memory)
{
    if (memory)
        mx_pool_put(mx_pool_block(memory));
}

static void sort_run(mx_chunk_function function, void *job, intptr_t n_chunks)
{
    mx_thread_pool_run(function, job, (struct mx_chunks){0, (size_t)n_chunks},
                       mx_thread_pool_size(), NULL);
}

/* Runs chunks that take less than a nanosecond for an element, n in all: those of short rows on
 * the calling thread. */
static void run_light(mx_chunk_function function, void *job, intptr_t n_chunks, intptr_t n)
{
    int threads = n < LIGHT_ROW ? 1 : mx_thread_pool_size();
    mx_thread_pool_run(function, job, (struct mx_chunks){0, (size_t)n_chunks}, threads, NULL);
}

static void number(int64_t *positions, intptr_t n)
{
    for (intptr_t i = 0; i < n; i++)
        positions[i] = i;
}

/* -- Many rows --------------------------------------------------------------------- */

struct rows {
    const struct mx_sort *sort;
    intptr_t n_rows, rows_per_chunk;
    int together; /* rows that are copied together */
    bool copies_elements, copies_positions;
    char *scratch;
    size_t row_bytes; /* of the scratch memory of a row */
    atomic_int n_failed;
};

/* Copies n elements of several rows to rows without gaps, or back. */
#define COPY(name, type)                                                                \
    static void copy_##name(char *const *rows, int n_rows, intptr_t n, intptr_t stride, \
                            char *packed, size_t row_bytes, bool is_back)               \
    {                                                                                   \
        for (intptr_t i = 0; i < n; i++)                                                \
            for (int row = 0; row < n_rows; row++) {                                    \
                type *element = (type *)(void *)(rows[row] + i * stride);               \
                type *own = (type *)(void *)(packed + (size_t)row * row_bytes) + i;     \
                *(is_back ? element : own) = *(is_back ? own : element);                \
            }                                                                           \
    }
typedef struct {
    uint64_t parts[2];
} uint128;
COPY(1, uint8_t)
COPY(2, uint16_t)
COPY(4, uint32_t)
COPY(8, uint64_t)
COPY(16, uint128)

static void copy(char *const *rows, int n_rows, intptr_t n, intptr_t stride, int itemsize,
                 char *packed, size_t row_bytes, bool is_back)
{
    (itemsize == 1   ? copy_1
     : itemsize == 2 ? copy_2
     : itemsize == 4 ? copy_4
     : itemsize == 8 ? copy_8
                     : copy_16)(rows, n_rows, n, stride, packed, row_bytes, is_back);
}

static char *address(char *data, const struct mx_sort *sort, const intptr_t *strides,
                     intptr_t row)
{
    for (int axis = sort->ndim - 1; axis >= 0; axis--) {
        data += row % sort->shape[axis] * strides[axis];
        row /= sort->shape[axis];
    }
    return data;
}

static int sort_row(const struct mx_sort *sort, char *elements, char *positions)
{
    if (!positions)
        return sort->sort(elements, sort->n, sort->array);
    if (!sort->continues)
        number((int64_t *)(void *)positions, sort->n);
    return sort->argsort(elements, (intptr_t *)(void *)positions, sort->n, sort->array);
}

/* Sorts adjacent rows.  Those with gaps are copied. */
static int sort_together(const struct rows *rows, intptr_t first, int count, char *scratch)
{
    const struct mx_sort *sort = rows->sort;
    const int itemsize = mx_itemsizes[sort->dtype];
    char *elements[LINE], *positions[LINE];
    char *places = scratch + (size_t)rows->together * rows->row_bytes;
    int status = 0;
    for (int i = 0; i < count; i++) {
        elements[i] = address(sort->data, sort, sort->strides, first + i);
        positions[i] = sort->positions
                           ? address(sort->positions, sort, sort->position_strides, first + i)
                           : NULL;
    }
    if (rows->copies_elements)
        copy(elements, count, sort->n, sort->stride, itemsize, scratch, rows->row_bytes, false);
    if (rows->copies_positions && sort->continues)
        copy(positions, count, sort->n, sort->position_stride, 8, places, rows->row_bytes,
             false);
    for (int i = 0; i < count; i++) {
        size_t offset = (size_t)i * rows->row_bytes;
        status |= sort_row(sort, rows->copies_elements ? scratch + offset : elements[i],
                           rows->copies_positions ? places + offset : positions[i]) < 0;
    }
    if (rows->copies_elements && !sort->positions)
        copy(elements, count, sort->n, sort->stride, itemsize, scratch, rows->row_bytes, true);
    if (rows->copies_positions)
        copy(positions, count, sort->n, sort->position_stride, 8, places, rows->row_bytes,
             true);
    return status;
}

static void sort_chunk(void *job, size_t chunk, int thread)
{
    struct rows *rows = job;
    intptr_t row = (intptr_t)chunk * rows->rows_per_chunk, end = row + rows->rows_per_chunk;
    char *scratch =
        rows->scratch + (size_t)thread * 2 * (size_t)rows->together * rows->row_bytes;
    end = end < rows->n_rows ? end : rows->n_rows;
    for (; row < end; row += rows->together) {
        int count = end - row < rows->together ? (int)(end - row) : rows->together;
        if (sort_together(rows, row, count, scratch) != 0)
            rows->n_failed++;
    }
}

static int sort_many(const struct mx_sort *sort, intptr_t n_rows)
{
    const int itemsize = mx_itemsizes[sort->dtype], threads = mx_thread_pool_size();
    struct rows rows = {.sort = sort, .n_rows = n_rows, .together = 1};
    rows.copies_elements = sort->stride != itemsize;
    rows.copies_positions = sort->positions && sort->position_stride != (int)sizeof(int64_t);
    if (rows.copies_elements || rows.copies_positions) {
        intptr_t share = n_rows / threads, most = LINE / itemsize;
        rows.together = (int)(share < 1 ? 1 : share < most ? share : most);
        rows.row_bytes = (size_t)sort->n * (rows.copies_positions ? 8 : (size_t)itemsize);
        if (rows.row_bytes < (size_t)sort->n * (size_t)itemsize)
            rows.row_bytes = (size_t)sort->n * (size_t)itemsize;
        rows.scratch =
            take_memory((size_t)threads * 2 * (size_t)rows.together * rows.row_bytes);
        if (!rows.scratch)
            return fail_memory();
    }
    intptr_t least = (CHUNK + sort->n - 1) / sort->n;
    rows.rows_per_chunk = (least + rows.together - 1) / rows.together * rows.together;
    sort_run(sort_chunk, &rows, (n_rows + rows.rows_per_chunk - 1) / rows.rows_per_chunk);
    put_memory(rows.scratch);
    return rows.n_failed ? fail_memory() : MX_OK;
}

/* -- One long row ------------------------------------------------------------------ */

/* All threads move the elements of a row into buckets, and then sort the buckets. */
struct row {
    const struct mx_sort *sort;
    struct mx_buckets buckets;
    char *scratch; /* of n elements, or NULL */
    intptr_t ends[MX_MOST_BUCKETS];
    atomic_int n_failed; /* buckets without memory */
    atomic_uint found;   /* by comparisons */
    struct mx_sort_finding findings[MX_MAX_THREADS];
};

/* Sets the positions of a part, or takes the elements in their order. */
static void begin_part(void *job, size_t part, int thread)
{
    (void)thread;
    struct row *row = job;
    struct mx_buckets *buckets = &row->buckets;
    intptr_t begin = (intptr_t)part * PART, n = row->sort->n - begin;
    n = n < PART ? n : PART;
    if (row->sort->continues)
        buckets->kernels->take(buckets->elements, buckets->positions + begin, n,
                               mx_buckets_at(buckets, row->scratch, begin));
    else
        for (intptr_t i = begin; i < begin + n; i++)
            buckets->positions[i] = i;
}

/* Sorts the positions of a bucket of equal elements, or of others.  NumPy's function requires
 * that the positions are a permutation of those in the bucket. */
static int argsort_bucket(struct row *row, intptr_t begin, intptr_t n, bool is_equal)
{
    const struct mx_buckets *buckets = &row->buckets;
    const int64_t *moved = buckets->positions_to + begin;
    int64_t *positions = buckets->positions + begin;
    char *elements = mx_buckets_at(buckets, buckets->elements_to, begin);
    int status = 0;
    number(positions, n);
    if (!is_equal)
        status = row->sort->argsort(elements, (intptr_t *)positions, n, row->sort->array);
    if (!row->sort->is_stable && !(row->found & MX_STAYS)) {
        char *sorted = mx_buckets_at(buckets, row->scratch, begin);
        buckets->kernels->take(elements, positions, n, sorted);
        row->found |= buckets->kernels->compare(sorted, n);
    }
    for (intptr_t i = 0; i < n; i++)
        positions[i] = moved[positions[i]];
    return status;
}

static void sort_bucket(void *job, size_t bucket, int thread)
{
    (void)thread;
    struct row *row = job;
    const struct mx_buckets *buckets = &row->buckets;
    const intptr_t begin = bucket ? row->ends[bucket - 1] : 0, n = row->ends[bucket] - begin;
    const bool is_equal = bucket % 2;
    int status = 0;
    if (buckets->positions)
        status = argsort_bucket(row, begin, n, is_equal);
    else {
        char *elements = mx_buckets_at(buckets, buckets->elements, begin);
        memcpy(elements, mx_buckets_at(buckets, buckets->elements_to, begin),
               (size_t)n * buckets->itemsize);
        if (!is_equal)
            status = row->sort->sort(elements, n, row->sort->array);
    }
    row->n_failed += status < 0;
}

/* -- Equal elements ------------------------------------------------------------------ */

static intptr_t n_parts_of(const struct row *row) { return (row->sort->n + PART - 1) / PART; }

static void inspect_part(void *job, size_t part, int thread)
{
    struct row *row = job;
    const struct mx_buckets *buckets = &row->buckets;
    intptr_t begin = (intptr_t)part * PART, n = row->sort->n - begin;
    buckets->kernels->inspect(mx_buckets_at(buckets, buckets->elements, begin),
                              n < PART ? n : PART, &row->findings[thread]);
}

/* Returns whether equal elements may differ in their bits, so that their order shows. */
static bool has_variants(struct row *row)
{
    if (!row->buckets.kernels->inspect)
        return false;
    struct mx_sort_finding all = {.all_nan = UINT64_MAX};
    for (int thread = 0; thread < MX_MAX_THREADS; thread++)
        row->findings[thread] = all;
    run_light(inspect_part, row, n_parts_of(row), row->sort->n);
    for (int thread = 0; thread < MX_MAX_THREADS; thread++) {
        all.has_zero |= row->findings[thread].has_zero;
        all.has_negative_zero |= row->findings[thread].has_negative_zero;
        all.all_nan &= row->findings[thread].all_nan;
        all.any_nan |= row->findings[thread].any_nan;
    }
    return (all.has_zero && all.has_negative_zero) || (all.any_nan & ~all.all_nan);
}

/* Adds to what is found in a part and the element behind it, unless elements are out of order.
 */
static void compare_part(void *job, size_t part, int thread)
{
    (void)thread;
    struct row *row = job;
    const struct mx_buckets *buckets = &row->buckets;
    intptr_t begin = (intptr_t)part * PART, n = row->sort->n - begin;
    if (!(row->found & MX_FALLS))
        row->found |= buckets->kernels->compare(
            mx_buckets_at(buckets, buckets->elements, begin), n < PART + 1 ? n : PART + 1);
}

/* A set of hashes: a table of 2 ** bits parts of them, in which 0 is an empty place. */
struct hashes {
    uint32_t *table;
    int bits;
};

static bool add_hash(struct hashes *set, uint64_t hash)
{
    uint32_t place = (uint32_t)(hash >> (64 - set->bits)), rest = (uint32_t)hash | 1;
    while (set->table[place] != 0 && set->table[place] != rest)
        place = (place + 1) & ((1u << set->bits) - 1);
    bool is_new = set->table[place] == 0;
    set->table[place] = rest;
    return is_new;
}

/* Adds the hashes of n elements, and returns whether one of them was there. */
static bool repeats(const struct row *row, struct hashes *set, intptr_t first, intptr_t n,
                    intptr_t step)
{
    const struct mx_buckets *buckets = &row->buckets;
    uint64_t hashes[256];
    for (intptr_t i = 0; i < n; i += 256) {
        intptr_t count = n - i < 256 ? n - i : 256;
        buckets->kernels->hash(mx_buckets_at(buckets, buckets->elements, first + i * step),
                               count, step, hashes);
        for (intptr_t k = 0; k < count; k++)
            if (!add_hash(set, hashes[k]))
                return true;
    }
    return false;
}

/* Looks for equal elements, among some that are adjacent and some of the whole row, to find out
 * early that only NumPy can sort.  Returns a status. */
static int look_for_equal(const struct row *row)
{
    const intptr_t half = MOST_SAMPLES / 2, n = row->sort->n, few = n < half ? n : half;
    const intptr_t step = (n - few + half - 1) / half, others = step ? (n - few) / step : 0;
    struct hashes set = {.bits = 1};
    while ((intptr_t)1 << set.bits < 2 * (few + others))
        set.bits++;
    size_t nbytes = sizeof *set.table << set.bits;
    set.table = (uint32_t *)(void *)take_memory(nbytes);
    if (!set.table)
        return fail_memory();
    memset(set.table, 0, nbytes);
    bool is_repeated = repeats(row, &set, 0, few, 1) || repeats(row, &set, few, others, step);
    put_memory((char *)set.table);
    return is_repeated ? mx_fail(MX_ERROR_VALUE, "elements are equal") : MX_OK;
}

/* Returns a status, which is MX_ERROR_VALUE if NumPy has to sort. */
static int check_equal(struct row *row)
{
    if (row->sort->is_stable)
        return MX_OK;
    if (row->buckets.positions)
        return look_for_equal(row);
    return has_variants(row) ? mx_fail(MX_ERROR_VALUE, "equal elements differ") : MX_OK;
}

/* -- One long row, continued ----------------------------------------------------------- */

/* Sets the splitters to elements at equal distances in a sample.  Returns a status. */
static int choose_splitters(struct mx_buckets *buckets)
{
    const int n_samples = buckets->end < LARGE_ROW ? SAMPLES : MORE_SAMPLES;
    int ranks[MX_MOST_SPLITTERS], wanted = BUCKETS * mx_thread_pool_size();
    wanted = wanted < LEAST_BUCKETS ? LEAST_BUCKETS : wanted;
    wanted = wanted > MX_MOST_SPLITTERS + 1 ? MX_MOST_SPLITTERS + 1 : wanted;
    for (int i = 1; i < wanted; i++)
        ranks[i - 1] = i * n_samples / wanted;
    return mx_buckets_choose(buckets, n_samples, ranks, wanted - 1);
}

static int sort_buckets(struct row *row)
{
    struct mx_buckets *buckets = &row->buckets;
    if (buckets->positions)
        sort_run(begin_part, row, n_parts_of(row));
    if (row->sort->continues)
        buckets->elements = row->scratch;
    int status = choose_splitters(buckets);
    if (status != MX_OK)
        return status;
    mx_buckets_divide(buckets, row->ends);
    row->found = 0;
    sort_run(sort_bucket, row, mx_buckets_count(buckets));
    if (row->n_failed)
        return fail_memory();
    return row->found & MX_STAYS ? mx_fail(MX_ERROR_VALUE, "elements are equal") : MX_OK;
}

/* Returns whether NumPy takes a few nanoseconds for an element. */
static bool is_radix(const struct mx_sort *sort)
{
    return sort->is_stable && mx_itemsizes[sort->dtype] <= 2 && sort->dtype != MX_DTYPE_float16;
}

static bool begins_with_run(const struct row *row)
{
    if (row->sort->continues)
        return false;
    unsigned found = row->buckets.kernels->compare(row->buckets.elements, LEAST_RUN);
    return found && !((found & MX_RISES) && (found & MX_FALLS));
}

/* Returns whether the elements of the row are in order. */
static bool is_in_order(struct row *row)
{
    run_light(compare_part, row, n_parts_of(row), row->sort->n);
    return !(row->found & MX_FALLS);
}

static int sort_long(const struct mx_sort *sort, char *elements, char *positions)
{
    struct row row = {
        .sort = sort,
        .buckets = {.kernels = mx_sort_kernels_of(sort->dtype),
                    .itemsize = mx_itemsizes[sort->dtype],
                    .sort = sort->sort,
                    .array = sort->array,
                    .elements = elements,
                    .positions = (int64_t *)(void *)positions,
                    .end = sort->n},
    };
    if (!positions && mx_counting_suits(sort->dtype, sort->n))
        return mx_counting_sort(elements, sort->dtype, sort->n);
    if (is_radix(sort))
        return mx_fail(MX_ERROR_VALUE, "NumPy counts digits");
    if (sort->dtype == MX_DTYPE_float16 && !sort->is_stable && !positions)
        return mx_fail(MX_ERROR_VALUE, "parts may be out of order"); /* NumPy 2.4 and 2.5 */
    bool has_run = begins_with_run(&row);
    if (has_run && (positions || sort->is_stable))
        return mx_fail(MX_ERROR_VALUE, "NumPy looks for runs");
    int status = check_equal(&row);
    if (status != MX_OK || (has_run && is_in_order(&row)))
        return status;
    const bool has_scratch = positions && (sort->continues || !sort->is_stable);
    struct mx_block *block = mx_buckets_take_memory(&row.buckets);
    row.scratch = has_scratch ? take_memory((size_t)sort->n * row.buckets.itemsize) : NULL;
    status = block && (row.scratch || !has_scratch) ? sort_buckets(&row) : fail_memory();
    put_memory(row.scratch);
    if (block)
        mx_pool_put(block);
    return status;
}

/* Sorts a long row with gaps in a copy. */
static int sort_with_gaps(const struct mx_sort *sort, char *elements)
{
    const int itemsize = mx_itemsizes[sort->dtype];
    char *packed = take_memory((size_t)sort->n * (size_t)itemsize);
    if (!packed)
        return fail_memory();
    copy(&elements, 1, sort->n, sort->stride, itemsize, packed, 0, false);
    int status = sort_long(sort, packed, NULL);
    if (status == MX_OK)
        copy(&elements, 1, sort->n, sort->stride, itemsize, packed, 0, true);
    put_memory(packed);
    return status;
}

int mx_sort_rows(const struct mx_sort *given)
{
    struct mx_sort sort = *given;
    struct mx_axes axes = {&sort.ndim, sort.shape, &(unsigned){0}, 2,
                           (intptr_t *[]){sort.strides, sort.position_strides}};
    if (sort.ndim == 0)
        sort.shape[sort.ndim++] = 1;
    mx_axes_sort(&axes, axes.n_views);
    intptr_t n_rows = 1;
    for (int axis = 0; axis < sort.ndim; axis++)
        n_rows *= sort.shape[axis];
    bool has_gaps = sort.stride != mx_itemsizes[sort.dtype];
    bool has_places = sort.positions && (has_gaps || sort.position_stride != sizeof(int64_t));
    if (has_places || (has_gaps && n_rows > 1) || sort.n < LONG_ROW ||
        n_rows >= mx_thread_pool_size())
        return sort_many(&sort, n_rows);
    int status = MX_OK;
    for (intptr_t row = 0; row < n_rows && status == MX_OK; row++) {
        char *elements = address(sort.data, &sort, sort.strides, row);
        status = has_gaps ? sort_with_gaps(&sort, elements)
                          : sort_long(&sort, elements,
                                      sort.positions ? address(sort.positions, &sort,
                                                               sort.position_strides, row)
                                                     : NULL);
    }
    return status;
}
