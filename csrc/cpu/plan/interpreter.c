/* interpreter.c -- runs the calls of a program on one block. */
#include "cpu/plan/interpreter.h"

#include "cpu/kernels/conditions.h"
#include "cpu/kernels/copies.h"
#include "cpu/plan/partial.h"

/* -- Operands ---------------------------------------------------------------------- */

static char *first_element(const struct mx_program *program, const struct mx_access *access,
                           const struct mx_position *at)
{
    char *data = access->data;
    for (int i = 0; i <= program->split; i++)
        data += at->index[i] * access->strides[i];
    return data;
}

/* Copies the elements of a block between memory and scratch memory, where they are packed. */
static void move(const struct mx_program *program, const struct mx_access *access,
                 const struct mx_position *at, char *packed, bool is_store)
{
    int ndim = program->ndim - program->split;
    intptr_t shape[MX_MAX_NDIM], strides[MX_MAX_NDIM], stride = access->itemsize;
    for (int i = ndim - 1; i >= 0; i--) {
        shape[i] = i == 0               ? at->length
                   : program->parts < 0 ? program->shape[program->split + i]
                                        : mx_inner(program, at);
        strides[i] = stride;
        stride *= shape[i];
    }
    char *data = first_element(program, access, at);
    const intptr_t *memory_strides = &access->strides[program->split];
    if (is_store)
        mx_copy_block(data, memory_strides, packed, strides, shape, ndim, access->itemsize);
    else
        mx_copy_block(packed, strides, data, memory_strides, shape, ndim, access->itemsize);
}

/* Returns the data argument of a call's loop. */
static void *data_of(struct mx_instruction *in, const struct mx_position *at)
{
    switch (in->kind) {
    case MX_ARANGE:
        return (void *)(uintptr_t)&at->index[0];
    case MX_BOUNDS_CHECK:
    case MX_GATHER:
        return in;
    default:
        return in->loop.data;
    }
}

/* -- Times ------------------------------------------------------------------------- */

/* Adds the time since begin to the samples of a call, and returns the time now. */
static int64_t add_time(struct mx_call *call, int64_t begin)
{
    int64_t end = mx_now(), taken = end - begin;
    int64_t shortest = atomic_load_explicit(&call->shortest, memory_order_relaxed);
    atomic_fetch_add_explicit(&call->nanoseconds, taken, memory_order_relaxed);
    atomic_fetch_add_explicit(&call->n_samples, 1, memory_order_relaxed);
    if (shortest == 0 || taken < shortest) /* the sample of another thread may get lost */
        atomic_store_explicit(&call->shortest, taken, memory_order_relaxed);
    return end;
}

/* -- Calls ------------------------------------------------------------------------- */

/* Notes the conditions met so far, before a call that clears them. */
static void note_conditions(struct mx_program *program)
{
    int met = mx_conditions_met();
    if (met)
        atomic_fetch_or(&program->met, met);
}

/* Copies the elements of a block that a run overwrites, or brings them back.  If all calls of
 * the block run, their temporaries are left out. */
static void copy_saved(const struct mx_program *program, char *const *data, char *scratch,
                       intptr_t n, bool are_all, bool is_restored)
{
    for (int a = 0; a < program->n_accesses; a++) {
        const struct mx_access *access = &program->accesses[a];
        intptr_t stride = access->itemsize;
        char *copy = scratch + access->saved;
        if (!access->is_saved || (are_all && access->kind == MX_SCRATCH))
            continue;
        if (is_restored)
            mx_copy_block(data[a], &access->stride, copy, &stride, &n, 1, access->itemsize);
        else
            mx_copy_block(copy, &stride, data[a], &access->stride, &n, 1, access->itemsize);
    }
}

/* What the calls of a block compute: all its elements at once, or row by row. */
struct rows {
    intptr_t n, length;    /* elements of a row */
    const intptr_t *steps; /* from row to row, for each access */
};

/* Returns the address of an access in a row. */
static char *in_row(char *const *data, const struct rows *rows, int access, intptr_t row)
{
    return data[access] + row * rows->steps[access];
}

/* Computes a run of calls.  Returns false, and changes nothing, if the calls have to report a
 * condition that it met: the kernel cannot say which call met it. */
static bool run_compiled(const struct mx_program *program, const struct mx_compiled_run *run,
                         char *const *data, char *scratch, const struct rows *rows,
                         bool is_watched)
{
    char *now[program->n_accesses];
    if (is_watched)
        copy_saved(program, data, scratch, rows->n * rows->length, false, false);
    for (intptr_t r = 0; r < rows->n; r++) {
        for (int a = 0; a < program->n_accesses; a++)
            now[a] = in_row(data, rows, a, r);
        run->kernel(now, program->strides, rows->length);
    }
    if (!is_watched)
        return true;
    int met = mx_conditions_met();
    if (met)
        mx_conditions_clear();
    if ((met & program->fpe_mask) == 0)
        return true;
    copy_saved(program, data, scratch, rows->n * rows->length, false, true);
    return false;
}

/* Computes two calls together. */
static void run_pair(const struct mx_call *call, char *const *data, const struct rows *rows)
{
    const int *from = call->pair_accesses, to = call[1].accesses[2];
    for (intptr_t r = 0; r < rows->n; r++)
        call->pair(in_row(data, rows, from[0], r), in_row(data, rows, from[1], r),
                   in_row(data, rows, from[2], r), in_row(data, rows, to, r), rows->length);
}

/* Adds the squares of the differences between a block and means, which are read in memory. */
static void run_squares(const struct mx_program *program, const struct mx_call *call,
                        char *const *data, const struct mx_position *at,
                        struct mx_partial *partial)
{
    const char *means = first_element(program, &program->accesses[call->accesses[1]], at);
    mx_partial_add_squares(program, call, data[call->accesses[0]], means,
                           data[call->accesses[2]], at, partial);
}

/* Runs the loop of a call on all rows of a block. */
static void run_loop(const struct mx_call *call, char *const *data,
                     const struct mx_position *at, const struct rows *rows)
{
    struct mx_instruction *in = call->instruction;
    char *args[MX_MAX_OPERANDS];
    for (intptr_t r = 0; r < rows->n; r++) {
        for (int k = 0; k < mx_operand_count(in); k++)
            args[k] = in_row(data, rows, call->accesses[k], r);
        in->loop.function(args, &rows->length, call->strides, data_of(in, at));
    }
}

/* Runs call number c on the elements of a block, and the next calls with it if one kernel
 * computes them all.  Returns the number of the last call that ran. */
static int run_call(struct mx_program *program, int c, char *const *data,
                    const struct mx_position *at, const struct rows *rows, char *scratch,
                    struct mx_partial *partials, bool is_watched)
{
    struct mx_call *call = &program->calls[c];
    struct mx_instruction *in = call->instruction;
    intptr_t n = rows->n * rows->length;
    if (call->squares && !is_watched) {
        run_squares(program, call, data, at, &partials[c + 2]);
        return c + 2;
    }
    if (call->run && run_compiled(program, call->run, data, scratch, rows, is_watched))
        return c + call->run->n_calls - 1;
    if (call->pair && !is_watched) {
        run_pair(call, data, rows);
        return c + 1;
    }
    if (call->count && mx_has_rows(program)) {
        mx_partial_count_rows(program, call, data[call->accesses[0]], at, &partials[c + 1]);
        return c + 1;
    }
    if (call->count) {
        char *number = data[call->accesses[1]];
        call->count(data[call->accesses[0]], number, n);
        mx_partial_add_block(program, call + 1, number, 0, at, 1, &partials[c + 1]);
        return c + 1;
    }
    if (in->loop.clears && !is_watched && !program->is_silent)
        note_conditions(program);
    if (in->kind == MX_REDUCE)
        mx_partial_add_block(program, call, data[call->accesses[0]], call->strides[0], at, n,
                             &partials[c]);
    else
        run_loop(call, data, at, rows);
    if (is_watched)
        mx_conditions_report(in);
    return c;
}

/* Returns the rows of a block, and sets the steps from one to the next. */
static struct rows rows_of(const struct mx_program *program, const struct mx_position *at,
                           intptr_t *steps)
{
    intptr_t inner = mx_inner(program, at);
    for (int a = 0; a < program->n_accesses; a++) {
        const struct mx_access *access = &program->accesses[a];
        steps[a] = access->kind == MX_DIRECT ? access->strides[program->split]
                                             : inner * access->itemsize;
    }
    return program->computes_rows ? (struct rows){at->length, inner, steps}
                                  : (struct rows){1, at->length * inner, steps};
}

/* Runs the calls of a block, whose packed operands are loaded. */
static void run_calls(struct mx_program *program, char *const *data,
                      const struct mx_position *at, char *scratch, struct mx_partial *partials,
                      bool is_watched)
{
    intptr_t steps[program->n_accesses];
    struct rows rows = rows_of(program, at, steps);
    int64_t begin = at->is_timed ? mx_now() : 0;
    for (int c = 0; c < program->n_calls; c++) {
        c = run_call(program, c, data, at, &rows, scratch, partials, is_watched);
        if (at->is_timed) /* the last call of a run has the time of all for now */
            begin = add_time(&program->calls[c], begin);
    }
}

bool mx_interpreter_has_met(struct mx_program *program)
{
    int met = mx_conditions_met() | atomic_load_explicit(&program->met, memory_order_relaxed);
    if ((met & program->fpe_mask) == 0)
        return false;
    atomic_store(&program->is_watched, true);
    mx_conditions_clear();
    return true;
}

void mx_interpreter_run_block(struct mx_program *program, const struct mx_position *at,
                              char *scratch, struct mx_partial *partials, bool is_watched)
{
    char *data[program->n_accesses];
    intptr_t n = at->length * mx_inner(program, at);
    MX_ASSERT(at->length > 0 && at->length <= program->length);
    MX_ASSERT(partials || program->n_reductions == 0);
    bool is_saved = program->saves_blocks && !is_watched;
    for (int a = 0; a < program->n_accesses; a++) {
        const struct mx_access *access = &program->accesses[a];
        data[a] = access->kind == MX_DIRECT ? first_element(program, access, at)
                                            : scratch + access->offset;
        if (access->kind == MX_PACKED && access->is_loaded && (is_watched || !access->is_mean))
            move(program, access, at, data[a], false);
    }
    if (is_saved)
        copy_saved(program, data, scratch, n, true, false);
    run_calls(program, data, at, scratch, partials, is_watched);
    if (is_saved && mx_interpreter_has_met(program)) {
        copy_saved(program, data, scratch, n, true, true);
        run_calls(program, data, at, scratch, partials, true);
    }
    for (int a = 0; a < program->n_accesses; a++) {
        const struct mx_access *access = &program->accesses[a];
        if (access->kind == MX_PACKED && access->is_stored)
            move(program, access, at, data[a], true);
    }
}
