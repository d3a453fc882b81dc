/* factoring.c -- linear algebra of stacks of small matrices on the threads of the pool. */
#include "cpu/kernels/factoring.h"

#include <stdatomic.h>
#include <string.h>

#include "base/conditions.h"
#include "cpu/threads/thread_pool.h"

#define CHUNK 512 /* matrices, which take 10 to 40 us */

static mx_factoring_kernel *find_kernel(void)
{
    static const struct mx_factoring_kernels *const tables[] = {
#define ISA(name) &mx_factoring_kernels_##name, /* mx_factoring_kernels_base, _v3, _v4 */
        MX_ISAS(ISA)
#undef ISA
    };
    return tables[mx_isa()]->compute;
}

/* -- Comparing with LAPACK ------------------------------------------------------------- */

#define COMPARED 64 /* matrices of each kind */
#define SIDE     MX_MOST_FACTORED
#define MOST     (SIDE * SIDE)

/* The ways in which known versions of OpenBLAS round. */
static const struct mx_factoring_rounding roundings[] = {
#define BACK(factors, forward)                                         \
    {factors, forward, false, false}, {factors, forward, true, false}, \
    {                                                                  \
        factors, forward, true, true                                   \
    }
    BACK(false, false), BACK(false, true), BACK(true, false), BACK(true, true)
#undef BACK
};
#define N_ROUNDINGS ((int)(sizeof roundings / sizeof *roundings))

/* Sets numbers of both signs: integers, of which many are equal, or others.  The diagonal of
 * every fourth matrix is larger. */
static void set_numbers(double *to, int side, bool are_integers, uint64_t *state)
{
    for (int i = 0; i < COMPARED * side * side; i++) {
        *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        int64_t bits = (int64_t)*state >> 11;
        to[i] = are_integers ? (double)(bits >> 49) : (double)bits * 0x1p-50;
        bool is_on_diagonal = i % (side * side) % (side + 1) == 0;
        if (is_on_diagonal && i / (side * side) % 4 == 0)
            to[i] += 16.0;
    }
}

static void call_loop(const struct mx_loop *numpys, const struct mx_factoring *p, double *out)
{
    const intptr_t size = sizeof(double), n = p->n, step = p->side * size;
    char *args[] = {(char *)(uintptr_t)p->a, (char *)(uintptr_t)p->b, (char *)out};
    intptr_t dimensions[] = {n, p->side, 1};
    switch (p->operation) {
    case MX_FACTORING_DETERMINANT:
        args[1] = (char *)out;
        numpys->function(args, dimensions, (intptr_t[]){p->a_step, size, p->a_row, p->a_column},
                         numpys->data);
        break;
    case MX_FACTORING_INVERSE:
        args[1] = (char *)out;
        numpys->function(args, dimensions,
                         (intptr_t[]){p->a_step, p->a_step, p->a_row, p->a_column, step, size},
                         numpys->data);
        break;
    default:
        numpys->function(
            args, dimensions,
            (intptr_t[]){p->a_step, step, step, p->a_row, p->a_column, size, size, size, size},
            numpys->data);
    }
}

/* Leaves matrices out that are singular, for which the kernel returns false. */
static int keep_regular(double *a, const struct mx_factoring *like)
{
    int kept = 0, size = like->side * like->side;
    double out[MOST];
    for (int i = 0; i < COMPARED; i++) {
        struct mx_factoring one = *like;
        one.n = 1;
        one.a = (const char *)(a + i * size);
        one.out = out;
        if (find_kernel()(&one, roundings[0], 0, 1)) {
            memmove(a + kept * size, a + i * size, (size_t)size * sizeof *a);
            kept++;
        }
    }
    return kept;
}

/* Returns the rounding that gives NumPy's results, or -1. */
static int find_rounding(const struct mx_factoring *like, const struct mx_loop *numpys)
{
    double a[COMPARED * MOST], b[COMPARED * SIDE], expected[COMPARED * MOST];
    double out[COMPARED * MOST];
    const intptr_t size = sizeof(double), side = like->side;
    bool agrees[N_ROUNDINGS];
    uint64_t state = 2026;
    memset(agrees, true, sizeof agrees);
    for (int are_integers = 0; are_integers < 2; are_integers++) {
        struct mx_factoring p = {.operation = like->operation,
                                 .side = like->side,
                                 .n = COMPARED,
                                 .a = (const char *)a,
                                 .b = (const char *)b,
                                 .a_step = side * side * size,
                                 .a_row = side * size,
                                 .a_column = size,
                                 .b_step = side * size,
                                 .b_row = size,
                                 .out = out};
        set_numbers(a, like->side, are_integers, &state);
        memcpy(b, a, sizeof b);
        p.n = keep_regular(a, &p);
        intptr_t n_results = p.operation == MX_FACTORING_INVERSE    ? side * side
                             : p.operation == MX_FACTORING_SOLUTION ? side
                                                                    : 1;
        memset(expected, 0, sizeof expected);
        call_loop(numpys, &p, expected);
        for (int i = 0; i < N_ROUNDINGS; i++)
            agrees[i] &= find_kernel()(&p, roundings[i], 0, p.n) &&
                         memcmp(out, expected, (size_t)(p.n * n_results * size)) == 0;
    }
    mx_conditions_clear();
    for (int i = 0; i < N_ROUNDINGS; i++)
        if (agrees[i])
            return i;
    return -1;
}

/* A rounding + 1, -1 if there is none, or 0 before the first comparison. */
static int8_t found[MX_FACTORING_COUNT][SIDE + 1];

bool mx_factoring_can(const struct mx_factoring *p, const struct mx_loop *numpys)
{
    if (p->side < 2 || p->side > SIDE)
        return false;
    int8_t *known = &found[p->operation][p->side];
    if (*known == 0) {
        int rounding = find_rounding(p, numpys);
        *known = (int8_t)(rounding < 0 ? -1 : rounding + 1);
    }
    return *known > 0;
}

/* -- Computing ------------------------------------------------------------------------- */

struct run {
    const struct mx_factoring *factoring;
    atomic_bool is_numpys;
};

static void compute_chunk(void *job, size_t chunk, int thread)
{
    (void)thread;
    struct run *run = job;
    const struct mx_factoring *p = run->factoring;
    intptr_t begin = (intptr_t)chunk * CHUNK, end = begin + CHUNK < p->n ? begin + CHUNK : p->n;
    if (atomic_load_explicit(&run->is_numpys, memory_order_relaxed))
        return;
    mx_conditions_clear();
    bool is_ordinary =
        find_kernel()(p, roundings[found[p->operation][p->side] - 1], begin, end);
    if (!is_ordinary || mx_conditions_met())
        atomic_store_explicit(&run->is_numpys, true, memory_order_relaxed);
}

bool mx_factoring_is_long(const struct mx_factoring *p) { return p->n > CHUNK; }

bool mx_factoring_compute(const struct mx_factoring *p)
{
    struct run run = {.factoring = p};
    size_t n_chunks = (size_t)((p->n + CHUNK - 1) / CHUNK);
    mx_thread_pool_share(compute_chunk, &run, n_chunks, 2);
    return !run.is_numpys;
}
