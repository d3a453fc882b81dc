/* solver.c -- factorizations of matrices with cuSOLVER, one matrix after the other. */
#include "cuda/solver.h"

#include <pthread.h>

#include "base/alloc.h"
#include "base/error.h"

/* If the handle cannot be made, nothing is computed with cuSOLVER from then on, because each
 * attempt takes long. */
static struct {
    pthread_mutex_t lock;
    mx_cusolver_handle handle;
    mx_cusolver_params params;
    bool is_tried;
} solver = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The caller holds the lock. */
static bool has_handle(mx_cuda_stream stream)
{
    if (solver.is_tried)
        return solver.handle;
    solver.is_tried = true;
    if (!mx_api_open_solver() || mx_api.cusolverDnCreate(&solver.handle) != 0)
        solver.handle = NULL;
    else if (mx_api.cusolverDnSetStream(solver.handle, stream) != 0 ||
             mx_api.cusolverDnCreateParams(&solver.params) != 0)
        solver.handle = NULL;
    return solver.handle;
}

/* -- One matrix -------------------------------------------------------------------- */

/* A matrix, and what is computed from it.  `x`, `vectors` and `rows` are NULL for a kind that
 * has fewer buffers. */
struct matrix {
    char *a;
    int *status;
    void *scratch; /* on the device */
    char *x;       /* pivots, tau, or values */
    char *vectors; /* solutions, or singular vectors u */
    char *rows;    /* singular vectors v or their conjugate transposes */
    size_t on_device, on_host;
    void *host; /* scratch memory of the host */
};

static int type_of(const struct mx_linear *linear)
{
    return linear->is_complex ? MX_CUDA_C_64F : MX_CUDA_R_64F;
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static int triangle_of(const struct mx_linear *linear)
{
    return linear->is_lower ? MX_CUBLAS_LOWER : MX_CUBLAS_UPPER;
}

static signed char job_of(const struct mx_linear *linear) { return "NSA"[linear->vectors]; }

/* Sets the sizes of scratch memory.  The functions do not read the addresses.  Returns an error
 * of cuSOLVER, or 0. */
static int cuda_solver_measure(const struct mx_linear *l, struct matrix *at)
{
    mx_cusolver_handle handle = solver.handle;
    mx_cusolver_params params = solver.params;
    size_t *on_device = &at->on_device, *on_host = &at->on_host;
    int type = type_of(l), n_work = 0, error = 0;
    int64_t m = l->m, n = l->n;
    switch ((enum mx_linear_kind)l->kind) {
    case MX_SOLVE:
        return mx_api.cusolverDnXgetrf_bufferSize(handle, params, m, n, type, at->a, m, type,
                                                  on_device, on_host);
    case MX_CHOLESKY:
        return mx_api.cusolverDnXpotrf_bufferSize(handle, params, triangle_of(l), n, type,
                                                  at->a, n, type, on_device, on_host);
    case MX_QR:
        return mx_api.cusolverDnXgeqrf_bufferSize(handle, params, m, n, type, at->a, m, type,
                                                  at->x, type, on_device, on_host);
    case MX_QR_VECTORS:
        error = (l->is_complex ? mx_api.cusolverDnZungqr_bufferSize
                               : mx_api.cusolverDnDorgqr_bufferSize)(
            handle, (int)m, (int)n, (int)l->k, at->a, (int)m, at->x, &n_work);
        *on_device = (size_t)n_work * (l->is_complex ? 16 : 8);
        *on_host = 0;
        return error;
    case MX_EIGH:
        return mx_api.cusolverDnXsyevd_bufferSize(
            handle, params, l->vectors > 0, triangle_of(l), n, type, at->a, n, MX_CUDA_R_64F,
            at->x, type, on_device, on_host);
    case MX_SVD:
        return mx_api.cusolverDnXgesvd_bufferSize(
            handle, params, job_of(l), job_of(l), m, n, type, at->a, m, MX_CUDA_R_64F, at->x,
            type, at->vectors, m, type, at->rows, n, type, on_device, on_host);
    case MX_SVD_POLAR:
        return mx_api.cusolverDnXgesvdp_bufferSize(
            handle, params, 1, l->vectors == 1, m, n, type, at->a, m, MX_CUDA_R_64F, at->x,
            type, at->vectors, m, type, at->rows, n, type, on_device, on_host);
    }
    return -1;
}

/* The function makes a nearly singular matrix regular, and tells by how much its values may
 * have changed.  It has waited for the device then. */
static int decompose(const struct mx_linear *l, const struct matrix *at, mx_cuda_stream stream)
{
    double perturbation = 0;
    int type = type_of(l);
    int error = mx_api.cusolverDnXgesvdp(
        solver.handle, solver.params, 1, l->vectors == 1, l->m, l->n, type, at->a, l->m,
        MX_CUDA_R_64F, at->x, type, at->vectors, l->m, type, at->rows, l->n, type, at->scratch,
        at->on_device, at->host, at->on_host, at->status, &perturbation);
    if (error || perturbation == 0)
        return error;
    return mx_api.cuMemsetD8Async((uintptr_t)at->status, 0xff, sizeof *at->status, stream);
}

/* The functions write the status, and cusolverDnXgetrs writes one that is not needed. */
static int solve(const struct mx_linear *l, const struct matrix *at)
{
    int type = type_of(l);
    int error = mx_api.cusolverDnXgetrf(solver.handle, solver.params, l->m, l->n, type, at->a,
                                        l->m, (int64_t *)at->x, type, at->scratch,
                                        at->on_device, at->host, at->on_host, at->status);
    if (error || l->k == 0)
        return error;
    return mx_api.cusolverDnXgetrs(solver.handle, solver.params, MX_CUBLAS_PLAIN, l->n, l->k,
                                   type, at->a, l->n, (int64_t *)at->x, type, at->vectors, l->n,
                                   at->status + l->count);
}

/* Returns an error of cuSOLVER, or 0. */
static int cuda_solver_compute(const struct mx_linear *l, const struct matrix *at,
                               mx_cuda_stream stream)
{
    mx_cusolver_handle handle = solver.handle;
    mx_cusolver_params params = solver.params;
    int type = type_of(l);
    int64_t m = l->m, n = l->n;
    switch ((enum mx_linear_kind)l->kind) {
    case MX_SOLVE:
        return solve(l, at);
    case MX_CHOLESKY:
        return mx_api.cusolverDnXpotrf(handle, params, triangle_of(l), n, type, at->a, n, type,
                                       at->scratch, at->on_device, at->host, at->on_host,
                                       at->status);
    case MX_QR:
        return mx_api.cusolverDnXgeqrf(handle, params, m, n, type, at->a, m, type, at->x, type,
                                       at->scratch, at->on_device, at->host, at->on_host,
                                       at->status);
    case MX_QR_VECTORS:
        return (l->is_complex ? mx_api.cusolverDnZungqr : mx_api.cusolverDnDorgqr)(
            handle, (int)m, (int)n, (int)l->k, at->a, (int)m, at->x, at->scratch,
            (int)(at->on_device / (l->is_complex ? 16 : 8)), at->status);
    case MX_EIGH:
        return mx_api.cusolverDnXsyevd(handle, params, l->vectors > 0, triangle_of(l), n, type,
                                       at->a, n, MX_CUDA_R_64F, at->x, type, at->scratch,
                                       at->on_device, at->host, at->on_host, at->status);
    case MX_SVD:
        return mx_api.cusolverDnXgesvd(handle, params, job_of(l), job_of(l), m, n, type, at->a,
                                       m, MX_CUDA_R_64F, at->x, type, at->vectors, m, type,
                                       at->rows, n, type, at->scratch, at->on_device, at->host,
                                       at->on_host, at->status);
    case MX_SVD_POLAR:
        return decompose(l, at, stream);
    }
    return -1;
}

/* -- Stacks ------------------------------------------------------------------------ */

/* Moves to the next matrix of the stack. */
static void cuda_solver_advance(const struct mx_linear *l, struct matrix *at)
{
    int64_t size = l->is_complex ? 16 : 8, values = least(l->m, l->n);
    int64_t columns = l->vectors == 2 ? l->m : values;
    at->a += l->m * l->n * size;
    at->status++;
    switch ((enum mx_linear_kind)l->kind) {
    case MX_SOLVE:
        at->x += values * (int64_t)sizeof(int64_t);
        at->vectors += l->n * l->k * size;
        break;
    case MX_QR:
        at->x += values * size;
        break;
    case MX_QR_VECTORS:
        at->x += l->k * size;
        break;
    case MX_SVD:
    case MX_SVD_POLAR:
        if (l->vectors) {
            at->vectors += l->m * columns * size;
            at->rows += l->n * l->n * size;
        }
        at->x += values * (int64_t)sizeof(double);
        break;
    case MX_EIGH:
        at->x += values * (int64_t)sizeof(double);
        break;
    case MX_CHOLESKY:
        break;
    }
}

static int cuda_solver_fail(int error)
{
    return error ? mx_fail(MX_ERROR_VALUE, "cuSOLVER failed: status %d", error) : MX_OK;
}

/* The caller holds the lock. */
static int cuda_solver_run(const struct mx_linear *l, struct matrix *at, mx_cuda_stream stream)
{
    int error = cuda_solver_measure(l, at);
    if (error)
        return cuda_solver_fail(error);
    at->host = mx_alloc(at->on_host ? at->on_host : 1);
    if (!at->host)
        return mx_fail(MX_ERROR_VALUE, "unable to hold %zu bytes for cuSOLVER", at->on_host);
    for (int64_t i = 0; i < l->count && !error; i++) {
        error = cuda_solver_compute(l, at, stream);
        cuda_solver_advance(l, at);
    }
    mx_free(at->host);
    return cuda_solver_fail(error);
}

int mx_solver_prepare(const struct mx_linear *linear, size_t *scratch, mx_cuda_stream stream)
{
    struct matrix at = {0};
    pthread_mutex_lock(&solver.lock);
    int status = has_handle(stream) ? cuda_solver_fail(cuda_solver_measure(linear, &at))
                                    : mx_fail(MX_ERROR_VALUE, "cuSOLVER cannot be used");
    pthread_mutex_unlock(&solver.lock);
    *scratch = at.on_device;
    return status;
}

/* The number of buffers depends on the kind, and no more are read. */
int mx_solver_run(const struct mx_linear *linear, void *const *memories, mx_cuda_stream stream)
{
    static const int buffers[] = {[MX_SOLVE] = 5,      [MX_CHOLESKY] = 3, [MX_QR] = 4,
                                  [MX_QR_VECTORS] = 4, [MX_EIGH] = 4,     [MX_SVD] = 6,
                                  [MX_SVD_POLAR] = 6};
    int n = buffers[linear->kind];
    struct matrix at = {
        .a = memories[0],
        .status = memories[1],
        .scratch = memories[2],
        .x = n > 3 ? memories[3] : NULL,
        .vectors = n > 4 ? memories[4] : NULL,
        .rows = n > 5 ? memories[5] : NULL,
    };
    pthread_mutex_lock(&solver.lock);
    int status = has_handle(stream) ? cuda_solver_run(linear, &at, stream)
                                    : mx_fail(MX_ERROR_VALUE, "cuSOLVER cannot be used");
    pthread_mutex_unlock(&solver.lock);
    return status;
}
