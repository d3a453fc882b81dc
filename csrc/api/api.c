/* api.c -- implements mxnp.h, and the table of functions that the bridge calls. */
#include <pthread.h>

#include <stdlib.h>
#include <string.h>

#include "api/recorder.h"
#include "base/alloc.h"
#include "base/error.h"
#include "cpu/kernels/casts.h"
#include "cpu/kernels/copies.h"
#include "cpu/kernels/indices.h"
#include "cpu/kernels/native_loops.h"
#include "cpu/kernels/ranges.h"
#include "cpu/kernels/search.h"
#include "cpu/plan/gather.h"
#include "cpu/threads/copy.h"
#include "cpu/threads/cores.h"
#include "cpu/threads/thread_pool.h"
#include "digest.h"
#include "gpu/atomics.h"
#include "gpu/backend.h"
#include "gpu/device.h"
#include "gpu/launch.h"
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

static void start(void)
{
    const char *fuse = getenv("MXNP_FUSE");
    mx_stream_set_fuse(!fuse || strcmp(fuse, "0") != 0);
    mx_stream_set_backends(&mx_gpu_backend, &mx_cpu_backend);
    mx_thread_pool_set_size(mx_thread_pool_default_size());
    mx_device_set_copy(mx_copy_in_parts);
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
    .buffer_new = mx_buffer_new,
    .buffer_retain = mx_buffer_retain,
    .buffer_release = mx_buffer_release,
    .buffer_publish = mx_buffer_publish,
    .buffer_take_refused = mx_buffer_take_refused,
    .buffer_address = mx_buffer_address,
    .buffer_get = mx_buffer_get,
    .coherence_is_on = mx_coherence_is_on,
    .coherence_read = mx_coherence_read,
    .coherence_write = mx_coherence_write,
    .coherence_fetch_all = mx_coherence_fetch_all,
    .coherence_place = mx_coherence_place,
    .coherence_take_changed = mx_coherence_take_changed,
    .coherence_count = mx_coherence_count,
    .coherence_lend = mx_coherence_lend,
    .coherence_address = mx_coherence_address,
    .coherence_end_loan = mx_coherence_end_loan,
    .coherence_borrow = mx_coherence_borrow,
    .coherence_return = mx_coherence_return,
    .coherence_edited_count = mx_coherence_edited_count,
    .append = mx_stream_append,
    .recorded = mx_stream_recorded,
    .done = mx_stream_done,
    .enter = mx_stream_enter,
    .try_enter = mx_stream_try_enter,
    .leave = mx_stream_leave,
    .set_measured = mx_stream_set_measured,
    .prepare = mx_stream_prepare,
    .run = mx_stream_run,
    .take_back = mx_stream_take_back,
    .release = mx_stream_release,
    .thread = mx_stream_thread,
    .device_message = mx_stream_device_message,
    .elision_owner = mx_stream_elision_owner,
    .rematerializable = mx_stream_rematerializable,
    .may_reread = mx_stream_may_reread,
    .drop_rematerializable = mx_stream_drop_rematerializable,
    .free = mx_free,
    .loop_find = mx_loop_find,
    .native_loop = mx_native_loop,
    .native_has_numpys_bits = mx_native_loop_has_numpys_bits,
    .cast_loop = mx_cast_loop,
    .rows_find = mx_rows_find,
    .rows_squares = mx_rows_squares,
    .running_find = mx_running_find,
    .range_loop = mx_range_loop,
    .copy_loop = mx_copy_loop,
    .copy_select_loop = mx_copy_select_loop,
    .index_check_loop = mx_index_check_loop,
    .gather_loop = mx_gather_loop,
    .search_loop = mx_search_loop,
    .index_range = mx_index_range,
    .index_find_invalid = mx_index_find_invalid,
    .index_has_update = mx_index_has_update,
    .compact_count = mx_compact_count,
    .compact_write = mx_compact_write,
    .compact_free = mx_compact_free,
    .sort_has = mx_sort_has,
    .sort_rows = mx_sort_rows,
    .partition_has = mx_partition_has,
    .partition_row = mx_partition_row,
    .generator_find = mx_generator_find,
    .generator_state_size = mx_generator_state_size,
    .streams_find = mx_streams_find,
    .streams_name = mx_streams_name,
    .streams_draw = mx_streams_draw,
    .compiled_start = mx_compiled_start,
    .compiled_stop = mx_compiled_stop,
    .compiled_pause = mx_compiled_pause,
    .compiled_resume = mx_compiled_resume,
    .gpu_is_used = mx_gpu_is_used,
    .gpu_has_own_memory = mx_gpu_has_own_memory,
    .gpu_name = mx_device_name,
    .gpu_supports = mx_device_supports,
    .gpu_supports_update = mx_atomics_support,
    .launch_check = mx_launch_check,
    .op_get = mx_op_get,
    .error_message = mx_error_message,
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
