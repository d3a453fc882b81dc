/* command_queue.m -- command queues. */
#import "objects.h"

@implementation HostQueue

+ (instancetype)newWithLimit:(NSUInteger)limit
{
    HostQueue *queue = [self new];
    queue->_limit = limit;
    return queue;
}

- (HostCommandBuffer *)newCommandBuffer
{
    queue_await_place(self);
    HostCommandBuffer *buffer = [HostCommandBuffer new];
    buffer->_queue = [self retain];
    return buffer;
}

- (id<MTLCommandBuffer>)commandBuffer
{
    HostCommandBuffer *buffer = [self newCommandBuffer];
    buffer->_isRetaining = YES;
    return [buffer autorelease];
}

- (id<MTLCommandBuffer>)commandBufferWithUnretainedReferences
{
    return [[self newCommandBuffer] autorelease];
}

@end
