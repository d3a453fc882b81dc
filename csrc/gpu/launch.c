/* launch.c -- kernels whose text the program provides, or in their place a function of the
 * driver.  Their pointers point to the first element of each operand. */
#include "gpu/launch.h"

#include <string.h>

#include "base/error.h"
#include "gpu/dispatch.h"
#include "gpu/pipelines.h"

/* Binds a view.  If it is empty or outside the pool, a copy of the view alone is bound, because
 * something must be. */
static struct mx_binding binding_of(const struct mx_view *view)
{
    bool is_copy = view->low == view->high || !view->buffer;
    return (struct mx_binding){
        .buffer = is_copy ? NULL : view->buffer,
        .data = (const char *)view->low,
        .size = (size_t)(view->high - view->low),
        .is_written = view->is_written,
        .offset = (size_t)(is_copy ? view->at - view->low : view->at),
    };
}

/* Whether the driver has a function for what a launch computes. */
static bool is_called(const struct mx_launch *launch)
{
    return launch->call != MX_NO_CALL && mx_device_used()->driver->call;
}

static int run_kernel(const struct mx_launch *launch, const struct mx_binding *bindings, int n,
                      void (*begin_others)(void))
{
    struct mx_dispatch dispatch = {
        .args = launch->args,
        .args_size = (size_t)launch->n_args * sizeof *launch->args,
        .kind = launch->is_in_threadgroups ? MX_THREADGROUPS : MX_THREADS,
        .work = launch->work,
        .origin = launch->work > 0 && launch->n_args >= 3 ? launch->n_args - 3 : -1,
    };
    int status = mx_pipelines_get(&dispatch.compiled, launch->prelude, launch->source,
                                  launch->function, begin_others);
    if (status != MX_OK)
        return status == MX_ERROR_MEMORY ? status : MX_ERROR_DEVICE;
    memcpy(dispatch.grid, launch->grid, sizeof dispatch.grid);
    memcpy(dispatch.threads, launch->threads, sizeof dispatch.threads);
    return mx_dispatch_encode(&dispatch, bindings, n, NULL);
}

int mx_launch_run(const struct mx_group *group, const struct mx_instruction *in,
                  void (*begin_others)(void))
{
    const struct mx_launch *launch = in->launch;
    struct mx_binding bindings[MX_MAX_OPERANDS];
    int n = mx_operand_count(in);
    if (!mx_dispatch_can_bind(group, SIZE_MAX))
        return mx_fail(MX_ERROR_DEVICE, "memory that kernel '%s' writes is not the pool's",
                       launch->function);
    for (int k = 0; k < n; k++)
        bindings[k] = binding_of(&group->views[group->steps[0].views[k]]);
    if (is_called(launch)) {
        int status = mx_dispatch_call(launch, in->operands[0].dtype, bindings, n);
        if (status == MX_ERROR_MEMORY && launch->call == MX_LINEAR)
            return MX_ERROR_DEVICE; /* the function that waits for it lets NumPy compute */
        if (status != MX_ERROR_VALUE)
            return status;
    }
    return launch->source[0] ? run_kernel(launch, bindings, n, begin_others) : MX_ERROR_DEVICE;
}

void mx_launch_begin(const struct mx_launch *launch)
{
    if (!is_called(launch)) /* otherwise the kernel is needed only if the library fails */
        mx_pipelines_begin(launch->prelude, launch->source, launch->function);
}

int mx_launch_check(const struct mx_launch *launch)
{
    const struct mx_device *device = mx_device_used();
    if (!mx_device_is_usable())
        return mx_fail(MX_ERROR_DEVICE,
                       "there is no %s device, or it is that of the process that forked",
                       device ? device->row.title : "GPU");
    const void *compiled;
    bool is_ours = launch->prelude[0] != 0;
    if (is_ours) {
        mx_launch_begin(launch);
        return MX_OK;
    }
    int status =
        mx_pipelines_get(&compiled, launch->prelude, launch->source, launch->function, NULL);
    const size_t *threads = launch->threads;
    if (status != MX_OK)
        return status == MX_ERROR_MEMORY ? status : MX_ERROR_VALUE;
    size_t most = device->driver->max_threads(compiled);
    if (threads[0] > most || threads[1] > most / threads[0] ||
        threads[2] > most / threads[0] / threads[1])
        return mx_fail(MX_ERROR_VALUE,
                       "threadgroups of kernel '%s' may have %zu threads, not %zu * %zu * %zu",
                       launch->function, most, threads[0], threads[1], threads[2]);
    return MX_OK;
}
