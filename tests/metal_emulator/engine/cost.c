/* cost.c -- see cost.h. */
#include "cost.h"

#include <pthread.h>
#include <string.h>

#include "worker.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct engine_cost total;

void cost_begin(struct worker *worker) { worker->cost = (struct engine_cost){0}; }

void cost_end(struct worker *worker)
{
    pthread_mutex_lock(&lock);
#define X(name) total.name += worker->cost.name;
    ENGINE_COSTS(X)
#undef X
    if (total.threadgroup_bytes < worker->cost.threadgroup_bytes)
        total.threadgroup_bytes = worker->cost.threadgroup_bytes;
    pthread_mutex_unlock(&lock);
}

void cost_reset(void)
{
    pthread_mutex_lock(&lock);
    total = (struct engine_cost){0};
    pthread_mutex_unlock(&lock);
}

int64_t cost_get(const char *name)
{
    int64_t found = -1;
    pthread_mutex_lock(&lock);
#define X(counter)               \
    if (!strcmp(name, #counter)) \
        found = (int64_t)total.counter;
    ENGINE_COSTS(X)
    X(threadgroup_bytes)
#undef X
    pthread_mutex_unlock(&lock);
    return found;
}
