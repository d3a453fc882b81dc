/* test_program.c -- fused groups, in blocks and on several threads, have the same bits as one
 * instruction after the other. */
#include <fenv.h>
#include <stdlib.h>

#include "cpu/kernels/copies.h"
#include "cpu/plan/program.h"
#include "cpu/threads/thread_pool.h"
#include "instructions.h"

enum { MOST = 40, MAX_ELEMENTS = 40000 };

/* -- Loops of all sizes and arities --------------------------------------------------- */

BINARY_LOOP(mix_1, uint8_t, uint8_t, x * 3u + y)
BINARY_LOOP(mix_2, uint16_t, uint16_t, x * 3u + y)
BINARY_LOOP(mix_4, uint32_t, uint32_t, x * 3u + y)
BINARY_LOOP(mix_8, uint64_t, uint64_t, x * 3u + y)
BINARY_LOOP(sum_1, uint8_t, uint8_t, x + y)
BINARY_LOOP(sum_2, uint16_t, uint16_t, x + y)
BINARY_LOOP(sum_4, uint32_t, uint32_t, x + y)
BINARY_LOOP(sum_8, uint64_t, uint64_t, x + y)
BINARY_LOOP(is_less, uint32_t, uint8_t, x < y)
UNARY_LOOP(not_4, uint32_t, uint32_t, ~x)
UNARY_LOOP(not_8, uint64_t, uint64_t, ~x)
UNARY_LOOP(widen_1, uint8_t, uint64_t, x * 257u)
UNARY_LOOP(widen_2, uint16_t, uint32_t, x * 3u)
UNARY_LOOP(narrow_8, uint64_t, uint8_t, x >> 20)
UNARY_LOOP(narrow_4, uint32_t, uint16_t, x >> 5)

/* The loop has two outputs. */
static void halve_8(char **args, const intptr_t *n, const intptr_t *s, void *data)
{
    (void)data;
    for (intptr_t i = 0; i < *n; i++) {
        uint64_t x = *(uint64_t *)(void *)(args[0] + i * s[0]);
        *(uint32_t *)(void *)(args[1] + i * s[1]) = (uint32_t)(x >> 32);
        *(uint32_t *)(void *)(args[2] + i * s[2]) = (uint32_t)x;
    }
}

struct pair {
    uint64_t x, y;
};

/* The elements of the output have 16 bytes. */
static void join_16(char **args, const intptr_t *n, const intptr_t *s, void *data)
{
    (void)data;
    for (intptr_t i = 0; i < *n; i++) {
        struct pair a = *(struct pair *)(void *)(args[0] + i * s[0]);
        struct pair b = *(struct pair *)(void *)(args[1] + i * s[1]);
        *(struct pair *)(void *)(args[2] + i * s[2]) = (struct pair){a.y + b.x, a.x ^ b.y};
    }
}

struct kind {
    const char *name;
    mx_loop_function loop;
    int nin, nout, sizes[MX_MAX_OPERANDS];
    bool can_reduce; /* any order has the same bits */
};

static struct kind kinds[] = {
    {"mix", mix_1, 2, 1, {1, 1, 1}, false},
    {"mix", mix_2, 2, 1, {2, 2, 2}, false},
    {"mix", mix_4, 2, 1, {4, 4, 4}, false},
    {"mix", mix_8, 2, 1, {8, 8, 8}, false},
    {"sum", sum_1, 2, 1, {1, 1, 1}, true},
    {"sum", sum_2, 2, 1, {2, 2, 2}, true},
    {"sum", sum_4, 2, 1, {4, 4, 4}, true},
    {"sum", sum_8, 2, 1, {8, 8, 8}, true},
    {"is_less", is_less, 2, 1, {4, 4, 1}, false},
    {"not", not_4, 1, 1, {4, 4}, false},
    {"not", not_8, 1, 1, {8, 8}, false},
    {"widen", widen_1, 1, 1, {1, 8}, false},
    {"widen", widen_2, 1, 1, {2, 4}, false},
    {"narrow", narrow_8, 1, 1, {8, 1}, false},
    {"narrow", narrow_4, 1, 1, {4, 2}, false},
    {"halve", halve_8, 1, 2, {8, 4, 4}, false},
    {"join", join_16, 2, 1, {16, 16, 16}, false},
    {"copy", NULL, 1, 1, {1, 1}, false},
    {"copy", NULL, 1, 1, {2, 2}, false},
    {"copy", NULL, 1, 1, {16, 16}, false},
    {"select", NULL, 3, 1, {1, 4, 4, 4}, false},
    {"select", NULL, 3, 1, {1, 8, 8, 8}, false},
    {"select", NULL, 3, 1, {1, 16, 16, 16}, false},
};

enum { N_KINDS = sizeof kinds / sizeof *kinds };

static void set_loops(void)
{
    for (int i = 0; i < N_KINDS; i++)
        if (!kinds[i].loop)
            kinds[i].loop = strcmp(kinds[i].name, "copy") == 0
                                ? mx_copy_loop(kinds[i].sizes[0])
                                : mx_copy_select_loop(kinds[i].sizes[1]);
}

/* -- The plain interpreter ------------------------------------------------------------ */

/* An array and its expected contents: `shadow`, where it was `written`. */
struct subject {
    struct array array;
    int itemsize;
    intptr_t extent[MX_MAX_NDIM], strides[MX_MAX_NDIM];
    size_t nbytes;
    char *shadow, *written;
    bool is_held;
};

static struct subject subjects[4 * MOST];
static int n_subjects;

static struct subject *subject_of(const struct mx_buffer *buffer)
{
    for (int i = 0; i < n_subjects; i++)
        if (subjects[i].array.buffer == buffer)
            return &subjects[i];
    CHECK(!"a buffer of these");
    return NULL;
}

static bool next_index(const struct mx_instruction *in, intptr_t *index)
{
    int axis = in->ndim - 1;
    while (axis >= 0 && ++index[axis] == in->shape[axis])
        index[axis--] = 0;
    return axis >= 0;
}

static intptr_t offset_of(const struct mx_instruction *in, int k, const intptr_t *index)
{
    intptr_t at = in->operands[k].at;
    for (int i = 0; i < in->ndim; i++)
        at += index[i] * in->operands[k].strides[i];
    return at;
}

/* Runs the instruction on the shadows. */
static void interpret(struct mx_instruction *in)
{
    intptr_t index[MX_MAX_NDIM] = {0}, one = 1;
    const intptr_t strides[MX_MAX_OPERANDS] = {0};
    struct subject *of[MX_MAX_OPERANDS] = {NULL};
    bool reduces = in->kind == MX_REDUCE;
    char *begun = NULL;
    for (int k = 0; k < mx_operand_count(in); k++)
        if (!in->operands[k].is_value)
            of[k] = subject_of(in->operands[k].buffer);
    if (reduces)
        CHECK((begun = calloc(of[1]->nbytes, 1)) != NULL);
    do {
        char *args[MX_MAX_OPERANDS];
        for (int k = 0; k < mx_operand_count(in); k++) {
            args[k] = of[k] ? of[k]->shadow + offset_of(in, k, index) : in->operands[k].value;
            if (k >= in->nin)
                memset(of[k]->written + offset_of(in, k, index), 1,
                       (size_t)in->operands[k].itemsize);
        }
        if (!reduces) {
            in->loop.function(args, &one, strides, NULL);
            continue;
        }
        char *is_begun = &begun[offset_of(in, 1, index)];
        if (*is_begun) {
            char *both[] = {args[1], args[0], args[1]};
            in->loop.function(both, &one, strides, NULL);
        } else {
            memcpy(args[1], args[0], (size_t)in->operands[1].itemsize);
        }
        *is_begun = 1;
    } while (next_index(in, index));
    free(begun);
}

static void check_subjects(void)
{
    for (int i = 0; i < n_subjects; i++) {
        const struct subject *of = &subjects[i];
        if (!of->is_held)
            continue;
        for (size_t byte = 0; byte < of->nbytes; byte++)
            CHECK(!of->written[byte] || of->array.data[byte] == of->shadow[byte]);
    }
}

/* -- Random programs ------------------------------------------------------------------ */

static uint64_t chance = 1;

static int up_to(int most) { return below(&chance, most + 1); }

static bool one_in(int n) { return below(&chance, n) == 0; }

/* Returns small and large lengths about equally often. */
static intptr_t random_length(intptr_t most)
{
    intptr_t length = 1 + up_to(1 << (1 + up_to(15)));
    return length < most ? length : most;
}

static void random_shape(struct mx_instruction *in)
{
    intptr_t left = MAX_ELEMENTS;
    in->ndim = up_to(5);
    for (int i = 0; i < in->ndim; i++) {
        in->shape[i] = one_in(6) && i > 0 && in->shape[i - 1] <= left ? in->shape[i - 1]
                                                                      : random_length(left);
        left /= in->shape[i];
    }
    for (int i = in->ndim - 1; i > 0; i--) { /* shuffle, so that any axis may be the longest */
        int j = up_to(i);
        intptr_t length = in->shape[i];
        in->shape[i] = in->shape[j];
        in->shape[j] = length;
    }
}

/* Makes an array with room for about the shape, and its axes in any order in memory. */
static struct subject *new_subject(const struct mx_instruction *in, int itemsize,
                                   unsigned without)
{
    CHECK(n_subjects < 4 * MOST);
    struct subject *subject = &subjects[n_subjects++];
    *subject = (struct subject){.itemsize = itemsize, .is_held = true};
    int order[MX_MAX_NDIM];
    bool is_packed = one_in(2), is_ordered = one_in(2);
    intptr_t stride = itemsize;
    for (int i = 0; i < in->ndim; i++) {
        int j = is_ordered ? i : up_to(i);
        order[i] = order[j];
        order[j] = i;
        bool has_room = !is_packed && in->shape[i] > 3;
        subject->extent[i] = without >> i & 1 ? 1 : in->shape[i] + (has_room ? up_to(2) : 0);
    }
    for (int i = in->ndim - 1; i >= 0; i--) {
        subject->strides[order[i]] = stride;
        stride *= subject->extent[order[i]];
    }
    subject->nbytes = (size_t)stride;
    subject->shadow = malloc(subject->nbytes);
    subject->written = calloc(subject->nbytes, 1);
    CHECK(subject->shadow && subject->written);
    array_init(&subject->array, subject->nbytes);
    return subject;
}

static void fill_subject(struct subject *subject)
{
    CHECK(mx_buffer_publish(subject->array.buffer) == MX_OK);
    for (size_t i = 0; i < subject->nbytes; i++)
        subject->array.data[i] = subject->shadow[i] = (char)next_random(&chance);
    memset(subject->written, 1, subject->nbytes);
}

static void drop_subject(struct subject *subject)
{
    if (subject->is_held)
        array_drop(&subject->array);
    subject->is_held = false;
}

static void clear_subjects(void)
{
    while (n_subjects > 0) {
        struct subject *subject = &subjects[--n_subjects];
        drop_subject(subject);
        free(subject->shadow);
        free(subject->written);
    }
}

/* Makes a view of the subject in the shape of the instruction: shifted, reversed or broadcast.
 */
static bool set_view(const struct mx_instruction *in, struct mx_operand *out,
                     const struct subject *subject, bool is_input)
{
    *out = (struct mx_operand){.buffer = subject->array.buffer, .itemsize = subject->itemsize};
    bool is_plain = one_in(2);
    for (int i = 0; i < in->ndim; i++) {
        intptr_t room = subject->extent[i] - in->shape[i];
        out->strides[i] = in->shape[i] == 1 && one_in(2) ? 0 : subject->strides[i];
        if (room < 0 || (is_input && one_in(12))) {
            if (!is_input)
                return false;
            out->strides[i] = 0;
            continue;
        }
        if (is_plain)
            continue;
        out->at += up_to((int)room) * subject->strides[i];
        if (one_in(4)) {
            out->at += (in->shape[i] - 1) * out->strides[i];
            out->strides[i] = -out->strides[i];
        }
    }
    return true;
}

static bool is_written(const struct mx_instruction *in, int k)
{
    intptr_t index[MX_MAX_NDIM] = {0};
    const struct subject *subject = subject_of(in->operands[k].buffer);
    do
        if (!subject->written[offset_of(in, k, index)])
            return false;
    while (next_index(in, index));
    return true;
}

static bool are_same(const struct mx_instruction *in, int j, int k)
{
    const struct mx_operand *x = &in->operands[j], *y = &in->operands[k];
    bool same = x->at == y->at;
    for (int i = 0; i < in->ndim; i++)
        same &= x->strides[i] == y->strides[i];
    return same;
}

/* Returns whether an output does not overlap another operand, unless both are the same view. */
static bool is_legal(const struct mx_instruction *in, int output)
{
    const struct mx_buffer *buffer = in->operands[output].buffer;
    char *marked = NULL;
    bool legal = true;
    for (int k = 0; k < mx_operand_count(in) && legal; k++) {
        intptr_t index[MX_MAX_NDIM] = {0};
        if (k == output || in->operands[k].is_value || in->operands[k].buffer != buffer)
            continue;
        if (k < in->nin && in->kind == MX_MAP && are_same(in, k, output))
            continue;
        if (!marked) {
            CHECK((marked = calloc(subject_of(buffer)->nbytes, 1)) != NULL);
            do
                marked[offset_of(in, output, index)] = 1;
            while (next_index(in, index));
        }
        do
            legal &= !marked[offset_of(in, k, index)];
        while (next_index(in, index));
    }
    free(marked);
    return legal;
}

static struct subject *find_subject(int itemsize)
{
    for (int tries = 0; tries < 10 && n_subjects > 0; tries++) {
        int i = n_subjects - 1 - up_to(n_subjects < 8 ? n_subjects - 1 : 7);
        if (subjects[i].is_held && subjects[i].itemsize == itemsize)
            return &subjects[i];
    }
    return NULL;
}

static void set_input(struct mx_instruction *in, int k, int itemsize)
{
    struct subject *subject = one_in(12) ? NULL : find_subject(itemsize);
    struct mx_operand *operand = &in->operands[k];
    if (subject && set_view(in, operand, subject, true) && is_written(in, k))
        return;
    if (one_in(2)) {
        *operand = (struct mx_operand){.itemsize = itemsize, .is_value = true};
        for (int i = 0; i < itemsize; i++)
            operand->value[i] = (char)next_random(&chance);
    } else {
        subject = new_subject(in, itemsize, one_in(6) ? next_random(&chance) : 0);
        fill_subject(subject);
        CHECK(set_view(in, operand, subject, true));
    }
}

static void set_output(struct mx_instruction *in, int k, int itemsize)
{
    struct subject *subject = one_in(3) ? find_subject(itemsize) : NULL;
    if (subject && in->kind == MX_MAP && set_view(in, &in->operands[k], subject, false) &&
        is_legal(in, k))
        return;
    unsigned reduced = in->kind == MX_REDUCE ? next_random(&chance) : 0;
    subject = new_subject(in, itemsize, reduced);
    CHECK(set_view(in, &in->operands[k], subject, in->kind == MX_REDUCE) || reduced);
    for (int i = 0; i < in->ndim; i++)
        if (in->shape[i] > subject->extent[i])
            in->operands[k].strides[i] = 0;
}

static void record_any(const struct mx_instruction *like)
{
    const struct kind *kind = &kinds[up_to(N_KINDS - 1)];
    struct mx_instruction in = *like;
    in.name = kind->name;
    in.loop = (struct mx_loop){.function = kind->loop};
    in.kind = kind->can_reduce && one_in(2) ? MX_REDUCE : MX_MAP;
    in.nin = in.kind == MX_REDUCE ? 1 : kind->nin;
    in.nout = kind->nout;
    for (int k = 0; k < in.nin; k++)
        set_input(&in, k, kind->sizes[k]);
    for (int k = 0; k < in.nout; k++)
        set_output(&in, in.nin + k, kind->sizes[kind->nin + k]);
    record(in);
    interpret(&in);
}

static void test_random_programs(int rounds)
{
    for (int round = 0; round < rounds; round++) {
        struct mx_instruction like = {.op = MX_NO_OP};
        random_shape(&like);
        int size = 1 + up_to(MOST - 1);
        if (mx_element_count(&like) > 2000)
            size = size / 4 + 1;
        for (int i = 0; i < size; i++) {
            struct mx_instruction other = like;
            int axis = like.ndim > 0 ? up_to(like.ndim - 1) : 0;
            if (like.ndim > 0 && one_in(8) && other.shape[axis] > 3)
                other.shape[axis] -= 1 + up_to(1); /* in the same arrays */
            record_any(&other);
            if (one_in(2))
                drop_subject(&subjects[up_to(n_subjects - 1)]);
            if (one_in(30))
                CHECK(flush() == MX_OK);
        }
        CHECK(flush() == MX_OK);
        check_subjects();
        clear_subjects();
        CHECK(memory_info().in_use == 0);
    }
}

/* -- Blocks ---------------------------------------------------------------------------- */

/* Instructions of one group, which hold references to their buffers as recorded ones do. */
static struct {
    struct mx_instruction *items;
    int count;
    struct mx_plan plan;
    struct mx_program *program;
} made;

static void hold(struct mx_instruction *items, int count)
{
    made.items = items;
    made.count = count;
    for (int i = 0; i < count; i++)
        for (int k = 0; k < mx_operand_count(&items[i]); k++)
            if (items[i].operands[k].buffer)
                mx_buffer_retain(items[i].operands[k].buffer);
}

static const struct mx_program *make_program(void)
{
    CHECK(mx_fuse_plan(&made.plan, made.items, made.count, true) == MX_OK);
    CHECK(made.plan.n_groups == 1);
    mx_fuse_find_temporaries(&made.plan);
    CHECK(mx_program_new(&made.program, &made.plan.groups[0], made.items) == MX_OK);
    return made.program;
}

static void run_program(void)
{
    char *scratch = aligned_alloc(64, (made.program->scratch_size + 64) & ~(size_t)63);
    CHECK(scratch);
    for (size_t chunk = 0; chunk < made.program->n_chunks; chunk++)
        mx_program_run_chunk(made.program, chunk, scratch);
    mx_program_finish(made.program);
    free(scratch);
}

static void free_program(void)
{
    mx_program_free(made.program);
    mx_fuse_clear(&made.plan);
    for (int i = 0; i < made.count; i++)
        for (int k = 0; k < mx_operand_count(&made.items[i]); k++)
            if (made.items[i].operands[k].buffer)
                mx_buffer_release(made.items[i].operands[k].buffer);
}

static struct mx_instruction cube(struct mx_operand a, struct mx_operand out)
{
    struct mx_instruction in = unary("square", square, 20, a, out);
    in.ndim = 3;
    in.shape[1] = 30;
    in.shape[2] = 40;
    return in;
}

static struct mx_operand with_strides(const struct array *array, intptr_t first, intptr_t s0,
                                      intptr_t s1, intptr_t s2)
{
    struct mx_operand operand = row(array);
    operand.at = 8 * first;
    operand.strides[0] = 8 * s0;
    operand.strides[1] = 8 * s1;
    operand.strides[2] = 8 * s2;
    return operand;
}

static void test_axes(void)
{
    struct array a, b;
    array_init_doubles(&a, 24000, 1.0);
    array_init_doubles(&b, 24000, 1.0);
    struct {
        struct mx_operand a, b;
        int ndim;
    } cases[] = {
        {with_strides(&a, 0, 1200, 40, 1), with_strides(&b, 0, 1200, 40, 1), 1},
        {with_strides(&a, 0, 1, 20, 600), with_strides(&b, 0, 1, 20, 600), 1}, /* transposed */
        {with_strides(&a, 23999, -1200, -40, -1), with_strides(&b, 23999, -1200, -40, -1), 1},
        {with_strides(&a, 23999, -1200, -40, -1), with_strides(&b, 0, 1200, 40, 1), 1},
        {with_strides(&a, 0, 0, 0, 0), with_strides(&b, 0, 1200, 40, 1), 1}, /* broadcast */
        {with_strides(&a, 0, 0, 40, 1), with_strides(&b, 0, 1200, 40, 1), 2},
        {with_strides(&a, 0, 40, 0, 1), with_strides(&b, 0, 1200, 40, 1), 3},
        {with_strides(&a, 0, 30, 1, 600), with_strides(&b, 0, 1200, 40, 1), 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct mx_instruction in = cube(cases[i].a, cases[i].b);
        hold(&in, 1);
        const struct mx_program *program = make_program();
        CHECK(program->ndim == cases[i].ndim);
        intptr_t elements = 1;
        for (int axis = 0; axis < program->ndim; axis++)
            elements *= program->shape[axis];
        CHECK(elements == 24000);
        CHECK(program->n_blocks * program->length * program->inner >= 24000);
        free_program();
    }
    array_drop(&a);
    array_drop(&b);
}

/* A chain of temporaries needs scratch memory for one of them, however long it is. */
static void test_scratch(void)
{
    enum { N = 50000 };
    struct array a, b;
    struct mx_instruction items[MX_MAX_STEPS];
    struct mx_buffer *unseen[MX_MAX_STEPS];
    array_init_doubles(&a, N, 1.0);
    double *out = array_init_doubles(&b, N, 0.0);
    for (int length = 3; length <= MX_MAX_STEPS; length++) {
        struct mx_operand last = row(&a);
        for (int s = 0; s < length; s++) {
            CHECK((unseen[s] = mx_buffer_new(N * sizeof(double))) != NULL);
            struct mx_operand result = s == length - 1 ? row(&b) : strided(unseen[s], 0, 8);
            items[s] = binary("add", add, N, last, value(1.0), result);
            last = result;
        }
        hold(items, length);
        for (int s = 0; s < length; s++)
            mx_buffer_release(unseen[s]);
        size_t before = memory_info().in_use;
        const struct mx_program *program = make_program();
        CHECK(program->n_blocks > 1);
        CHECK(program->scratch_size < 2 * sizeof(double) * (size_t)program->length);
        run_program();
        CHECK(memory_info().in_use == before);
        for (int k = 0; k < N; k++)
            CHECK(out[k] == 1.0 + length);
        free_program();
    }
    array_drop(&a);
    array_drop(&b);
}

static void is_positive(char **args, const intptr_t *n, const intptr_t *s, void *data)
{
    (void)data;
    CHECK(s[1] == 1);
    for (intptr_t i = 0; i < *n; i++)
        args[1][i] = *(double *)(void *)(args[0] + i * s[0]) > 0;
}

/* Loops write contiguous bools, also if the output has gaps. */
static void test_bools_with_gaps(void)
{
    enum { N = 10000 };
    struct array a, b;
    double *numbers = array_init_doubles(&a, N, 0.0);
    array_init(&b, 3 * N);
    CHECK(mx_buffer_publish(b.buffer) == MX_OK);
    memset(b.data, 7, 3 * N);
    for (int i = 0; i < N; i += 3)
        numbers[i] = i;
    struct mx_operand truths = {
        .buffer = b.buffer, .at = 3 * (N - 1), .itemsize = 1, .strides = {-3}};
    record(unary("is_positive", is_positive, N, row(&a), truths));
    CHECK(flush() == MX_OK);
    for (int i = 0; i < 3 * N; i++) {
        int element = N - 1 - i / 3;
        CHECK(b.data[i] == (i % 3 ? 7 : element > 0 && element % 3 == 0));
    }
    array_drop(&a);
    array_drop(&b);
}

/* -- Conditions ------------------------------------------------------------------------ */

/* A condition is reported for the instruction that met it, also in a large group. */
static void test_conditions(bool in_place)
{
    enum { N = 100000 };
    struct array a, b;
    double *data = array_init_doubles(&a, N, 1.0);
    array_init_doubles(&b, N, 1.0);
    data[N / 2] = 0.0;
    struct mx_operand out = in_place ? row(&a) : row(&b);
    struct mx_instruction items[] = {
        binary("add", add, N, row(&a), value(0.0), row(&b)),
        binary("divide", divide, N, value(1.0), row(&a), out),
        binary("multiply", multiply, N, out, value(0.0), row(&b)),
        binary("add", add, N, row(&b), value(1e308), row(&b)),
    };
    for (int i = 0; i < 4; i++)
        items[i].fpe_mask = 15;
    hold(items, 4);
    make_program();
    run_program();
    const int expected[] = {0, 1, 8, 0};
    for (int i = 0; i < 4; i++)
        CHECK(atomic_load(&items[i].fpe_flags) == expected[i]);
    free_program();
    array_drop(&a);
    array_drop(&b);
}

/* A loop that clears all conditions at its end, as NumPy's loops for maximum do. */
static void add_and_clear(char **args, const intptr_t *n, const intptr_t *s, void *data)
{
    add(args, n, s, data);
    feclearexcept(FE_ALL_EXCEPT);
}

/* A loop that clears conditions does not lose those that other loops met. */
static void test_conditions_cleared_by_a_loop(void)
{
    enum { N = 100000 };
    struct array a, b, c;
    double *data = array_init_doubles(&a, N, 1.0);
    array_init_doubles(&b, N, 1.0);
    array_init_doubles(&c, N, 1.0);
    data[N / 2] = 0.0;
    struct mx_instruction items[] = {
        binary("divide", divide, N, value(1.0), row(&a), row(&b)),
        binary("add", add_and_clear, N, row(&a), row(&a), row(&c)),
    };
    items[1].loop.clears = true;
    items[0].fpe_mask = items[1].fpe_mask = 15;
    hold(items, 2);
    make_program();
    run_program();
    CHECK(atomic_load(&items[0].fpe_flags) == 1 && atomic_load(&items[1].fpe_flags) == 0);
    free_program();
    array_drop(&a);
    array_drop(&b);
    array_drop(&c);
}

static struct mx_program *watched_program;

/* Does what another thread does when it has met a condition. */
static void begin_watch(char **args, const intptr_t *n, const intptr_t *s, void *data)
{
    (void)data;
    atomic_store(&watched_program->is_watched, true);
    multiply(args, n, s, NULL);
}

/* Another thread begins the watch in the middle of a chunk that has already met a condition. */
static void test_watch_begun_elsewhere(void)
{
    enum { N = 4000 };
    struct array a, b, c;
    double *data = array_init_doubles(&a, N, 1.0);
    array_init_doubles(&b, N, 1.0);
    array_init_doubles(&c, N, 1.0);
    data[0] = 0.0;
    struct mx_instruction items[] = {
        binary("add", add, N, row(&a), row(&a), row(&c)),
        binary("divide", divide, N, value(1.0), row(&a), row(&b)),
        binary("multiply", begin_watch, N, row(&a), row(&a), row(&c)),
    };
    for (int i = 0; i < 3; i++)
        items[i].fpe_mask = 15;
    hold(items, 3);
    make_program();
    CHECK(made.program->n_chunks == 1 && made.program->n_blocks > 1);
    watched_program = made.program;
    run_program();
    CHECK(atomic_load(&items[0].fpe_flags) == 0);
    CHECK(atomic_load(&items[1].fpe_flags) == 1);
    CHECK(atomic_load(&items[2].fpe_flags) == 0);
    free_program();
    array_drop(&a);
    array_drop(&b);
    array_drop(&c);
}

int main(void)
{
    CHECK(mx_start() == MX_OK);
    set_loops();
    test_axes();
    test_scratch();
    test_bools_with_gaps();
    test_conditions(false);
    test_conditions(true);
    test_conditions_cleared_by_a_loop();
    test_watch_begun_elsewhere();
    for (int threads = 1; threads <= 4; threads *= 2) {
        mx_thread_pool_set_size(threads);
        test_random_programs(70);
    }
    mx_pool_trim(0);
    return 0;
}
