/* device.c -- the driver of CUDA: calls NVIDIA's driver, or the stand-in of the tests.
 *
 * There is one stream, so everything runs in the order in which it was encoded.  Memory comes
 * from the driver's pool, which is ordered by the stream too: memory that is released can be
 * allocated again while kernels that use it still run, because what uses it next comes later.
 *
 * The driver keeps an error of a kernel for ever.  The device is then lost: mxnp goes on on the
 * processor.
 */
#include "cuda/cuda.h"

#include <glob.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/code_cache.h"
#include "base/error.h"
#include "cuda/api.h"
#include "cuda/blas.h"
#include "cuda/compile.h"
#include "cuda/fft.h"
#include "cuda/solver.h"
#include "cuda/translate.h"

#define STAGING_BYTES ((size_t)1 << 20)
#define MAX_STAGED    ((size_t)64 << 10) /* of one copy */
#define HALF_BYTES    ((size_t)8 << 20)
#define LEAST_PART    ((size_t)256 << 10) /* of a large copy */
#define MAX_BLOCKS    65535               /* of a grid along y and z */

static struct {
    _Atomic int number;     /* of the GPU that the process uses, among those that CUDA shows */
    _Atomic bool is_chosen; /* for good: something asked whether it can be used */
    mx_cuda_device device;
    mx_cuda_context context;
    mx_cuda_stream stream;
    mx_cuda_pool pool;
    int arch;
    char name[256];
    char problem[512];
    bool is_open;
    bool is_shared;       /* other GPUs of the process may use the pool */
    _Atomic bool is_busy; /* something may have been encoded since the last wait */
} gpu;

static _Atomic bool
    is_lost;             /* also in a forked process, which cannot use its parent's device */
static const char *loss; /* the driver's text for the error that lost the device */

static struct mx_driver_counts counts;

/* -- Errors ------------------------------------------------------------------------ */

static const char *text_of(int error)
{
    const char *text = NULL;
    mx_api.cuGetErrorString(error, &text);
    return text ? text : "an unknown error";
}

static int fail_as_lost(void)
{
    return mx_fail(MX_ERROR_DEVICE, "the CUDA device failed: %s",
                   loss ? loss : "it belongs to the process that forked");
}

/* The first error explains all that follow. */
static int cuda_fail(int error)
{
    if (!loss)
        loss = text_of(error);
    is_lost = true;
    return fail_as_lost();
}

/* -- Opening ----------------------------------------------------------------------- */

static void cuda_lose(void) { is_lost = true; }

/* Returns the driver's error, or 0. */
static int open_context(void)
{
    int error = 0, major = 0, minor = 0, n = 0, has_pools = 0;
    uint64_t all = UINT64_MAX;
    if ((error = mx_api.cuInit(0)) || (error = mx_api.cuDeviceGetCount(&n)))
        return error;
    if (n == 0)
        return MX_CUDA_NO_DEVICE;
    if (gpu.number >= n) {
        snprintf(gpu.problem, sizeof gpu.problem, "the driver has %d GPUs, and no number %d", n,
                 gpu.number);
        return 0;
    }
    if ((error = mx_api.cuDeviceGet(&gpu.device, gpu.number)) ||
        (error = mx_api.cuDeviceGetName(gpu.name, sizeof gpu.name, gpu.device)))
        return error;
    mx_api.cuDeviceGetAttribute(&major, MX_CUDA_MAJOR, gpu.device);
    mx_api.cuDeviceGetAttribute(&minor, MX_CUDA_MINOR, gpu.device);
    mx_api.cuDeviceGetAttribute(&has_pools, MX_CUDA_HAS_POOLS, gpu.device);
    gpu.arch = 10 * major + minor;
    if (gpu.arch < 70 || !has_pools) {
        snprintf(gpu.problem, sizeof gpu.problem,
                 "%s is too old: compute capability 7.0 and memory pools are needed", gpu.name);
        return 0;
    }
    if ((error = mx_api.cuDevicePrimaryCtxRetain(&gpu.context, gpu.device)) ||
        (error = mx_api.cuDeviceGetDefaultMemPool(&gpu.pool, gpu.device)) ||
        (error = mx_api.cuCtxPushCurrent_v2(gpu.context)))
        return error;
    mx_api.cuMemPoolSetAttribute(gpu.pool, MX_CUDA_RELEASE_THRESHOLD, &all);
    error = mx_api.cuStreamCreate(&gpu.stream, MX_CUDA_NON_BLOCKING);
    mx_api.cuCtxPopCurrent_v2(&(mx_cuda_context){0});
    gpu.is_open = !error;
    return error;
}

static void open_device(void)
{
    gpu.is_chosen = true;
    if (!mx_api_open()) {
        snprintf(gpu.problem, sizeof gpu.problem, "%s", mx_api_problem());
        return;
    }
    int error = open_context();
    if (error)
        snprintf(gpu.problem, sizeof gpu.problem, "the driver cannot be used: %s",
                 text_of(error));
    if (gpu.is_open)
        pthread_atfork(NULL, NULL, cuda_lose);
}

static void open_once(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_device);
}

static bool is_usable(void)
{
    open_once();
    return gpu.is_open && !is_lost;
}

static const char *problem(void)
{
    open_once();
    return gpu.problem;
}

/* -- The names of the GPUs, without initializing the driver, which takes long ------- */

#define MAX_MODELS 64

static struct {
    int count;
    char models[MAX_MODELS][256];
} machine;

/* Reads the model of a GPU from a file of the driver. */
static void read_model(const char *path, char *model)
{
    char line[256];
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        sscanf(line, "Model: %255[^\n]", model);
    if (file)
        fclose(file);
}

/* Returns how many GPUs the program wants to see, at most `n`: none if the list is empty or
 * begins with -1. */
static int visible(int n)
{
    const char *names = getenv("CUDA_VISIBLE_DEVICES");
    int listed = 1;
    if (names && (!*names || *names == '-'))
        return 0;
    for (const char *at = names; at && *at && *at != '-'; at++)
        listed += *at == ',' && at[1] != '-';
    return names && listed < n ? listed : n;
}

/* The order of the files is not always CUDA's.  The names are only shown. */
static void read_machine(void)
{
    glob_t found;
    int n = 0;
    if (!mx_api_open())
        return;
    bool has_files = glob("/proc/driver/nvidia/gpus/*/information", 0, NULL, &found) == 0;
    if (mx_api_is_stand_in())
        mx_api.cuDeviceGetCount(&n);
    else
        n = visible(has_files ? (int)found.gl_pathc : 1);
    machine.count = n < MAX_MODELS ? n : MAX_MODELS;
    for (int i = 0; i < machine.count; i++) {
        snprintf(machine.models[i], sizeof machine.models[i], "NVIDIA GPU");
        if (has_files && i < (int)found.gl_pathc)
            read_model(found.gl_pathv[i], machine.models[i]);
    }
    globfree(&found);
}

static int device_count(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_machine);
    return machine.count;
}

static const char *device_name(int device)
{
    return device >= 0 && device < device_count() ? machine.models[device] : NULL;
}

static int cuda_choose(int number)
{
    if (number == gpu.number)
        return MX_OK;
    if (gpu.is_chosen)
        return mx_fail(MX_ERROR_VALUE, "this process uses the GPU with number %d, to its end",
                       gpu.number);
    gpu.number = number;
    return MX_OK;
}

static int chosen(void) { return gpu.number; }

/* -- Calls of the driver ----------------------------------------------------------- */

/* Makes the context current for calls of the driver until `leave`.  Other users of CUDA in this
 * thread have theirs again then. */
static int enter(void)
{
    if (!is_usable())
        return fail_as_lost();
    int error = mx_api.cuCtxPushCurrent_v2(gpu.context);
    gpu.is_busy = true; /* what follows may put work on the stream */
    return error ? cuda_fail(error) : MX_OK;
}

static int leave(int error)
{
    mx_cuda_context context;
    mx_api.cuCtxPopCurrent_v2(&context);
    return error ? cuda_fail(error) : MX_OK;
}

/* -- Kernels ----------------------------------------------------------------------- */

struct kernel {
    mx_cuda_module module;
    mx_cuda_function function;
    size_t max_threads;
    size_t n_args; /* 64-bit numbers that it takes after the buffers */
};

static int cuda_load(struct kernel *kernel, const char *code, const char *function)
{
    int error, most = 0, status = enter();
    if (status != MX_OK)
        return status;
    if ((error = mx_api.cuModuleLoadData(&kernel->module, code)) != 0) {
        mx_api.cuCtxPopCurrent_v2(&(mx_cuda_context){0});
        return mx_fail(MX_ERROR_VALUE, "the kernel cannot be loaded: %s", text_of(error));
    }
    error = mx_api.cuModuleGetFunction(&kernel->function, kernel->module, function);
    if (error) {
        mx_api.cuModuleUnload(kernel->module);
        mx_api.cuCtxPopCurrent_v2(&(mx_cuda_context){0});
        return mx_fail(MX_ERROR_VALUE, "there is no kernel '%s' in the text", function);
    }
    error = mx_api.cuFuncGetAttribute(&most, MX_CUDA_MAX_THREADS, kernel->function);
    kernel->max_threads = (size_t)most;
    return leave(error);
}

static void clear_cubins(void) { mx_code_cache_clear(mx_settings.device_cache); }

/* Finds the code on disk, or compiles it. */
static int compile_or_read(char **code, const char *source)
{
    size_t size;
    int numbers[] = {gpu.arch, mx_api_driver_version(), mx_api_nvrtc_version()};
    struct mx_code_key key =
        mx_code_cache_add((struct mx_code_key){{0}}, numbers, sizeof numbers);
    key = mx_code_cache_add(key, mx_compile_language, strlen(mx_compile_language));
    key = mx_code_cache_add(key, source, strlen(source));
    *code = mx_code_cache_read(mx_settings.device_cache, key, &size);
    if (*code)
        return MX_OK;
    int status = mx_compile_source(code, &size, source, gpu.arch);
    if (status != MX_OK)
        return status;
    counts.compiled++;
    mx_code_cache_write(mx_settings.device_cache, key, *code, size);
    return MX_OK;
}

static int compile_function(void **out, const char *source, const char *function)
{
    struct mx_text text = {0};
    char *code = NULL;
    if (!is_usable())
        return mx_fail(MX_ERROR_DEVICE, "there is no CUDA device");
    struct kernel *kernel = mx_alloc(sizeof *kernel);
    if (!kernel)
        return mx_fail(MX_ERROR_MEMORY, "unable to hold a kernel");
    kernel->n_args = (size_t)mx_translate_source(&text, source);
    int status = text.is_broken ? mx_fail(MX_ERROR_MEMORY, "unable to translate a kernel")
                                : compile_or_read(&code, text.characters);
    if (status == MX_OK)
        status = cuda_load(kernel, code, function);
    mx_text_free(&text);
    mx_free(code);
    if (status == MX_OK)
        *out = kernel;
    else
        mx_free(kernel);
    return status;
}

/* Unloading waits for kernels of the module that run. */
static void cuda_release(void *compiled)
{
    struct kernel *kernel = compiled;
    if (is_usable() && mx_api.cuCtxPushCurrent_v2(gpu.context) == 0) {
        mx_api.cuStreamSynchronize(gpu.stream);
        mx_api.cuModuleUnload(kernel->module);
        mx_api.cuCtxPopCurrent_v2(&(mx_cuda_context){0});
    }
    mx_free(kernel);
}

static size_t max_threads(const void *compiled)
{
    return ((const struct kernel *)compiled)->max_threads;
}

/* mx_places of language.cuh. */
struct places {
    uint32_t threads[3], groups[3];
};

static struct places places_of(const struct mx_dispatch *dispatch)
{
    struct places places;
    for (int i = 0; i < 3; i++) {
        size_t n = dispatch->grid[i], size = dispatch->threads[i];
        bool counts_threads = dispatch->kind == MX_THREADS;
        places.groups[i] = (uint32_t)(counts_threads ? (n + size - 1) / size : n);
        places.threads[i] = (uint32_t)(counts_threads ? n : n * size);
    }
    return places;
}

static int cuda_launch(const struct mx_dispatch *dispatch, void **parameters,
                       const struct places *places)
{
    const struct kernel *kernel = dispatch->compiled;
    const uint32_t *groups = places->groups;
    uint32_t grid[3] = {groups[0], groups[1], groups[2]};
    if (groups[1] > MAX_BLOCKS || groups[2] > MAX_BLOCKS) {
        uint64_t all = (uint64_t)groups[0] * groups[1] * groups[2];
        if (all > INT32_MAX)
            return mx_fail(MX_ERROR_DEVICE, "a kernel has too many threadgroups");
        grid[0] = (uint32_t)all;
        grid[1] = grid[2] = 1;
    }
    int status = enter();
    if (status != MX_OK)
        return status;
    const size_t *threads = dispatch->threads;
    int error = mx_api.cuLaunchKernel(kernel->function, grid[0], grid[1], grid[2],
                                      (unsigned)threads[0], (unsigned)threads[1],
                                      (unsigned)threads[2], 0, gpu.stream, parameters, NULL);
    bool is_refused = error == MX_CUDA_OUT_OF_MEMORY || error == MX_CUDA_OUT_OF_RESOURCES;
    counts.dispatches += !error;
    status = leave(is_refused ? 0 : error);
    return is_refused ? mx_fail(MX_ERROR_MEMORY, "a kernel was refused: %s", text_of(error))
                      : status;
}

static int cuda_encode(const struct mx_dispatch *dispatch)
{
    const struct kernel *kernel = dispatch->compiled;
    int64_t numbers[MX_TRANSLATE_ARGS];
    mx_cuda_address addresses[MX_MAX_BUFFERS];
    void *parameters[MX_MAX_BUFFERS + 2];
    size_t used = kernel->n_args * sizeof *numbers;
    struct places places = places_of(dispatch);
    if (dispatch->args_size > used && kernel->n_args == MX_TRANSLATE_ARGS)
        return mx_fail(MX_ERROR_DEVICE, "a kernel has more than %d numbers", MX_TRANSLATE_ARGS);
    memcpy(numbers, dispatch->args, dispatch->args_size < used ? dispatch->args_size : used);
    for (int b = 0; b < dispatch->n_buffers; b++) {
        addresses[b] = (uintptr_t)dispatch->memories[b] + dispatch->offsets[b];
        parameters[b] = &addresses[b];
    }
    parameters[dispatch->n_buffers] = numbers;
    parameters[dispatch->n_buffers + 1] = &places;
    return cuda_launch(dispatch, parameters, &places);
}

/* -- Memory ------------------------------------------------------------------------ */

static int allocate(void **out, size_t nbytes)
{
    mx_cuda_address address = 0;
    int status = enter();
    if (status != MX_OK)
        return status;
    int error = mx_api.cuMemAllocAsync(&address, nbytes ? nbytes : 1, gpu.stream);
    if (error == MX_CUDA_OUT_OF_MEMORY) { /* memory of other sizes may be cached */
        mx_api.cuStreamSynchronize(gpu.stream);
        mx_api.cuMemPoolTrimTo(gpu.pool, 0);
        error = mx_api.cuMemAllocAsync(&address, nbytes ? nbytes : 1, gpu.stream);
    }
    if (error != MX_CUDA_OUT_OF_MEMORY) {
        *out = (void *)(uintptr_t)address;
        return leave(error);
    }
    leave(0);
    return mx_fail(MX_ERROR_MEMORY, "Unable to allocate %zu bytes on the CUDA device", nbytes);
}

static void release_memory(void *memory)
{
    if (!gpu.is_open || is_lost || mx_api.cuCtxPushCurrent_v2(gpu.context) != 0)
        return;
    mx_api.cuMemFreeAsync((uintptr_t)memory, gpu.stream);
    mx_api.cuCtxPopCurrent_v2(&(mx_cuda_context){0});
}

/* Copies go through memory that the driver has locked, because it copies other memory slowly.
 * Small ones have their own part of `in` until the stream has been waited for.  Large ones go
 * through two halves: threads of the host fill one while the other is copied. */
static struct {
    char *in, *out;
    size_t used; /* of `in` */
    char *halves[2];
    mx_cuda_event ended[2];  /* the copies from or to each half */
    int next;                /* the half that has been free for longer */
    volatile uint32_t *word; /* that kernels can write */
    bool has_small, has_halves, was_opened;
} staging;

static void (*copy_on_host)(void *to, const void *from, size_t nbytes);

static void set_copy(void (*copy)(void *to, const void *from, size_t nbytes))
{
    copy_on_host = copy;
}

/* Without locked memory the driver copies from and to the caller's. */
static void open_staging(void)
{
    void *memory = NULL;
    if (staging.was_opened)
        return;
    staging.was_opened = true;
    staging.has_small =
        mx_api.cuMemAllocHost_v2(&memory, STAGING_BYTES + MAX_STAGED + sizeof(uint32_t)) == 0;
    if (staging.has_small) {
        staging.in = memory;
        staging.out = staging.in + STAGING_BYTES;
        staging.word = (volatile uint32_t *)(staging.out + MAX_STAGED);
    }
    if (mx_api.cuMemAllocHost_v2(&memory, 2 * HALF_BYTES) != 0)
        return;
    staging.halves[0] = memory;
    staging.halves[1] = staging.halves[0] + HALF_BYTES;
    staging.has_halves = mx_api.cuEventCreate(&staging.ended[0], MX_CUDA_WITHOUT_TIMES) == 0 &&
                         mx_api.cuEventCreate(&staging.ended[1], MX_CUDA_WITHOUT_TIMES) == 0;
}

/* Returns the driver's error, or 0. */
static int synchronize(void)
{
    int error = gpu.is_busy ? mx_api.cuStreamSynchronize(gpu.stream) : 0;
    if (!error) {
        gpu.is_busy = false;
        staging.used = 0;
    }
    return error;
}

static volatile uint32_t *shared_word(void)
{
    if (enter() != MX_OK)
        return NULL;
    open_staging();
    leave(0);
    return staging.has_small ? staging.word : NULL;
}

static int copy_small_in(mx_cuda_address to, const void *host, size_t nbytes)
{
    int error = staging.used + nbytes > STAGING_BYTES ? synchronize() : 0;
    if (error)
        return error;
    char *at = staging.in + staging.used;
    memcpy(at, host, nbytes);
    staging.used += nbytes;
    return mx_api.cuMemcpyHtoDAsync_v2(to, at, nbytes, gpu.stream);
}

/* Returns the bytes of each part of a large copy but the last. */
static size_t part_of(size_t nbytes)
{
    size_t quarter = nbytes / 4;
    return quarter < LEAST_PART ? LEAST_PART : quarter > HALF_BYTES ? HALF_BYTES : quarter;
}

static int take_half(void)
{
    int half = staging.next;
    staging.next = !half;
    return half;
}

static int copy_large_in(mx_cuda_address to, const char *host, size_t nbytes)
{
    size_t part = part_of(nbytes);
    int error = 0;
    for (size_t at = 0; at < nbytes && !error; at += part) {
        size_t n = nbytes - at < part ? nbytes - at : part;
        int half = take_half();
        error = mx_api.cuEventSynchronize(staging.ended[half]);
        if (error)
            break;
        copy_on_host(staging.halves[half], host + at, n);
        error = mx_api.cuMemcpyHtoDAsync_v2(to + at, staging.halves[half], n, gpu.stream);
        error = error ? error : mx_api.cuEventRecord(staging.ended[half], gpu.stream);
    }
    return error;
}

/* The copy of a part from the device begins before the one before it is copied on the host. */
static int copy_large_out(char *host, mx_cuda_address from, size_t nbytes)
{
    size_t part = part_of(nbytes), n_before = 0;
    int error = 0;
    for (size_t at = 0; at < nbytes + part && !error; at += part) {
        size_t n = at >= nbytes ? 0 : nbytes - at < part ? nbytes - at : part;
        int half = take_half();
        if (n) {
            error = mx_api.cuMemcpyDtoHAsync_v2(staging.halves[half], from + at, n, gpu.stream);
            error = error ? error : mx_api.cuEventRecord(staging.ended[half], gpu.stream);
        }
        if (n_before && !error)
            error = mx_api.cuEventSynchronize(staging.ended[!half]);
        if (n_before && !error)
            copy_on_host(host + at - part, staging.halves[!half], n_before);
        n_before = n;
    }
    return error;
}

static bool is_large(size_t nbytes)
{
    return nbytes > MAX_STAGED && staging.has_halves && copy_on_host;
}

static int copy_in(void *memory, const void *host, size_t nbytes)
{
    mx_cuda_address to = (uintptr_t)memory;
    int status = enter();
    if (status != MX_OK)
        return status;
    open_staging();
    return leave(is_large(nbytes) ? copy_large_in(to, host, nbytes)
                 : nbytes <= MAX_STAGED && staging.has_small
                     ? copy_small_in(to, host, nbytes)
                     : mx_api.cuMemcpyHtoDAsync_v2(to, host, nbytes, gpu.stream));
}

static int copy_out(void *host, const void *memory, size_t nbytes)
{
    mx_cuda_address from = (uintptr_t)memory;
    int status = enter();
    if (status != MX_OK)
        return status;
    open_staging();
    if (is_large(nbytes))
        return leave(copy_large_out(host, from, nbytes));
    bool is_staged = nbytes <= MAX_STAGED && staging.has_small;
    int error =
        mx_api.cuMemcpyDtoHAsync_v2(is_staged ? staging.out : host, from, nbytes, gpu.stream);
    error = error ? error : synchronize();
    if (!error && is_staged)
        memcpy(host, staging.out, nbytes);
    return leave(error);
}

/* After a copy from the device nothing runs, and the driver is not asked. */
static int wait_for_all(void)
{
    if (!gpu.is_open || is_lost)
        return MX_OK; /* no kernel runs */
    counts.command_buffers++;
    if (!gpu.is_busy)
        return MX_OK;
    int status = enter();
    return status != MX_OK ? status : leave(synchronize());
}

static int cuda_clear(void *memory, size_t nbytes)
{
    int status = enter();
    return status != MX_OK
               ? status
               : leave(mx_api.cuMemsetD8Async((uintptr_t)memory, 0, nbytes, gpu.stream));
}

/* Lets other GPUs of the process use the memory, so that other packages can copy it there.  A
 * pool is accessible from its own GPU alone, unlike memory of cuMemAlloc. */
static void share_pool(void)
{
    int n = 0;
    mx_api.cuDeviceGetCount(&n);
    for (int i = 0; i < n; i++) {
        mx_cuda_device peer;
        int can = 0;
        if (i == gpu.number || mx_api.cuDeviceGet(&peer, i) ||
            mx_api.cuDeviceCanAccessPeer(&can, peer, gpu.device) || !can)
            continue;
        struct mx_cuda_access access = {MX_CUDA_LOCATION_IS_DEVICE, i,
                                        MX_CUDA_READS_AND_WRITES};
        mx_api.cuMemPoolSetAccess(gpu.pool, &access, 1);
    }
    gpu.is_shared = true;
}

/* All code of the process that uses CUDA's runtime has the same context. */
static int cuda_join(void)
{
    int status = enter();
    if (status != MX_OK)
        return status;
    if (!gpu.is_shared)
        share_pool();
    int error = mx_api.cuCtxSynchronize();
    return leave(error ? error : synchronize());
}

static size_t memory_left(void)
{
    size_t left = 0, total;
    uint64_t reserved = 0, used = 0;
    if (enter() != MX_OK)
        return 0;
    mx_api.cuMemGetInfo_v2(&left, &total);
    mx_api.cuMemPoolGetAttribute(gpu.pool, MX_CUDA_RESERVED, &reserved);
    mx_api.cuMemPoolGetAttribute(gpu.pool, MX_CUDA_USED, &used);
    leave(0);
    return left + (size_t)(reserved - used);
}

/* -- Times ------------------------------------------------------------------------- */

static struct {
    mx_cuda_event events[MX_MAX_MARKS];
    int n; /* that were created */
} marks;

static int cuda_mark(int number)
{
    int error = 0, status = enter();
    if (status != MX_OK)
        return status;
    for (; marks.n <= number && !error; marks.n += !error)
        error = mx_api.cuEventCreate(&marks.events[marks.n], MX_CUDA_WITH_TIMES);
    return leave(error ? error : mx_api.cuEventRecord(marks.events[number], gpu.stream));
}

static int64_t elapsed(int from, int to)
{
    float milliseconds;
    if (enter() != MX_OK)
        return -1;
    int error = mx_api.cuEventElapsedTime(&milliseconds, marks.events[from], marks.events[to]);
    leave(0);
    return error ? -1 : (int64_t)(1e6 * (double)milliseconds);
}

/* -- Libraries --------------------------------------------------------------------- */

static int run_call(enum mx_library_call call, const void *numbers, int dtype,
                    void *const *memories)
{
    switch (call) {
    case MX_MULTIPLY:
        return mx_blas_multiply(numbers, dtype, memories, gpu.stream);
    case MX_TRANSFORM:
        return mx_fft_run(numbers, memories, gpu.stream);
    default:
        return mx_solver_run(numbers, memories, gpu.stream);
    }
}

/* A failure of a library does not lose the device, unlike those of the driver. */
static int cuda_call(enum mx_library_call call, const void *numbers, int dtype,
                     void *const *memories)
{
    int status = enter();
    if (status != MX_OK)
        return status;
    status = run_call(call, numbers, dtype, memories);
    counts.dispatches += status == MX_OK;
    leave(0);
    return status;
}

static int cuda_prepare(enum mx_library_call call, const void *numbers, size_t *scratch)
{
    int status = enter();
    if (status != MX_OK)
        return status;
    status = call == MX_TRANSFORM ? mx_fft_prepare(numbers, scratch, gpu.stream)
                                  : mx_solver_prepare(numbers, scratch, gpu.stream);
    leave(0);
    return status;
}

const struct mx_driver mx_cuda_driver = {
    .count = device_count,
    .gpu_name = device_name,
    .choose = cuda_choose,
    .chosen = chosen,
    .problem = problem,
    .set_copy = set_copy,
    .is_usable = is_usable,
    .compile = compile_function,
    .release = cuda_release,
    .clear_cache = clear_cubins,
    .max_threads = max_threads,
    .encode = cuda_encode,
    .wait = wait_for_all,
    .allocate = allocate,
    .release_memory = release_memory,
    .copy_in = copy_in,
    .copy_out = copy_out,
    .clear = cuda_clear,
    .shared_word = shared_word,
    .join = cuda_join,
    .memory_left = memory_left,
    .mark = cuda_mark,
    .elapsed = elapsed,
    .call = cuda_call,
    .prepare = cuda_prepare,
    .libraries = mx_api_libraries,
    .counts = &counts,
};
