#pragma once
/* api.h -- the parts of the CUDA driver API, NVRTC, cuBLAS, cuFFT and cuSOLVER that mxnp calls.
 *
 * The libraries are opened at run time, so a build needs none of them.  The declarations follow
 * their documentation: NVIDIA, CUDA Driver API, NVRTC User Guide, cuBLAS, cuFFT and cuSOLVER.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef int mx_cuda_device;       /* CUdevice */
typedef uint64_t mx_cuda_address; /* CUdeviceptr */
typedef struct mx_cuda_context *mx_cuda_context;
typedef struct mx_cuda_stream *mx_cuda_stream;
typedef struct mx_cuda_module *mx_cuda_module;
typedef struct mx_cuda_function *mx_cuda_function;
typedef struct mx_cuda_event *mx_cuda_event;     /* CUevent */
typedef struct mx_cuda_pool *mx_cuda_pool;       /* CUmemoryPool */
typedef struct mx_cuda_program *mx_cuda_program; /* nvrtcProgram */
struct mx_cuda_access {                          /* CUmemAccessDesc */
    int type, number, flags;
};
typedef struct mx_cublas *mx_cublas_handle;            /* cublasHandle_t */
typedef struct mx_cusolver *mx_cusolver_handle;        /* cusolverDnHandle_t */
typedef struct mx_cusolver_params *mx_cusolver_params; /* cusolverDnParams_t */

/* CUresult */
enum {
    MX_CUDA_SUCCESS = 0,
    MX_CUDA_OUT_OF_MEMORY = 2,
    MX_CUDA_NO_DEVICE = 100,
    MX_CUDA_OUT_OF_RESOURCES = 701, /* of a launch */
};

/* CUdevice_attribute, CUfunction_attribute, CUmemPool_attribute, CUstream_flags */
enum {
    MX_CUDA_MAJOR = 75,
    MX_CUDA_MINOR = 76,
    MX_CUDA_HAS_POOLS = 115,
    MX_CUDA_MAX_THREADS = 0,
    MX_CUDA_RELEASE_THRESHOLD = 4,
    MX_CUDA_RESERVED = 5,
    MX_CUDA_USED = 7,
    MX_CUDA_LOCATION_IS_DEVICE = 1,
    MX_CUDA_READS_AND_WRITES = 3,
    MX_CUDA_NON_BLOCKING = 1,
    MX_CUDA_WITH_TIMES = 0, /* of an event */
    MX_CUDA_WITHOUT_TIMES = 2,
};

/* X(result, name, parameters) */
#define MX_CUDA_FUNCTIONS(X)                                                                 \
    X(int, cuDriverGetVersion, (int *version))                                               \
    X(int, cuInit, (unsigned flags))                                                         \
    X(int, cuGetErrorString, (int error, const char **text))                                 \
    X(int, cuDeviceGetCount, (int *count))                                                   \
    X(int, cuDeviceGet, (mx_cuda_device * device, int number))                               \
    X(int, cuDeviceGetName, (char *name, int size, mx_cuda_device device))                   \
    X(int, cuDeviceGetAttribute, (int *value, int attribute, mx_cuda_device device))         \
    X(int, cuDevicePrimaryCtxRetain, (mx_cuda_context * context, mx_cuda_device device))     \
    X(int, cuCtxPushCurrent_v2, (mx_cuda_context context))                                   \
    X(int, cuCtxPopCurrent_v2, (mx_cuda_context * context))                                  \
    X(int, cuCtxSynchronize, (void))                                                         \
    X(int, cuStreamCreate, (mx_cuda_stream * stream, unsigned flags))                        \
    X(int, cuStreamSynchronize, (mx_cuda_stream stream))                                     \
    X(int, cuEventCreate, (mx_cuda_event * event, unsigned flags))                           \
    X(int, cuEventRecord, (mx_cuda_event event, mx_cuda_stream stream))                      \
    X(int, cuEventSynchronize, (mx_cuda_event event))                                        \
    X(int, cuEventElapsedTime, (float *milliseconds, mx_cuda_event from, mx_cuda_event to))  \
    X(int, cuModuleLoadData, (mx_cuda_module * module, const void *image))                   \
    X(int, cuModuleUnload, (mx_cuda_module module))                                          \
    X(int, cuModuleGetFunction,                                                              \
      (mx_cuda_function * function, mx_cuda_module module, const char *name))                \
    X(int, cuFuncGetAttribute, (int *value, int attribute, mx_cuda_function function))       \
    X(int, cuLaunchKernel,                                                                   \
      (mx_cuda_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z,         \
       unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,          \
       mx_cuda_stream stream, void **parameters, void **extra))                              \
    X(int, cuDeviceGetDefaultMemPool, (mx_cuda_pool * pool, mx_cuda_device device))          \
    X(int, cuMemPoolSetAttribute, (mx_cuda_pool pool, int attribute, void *value))           \
    X(int, cuMemPoolGetAttribute, (mx_cuda_pool pool, int attribute, void *value))           \
    X(int, cuMemPoolTrimTo, (mx_cuda_pool pool, size_t kept))                                \
    X(int, cuMemPoolSetAccess,                                                               \
      (mx_cuda_pool pool, const struct mx_cuda_access *list, size_t n))                      \
    X(int, cuDeviceCanAccessPeer, (int *can, mx_cuda_device device, mx_cuda_device peer))    \
    X(int, cuMemAllocHost_v2, (void **memory, size_t size))                                  \
    X(int, cuMemGetInfo_v2, (size_t *free, size_t *total))                                   \
    X(int, cuMemAllocAsync, (mx_cuda_address * address, size_t size, mx_cuda_stream stream)) \
    X(int, cuMemFreeAsync, (mx_cuda_address address, mx_cuda_stream stream))                 \
    X(int, cuMemcpyHtoDAsync_v2,                                                             \
      (mx_cuda_address to, const void *from, size_t size, mx_cuda_stream stream))            \
    X(int, cuMemcpyDtoHAsync_v2,                                                             \
      (void *to, mx_cuda_address from, size_t size, mx_cuda_stream stream))                  \
    X(int, cuMemsetD8Async,                                                                  \
      (mx_cuda_address to, unsigned char value, size_t size, mx_cuda_stream stream))

#define MX_NVRTC_FUNCTIONS(X)                                                          \
    X(int, nvrtcVersion, (int *major, int *minor))                                     \
    X(int, nvrtcGetNumSupportedArchs, (int *count))                                    \
    X(int, nvrtcGetSupportedArchs, (int *archs))                                       \
    X(int, nvrtcCreateProgram,                                                         \
      (mx_cuda_program * program, const char *source, const char *name, int n_headers, \
       const char *const *headers, const char *const *names))                          \
    X(int, nvrtcDestroyProgram, (mx_cuda_program * program))                           \
    X(int, nvrtcCompileProgram,                                                        \
      (mx_cuda_program program, int n_options, const char *const *options))            \
    X(int, nvrtcGetCUBINSize, (mx_cuda_program program, size_t *size))                 \
    X(int, nvrtcGetCUBIN, (mx_cuda_program program, char *cubin))                      \
    X(int, nvrtcGetPTXSize, (mx_cuda_program program, size_t *size))                   \
    X(int, nvrtcGetPTX, (mx_cuda_program program, char *ptx))                          \
    X(int, nvrtcGetProgramLogSize, (mx_cuda_program program, size_t *size))            \
    X(int, nvrtcGetProgramLog, (mx_cuda_program program, char *log))

/* cublasOperation_t, cublasFillMode_t, cudaDataType_t, cublasComputeType_t */
enum {
    MX_CUBLAS_PLAIN = 0,
    MX_CUBLAS_TRANSPOSED = 1,
    MX_CUBLAS_LOWER = 0,
    MX_CUBLAS_UPPER = 1,
    MX_CUDA_R_32F = 0,
    MX_CUDA_R_64F = 1,
    MX_CUDA_C_32F = 4,
    MX_CUDA_C_64F = 5,
    MX_CUBLAS_COMPUTE_32F = 68, /* without TF32 */
    MX_CUBLAS_COMPUTE_64F = 70,
};

/* cufftType, and directions */
enum {
    MX_CUFFT_C2C = 0x29,
    MX_CUFFT_R2C = 0x2a,
    MX_CUFFT_C2R = 0x2c,
    MX_CUFFT_Z2Z = 0x69,
    MX_CUFFT_D2Z = 0x6a,
    MX_CUFFT_Z2D = 0x6c,
    MX_CUFFT_FORWARD = -1,
    MX_CUFFT_INVERSE = 1,
};

#define MX_CUBLAS_FUNCTIONS(X)                                                                 \
    X(int, cublasGetProperty, (int property, int *value))                                      \
    X(int, cublasCreate_v2, (mx_cublas_handle * handle))                                       \
    X(int, cublasSetStream_v2, (mx_cublas_handle handle, mx_cuda_stream stream))               \
    X(int, cublasGemmStridedBatchedEx_64,                                                      \
      (mx_cublas_handle handle, int operation_a, int operation_b, int64_t m, int64_t n,        \
       int64_t k, const void *alpha, const void *a, int type_a, int64_t row_a, int64_t step_a, \
       const void *b, int type_b, int64_t row_b, int64_t step_b, const void *beta, void *c,    \
       int type_c, int64_t row_c, int64_t step_c, int64_t count, int compute, int algorithm))

#define MX_CUFFT_FUNCTIONS(X)                                                             \
    X(int, cufftGetProperty, (int property, int *value))                                  \
    X(int, cufftCreate, (int *plan))                                                      \
    X(int, cufftDestroy, (int plan))                                                      \
    X(int, cufftSetAutoAllocation, (int plan, int is_automatic))                          \
    X(int, cufftSetStream, (int plan, mx_cuda_stream stream))                             \
    X(int, cufftSetWorkArea, (int plan, void *memory))                                    \
    X(int, cufftMakePlanMany64,                                                           \
      (int plan, int rank, long long *n, long long *in_embed, long long in_stride,        \
       long long in_step, long long *out_embed, long long out_stride, long long out_step, \
       int type, long long count, size_t *work_size))                                     \
    X(int, cufftXtExec, (int plan, void *input, void *output, int direction))

/* The parameters with which most functions end: the computation's type, scratch memory of the
 * device and of the host, and the status on the device. */
#define MX_WORK_SIZES int compute, size_t *on_device, size_t *on_host
#define MX_WORK \
    int compute, void *device, size_t on_device, void *host, size_t on_host, int *status

#define MX_CUSOLVER_FUNCTIONS(X)                                                               \
    X(int, cusolverGetProperty, (int property, int *value))                                    \
    X(int, cusolverDnCreate, (mx_cusolver_handle * handle))                                    \
    X(int, cusolverDnSetStream, (mx_cusolver_handle handle, mx_cuda_stream stream))            \
    X(int, cusolverDnCreateParams, (mx_cusolver_params * params))                              \
    X(int, cusolverDnXgetrf_bufferSize,                                                        \
      (mx_cusolver_handle handle, mx_cusolver_params params, int64_t m, int64_t n, int type,   \
       const void *a, int64_t row, MX_WORK_SIZES))                                             \
    X(int, cusolverDnXgetrf,                                                                   \
      (mx_cusolver_handle handle, mx_cusolver_params params, int64_t m, int64_t n, int type,   \
       void *a, int64_t row, int64_t *pivots, MX_WORK))                                        \
    X(int, cusolverDnXgetrs,                                                                   \
      (mx_cusolver_handle handle, mx_cusolver_params params, int operation, int64_t n,         \
       int64_t k, int type, const void *a, int64_t row, const int64_t *pivots, int type_b,     \
       void *b, int64_t row_b, int *status))                                                   \
    X(int, cusolverDnXpotrf_bufferSize,                                                        \
      (mx_cusolver_handle handle, mx_cusolver_params params, int triangle, int64_t n,          \
       int type, const void *a, int64_t row, MX_WORK_SIZES))                                   \
    X(int, cusolverDnXpotrf,                                                                   \
      (mx_cusolver_handle handle, mx_cusolver_params params, int triangle, int64_t n,          \
       int type, void *a, int64_t row, MX_WORK))                                               \
    X(int, cusolverDnXgeqrf_bufferSize,                                                        \
      (mx_cusolver_handle handle, mx_cusolver_params params, int64_t m, int64_t n, int type,   \
       const void *a, int64_t row, int type_tau, const void *tau, MX_WORK_SIZES))              \
    X(int, cusolverDnXgeqrf,                                                                   \
      (mx_cusolver_handle handle, mx_cusolver_params params, int64_t m, int64_t n, int type,   \
       void *a, int64_t row, int type_tau, void *tau, MX_WORK))                                \
    X(int, cusolverDnDorgqr_bufferSize,                                                        \
      (mx_cusolver_handle handle, int m, int n, int k, const void *a, int row,                 \
       const void *tau, int *n_work))                                                          \
    X(int, cusolverDnDorgqr,                                                                   \
      (mx_cusolver_handle handle, int m, int n, int k, void *a, int row, const void *tau,      \
       void *work, int n_work, int *status))                                                   \
    X(int, cusolverDnZungqr_bufferSize,                                                        \
      (mx_cusolver_handle handle, int m, int n, int k, const void *a, int row,                 \
       const void *tau, int *n_work))                                                          \
    X(int, cusolverDnZungqr,                                                                   \
      (mx_cusolver_handle handle, int m, int n, int k, void *a, int row, const void *tau,      \
       void *work, int n_work, int *status))                                                   \
    X(int, cusolverDnXsyevd_bufferSize,                                                        \
      (mx_cusolver_handle handle, mx_cusolver_params params, int job, int triangle, int64_t n, \
       int type, const void *a, int64_t row, int type_w, const void *w, MX_WORK_SIZES))        \
    X(int, cusolverDnXsyevd,                                                                   \
      (mx_cusolver_handle handle, mx_cusolver_params params, int job, int triangle, int64_t n, \
       int type, void *a, int64_t row, int type_w, void *w, MX_WORK))                          \
    X(int, cusolverDnXgesvd_bufferSize,                                                        \
      (mx_cusolver_handle handle, mx_cusolver_params params, signed char job_u,                \
       signed char job_v, int64_t m, int64_t n, int type, const void *a, int64_t row,          \
       int type_s, const void *s, int type_u, const void *u, int64_t row_u, int type_v,        \
       const void *v, int64_t row_v, MX_WORK_SIZES))                                           \
    X(int, cusolverDnXgesvd,                                                                   \
      (mx_cusolver_handle handle, mx_cusolver_params params, signed char job_u,                \
       signed char job_v, int64_t m, int64_t n, int type, void *a, int64_t row, int type_s,    \
       void *s, int type_u, void *u, int64_t row_u, int type_v, void *v, int64_t row_v,        \
       MX_WORK))                                                                               \
    X(int, cusolverDnXgesvdp_bufferSize,                                                       \
      (mx_cusolver_handle handle, mx_cusolver_params params, int job, int is_short, int64_t m, \
       int64_t n, int type, const void *a, int64_t row, int type_s, const void *s, int type_u, \
       const void *u, int64_t row_u, int type_v, const void *v, int64_t row_v, MX_WORK_SIZES)) \
    X(int, cusolverDnXgesvdp,                                                                  \
      (mx_cusolver_handle handle, mx_cusolver_params params, int job, int is_short, int64_t m, \
       int64_t n, int type, void *a, int64_t row, int type_s, void *s, int type_u, void *u,    \
       int64_t row_u, int type_v, void *v, int64_t row_v, MX_WORK, double *perturbation))

#define MX_DECLARE(result, name, parameters) result(*name) parameters;
struct mx_api {
    MX_CUDA_FUNCTIONS(MX_DECLARE)
    MX_NVRTC_FUNCTIONS(MX_DECLARE)
    MX_CUBLAS_FUNCTIONS(MX_DECLARE)
    MX_CUFFT_FUNCTIONS(MX_DECLARE)
    MX_CUSOLVER_FUNCTIONS(MX_DECLARE)
};
#undef MX_DECLARE

extern struct mx_api mx_api;

/* Opens the driver and NVRTC, at the first call, and returns whether they can be used.  Neither
 * is initialized.  Without a GPU it opens nothing. */
bool mx_api_open(void);
bool mx_api_is_stand_in(void); /* whether the tests' library is used in place of the driver */
const char *mx_api_problem(void); /* what is missing, and what to do; "" if nothing is */

/* Open cuBLAS, cuFFT and cuSOLVER, at the first call, and return whether they can be used. */
bool mx_api_open_blas(void);
bool mx_api_open_fft(void);
bool mx_api_open_solver(void);
const char *mx_api_libraries(void); /* which of them there are, in one line */

/* Versions as 1000 * major + 10 * minor. */
int mx_api_driver_version(void);
int mx_api_nvrtc_version(void);
