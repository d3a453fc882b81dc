/* blas.c -- products of matrices with cuBLAS. */
#include "cuda/blas.h"

#include "base/error.h"
#include "ir/dtypes.h"

/* The handle of the one thread that is inside the stream.  If it cannot be made, products run
 * without cuBLAS from then on, because each attempt takes long. */
static mx_cublas_handle handle;
static bool is_tried;

static bool has_handle(mx_cuda_stream stream)
{
    if (is_tried)
        return handle;
    is_tried = true;
    if (!mx_api_open_blas() || mx_api.cublasCreate_v2(&handle) != 0)
        handle = NULL;
    else if (mx_api.cublasSetStream_v2(handle, stream) != 0)
        handle = NULL;
    return handle;
}

/* How cuBLAS computes with a dtype.  The factors of the products and of the earlier result have
 * the dtype of the sums. */
struct arithmetic {
    bool is_known;
    int type, compute;
    const void *one, *zero;
};

static const float singles[2] = {1, 0}, zero_single[2];
static const double doubles[2] = {1, 0}, zero_double[2];

static const struct arithmetic kinds_of_sums[MX_DTYPE_COUNT] = {
    [MX_DTYPE_float32] = {true, MX_CUDA_R_32F, MX_CUBLAS_COMPUTE_32F, singles, zero_single},
    [MX_DTYPE_float64] = {true, MX_CUDA_R_64F, MX_CUBLAS_COMPUTE_64F, doubles, zero_double},
    [MX_DTYPE_complex64] = {true, MX_CUDA_C_32F, MX_CUBLAS_COMPUTE_32F, singles, zero_single},
    [MX_DTYPE_complex128] = {true, MX_CUDA_C_64F, MX_CUBLAS_COMPUTE_64F, doubles, zero_double},
};

/* Complex numbers of a view need not begin at multiples of their size. */
static bool are_aligned(void *const *memories, int dtype)
{
    uintptr_t bits = (uintptr_t)memories[0] | (uintptr_t)memories[1] | (uintptr_t)memories[2];
    return bits % (dtype == MX_DTYPE_complex128 ? 16 : 8) == 0 ||
           (dtype != MX_DTYPE_complex64 && dtype != MX_DTYPE_complex128);
}

/* cuBLAS has matrices in columns, where ours are transposed, so it computes c.T = b.T @ a.T. */
int mx_blas_multiply(const struct mx_product *p, int dtype, void *const *memories,
                     mx_cuda_stream stream)
{
    const struct arithmetic *how = &kinds_of_sums[dtype];
    if (!how->is_known || !are_aligned(memories, dtype) || !has_handle(stream))
        return mx_fail(MX_ERROR_VALUE, "cuBLAS cannot be used");
    int error = mx_api.cublasGemmStridedBatchedEx_64(
        handle, p->is_transposed[1] ? MX_CUBLAS_TRANSPOSED : MX_CUBLAS_PLAIN,
        p->is_transposed[0] ? MX_CUBLAS_TRANSPOSED : MX_CUBLAS_PLAIN, p->n, p->m, p->k,
        how->one, memories[1], how->type, p->rows[1], p->steps[1], memories[0], how->type,
        p->rows[0], p->steps[0], how->zero, memories[2], how->type, p->n, p->m * p->n, p->count,
        how->compute, -1);
    return error ? mx_fail(MX_ERROR_VALUE, "cuBLAS failed: status %d", error) : MX_OK;
}
