/* products.c -- products of stacks of small matrices on the threads of the pool. */
#include "cpu/kernels/products.h"

#include <stdatomic.h>
#include <string.h>

#include "base/conditions.h"
#include "cpu/threads/thread_pool.h"

#define CHUNK (1 << 18) /* multiplications, which take about 10 to 40 us */
#define LEAST 64        /* multiplications that a product counts as, for its loads and stores */

static mx_product_kernel *find_kernel(int dtype)
{
    static const struct mx_product_kernels *const tables[] = {
#define ISA(name) &mx_product_kernels_##name, /* mx_product_kernels_base, _v3, _v4 */
        MX_ISAS(ISA)
#undef ISA
    };
    const struct mx_product_kernels *kernels = tables[mx_isa()];
    return dtype == MX_DTYPE_float32   ? kernels->float32
           : dtype == MX_DTYPE_float64 ? kernels->float64
                                       : NULL;
}

/* -- Comparing with BLAS --------------------------------------------------------------- */

#define COMPARED 4 /* products of each shape */
#define MOST     (MX_MOST_SIDE * MX_MOST_SIDE)

/* Returns whether NumPy passes a matrix to BLAS: one of its axes is contiguous, and the lines
 * along it do not overlap. */
static bool is_for_blas(intptr_t outer, intptr_t inner, intptr_t length, intptr_t itemsize)
{
    return inner == itemsize && outer % itemsize == 0 && outer >= length * itemsize;
}

/* Sets numbers of both signs and of different sizes, some of them zero. */
static void set_numbers(void *to, int dtype, int n, uint64_t *state)
{
    for (int i = 0; i < n; i++) {
        *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        double number = (double)(int64_t)(*state >> 12) - 0x1p51;
        int size = (int)(*state >> 8 & 15);
        number = size == 0 ? 0.0 : size == 1 ? -0.0 : number * (size < 5 ? 0x1p-60 : 0x1p-52);
        if (dtype == MX_DTYPE_float32)
            ((float *)to)[i] = (float)number;
        else
            ((double *)to)[i] = number;
    }
}

/* Lets NumPy compute the products begin..end-1. */
static void call_loop(const struct mx_loop *numpys, const struct mx_products *p, intptr_t begin,
                      intptr_t end)
{
    intptr_t itemsize = mx_itemsizes[p->dtype], row = p->columns * itemsize,
             step = p->rows * row;
    char *args[] = {(char *)(uintptr_t)p->a + begin * p->a_step,
                    (char *)(uintptr_t)p->b + begin * p->b_step, p->out + begin * step};
    intptr_t dimensions[] = {end - begin, p->rows, p->inner, p->columns};
    intptr_t strides[] = {p->a_step, p->b_step,   step, p->a_row, p->a_column,
                          p->b_row,  p->b_column, row,  itemsize};
    numpys->function(args, dimensions, strides, numpys->data);
}

/* Compares the results of the kernel with those of NumPy's loop. */
static bool has_numpys_bits(const struct mx_products *shape, const struct mx_loop *numpys)
{
    _Alignas(64) double a[COMPARED * MOST], b[COMPARED * MOST], out[2][COMPARED * MOST];
    const intptr_t itemsize = mx_itemsizes[shape->dtype];
    struct mx_products p = *shape;
    uint64_t state = 2026;
    const bool is_a_turned = p.a_column != itemsize, is_b_turned = p.b_column != itemsize;
    p.n = COMPARED;
    p.a = (const char *)a;
    p.b = (const char *)b;
    p.out = (char *)out[0];
    p.a_step = p.rows * p.inner * itemsize;
    p.b_step = p.inner * p.columns * itemsize;
    p.a_row = is_a_turned ? itemsize : p.inner * itemsize;
    p.a_column = is_a_turned ? p.rows * itemsize : itemsize;
    p.b_row = is_b_turned ? itemsize : p.columns * itemsize;
    p.b_column = is_b_turned ? p.inner * itemsize : itemsize;
    set_numbers(a, p.dtype, COMPARED * MOST, &state);
    set_numbers(b, p.dtype, COMPARED * MOST, &state);
    p.out = (char *)out[1];
    call_loop(numpys, &p, 0, COMPARED);
    p.out = (char *)out[0];
    bool is_same =
        find_kernel(p.dtype)(&p, 0, COMPARED) &&
        memcmp(out[0], out[1], (size_t)(COMPARED * p.rows * p.columns * itemsize)) == 0;
    mx_conditions_clear();
    return is_same;
}

/* Returns whether a product may be one of a matrix and its transpose, of which BLAS computes
 * one half: whether both operands of a product begin at one address. */
static bool has_common_matrix(const struct mx_products *p)
{
    intptr_t distance = p->b - p->a, approach = p->a_step - p->b_step;
    return distance == 0 || (approach != 0 && distance % approach == 0 &&
                             distance / approach > 0 && distance / approach < p->n);
}

bool mx_products_can(const struct mx_products *p, const struct mx_loop *numpys)
{
    enum { UNKNOWN, SAME, OTHER };
    static uint8_t found[2][2][2][MX_MOST_SIDE + 1][MX_MOST_SIDE + 1][MX_MOST_SIDE + 1];
    const intptr_t itemsize = mx_itemsizes[p->dtype], most = MX_MOST_SIDE;
    if (!find_kernel(p->dtype) || p->rows < 2 || p->inner < 2 || p->columns < 2 ||
        p->rows > most || p->inner > most || p->columns > most)
        return false; /* of a single row or column, NumPy calls another function of BLAS */
    const bool is_a_turned = p->a_column != itemsize, is_b_turned = p->b_column != itemsize;
    const bool is_blas =
        (is_a_turned ? is_for_blas(p->a_column, p->a_row, p->rows, itemsize)
                     : is_for_blas(p->a_row, p->a_column, p->inner, itemsize)) &&
        (is_b_turned ? is_for_blas(p->b_column, p->b_row, p->inner, itemsize)
                     : is_for_blas(p->b_row, p->b_column, p->columns, itemsize));
    if (!is_blas || (is_a_turned != is_b_turned && has_common_matrix(p)))
        return false;
    uint8_t *known = &found[p->dtype == MX_DTYPE_float64][is_a_turned][is_b_turned][p->rows]
                           [p->inner][p->columns];
    if (*known == UNKNOWN)
        *known = has_numpys_bits(p, numpys) ? SAME : OTHER;
    return *known == SAME;
}

/* -- Computing ------------------------------------------------------------------------- */

struct run {
    const struct mx_products *products;
    const struct mx_loop *numpys;
    intptr_t n_of_chunk;
    atomic_bool is_warned_of; /* NumPy has to compute, and to warn */
};

static void compute_chunk(void *job, size_t chunk, int thread)
{
    (void)thread;
    struct run *run = job;
    if (atomic_load_explicit(&run->is_warned_of, memory_order_relaxed))
        return;
    intptr_t begin = (intptr_t)chunk * run->n_of_chunk, end = begin + run->n_of_chunk;
    end = end < run->products->n ? end : run->products->n;
    mx_conditions_clear();
    if (find_kernel(run->products->dtype)(run->products, begin, end) && !mx_conditions_met())
        return;
    /* NaN may have other bits, and BLAS multiplies infinities by zeros of its own. */
    mx_conditions_clear();
    call_loop(run->numpys, run->products, begin, end);
    if (mx_conditions_met())
        atomic_store_explicit(&run->is_warned_of, true, memory_order_relaxed);
}

static intptr_t products_of_chunk(const struct mx_products *p)
{
    intptr_t multiplications = p->rows * p->inner * p->columns;
    return CHUNK / (multiplications < LEAST ? LEAST : multiplications);
}

bool mx_products_are_long(const struct mx_products *p) { return p->n > products_of_chunk(p); }

bool mx_products_compute(const struct mx_products *p, const struct mx_loop *numpys)
{
    struct run run = {.products = p, .numpys = numpys, .n_of_chunk = products_of_chunk(p)};
    size_t n_chunks = (size_t)((p->n + run.n_of_chunk - 1) / run.n_of_chunk);
    mx_thread_pool_share(compute_chunk, &run, n_chunks, 2);
    return !run.is_warned_of;
}
