/* test_fuse.c -- which instructions run as one pass, and which must not.  Only independent
 * instructions leave program order, and only views that nothing else holds are temporaries. */
#include "base/error.h"
#include "instructions.h"
#include "scheduler/fuse.h"

enum { N = 1000, MOST = 128 };

/* Instructions, which hold references to their buffers as recorded ones do. */
static struct {
    struct mx_instruction items[MOST];
    int size;
    struct mx_plan plan;
} program;

static void append(struct mx_instruction in)
{
    CHECK(program.size < MOST);
    for (int k = 0; k < mx_operand_count(&in); k++)
        if (in.operands[k].buffer)
            mx_buffer_retain(in.operands[k].buffer);
    program.items[program.size++] = in;
}

static void append_add(struct mx_operand a, struct mx_operand b, struct mx_operand out)
{
    append(binary("add", add, N, a, b, out));
}

static const struct mx_plan *make_plan(bool fuse)
{
    CHECK(mx_fuse_plan(&program.plan, program.items, program.size, fuse) == MX_OK);
    mx_fuse_find_temporaries(&program.plan);
    return &program.plan;
}

static void clear(void)
{
    mx_fuse_clear(&program.plan);
    for (int i = 0; i < program.size; i++)
        for (int k = 0; k < mx_operand_count(&program.items[i]); k++)
            if (program.items[i].operands[k].buffer)
                mx_buffer_release(program.items[i].operands[k].buffer);
    program.size = 0;
}

/* Checks the plan against the numbers of the instructions: "0 1 | 2" is two groups. */
static void check_groups(const char *expected)
{
    char text[1024] = "", *end = text;
    const struct mx_plan *plan = make_plan(true);
    for (int g = 0; g < plan->n_groups; g++) {
        end += sprintf(end, g ? " |" : "");
        for (int s = 0; s < plan->groups[g].n_steps; s++)
            end += sprintf(end, "%s%d", end == text ? "" : " ",
                           plan->groups[g].steps[s].instruction);
    }
    if (strcmp(text, expected) != 0)
        fprintf(stderr, "planned %s\n", text);
    CHECK(strcmp(text, expected) == 0);
    clear();
}

/* Returns the view that an instruction writes. */
static const struct mx_view *written_by(const struct mx_plan *plan, int instruction)
{
    for (int g = 0; g < plan->n_groups; g++)
        for (int s = 0; s < plan->groups[g].n_steps; s++) {
            const struct mx_step *step = &plan->groups[g].steps[s];
            if (step->instruction == instruction)
                return &plan->groups[g].views[step->views[program.items[instruction].nin]];
        }
    return NULL;
}

/* A few arrays for the examples; each has room for 4 N numbers. */
static struct array a, b, c, d;

static struct mx_operand from(const struct array *array, intptr_t first, intptr_t step)
{
    return strided(array->buffer, first * (intptr_t)sizeof(double),
                   step * (intptr_t)sizeof(double));
}

/* -- Fusion ------------------------------------------------------------------------- */

static void test_chains(void)
{
    append_add(row(&a), row(&a), row(&b));
    append_add(row(&b), value(1.0), row(&c));
    append_add(row(&c), row(&b), row(&d));
    check_groups("0 1 2");

    append_add(row(&a), row(&a), row(&b)); /* shares only the shape */
    append_add(value(1.0), value(2.0), row(&c));
    check_groups("0 1");
}

static void test_unfused(void)
{
    append_add(row(&a), row(&a), row(&b));
    append_add(row(&a), row(&a), row(&c));
    append_add(row(&b), row(&c), row(&d));
    const struct mx_plan *plan = make_plan(false);
    CHECK(plan->n_groups == 3);
    for (int g = 0; g < 3; g++)
        CHECK(plan->groups[g].n_steps == 1 && plan->groups[g].steps[0].instruction == g);
    clear();
}

static void test_in_place(void)
{
    append_add(row(&a), row(&a), row(&a));
    append_add(row(&a), row(&b), row(&a));
    append_add(row(&a), row(&a), row(&c)); /* reads the complete result */
    append_add(value(0.0), value(0.0), row(&a));
    check_groups("0 1 2 3");
}

static void test_too_many_steps(void)
{
    for (int i = 0; i < 2 * MX_MAX_STEPS + 1; i++)
        append_add(row(&a), row(&b), row(&a));
    const struct mx_plan *plan = make_plan(true);
    CHECK(plan->n_groups == 3);
    CHECK(plan->groups[0].n_steps == MX_MAX_STEPS && plan->groups[1].n_steps == MX_MAX_STEPS);
    CHECK(plan->groups[2].n_steps == 1);
    clear();
}

/* -- Overlaps ----------------------------------------------------------------------- */

static void test_overlaps(void)
{
    append_add(value(0.0), value(0.0), from(&a, 0, 1));
    append_add(from(&a, 1, 1), value(1.0), row(&b)); /* the next elements */
    check_groups("0 | 1");

    append_add(from(&a, 1, 1), value(1.0), row(&b));
    append_add(value(0.0), value(0.0), from(&a, 0, 1)); /* written after it was read */
    check_groups("0 | 1");

    append_add(value(0.0), value(0.0), from(&a, 0, 1));
    append_add(value(1.0), value(1.0), from(&a, N - 1, 1)); /* one element in common */
    check_groups("0 | 1");

    append_add(value(0.0), value(0.0), from(&a, 0, 1));
    append_add(from(&a, N - 1, -1), value(1.0), row(&b)); /* backwards */
    check_groups("0 | 1");

    append_add(value(0.0), value(0.0), from(&a, 0, 1));
    append_add(from(&a, 0, 2), value(1.0), row(&b)); /* every other */
    check_groups("0 | 1");

    append_add(from(&a, 1, 1), from(&a, 0, 1), row(&b)); /* only reads */
    append_add(from(&a, N - 1, -1), from(&a, 0, 2), row(&c));
    check_groups("0 1");
}

static void test_neighbours(void)
{
    append_add(value(0.0), value(0.0), from(&a, 0, 1));
    append_add(from(&a, N, 1), value(1.0), row(&b)); /* the elements after it */
    append_add(value(0.0), value(0.0), from(&c, 0, 2));
    append_add(value(0.0), value(0.0), from(&c, 1, 2)); /* the elements between */
    append_add(value(0.0), value(0.0), from(&c, 2 * N, 2));
    check_groups("0 1 2 3 4");
}

static struct mx_instruction fill(int ndim, const intptr_t *shape, struct mx_operand out)
{
    struct mx_instruction in = unary("fill", square, 1, value(0.0), out);
    in.ndim = ndim;
    memcpy(in.shape, shape, (size_t)ndim * sizeof *shape);
    return in;
}

/* Two blocks of a matrix share a pass if they are the same or do not overlap. */
static void test_blocks_of_a_matrix(void)
{
    const intptr_t shape[] = {4, 5};
    struct mx_operand block = from(&a, 0, 20);
    block.strides[1] = 8;
    for (int i = 0; i < 6; i++) {
        for (int j = -6; j <= 6; j++) {
            struct mx_operand other = block;
            block.at = 6 * 8;
            other.at = 8 * (20 * i + j + 6);
            append(fill(2, shape, block));
            append(fill(2, shape, other));
            bool is_same = i == 0 && j == 0, is_apart = i >= 4 || j <= -5 || j >= 5;
            check_groups(is_same || is_apart ? "0 1" : "0 | 1");
        }
    }
}

/* An instruction that goes across memory joins only a group with which it shares a view. */
static void test_across_memory(void)
{
    const intptr_t shape[] = {20, 30};
    struct mx_operand ordered = packed(a.buffer, 8, 2, shape), across = from(&b, 0, 1);
    across.strides[1] = 20 * 8;
    append(fill(2, shape, ordered));
    append(fill(2, shape, across));
    check_groups("0 | 1");

    append(fill(2, shape, ordered));
    append(fill(2, shape, across));
    across.buffer = c.buffer;
    append(fill(2, shape, across));
    ordered.buffer = d.buffer;
    append(fill(2, shape, ordered));
    check_groups("0 3 | 1 2");

    struct mx_instruction copy = fill(2, shape, across);
    copy.operands[0] = ordered;
    append(fill(2, shape, ordered));
    append(copy);
    check_groups("0 1");
}

/* -- Order -------------------------------------------------------------------------- */

static void test_moves_in_front_of_the_independent(void)
{
    append_add(row(&a), row(&a), row(&b));
    append(binary("add", add, N / 2, row(&a), row(&a), row(&c))); /* another shape */
    append_add(row(&b), row(&b), row(&d));
    check_groups("0 2 | 1");

    append_add(row(&a), row(&a), row(&b));
    append(binary("add", add, N / 2, row(&a), row(&b), row(&c)));
    append_add(row(&c), row(&b), row(&d)); /* reads what group 1 wrote */
    check_groups("0 | 1 | 2");

    append_add(row(&a), row(&a), row(&b));
    append(binary("add", add, N / 2, row(&a), row(&a), row(&c)));
    append_add(row(&b), row(&b), row(&a)); /* writes what group 1 reads */
    check_groups("0 | 1 | 2");

    append_add(row(&a), row(&a), row(&b));
    append(binary("add", add, N / 2, row(&a), row(&a), row(&c)));
    append_add(row(&b), row(&b), row(&c)); /* writes what group 1 writes */
    check_groups("0 | 1 | 2");
}

/* -- Reductions --------------------------------------------------------------------- */

static struct mx_instruction sum_axes(const intptr_t *shape, unsigned axes,
                                      struct mx_operand in, struct mx_operand out)
{
    struct mx_instruction sums = sum(1, in, out);
    sums.ndim = 2;
    intptr_t stride = 8;
    for (int i = 1; i >= 0; i--) {
        sums.shape[i] = shape[i];
        sums.operands[1].strides[i] = axes >> i & 1 ? 0 : stride;
        stride *= axes >> i & 1 ? 1 : shape[i];
    }
    return sums;
}

static void test_reductions(void)
{
    const intptr_t shape[] = {20, 30};
    struct mx_operand whole = packed(a.buffer, 8, 2, shape);
    struct mx_operand other = packed(d.buffer, 8, 2, shape);

    append(fill(2, shape, whole));
    append(sum_axes(shape, 1, whole, row(&b)));
    append(sum_axes(shape, 1, other, row(&c))); /* of the same axes */
    const struct mx_plan *plan = make_plan(true);
    CHECK(plan->n_groups == 1 && plan->groups[0].has_reductions);
    CHECK(plan->groups[0].reduced == 1);
    CHECK(written_by(plan, 1)->is_reduced && !written_by(plan, 0)->is_reduced);
    clear();

    append(sum_axes(shape, 1, whole, row(&b)));
    append(sum_axes(shape, 2, whole, row(&c))); /* of others */
    append(sum_axes(shape, 3, whole, row(&d)));
    append(fill(2, shape, packed(d.buffer, 8, 2, shape))); /* writes a result */
    check_groups("0 | 1 | 2 | 3");

    append(sum_axes(shape, 1, whole, row(&b)));
    struct mx_operand means = row(&b);
    means.strides[0] = 0;
    means.strides[1] = 8;
    struct mx_instruction centre = fill(2, shape, other); /* reads a result, broadcast */
    centre.operands[0] = means;
    append(centre);
    check_groups("0 | 1");

    append(sum_axes(shape, 1, whole, row(&b)));
    append(fill(2, shape, whole)); /* writes what was summed: later, of each element */
    check_groups("0 1");

    append(sum_axes(shape, 1, whole, row(&b)));
    append(sum_axes(shape, 1, other, row(&b))); /* the same result again */
    check_groups("0 | 1");
}

/* -- Temporaries -------------------------------------------------------------------- */

static struct mx_buffer *new_unseen(void)
{
    struct mx_buffer *buffer = mx_buffer_new(4 * N * sizeof(double));
    CHECK(buffer);
    return buffer;
}

static void test_temporaries(void)
{
    struct mx_buffer *once = new_unseen(), *twice = new_unseen(), *read = new_unseen();
    struct mx_buffer *held = new_unseen(), *later = new_unseen(), *result = new_unseen();
    append_add(row(&a), value(1.0), strided(once, 0, 8));
    append_add(strided(once, 0, 8), value(1.0), strided(twice, 0, 8));
    append_add(strided(once, 0, 8), value(1.0), strided(twice, 16 * N, 8)); /* two views */
    append_add(strided(read, 0, 8), value(1.0),
               strided(read, 0, 8)); /* read before it is written */
    append_add(row(&a), value(1.0), strided(held, 0, 8));
    append_add(row(&a), value(1.0), strided(later, 0, 8));
    append(binary("add", add, N / 2, strided(later, 0, 8), value(1.0), row(&c)));
    append(sum(N, row(&a), strided(result, 0, 8)));
    append_add(row(&a), value(1.0), row(&b));
    struct mx_buffer *dropped[] = {once, twice, read, later, result};
    for (int i = 0; i < 5; i++)
        mx_buffer_release(dropped[i]);
    const struct mx_plan *plan = make_plan(true);
    CHECK(plan->n_groups == 2);
    for (int i = 0; i < program.size; i++)
        CHECK(written_by(plan, i)->is_temporary == (i == 0));

    mx_buffer_release(held);
    mx_fuse_find_temporaries(&program.plan);
    for (int i = 0; i < program.size; i++)
        CHECK(written_by(plan, i)->is_temporary == (i == 0 || i == 4));
    clear();
    CHECK(memory_info().in_use == 0);
}

/* -- Random ------------------------------------------------------------------------- */

enum { WIDE = 12, BYTES = 4 * WIDE * WIDE * 4 };

/* Marks the bytes of an operand. */
static void mark(const struct mx_instruction *in, const struct mx_operand *operand,
                 unsigned char *bytes)
{
    intptr_t index[MX_MAX_NDIM] = {0};
    memset(bytes, 0, BYTES);
    for (;;) {
        intptr_t at = operand->at;
        for (int i = 0; i < in->ndim; i++)
            at += index[i] * operand->strides[i];
        CHECK(at >= 0 && at + operand->itemsize <= BYTES);
        memset(bytes + at, 1, (size_t)operand->itemsize);
        int axis = in->ndim - 1;
        while (axis >= 0 && ++index[axis] == in->shape[axis])
            index[axis--] = 0;
        if (axis < 0)
            return;
    }
}

static bool are_same(const struct mx_instruction *in, const struct mx_operand *x,
                     const struct mx_operand *y)
{
    bool same = x->buffer == y->buffer && x->at == y->at && x->itemsize == y->itemsize;
    for (int i = 0; i < in->ndim; i++)
        same &= x->strides[i] == y->strides[i];
    return same;
}

/* Finds whether two instructions must keep their order, and whether they may share a pass. */
static void compare(const struct mx_instruction *x, const struct mx_instruction *y,
                    bool *conflict, bool *can_share)
{
    unsigned char first[BYTES], second[BYTES];
    *conflict = false;
    *can_share = x->ndim == y->ndim;
    for (int i = 0; i < x->ndim && *can_share; i++)
        *can_share = x->shape[i] == y->shape[i];
    for (int j = 0; j < mx_operand_count(x); j++) {
        if (x->operands[j].is_value)
            continue;
        mark(x, &x->operands[j], first);
        for (int k = 0; k < mx_operand_count(y); k++) {
            const struct mx_operand *p = &x->operands[j], *q = &y->operands[k];
            if (q->buffer != p->buffer || q->is_value || (j < x->nin && k < y->nin))
                continue;
            mark(y, q, second);
            bool meet = false;
            for (int byte = 0; byte < BYTES && !meet; byte++)
                meet = first[byte] && second[byte];
            *conflict |= meet;
            if (meet && (!*can_share || !are_same(x, p, q)))
                *can_share = false;
        }
    }
}

static struct mx_operand random_view(uint64_t *chance, const struct mx_instruction *in,
                                     struct mx_buffer *buffer, bool is_output)
{
    static const int steps[] = {1, 1, 1, -1, 2, -2, 3, 0};
    for (;;) {
        struct mx_operand view = {.buffer = buffer, .itemsize = 4 << below(chance, 2)};
        intptr_t low = 0, high = view.itemsize, scale = view.itemsize;
        for (int i = in->ndim - 1; i >= 0; i--) {
            view.strides[i] = steps[below(chance, is_output ? 7 : 8)] * scale;
            if (below(chance, 4) > 0)
                scale = WIDE * scale; /* otherwise the axes overlap or interleave */
            intptr_t reach = (in->shape[i] - 1) * view.strides[i];
            *(reach < 0 ? &low : &high) += reach;
        }
        if (high - low > BYTES)
            continue;
        view.at = -low + 4 * below(chance, (int)((BYTES - (high - low)) / 4) + 1);
        return view;
    }
}

/* Returns whether the elements of an output do not overlap. */
static bool lies_apart(const struct mx_instruction *in, const struct mx_operand *view)
{
    unsigned char bytes[BYTES];
    int marked = 0;
    mark(in, view, bytes);
    for (int i = 0; i < BYTES; i++)
        marked += bytes[i];
    return marked == mx_element_count(in) * view->itemsize;
}

static struct mx_instruction random_instruction(uint64_t *chance, struct mx_buffer **buffers)
{
    struct mx_instruction in = {
        .op = MX_NO_OP, .nin = 1 + below(chance, 2), .nout = 1, .name = "any"};
    in.ndim = 1 + below(chance, 2);
    in.shape[0] = below(chance, 4) ? 4 : 1 + below(chance, WIDE);
    in.shape[1] = below(chance, 4) ? 3 : 1 + below(chance, WIDE);
    for (;;) {
        unsigned char written[BYTES], read[BYTES];
        bool is_legal = true;
        struct mx_operand *out = &in.operands[in.nin];
        do
            *out = random_view(chance, &in, buffers[below(chance, 3)], true);
        while (!lies_apart(&in, out));
        mark(&in, out, written);
        for (int k = 0; k < in.nin; k++) {
            bool in_place = below(chance, 4) == 0;
            in.operands[k] =
                in_place ? *out : random_view(chance, &in, buffers[below(chance, 3)], false);
            if (in_place || in.operands[k].buffer != out->buffer)
                continue;
            mark(&in, &in.operands[k], read);
            for (int i = 0; i < BYTES; i++)
                is_legal &= !read[i] || !written[i];
        }
        if (is_legal)
            return in;
    }
}

/* Each instruction is in one group.  Two that depend on each other keep their order, and share
 * a group only if they use the same view. */
static void test_random_programs(void)
{
    uint64_t chance = 1;
    int fused = 0;
    struct mx_buffer *buffers[] = {a.buffer, b.buffer, c.buffer};
    for (int round = 0; round < 300; round++) {
        int size = 2 + below(&chance, 20), place[MOST], group_of[MOST];
        for (int i = 0; i < size; i++)
            append(random_instruction(&chance, buffers));
        const struct mx_plan *plan = make_plan(true);
        for (int i = 0; i < size; i++)
            place[i] = -1;
        for (int g = 0, n = 0; g < plan->n_groups; g++)
            for (int s = 0; s < plan->groups[g].n_steps; s++) {
                int i = plan->groups[g].steps[s].instruction;
                CHECK(i >= 0 && i < size && place[i] < 0);
                place[i] = n++;
                group_of[i] = g;
            }
        for (int i = 0; i < size; i++)
            CHECK(place[i] >= 0);
        for (int i = 0; i < size; i++)
            for (int j = i + 1; j < size; j++) {
                bool conflict, can_share;
                compare(&program.items[i], &program.items[j], &conflict, &can_share);
                CHECK(!conflict || place[i] < place[j]);
                CHECK(can_share || group_of[i] != group_of[j]);
                fused += group_of[i] == group_of[j];
            }
        clear();
    }
    CHECK(fused > 1000); /* otherwise the test would be empty */
}

/* -- Memory ------------------------------------------------------------------------- */

static void test_refused_memory(void)
{
    int status, n = 0;
    do {
        for (int i = 0; i < 20; i++)
            append(binary("add", add, N + i / 2, row(&a), row(&b), strided(c.buffer, 0, 8)));
        mx_alloc_refuse(n++, 1);
        status = mx_fuse_plan(&program.plan, program.items, program.size, true);
        mx_alloc_refuse(0, 0);
        CHECK(status == MX_OK || status == MX_ERROR_MEMORY);
        CHECK((status == MX_OK) == (program.plan.n_groups > 0));
        clear();
    } while (status != MX_OK);
    CHECK(n > 10);
}

int main(void)
{
    struct array *arrays[] = {&a, &b, &c, &d};
    for (int i = 0; i < 4; i++)
        array_init(arrays[i], 4 * N * sizeof(double));
    test_chains();
    test_unfused();
    test_in_place();
    test_too_many_steps();
    test_overlaps();
    test_neighbours();
    test_blocks_of_a_matrix();
    test_across_memory();
    test_moves_in_front_of_the_independent();
    test_reductions();
    test_temporaries();
    test_random_programs();
    test_refused_memory();
    for (int i = 0; i < 4; i++)
        array_drop(arrays[i]);
    CHECK(memory_info().in_use == 0);
    return 0;
}
