/* standin.c -- NVIDIA's driver and NVRTC for the tests: kernels run on the processor.
 *
 * With libraries.c and solver.c, which have cuBLAS, cuFFT and cuSOLVER, it has the functions
 * that csrc/cuda/api.h declares.  Its memory is not where its addresses are, so that the
 * processor cannot use it, and each copy must be within one allocation. Everything runs at the
 * call, in order, except that copies from locked memory of the processor run before the next
 * call that is not such a copy.  The tests count calls, let them fail, limit the memory, and
 * lose the device, by the functions cuda_standin_...
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "standin.h"

#include "engine/engine.h"
#include "engine/memory.h"

extern char **environ;

/* CUresult */
enum {
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    INVALID_IMAGE = 200,
    INVALID_CONTEXT = 201,
    INVALID_HANDLE = 400,
    NOT_FOUND = 500,
    ILLEGAL_ADDRESS = 700,
    LAUNCH_FAILED = 719,
};

/* -- What tests set ---------------------------------------------------------------- */

enum { MAX_NAMES = 96 };

static struct {
    pthread_mutex_t lock;
    struct {
        const char *name;
        long calls, fails_after; /* fails_after: calls until it fails; -1: it does not */
        long failures;           /* calls that fail then, one after the other */
        int error;
    } functions[MAX_NAMES];
    int n_functions;
    int lost; /* the error that all calls return, or 0 */
    long limit, used, largest_use;
    long driver_version;
    int64_t busy; /* nanoseconds that kernels have run */
    char report[1024];
} state = {.lock = PTHREAD_MUTEX_INITIALIZER, .limit = LONG_MAX, .driver_version = 13000};

static int function_number(const char *name)
{
    for (int i = 0; i < state.n_functions; i++)
        if (strcmp(state.functions[i].name, name) == 0)
            return i;
    if (state.n_functions == MAX_NAMES)
        abort();
    state.functions[state.n_functions].name = strdup(name);
    state.functions[state.n_functions].fails_after = -1;
    return state.n_functions++;
}

/* Counts a call, and returns the error that it must return. */
int standin_enter(const char *name)
{
    pthread_mutex_lock(&state.lock);
    int i = function_number(name), error = state.lost;
    state.functions[i].calls++;
    if (!error && state.functions[i].fails_after > 0) {
        state.functions[i].fails_after--;
    } else if (!error && state.functions[i].fails_after == 0) {
        error = state.functions[i].error;
        state.functions[i].fails_after = --state.functions[i].failures > 0 ? 0 : -1;
    }
    pthread_mutex_unlock(&state.lock);
    return error;
}

/* The compiler does not use the device, which may be lost. */
#define ENTER_COMPILER                        \
    do {                                      \
        int error_ = standin_enter(__func__); \
        if (error_ && error_ != state.lost)   \
            return error_;                    \
    } while (0)

EXPORT long cuda_standin_count(const char *name)
{
    pthread_mutex_lock(&state.lock);
    long calls = state.functions[function_number(name)].calls;
    pthread_mutex_unlock(&state.lock);
    return calls;
}

/* Lets some calls of a function fail, after `after` calls that do not. */
EXPORT void cuda_standin_refuse(const char *name, long after, long failures, int error)
{
    pthread_mutex_lock(&state.lock);
    int i = function_number(name);
    state.functions[i].fails_after = after;
    state.functions[i].failures = failures;
    state.functions[i].error = error;
    pthread_mutex_unlock(&state.lock);
}

EXPORT void cuda_standin_fail(const char *name, long after, int error)
{
    cuda_standin_refuse(name, after, 1, error);
}

EXPORT void cuda_standin_lose(int error) { state.lost = error; }

/* The bytes that all allocations may have. */
EXPORT void cuda_standin_limit(long limit) { state.limit = limit < 0 ? LONG_MAX : limit; }

EXPORT long cuda_standin_used(void) { return state.used; }

EXPORT const char *cuda_standin_report(void) { return state.report; }

static void lose(int error, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(state.report, sizeof state.report, format, list);
    va_end(list);
    if (getenv("CUDA_STANDIN_VERBOSE"))
        fprintf(stderr, "CUDA stand-in: %s\n", state.report);
    state.lost = error;
}

/* -- Memory ------------------------------------------------------------------------ */

/* What is added to an address of the device to find its memory. */
#define DISTANCE ((uintptr_t)0x600000000000)

struct allocation {
    struct allocation *next;
    struct memory memory;
    size_t size;
};

static struct allocation *allocations;

/* Returns the memory of an address and sets its range, or NULL if it is not allocated. */
static uint8_t *find(uint64_t address, size_t size, struct engine_range *range)
{
    uint8_t *at = (uint8_t *)(uintptr_t)(address + DISTANCE), *found = NULL;
    pthread_mutex_lock(&state.lock);
    for (struct allocation *each = allocations; each && !found; each = each->next) {
        size_t offset = (size_t)(at - each->memory.start);
        if (offset > each->size || size > each->size - offset ||
            (offset == each->size && each->size))
            continue;
        found = at;
        if (range)
            *range = (struct engine_range){each->memory.start, each->size};
    }
    pthread_mutex_unlock(&state.lock);
    return found;
}

/* Copies from memory of cuMemAllocHost that did not run yet. */
static struct {
    pthread_mutex_t lock;
    struct {
        const uint8_t *start;
        size_t size;
    } locked[8];
    int n_locked;
    struct {
        uint8_t *to;
        const uint8_t *from;
        size_t size;
    } copies[256];
    int n;
} pending = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void run_pending(void)
{
    pthread_mutex_lock(&pending.lock);
    for (int i = 0; i < pending.n; i++)
        memcpy(pending.copies[i].to, pending.copies[i].from, pending.copies[i].size);
    pending.n = 0;
    pthread_mutex_unlock(&pending.lock);
}

/* Returns whether a copy was postponed. */
static bool postpone(uint8_t *to, const uint8_t *from, size_t size)
{
    pthread_mutex_lock(&pending.lock);
    bool is_postponed = false;
    for (int i = 0; i < pending.n_locked && pending.n < 256; i++)
        is_postponed |= from >= pending.locked[i].start &&
                        from + size <= pending.locked[i].start + pending.locked[i].size;
    if (is_postponed) {
        pending.copies[pending.n].to = to;
        pending.copies[pending.n].from = from;
        pending.copies[pending.n++].size = size;
    }
    pthread_mutex_unlock(&pending.lock);
    return is_postponed;
}

void *standin_memory(const void *address, size_t size)
{
    run_pending();
    return find((uintptr_t)address, size, NULL);
}

EXPORT int cuMemAllocAsync(uint64_t *address, size_t size, void *stream)
{
    (void)stream;
    ENTER;
    pthread_mutex_lock(&state.lock);
    bool fits = (long)size <= state.limit - state.used;
    state.used += fits ? (long)size : 0;
    pthread_mutex_unlock(&state.lock);
    struct allocation *new = fits ? calloc(1, sizeof *new) : NULL;
    if (!new)
        return OUT_OF_MEMORY;
    new->size = size;
    new->memory = memory_allocate(size);
    if (!new->memory.map)
        return OUT_OF_MEMORY;
    memset(new->memory.start, 0xfb, size); /* NaN, and far from 0 as an integer */
    pthread_mutex_lock(&state.lock);
    new->next = allocations;
    allocations = new;
    pthread_mutex_unlock(&state.lock);
    *address = (uintptr_t)new->memory.start - DISTANCE;
    return SUCCESS;
}

EXPORT int cuMemFreeAsync(uint64_t address, void *stream)
{
    (void)stream;
    ENTER;
    run_pending();
    pthread_mutex_lock(&state.lock);
    struct allocation **link = &allocations, *found;
    while (*link && (uintptr_t)(*link)->memory.start != address + DISTANCE)
        link = &(*link)->next;
    found = *link;
    if (found) {
        *link = found->next;
        state.used -= (long)found->size;
    }
    pthread_mutex_unlock(&state.lock);
    if (!found)
        return INVALID_VALUE;
    memory_retire(&found->memory);
    free(found);
    return SUCCESS;
}

EXPORT int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t size, void *stream)
{
    (void)stream;
    ENTER;
    uint8_t *at = find(to, size, NULL);
    if (!at)
        return INVALID_VALUE;
    if (postpone(at, from, size))
        return SUCCESS;
    run_pending();
    memcpy(at, from, size);
    return SUCCESS;
}

EXPORT int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t size, void *stream)
{
    (void)stream;
    ENTER;
    run_pending();
    uint8_t *at = find(from, size, NULL);
    if (!at)
        return INVALID_VALUE;
    memcpy(to, at, size);
    return SUCCESS;
}

EXPORT int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t size, void *stream)
{
    (void)stream;
    ENTER;
    run_pending();
    uint8_t *target = find(to, size, NULL), *source = find(from, size, NULL);
    if (!target || !source)
        return INVALID_VALUE;
    memmove(target, source, size);
    return SUCCESS;
}

EXPORT int cuMemsetD8Async(uint64_t to, unsigned char value, size_t size, void *stream)
{
    (void)stream;
    ENTER;
    run_pending();
    uint8_t *at = find(to, size, NULL);
    if (!at)
        return INVALID_VALUE;
    memset(at, value, size);
    return SUCCESS;
}

EXPORT int cuMemAllocHost_v2(void **memory, size_t size)
{
    ENTER;
    *memory = malloc(size);
    if (*memory && pending.n_locked < 8) {
        pending.locked[pending.n_locked].start = *memory;
        pending.locked[pending.n_locked++].size = size;
    }
    return *memory ? SUCCESS : OUT_OF_MEMORY;
}

EXPORT int cuMemGetInfo_v2(size_t *left, size_t *total)
{
    ENTER;
    long limit = state.limit < LONG_MAX ? state.limit : 8l << 30;
    *left = (size_t)(limit - state.used);
    *total = (size_t)limit;
    return SUCCESS;
}

EXPORT int cuDeviceGetDefaultMemPool(void **pool, int device)
{
    (void)device;
    ENTER;
    *pool = &state;
    return SUCCESS;
}

EXPORT int cuMemPoolSetAttribute(void *pool, int attribute, void *value)
{
    (void)pool, (void)attribute, (void)value;
    ENTER;
    return SUCCESS;
}

EXPORT int cuMemPoolGetAttribute(void *pool, int attribute, void *value)
{
    (void)pool, (void)attribute;
    ENTER;
    memset(value, 0, sizeof(uint64_t));
    return SUCCESS;
}

static long shared_with; /* a bit for each GPU that may use the pool */

EXPORT long cuda_standin_shared_with(void) { return shared_with; }

EXPORT int cuMemPoolSetAccess(void *pool, const int (*list)[3], size_t n)
{
    (void)pool;
    ENTER;
    for (size_t i = 0; i < n; i++)
        if (list[i][0] == 1 && list[i][2] == 3)
            shared_with |= 1L << list[i][1];
    return SUCCESS;
}

EXPORT int cuDeviceCanAccessPeer(int *can, int device, int peer)
{
    ENTER;
    *can = device != peer && device != 2; /* the third GPU is on another bus */
    return SUCCESS;
}

EXPORT int cuMemPoolTrimTo(void *pool, size_t kept)
{
    (void)pool, (void)kept;
    ENTER;
    return SUCCESS;
}

/* -- The device -------------------------------------------------------------------- */

EXPORT int cuDriverGetVersion(int *version)
{
    const char *chosen = getenv("CUDA_STANDIN_DRIVER");
    *version = chosen ? atoi(chosen) : (int)state.driver_version;
    return SUCCESS;
}

EXPORT int cuInit(unsigned flags)
{
    (void)flags;
    ENTER;
    return SUCCESS;
}

EXPORT int cuGetErrorString(int error, const char **text)
{
    *text = error == OUT_OF_MEMORY     ? "out of memory"
            : error == ILLEGAL_ADDRESS ? "an illegal memory access was encountered"
            : error == LAUNCH_FAILED   ? "unspecified launch failure"
            : error == INVALID_VALUE   ? "invalid argument"
                                       : "an error of the stand-in";
    return SUCCESS;
}

EXPORT int cuDeviceGetCount(int *count)
{
    ENTER;
    const char *cards = getenv("CUDA_STANDIN_CARDS");
    *count = cards ? atoi(cards) : 1;
    return SUCCESS;
}

static int card = -1; /* the GPU whose context was made */

EXPORT int cuda_standin_card(void) { return card; }

EXPORT int cuDeviceGet(int *device, int number)
{
    ENTER;
    int count;
    *device = number;
    cuDeviceGetCount(&count);
    return number >= 0 && number < count ? SUCCESS : INVALID_VALUE;
}

EXPORT int cuDeviceGetName(char *name, int size, int device)
{
    (void)device;
    ENTER;
    snprintf(name, (size_t)size, "CUDA stand-in (CPU)");
    return SUCCESS;
}

EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    (void)device;
    ENTER;
    *value = attribute == 75 ? 9 : attribute == 76 ? 0 : 1; /* compute capability 9.0 */
    return SUCCESS;
}

static _Thread_local int depth; /* of the stack of contexts */

EXPORT long cuda_standin_contexts(void) { return depth; }

EXPORT int cuDevicePrimaryCtxRetain(void **context, int device)
{
    ENTER;
    card = device;
    *context = &state;
    return SUCCESS;
}

EXPORT int cuCtxPushCurrent_v2(void *context)
{
    ENTER;
    if (context != &state)
        return INVALID_CONTEXT;
    depth++;
    return SUCCESS;
}

EXPORT int cuCtxPopCurrent_v2(void **context)
{
    if (depth == 0)
        return INVALID_CONTEXT;
    depth--;
    *context = &state;
    return SUCCESS;
}

EXPORT int cuStreamCreate(void **stream, unsigned flags)
{
    (void)flags;
    ENTER;
    *stream = &state;
    return depth ? SUCCESS : INVALID_CONTEXT;
}

EXPORT int cuStreamSynchronize(void *stream)
{
    (void)stream;
    ENTER;
    run_pending();
    return depth ? SUCCESS : INVALID_CONTEXT;
}

EXPORT int cuCtxSynchronize(void)
{
    ENTER;
    run_pending();
    return depth ? SUCCESS : INVALID_CONTEXT;
}

struct event {
    bool has_times, is_recorded;
    int64_t at; /* nanoseconds of the device */
};

EXPORT int cuEventCreate(struct event **event, unsigned flags)
{
    ENTER;
    *event = calloc(1, sizeof **event);
    (*event)->has_times = !(flags & 2);
    return depth ? SUCCESS : INVALID_CONTEXT;
}

EXPORT int cuEventRecord(struct event *event, void *stream)
{
    (void)stream;
    ENTER;
    event->is_recorded = true;
    event->at = state.busy;
    return SUCCESS;
}

EXPORT int cuEventSynchronize(struct event *event)
{
    (void)event;
    ENTER;
    run_pending();
    return SUCCESS;
}

EXPORT int cuEventElapsedTime(float *milliseconds, const struct event *from,
                              const struct event *to)
{
    ENTER;
    if (!from->has_times || !to->has_times || !from->is_recorded || !to->is_recorded)
        return INVALID_HANDLE;
    *milliseconds = (float)(1e-6 * (double)(to->at - from->at));
    return SUCCESS;
}

/* The clock of the device, which stands still between kernels. */
EXPORT long cuda_standin_busy(void) { return (long)state.busy; }

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return 1000000000 * (int64_t)time.tv_sec + time.tv_nsec;
}

/* -- Kernels ----------------------------------------------------------------------- */

static const char magic[8] = "standin";

struct image { /* precedes the shared library */
    char magic[8];
    uint64_t size;
};

struct module {
    void *handle;
    const struct msl_kernel *kernels;
    uint32_t n_kernels;
    struct engine_range range;
};

struct function {
    const struct module *module;
    const struct msl_kernel *kernel;
};

/* Each library needs another path, because dlopen returns the library that it opened from one.
 */
static void *open_library(const char *bytes, size_t size)
{
    char path[] = "/tmp/cuda_standin.XXXXXX";
    int file = mkstemp(path);
    if (file < 0)
        return NULL;
    bool is_written = write(file, bytes, size) == (ssize_t)size;
    close(file);
    void *handle = is_written ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    unlink(path);
    return handle;
}

/* A library stays loaded after its module is unloaded. */
EXPORT int cuModuleLoadData(void **out, const void *data)
{
    struct image image;
    ENTER;
    memcpy(&image, data, sizeof image);
    if (memcmp(image.magic, magic, sizeof magic) != 0)
        return INVALID_IMAGE;
    struct module *module = calloc(1, sizeof *module);
    module->handle = open_library((const char *)data + sizeof image, image.size);
    void (*load)(const struct msl_engine *) =
        module->handle ? dlsym(module->handle, "metal_emulator_load") : NULL;
    if (!load) {
        fprintf(stderr, "CUDA stand-in: %s\n", dlerror());
        free(module);
        return INVALID_IMAGE;
    }
    load(&engine_for_kernels);
    module->kernels = dlsym(module->handle, "metal_emulator_kernels");
    module->n_kernels = *(const uint32_t *)dlsym(module->handle, "metal_emulator_kernel_count");
    module->range = engine_image_of(module->kernels);
    *out = module;
    return SUCCESS;
}

EXPORT int cuModuleUnload(void *module)
{
    ENTER;
    free(module);
    return SUCCESS;
}

EXPORT int cuModuleGetFunction(void **out, void *handle, const char *name)
{
    const struct module *module = handle;
    ENTER;
    for (uint32_t i = 0; i < module->n_kernels; i++) {
        if (strcmp(module->kernels[i].name, name) != 0)
            continue;
        struct function *function = calloc(1, sizeof *function);
        *function = (struct function){module, &module->kernels[i]};
        *out = function;
        return SUCCESS;
    }
    return NOT_FOUND;
}

EXPORT int cuFuncGetAttribute(int *value, int attribute, void *function)
{
    (void)attribute, (void)function;
    ENTER;
    *value = ENGINE_THREADS;
    return SUCCESS;
}

/* Kernels can use memory of cuMemAllocHost, at the same address. */
static void bind_locked(struct engine_dispatch *dispatch)
{
    pthread_mutex_lock(&pending.lock);
    for (int i = 0, b = (int)dispatch->kernel->argument_count;
         i < pending.n_locked && b < ENGINE_BINDINGS; i++, b++)
        dispatch->buffers[b] =
            (struct engine_range){pending.locked[i].start, pending.locked[i].size};
    pthread_mutex_unlock(&pending.lock);
}

/* Binds the parameters: addresses of the device become those of their memory. */
static bool bind(struct engine_dispatch *dispatch, void **parameters, void **pointers)
{
    for (uint32_t i = 0; i < dispatch->kernel->argument_count; i++) {
        const struct msl_argument *argument = &dispatch->kernel->arguments[i];
        dispatch->addresses[i] = parameters[i];
        dispatch->buffers[i] =
            (struct engine_range){(const uint8_t *)parameters[i], argument->size};
        if (argument->space != MSL_DEVICE)
            continue;
        uint64_t address;
        memcpy(&address, parameters[i], sizeof address);
        pointers[i] = find(address, 0, &dispatch->buffers[i]);
        dispatch->addresses[i] = &pointers[i];
        if (!pointers[i])
            return false;
    }
    bind_locked(dispatch);
    return true;
}

EXPORT int cuLaunchKernel(void *handle, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                          unsigned block_x, unsigned block_y, unsigned block_z,
                          unsigned shared_bytes, void *stream, void **parameters, void **extra)
{
    (void)shared_bytes, (void)stream, (void)extra;
    const struct function *function = handle;
    struct engine_dispatch dispatch = {
        .kernel = function->kernel,
        .image = function->module->range,
        .threads_per_grid = {grid_x * block_x, grid_y * block_y, grid_z * block_z},
        .threads_per_threadgroup = {block_x, block_y, block_z},
    };
    void *pointers[ENGINE_BINDINGS];
    ENTER;
    run_pending();
    if (!depth || grid_y > 65535 || grid_z > 65535 || !grid_x || !grid_y || !grid_z ||
        block_x * block_y * block_z > ENGINE_THREADS || block_z > 64)
        return depth ? INVALID_VALUE : INVALID_CONTEXT;
    if (!bind(&dispatch, parameters, pointers)) {
        lose(ILLEGAL_ADDRESS, "kernel %s: an argument is not an allocated address",
             function->kernel->name);
        return SUCCESS; /* the error comes later, as on a GPU */
    }
    int64_t begin = now();
    engine_run(&dispatch);
    state.busy += now() - begin;
    if (dispatch.failure)
        lose(dispatch.failure == ENGINE_PAGE_FAULT ? ILLEGAL_ADDRESS : LAUNCH_FAILED, "%s",
             dispatch.message);
    return SUCCESS;
}

/* -- NVRTC ------------------------------------------------------------------------- */

struct program {
    char *source, *header, *header_name, *log, *code;
    size_t size;
};

EXPORT int nvrtcVersion(int *major, int *minor)
{
    *major = 13;
    *minor = 0;
    return SUCCESS;
}

EXPORT int nvrtcGetNumSupportedArchs(int *count)
{
    *count = 2;
    return SUCCESS;
}

EXPORT int nvrtcGetSupportedArchs(int *archs)
{
    archs[0] = 80;
    archs[1] = 90;
    return SUCCESS;
}

EXPORT int nvrtcCreateProgram(struct program **out, const char *source, const char *name,
                              int n_headers, const char *const *headers,
                              const char *const *names)
{
    (void)name;
    ENTER_COMPILER;
    struct program *program = *out = calloc(1, sizeof *program);
    program->source = strdup(source);
    program->header = strdup(n_headers ? headers[0] : "");
    program->header_name = strdup(n_headers ? names[0] : "none");
    program->log = strdup("");
    return SUCCESS;
}

EXPORT int nvrtcDestroyProgram(struct program **program)
{
    free((*program)->source);
    free((*program)->header);
    free((*program)->header_name);
    free((*program)->log);
    free((*program)->code);
    free(*program);
    *program = NULL;
    return SUCCESS;
}

static bool write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    bool is_written = file && fputs(text, file) >= 0;
    return file && fclose(file) == 0 && is_written;
}

static char *read_file(const char *path, size_t *size)
{
    struct stat status;
    FILE *file = fopen(path, "rb");
    if (!file || fstat(fileno(file), &status) != 0)
        return NULL;
    char *bytes = calloc(1, (size_t)status.st_size + 1);
    *size = fread(bytes, 1, (size_t)status.st_size, file);
    fclose(file);
    return bytes;
}

/* Returns the exit status of compile.py. */
static int run_compiler(const char *source, const char *headers, const char *out,
                        const char *log)
{
    const char *python = getenv("CUDA_STANDIN_PYTHON");
    const char *arguments[] = {python ? python : CUDA_STANDIN_PYTHON,
                               CUDA_STANDIN_FOLDER "/compile.py",
                               source,
                               headers,
                               out,
                               NULL};
    posix_spawn_file_actions_t actions;
    pid_t child;
    int status = -1;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, log, O_WRONLY | O_CREAT, 0600);
    int error = posix_spawnp(&child, arguments[0], &actions, NULL, (char **)arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error)
        return -1;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

EXPORT int nvrtcCompileProgram(struct program *program, int n_options,
                               const char *const *options)
{
    enum { COMPILATION = 6 };
    char folder[] = "/tmp/cuda_standin.XXXXXX", path[5][128], command[256];
    static const char *const names[] = {"headers", "source.cu", "out.so", "log"};
    (void)n_options, (void)options;
    ENTER_COMPILER;
    if (!mkdtemp(folder))
        return COMPILATION;
    for (int i = 0; i < 4; i++)
        snprintf(path[i], sizeof path[i], "%s/%s", folder, names[i]);
    mkdir(path[0], 0700);
    snprintf(path[4], sizeof path[4], "%s/%.60s", path[0], program->header_name);
    size_t size = 0;
    bool is_ready =
        write_file(path[4], program->header) && write_file(path[1], program->source);
    int status = is_ready ? run_compiler(path[1], path[0], path[2], path[3]) : -1;
    char *library = status == 0 ? read_file(path[2], &size) : NULL;
    if (library) {
        struct image image = {.size = size};
        memcpy(image.magic, magic, sizeof magic);
        program->size = sizeof image + size;
        program->code = malloc(program->size);
        memcpy(program->code, &image, sizeof image);
        memcpy(program->code + sizeof image, library, size);
    } else {
        char *log = read_file(path[3], &size);
        free(program->log);
        program->log = log ? log : strdup("the compiler of the stand-in did not start");
    }
    free(library);
    const char *kept = getenv("CUDA_STANDIN_KEEP");
    if (kept) {
        snprintf(command, sizeof command, "cp %s %.150s/%.12s.cu", path[1], kept, folder + 18);
        if (system(command) != 0)
            perror(kept);
    }
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command) == 0 && program->code ? SUCCESS : COMPILATION;
}

EXPORT int nvrtcGetCUBINSize(struct program *program, size_t *size)
{
    *size = program->size;
    return SUCCESS;
}

EXPORT int nvrtcGetCUBIN(struct program *program, char *code)
{
    memcpy(code, program->code, program->size);
    return SUCCESS;
}

EXPORT int nvrtcGetPTXSize(struct program *program, size_t *size)
{
    *size = program->size;
    return SUCCESS;
}

EXPORT int nvrtcGetPTX(struct program *program, char *code)
{
    memcpy(code, program->code, program->size);
    return SUCCESS;
}

EXPORT int nvrtcGetProgramLogSize(struct program *program, size_t *size)
{
    *size = strlen(program->log) + 1;
    return SUCCESS;
}

EXPORT int nvrtcGetProgramLog(struct program *program, char *log)
{
    strcpy(log, program->log);
    return SUCCESS;
}
