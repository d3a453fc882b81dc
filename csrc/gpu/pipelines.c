/* pipelines.c -- the cache of compiled kernels. */
#include "gpu/pipelines.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "gpu/device.h"

#define DEFAULT_LIMIT 4096
#define LISTS         1024 /* a power of two */

struct pipeline {
    struct pipeline *next; /* of its list */
    void *compiled;
    uint64_t hash, used;
    char *text; /* prelude, text and name of the function, each with a zero at its end */
    size_t length;
};

static struct {
    struct pipeline *lists[LISTS];
    int count, limit;
    uint64_t clock;
} cache = {.limit = DEFAULT_LIMIT};

/* FNV-1a. */
static uint64_t hash(const char *text, size_t length)
{
    uint64_t result = 14695981039346656037u;
    for (size_t i = 0; i < length; i++)
        result = (result ^ (unsigned char)text[i]) * 1099511628211u;
    return result;
}

static void drop(struct pipeline **link)
{
    struct pipeline *pipeline = *link;
    *link = pipeline->next;
    cache.count--;
    mx_device_used()->driver->release(pipeline->compiled);
    mx_free(pipeline->text);
    mx_free(pipeline);
}

static void drop_oldest(void)
{
    struct pipeline **oldest = NULL;
    for (int i = 0; i < LISTS; i++)
        for (struct pipeline **link = &cache.lists[i]; *link; link = &(*link)->next)
            if (!oldest || (*link)->used < (*oldest)->used)
                oldest = link;
    if (oldest)
        drop(oldest);
}

int mx_pipelines_set_limit(int limit)
{
    int before = cache.limit;
    cache.limit = limit;
    while (cache.count > limit)
        drop_oldest();
    return before;
}

static int compile(struct pipeline *pipeline, const char *prelude, const char *text,
                   const char *function)
{
    size_t head = strlen(prelude), length = strlen(text);
    char *source = mx_alloc(head + length + 1);
    if (!source)
        return mx_fail(MX_ERROR_MEMORY, "unable to compile a kernel of %zu bytes", length);
    memcpy(source, prelude, head);
    memcpy(source + head, text, length + 1);
    int status = mx_device_used()->driver->compile(&pipeline->compiled, source, function);
    mx_free(source);
    return status;
}

/* Takes ownership of the key. */
static struct pipeline *new_pipeline(char *key, size_t length, uint64_t hash)
{
    struct pipeline *pipeline = mx_alloc(sizeof *pipeline);
    if (!pipeline) {
        mx_fail(MX_ERROR_MEMORY, "unable to keep a kernel of %zu bytes", length);
        return NULL;
    }
    *pipeline = (struct pipeline){.text = key, .length = length, .hash = hash};
    return pipeline;
}

int mx_pipelines_get(const void **compiled, const char *prelude, const char *text,
                     const char *function)
{
    size_t head = strlen(prelude) + 1, middle = strlen(text) + 1, tail = strlen(function) + 1;
    size_t length = head + middle + tail;
    char *key = mx_alloc(length);
    if (!key)
        return mx_fail(MX_ERROR_MEMORY, "unable to look for a kernel of %zu bytes", length);
    memcpy(key, prelude, head);
    memcpy(key + head, text, middle);
    memcpy(key + head + middle, function, tail);
    uint64_t number = hash(key, length);
    struct pipeline **list = &cache.lists[number % LISTS];
    for (struct pipeline *found = *list; found; found = found->next) {
        if (found->hash != number || found->length != length ||
            memcmp(found->text, key, length) != 0)
            continue;
        found->used = ++cache.clock;
        mx_free(key);
        *compiled = found->compiled;
        return MX_OK;
    }
    struct pipeline *pipeline = new_pipeline(key, length, number);
    int status = pipeline ? compile(pipeline, prelude, text, function) : MX_ERROR_MEMORY;
    if (status != MX_OK) {
        mx_free(key);
        mx_free(pipeline);
        return status;
    }
    while (cache.count >= cache.limit && cache.count > 0)
        drop_oldest();
    pipeline->used = ++cache.clock;
    pipeline->next = *list;
    *list = pipeline;
    cache.count++;
    *compiled = pipeline->compiled;
    return MX_OK;
}
