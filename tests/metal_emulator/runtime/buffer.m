/* buffer.m -- buffers. */
#include <stdatomic.h>

#import "objects.h"

static _Atomic NSUInteger allocated;

@implementation HostBuffer

+ (instancetype)newWithLength:(NSUInteger)length options:(MTLResourceOptions)options
{
    struct memory memory = memory_allocate(length);
    if (!memory.map)
        return nil;
    HostBuffer *buffer = [self new];
    buffer->_memory = memory;
    buffer->_options = options;
    atomic_fetch_add(&allocated, length);
    return buffer;
}

+ (instancetype)newWithPages:(void *)pointer
                      length:(NSUInteger)length
                     options:(MTLResourceOptions)options
                 deallocator:(void (^)(void *, NSUInteger))deallocator
{
    HostBuffer *buffer = [self new];
    buffer->_memory = (struct memory){.start = pointer, .length = length};
    buffer->_options = options;
    buffer->_deallocator = [(id)deallocator copy];
    atomic_fetch_add(&allocated, length);
    return buffer;
}

+ (NSUInteger)allocated
{
    return allocated;
}

/* The start and length stay, for what is reported about a buffer that is dead. */
- (void)dealloc
{
    atomic_fetch_sub(&allocated, _memory.length);
    memory_retire(&_memory);
    if (_deallocator)
        _deallocator(_memory.start, _memory.length);
    [(id)_deallocator release];
    [super dealloc];
}

- (NSUInteger)length
{
    return _memory.length;
}

- (NSUInteger)allocatedSize
{
    return _memory.map ? _memory.map_length - memory_page_size() : _memory.length;
}

- (void *)contents
{
    if ([self storageMode] == MTLStorageModePrivate)
        host_report("contents of a buffer in private storage");
    return _memory.start;
}

- (MTLResourceOptions)resourceOptions
{
    return _options;
}

- (MTLCPUCacheMode)cpuCacheMode
{
    return (_options & MTLResourceCPUCacheModeMask) >> MTLResourceCPUCacheModeShift;
}

- (MTLStorageMode)storageMode
{
    return (_options & MTLResourceStorageModeMask) >> MTLResourceStorageModeShift;
}

/* What the default means for a buffer that is not from a heap. */
- (MTLHazardTrackingMode)hazardTrackingMode
{
    MTLHazardTrackingMode mode =
        (_options & MTLResourceHazardTrackingModeMask) >> MTLResourceHazardTrackingModeShift;
    return mode == MTLHazardTrackingModeDefault ? MTLHazardTrackingModeTracked : mode;
}

/* Nothing is ever purged. */
- (MTLPurgeableState)setPurgeableState:(MTLPurgeableState)state
{
    (void)state;
    return MTLPurgeableStateNonVolatile;
}

@end
