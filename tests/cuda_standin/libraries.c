/* libraries.c -- cuBLAS and cuFFT for the tests: simple functions that compute on the
 * processor.
 *
 * Memory that a function uses must be within one allocation, and with a wrong argument it
 * fails. A library is missing if the variable CUDA_STANDIN_WITHOUT contains its name.
 */
#include <complex.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "standin.h"

#pragma STDC CX_LIMITED_RANGE ON /* a product needs no function of the compiler */

enum { NOT_INITIALIZED = 1, INVALID = 7, FAILED = 13 };

bool standin_is_missing(const char *name)
{
    const char *without = getenv("CUDA_STANDIN_WITHOUT");
    return without && strstr(without, name);
}

/* -- Elements ---------------------------------------------------------------------- */

/* cudaDataType_t */
enum { R_32F = 0, R_64F = 1, C_32F = 4, C_64F = 5 };

static size_t size_of(int type) { return type == R_32F ? 4 : type == C_64F ? 16 : 8; }

static double complex get(const void *from, int type, int64_t i)
{
    switch (type) {
    case R_32F:
        return (double)((const float *)from)[i];
    case R_64F:
        return ((const double *)from)[i];
    case C_32F:
        return ((const float complex *)from)[i];
    default:
        return ((const double complex *)from)[i];
    }
}

static void set(void *to, int type, int64_t i, double complex value)
{
    switch (type) {
    case R_32F:
        ((float *)to)[i] = (float)creal(value);
        break;
    case R_64F:
        ((double *)to)[i] = creal(value);
        break;
    case C_32F:
        ((float complex *)to)[i] = (float complex)value;
        break;
    default:
        ((double complex *)to)[i] = value;
    }
}

/* -- cuBLAS ------------------------------------------------------------------------ */

EXPORT int cublasGetProperty(int property, int *value)
{
    *value = property == 0 ? 13 : 0;
    return standin_is_missing("cublas") ? NOT_INITIALIZED : SUCCESS;
}

EXPORT int cublasCreate_v2(void **handle)
{
    ENTER;
    *handle = &size_of;
    return SUCCESS;
}

EXPORT int cublasSetStream_v2(void *handle, void *stream)
{
    ENTER;
    return handle && stream ? SUCCESS : NOT_INITIALIZED;
}

/* Bytes of matrices in columns of `row` elements. */
static size_t extent(int64_t columns, int64_t row, int64_t length, int64_t step, int64_t count,
                     int type)
{
    int64_t one = columns ? (columns - 1) * row + length : 0;
    return (size_t)((count - 1) * step + one) * size_of(type);
}

EXPORT int cublasGemmStridedBatchedEx_64(void *handle, int operation_a, int operation_b,
                                         int64_t m, int64_t n, int64_t k, const void *alpha,
                                         const void *a, int type_a, int64_t row_a,
                                         int64_t step_a, const void *b, int type_b,
                                         int64_t row_b, int64_t step_b, const void *beta,
                                         void *c, int type_c, int64_t row_c, int64_t step_c,
                                         int64_t count, int compute, int algorithm)
{
    (void)algorithm;
    ENTER;
    bool is_double = type_c == R_64F || type_c == C_64F;
    int64_t length_a = operation_a ? k : m, length_b = operation_b ? n : k;
    if (!handle || m < 0 || n < 0 || k < 0 || count < 0 || type_a != type_c ||
        type_b != type_c || compute != (is_double ? 70 : 68) || row_a < length_a ||
        row_b < length_b || row_c < m)
        return INVALID;
    double one = is_double ? *(const double *)alpha : (double)*(const float *)alpha;
    double zero = is_double ? *(const double *)beta : (double)*(const float *)beta;
    const void *left =
        standin_memory(a, extent(operation_a ? m : k, row_a, length_a, step_a, count, type_a));
    const void *right =
        standin_memory(b, extent(operation_b ? k : n, row_b, length_b, step_b, count, type_b));
    void *out = standin_memory(c, extent(n, row_c, m, step_c, count, type_c));
    if (one != 1 || zero != 0 || !left || !right || !out)
        return INVALID;
    for (int64_t matrix = 0; matrix < count; matrix++)
        for (int64_t j = 0; j < n; j++)
            for (int64_t i = 0; i < m; i++) {
                double complex sum = 0;
                for (int64_t s = 0; s < k; s++)
                    sum +=
                        get(left, type_a,
                            matrix * step_a + (operation_a ? i * row_a + s : s * row_a + i)) *
                        get(right, type_b,
                            matrix * step_b + (operation_b ? s * row_b + j : j * row_b + s));
                set(out, type_c, matrix * step_c + j * row_c + i, sum);
            }
    return SUCCESS;
}

/* -- cuFFT ------------------------------------------------------------------------- */

enum { C2C = 0x29, R2C = 0x2a, C2R = 0x2c, Z2Z = 0x69, D2Z = 0x6a, Z2D = 0x6c };
enum { MAX_PLANS = 4096, SCRATCH = 48 };

static struct fft_plan {
    bool is_used;
    int type;
    long long n, stride, in_step, out_step, count;
    void *scratch;
} plans[MAX_PLANS];

static struct fft_plan *plan_of(int number)
{
    return number > 0 && number < MAX_PLANS && plans[number].is_used ? &plans[number] : NULL;
}

EXPORT int cufftGetProperty(int property, int *value)
{
    *value = property == 0 ? 12 : 0;
    return standin_is_missing("cufft") ? NOT_INITIALIZED : SUCCESS;
}

EXPORT int cufftCreate(int *plan)
{
    ENTER;
    for (int i = 1; i < MAX_PLANS; i++)
        if (!plans[i].is_used) {
            plans[i] = (struct fft_plan){.is_used = true};
            *plan = i;
            return SUCCESS;
        }
    return FAILED;
}

EXPORT int cufftDestroy(int plan)
{
    ENTER;
    if (!plan_of(plan))
        return INVALID;
    plan_of(plan)->is_used = false;
    return SUCCESS;
}

EXPORT int cufftSetAutoAllocation(int plan, int is_automatic)
{
    ENTER;
    return plan_of(plan) && !is_automatic ? SUCCESS : INVALID;
}

EXPORT int cufftSetStream(int plan, void *stream)
{
    ENTER;
    return plan_of(plan) && stream ? SUCCESS : INVALID;
}

EXPORT int cufftSetWorkArea(int plan, void *memory)
{
    ENTER;
    if (!plan_of(plan))
        return INVALID;
    plan_of(plan)->scratch = memory;
    return SUCCESS;
}

EXPORT int cufftMakePlanMany64(int plan, int rank, long long *n, long long *in_embed,
                               long long in_stride, long long in_step, long long *out_embed,
                               long long out_stride, long long out_step, int type,
                               long long count, size_t *work_size)
{
    ENTER;
    struct fft_plan *made = plan_of(plan);
    if (!made || rank != 1 || n[0] < 1 || !in_embed || !out_embed || in_stride != out_stride ||
        count < 1)
        return INVALID;
    *made = (struct fft_plan){true, type, n[0], in_stride, in_step, out_step, count, NULL};
    *work_size = SCRATCH;
    return SUCCESS;
}

/* Transforms n numbers that are `stride` apart into n adjacent ones.  It divides by factors as
 * long as there are any. */
static void transform(double complex *to, const double complex *from, long long n,
                      long long stride, double sign)
{
    long long p = 2;
    while (p * p <= n && n % p)
        p++;
    p = n % p ? n : p;
    long long m = n / p;
    if (n == 1) {
        to[0] = from[0];
        return;
    }
    double complex *parts = malloc((size_t)n * sizeof *parts);
    if (!parts)
        abort();
    for (long long i = 0; i < p; i++)
        if (m > 1)
            transform(parts + i * m, from + i * stride, m, stride * p, sign);
        else
            parts[i] = from[i * stride];
    for (long long j = 0; j < n; j++) {
        to[j] = 0;
        for (long long i = 0; i < p; i++) {
            double angle = sign * 2 * M_PI * (double)(i * j % n) / (double)n;
            to[j] += parts[i * m + j % m] * (cos(angle) + I * sin(angle));
        }
    }
    free(parts);
}

EXPORT int cufftXtExec(int number, void *input, void *output, int direction)
{
    ENTER;
    struct fft_plan *plan = plan_of(number);
    if (!plan || !standin_memory(plan->scratch, SCRATCH))
        return INVALID;
    bool is_double = plan->type & 0x40, to_real = plan->type == C2R || plan->type == Z2D;
    bool from_real = plan->type == R2C || plan->type == D2Z;
    int complexes = is_double ? C_64F : C_32F, reals = is_double ? R_64F : R_32F;
    int in_type = from_real ? reals : complexes, out_type = to_real ? reals : complexes;
    long long n = plan->n, half = n / 2 + 1, n_in = to_real ? half : n;
    long long n_out = from_real ? half : n;
    void *from = standin_memory(
        input, extent(n_in, plan->stride, 1, plan->in_step, plan->count, in_type));
    void *to = standin_memory(
        output, extent(n_out, plan->stride, 1, plan->out_step, plan->count, out_type));
    double complex *row = malloc(2 * (size_t)n * sizeof *row), *result = row + n;
    if (!from || !to || !row || (direction != 1 && direction != -1)) {
        free(row);
        return INVALID;
    }
    double sign = from_real ? -1 : to_real ? 1 : direction;
    for (long long i = 0; i < plan->count; i++) {
        for (long long j = 0; j < n_in; j++)
            row[j] = get(from, in_type, i * plan->in_step + j * plan->stride);
        for (long long j = n_in; j < n; j++)
            row[j] = conj(row[n - j]);
        transform(result, row, n, 1, sign);
        for (long long j = 0; j < n_out; j++)
            set(to, out_type, i * plan->out_step + j * plan->stride, result[j]);
    }
    if (to_real) /* the library may overwrite its input */
        memset(from, 0xfb, extent(n_in, plan->stride, 1, plan->in_step, plan->count, in_type));
    free(row);
    return SUCCESS;
}
