/* objects.h -- the classes behind Metal's protocols. */
#pragma once
#include <pthread.h>

#import <Metal/Metal.h>

#include "../engine/memory.h"
#include "../objc/runtime.h"
#include "libraries.h"
#include "settings.h"

@interface HostDevice : NSObject <MTLDevice>
+ (HostDevice *)shared;
@end

/* What all that a device makes has in common. */
@interface HostObject : NSObject {
  @public
    NSString *_label;
}
- (id<MTLDevice>)device;
- (NSString *)label;
- (void)setLabel:(NSString *)label;
@end

@interface HostBuffer : HostObject <MTLBuffer> {
  @public
    struct memory _memory; /* with no map if it is the program's */
    MTLResourceOptions _options;
    void (^_deallocator)(void *, NSUInteger);
}
@end

@interface HostLibrary : HostObject <MTLLibrary> {
  @public
    const struct kernel_library *_library;
}
@end

@interface HostFunction : HostObject <MTLFunction> {
  @public
    HostLibrary *_library;
    uint32_t _number;
}
@end

@interface HostPipeline : HostObject <MTLComputePipelineState> {
  @public
    const struct kernel_library *_library;
    uint32_t _number;
}
@end

static inline const struct msl_kernel *kernel_of(const HostPipeline *pipeline)
{
    return &pipeline->_library->kernels[pipeline->_number];
}

@interface HostQueue : HostObject <MTLCommandQueue> {
  @public
    NSUInteger _limit;            /* of its command buffers that are not over */
    NSUInteger _open, _committed; /* how many there are; under queue.m's lock */
    _Atomic BOOL _isRevoked;      /* a kernel hung: what is submitted later is ignored */
}
+ (instancetype)newWithLimit:(NSUInteger)limit;
@end

/* What a dispatch's argument is bound to; all zero: nothing. */
struct binding {
    HostBuffer *buffer;
    NSUInteger offset;
    const void *bytes; /* of setBytes; the command buffer's */
    NSUInteger byte_count;
};

struct command {
    enum { COMMAND_DISPATCH, COMMAND_FILL, COMMAND_COPY } kind;
    HostPipeline *pipeline;
    struct binding bindings[ENGINE_BINDINGS]; /* a copy is from the first to the second */
    uint32_t threadgroup_memory[ENGINE_BINDINGS];
    uint32_t threads_per_grid[3], threads_per_threadgroup[3];
    NSUInteger size; /* of a fill or copy */
    uint8_t value;
};

@interface HostCommandBuffer : HostObject <MTLCommandBuffer> {
  @public
    /* Under queue.m's lock. */
    HostQueue *_queue;
    HostCommandBuffer *_next;
    uint64_t _sequence; /* in the order of commits; 0: not committed */
    BOOL _isEnqueued;
    _Atomic BOOL _isFinished;

    BOOL _isRetaining, _isEncoding;
    _Atomic MTLCommandBufferStatus _status;
    NSError *_error;
    NSMutableArray *_held, *_scheduledHandlers, *_completedHandlers;
    struct command *_commands;
    size_t _commandCount, _commandCapacity;
    void **_constants;
    size_t _constantCount;
    pthread_t _handlerThread; /* while _isInHandlers */
    BOOL _isInHandlers;
    double _startTime, _endTime;
}
- (void)use:(id)object; /* by a command: keeps it, if the command buffer retains */
- (void)append:(const struct command *)command;
- (const void *)copyConstant:(const void *)bytes length:(NSUInteger)length;
- (void)failWithCode:(NSInteger)code text:(const char *)text;
- (void)execute;
- (void)runHandlers:(NSMutableArray *)handlers;
- (void)releaseReferences;
@end

@interface HostEncoder : HostObject <MTLComputeCommandEncoder, MTLBlitCommandEncoder> {
  @public
    HostCommandBuffer *_commandBuffer;
    MTLDispatchType _type;
    BOOL _isBlit, _hasEnded;
    struct command _current;
    struct hazards *_hazards;
}
@end

/* checks.m: whether the dispatch can be encoded; reports why not. */
BOOL check_dispatch(HostEncoder *encoder, MTLSize grid, MTLSize group);

/* checks.m: reports a use that nothing orders after an earlier one. */
void check_hazards(HostEncoder *encoder);
void end_hazards(HostEncoder *encoder);
void end_hazards_of(HostEncoder *encoder, HostBuffer *buffer);
void free_hazards(HostEncoder *encoder);

/* checks.m: whether all that the command uses is alive; else the command buffer has failed. */
BOOL check_references(HostCommandBuffer *buffer, const struct command *command,
                      const char *when);

/* queue.m */
void queue_enqueue(HostCommandBuffer *buffer);
void queue_commit(HostCommandBuffer *buffer);
void queue_wait(HostCommandBuffer *buffer, MTLCommandBufferStatus status);
void queue_await_place(HostQueue *queue);   /* for one more command buffer */
void queue_drop(HostCommandBuffer *buffer); /* it dies */
void queue_watch_forks(void);               /* from when on a child has no GPU */
bool queue_is_forked(void);

static inline NSString *string(const char *text)
{
    return [NSString stringWithUTF8String:text];
}

/* What a command buffer's or library's errors look like. */
static inline NSError *host_error(NSErrorDomain domain, NSInteger code, const char *text)
{
    NSDictionary *information = [NSDictionary dictionaryWithObject:string(text)
                                                            forKey:NSLocalizedDescriptionKey];
    return [NSError errorWithDomain:domain code:code userInfo:information];
}
