/* checks.m -- the checks of Apple's validation layers, and further ones. */
#include <stdio.h>
#include <stdlib.h>

#import "objects.h"

/* -- Arguments --------------------------------------------------------------------- */

static BOOL is_writable(const struct msl_argument *argument)
{
    return argument->space == MSL_DEVICE && !argument->is_const;
}

static BOOL check_buffer(const char *name, const struct msl_argument *argument,
                         const struct binding *binding)
{
    if (!binding->buffer && !binding->bytes) {
        host_report("%s: missing buffer binding at index %u", name, argument->index);
        return NO;
    }
    NSUInteger length =
        binding->buffer ? binding->buffer->_memory.length : binding->byte_count;
    NSUInteger left = binding->offset < length ? length - binding->offset : 0;
    if (left < argument->size) {
        host_report("%s: the buffer binding at index %u holds %lu bytes, the argument needs %u",
                    name, argument->index, left, argument->size);
        return NO;
    }
    if (binding->bytes && is_writable(argument)) {
        host_report("%s: setBytes is bound to the writable argument at index %u", name,
                    argument->index);
        return NO;
    }
    return YES;
}

static BOOL check_arguments(const struct command *command)
{
    const struct msl_kernel *kernel = kernel_of(command->pipeline);
    for (uint32_t i = 0; i < kernel->argument_count; i++) {
        const struct msl_argument *argument = &kernel->arguments[i];
        if (argument->kind == MSL_BUFFER &&
            !check_buffer(kernel->name, argument, &command->bindings[argument->index]))
            return NO;
        if (argument->kind == MSL_THREADGROUP_MEMORY &&
            !command->threadgroup_memory[argument->index]) {
            host_report("%s: threadgroup memory at index %u has no length", kernel->name,
                        argument->index);
            return NO;
        }
    }
    return YES;
}

static BOOL check_threadgroup_memory(const struct command *command)
{
    NSUInteger total = 0;
    for (int i = 0; i < ENGINE_BINDINGS; i++)
        total += command->threadgroup_memory[i];
    if (total <= ENGINE_THREADGROUP_MEMORY)
        return YES;
    host_report("%s: %lu bytes of threadgroup memory, the limit is %d",
                kernel_of(command->pipeline)->name, total, ENGINE_THREADGROUP_MEMORY);
    return NO;
}

/* -- Aliases ----------------------------------------------------------------------- */

/* Two buffers may be made over the same pages, so addresses are compared. */
static BOOL overlap(const HostBuffer *one, const HostBuffer *other)
{
    const uint8_t *start = one->_memory.start, *other_start = other->_memory.start;
    return start < other_start + other->_memory.length &&
           other_start < start + one->_memory.length;
}

static void check_pair(const struct command *command, const struct msl_argument *one,
                       const struct msl_argument *other)
{
    HostBuffer *buffer = command->bindings[one->index].buffer;
    HostBuffer *other_buffer = command->bindings[other->index].buffer;
    if (other->kind != MSL_BUFFER || !buffer || !other_buffer)
        return;
    if ((is_writable(one) || is_writable(other)) && overlap(buffer, other_buffer))
        host_report("%s: one buffer is bound at indices %u and %u, and written: arguments must "
                    "not alias",
                    kernel_of(command->pipeline)->name, one->index, other->index);
}

static void check_aliases(const struct command *command)
{
    const struct msl_kernel *kernel = kernel_of(command->pipeline);
    for (uint32_t i = 0; i < kernel->argument_count; i++)
        for (uint32_t j = i + 1; kernel->arguments[i].kind == MSL_BUFFER &&
                                 j < kernel->argument_count;
             j++)
            check_pair(command, &kernel->arguments[i], &kernel->arguments[j]);
}

/* -- Dispatches -------------------------------------------------------------------- */

BOOL check_dispatch(HostEncoder *encoder, MTLSize grid, MTLSize group)
{
    const struct command *command = &encoder->_current;
    NSUInteger threads = group.width * group.height * group.depth;
    if (encoder->_isBlit || !command->pipeline) {
        host_report("dispatch without a pipeline state");
        return NO;
    }
    if (objc_is_dead(command->pipeline)) {
        host_report("dispatch with a deallocated pipeline state");
        return NO;
    }
    NSUInteger most = [command->pipeline maxTotalThreadsPerThreadgroup];
    if (threads < 1 || threads > most) {
        host_report("dispatch: threadsPerThreadgroup %lu is not in 1..%lu", threads, most);
        return NO;
    }
    if (grid.width > UINT32_MAX || grid.height > UINT32_MAX || grid.depth > UINT32_MAX) {
        host_report("dispatch: a grid's side has to fit in 32 bits");
        return NO;
    }
    if (!check_arguments(command) || !check_threadgroup_memory(command))
        return NO;
    check_aliases(command);
    return YES;
}

/* -- Hazards ----------------------------------------------------------------------- */

/* The buffers that dispatches of a concurrent encoder have used since its last barrier. */
struct hazards {
    struct hazards *next;
    HostBuffer *buffer;
    BOOL is_written;
    const char *kernel;
    size_t command; /* of the command buffer */
};

static void check_use(HostEncoder *encoder, HostBuffer *buffer, BOOL is_written)
{
    const char *name = kernel_of(encoder->_current.pipeline)->name;
    size_t command = encoder->_commandBuffer->_commandCount;
    for (struct hazards *use = encoder->_hazards; use; use = use->next)
        if (use->command != command && (use->is_written || is_written) &&
            overlap(use->buffer, buffer)) {
            host_report("hazard in a concurrent encoder: %s %s a buffer that %s %s, with no "
                        "memory barrier between",
                        name, is_written ? "writes" : "reads", use->kernel,
                        use->is_written ? "writes" : "reads");
            break;
        }
    struct hazards *use = malloc(sizeof *use);
    *use = (struct hazards){encoder->_hazards, buffer, is_written, name, command};
    encoder->_hazards = use;
}

void check_hazards(HostEncoder *encoder)
{
    if (encoder->_type != MTLDispatchTypeConcurrent)
        return;
    const struct msl_kernel *kernel = kernel_of(encoder->_current.pipeline);
    for (uint32_t i = 0; i < kernel->argument_count; i++) {
        const struct msl_argument *argument = &kernel->arguments[i];
        HostBuffer *buffer = argument->kind == MSL_BUFFER
                                 ? encoder->_current.bindings[argument->index].buffer
                                 : nil;
        if (buffer)
            check_use(encoder, buffer, is_writable(argument));
    }
}

void end_hazards(HostEncoder *encoder)
{
    while (encoder->_hazards) {
        struct hazards *use = encoder->_hazards;
        encoder->_hazards = use->next;
        free(use);
    }
}

void end_hazards_of(HostEncoder *encoder, HostBuffer *buffer)
{
    for (struct hazards **link = &encoder->_hazards; *link;) {
        struct hazards *use = *link;
        if (use->buffer != buffer) {
            link = &use->next;
            continue;
        }
        *link = use->next;
        free(use);
    }
}

void free_hazards(HostEncoder *encoder) { end_hazards(encoder); }

/* -- References -------------------------------------------------------------------- */

static void fail_dead(HostCommandBuffer *buffer, const char *object, const char *when)
{
    char text[256];
    snprintf(text, sizeof text, "command buffer references deallocated object: %s (%s)", object,
             when);
    host_report("%s", text);
    [buffer failWithCode:MTLCommandBufferErrorInvalidResource text:text];
}

BOOL check_references(HostCommandBuffer *buffer, const struct command *command,
                      const char *when)
{
    char object[128];
    if (command->pipeline && objc_is_dead(command->pipeline)) {
        snprintf(object, sizeof object, "MTLComputePipelineState %p of kernel %s",
                 (void *)command->pipeline, kernel_of(command->pipeline)->name);
        fail_dead(buffer, object, when);
        return NO;
    }
    for (int i = 0; i < ENGINE_BINDINGS; i++) {
        HostBuffer *bound = command->bindings[i].buffer;
        if (!bound || !objc_is_dead(bound))
            continue;
        snprintf(object, sizeof object, "MTLBuffer %p of length %zu at index %d", (void *)bound,
                 bound->_memory.length, i);
        fail_dead(buffer, object, when);
        return NO;
    }
    return YES;
}
