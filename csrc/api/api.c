/* api.c -- implements mxnp.h, and the table of functions that the bridge calls. */
#include <pthread.h>

#include "api/recorder.h"
#include "base/alloc.h"
#include "cpu/threads/copy.h"
#include "cpu/threads/cores.h"
#include "cpu/threads/thread_pool.h"
#include "digest.h"
#include "gpu/backend.h"
#include "gpu/pipelines.h"
#include "gpu/work.h"
#include "ir/loop.h"

/* -- Start and fork --------------------------------------------------------------- */

/* The stream calls the pool, so its lock is taken first. */
static void before_fork(void)
{
    mx_stream_before_fork();
    mx_pool_before_fork();
    mx_coherence_before_fork();
    mx_compiled_before_fork();
}

static void after_fork_in_parent(void)
{
    mx_compiled_after_fork(false);
    mx_coherence_after_fork(false);
    mx_pool_after_fork(false);
    mx_thread_pool_after_fork(false);
    mx_stream_after_fork(false);
}

static void after_fork_in_child(void)
{
    mx_compiled_after_fork(true);
    mx_coherence_after_fork(true);
    mx_pool_after_fork(true);
    mx_thread_pool_after_fork(true);
    mx_stream_after_fork(true);
}

static int start_error;

static void core_start(void)
{
    if (mx_settings.is_warm)
        mx_alloc_keep(mx_alloc_most_kept(mx_alloc_usable()));
    mx_stream_set_fuse(mx_settings.fuses);
    mx_stream_set_backends(&mx_gpu_backend, &mx_cpu_backend);
    mx_thread_pool_set_size(mx_thread_pool_default_size());
    mx_device_set_copy(mx_copy_in_parts);
    start_error = pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

int mx_start(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, core_start);
    return start_error ? mx_fail(MX_ERROR_MEMORY, "unable to register what fork calls") : MX_OK;
}

const char *mx_version(void) { return MX_VERSION; }

const char *mx_digest(void) { return MX_DIGEST; }

/* -- Memory ----------------------------------------------------------------------- */

void mx_memory_info(struct mx_memory_info *out) { mx_pool_info(out); }

void mx_memory_set_limit(size_t nbytes) { mx_pool_set_limit(nbytes); }

void mx_memory_trim(size_t nbytes)
{
    mx_pool_trim(nbytes);
    if (nbytes == 0)
        mx_coherence_trim();
}

/* -- Recording and running --------------------------------------------------------- */

int mx_loop_find(struct mx_loop *out, uintptr_t ufunc_fields, int nin, int nout, int ntypes,
                 const char *types)
{
    if (nin < 0 || nout < 0 || nin + nout > MX_MAX_OPERANDS)
        return mx_fail(MX_ERROR_VALUE, "%d inputs and %d outputs are more than %d operands",
                       nin, nout, MX_MAX_OPERANDS);
    return mx_loop_read(out, ufunc_fields, nin, nout, ntypes, types);
}

static const struct mx_recorder recorder = {
#define FUNCTION(name) .name = name,
#include "api/recorder.def"
#undef FUNCTION
};

const void *mx_recorder_table(void) { return &recorder; }

int mx_gpu_set_kernel_limit(int limit)
{
    mx_stream_enter();
    int before = mx_pipelines_set_limit(limit < 0 ? 0 : limit);
    mx_stream_leave();
    return before;
}

int64_t mx_gpu_set_work_limit(int64_t limit)
{
    mx_stream_enter();
    int64_t before = mx_work_set_limit(limit);
    mx_stream_leave();
    return before;
}

/* The package threadpoolctl looks up these two functions in the compiled core. */
#define EXPORTED __attribute__((visibility("default")))

EXPORTED int mx_thread_count(void) { return mx_thread_pool_size(); }

EXPORTED void mx_set_thread_count(int count) { mx_thread_pool_set_size(count); }

int mx_usable_thread_count(void) { return mx_cores_count(""); }
