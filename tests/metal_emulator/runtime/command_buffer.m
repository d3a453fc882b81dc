/* command_buffer.m -- command buffers: the commands that they hold, and their execution. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#import "objects.h"

NSErrorDomain const MTLCommandBufferErrorDomain = @"MTLCommandBufferErrorDomain";

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

@implementation HostCommandBuffer

- (instancetype)init
{
    _held = [NSMutableArray new];
    _scheduledHandlers = [NSMutableArray new];
    _completedHandlers = [NSMutableArray new];
    return self;
}

- (void)dealloc
{
    queue_drop(self);
    [self releaseReferences];
    [_held release];
    [_scheduledHandlers release];
    [_completedHandlers release];
    [_error release];
    [_queue release];
    [super dealloc];
}

/* Of what has run nothing is needed any more. */
- (void)releaseReferences
{
    [_held removeAllObjects];
    for (size_t i = 0; i < _constantCount; i++)
        free(_constants[i]);
    free(_constants);
    free(_commands);
    _constants = NULL;
    _commands = NULL;
    _constantCount = _commandCount = 0;
}

- (id<MTLCommandQueue>)commandQueue
{
    return _queue;
}

- (BOOL)retainedReferences
{
    return _isRetaining;
}

- (MTLCommandBufferStatus)status
{
    return _status;
}

- (NSError *)error
{
    return _status == MTLCommandBufferStatusError ? _error : nil;
}

- (CFTimeInterval)kernelStartTime
{
    return _startTime;
}

- (CFTimeInterval)kernelEndTime
{
    return _startTime;
}

- (CFTimeInterval)GPUStartTime
{
    return _startTime;
}

- (CFTimeInterval)GPUEndTime
{
    return _endTime;
}

- (void)pushDebugGroup:(NSString *)string
{
    (void)string;
}

- (void)popDebugGroup
{
}

/* -- Encoding ---------------------------------------------------------------------- */

- (HostEncoder *)newEncoder
{
    if (_status >= MTLCommandBufferStatusCommitted) {
        host_report("encoding into a command buffer that is committed");
        return nil;
    }
    if (_isEncoding) {
        host_report("a command encoder is already encoding to this command buffer");
        return nil;
    }
    _isEncoding = YES;
    HostEncoder *encoder = [HostEncoder new];
    encoder->_commandBuffer = [self retain];
    return encoder;
}

- (id<MTLComputeCommandEncoder>)computeCommandEncoder
{
    return [[self newEncoder] autorelease];
}

- (id<MTLComputeCommandEncoder>)computeCommandEncoderWithDispatchType:
    (MTLDispatchType)dispatchType
{
    HostEncoder *encoder = [self newEncoder];
    if (encoder)
        encoder->_type = dispatchType;
    return [encoder autorelease];
}

- (id<MTLBlitCommandEncoder>)blitCommandEncoder
{
    HostEncoder *encoder = [self newEncoder];
    if (encoder)
        encoder->_isBlit = YES;
    return [encoder autorelease];
}

- (void)use:(id)object
{
    if (!object)
        return;
    if (objc_is_dead(object))
        host_report("encoding uses a deallocated object");
    else if (_isRetaining)
        [_held addObject:object];
}

- (void)append:(const struct command *)command
{
    if (_commandCount == _commandCapacity) {
        _commandCapacity = _commandCapacity ? 2 * _commandCapacity : 4;
        _commands = realloc(_commands, _commandCapacity * sizeof *_commands);
    }
    _commands[_commandCount++] = *command;
}

- (const void *)copyConstant:(const void *)bytes length:(NSUInteger)length
{
    _constants = realloc(_constants, (_constantCount + 1) * sizeof *_constants);
    void *copy = _constants[_constantCount++] = malloc(length);
    return memcpy(copy, bytes, length);
}

/* -- Committing -------------------------------------------------------------------- */

- (void)enqueue
{
    if (_isEnqueued)
        host_report("enqueue twice, or after commit");
    else
        queue_enqueue(self);
}

- (void)commit
{
    if (_status >= MTLCommandBufferStatusCommitted) {
        host_report("commit twice");
        return;
    }
    if (_isEncoding) {
        host_report("commit with an open encoder");
        return;
    }
    for (size_t i = 0; i < _commandCount; i++)
        if (!check_references(self, &_commands[i], "at commit"))
            break;
    queue_commit(self);
}

- (void)addHandler:(MTLCommandBufferHandler)block to:(NSMutableArray *)handlers
{
    if (_status >= MTLCommandBufferStatusCommitted) {
        host_report("a handler is added to a command buffer that is committed");
        return;
    }
    id copy = [(id)block copy];
    [handlers addObject:copy];
    [copy release];
}

- (void)addScheduledHandler:(MTLCommandBufferHandler)block
{
    [self addHandler:block to:_scheduledHandlers];
}

- (void)addCompletedHandler:(MTLCommandBufferHandler)block
{
    [self addHandler:block to:_completedHandlers];
}

- (void)waitUntilScheduled
{
    queue_wait(self, MTLCommandBufferStatusScheduled);
}

- (void)waitUntilCompleted
{
    queue_wait(self, MTLCommandBufferStatusCompleted);
}

- (void)runHandlers:(NSMutableArray *)handlers
{
    _handlerThread = pthread_self();
    _isInHandlers = YES;
    for (NSUInteger i = 0; i < [handlers count]; i++)
        @autoreleasepool {
            ((MTLCommandBufferHandler)[handlers objectAtIndex:i])(self);
        }
    _isInHandlers = NO;
    [handlers removeAllObjects];
}

/* -- Executing --------------------------------------------------------------------- */

/* The first error is the one that counts. */
- (void)failWithCode:(NSInteger)code text:(const char *)text
{
    @autoreleasepool { /* the caller may have none */
        if (!_error)
            _error = [host_error(MTLCommandBufferErrorDomain, code, text) retain];
    }
}

static void bind(struct engine_dispatch *dispatch, unsigned index,
                 const struct binding *binding)
{
    struct engine_range range = {binding->bytes, binding->byte_count};
    if (binding->buffer)
        range = (struct engine_range){binding->buffer->_memory.start,
                                      binding->buffer->_memory.length};
    dispatch->buffers[index] = range;
    dispatch->addresses[index] = (uint8_t *)range.start + binding->offset;
}

/* Only what the kernel takes: what else is bound it must not use either. */
static void set_arguments(struct engine_dispatch *dispatch, const struct command *command)
{
    for (uint32_t i = 0; i < dispatch->kernel->argument_count; i++) {
        const struct msl_argument *argument = &dispatch->kernel->arguments[i];
        unsigned index = argument->index;
        if (argument->kind == MSL_BUFFER)
            bind(dispatch, index, &command->bindings[index]);
        else if (argument->kind == MSL_THREADGROUP_MEMORY)
            dispatch->threadgroup_memory[index] = command->threadgroup_memory[index];
    }
}

- (void)runDispatch:(const struct command *)command
{
    const struct kernel_library *library = command->pipeline->_library;
    struct engine_dispatch dispatch = {.kernel = kernel_of(command->pipeline),
                                       .image = library->image};
    const uint32_t *grid = command->threads_per_grid;
    memcpy(dispatch.threads_per_grid, grid, sizeof dispatch.threads_per_grid);
    memcpy(dispatch.threads_per_threadgroup, command->threads_per_threadgroup,
           sizeof dispatch.threads_per_threadgroup);
    set_arguments(&dispatch, command);
    atomic_fetch_add(&library->dispatches[command->pipeline->_number], 1);
    if (!grid[0] || !grid[1] || !grid[2])
        return;
    engine_run(&dispatch);
    if (dispatch.failure) {
        host_report("%s", dispatch.message);
        [self failWithCode:dispatch.failure text:dispatch.message];
    }
}

static uint8_t *address_of(const struct binding *binding)
{
    return binding->buffer->_memory.start + binding->offset;
}

- (void)run:(const struct command *)command
{
    const struct binding *bindings = command->bindings;
    switch (command->kind) {
    case COMMAND_DISPATCH:
        [self runDispatch:command];
        break;
    case COMMAND_FILL:
        memset(address_of(&bindings[0]), command->value, command->size);
        break;
    case COMMAND_COPY:
        memmove(address_of(&bindings[1]), address_of(&bindings[0]), command->size);
        break;
    }
}

- (void)injectFault
{
    long code = take_fault(&host_settings()->fail_next_command_buffer);
    if (code)
        [self failWithCode:code text:"injected fault"];
    if (host_settings()->device_lost)
        [self failWithCode:MTLCommandBufferErrorDeviceRemoved text:"the device is lost"];
    if (_queue->_isRevoked)
        [self failWithCode:MTLCommandBufferErrorAccessRevoked
                      text:"ignored, because an earlier command buffer of the queue hung"];
}

- (void)execute
{
    [self injectFault];
    _startTime = now();
    for (size_t i = 0; i < _commandCount && !_error; i++)
        if (check_references(self, &_commands[i], "at execution"))
            [self run:&_commands[i]];
    if (_error && [_error code] == MTLCommandBufferErrorTimeout)
        _queue->_isRevoked = YES;
    _endTime = now();
}

@end
