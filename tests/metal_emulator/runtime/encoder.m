/* encoder.m -- encoders, which write commands into their command buffer. */
#include <string.h>

#import "objects.h"

enum {
    MAX_CONSTANT = 4096, /* bytes of setBytes */
    THREADGROUP_UNIT = 16,
};

@implementation HostEncoder

- (void)dealloc
{
    if (!_hasEnded) {
        host_report("command encoder released without endEncoding");
        _commandBuffer->_isEncoding = NO;
    }
    free_hazards(self);
    [_commandBuffer release];
    [super dealloc];
}

- (MTLDispatchType)dispatchType
{
    return _type;
}

- (void)endEncoding
{
    if (_hasEnded)
        host_report("endEncoding twice");
    _hasEnded = YES;
    _commandBuffer->_isEncoding = NO;
}

- (BOOL)canEncode:(const char *)method index:(NSUInteger)index
{
    if (_hasEnded)
        host_report("%s after endEncoding", method);
    else if (index >= ENGINE_BINDINGS)
        host_report("%s: index %lu is not below %d", method, index, ENGINE_BINDINGS);
    return !_hasEnded && index < ENGINE_BINDINGS;
}

/* -- Bindings ---------------------------------------------------------------------- */

- (void)setComputePipelineState:(id<MTLComputePipelineState>)state
{
    if (![self canEncode:"setComputePipelineState" index:0])
        return;
    if (!state) {
        host_report("setComputePipelineState: nil");
        return;
    }
    [_commandBuffer use:state];
    _current.pipeline = (HostPipeline *)state;
}

static void check_offset(const char *method, const HostBuffer *buffer, NSUInteger offset)
{
    if (buffer && offset >= buffer->_memory.length)
        host_report("%s: offset %lu is not below the buffer's length %lu", method, offset,
                    buffer->_memory.length);
}

- (void)setBuffer:(id<MTLBuffer>)buffer offset:(NSUInteger)offset atIndex:(NSUInteger)index
{
    if (![self canEncode:"setBuffer" index:index])
        return;
    check_offset("setBuffer", (HostBuffer *)buffer, offset);
    [_commandBuffer use:buffer];
    _current.bindings[index] =
        (struct binding){.buffer = (HostBuffer *)buffer, .offset = offset};
}

- (void)setBufferOffset:(NSUInteger)offset atIndex:(NSUInteger)index
{
    if (![self canEncode:"setBufferOffset" index:index])
        return;
    struct binding *binding = &_current.bindings[index];
    if (!binding->buffer) {
        host_report("setBufferOffset: there is no buffer at index %lu", index);
        return;
    }
    check_offset("setBufferOffset", binding->buffer, offset);
    binding->offset = offset;
}

- (void)setBytes:(const void *)bytes length:(NSUInteger)length atIndex:(NSUInteger)index
{
    if (![self canEncode:"setBytes" index:index])
        return;
    if (length > MAX_CONSTANT || length == 0) {
        host_report("setBytes: length %lu is not in 1..%d", length, MAX_CONSTANT);
        return;
    }
    _current.bindings[index] =
        (struct binding){.bytes = [_commandBuffer copyConstant:bytes length:length],
                         .byte_count = length};
}

- (void)setThreadgroupMemoryLength:(NSUInteger)length atIndex:(NSUInteger)index
{
    if (![self canEncode:"setThreadgroupMemoryLength" index:index])
        return;
    if (length % THREADGROUP_UNIT)
        host_report("setThreadgroupMemoryLength: %lu is not a multiple of %d", length,
                    THREADGROUP_UNIT);
    _current.threadgroup_memory[index] = (uint32_t)length;
}

- (void)useResource:(id<MTLResource>)resource usage:(MTLResourceUsage)usage
{
    (void)usage;
    if ([self canEncode:"useResource" index:0])
        [_commandBuffer use:resource];
}

/* -- Dispatches -------------------------------------------------------------------- */

static void store_size(uint32_t *to, MTLSize size)
{
    to[0] = (uint32_t)size.width;
    to[1] = (uint32_t)size.height;
    to[2] = (uint32_t)size.depth;
}

- (void)dispatchThreads:(MTLSize)threadsPerGrid
    threadsPerThreadgroup:(MTLSize)threadsPerThreadgroup
{
    if (![self canEncode:"dispatch" index:0] ||
        !check_dispatch(self, threadsPerGrid, threadsPerThreadgroup))
        return;
    check_hazards(self);
    store_size(_current.threads_per_grid, threadsPerGrid);
    store_size(_current.threads_per_threadgroup, threadsPerThreadgroup);
    [_commandBuffer append:&_current];
}

- (void)dispatchThreadgroups:(MTLSize)threadgroupsPerGrid
       threadsPerThreadgroup:(MTLSize)threadsPerThreadgroup
{
    MTLSize grid = MTLSizeMake(threadgroupsPerGrid.width * threadsPerThreadgroup.width,
                               threadgroupsPerGrid.height * threadsPerThreadgroup.height,
                               threadgroupsPerGrid.depth * threadsPerThreadgroup.depth);
    [self dispatchThreads:grid threadsPerThreadgroup:threadsPerThreadgroup];
}

/* -- Barriers ---------------------------------------------------------------------- */

- (void)memoryBarrierWithScope:(MTLBarrierScope)scope
{
    if ([self canEncode:"memoryBarrierWithScope" index:0] && (scope & MTLBarrierScopeBuffers))
        end_hazards(self);
}

- (void)memoryBarrierWithResources:(const id<MTLResource>[])resources count:(NSUInteger)count
{
    if (![self canEncode:"memoryBarrierWithResources" index:0])
        return;
    for (NSUInteger i = 0; i < count; i++)
        end_hazards_of(self, (HostBuffer *)resources[i]);
}

/* -- Blits ------------------------------------------------------------------------- */

static BOOL holds(const char *method, const HostBuffer *buffer, NSUInteger offset,
                  NSUInteger size)
{
    NSUInteger length = buffer ? buffer->_memory.length : 0;
    if (offset <= length && size <= length - offset)
        return YES;
    host_report("%s: %lu bytes at %lu, the buffer has %lu", method, size, offset, length);
    return NO;
}

- (void)fillBuffer:(id<MTLBuffer>)buffer range:(NSRange)range value:(uint8_t)value
{
    HostBuffer *filled = (HostBuffer *)buffer;
    if (![self canEncode:"fillBuffer" index:0] ||
        !holds("fillBuffer", filled, range.location, range.length))
        return;
    [_commandBuffer use:filled];
    struct command command = {.kind = COMMAND_FILL, .size = range.length, .value = value};
    command.bindings[0] = (struct binding){.buffer = filled, .offset = range.location};
    [_commandBuffer append:&command];
}

- (void)copyFromBuffer:(id<MTLBuffer>)sourceBuffer
          sourceOffset:(NSUInteger)sourceOffset
              toBuffer:(id<MTLBuffer>)destinationBuffer
     destinationOffset:(NSUInteger)destinationOffset
                  size:(NSUInteger)size
{
    HostBuffer *from = (HostBuffer *)sourceBuffer, *to = (HostBuffer *)destinationBuffer;
    if (![self canEncode:"copyFromBuffer" index:0] ||
        !holds("copyFromBuffer", from, sourceOffset, size) ||
        !holds("copyFromBuffer", to, destinationOffset, size))
        return;
    [_commandBuffer use:from];
    [_commandBuffer use:to];
    struct command command = {.kind = COMMAND_COPY, .size = size};
    command.bindings[0] = (struct binding){.buffer = from, .offset = sourceOffset};
    command.bindings[1] = (struct binding){.buffer = to, .offset = destinationOffset};
    [_commandBuffer append:&command];
}

/* -- For debuggers ----------------------------------------------------------------- */

- (void)insertDebugSignpost:(NSString *)string
{
    (void)string;
}

- (void)pushDebugGroup:(NSString *)string
{
    (void)string;
}

- (void)popDebugGroup
{
}

@end
