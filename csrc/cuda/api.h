#pragma once
/* api.h -- the parts of the CUDA driver API and of NVRTC that mxnp calls.
 *
 * Both libraries are opened at run time, so a build needs neither.  The declarations follow
 * their documentation: NVIDIA, CUDA Driver API, and NVRTC User Guide.
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
typedef struct mx_cuda_pool *mx_cuda_pool;       /* CUmemoryPool */
typedef struct mx_cuda_program *mx_cuda_program; /* nvrtcProgram */

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
    MX_CUDA_NON_BLOCKING = 1,
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
    X(int, cuStreamCreate, (mx_cuda_stream * stream, unsigned flags))                        \
    X(int, cuStreamSynchronize, (mx_cuda_stream stream))                                     \
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

#define MX_DECLARE(result, name, parameters) result(*name) parameters;
struct mx_api {
    MX_CUDA_FUNCTIONS(MX_DECLARE)
    MX_NVRTC_FUNCTIONS(MX_DECLARE)
};
#undef MX_DECLARE

extern struct mx_api mx_api;

/* Sets the folders of packages, separated by colons, in which NVRTC is looked for. */
void mx_api_set_folders(const char *folders);

/* Opens both libraries, at the first call, and returns whether they can be used.  Neither is
 * initialized.  Without a GPU it opens nothing. */
bool mx_api_open(void);
const char *mx_api_problem(void); /* what is missing, and what to do; "" if nothing is */

/* Versions as 1000 * major + 10 * minor. */
int mx_api_driver_version(void);
int mx_api_nvrtc_version(void);
