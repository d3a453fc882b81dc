/* fft.c -- Fourier transforms with cuFFT, and the cache of its plans. */
#include "cuda/fft.h"

#include <pthread.h>
#include <string.h>

#include "base/error.h"

#define MAX_PLANS 64 /* a plan has tables on the device */

struct plan {
    struct mx_transform transform;
    int number;
    size_t scratch;
    int64_t used; /* when it was used last; 0: the entry is empty */
};

static struct {
    pthread_mutex_t lock;
    struct plan plans[MAX_PLANS];
    int64_t clock;
} cache = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int type_of(const struct mx_transform *transform)
{
    switch ((enum mx_transform_kind)transform->kind) {
    case MX_FROM_REAL:
        return transform->is_double ? MX_CUFFT_D2Z : MX_CUFFT_R2C;
    case MX_TO_REAL:
        return transform->is_double ? MX_CUFFT_Z2D : MX_CUFFT_C2R;
    default:
        return transform->is_double ? MX_CUFFT_Z2Z : MX_CUFFT_C2C;
    }
}

/* Makes a plan that has no memory of its own.  Returns an error of cuFFT, or 0. */
static int make(struct plan *plan, const struct mx_transform *transform, mx_cuda_stream stream)
{
    long long n = transform->n, embed[1] = {transform->n};
    int error = mx_api.cufftCreate(&plan->number);
    if (error)
        return error;
    if ((error = mx_api.cufftSetAutoAllocation(plan->number, 0)) ||
        (error = mx_api.cufftMakePlanMany64(plan->number, 1, &n, embed, transform->stride,
                                            transform->steps[0], embed, transform->stride,
                                            transform->steps[1], type_of(transform),
                                            transform->count, &plan->scratch)) ||
        (error = mx_api.cufftSetStream(plan->number, stream))) {
        mx_api.cufftDestroy(plan->number);
        return error;
    }
    plan->transform = *transform;
    return 0;
}

/* Finds a plan, or makes one in place of the one that was used least recently.  The caller
 * holds the lock.  Returns NULL after mx_fail. */
static struct plan *cuda_fft_get(const struct mx_transform *transform, mx_cuda_stream stream)
{
    struct plan *oldest = cache.plans, new;
    for (struct plan *plan = cache.plans; plan < cache.plans + MAX_PLANS; plan++) {
        if (plan->used && memcmp(&plan->transform, transform, sizeof *transform) == 0) {
            plan->used = ++cache.clock;
            return plan;
        }
        if (plan->used < oldest->used)
            oldest = plan;
    }
    int error = make(&new, transform, stream);
    if (error) {
        mx_fail(MX_ERROR_VALUE, "cuFFT failed: status %d", error);
        return NULL;
    }
    if (oldest->used)
        mx_api.cufftDestroy(oldest->number);
    *oldest = new;
    oldest->used = ++cache.clock;
    return oldest;
}

int mx_fft_prepare(const struct mx_transform *transform, size_t *scratch, mx_cuda_stream stream)
{
    if (!mx_api_open_fft())
        return mx_fail(MX_ERROR_VALUE, "cuFFT was not found");
    pthread_mutex_lock(&cache.lock);
    const struct plan *plan = cuda_fft_get(transform, stream);
    if (plan)
        *scratch = plan->scratch;
    pthread_mutex_unlock(&cache.lock);
    return plan ? MX_OK : MX_ERROR_VALUE;
}

int mx_fft_run(const struct mx_transform *transform, void *const *memories,
               mx_cuda_stream stream)
{
    pthread_mutex_lock(&cache.lock);
    const struct plan *plan = cuda_fft_get(transform, stream);
    int direction = transform->kind == MX_INVERSE || transform->kind == MX_TO_REAL
                        ? MX_CUFFT_INVERSE
                        : MX_CUFFT_FORWARD;
    int error = plan ? mx_api.cufftSetWorkArea(plan->number, memories[1]) : -1;
    error =
        error ? error : mx_api.cufftXtExec(plan->number, memories[0], memories[2], direction);
    pthread_mutex_unlock(&cache.lock);
    if (plan && error)
        mx_fail(MX_ERROR_VALUE, "cuFFT failed: status %d", error);
    return error ? MX_ERROR_VALUE : MX_OK;
}
