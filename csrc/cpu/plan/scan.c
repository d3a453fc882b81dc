/* scan.c -- groups that are one scan: running results along an axis. */
#include "cpu/plan/scan.h"

#include "cpu/kernels/copies.h"
#include "cpu/kernels/running.h"
#include "cpu/threads/thread_pool.h"
#include "ir/ops.h"

#define ROW_PIECE 1024 /* elements of a row, which stay in the cache between steps */

static intptr_t scan_magnitude(intptr_t x) { return x < 0 ? -x : x; }

/* Returns the axis with the smallest stride, or -1 if that is the axis of the scan.  NumPy
 * calls its loop along the axis of the scan, where products of complex numbers are rounded in
 * another way than in rows. */
static int find_row(const struct mx_program *program, int axis)
{
    const struct mx_instruction *in = program->calls[0].instruction;
    const intptr_t *strides = program->accesses[1].strides;
    int row = -1;
    if (in->op == MX_OP_multiply && mx_dtype_is_complex(in->operands[1].dtype))
        return -1;
    for (int i = 0; i < program->ndim; i++) {
        intptr_t least = scan_magnitude(strides[row < 0 ? axis : row]);
        if (i != axis && program->shape[i] > 1 && scan_magnitude(strides[i]) < least)
            row = i;
    }
    return row;
}

void mx_scan_plan(struct mx_program *program)
{
    int axis = program->calls[0].instruction->axis, row = find_row(program, axis);
    intptr_t unit = program->shape[axis], n_units = 1;
    program->split = row;
    program->length = 1;
    program->n_pieces = 1;
    if (row >= 0) {
        intptr_t n = program->shape[row];
        program->length = n < ROW_PIECE ? n : ROW_PIECE;
        program->n_pieces = (n + program->length - 1) / program->length;
        unit *= program->length;
    }
    for (int i = 0; i < program->ndim; i++)
        n_units *= i == axis ? 1 : i == row ? program->n_pieces : program->shape[i];
    program->n_blocks = n_units;
    program->blocks_per_chunk = unit < MX_CHUNK_ELEMENTS ? MX_CHUNK_ELEMENTS / unit : 1;
    if (row < 0 && program->blocks_per_chunk < MX_RUNNING_LINES &&
        n_units >= MX_RUNNING_LINES * mx_thread_pool_size())
        program->blocks_per_chunk = MX_RUNNING_LINES;
    program->n_chunks =
        (size_t)((n_units + program->blocks_per_chunk - 1) / program->blocks_per_chunk);
}

/* Sets data to the first elements of a unit in the input and in the output.  Returns the length
 * of its row. */
static intptr_t find_unit(const struct mx_program *program, int axis, intptr_t number,
                          char **data)
{
    intptr_t length = 1;
    data[0] = program->accesses[0].data;
    data[1] = program->accesses[1].data;
    for (int i = program->ndim - 1; i >= 0; i--) {
        if (i == axis)
            continue;
        intptr_t n = i == program->split ? program->n_pieces : program->shape[i];
        intptr_t at = number % n;
        number /= n;
        if (i == program->split) {
            at *= program->length;
            length = program->shape[i] - at;
            length = length < program->length ? length : program->length;
        }
        data[0] += at * program->accesses[0].strides[i];
        data[1] += at * program->accesses[1].strides[i];
    }
    return length;
}

/* Computes the running results of a row of lines side by side, or of one line, with the loop
 * of the instruction. */
static void run_unit(const struct mx_program *program, intptr_t number)
{
    const struct mx_instruction *in = program->calls[0].instruction;
    const struct mx_access *from = &program->accesses[0], *to = &program->accesses[1];
    int axis = in->axis, row = program->split;
    intptr_t n = program->shape[axis], step = from->strides[axis], out_step = to->strides[axis];
    char *data[2];
    intptr_t length = find_unit(program, axis, number, data);
    intptr_t across = row < 0 ? 0 : from->strides[row],
             out_across = row < 0 ? 0 : to->strides[row];
    mx_copy_block(data[1], &out_across, data[0], &across, &length, 1, to->itemsize);
    if (row < 0) {
        char *args[] = {data[1], data[0] + step, data[1] + out_step};
        intptr_t count = n - 1, strides[] = {out_step, step, out_step};
        if (count > 0)
            in->loop.function(args, &count, strides, in->loop.data);
        return;
    }
    for (intptr_t i = 1; i < n; i++) {
        char *args[] = {data[1] + (i - 1) * out_step, data[0] + i * step,
                        data[1] + i * out_step};
        intptr_t strides[] = {out_across, across, out_across};
        in->loop.function(args, &length, strides, in->loop.data);
    }
}

/* Computes the running results of several lines with a kernel. */
static void run_lines(const struct mx_program *program, mx_running_kernel *run, intptr_t begin,
                      intptr_t end)
{
    int axis = program->calls[0].instruction->axis;
    struct mx_line lines[MX_RUNNING_LINES];
    for (intptr_t unit = begin; unit < end;) {
        int n_lines = 0;
        for (; n_lines < MX_RUNNING_LINES && unit < end; n_lines++, unit++) {
            char *data[2];
            find_unit(program, axis, unit, data);
            lines[n_lines] = (struct mx_line){data[0], data[1]};
        }
        run(lines, n_lines, program->shape[axis], program->accesses[0].strides[axis],
            program->accesses[1].strides[axis]);
    }
}

void mx_scan_run_chunk(const struct mx_program *program, size_t chunk)
{
    intptr_t begin = (intptr_t)chunk * program->blocks_per_chunk;
    intptr_t end = begin + program->blocks_per_chunk;
    const struct mx_instruction *in = program->calls[0].instruction;
    mx_running_kernel *run =
        program->split < 0 ? mx_running_find(in->op, in->operands[1].dtype) : NULL;
    end = end < program->n_blocks ? end : program->n_blocks;
    if (run)
        run_lines(program, run, begin, end);
    for (intptr_t unit = begin; unit < end && !run; unit++)
        run_unit(program, unit);
}
