/* settings.c -- see settings.h and metal_emulator.h. */
#include "settings.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../engine/cost.h"
#include "../engine/engine.h"
#include "metal_emulator.h"

#define EXPORT __attribute__((visibility("default")))

enum { REPORT_SIZE = 1024 };

static struct host_settings settings = {.macos = 15};

/* -- Keys -------------------------------------------------------------------------- */

static const struct {
    const char *key;
    const char *variable; /* of the environment, or NULL */
    long *value;
} keys[] = {
    {"workers", "METAL_EMULATOR_WORKERS", &engine_settings.workers},
    {"branches", "METAL_EMULATOR_BRANCHES", &engine_settings.branches},
    {"seed", "METAL_EMULATOR_SEED", &engine_settings.seed},
    {"race", "METAL_EMULATOR_RACE", &engine_settings.race},
    {"chaos", "METAL_EMULATOR_CHAOS", &engine_settings.chaos},
    {"cost", "METAL_EMULATOR_COST", &engine_settings.cost},
    {"deferred", "METAL_EMULATOR_DEFERRED", &settings.deferred},
    {"plain", "METAL_EMULATOR_PLAIN", &settings.plain},
    {"verbose", "METAL_EMULATOR_VERBOSE", &settings.verbose},
    {"abort", "METAL_EMULATOR_ABORT", &settings.abort_on_report},
    {"pipeline_threads", "METAL_EMULATOR_PIPELINE_THREADS", &settings.pipeline_threads},
    {"macos", "METAL_EMULATOR_MACOS", &settings.macos},
    {"max_buffer", "METAL_EMULATOR_MAX_BUFFER", &settings.max_buffer},
    {"together", "METAL_EMULATOR_TOGETHER", &settings.together},
};

static const struct {
    const char *key;
    _Atomic long *value;
} faults[] = {
    {"fail_next_command_buffer", &settings.fail_next_command_buffer},
    {"fail_next_library", &settings.fail_next_library},
    {"fail_next_pipeline", &settings.fail_next_pipeline},
    {"fail_buffer_allocations", &settings.fail_buffer_allocations},
    {"device_lost", &settings.device_lost},
    {"no_device", &settings.no_device},
    {"discrete", &settings.discrete},
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void read_environment(void)
{
    for (size_t i = 0; i < COUNT(keys); i++) {
        const char *text = getenv(keys[i].variable);
        if (text)
            *keys[i].value = *text ? strtol(text, NULL, 0) : 1;
    }
}

struct host_settings *host_settings(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_environment);
    return &settings;
}

EXPORT void metal_emulator_configure(const char *key, long value)
{
    host_settings();
    for (size_t i = 0; i < COUNT(keys); i++)
        if (!strcmp(keys[i].key, key)) {
            *keys[i].value = value;
            return;
        }
    for (size_t i = 0; i < COUNT(faults); i++)
        if (!strcmp(faults[i].key, key)) {
            *faults[i].value = value;
            return;
        }
    fprintf(stderr, "Metal emulator: there is no setting %s\n", key);
    abort();
}

EXPORT long metal_emulator_cost(const char *counter) { return (long)cost_get(counter); }

EXPORT void metal_emulator_reset_costs(void) { cost_reset(); }

long take_fault(_Atomic long *fault) { return *fault ? atomic_exchange(fault, 0) : 0; }

bool count_fault(_Atomic long *fault)
{
    long left = *fault;
    while (left > 0 && !atomic_compare_exchange_weak(fault, &left, left - 1))
        ;
    return left != 0;
}

/* -- Reports ----------------------------------------------------------------------- */

static struct {
    pthread_mutex_t lock;
    char last[REPORT_SIZE];
    int count;
} reports = {.lock = PTHREAD_MUTEX_INITIALIZER};

void host_report(const char *format, ...)
{
    va_list arguments;
    pthread_mutex_lock(&reports.lock);
    va_start(arguments, format);
    vsnprintf(reports.last, sizeof reports.last, format, arguments);
    va_end(arguments);
    reports.count++;
    if (host_settings()->verbose || host_settings()->abort_on_report)
        fprintf(stderr, "Metal emulator: %s\n", reports.last);
    pthread_mutex_unlock(&reports.lock);
    if (host_settings()->abort_on_report)
        abort();
}

EXPORT int metal_emulator_report_count(void)
{
    pthread_mutex_lock(&reports.lock);
    int count = reports.count;
    pthread_mutex_unlock(&reports.lock);
    return count;
}

EXPORT const char *metal_emulator_last_report(void)
{
    static _Thread_local char *copy; /* little, see engine_worker */
    pthread_mutex_lock(&reports.lock);
    free(copy);
    copy = strdup(reports.last);
    pthread_mutex_unlock(&reports.lock);
    return copy;
}
