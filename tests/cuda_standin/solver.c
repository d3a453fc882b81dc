/* solver.c -- cuSOLVER for the tests: simple functions that compute on the processor.
 *
 * Matrices are in columns, without gaps, of float64 or complex128.  They are computed with
 * complex numbers.  Scratch memory has a few bytes for each matrix, and is overwritten.
 */
#include <complex.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "standin.h"

#pragma STDC CX_LIMITED_RANGE ON

typedef double complex number;

enum { NOT_INITIALIZED = 1, INVALID = 3 };
enum { R_64F = 1, C_64F = 5 };
enum { LOWER = 0 };
enum { ON_DEVICE = 40, ON_HOST = 24 };

/* -- Calls ------------------------------------------------------------------------- */

EXPORT int cusolverGetProperty(int property, int *value)
{
    *value = property == 0 ? 12 : 0;
    return standin_is_missing("cusolver") ? NOT_INITIALIZED : SUCCESS;
}

EXPORT int cusolverDnCreate(void **handle)
{
    ENTER;
    *handle = &cusolverDnCreate;
    return SUCCESS;
}

EXPORT int cusolverDnSetStream(void *handle, void *stream)
{
    ENTER;
    return handle && stream ? SUCCESS : NOT_INITIALIZED;
}

EXPORT int cusolverDnCreateParams(void **params)
{
    ENTER;
    *params = &cusolverDnCreateParams;
    return SUCCESS;
}

#define MEASURE                           \
    do {                                  \
        ENTER;                            \
        if (!handle || !params)           \
            return NOT_INITIALIZED;       \
        *on_device = ON_DEVICE;           \
        *on_host = ON_HOST;               \
        return m < n ? INVALID : SUCCESS; \
    } while (0)

/* The scratch memory is there, and the types are known. */
static bool is_ready(void *handle, void *params, int type, int compute, void *device,
                     size_t on_device, void *host, size_t on_host)
{
    void *scratch = standin_memory(device, ON_DEVICE);
    bool is_there = handle && params && scratch && host && on_device == ON_DEVICE &&
                    on_host == ON_HOST && compute == type && (type == R_64F || type == C_64F);
    if (is_there) {
        memset(scratch, 0xfb, ON_DEVICE);
        memset(host, 0xfb, ON_HOST);
    }
    return is_there;
}

static size_t size_of(int type) { return type == R_64F ? 8 : 16; }

/* Returns a copy of numbers of the device, or NULL if they are not in one allocation. */
static number *load(const void *address, int64_t n, int type)
{
    const void *memory = standin_memory(address, (size_t)n * size_of(type));
    number *copy = malloc((size_t)(n + 1) * sizeof *copy);
    for (int64_t i = 0; memory && i < n; i++)
        copy[i] = type == R_64F ? ((const double *)memory)[i] : ((const number *)memory)[i];
    if (memory)
        return copy;
    free(copy);
    return NULL;
}

/* Stores and frees numbers.  Returns a status. */
static int store(void *address, number *numbers, int64_t n, int type)
{
    void *memory = standin_memory(address, (size_t)n * size_of(type));
    for (int64_t i = 0; memory && i < n; i++)
        if (type == R_64F)
            ((double *)memory)[i] = creal(numbers[i]);
        else
            ((number *)memory)[i] = numbers[i];
    free(numbers);
    return memory ? SUCCESS : INVALID;
}

static int set_status(int *address, int64_t value)
{
    int *status = standin_memory(address, sizeof *status);
    if (status)
        *status = (int)value;
    return status ? SUCCESS : INVALID;
}

/* -- Triangular factors ------------------------------------------------------------ */

#define A(i, j) a[(j) * m + (i)]

EXPORT int cusolverDnXgetrf_bufferSize(void *handle, void *params, int64_t m, int64_t n,
                                       int type, const void *a, int64_t row, int compute,
                                       size_t *on_device, size_t *on_host)
{
    (void)type, (void)a, (void)row, (void)compute;
    MEASURE;
}

/* Returns the number of the first pivot that is 0, from 1, or 0. */
static int64_t factor(number *a, int64_t m, int64_t *pivots)
{
    int64_t singular = 0;
    for (int64_t j = 0; j < m; j++) {
        int64_t p = j;
        for (int64_t i = j + 1; i < m; i++)
            if (cabs(A(i, j)) > cabs(A(p, j)))
                p = i;
        pivots[j] = p + 1;
        for (int64_t k = 0; k < m; k++) {
            number other = A(p, k);
            A(p, k) = A(j, k);
            A(j, k) = other;
        }
        if (A(j, j) == 0)
            singular = singular ? singular : j + 1;
        for (int64_t i = j + 1; i < m; i++) {
            A(i, j) /= A(j, j);
            for (int64_t k = j + 1; k < m; k++)
                A(i, k) -= A(i, j) * A(j, k);
        }
    }
    return singular;
}

EXPORT int cusolverDnXgetrf(void *handle, void *params, int64_t m, int64_t n, int type,
                            void *matrix, int64_t row, int64_t *pivots, int compute,
                            void *device, size_t on_device, void *host, size_t on_host,
                            int *status)
{
    ENTER;
    int64_t *at = standin_memory(pivots, (size_t)n * sizeof *pivots);
    number *a = load(matrix, m * n, type);
    if (!is_ready(handle, params, type, compute, device, on_device, host, on_host) || !at ||
        !a || m != n || row != m)
        return INVALID;
    int64_t singular = factor(a, m, at);
    return store(matrix, a, m * n, type) + set_status(status, singular);
}

EXPORT int cusolverDnXgetrs(void *handle, void *params, int operation, int64_t n, int64_t k,
                            int type, const void *factors, int64_t row, const int64_t *pivots,
                            int type_b, void *b, int64_t row_b, int *status)
{
    ENTER;
    int64_t m = n, *at = standin_memory(pivots, (size_t)n * sizeof *pivots);
    number *a = load(factors, n * n, type), *x = load(b, n * k, type);
    if (!handle || !params || operation || type_b != type || row != n || row_b != n || !at ||
        !a || !x)
        return INVALID;
    for (int64_t c = 0; c < k; c++) {
        number *column = x + c * n;
        for (int64_t i = 0; i < n; i++) {
            number other = column[at[i] - 1];
            column[at[i] - 1] = column[i];
            column[i] = other;
        }
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < i; j++)
                column[i] -= A(i, j) * column[j];
        for (int64_t i = n - 1; i >= 0; i--) {
            for (int64_t j = i + 1; j < n; j++)
                column[i] -= A(i, j) * column[j];
            column[i] /= A(i, i);
        }
    }
    free(a);
    return store(b, x, n * k, type) + set_status(status, 0);
}

EXPORT int cusolverDnXpotrf_bufferSize(void *handle, void *params, int triangle, int64_t n,
                                       int type, const void *a, int64_t m, int compute,
                                       size_t *on_device, size_t *on_host)
{
    (void)triangle, (void)type, (void)a, (void)compute;
    MEASURE;
}

/* Makes the other triangle of a matrix the conjugate of the one that is read. */
static void reflect(number *a, int64_t m, int triangle)
{
    for (int64_t j = 0; j < m; j++) {
        A(j, j) = creal(A(j, j));
        for (int64_t i = j + 1; i < m; i++)
            if (triangle == LOWER)
                A(j, i) = conj(A(i, j));
            else
                A(i, j) = conj(A(j, i));
    }
}

EXPORT int cusolverDnXpotrf(void *handle, void *params, int triangle, int64_t n, int type,
                            void *matrix, int64_t row, int compute, void *device,
                            size_t on_device, void *host, size_t on_host, int *status)
{
    ENTER;
    int64_t m = n, indefinite = 0;
    number *given = load(matrix, n * n, type), *a = load(matrix, n * n, type);
    if (!is_ready(handle, params, type, compute, device, on_device, host, on_host) || !given ||
        !a || row != n)
        return INVALID;
    reflect(a, n, triangle);
    for (int64_t j = 0; j < n && !indefinite; j++) {
        double square = creal(A(j, j));
        for (int64_t k = 0; k < j; k++)
            square -= creal(A(j, k) * conj(A(j, k)));
        if (!(square > 0))
            indefinite = j + 1;
        A(j, j) = sqrt(square);
        for (int64_t i = j + 1; i < n; i++) {
            for (int64_t k = 0; k < j; k++)
                A(i, j) -= A(i, k) * conj(A(j, k));
            A(i, j) /= A(j, j);
        }
    }
    for (int64_t j = 0; j < n; j++) /* the other triangle keeps its numbers */
        for (int64_t i = j; i < n; i++)
            if (triangle == LOWER)
                given[j * n + i] = A(i, j);
            else
                given[i * n + j] = conj(A(i, j));
    free(a);
    return store(matrix, given, n * n, type) + set_status(status, indefinite);
}

/* -- Orthogonal factors ------------------------------------------------------------ */

EXPORT int cusolverDnXgeqrf_bufferSize(void *handle, void *params, int64_t rows, int64_t n,
                                       int type, const void *a, int64_t m, int type_tau,
                                       const void *tau, int compute, size_t *on_device,
                                       size_t *on_host)
{
    (void)rows, (void)type, (void)a, (void)type_tau, (void)tau, (void)compute;
    n = m;
    MEASURE;
}

/* Multiplies columns from `first` on by I - factor * v * v^H, where v begins in row j with 1.
 */
static void apply(number *a, int64_t m, int64_t j, number factor, const number *v,
                  int64_t first, int64_t n)
{
    for (int64_t c = first; c < n; c++) {
        number sum = A(j, c);
        for (int64_t i = j + 1; i < m; i++)
            sum += conj(v[i]) * A(i, c);
        A(j, c) -= factor * sum;
        for (int64_t i = j + 1; i < m; i++)
            A(i, c) -= factor * sum * v[i];
    }
}

EXPORT int cusolverDnXgeqrf(void *handle, void *params, int64_t m, int64_t n, int type,
                            void *matrix, int64_t row, int type_tau, void *tau, int compute,
                            void *device, size_t on_device, void *host, size_t on_host,
                            int *status)
{
    ENTER;
    int64_t k = m < n ? m : n;
    number *a = load(matrix, m * n, type), *taus = load(tau, k, type);
    if (!is_ready(handle, params, type, compute, device, on_device, host, on_host) || !a ||
        !taus || row != m || type_tau != type)
        return INVALID;
    for (int64_t j = 0; j < k; j++) {
        double square = 0;
        for (int64_t i = j + 1; i < m; i++)
            square += creal(A(i, j) * conj(A(i, j)));
        number alpha = A(j, j);
        taus[j] = 0;
        if (square == 0 && cimag(alpha) == 0)
            continue;
        double beta = -copysign(sqrt(square + creal(alpha * conj(alpha))), creal(alpha));
        taus[j] = (beta - alpha) / beta;
        for (int64_t i = j + 1; i < m; i++)
            A(i, j) /= alpha - beta;
        A(j, j) = beta;
        apply(a, m, j, conj(taus[j]), &A(0, j), j + 1, n);
    }
    return store(tau, taus, k, type) + store(matrix, a, m * n, type) + set_status(status, 0);
}

static int form_q(void *handle, int type, int64_t m, int64_t n, int64_t k, void *matrix,
                  int64_t row, const void *tau, void *work, int n_work, int *status)
{
    number *a = load(matrix, m * n, type), *taus = load(tau, k, type), *scratch;
    if (!(scratch = load(work, n_work, type)) || n_work != n || !handle || !a || !taus ||
        row != m || n > m || k > n)
        return INVALID;
    free(scratch);
    for (int64_t j = n - 1; j >= 0; j--) {
        number v[m];
        memcpy(v, &A(0, j), sizeof v);
        for (int64_t i = 0; i < m; i++)
            A(i, j) = i == j;
        if (j < k)
            apply(a, m, j, taus[j], v, j, n);
    }
    free(taus);
    return store(matrix, a, m * n, type) + set_status(status, 0);
}

#define FORM_Q(name, type)                                                                  \
    EXPORT int name##_bufferSize(void *handle, int m, int n, int k, const void *a, int row, \
                                 const void *tau, int *n_work)                              \
    {                                                                                       \
        (void)a, (void)row, (void)tau;                                                      \
        ENTER;                                                                              \
        *n_work = n;                                                                        \
        return handle && n <= m && k <= n ? SUCCESS : INVALID;                              \
    }                                                                                       \
    EXPORT int name(void *handle, int m, int n, int k, void *a, int row, const void *tau,   \
                    void *work, int n_work, int *status)                                    \
    {                                                                                       \
        ENTER;                                                                              \
        return form_q(handle, type, m, n, k, a, row, tau, work, n_work, status);            \
    }

FORM_Q(cusolverDnDorgqr, R_64F)
FORM_Q(cusolverDnZungqr, C_64F)

/* -- Values and vectors ------------------------------------------------------------ */

/* Multiplies two columns by a rotation of one plane. */
static void rotate(number *p, number *q, int64_t m, double cosine, number sine)
{
    for (int64_t i = 0; i < m; i++) {
        number x = p[i], y = q[i];
        p[i] = cosine * x - conj(sine) * y;
        q[i] = sine * x + cosine * y;
    }
}

static double product(number *sum, const number *p, const number *q, int64_t m)
{
    double of_p = 0;
    *sum = 0;
    for (int64_t i = 0; i < m; i++) {
        *sum += conj(p[i]) * q[i];
        of_p += creal(p[i] * conj(p[i]));
    }
    return of_p;
}

/* Turns columns of a until they are orthogonal, and the columns of v (n, n) with them: the
 * method of Jacobi and Hestenes. */
static void orthogonalize(number *a, int64_t m, number *v, int64_t n)
{
    for (int64_t i = 0; i < n * n; i++)
        v[i] = i % (n + 1) == 0;
    for (int sweep = 0; sweep < 60; sweep++) {
        double largest = 0;
        for (int64_t p = 0; p < n; p++)
            for (int64_t q = p + 1; q < n; q++) {
                number sum, unused;
                double of_p = product(&sum, a + p * m, a + q * m, m);
                double of_q = product(&unused, a + q * m, a + p * m, m);
                double size = cabs(sum);
                if (size == 0 || size <= 1e-16 * sqrt(of_p * of_q))
                    continue;
                largest = fmax(largest, size / sqrt(of_p * of_q));
                double zeta = (of_q - of_p) / (2 * size);
                double tangent = copysign(1, zeta) / (fabs(zeta) + sqrt(1 + zeta * zeta));
                double cosine = 1 / sqrt(1 + tangent * tangent);
                number sine = cosine * tangent * sum / size;
                rotate(a + p * m, a + q * m, m, cosine, sine);
                rotate(v + p * n, v + q * n, n, cosine, sine);
            }
        if (largest < 1e-15)
            break;
    }
}

/* Swaps columns. */
static void swap(number *a, int64_t m, int64_t p, int64_t q)
{
    for (int64_t i = 0; i < m; i++) {
        number other = a[p * m + i];
        a[p * m + i] = a[q * m + i];
        a[q * m + i] = other;
    }
}

EXPORT int cusolverDnXsyevd_bufferSize(void *handle, void *params, int job, int triangle,
                                       int64_t n, int type, const void *a, int64_t m,
                                       int type_w, const void *w, int compute,
                                       size_t *on_device, size_t *on_host)
{
    (void)job, (void)triangle, (void)type, (void)a, (void)type_w, (void)w, (void)compute;
    MEASURE;
}

/* The values are made positive by a multiple of the identity, and are the singular values
 * then. */
EXPORT int cusolverDnXsyevd(void *handle, void *params, int job, int triangle, int64_t n,
                            int type, void *matrix, int64_t row, int type_w, void *w,
                            int compute, void *device, size_t on_device, void *host,
                            size_t on_host, int *status)
{
    ENTER;
    int64_t m = n;
    number *a = load(matrix, n * n, type), *v = load(matrix, n * n, type);
    number *values = load(w, n, R_64F);
    double shift = 0;
    if (!is_ready(handle, params, type, compute, device, on_device, host, on_host) || !a ||
        !v || !values || row != n || type_w != R_64F)
        return INVALID;
    reflect(a, n, triangle);
    for (int64_t i = 0; i < n * n; i++)
        shift += creal(a[i] * conj(a[i]));
    shift = sqrt(shift);
    for (int64_t i = 0; i < n; i++)
        A(i, i) += shift;
    orthogonalize(a, n, v, n);
    for (int64_t j = 0; j < n; j++) {
        number unused;
        values[j] = sqrt(product(&unused, &A(0, j), &A(0, j), n)) - shift;
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i + 1; j < n; j++)
            if (creal(values[j]) < creal(values[i])) {
                swap(values, 1, i, j);
                swap(v, n, i, j);
            }
    if (!job)
        memset(v, 0xfb, (size_t)(n * n) * sizeof *v);
    free(a);
    return store(matrix, v, n * n, type) + store(w, values, n, R_64F) + set_status(status, 0);
}

EXPORT int cusolverDnXgesvd_bufferSize(void *handle, void *params, signed char job_u,
                                       signed char job_v, int64_t m, int64_t n, int type,
                                       const void *a, int64_t row, int type_s, const void *s,
                                       int type_u, const void *u, int64_t row_u, int type_v,
                                       const void *v, int64_t row_v, int compute,
                                       size_t *on_device, size_t *on_host)
{
    (void)job_u, (void)job_v, (void)type, (void)a, (void)row, (void)type_s, (void)s;
    (void)type_u, (void)u, (void)row_u, (void)type_v, (void)v, (void)row_v, (void)compute;
    MEASURE;
}

/* Makes columns from `first` on orthogonal to those before them. */
static void complete(number *a, int64_t m, int64_t first, int64_t n)
{
    for (int64_t j = first, unit = 0; j < n; unit++) {
        number sum;
        for (int64_t i = 0; i < m; i++)
            A(i, j) = i == unit;
        for (int64_t pass = 0; pass < 2 * j; pass++) {
            product(&sum, &A(0, pass % j), &A(0, j), m);
            for (int64_t i = 0; i < m; i++)
                A(i, j) -= sum * A(i, pass % j);
        }
        double size = sqrt(product(&sum, &A(0, j), &A(0, j), m));
        for (int64_t i = 0; i < m; i++)
            A(i, j) /= size;
        j += size > 1e-3 / (double)m;
    }
}

/* Writes the first columns of u unless there are none, and v or its conjugate transpose.  Sets
 * the rank. */
static int decompose(int64_t m, int64_t n, int64_t columns, int type, void *matrix, void *s,
                     void *u, void *v, bool is_turned, int64_t *rank_found, int *status)
{
    bool has_vectors = columns > 0;
    columns = has_vectors ? columns : n;
    number *given = load(matrix, m * n, type), *values = load(s, n, R_64F);
    number *a = calloc((size_t)(m * columns), sizeof *a);
    number *turned = calloc((size_t)(n * n), sizeof *turned);
    number *rows = calloc((size_t)(n * n), sizeof *rows);
    if (!given || !values)
        return INVALID;
    memcpy(a, given, (size_t)(m * n) * sizeof *a);
    orthogonalize(a, m, turned, n);
    for (int64_t j = 0; j < n; j++) {
        number unused;
        values[j] = sqrt(product(&unused, &A(0, j), &A(0, j), m));
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i + 1; j < n; j++)
            if (creal(values[j]) > creal(values[i])) {
                swap(values, 1, i, j);
                swap(a, m, i, j);
                swap(turned, n, i, j);
            }
    int64_t rank = 0;
    while (rank < n && creal(values[rank]) > 1e-13 * creal(values[0]))
        rank++;
    for (int64_t j = 0; j < rank; j++)
        for (int64_t i = 0; i < m; i++)
            A(i, j) /= values[j];
    *rank_found = rank;
    complete(a, m, rank, columns);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++)
            if (is_turned)
                rows[i * n + j] = conj(turned[j * n + i]);
            else
                rows[j * n + i] = turned[j * n + i];
    free(turned);
    memset(given, 0xfb, (size_t)(m * n) * sizeof *given);
    int error = store(matrix, given, m * n, type) + store(s, values, n, R_64F);
    if (!has_vectors) {
        free(a);
        free(rows);
        return error + set_status(status, 0);
    }
    return error + store(u, a, m * columns, type) + store(v, rows, n * n, type) +
           set_status(status, 0);
}

EXPORT int cusolverDnXgesvd(void *handle, void *params, signed char job_u, signed char job_v,
                            int64_t m, int64_t n, int type, void *matrix, int64_t row,
                            int type_s, void *s, int type_u, void *u, int64_t row_u, int type_v,
                            void *v, int64_t row_v, int compute, void *device, size_t on_device,
                            void *host, size_t on_host, int *status)
{
    ENTER;
    int64_t rank;
    if (!is_ready(handle, params, type, compute, device, on_device, host, on_host) || m < n ||
        row != m || row_u != m || row_v != n || type_s != R_64F || type_u != type ||
        type_v != type || job_u != job_v || !strchr("NSA", job_u))
        return INVALID;
    int64_t columns = job_u == 'A' ? m : job_u == 'S' ? n : 0;
    return decompose(m, n, columns, type, matrix, s, u, v, true, &rank, status);
}

EXPORT int cusolverDnXgesvdp_bufferSize(void *handle, void *params, int job, int is_short,
                                        int64_t m, int64_t n, int type, const void *a,
                                        int64_t row, int type_s, const void *s, int type_u,
                                        const void *u, int64_t row_u, int type_v, const void *v,
                                        int64_t row_v, int compute, size_t *on_device,
                                        size_t *on_host)
{
    (void)job, (void)is_short, (void)type, (void)a, (void)row, (void)type_s, (void)s;
    (void)type_u, (void)u, (void)row_u, (void)type_v, (void)v, (void)row_v, (void)compute;
    MEASURE;
}

/* A matrix without full rank is perturbed, and so are the small values.  Vectors are written
 * even if the job does not ask for them, as cuSOLVER 12.0 does. */
EXPORT int cusolverDnXgesvdp(void *handle, void *params, int job, int is_short, int64_t m,
                             int64_t n, int type, void *matrix, int64_t row, int type_s,
                             void *s, int type_u, void *u, int64_t row_u, int type_v, void *v,
                             int64_t row_v, int compute, void *device, size_t on_device,
                             void *host, size_t on_host, int *status, double *perturbation)
{
    (void)job;
    ENTER;
    int64_t rank = n;
    if (!is_ready(handle, params, type, compute, device, on_device, host, on_host) || m < n ||
        row != m || row_u != m || row_v != n || type_s != R_64F || type_u != type ||
        type_v != type)
        return INVALID;
    int64_t columns = is_short ? n : m;
    int error = decompose(m, n, columns, type, matrix, s, u, v, false, &rank, status);
    double *values = standin_memory(s, (size_t)n * sizeof *values);
    *perturbation = 0;
    for (int64_t i = rank; i < n && !error; i++)
        values[i] += *perturbation = 1e-9 * values[0] + 1e-300;
    return error;
}
