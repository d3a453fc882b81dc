/* device.m -- the one device. */
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#import "objects.h"

#define EXPORT __attribute__((visibility("default")))

enum {
    REGISTRY_ID = 0x6d786e70,
    DEFAULT_COMMAND_BUFFERS = 64, /* of a queue, Apple's */
};

@interface HostBuffer (Making)
+ (instancetype)newWithLength:(NSUInteger)length options:(MTLResourceOptions)options;
+ (instancetype)newWithPages:(void *)pointer
                      length:(NSUInteger)length
                     options:(MTLResourceOptions)options
                 deallocator:(void (^)(void *, NSUInteger))deallocator;
+ (NSUInteger)allocated;
@end

@interface HostLibrary (Making)
+ (instancetype)newWithSource:(NSString *)source
                      options:(MTLCompileOptions *)options
                        error:(NSError **)error;
@end

@interface HostPipeline (Making)
+ (instancetype)newWithFunction:(HostFunction *)function error:(NSError **)error;
@end

@implementation HostObject

- (void)dealloc
{
    [_label release];
    [super dealloc];
}

- (id<MTLDevice>)device
{
    return [HostDevice shared];
}

- (NSString *)label
{
    return _label;
}

- (void)setLabel:(NSString *)label
{
    [_label autorelease];
    _label = [label copy];
}

@end

@implementation HostDevice

+ (HostDevice *)shared
{
    static HostDevice *device;
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    if (!device) {
        engine_take_signals();
        queue_watch_forks();
        device = [HostDevice new];
    }
    pthread_mutex_unlock(&lock);
    return device;
}

- (NSString *)name
{
    return @"Metal emulator (CPU)";
}

- (uint64_t)registryID
{
    return REGISTRY_ID;
}

- (BOOL)isLowPower
{
    return NO;
}

- (BOOL)isHeadless
{
    return YES;
}

- (BOOL)isRemovable
{
    return NO;
}

- (BOOL)hasUnifiedMemory
{
    return !host_settings()->discrete;
}

- (MTLSize)maxThreadsPerThreadgroup
{
    return MTLSizeMake(ENGINE_THREADS, ENGINE_THREADS, ENGINE_THREADS);
}

- (NSUInteger)maxThreadgroupMemoryLength
{
    return ENGINE_THREADGROUP_MEMORY;
}

- (NSUInteger)maxBufferLength
{
    return host_settings()->max_buffer ? (NSUInteger)host_settings()->max_buffer
                                       : (NSUInteger)1 << 32;
}

- (uint64_t)recommendedMaxWorkingSetSize
{
    return (uint64_t)sysconf(_SC_PHYS_PAGES) * memory_page_size() / 4 * 3;
}

- (NSUInteger)currentAllocatedSize
{
    return [HostBuffer allocated];
}

- (BOOL)supportsFamily:(MTLGPUFamily)gpuFamily
{
    return (gpuFamily >= MTLGPUFamilyApple1 && gpuFamily <= MTLGPUFamilyApple7) ||
           (gpuFamily >= MTLGPUFamilyCommon1 && gpuFamily <= MTLGPUFamilyCommon3) ||
           gpuFamily == MTLGPUFamilyMac2 || gpuFamily == MTLGPUFamilyMetal3;
}

- (id<MTLCommandQueue>)newCommandQueue
{
    return [self newCommandQueueWithMaxCommandBufferCount:DEFAULT_COMMAND_BUFFERS];
}

- (id<MTLCommandQueue>)newCommandQueueWithMaxCommandBufferCount:
    (NSUInteger)maxCommandBufferCount
{
    if (maxCommandBufferCount == 0)
        host_report("newCommandQueueWithMaxCommandBufferCount: 0");
    return host_settings()->device_lost ? nil : [HostQueue newWithLimit:maxCommandBufferCount];
}

- (BOOL)refusesLength:(NSUInteger)length
{
    if (length == 0 || length > [self maxBufferLength]) {
        host_report("newBuffer: length %lu is not in 1..%lu", length, [self maxBufferLength]);
        return YES;
    }
    return host_settings()->device_lost ||
           count_fault(&host_settings()->fail_buffer_allocations);
}

- (id<MTLBuffer>)newBufferWithLength:(NSUInteger)length options:(MTLResourceOptions)options
{
    return [self refusesLength:length] ? nil
                                       : [HostBuffer newWithLength:length options:options];
}

- (id<MTLBuffer>)newBufferWithBytes:(const void *)pointer
                             length:(NSUInteger)length
                            options:(MTLResourceOptions)options
{
    id<MTLBuffer> buffer = [self newBufferWithLength:length options:options];
    if (buffer)
        memcpy(((HostBuffer *)buffer)->_memory.start, pointer, length);
    return buffer;
}

- (id<MTLBuffer>)newBufferWithBytesNoCopy:(void *)pointer
                                   length:(NSUInteger)length
                                  options:(MTLResourceOptions)options
                              deallocator:(void (^)(void *, NSUInteger))deallocator
{
    size_t page = memory_page_size();
    if ((uintptr_t)pointer % page || length % page) {
        host_report("newBufferWithBytesNoCopy: pointer %p and length %lu have to be multiples "
                    "of the page size, %zu",
                    pointer, length, page);
        return nil;
    }
    if ([self refusesLength:length])
        return nil;
    return [HostBuffer newWithPages:pointer
                             length:length
                            options:options
                        deallocator:deallocator];
}

- (id<MTLLibrary>)newLibraryWithSource:(NSString *)source
                               options:(MTLCompileOptions *)options
                                 error:(NSError **)error
{
    return [HostLibrary newWithSource:source options:options error:error];
}

- (id<MTLComputePipelineState>)newComputePipelineStateWithFunction:
                                   (id<MTLFunction>)computeFunction
                                                             error:(NSError **)error
{
    if (!computeFunction) {
        host_report("newComputePipelineStateWithFunction: nil");
        return nil;
    }
    return [HostPipeline newWithFunction:(HostFunction *)computeFunction error:error];
}

@end

/* After fork the child has no GPU. */
static BOOL has_device(void) { return !host_settings()->no_device && !queue_is_forked(); }

EXPORT id<MTLDevice> MTLCreateSystemDefaultDevice(void)
{
    return has_device() ? [[HostDevice shared] retain] : nil;
}

EXPORT NSArray<id<MTLDevice>> *MTLCopyAllDevices(void)
{
    NSMutableArray *devices = [NSMutableArray new];
    if (has_device())
        [devices addObject:[HostDevice shared]];
    return devices;
}
