/* stream.c -- the recorded instructions that have not run yet. */
#include "stream.h"

#include <pthread.h>

#include "alloc.h"
#include "buffer.h"
#include "error.h"

static struct {
    pthread_mutex_t lock;
    const struct mx_backend *backend;
    struct mx_instruction *instructions;
    size_t size, capacity;
    int64_t sequence; /* of the last instruction recorded */
} stream = {.lock = PTHREAD_MUTEX_INITIALIZER};

void mx_stream_set_backend(const struct mx_backend *backend)
{
    pthread_mutex_lock(&stream.lock);
    stream.backend = backend;
    pthread_mutex_unlock(&stream.lock);
}

static int reserve_one(void)
{
    if (stream.size < stream.capacity)
        return MX_OK;
    size_t capacity = stream.capacity ? 2 * stream.capacity : 64;
    struct mx_instruction *more =
        mx_realloc(stream.instructions, capacity * sizeof *stream.instructions);
    if (!more)
        return mx_fail(MX_ERROR_MEMORY, "unable to record one more instruction after %zu",
                       stream.size);
    stream.instructions = more;
    stream.capacity = capacity;
    return MX_OK;
}

int mx_stream_append(const struct mx_loop *loop, const struct mx_operand *operands, intptr_t n)
{
    pthread_mutex_lock(&stream.lock);
    int status = reserve_one();
    if (status == MX_OK) {
        struct mx_instruction *in = &stream.instructions[stream.size++];
        in->loop = *loop;
        in->n = n;
        in->sequence = ++stream.sequence;
        for (int k = 0; k < loop->nargs; k++) {
            in->operands[k] = operands[k];
            if (operands[k].memory)
                mx_buffer_retain(mx_buffer_get(operands[k].memory));
        }
    }
    pthread_mutex_unlock(&stream.lock);
    return status;
}

static void release_operands(const struct mx_instruction *in)
{
    for (int k = 0; k < in->loop.nargs; k++)
        if (in->operands[k].memory)
            mx_buffer_release(mx_buffer_get(in->operands[k].memory));
}

int mx_stream_flush(int *floating_status)
{
    int status = MX_OK;
    *floating_status = 0;
    pthread_mutex_lock(&stream.lock);
    if (stream.size > 0)
        status = stream.backend->run(stream.instructions, stream.size, floating_status);
    for (size_t i = 0; i < stream.size; i++)
        release_operands(&stream.instructions[i]);
    stream.size = 0;
    pthread_mutex_unlock(&stream.lock);
    return status;
}

size_t mx_stream_size(void)
{
    pthread_mutex_lock(&stream.lock);
    size_t size = stream.size;
    pthread_mutex_unlock(&stream.lock);
    return size;
}

void mx_stream_before_fork(void) { pthread_mutex_lock(&stream.lock); }

void mx_stream_after_fork(bool in_child)
{
    if (in_child)
        pthread_mutex_init(&stream.lock, NULL);
    else
        pthread_mutex_unlock(&stream.lock);
}
