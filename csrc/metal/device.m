/* device.m -- the driver of Metal: calls Apple's framework, or the emulator of the tests.
 *
 * Command buffers do not retain what they use.  Each has a list with one reference to every
 * buffer and pipeline that it uses; its completion handler releases them.  No other code
 * decides how long objects live while the GPU uses them.
 *
 * Encoders are concurrent.  A barrier comes before a dispatch that reads memory which an
 * earlier dispatch since the last barrier wrote, or that writes memory which one used.
 */
#import <Foundation/Foundation.h>
#import <Metal/Metal.h>

#include "metal/metal.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "memory/pool.h"

/* A command buffer is committed when it has this many dispatches, uses this much memory, or has
 * as much work as one dispatch may have: the system limits the time of a command buffer. */
#define MAX_DISPATCHES 40
#define MAX_BYTES      ((size_t)40 << 20)
#define MAX_SHARE      0.9
#define SIMD_WIDTH     32 /* threads of a SIMD-group, which kernels rely on */
#define MAX_IN_FLIGHT  4  /* command buffers that have not completed */

/* -- Devices ----------------------------------------------------------------------- */

static id<MTLDevice> device; /* that kernels run on, or nil */
static char name[128];       /* the GPU's */
static char problem[256];    /* why this machine's GPU cannot be used */

/* Selects the first GPU that shares the processor's memory. */
static id<MTLDevice> select_device(void)
{
    NSArray<id<MTLDevice>> *devices = MTLCopyAllDevices();
    for (NSUInteger i = 0; i < [devices count]; i++)
        if ([devices objectAtIndex:i].hasUnifiedMemory)
            return [devices objectAtIndex:i];
    return MTLCreateSystemDefaultDevice(); /* some processes see no list */
}

static void find_device(void)
{
    @autoreleasepool {
        id<MTLDevice> found = select_device();
        if (!found)
            return;
        snprintf(name, sizeof name, "%s", [[found name] UTF8String]);
        if (found.hasUnifiedMemory)
            device = found;
        else
            snprintf(problem, sizeof problem,
                     "%s does not share the processor's memory, as GPUs of Apple silicon do",
                     name);
    }
}

static bool has_device(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_device);
    return device != nil;
}

static int device_count(void) { return has_device() ? 1 : 0; }

static const char *device_name(int number)
{
    return number >= 0 && number < device_count() ? name : NULL;
}

static const char *device_problem(void)
{
    has_device();
    return problem;
}

static id<MTLCommandQueue> queue;
static bool is_lost; /* a forked process cannot use the device of its parent */

static void metal_lose(void) { is_lost = true; }

static void open_queue(void)
{
    @autoreleasepool {
        queue = has_device() ? [device newCommandQueue] : nil;
        pthread_atfork(NULL, NULL, metal_lose);
    }
}

static bool is_usable(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_queue);
    return queue != nil && !is_lost;
}

/* -- Kernels ----------------------------------------------------------------------- */

static struct mx_driver_counts counts;

static int metal_fail(int status, NSError *error, const char *what)
{
    const char *reason = error ? [[error localizedDescription] UTF8String] : "";
    return mx_fail(status, "%s%s%s", what, *reason ? ": " : "", reason);
}

/* bfloat needs Metal 3.1, which macOS 14 has.  The default version is that of the SDK that the
 * Python executable was built with, and often older. */
static void set_version(MTLCompileOptions *options)
{
    NSOperatingSystemVersion macos_14 = {14, 0, 0};
    /* MTLLanguageVersion3_1, which SDKs before that of macOS 14 lack. */
    if ([[NSProcessInfo processInfo] isOperatingSystemAtLeastVersion:macos_14])
        options.languageVersion = (MTLLanguageVersion)((3 << 16) + 1);
}

/* Arithmetic follows IEEE 754, and functions are the precise ones.  This property stands for
 * the two that follow it in macOS 15: mathMode alone would leave the functions fast. */
static MTLCompileOptions *exact_options(void)
{
    MTLCompileOptions *options = [[MTLCompileOptions alloc] init];
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wdeprecated-declarations"
    options.fastMathEnabled = NO;
#pragma clang diagnostic pop
    set_version(options);
    return options;
}

static NSString *string_of(const char *text)
{
    return [NSString stringWithCString:text encoding:NSUTF8StringEncoding];
}

static int compile_function(void **out, const char *source, const char *function)
{
    @autoreleasepool {
        NSError *error = nil;
        if (!is_usable())
            return mx_fail(MX_ERROR_DEVICE, "there is no Metal device");
        id<MTLLibrary> library = [device newLibraryWithSource:string_of(source)
                                                      options:exact_options()
                                                        error:&error];
        if (!library)
            return metal_fail(MX_ERROR_VALUE, error, "the kernel does not compile");
        id<MTLFunction> found = [library newFunctionWithName:string_of(function)];
        if (!found)
            return mx_fail(MX_ERROR_VALUE, "there is no kernel '%s' in the text", function);
        id<MTLComputePipelineState> state = [device newComputePipelineStateWithFunction:found
                                                                                  error:&error];
        if (!state)
            return metal_fail(MX_ERROR_VALUE, error,
                              "Metal cannot make a pipeline of the kernel");
        if (state.threadExecutionWidth != SIMD_WIDTH)
            return mx_fail(MX_ERROR_VALUE, "SIMD-groups of this GPU have %zu threads, not %d",
                           (size_t)state.threadExecutionWidth, SIMD_WIDTH);
        counts.compiled++;
        *out = (__bridge_retained void *)state;
        return MX_OK;
    }
}

static id<MTLComputePipelineState> state_of(const void *compiled)
{
    return (__bridge id<MTLComputePipelineState>)(void *)(uintptr_t)compiled;
}

static void *retain_state(const void *compiled)
{
    return (__bridge_retained void *)state_of(compiled);
}

static void release_state(void *compiled)
{
    (void)(__bridge_transfer id<MTLComputePipelineState>)compiled;
}

static size_t max_threads(const void *compiled)
{
    return state_of(compiled).maxTotalThreadsPerThreadgroup;
}

/* -- Memory ------------------------------------------------------------------------ */

/* The Metal buffer over the pages of a block.  The GPU shares the processor's memory. */
struct memory {
    void *buffer;                 /* an id<MTLBuffer>, retained */
    uint64_t read_in, written_in; /* numbers of the last sections that used it: see `section` */
    uint64_t held_by;             /* number of the last command buffer that retained it */
};

static void free_memory(void *device_memory)
{
    struct memory *memory = device_memory;
    if (!is_lost)
        (void)(__bridge_transfer id<MTLBuffer>)memory->buffer;
    mx_free(memory);
}

static size_t max_buffer(void) { return device.maxBufferLength; }

static size_t length_of(const struct mx_block *block)
{
    return block->size - mx_alloc_page_size();
}

static struct memory *new_memory(const struct mx_block *block, char *data)
{
    struct memory *memory = mx_alloc(sizeof *memory);
    if (!memory)
        return NULL;
    id<MTLBuffer> buffer = [device newBufferWithBytesNoCopy:data
                                                     length:length_of(block)
                                                    options:MTLResourceStorageModeShared
                                                deallocator:nil];
    if (!buffer) {
        mx_free(memory);
        return NULL;
    }
    *memory = (struct memory){.buffer = (__bridge_retained void *)buffer};
    return memory;
}

static int memory_of(struct memory **out, const struct mx_buffer *buffer)
{
    struct mx_block *block = mx_pool_block(buffer->data);
    bool is_too_large = length_of(block) > max_buffer();
    if (!block->device_memory && !is_too_large)
        block->device_memory = new_memory(block, buffer->data);
    *out = block->device_memory;
    return *out ? MX_OK
                : mx_fail(is_too_large ? MX_ERROR_VALUE : MX_ERROR_MEMORY,
                          "Metal cannot use a buffer of %zu bytes", buffer->nbytes);
}

/* -- Command buffers ---------------------------------------------------------------- */

/* The references that a command buffer holds. */
struct held {
    struct mx_buffer **buffers;
    void **states;
    int n_buffers, n_states, buffer_capacity, state_capacity;
};

static id<MTLCommandBuffer> commands; /* being encoded, or nil */
static id<MTLComputeCommandEncoder> encoder;
static struct held *held;
static uint64_t number = 1;  /* of the command buffer */
static uint64_t section = 1; /* number of the dispatches between two barriers */
static int n_dispatches;
static size_t n_bytes;
static double share; /* of the work that one dispatch may have */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int in_flight;
    bool has_failed;
    bool is_queue_broken; /* one of its command buffers failed */
    char message[512];    /* of the first failure since the last wait */
} flight = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void free_held(struct held *list)
{
    for (int i = 0; i < list->n_buffers; i++)
        mx_buffer_release(list->buffers[i]);
    for (int i = 0; i < list->n_states; i++)
        release_state(list->states[i]);
    mx_free(list->buffers);
    mx_free(list->states);
    mx_free(list);
}

/* Makes room for one more pointer.  Returns false if there is no memory. */
static bool metal_reserve(void *array, int n, int *capacity)
{
    void **items;
    memcpy(&items, array, sizeof items);
    if (n < *capacity)
        return true;
    int more = *capacity ? 2 * *capacity : 64;
    items = mx_realloc(items, (size_t)more * sizeof *items);
    if (!items)
        return false;
    memcpy(array, &items, sizeof items);
    *capacity = more;
    return true;
}

/* Runs on one of Metal's threads. */
static void complete(id<MTLCommandBuffer> done, struct held *list)
{
    bool has_failed = done.status == MTLCommandBufferStatusError;
    const char *message = has_failed ? [[done.error localizedDescription] UTF8String] : "";
    free_held(list);
    pthread_mutex_lock(&flight.lock);
    if (has_failed && !flight.has_failed)
        snprintf(flight.message, sizeof flight.message, "%s", message ? message : "");
    flight.has_failed |= has_failed;
    flight.is_queue_broken |= has_failed;
    flight.in_flight--;
    pthread_cond_broadcast(&flight.changed);
    pthread_mutex_unlock(&flight.lock);
}

static void metal_wait_for(int most_in_flight)
{
    pthread_mutex_lock(&flight.lock);
    while (flight.in_flight > most_in_flight)
        pthread_cond_wait(&flight.changed, &flight.lock);
    pthread_mutex_unlock(&flight.lock);
}

/* After a kernel hung, Metal ignores what is submitted to its queue, so each failure is
 * followed by a new queue.  Nothing orders the command buffers of two queues: the old ones end
 * first. */
static void renew_queue(void)
{
    pthread_mutex_lock(&flight.lock);
    bool is_broken = flight.is_queue_broken;
    pthread_mutex_unlock(&flight.lock);
    if (!is_broken)
        return;
    metal_wait_for(0);
    id<MTLCommandQueue> renewed = [device newCommandQueue];
    if (!renewed)
        return;
    queue = renewed;
    flight.is_queue_broken = false; /* no command buffer is in flight */
}

static int begin_commands(void)
{
    renew_queue();
    held = mx_alloc(sizeof *held);
    if (!held)
        return mx_fail(MX_ERROR_MEMORY, "unable to begin a command buffer");
    *held = (struct held){0};
    commands = [queue commandBufferWithUnretainedReferences];
    encoder = [commands computeCommandEncoderWithDispatchType:MTLDispatchTypeConcurrent];
    if (!encoder) {
        commands = nil;
        mx_free(held);
        return mx_fail(MX_ERROR_DEVICE, "Metal cannot create a command buffer");
    }
    number++;
    section++;
    n_dispatches = 0;
    n_bytes = 0;
    share = 0;
    return MX_OK;
}

static void commit(void)
{
    if (!commands)
        return;
    struct held *list = held;
    [encoder endEncoding];
    [commands addCompletedHandler:^(id<MTLCommandBuffer> done) {
      complete(done, list);
    }];
    metal_wait_for(MAX_IN_FLIGHT - 1);
    pthread_mutex_lock(&flight.lock);
    flight.in_flight++;
    pthread_mutex_unlock(&flight.lock);
    [commands commit];
    counts.command_buffers++;
    encoder = nil;
    commands = nil;
    held = NULL;
}

/* Drops a command buffer without dispatches, after its first one failed. */
static void drop_commands(void)
{
    [encoder endEncoding];
    free_held(held);
    encoder = nil;
    commands = nil;
    held = NULL;
}

/* -- Encoding ---------------------------------------------------------------------- */

/* Retains what the dispatch uses, once for each command buffer. */
static int hold(const struct mx_dispatch *dispatch, struct memory **memories)
{
    for (int b = 0; b < dispatch->n_buffers; b++) {
        if (memories[b]->held_by == number)
            continue;
        if (!metal_reserve(&held->buffers, held->n_buffers, &held->buffer_capacity))
            return mx_fail(MX_ERROR_MEMORY, "unable to hold %d buffers", held->n_buffers);
        mx_buffer_retain(dispatch->buffers[b]);
        held->buffers[held->n_buffers++] = dispatch->buffers[b];
        memories[b]->held_by = number;
        n_bytes += dispatch->buffers[b]->nbytes;
    }
    for (int i = 0; i < held->n_states; i++)
        if (held->states[i] == dispatch->compiled)
            return MX_OK;
    if (!metal_reserve(&held->states, held->n_states, &held->state_capacity))
        return mx_fail(MX_ERROR_MEMORY, "unable to hold %d pipelines", held->n_states);
    held->states[held->n_states++] = retain_state(dispatch->compiled);
    return MX_OK;
}

static bool needs_barrier(const struct mx_dispatch *dispatch, struct memory **memories)
{
    for (int b = 0; b < dispatch->n_buffers; b++)
        if (memories[b]->written_in == section ||
            (dispatch->is_written[b] && memories[b]->read_in == section))
            return true;
    return false;
}

static void note_uses(const struct mx_dispatch *dispatch, struct memory **memories)
{
    for (int b = 0; b < dispatch->n_buffers; b++)
        *(dispatch->is_written[b] ? &memories[b]->written_in : &memories[b]->read_in) = section;
}

static void dispatch_threads(const struct mx_dispatch *dispatch)
{
    const size_t *grid = dispatch->grid, *threads = dispatch->threads;
    MTLSize counted = MTLSizeMake(grid[0], grid[1], grid[2]);
    MTLSize group = MTLSizeMake(threads[0], threads[1], threads[2]);
    if (dispatch->kind == MX_THREADGROUPS)
        [encoder dispatchThreadgroups:counted threadsPerThreadgroup:group];
    else
        [encoder dispatchThreads:counted threadsPerThreadgroup:group];
}

static int metal_encode(const struct mx_dispatch *dispatch)
{
    @autoreleasepool {
        struct memory *memories[MX_MAX_BUFFERS];
        int status = is_lost    ? mx_fail(MX_ERROR_DEVICE, "the Metal device is lost")
                     : commands ? MX_OK
                                : begin_commands();
        for (int b = 0; b < dispatch->n_buffers && status == MX_OK; b++)
            status = memory_of(&memories[b], dispatch->buffers[b]);
        if (status == MX_OK)
            status = hold(dispatch, memories);
        if (status != MX_OK && commands && n_dispatches == 0)
            drop_commands();
        if (status != MX_OK)
            return status;
        if (needs_barrier(dispatch, memories)) {
            [encoder memoryBarrierWithScope:MTLBarrierScopeBuffers];
            section++;
        }
        note_uses(dispatch, memories);
        [encoder setComputePipelineState:state_of(dispatch->compiled)];
        for (int b = 0; b < dispatch->n_buffers; b++)
            [encoder setBuffer:(__bridge id<MTLBuffer>)memories[b]->buffer
                        offset:dispatch->offsets[b]
                       atIndex:(NSUInteger)b];
        [encoder setBytes:dispatch->args
                   length:dispatch->args_size
                  atIndex:(NSUInteger)dispatch->n_buffers];
        dispatch_threads(dispatch);
        counts.dispatches++;
        share += dispatch->share;
        if (++n_dispatches >= MAX_DISPATCHES || n_bytes >= MAX_BYTES || share >= MAX_SHARE)
            commit();
        return MX_OK;
    }
}

static int wait_for_all(void)
{
    if (is_lost)
        return MX_OK; /* the process forked: no kernel of it runs */
    @autoreleasepool {
        char message[sizeof flight.message];
        commit();
        metal_wait_for(0);
        pthread_mutex_lock(&flight.lock);
        bool has_failed = flight.has_failed;
        flight.has_failed = false;
        memcpy(message, flight.message, sizeof message);
        pthread_mutex_unlock(&flight.lock);
        return has_failed ? mx_fail(MX_ERROR_DEVICE, "the Metal device failed: %s", message)
                          : MX_OK;
    }
}

const struct mx_driver mx_metal_driver = {
    .count = device_count,
    .gpu_name = device_name,
    .problem = device_problem,
    .is_usable = is_usable,
    .compile = compile_function,
    .release = release_state,
    .max_threads = max_threads,
    .max_buffer = max_buffer,
    .encode = metal_encode,
    .wait = wait_for_all,
    .free_memory = free_memory,
    .counts = &counts,
};
