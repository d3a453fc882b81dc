/* sort.c -- sorts the rows of an array on several threads, by NumPy's functions. */
#include "cpu/kernels/sort.h"

#include <stdatomic.h>
#include <string.h>

#include "base/axes.h"
#include "base/error.h"
#include "cpu/kernels/counting.h"
#include "cpu/kernels/sort_kernels.h"
#include "cpu/threads/thread_pool.h"
#include "memory/pool.h"

#define CHUNK        4096   /* elements; a chunk of rows has at least as many */
#define MERGED       32768  /* elements that a thread merges at a time */
#define LONG_ROW     32768  /* elements; shorter rows are not divided */
#define LINE         64     /* bytes: elements of so many adjacent rows are copied together */
#define LIGHT_ROW    262144 /* elements; shorter rows are inspected by one thread */
#define LEAST_RUN    256    /* elements */
#define MOST_SAMPLES 131072 /* elements among which equal ones are looked for */

const struct mx_sort_kernels *mx_sort_kernels_of(int dtype)
{
    static const struct mx_sort_table *const tables[] = {
#define ISA(name) &mx_sort_table_##name, /* mx_sort_table_base, _v3, _v4 */
        MX_ISAS(ISA)
#undef ISA
    };
    return &tables[mx_isa()]->kernels[dtype];
}

bool mx_sort_has(int dtype) { return mx_sort_kernels_of(dtype)->merge != NULL; }

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

/* Threads sort the parts of a row.  Then each level merges two adjacent runs into one, from one
 * memory to the other.  The first memory is chosen so that the last level leaves the result
 * where it belongs. */
struct row {
    const struct mx_sort *sort;
    const struct mx_sort_kernels *kernels;
    size_t itemsize;
    int n_parts, run; /* parts of a run */
    char *elements;   /* of the array */
    char *from, *to;  /* elements of a level */
    int64_t *positions, *place_from, *place_to;
    atomic_int n_failed; /* parts without memory */
    atomic_uint found;   /* by comparisons */
    struct mx_sort_finding findings[2 * MX_MAX_THREADS];
};

static intptr_t begin_of(const struct row *row, int part)
{
    intptr_t n = row->sort->n, parts = row->n_parts;
    return part < parts ? n / parts * part + n % parts * part / parts : n;
}

static char *sort_at(const struct row *row, char *elements, intptr_t i)
{
    return elements + (size_t)i * row->itemsize;
}

/* NumPy's function requires that the positions are a permutation of the positions in the part.
 */
static int argsort_part(const struct row *row, intptr_t begin, intptr_t n)
{
    const struct mx_sort *sort = row->sort;
    int64_t *places = row->place_from + begin, *before = row->place_to + begin;
    char *elements = sort_at(row, row->elements, begin);
    if (sort->continues) {
        elements = sort_at(row, row->to, begin);
        row->kernels->take(row->elements, row->positions + begin, n, elements);
        if (row->place_from == row->positions)
            memcpy(before, places, (size_t)n * sizeof *places);
    }
    number(places, n);
    int status = sort->argsort(elements, (intptr_t *)places, n, sort->array);
    row->kernels->take(elements, places, n, sort_at(row, row->from, begin));
    for (intptr_t i = 0; i < n; i++)
        places[i] = sort->continues ? before[places[i]] : places[i] + begin;
    return status;
}

static void sort_part(void *job, size_t part, int thread)
{
    (void)thread;
    struct row *row = job;
    intptr_t begin = begin_of(row, (int)part), n = begin_of(row, (int)part + 1) - begin;
    char *from = sort_at(row, row->from, begin);
    if (!row->positions && row->from != row->elements)
        memcpy(from, sort_at(row, row->elements, begin), (size_t)n * row->itemsize);
    int status = row->positions ? argsort_part(row, begin, n)
                                : row->sort->sort(from, n, row->sort->array);
    row->n_failed += status < 0;
}

/* Merges a part of two runs: elements begin..end-1 of the result. */
static void merge_part(const struct row *row, intptr_t low, intptr_t middle, intptr_t high,
                       intptr_t begin, intptr_t end)
{
    const struct mx_sort_kernels *kernels = row->kernels;
    const char *a = sort_at(row, row->from, low), *b = sort_at(row, row->from, middle);
    intptr_t na = middle - low, nb = high - middle;
    intptr_t i = kernels->split(a, na, b, nb, begin - low), j = begin - low - i;
    intptr_t i_end = kernels->split(a, na, b, nb, end - low), j_end = end - low - i_end;
    const int64_t *places = row->place_from;
    kernels->merge(sort_at(row, row->from, low + i), i_end - i,
                   sort_at(row, row->from, middle + j), j_end - j, sort_at(row, row->to, begin),
                   places ? places + low + i : NULL, places ? places + middle + j : NULL,
                   places ? row->place_to + begin : NULL);
}

static void merge_chunk(void *job, size_t chunk, int thread)
{
    (void)thread;
    const struct row *row = job;
    intptr_t begin = (intptr_t)chunk * MERGED, end = begin + MERGED;
    end = end < row->sort->n ? end : row->sort->n;
    for (int part = 0; part < row->n_parts; part += 2 * row->run) {
        intptr_t low = begin_of(row, part), high = begin_of(row, part + 2 * row->run);
        intptr_t first = low > begin ? low : begin, last = high < end ? high : end;
        if (first < last)
            merge_part(row, low, begin_of(row, part + row->run), high, first, last);
    }
}

static intptr_t n_chunks_of(const struct row *row)
{
    return (row->sort->n + MERGED - 1) / MERGED;
}

static void merge_runs(struct row *row)
{
    for (row->run = 1; row->run < row->n_parts; row->run *= 2) {
        char *from = row->from;
        int64_t *place_from = row->place_from;
        sort_run(merge_chunk, row, n_chunks_of(row));
        row->from = row->to;
        row->to = from;
        row->place_from = row->place_to;
        row->place_to = place_from;
    }
}

/* -- Equal elements ------------------------------------------------------------------ */

static void inspect_part(void *job, size_t part, int thread)
{
    (void)thread;
    struct row *row = job;
    intptr_t begin = begin_of(row, (int)part), end = begin_of(row, (int)part + 1);
    row->findings[part] = (struct mx_sort_finding){.all_nan = UINT64_MAX};
    row->kernels->inspect(sort_at(row, row->elements, begin), end - begin,
                          &row->findings[part]);
}

/* Returns whether equal elements may differ in their bits, so that their order shows. */
static bool has_variants(struct row *row)
{
    if (!row->kernels->inspect)
        return false;
    struct mx_sort_finding all = {.all_nan = UINT64_MAX};
    run_light(inspect_part, row, row->n_parts, row->sort->n);
    for (int part = 0; part < row->n_parts; part++) {
        all.has_zero |= row->findings[part].has_zero;
        all.has_negative_zero |= row->findings[part].has_negative_zero;
        all.all_nan &= row->findings[part].all_nan;
        all.any_nan |= row->findings[part].any_nan;
    }
    return (all.has_zero && all.has_negative_zero) || (all.any_nan & ~all.all_nan);
}

/* Adds to what is found in the elements `from`, unless they are out of order. */
static void compare_chunk(void *job, size_t chunk, int thread)
{
    (void)thread;
    struct row *row = job;
    intptr_t begin = (intptr_t)chunk * MERGED, end = begin + MERGED + 1;
    end = end < row->sort->n ? end : row->sort->n;
    if (!(row->found & MX_FALLS))
        row->found |= row->kernels->compare(sort_at(row, row->from, begin), end - begin);
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
    uint64_t hashes[256];
    for (intptr_t i = 0; i < n; i += 256) {
        intptr_t count = n - i < 256 ? n - i : 256;
        row->kernels->hash(sort_at(row, row->elements, first + i * step), count, step, hashes);
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
    if (row->positions)
        return look_for_equal(row);
    return has_variants(row) ? mx_fail(MX_ERROR_VALUE, "equal elements differ") : MX_OK;
}

/* -- One long row, continued ----------------------------------------------------------- */

static int sort_parts(struct row *row)
{
    sort_run(sort_part, row, row->n_parts);
    if (row->n_failed)
        return fail_memory();
    merge_runs(row);
    if (!row->positions || row->sort->is_stable)
        return MX_OK;
    row->found = 0;
    run_light(compare_chunk, row, n_chunks_of(row), row->sort->n);
    return row->found & MX_STAYS ? mx_fail(MX_ERROR_VALUE, "elements are equal") : MX_OK;
}

/* Returns whether NumPy takes a few nanoseconds for an element. */
static bool is_radix(const struct mx_sort *sort)
{
    return sort->is_stable && mx_itemsizes[sort->dtype] <= 2 && sort->dtype != MX_DTYPE_float16;
}

static bool begins_with_run(const struct row *row)
{
    unsigned found = row->sort->continues ? 0 : row->kernels->compare(row->elements, LEAST_RUN);
    return found && !((found & MX_RISES) && (found & MX_FALLS));
}

/* Returns whether the elements of the row are in order. */
static bool is_in_order(struct row *row)
{
    row->from = row->elements;
    run_light(compare_chunk, row, n_chunks_of(row), row->sort->n);
    return !(row->found & MX_FALLS);
}

static int sort_long(const struct mx_sort *sort, char *elements, char *positions)
{
    struct row row = {
        .sort = sort,
        .kernels = mx_sort_kernels_of(sort->dtype),
        .itemsize = (size_t)mx_itemsizes[sort->dtype],
        .n_parts = 2 * mx_thread_pool_size(),
        .elements = elements,
        .positions = (int64_t *)(void *)positions,
    };
    bool is_odd = false; /* the number of levels */
    for (int run = 1; run < row.n_parts; run *= 2)
        is_odd = !is_odd;
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
    size_t nbytes = (size_t)sort->n * row.itemsize, places = (size_t)sort->n * sizeof(int64_t);
    char *own = take_memory(nbytes), *other = positions ? take_memory(nbytes) : elements;
    char *own_places = positions ? take_memory(places) : NULL;
    row.from = is_odd ? own : other;
    row.to = is_odd ? other : own;
    row.place_from = is_odd ? (int64_t *)(void *)own_places : row.positions;
    row.place_to = is_odd ? row.positions : (int64_t *)(void *)own_places;
    status = own && other && (!positions || own_places) ? sort_parts(&row) : fail_memory();
    put_memory(own);
    put_memory(positions ? other : NULL);
    put_memory(own_places);
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
