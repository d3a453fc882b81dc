/* argrows.c -- argmax and argmin along an axis whose elements have gaps. */
#include "cpu/plan/argrows.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "cpu/kernels/arg_kernels.h"
#include "cpu/kernels/copies.h"
#include "ir/ops.h"

#define MOST_COLUMNS 1024 /* of a piece, whose winners stay in the first-level cache */
#define MANY_PIECES  16   /* of rows: enough for any number of threads, as rows are long */
#define NARROW       64   /* elements of several rows that are searched as one */
#define MANY_UNITS   16   /* do not need pieces of rows */

/* The plan of a search, which is the state of its program. */
struct rows {
    mx_arg_rows *find;
    int axis, columns;      /* the axis searched along, and the one with adjacent elements */
    intptr_t n_rows, count; /* of all pieces, and of one */
    intptr_t n_row_pieces;
    intptr_t n_units; /* indices along all other axes */
    char results[];   /* of the pieces of rows: numbers of rows, then elements */
};

static const struct rows *rows_of(const struct mx_program *program)
{
    return (const struct rows *)(const void *)program->state;
}

/* Returns the axis with adjacent elements, or -1. */
static int find_columns(const struct mx_program *program)
{
    const struct mx_access *from = &program->accesses[0];
    int axis = program->calls[0].instruction->axis;
    for (int i = 0; i < program->ndim; i++)
        if (i != axis && program->shape[i] > 1 && from->strides[i] == from->itemsize)
            return i;
    return -1;
}

static mx_arg_rows *find_kernel(const struct mx_program *program)
{
    static const struct mx_arg_kernels *const tables[] = {
#define ISA(name) &mx_arg_kernels_##name,
        MX_ISAS(ISA)
#undef ISA
    };
    const struct mx_instruction *in = program->calls[0].instruction;
    const struct mx_arg_kernels *kernels = tables[mx_isa()];
    return (in->op == MX_ARGMAX ? kernels->argmax : kernels->argmin)[in->operands[0].dtype];
}

bool mx_argrows_suit(const struct mx_program *program)
{
    const struct mx_access *from = &program->accesses[0];
    return from->strides[program->calls[0].instruction->axis] != from->itemsize &&
           find_columns(program) >= 0 && find_kernel(program) != NULL;
}

/* -- Planning ---------------------------------------------------------------------- */

/* Returns the number of rows of a piece. */
static intptr_t choose_rows(const struct mx_program *program, const struct rows *plan)
{
    intptr_t least = MX_CHUNK_ELEMENTS / program->length + 1;
    intptr_t wanted = (plan->n_rows + MANY_PIECES - 1) / MANY_PIECES;
    if (plan->n_units * program->n_pieces >= MANY_UNITS)
        return plan->n_rows;
    return wanted > least ? wanted : least;
}

int mx_argrows_plan(struct mx_program *program)
{
    size_t itemsize = (size_t)program->accesses[0].itemsize;
    struct rows plan = {
        .find = find_kernel(program),
        .axis = program->calls[0].instruction->axis,
        .columns = find_columns(program),
        .n_units = 1,
    };
    plan.n_rows = program->shape[plan.axis];
    for (int i = 0; i < program->ndim; i++)
        plan.n_units *= i == plan.axis || i == plan.columns ? 1 : program->shape[i];
    intptr_t n_columns = program->shape[plan.columns];
    program->n_pieces = (n_columns + MOST_COLUMNS - 1) / MOST_COLUMNS;
    program->length = (n_columns + program->n_pieces - 1) / program->n_pieces;
    program->n_pieces = (n_columns + program->length - 1) / program->length;
    plan.count = choose_rows(program, &plan);
    plan.n_row_pieces = (plan.n_rows + plan.count - 1) / plan.count;
    program->n_blocks = plan.n_units * program->n_pieces * plan.n_row_pieces;
    program->blocks_per_chunk = 1 + MX_CHUNK_ELEMENTS / (program->length * plan.count);
    program->n_chunks = (size_t)((program->n_blocks + program->blocks_per_chunk - 1) /
                                 program->blocks_per_chunk);
    program->scratch_size = (size_t)program->length * (sizeof(int64_t) + itemsize);
    size_t n_results =
        plan.n_row_pieces > 1 ? (size_t)(plan.n_units * n_columns * plan.n_row_pieces) : 0;
    program->state = mx_alloc(sizeof plan + n_results * (sizeof(int64_t) + itemsize));
    if (!program->state)
        return mx_fail(MX_ERROR_MEMORY, "unable to search in %td pieces",
                       (ptrdiff_t)program->n_blocks);
    memcpy(program->state, &plan, sizeof plan);
    return MX_OK;
}

/* -- Pieces ------------------------------------------------------------------------ */

/* The numbers of rows that win in the pieces: [piece of rows][unit][column]. */
static int64_t *winners_of(const struct mx_program *program)
{
    return (int64_t *)(void *)(program->state + sizeof(struct rows));
}

/* Returns the number of results, in the output and of a piece of rows. */
static intptr_t count_results(const struct mx_program *program)
{
    return rows_of(program)->n_units * program->shape[rows_of(program)->columns];
}

/* The elements that win in the pieces, in the same order. */
static char *values_of(const struct mx_program *program)
{
    intptr_t n = count_results(program) * rows_of(program)->n_row_pieces;
    return (char *)(winners_of(program) + n);
}

/* Returns the address of a column in the first row of a unit, in an access. */
static char *address_of(const struct mx_program *program, int access, intptr_t unit,
                        intptr_t column)
{
    const struct rows *plan = rows_of(program);
    const struct mx_access *in = &program->accesses[access];
    char *data = in->data + column * in->strides[plan->columns];
    for (int i = program->ndim - 1; i >= 0; i--) {
        if (i == plan->axis || i == plan->columns)
            continue;
        data += unit % program->shape[i] * in->strides[i];
        unit /= program->shape[i];
    }
    return data;
}

/* Writes n results of a unit, beginning with a column. */
static void write_results(const struct mx_program *program, intptr_t unit, intptr_t column,
                          const int64_t *winners, intptr_t n)
{
    const struct mx_access *out = &program->accesses[1];
    mx_copy_block(address_of(program, 1, unit, column),
                  &out->strides[rows_of(program)->columns], (const char *)winners,
                  &(intptr_t){sizeof *winners}, &n, 1, (int)sizeof *winners);
}

/* Compares two elements that win in some rows of a column.  The first of equal ones wins. */
static void argrows_compare(mx_arg_rows *find, const char *value, int64_t row, size_t itemsize,
                            char *best, int64_t *winner)
{
    _Alignas(8) char other[8];
    int64_t value_wins = 0, best_wins = 0;
    memcpy(other, best, itemsize);
    find(value, 0, 1, 1, 1, other, &value_wins);
    memcpy(other, value, itemsize);
    find(best, 0, 1, 1, 1, other, &best_wins);
    if (value_wins || (!best_wins && row < *winner)) {
        memcpy(best, value, itemsize);
        *winner = row;
    }
}

/* Searches rows of few columns without gaps: several of them are one row of more columns. */
static intptr_t search_narrow_rows(mx_arg_rows *find, const char *rows, intptr_t step,
                                   intptr_t n_rows, intptr_t n, intptr_t first, char *best,
                                   int64_t *winners)
{
    _Alignas(MX_CACHE_LINE) char values[NARROW * 8];
    int64_t groups_of[NARROW] = {0};
    intptr_t group = NARROW / n, n_groups = n_rows / group, itemsize = step / n;
    if (n_groups == 0)
        return 0;
    memcpy(values, rows, (size_t)(group * step));
    find(rows + group * step, group * step, n_groups - 1, group * n, 1, values, groups_of);
    memcpy(best, values, (size_t)step);
    for (intptr_t c = 0; c < n; c++)
        winners[c] = first + groups_of[c] * group;
    for (intptr_t i = n; i < group * n; i++)
        argrows_compare(find, values + i * itemsize, first + groups_of[i] * group + i / n,
                        (size_t)itemsize, best + i % n * itemsize, &winners[i % n]);
    return n_groups * group;
}

/* Finds the best elements of n columns, and the numbers of their rows. */
static void search_rows(mx_arg_rows *find, const char *rows, intptr_t step, intptr_t n_rows,
                        intptr_t n, intptr_t itemsize, intptr_t first, char *best,
                        int64_t *winners)
{
    intptr_t done = 0;
    if (step == n * itemsize && n <= NARROW / 2)
        done = search_narrow_rows(find, rows, step, n_rows, n, first, best, winners);
    if (done == 0) {
        memcpy(best, rows, (size_t)(n * itemsize));
        for (intptr_t i = 0; i < n; i++)
            winners[i] = first;
        done = 1;
    }
    find(rows + done * step, step, n_rows - done, n, first + done, best, winners);
}

void mx_argrows_run_block(const struct mx_program *program, intptr_t block, char *scratch)
{
    const struct rows *plan = rows_of(program);
    const struct mx_access *from = &program->accesses[0];
    intptr_t itemsize = from->itemsize, step = from->strides[plan->axis];
    intptr_t n_row_pieces = plan->n_row_pieces, row_piece = block % n_row_pieces;
    intptr_t column = block / n_row_pieces % program->n_pieces * program->length;
    intptr_t unit = block / n_row_pieces / program->n_pieces;
    intptr_t n_columns = program->shape[plan->columns], n = n_columns - column;
    intptr_t first = row_piece * plan->count, count = plan->n_rows - first;
    n = n < program->length ? n : program->length;
    count = count < plan->count ? count : plan->count;

    int64_t *winners = (int64_t *)(void *)scratch;
    char *best = scratch + program->length * (intptr_t)sizeof *winners;
    intptr_t at = row_piece * count_results(program) + unit * n_columns + column;
    if (n_row_pieces > 1) {
        winners = winners_of(program) + at;
        best = values_of(program) + at * itemsize;
    }
    const char *rows = address_of(program, 0, unit, column) + first * step;
    search_rows(plan->find, rows, step, count, n, itemsize, first, best, winners);
    if (n_row_pieces == 1)
        write_results(program, unit, column, winners, n);
}

/* The winners of the pieces are the rows of another search, of the columns one by one. */
void mx_argrows_finish(const struct mx_program *program)
{
    const struct rows *plan = rows_of(program);
    intptr_t itemsize = program->accesses[0].itemsize, n = count_results(program);
    intptr_t n_columns = program->shape[plan->columns], n_pieces = plan->n_row_pieces;
    for (intptr_t i = 0; i < n && n_pieces > 1; i++) {
        char *best = values_of(program) + i * itemsize;
        int64_t piece = 0;
        plan->find(best + n * itemsize, n * itemsize, n_pieces - 1, 1, 1, best, &piece);
        write_results(program, i / n_columns, i % n_columns,
                      winners_of(program) + piece * n + i, 1);
    }
}
