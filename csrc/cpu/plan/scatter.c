/* scatter.c -- groups that are one scatter: the elements that indices select are updated. */
#include "cpu/plan/scatter.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "cpu/kernels/indices.h"
#include "cpu/plan/points.h"
#include "cpu/threads/thread_pool.h"

#define SHARED_ELEMENTS \
    65536 /* updates: for fewer, waking another thread costs more than it saves */
#define COLUMN_BYTES        2048 /* of a row: the least that a thread updates */
#define SELECTED_BLOCK      512
#define N_SAMPLES           512
#define COPY_BYTES          (128 << 10) /* of elements that fit the caches of each thread */
#define UPDATES_PER_ELEMENT 8           /* from which on a copy pays */
#define NEAR_BYTES (16 << 20) /* of elements that are accessed without waiting for memory */

static int dtype_of(const struct mx_instruction *scatter)
{
    return scatter->operands[scatter->nin].dtype;
}

/* How the work is divided among the parts. */
enum sharing {
    BY_ELEMENTS, /* each part updates the elements between its limits */
    BY_COLUMNS,  /* each part updates some columns of the rows */
    BY_INDICES,  /* each part takes some of the indices and updates its copy */
};

/* The plan of a scatter, which is the state of its program. */
struct scatter {
    struct mx_rows rows;
    enum sharing sharing;
    bool is_direct;        /* one kernel call takes all indices as they are */
    intptr_t value_step;   /* bytes between the values of a row: itemsize or 0 */
    mx_update_kernel *run; /* NULL: the loop updates */
    mx_update_row *row;
    intptr_t
        limits[MX_MAX_THREADS + 1]; /* the offsets at which the elements of each part begin */
    size_t copy_size;
    char copies[]; /* of the elements, for all parts but the first, which updates them directly
                    */
};

static struct scatter *scatter_of(const struct mx_program *program)
{
    return (struct scatter *)(void *)program->state;
}

static const struct mx_access *access_of(const struct mx_program *program, int operand)
{
    return &program->accesses[program->calls[0].accesses[operand]];
}

static int values_of(const struct mx_instruction *in) { return in->nin - 1; }

static char *copy_of(const struct mx_program *program, size_t part)
{
    const struct scatter *scatter = scatter_of(program);
    uintptr_t first =
        ((uintptr_t)scatter->copies + MX_CACHE_LINE - 1) / MX_CACHE_LINE * MX_CACHE_LINE;
    return (char *)first + (part - 1) * scatter->copy_size;
}

/* Returns whether all indices are in bounds and none is negative.  They are computed by now. */
static bool are_plain(const struct mx_program *program, const struct mx_rows *rows)
{
    const struct mx_instruction *in = program->calls[0].instruction;
    const struct mx_access *indices = access_of(program, 0);
    int64_t least, most;
    if (in->indexing.bounds == MX_PLAIN)
        return true;
    mx_index_range(indices->data, MX_DTYPE_int64, 1, &rows->n_points,
                   &indices->strides[rows->point_axes[0]], &least, &most);
    return least >= 0 && most < in->indexing.sizes[0];
}

/* Returns whether one kernel call can take all indices as they are. */
static bool is_direct(const struct mx_program *program, const struct mx_rows *rows)
{
    const struct mx_instruction *in = program->calls[0].instruction;
    return rows->size == 1 && rows->n_point_axes == 1 && in->indexing.n == 1 &&
           in->update != MX_BY_LOOP && in->indexing.strides[0] > 0 &&
           access_of(program, 0)->strides[rows->point_axes[0]] == sizeof(int64_t) &&
           are_plain(program, rows);
}

/* -- Parts ------------------------------------------------------------------------- */

static int scatter_compare(const void *x, const void *y)
{
    intptr_t a = *(const intptr_t *)x, b = *(const intptr_t *)y;
    return (a > b) - (a < b);
}

/* Sets limits between which samples of the indices show about equally many updates.  Returns
 * whether the samples are spread over memory. */
static bool choose_limits(const struct mx_program *program, int n_parts)
{
    struct scatter *scatter = scatter_of(program);
    intptr_t samples[N_SAMPLES], n = 0;
    for (int s = 0; s < N_SAMPLES; s++) {
        struct mx_points points;
        int64_t offset, position;
        intptr_t first = scatter->rows.n_points / N_SAMPLES * s;
        mx_points_find(&points, &scatter->rows, program, first, first + 1);
        if (mx_points_offsets(&points, &scatter->rows, program, &offset, &position) > 0)
            samples[n++] = offset;
    }
    qsort(samples, (size_t)n, sizeof *samples, scatter_compare);
    intptr_t n_lines = 1;
    for (intptr_t s = 1; s < n; s++)
        n_lines += samples[s] - samples[s - 1] >= MX_CACHE_LINE;
    scatter->limits[0] = INTPTR_MIN;
    for (int part = 1; part < n_parts; part++)
        scatter->limits[part] = n ? samples[n * part / n_parts] : 0;
    scatter->limits[n_parts] = INTPTR_MAX;
    return n_lines >= N_SAMPLES * 3 / 4;
}

/* Sets the step between the values of a row.  Returns whether the row is one value. */
static bool has_single_value(const struct mx_program *program, const struct mx_rows *rows,
                             intptr_t *step)
{
    const struct mx_access *values =
        access_of(program, values_of(program->calls[0].instruction));
    bool is_same = true;
    for (int i = 0; i < rows->n_row_axes; i++)
        is_same &= values->strides[rows->row_axes[i]] == 0;
    *step = is_same ? 0 : values->itemsize;
    return is_same;
}

/* Returns whether the elements are so few that an update takes no longer than finding the part
 * that it belongs to. */
static bool is_nearby(const struct mx_instruction *in)
{
    intptr_t extent = 0;
    for (int k = 0; k < in->indexing.n; k++)
        extent += in->indexing.sizes[k] * labs(in->indexing.strides[k]);
    return extent <= NEAR_BYTES;
}

/* Returns whether copies of the elements pay: the updates are of integers, so any order has the
 * same result, and there are many of them for each element. */
static bool is_worth_copies(const struct mx_instruction *in, const struct mx_rows *rows)
{
    const struct mx_indexing *indexing = &in->indexing;
    int itemsize = in->operands[in->nin].itemsize;
    bool is_exact = mx_dtype_is_integer(dtype_of(in)) && in->update >= MX_UPDATE_ADD &&
                    in->update != MX_UPDATE_DIVIDE;
    return is_exact && indexing->strides[0] == itemsize &&
           indexing->sizes[0] * itemsize <= COPY_BYTES &&
           rows->n_points >= indexing->sizes[0] * UPDATES_PER_ELEMENT;
}

/* Fills a copy with the neutral element of the update. */
static void fill_copy(const struct mx_instruction *in, char *copy)
{
    size_t size = (size_t)in->operands[in->nin].itemsize;
    bool is_signed = mx_dtype_kind(dtype_of(in)) == 'i';
    unsigned char low[8] = {0}, neutral[8] = {0};
    if (is_signed)
        low[size - 1] = 0x80; /* the least number, in little-endian order */
    if (in->update == MX_UPDATE_MULTIPLY)
        neutral[0] = 1;
    for (size_t b = 0; b < size; b++) {
        if (in->update == MX_UPDATE_MAXIMUM)
            neutral[b] = low[b];
        if (in->update == MX_UPDATE_MINIMUM)
            neutral[b] = (unsigned char)~low[b];
    }
    for (intptr_t i = 0; i < in->indexing.sizes[0]; i++)
        memcpy(copy + (size_t)i * size, neutral, size);
}

static size_t size_of_copy(const struct mx_program *program, const struct mx_rows *rows)
{
    const struct mx_instruction *in = program->calls[0].instruction;
    if (!is_worth_copies(in, rows))
        return 0;
    size_t size = (size_t)(in->indexing.sizes[0] * in->operands[in->nin].itemsize);
    return (size + MX_CACHE_LINE - 1) / MX_CACHE_LINE * MX_CACHE_LINE;
}

/* Returns how many parts pay if each has elements of its own, at most n_parts.  One part is
 * best if finding the part of an update takes as long as the update. */
static int count_parts_by_elements(const struct mx_program *program, int n_parts)
{
    const struct mx_instruction *in = program->calls[0].instruction;
    bool is_cheap = in->update != MX_BY_LOOP;
    if (n_parts == 1 || (is_cheap && is_nearby(in)))
        return 1;
    bool is_spread = choose_limits(program, n_parts);
    return is_cheap && !is_spread ? 1 : n_parts;
}

int mx_scatter_plan(struct mx_program *program)
{
    const struct mx_instruction *in = program->calls[0].instruction;
    const int *accesses = program->calls[0].accesses;
    struct scatter plan = {.sharing = BY_ELEMENTS};
    struct mx_rows *rows = &plan.rows;
    mx_points_find_rows(rows, program, accesses[in->nin], accesses[values_of(in)]);
    if (has_single_value(program, rows, &plan.value_step))
        mx_points_find_rows(rows, program, accesses[in->nin], -1);
    plan.run = mx_index_kernels()->updates[in->update][dtype_of(in)];
    plan.row = mx_index_kernels()->rows[in->update][dtype_of(in)];
    plan.is_direct = is_direct(program, rows);

    int n_parts = rows->n_points * rows->size < SHARED_ELEMENTS ? 1 : mx_thread_pool_size();
    intptr_t columns = rows->size * in->operands[in->nin].itemsize / COLUMN_BYTES;
    plan.copy_size = n_parts > 1 && plan.is_direct ? size_of_copy(program, rows) : 0;
    if (plan.copy_size)
        plan.sharing = BY_INDICES;
    else if (rows->is_contiguous && columns >= n_parts)
        plan.sharing = BY_COLUMNS;
    struct scatter *scatter =
        mx_alloc(sizeof plan + MX_CACHE_LINE + plan.copy_size * (size_t)(n_parts - 1));
    if (!scatter)
        return mx_fail(MX_ERROR_MEMORY, "unable to plan a scatter");
    *scatter = plan;
    program->state = (char *)scatter;
    if (plan.sharing == BY_ELEMENTS)
        n_parts = count_parts_by_elements(program, n_parts);
    for (int part = 1; part < n_parts && plan.copy_size; part++)
        fill_copy(in, copy_of(program, (size_t)part));
    program->n_chunks = (size_t)n_parts;
    return MX_OK;
}

/* -- Running ----------------------------------------------------------------------- */

/* Updates n elements with the loop. */
static void run_loop(const struct mx_loop *loop, char *target, intptr_t step, char *values,
                     intptr_t value_step, intptr_t n)
{
    char *args[] = {target, values, target};
    intptr_t strides[] = {step, value_step, step};
    loop->function(args, &n, strides, loop->data);
}

/* Keeps only the offsets between the limits of a part, and returns their number. */
static intptr_t select_between(intptr_t low, intptr_t high, intptr_t n, int64_t *offsets,
                               int64_t *positions)
{
    intptr_t n_kept = 0;
    for (intptr_t i = 0; i < n; i++) {
        intptr_t offset = offsets[i], position = positions[i];
        offsets[n_kept] = offset;
        positions[n_kept] = position;
        n_kept += offset >= low && offset < high;
    }
    return n_kept;
}

/* The points of a block that a part updates. */
struct block {
    intptr_t n;
    int64_t offsets[MX_INDEX_BLOCK], positions[MX_INDEX_BLOCK];
    bool has_positions; /* some points are left out */
    char *target, *values;
    intptr_t stride; /* from value to value */
};

static void find_block(const struct mx_program *program, const struct mx_points *points,
                       size_t part, struct block *block)
{
    const struct mx_instruction *in = program->calls[0].instruction;
    const struct scatter *scatter = scatter_of(program);
    const struct mx_rows *rows = &scatter->rows;
    bool is_part = scatter->sharing == BY_ELEMENTS && program->n_chunks > 1;
    block->n = mx_points_offsets(points, rows, program, block->offsets, block->positions);
    bool are_all = block->n == points->n;
    block->has_positions = !are_all || is_part;
    if (is_part && are_all)
        for (intptr_t i = 0; i < block->n; i++)
            block->positions[i] = i;
    if (is_part)
        block->n = select_between(scatter->limits[part], scatter->limits[part + 1], block->n,
                                  block->offsets, block->positions);
    block->target = mx_points_data(points, program, program->calls[0].accesses[in->nin]);
    block->values = mx_points_data(points, program, program->calls[0].accesses[values_of(in)]);
    block->stride = access_of(program, values_of(in))->strides[mx_points_axis(rows)];
}

/* Updates one element for each point. */
static void update_elements(const struct mx_program *program, const struct block *block,
                            char *target, const char *values)
{
    const struct mx_instruction *in = program->calls[0].instruction;
    const struct scatter *scatter = scatter_of(program);
    _Alignas(16) char packed[MX_INDEX_BLOCK * 16];
    int itemsize = in->operands[in->nin].itemsize;
    intptr_t stride = block->stride;
    if (block->has_positions && stride != 0) {
        mx_take_kernel *take = mx_index_kernels()->takes[MX_PLAIN][mx_size_number(itemsize)];
        take(values, stride, 0, block->positions, packed, block->n);
        values = packed;
        stride = itemsize;
    }
    if (scatter->run) {
        scatter->run(target, 1, block->offsets, values, stride, block->n);
        return;
    }
    for (intptr_t i = 0; i < block->n; i++)
        run_loop(&in->loop, target + block->offsets[i], 0,
                 (char *)(uintptr_t)values + i * stride, 0, 1);
}

static void update_rows(const struct mx_program *program, const struct block *block,
                        size_t part)
{
    const struct mx_instruction *in = program->calls[0].instruction;
    const struct scatter *scatter = scatter_of(program);
    intptr_t itemsize = in->operands[in->nin].itemsize, begin = 0, end = scatter->rows.size;
    if (scatter->sharing == BY_COLUMNS) {
        intptr_t unit = COLUMN_BYTES / itemsize, n_units = end / unit;
        intptr_t parts = (intptr_t)program->n_chunks, number = (intptr_t)part;
        begin = n_units * number / parts * unit;
        end = number == parts - 1 ? end : n_units * (number + 1) / parts * unit;
    }
    char *target = block->target + begin * itemsize;
    char *values = block->values + begin * scatter->value_step;
    for (intptr_t i = 0; i < block->n; i++) {
        intptr_t position = block->has_positions ? block->positions[i] : i;
        char *to = target + block->offsets[i], *from = values + position * block->stride;
        if (scatter->row)
            scatter->row(to, from, scatter->value_step, end - begin);
        else
            run_loop(&in->loop, to, itemsize, from, scatter->value_step, end - begin);
    }
}

/* Updates the first element of all rows, then the second of all, and so on. */
static void update_scattered_rows(const struct mx_program *program, const struct block *block)
{
    const struct mx_instruction *in = program->calls[0].instruction;
    const struct mx_rows *rows = &scatter_of(program)->rows;
    const struct mx_access *to = access_of(program, in->nin);
    const struct mx_access *from = access_of(program, values_of(in));
    intptr_t at[MX_MAX_NDIM] = {0};
    do
        update_elements(program, block, block->target + mx_points_row_offset(rows, to, at),
                        block->values + mx_points_row_offset(rows, from, at));
    while (mx_points_next_in_row(rows, program, at));
}

/* Runs a part that updates the elements between its limits. */
static void run_between_limits(const struct mx_program *program, size_t part)
{
    const struct mx_instruction *in = program->calls[0].instruction;
    const struct scatter *scatter = scatter_of(program);
    const struct mx_access *values = access_of(program, values_of(in));
    const int64_t *indices = (const int64_t *)(const void *)access_of(program, 0)->data;
    intptr_t step = in->indexing.strides[0], n = scatter->rows.n_points;
    intptr_t stride = values->strides[scatter->rows.point_axes[0]];
    int64_t low = part == 0 ? 0 : scatter->limits[part] / step;
    int64_t high = part + 1 == program->n_chunks ? in->indexing.sizes[0]
                                                 : scatter->limits[part + 1] / step;
    mx_select_kernel *select = mx_index_kernels()->selects[mx_size_number(values->itemsize)];
    int64_t selected[SELECTED_BLOCK];
    _Alignas(16) char selected_values[SELECTED_BLOCK * 16];
    for (intptr_t at = 0; at < n; at += SELECTED_BLOCK) {
        intptr_t count = n - at < SELECTED_BLOCK ? n - at : SELECTED_BLOCK;
        count = select(indices + at, count, low, high, values->data + at * stride, stride,
                       selected, selected_values);
        scatter->run(access_of(program, in->nin)->data, step, selected, selected_values,
                     values->itemsize, count);
    }
}

static void run_directly(const struct mx_program *program, size_t part)
{
    const struct mx_instruction *in = program->calls[0].instruction;
    const struct scatter *scatter = scatter_of(program);
    const struct mx_access *values = access_of(program, values_of(in));
    intptr_t n = scatter->rows.n_points, parts = (intptr_t)program->n_chunks;
    intptr_t begin = n / parts * (intptr_t)part;
    intptr_t end = (intptr_t)part == parts - 1 ? n : begin + n / parts;
    intptr_t stride = values->strides[scatter->rows.point_axes[0]];
    char *target = part == 0 ? access_of(program, in->nin)->data : copy_of(program, part);
    scatter->run(target, in->indexing.strides[0],
                 (const int64_t *)(const void *)access_of(program, 0)->data + begin,
                 values->data + begin * stride, stride, end - begin);
}

void mx_scatter_finish(const struct mx_program *program)
{
    const struct mx_instruction *in = program->calls[0].instruction;
    /* A copy of differences began with 0, so it is added. */
    enum mx_update update = in->update == MX_UPDATE_SUBTRACT ? MX_UPDATE_ADD : in->update;
    mx_update_row *row = mx_index_kernels()->rows[update][dtype_of(in)];
    for (size_t part = 1; part < program->n_chunks && scatter_of(program)->copy_size; part++)
        row(access_of(program, in->nin)->data, copy_of(program, part),
            in->operands[in->nin].itemsize, in->indexing.sizes[0]);
}

void mx_scatter_run_chunk(const struct mx_program *program, size_t part)
{
    const struct mx_rows *rows = &scatter_of(program)->rows;
    if (scatter_of(program)->is_direct) {
        if (scatter_of(program)->sharing == BY_ELEMENTS && program->n_chunks > 1)
            run_between_limits(program, part);
        else
            run_directly(program, part);
        return;
    }
    struct mx_points points;
    struct block block;
    for (intptr_t first = 0; first < rows->n_points; first += points.n) {
        mx_points_find(&points, rows, program, first, rows->n_points);
        find_block(program, &points, part, &block);
        if (rows->size == 1)
            update_elements(program, &block, block.target, block.values);
        else if (rows->is_contiguous)
            update_rows(program, &block, part);
        else
            update_scattered_rows(program, &block);
    }
}
