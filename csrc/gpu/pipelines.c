/* pipelines.c -- the cache of compiled kernels, and of those that the compiler rejects. */
#include "gpu/pipelines.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "gpu/device.h"

#define DEFAULT_LIMIT 4096
#define LISTS         1024 /* a power of two */

struct pipeline {
    struct pipeline *next; /* of its list */
    void *compiled;        /* NULL: the compiler rejects it */
    char *failure;         /* why, or NULL */
    uint64_t hash, used;
    char *text; /* prelude, text and name of the function, each with a zero at its end */
    size_t length;
};

static struct {
    struct pipeline *lists[LISTS];
    int count, limit;
    uint64_t clock;
} cache = {.limit = DEFAULT_LIMIT};

#define LANES 4

/* FNV-1a of words of 8 bytes, in lanes that the processor multiplies side by side: texts are
 * long, and each use of a kernel needs the hash. */
static uint64_t hash(const char *text, size_t length)
{
    const uint64_t prime = 1099511628211u;
    uint64_t lanes[LANES] = {14695981039346656037u, 1, 2, 3}, result = length;
    for (; length >= sizeof lanes; length -= sizeof lanes, text += sizeof lanes) {
        uint64_t words[LANES];
        memcpy(words, text, sizeof words);
        for (int k = 0; k < LANES; k++) {
            lanes[k] = (lanes[k] ^ words[k]) * prime;
            lanes[k] ^= lanes[k] >> 32;
        }
    }
    for (int k = 0; k < LANES; k++)
        result = (result ^ lanes[k]) * prime;
    for (size_t i = 0; i < length; i++)
        result = (result ^ (unsigned char)text[i]) * prime;
    return result ^ result >> 32;
}

static void drop(struct pipeline **link)
{
    struct pipeline *pipeline = *link;
    *link = pipeline->next;
    cache.count--;
    if (pipeline->compiled)
        mx_device_used()->driver->release(pipeline->compiled);
    mx_free(pipeline->failure);
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

/* Keeps the message of a kernel that does not compile.  Returns false if there is no memory. */
static bool keep_failure(struct pipeline *pipeline)
{
    const char *message = mx_error_message();
    pipeline->failure = mx_alloc(strlen(message) + 1);
    if (pipeline->failure)
        strcpy(pipeline->failure, message);
    return pipeline->failure != NULL;
}

static int use(struct pipeline *pipeline, const void **compiled)
{
    pipeline->used = ++cache.clock;
    *compiled = pipeline->compiled;
    return pipeline->failure ? mx_fail(MX_ERROR_VALUE, "%s", pipeline->failure) : MX_OK;
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
        mx_free(key);
        return use(found, compiled);
    }
    struct pipeline *pipeline = new_pipeline(key, length, number);
    int status = pipeline ? compile(pipeline, prelude, text, function) : MX_ERROR_MEMORY;
    bool is_kept = status == MX_OK || (status == MX_ERROR_VALUE && keep_failure(pipeline));
    if (!is_kept) {
        mx_free(key);
        mx_free(pipeline);
        return status;
    }
    while (cache.count >= cache.limit && cache.count > 0)
        drop_oldest();
    pipeline->next = *list;
    *list = pipeline;
    cache.count++;
    return use(pipeline, compiled);
}
