/* driver.m -- C functions for tests, each of which makes one call of Apple's Metal API under ARC.
 *
 * The returned objects are retained.  driver_release releases them.
 */
#import <Metal/Metal.h>

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#pragma GCC visibility push(default)

#define OWNED(object)   ((__bridge_retained void *)(object))
#define AS(type, given) ((__bridge type)(given))

static id<MTLDevice> device(void)
{
    static id<MTLDevice> device;
    if (!device)
        device = MTLCreateSystemDefaultDevice();
    return device;
}

static _Thread_local char *last_error;

static void keep_error(NSError *error)
{
    free(last_error);
    last_error = error ? strdup(error.localizedDescription.UTF8String) : NULL;
}

const char *driver_last_error(void) { return last_error ? last_error : ""; }

void driver_release(void *object)
{
    @autoreleasepool {
        (void)(__bridge_transfer id)object;
    }
}

/* -- Device ------------------------------------------------------------------------ */

int driver_device_count(void)
{
    @autoreleasepool {
        return (int)MTLCopyAllDevices().count;
    }
}

int driver_has_default_device(void)
{
    @autoreleasepool {
        return MTLCreateSystemDefaultDevice() != nil;
    }
}

size_t driver_allocated(void) { return device().currentAllocatedSize; }

int driver_supports(long family) { return [device() supportsFamily:(MTLGPUFamily)family]; }

void *driver_queue(void) { return OWNED([device() newCommandQueue]); }

/* -- Buffers ----------------------------------------------------------------------- */

void *driver_buffer(size_t length, unsigned long options)
{
    return OWNED([device() newBufferWithLength:length options:options]);
}

static _Atomic int deallocations;

void *driver_buffer_over(void *pointer, size_t length)
{
    return OWNED([device() newBufferWithBytesNoCopy:pointer
                                             length:length
                                            options:MTLResourceStorageModeShared
                                        deallocator:^(void *given, NSUInteger size) {
                                            deallocations += given == pointer && size == length;
                                        }]);
}

int driver_deallocations(void) { return deallocations; }

void *driver_contents(void *buffer)
{
    @autoreleasepool { /* ARC keeps the buffer for as long as the pointer may be used */
        return [AS(id<MTLBuffer>, buffer) contents];
    }
}

size_t driver_length(void *buffer) { return AS(id<MTLBuffer>, buffer).length; }

/* -- Libraries --------------------------------------------------------------------- */

/* `functions` is an MTLMathFloatingPointFunctions; -1: fastMathEnabled sets both.  `version` is an
 * MTLLanguageVersion; 0: the default. */
void *driver_library(const char *source, int fast_math, int functions, unsigned long version)
{
    @autoreleasepool {
        MTLCompileOptions *options = [MTLCompileOptions new];
        if (functions < 0) {
            options.fastMathEnabled = fast_math != 0;
        } else {
            options.mathMode = fast_math ? MTLMathModeFast : MTLMathModeSafe;
            options.mathFloatingPointFunctions = (MTLMathFloatingPointFunctions)functions;
        }
        if (version)
            options.languageVersion = (MTLLanguageVersion)version;
        NSError *error = nil;
        id<MTLLibrary> library =
            [device() newLibraryWithSource:[NSString stringWithUTF8String:source]
                                   options:options
                                     error:&error];
        keep_error(error);
        return OWNED(library);
    }
}

int driver_function_count(void *library)
{
    @autoreleasepool {
        int count = 0;
        for (NSString *name in AS(id<MTLLibrary>, library).functionNames)
            count += name.length > 0;
        return count;
    }
}

size_t driver_pipeline_threads(void *pipeline)
{
    return AS(id<MTLComputePipelineState>, pipeline).maxTotalThreadsPerThreadgroup;
}

size_t driver_pipeline_memory(void *pipeline)
{
    return AS(id<MTLComputePipelineState>, pipeline).staticThreadgroupMemoryLength;
}

void *driver_pipeline(void *library, const char *name)
{
    @autoreleasepool {
        id<MTLFunction> function =
            [AS(id<MTLLibrary>, library) newFunctionWithName:@(name)];
        NSError *error = nil;
        if (!function)
            return NULL;
        id<MTLComputePipelineState> pipeline =
            [device() newComputePipelineStateWithFunction:function error:&error];
        keep_error(error);
        return OWNED(pipeline);
    }
}

/* -- Command buffers --------------------------------------------------------------- */

void *driver_command_buffer(void *queue, int unretained)
{
    @autoreleasepool {
        id<MTLCommandQueue> from = AS(id<MTLCommandQueue>, queue);
        return OWNED(unretained ? [from commandBufferWithUnretainedReferences]
                                : [from commandBuffer]);
    }
}

void driver_enqueue(void *buffer) { [AS(id<MTLCommandBuffer>, buffer) enqueue]; }

void driver_commit(void *buffer) { [AS(id<MTLCommandBuffer>, buffer) commit]; }

void driver_wait(void *buffer) { [AS(id<MTLCommandBuffer>, buffer) waitUntilCompleted]; }

void driver_wait_scheduled(void *buffer)
{
    [AS(id<MTLCommandBuffer>, buffer) waitUntilScheduled];
}

int driver_status(void *buffer) { return (int)AS(id<MTLCommandBuffer>, buffer).status; }

/* Returns the code of the error, or 0 without one.  driver_last_error has its text. */
int driver_error(void *buffer)
{
    @autoreleasepool {
        NSError *error = AS(id<MTLCommandBuffer>, buffer).error;
        keep_error(error);
        return error ? (int)error.code : 0;
    }
}

double driver_gpu_time(void *buffer)
{
    id<MTLCommandBuffer> own = AS(id<MTLCommandBuffer>, buffer);
    return own.GPUEndTime - own.GPUStartTime;
}

/* -- Handlers ---------------------------------------------------------------------- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int handled, handled_elsewhere, signals;

int driver_handled(void) { return handled; }

int driver_handled_elsewhere(void) { return handled_elsewhere; }

/* Counts, and whether the thread is not this one. */
void driver_count_handler(void *buffer)
{
    pthread_t caller = pthread_self();
    [AS(id<MTLCommandBuffer>, buffer) addCompletedHandler:^(id<MTLCommandBuffer> done) {
        pthread_mutex_lock(&lock);
        handled += done.status >= MTLCommandBufferStatusCompleted;
        handled_elsewhere += !pthread_equal(caller, pthread_self());
        pthread_mutex_unlock(&lock);
    }];
}

void driver_waiting_handler(void *buffer, void *other)
{
    id<MTLCommandBuffer> awaited = AS(id<MTLCommandBuffer>, other);
    [AS(id<MTLCommandBuffer>, buffer) addCompletedHandler:^(id<MTLCommandBuffer> done) {
        [(awaited ? awaited : done) waitUntilCompleted];
    }];
}

void driver_signalling_handler(void *buffer)
{
    [AS(id<MTLCommandBuffer>, buffer) addCompletedHandler:^(id<MTLCommandBuffer> done) {
        (void)done;
        pthread_mutex_lock(&lock);
        signals++;
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&lock);
    }];
}

void driver_signalled_handler(void *buffer)
{
    [AS(id<MTLCommandBuffer>, buffer) addCompletedHandler:^(id<MTLCommandBuffer> done) {
        (void)done;
        pthread_mutex_lock(&lock);
        while (signals == 0)
            pthread_cond_wait(&changed, &lock);
        signals--;
        pthread_mutex_unlock(&lock);
    }];
}

/* Releases the object in a handler, as who keeps what is in flight does. */
void driver_releasing_handler(void *buffer, void *object)
{
    [AS(id<MTLCommandBuffer>, buffer) addCompletedHandler:^(id<MTLCommandBuffer> done) {
        (void)done;
        driver_release(object);
    }];
}

/* -- Encoding ---------------------------------------------------------------------- */

void *driver_encoder(void *buffer, int is_concurrent)
{
    @autoreleasepool {
        id<MTLCommandBuffer> own = AS(id<MTLCommandBuffer>, buffer);
        return OWNED(
            is_concurrent
                ? [own computeCommandEncoderWithDispatchType:MTLDispatchTypeConcurrent]
                : [own computeCommandEncoder]);
    }
}

#define ENCODER AS(id<MTLComputeCommandEncoder>, encoder)

void driver_set_pipeline(void *encoder, void *pipeline)
{
    [ENCODER setComputePipelineState:AS(id<MTLComputePipelineState>, pipeline)];
}

void driver_set_buffer(void *encoder, void *buffer, size_t offset, unsigned index)
{
    [ENCODER setBuffer:AS(id<MTLBuffer>, buffer) offset:offset atIndex:index];
}

void driver_set_offset(void *encoder, size_t offset, unsigned index)
{
    [ENCODER setBufferOffset:offset atIndex:index];
}

void driver_set_bytes(void *encoder, const void *bytes, size_t length, unsigned index)
{
    [ENCODER setBytes:bytes length:length atIndex:index];
}

void driver_set_threadgroup_memory(void *encoder, size_t length, unsigned index)
{
    [ENCODER setThreadgroupMemoryLength:length atIndex:index];
}

static MTLSize size_of(const size_t *sides)
{
    return MTLSizeMake(sides[0], sides[1], sides[2]);
}

void driver_dispatch_threads(void *encoder, const size_t *grid, const size_t *group)
{
    [ENCODER dispatchThreads:size_of(grid) threadsPerThreadgroup:size_of(group)];
}

void driver_dispatch_threadgroups(void *encoder, const size_t *groups, const size_t *group)
{
    [ENCODER dispatchThreadgroups:size_of(groups) threadsPerThreadgroup:size_of(group)];
}

void driver_barrier(void *encoder) { [ENCODER memoryBarrierWithScope:MTLBarrierScopeBuffers]; }

void driver_barrier_of(void *encoder, void *buffer)
{
    id<MTLResource> resources[] = {AS(id<MTLBuffer>, buffer)};
    [ENCODER memoryBarrierWithResources:resources count:1];
}

void driver_end(void *encoder) { [ENCODER endEncoding]; }

void driver_blit(void *buffer, void *from, void *to, size_t size, int value)
{
    @autoreleasepool {
        id<MTLBlitCommandEncoder> encoder =
            [AS(id<MTLCommandBuffer>, buffer) blitCommandEncoder];
        if (from)
            [encoder copyFromBuffer:AS(id<MTLBuffer>, from)
                       sourceOffset:0
                           toBuffer:AS(id<MTLBuffer>, to)
                  destinationOffset:0
                               size:size];
        else
            [encoder fillBuffer:AS(id<MTLBuffer>, to)
                          range:NSMakeRange(0, size)
                          value:(uint8_t)value];
        [encoder endEncoding];
    }
}

/* A whole command buffer with one dispatch, for what is to be quick.  Gives the error. */
int driver_run(void *queue, void *pipeline, void **buffers, int count, const void *bytes,
               size_t length, size_t threads, size_t group)
{
    @autoreleasepool {
        id<MTLCommandBuffer> own =
            [AS(id<MTLCommandQueue>, queue) commandBufferWithUnretainedReferences];
        id<MTLComputeCommandEncoder> encoder = [own computeCommandEncoder];
        [encoder setComputePipelineState:AS(id<MTLComputePipelineState>, pipeline)];
        for (int i = 0; i < count; i++)
            [encoder setBuffer:AS(id<MTLBuffer>, buffers[i]) offset:0 atIndex:(NSUInteger)i];
        if (length)
            [encoder setBytes:bytes length:length atIndex:(NSUInteger)count];
        [encoder dispatchThreads:MTLSizeMake(threads, 1, 1)
            threadsPerThreadgroup:MTLSizeMake(group, 1, 1)];
        [encoder endEncoding];
        [own commit];
        [own waitUntilCompleted];
        keep_error(own.error);
        return own.error ? (int)own.error.code : 0;
    }
}

/* -- The language ------------------------------------------------------------------ */

@interface Counter : NSObject
@property(nonatomic, weak) Counter *other;
@property(copy) NSString *name;
@property(nonatomic, copy) int (^block)(void);
@end

static _Atomic int destroyed;

@implementation Counter
- (void)dealloc
{
    destroyed++;
}
@end

@interface Counter (Doubling)
- (int)twice:(int)value;
@end

@implementation Counter (Doubling)
- (int)twice:(int)value
{
    return 2 * value;
}
@end

/* Returns the line of a condition that does not hold from the enclosing function. */
#define HOLDS(condition)                                                                       \
    if (!(condition))                                                                          \
    return __LINE__

static int test_objects(void)
{
    __weak Counter *weak = nil;
    int before = destroyed;
    @autoreleasepool {
        Counter *one = [Counter new], *two = [Counter new];
        one.other = two;
        two.other = one;
        one.name = @"one";
        __block int calls = 0;
        two.block = ^{
            return ++calls;
        };
        weak = one;
        HOLDS(weak == one && two.other == one);
        HOLDS(two.block() == 1 && two.block() == 2 && calls == 2);
        HOLDS([one twice:21] == 42);
        HOLDS([one.name isEqualToString:@"one"]);
        HOLDS([one respondsToSelector:@selector(twice:)]);
        HOLDS([one isKindOfClass:[NSObject class]] && ![one isKindOfClass:[NSString class]]);
    }
    HOLDS(weak == nil);
    HOLDS(destroyed == before + 2);
    return 0;
}

static int test_strings(void)
{
    NSString *text = [NSString stringWithUTF8String:"a\xc3\xa9\xf0\x9f\x8d\x8e"];
    HOLDS(text.length == 4 && text.hash == [[text copy] hash]);
    NSString *part = [[NSString alloc] initWithBytes:"abcdef"
                                              length:3
                                            encoding:NSUTF8StringEncoding];
    HOLDS([part isEqualToString:@"abc"] && [part isEqual:@"abc"]);
    NSString *made = [NSString stringWithFormat:@"%d-%s", 7, "x"];
    HOLDS([made isEqualToString:@"7-x"]);
    return 0;
}

static int test_collections(void)
{
    NSMutableDictionary<NSString *, NSNumber *> *numbers = [NSMutableDictionary new];
    for (unsigned long i = 0; i < 100; i++)
        numbers[[NSString stringWithFormat:@"%lu", i]] =
            [NSNumber numberWithUnsignedLong:i];
    for (unsigned long i = 0; i < 100; i += 2)
        [numbers removeObjectForKey:[NSString stringWithFormat:@"%lu", i]];
    HOLDS(numbers.count == 50 && numbers.allKeys.count == 50);
    HOLDS(numbers[@"51"].unsignedLongValue == 51 && numbers[@"50"] == nil);
    NSMutableArray<NSNumber *> *list = [NSMutableArray array];
    for (NSString *key in numbers.allKeys)
        [list addObject:numbers[key]];
    unsigned long sum = 0;
    for (NSNumber *number in list)
        sum += number.unsignedLongValue;
    HOLDS(sum == 2500);
    HOLDS([list containsObject:[NSNumber numberWithUnsignedLong:7]]);
    NSNumber *last = list[49];
    [list removeLastObject];
    HOLDS(list.count == 49 && last != nil);
    [list removeAllObjects];
    HOLDS(list.count == 0);
    return 0;
}

static int test_errors(void)
{
    NSDictionary *information = @{NSLocalizedDescriptionKey : @"text"};
    NSError *error = [NSError errorWithDomain:@"domain" code:7 userInfo:information];
    HOLDS(error.code == 7 && [error.domain isEqualToString:@"domain"]);
    HOLDS([error.localizedDescription isEqualToString:@"text"]);
    HOLDS(error.userInfo[NSLocalizedDescriptionKey] != nil);
    return 0;
}

static Counter *shared;
static __weak Counter *shared_weakly;

static void *retain_and_release(void *argument)
{
    for (int i = 0; i < 20000; i++)
        @autoreleasepool {
            Counter *own = shared, *loaded = shared_weakly;
            Counter *other = [Counter new];
            other.other = own;
            if (loaded != own || other.other != own)
                return "a weak reference is lost";
        }
    return argument;
}

static int test_threads(void)
{
    pthread_t threads[4];
    int before = destroyed;
    shared = [Counter new];
    shared_weakly = shared;
    for (int i = 0; i < 4; i++)
        HOLDS(pthread_create(&threads[i], NULL, retain_and_release, NULL) == 0);
    for (int i = 0; i < 4; i++) {
        void *failure;
        pthread_join(threads[i], &failure);
        HOLDS(failure == NULL);
    }
    shared = nil;
    HOLDS(shared_weakly == nil);
    HOLDS(destroyed == before + 4 * 20000 + 1);
    return 0;
}

int driver_test_language(void)
{
    int line;
    @autoreleasepool {
        line = test_objects();
        line = line ? line : test_strings();
        line = line ? line : test_collections();
        line = line ? line : test_errors();
    }
    return line ? line : test_threads();
}

/* -- What objects say of themselves ------------------------------------------------ */

static int test_device(void)
{
    id<MTLDevice> own = device();
    HOLDS(own.name.length > 0 && own.registryID != 0 && own.hasUnifiedMemory);
    HOLDS(own.maxBufferLength >= 1 << 30 && own.recommendedMaxWorkingSetSize > 1 << 20);
    HOLDS(own.maxThreadgroupMemoryLength == 32768);
    HOLDS(own.maxThreadsPerThreadgroup.width == 1024);
    HOLDS([own supportsFamily:MTLGPUFamilyApple7] && [own supportsFamily:MTLGPUFamilyMetal3]);
    HOLDS(![own supportsFamily:MTLGPUFamilyApple9]);
    return 0;
}

static int test_buffer(void)
{
    MTLResourceOptions options =
        MTLResourceStorageModeShared | MTLResourceHazardTrackingModeUntracked;
    id<MTLBuffer> buffer = [device() newBufferWithBytes:"abc" length:3 options:options];
    HOLDS(buffer.length == 3 && memcmp([buffer contents], "abc", 3) == 0);
    HOLDS(buffer.resourceOptions == options && buffer.storageMode == MTLStorageModeShared);
    HOLDS(buffer.hazardTrackingMode == MTLHazardTrackingModeUntracked);
    HOLDS(buffer.allocatedSize >= 3 && buffer.device == device());
    buffer.label = @"label";
    HOLDS([buffer.label isEqualToString:@"label"]);
    return 0;
}

static int test_options(void)
{
    MTLCompileOptions *options = [MTLCompileOptions new];
    HOLDS(options.fastMathEnabled && options.mathMode == MTLMathModeFast);
    HOLDS(options.mathFloatingPointFunctions == MTLMathFloatingPointFunctionsFast);
    options.mathMode = MTLMathModeSafe;
    HOLDS(!options.fastMathEnabled);
    HOLDS(options.mathFloatingPointFunctions == MTLMathFloatingPointFunctionsFast);
    options.mathMode = MTLMathModeFast;
    options.fastMathEnabled = NO;
    HOLDS(options.mathMode == MTLMathModeSafe);
    HOLDS(options.mathFloatingPointFunctions == MTLMathFloatingPointFunctionsPrecise);
    options.languageVersion = MTLLanguageVersion3_0;
    MTLCompileOptions *copy = [options copy];
    HOLDS(copy.languageVersion == MTLLanguageVersion3_0 && !copy.fastMathEnabled);
    return 0;
}

static int test_pipeline(id<MTLLibrary> library)
{
    NSError *error = nil;
    id<MTLFunction> function = [library newFunctionWithName:library.functionNames[0]];
    id<MTLComputePipelineState> pipeline =
        [device() newComputePipelineStateWithFunction:function error:&error];
    HOLDS([function.name isEqualToString:library.functionNames[0]] && !error);
    HOLDS(pipeline.maxTotalThreadsPerThreadgroup == 1024);
    HOLDS(pipeline.threadExecutionWidth == 32 && pipeline.device == device());
    return 0;
}

static int test_queue(void)
{
    id<MTLCommandQueue> queue = [device() newCommandQueueWithMaxCommandBufferCount:2];
    id<MTLCommandBuffer> retaining = [queue commandBuffer];
    HOLDS(retaining.retainedReferences && retaining.commandQueue == queue);
    HOLDS(![queue commandBufferWithUnretainedReferences].retainedReferences);
    HOLDS(retaining.status == MTLCommandBufferStatusNotEnqueued && !retaining.error);
    id<MTLComputeCommandEncoder> encoder = [retaining computeCommandEncoder];
    HOLDS(encoder.dispatchType == MTLDispatchTypeSerial);
    encoder.label = retaining.label = @"label";
    [encoder pushDebugGroup:@"group"];
    [encoder popDebugGroup];
    [encoder endEncoding];
    __block int scheduled = 0;
    [retaining addScheduledHandler:^(id<MTLCommandBuffer> own) {
        scheduled += own.status < MTLCommandBufferStatusCompleted;
    }];
    [retaining commit];
    [retaining waitUntilCompleted];
    HOLDS(scheduled == 1 && retaining.status == MTLCommandBufferStatusCompleted);
    return 0;
}

int driver_test_properties(void *library)
{
    @autoreleasepool {
        int line = test_device();
        line = line ? line : test_buffer();
        line = line ? line : test_options();
        line = line ? line : test_pipeline(AS(id<MTLLibrary>, library));
        return line ? line : test_queue();
    }
}

/* -- Misuse that ends the process -------------------------------------------------- */

void driver_message_the_dead(void)
{
    void *buffer = driver_buffer(64, 0);
    driver_release(buffer);
    driver_length(buffer);
}
