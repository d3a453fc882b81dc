/* api.c -- the C API: checks its arguments and calls down. */
#include <pthread.h>

#include "buffer.h"
#include "digest.h"
#include "error.h"
#include "loop.h"
#include "stream.h"

/* -- Start and fork --------------------------------------------------------------- */

/* The stream calls the pool, so its lock comes first. */
static void before_fork(void)
{
    mx_stream_before_fork();
    mx_pool_before_fork();
}

static void after_fork_in_parent(void)
{
    mx_pool_after_fork(false);
    mx_stream_after_fork(false);
}

static void after_fork_in_child(void)
{
    mx_pool_after_fork(true);
    mx_stream_after_fork(true);
}

static int start_error;

static void start(void)
{
    mx_stream_set_backend(&mx_cpu_backend);
    start_error = pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

int mx_start(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, start);
    return start_error ? mx_fail(MX_ERROR_MEMORY, "unable to register what fork calls") : MX_OK;
}

const char *mx_version(void) { return MX_VERSION; }

const char *mx_digest(void) { return MX_DIGEST; }

/* -- Memory ----------------------------------------------------------------------- */

char *mx_memory_new(size_t nbytes)
{
    struct mx_buffer *buffer = mx_buffer_new(nbytes);
    return buffer ? mx_buffer_data(buffer) : NULL;
}

void mx_memory_retain(char *memory) { mx_buffer_retain(mx_buffer_get(memory)); }

void mx_memory_release(char *memory) { mx_buffer_release(mx_buffer_get(memory)); }

size_t mx_memory_nbytes(const char *memory) { return mx_buffer_get(memory)->nbytes; }

void mx_memory_info(struct mx_memory_info *out) { mx_pool_info(out); }

void mx_memory_set_limit(size_t nbytes) { mx_pool_set_limit(nbytes); }

void mx_memory_trim(size_t nbytes) { mx_pool_trim(nbytes); }

/* -- Stream ----------------------------------------------------------------------- */

int mx_loop_find(struct mx_loop *out, uintptr_t ufunc_fields, int nin, int nout, int ntypes,
                 const char *types)
{
    if (nin < 0 || nout < 0 || nin + nout > MX_MAX_OPERANDS)
        return mx_fail(MX_ERROR_VALUE, "%d inputs and %d outputs are more than %d operands",
                       nin, nout, MX_MAX_OPERANDS);
    return mx_loop_read(out, ufunc_fields, nin, nout, ntypes, types);
}

int mx_record(const struct mx_loop *loop, const struct mx_operand *operands, intptr_t n)
{
    if (!loop->function || loop->nargs < 1 || loop->nargs > MX_MAX_OPERANDS)
        return mx_fail(MX_ERROR_VALUE, "not a loop");
    if (n < 0)
        return mx_fail(MX_ERROR_VALUE, "a loop over %td elements", (ptrdiff_t)n);
    for (int k = 0; k < loop->nargs; k++)
        if (!operands[k].data)
            return mx_fail(MX_ERROR_VALUE, "operand %d has no data", k);
    return mx_stream_append(loop, operands, n);
}

int mx_flush(int *floating_status) { return mx_stream_flush(floating_status); }

size_t mx_pending(void) { return mx_stream_size(); }
