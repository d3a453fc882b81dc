/* pipelines.c -- the cache of compiled kernels, and of those that the compiler rejects.
 *
 * The thread inside the stream changes the cache.  Other threads only compile: they take a
 * pipeline from the front of a queue, and end when it is empty.  So no thread waits for work
 * when the process forks or ends.
 */
#include "gpu/pipelines.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/thread.h"
#include "gpu/device.h"

#define DEFAULT_LIMIT 4096
#define LISTS         1024              /* a power of two */
#define MAX_THREADS   8                 /* that compile at the same time */
#define STACK_SIZE    ((size_t)8 << 20) /* which compilers expect */

enum state { WAITS, IS_TAKEN, IS_DONE };

struct pipeline {
    struct pipeline *next; /* of its list */
    uint64_t hash, used;
    char *text; /* prelude, text and name of the function, each with a zero at its end */
    size_t length;
    bool is_held; /* it must not be dropped */

    /* Another thread may set these until the state is IS_DONE. */
    enum state state;
    struct pipeline *behind; /* in the queue */
    int status;              /* of the compiler */
    void *compiled;
    char *failure; /* why there is none, or NULL */
};

static struct {
    struct pipeline *lists[LISTS];
    int count, limit;
    uint64_t clock;
} cache = {.limit = DEFAULT_LIMIT};

static struct {
    pthread_mutex_t lock; /* protects the other fields, and the states of pipelines */
    pthread_cond_t changed;
    struct pipeline *first, **last; /* that wait */
    int n_threads;
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER,
           .changed = PTHREAD_COND_INITIALIZER,
           .last = &queue.first};

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

/* -- Compiling --------------------------------------------------------------------- */

static int compile(struct pipeline *pipeline)
{
    const char *prelude = pipeline->text, *text = prelude + strlen(prelude) + 1;
    size_t head = strlen(prelude), length = strlen(text);
    char *source = mx_alloc(head + length + 1);
    if (!source)
        return mx_fail(MX_ERROR_MEMORY, "unable to compile a kernel of %zu bytes", length);
    memcpy(source, prelude, head);
    memcpy(source + head, text, length + 1);
    int status =
        mx_device_used()->driver->compile(&pipeline->compiled, source, text + length + 1);
    mx_free(source);
    return status;
}

/* Compiles a pipeline that this thread has taken.  The caller holds the lock, which is open
 * meanwhile. */
static void compile_taken(struct pipeline *pipeline)
{
    pthread_mutex_unlock(&queue.lock);
    int status = compile(pipeline);
    const char *message = status == MX_OK ? NULL : mx_error_message();
    char *failure = message ? mx_alloc(strlen(message) + 1) : NULL;
    if (failure)
        strcpy(failure, message);
    pthread_mutex_lock(&queue.lock);
    pipeline->status = message && !failure ? MX_ERROR_MEMORY : status;
    pipeline->failure = failure;
    pipeline->state = IS_DONE;
    pthread_cond_broadcast(&queue.changed);
}

static struct pipeline *take_first(void)
{
    struct pipeline *first = queue.first;
    if (!first)
        return NULL;
    queue.first = first->behind;
    if (!queue.first)
        queue.last = &queue.first;
    first->state = IS_TAKEN;
    return first;
}

static void *run_thread(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&queue.lock);
    for (struct pipeline *taken; (taken = take_first()) != NULL;)
        compile_taken(taken);
    queue.n_threads--;
    pthread_cond_broadcast(&queue.changed);
    pthread_mutex_unlock(&queue.lock);
    return NULL;
}

/* Compilers do not survive the end of the process: what they compile now is waited for. */
static void end_threads(void)
{
    pthread_mutex_lock(&queue.lock);
    queue.first = NULL;
    queue.last = &queue.first;
    while (queue.n_threads > 0)
        pthread_cond_wait(&queue.changed, &queue.lock);
    pthread_mutex_unlock(&queue.lock);
}

/* The child of a fork has no other threads, and cannot use the device. */
static void forget_threads(void)
{
    pthread_mutex_init(&queue.lock, NULL);
    pthread_cond_init(&queue.changed, NULL);
    queue.first = NULL;
    queue.last = &queue.first;
    queue.n_threads = 0;
    for (int i = 0; i < LISTS; i++)
        for (struct pipeline *each = cache.lists[i]; each; each = each->next)
            if (each->state != IS_DONE) {
                each->state = IS_DONE;
                each->status = MX_ERROR_DEVICE;
            }
}

static void prepare_threads(void)
{
    atexit(end_threads);
    pthread_atfork(NULL, NULL, forget_threads);
}

/* Starts one more thread.  If that fails, the thread that
 * needs the kernel compiles it. */
static void start_thread(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, prepare_threads);
    if (queue.n_threads < MAX_THREADS)
        queue.n_threads += mx_thread_start(run_thread, NULL, STACK_SIZE);
}

static void append(struct pipeline *pipeline)
{
    pthread_mutex_lock(&queue.lock);
    *queue.last = pipeline;
    queue.last = &pipeline->behind;
    start_thread();
    pthread_mutex_unlock(&queue.lock);
}

/* Waits until a pipeline is compiled.  Meanwhile this thread compiles what still waits. */
static void await(struct pipeline *pipeline)
{
    pthread_mutex_lock(&queue.lock);
    while (pipeline->state != IS_DONE) {
        struct pipeline *taken = pipeline->state == WAITS ? take_first() : NULL;
        if (taken)
            compile_taken(taken);
        else
            pthread_cond_wait(&queue.changed, &queue.lock);
    }
    pthread_mutex_unlock(&queue.lock);
}

/* -- The cache --------------------------------------------------------------------- */

static void free_pipeline(struct pipeline *pipeline)
{
    if (pipeline->compiled)
        mx_device_used()->driver->release(pipeline->compiled);
    mx_free(pipeline->failure);
    mx_free(pipeline->text);
    mx_free(pipeline);
}

static void drop(struct pipeline **link)
{
    struct pipeline *pipeline = *link;
    *link = pipeline->next;
    cache.count--;
    await(pipeline);
    free_pipeline(pipeline);
}

/* Returns whether there was one that may be dropped. */
static bool drop_oldest(void)
{
    struct pipeline **oldest = NULL;
    for (int i = 0; i < LISTS; i++)
        for (struct pipeline **link = &cache.lists[i]; *link; link = &(*link)->next)
            if (!(*link)->is_held && (!oldest || (*link)->used < (*oldest)->used))
                oldest = link;
    if (oldest)
        drop(oldest);
    return oldest != NULL;
}

int mx_pipelines_set_limit(int limit)
{
    int before = cache.limit;
    cache.limit = limit;
    while (cache.count > limit && drop_oldest())
        ;
    return before;
}

/* The key of a kernel. */
struct key {
    char *text;
    size_t length;
    uint64_t hash;
};

static bool make_key(struct key *key, const char *prelude, const char *text,
                     const char *function)
{
    size_t head = strlen(prelude) + 1, middle = strlen(text) + 1, tail = strlen(function) + 1;
    key->length = head + middle + tail;
    key->text = mx_alloc(key->length);
    if (!key->text) {
        mx_fail(MX_ERROR_MEMORY, "unable to look for a kernel of %zu bytes", key->length);
        return false;
    }
    memcpy(key->text, prelude, head);
    memcpy(key->text + head, text, middle);
    memcpy(key->text + head + middle, function, tail);
    key->hash = hash(key->text, key->length);
    return true;
}

static struct pipeline **find(const struct key *key)
{
    struct pipeline **link = &cache.lists[key->hash % LISTS];
    while (*link && ((*link)->hash != key->hash || (*link)->length != key->length ||
                     memcmp((*link)->text, key->text, key->length) != 0))
        link = &(*link)->next;
    return link;
}

/* Adds a pipeline to the cache and to the queue.  Takes ownership of the key. */
static struct pipeline *add(const struct key *key)
{
    struct pipeline *pipeline = mx_alloc(sizeof *pipeline);
    if (!pipeline) {
        mx_fail(MX_ERROR_MEMORY, "unable to keep a kernel of %zu bytes", key->length);
        mx_free(key->text);
        return NULL;
    }
    while (cache.count >= cache.limit && cache.count > 0 && drop_oldest())
        ;
    struct pipeline **list = &cache.lists[key->hash % LISTS];
    *pipeline = (struct pipeline){.next = *list,
                                  .hash = key->hash,
                                  .used = ++cache.clock,
                                  .text = key->text,
                                  .length = key->length};
    *list = pipeline;
    cache.count++;
    append(pipeline);
    return pipeline;
}

void mx_pipelines_begin(const char *prelude, const char *text, const char *function)
{
    struct key key;
    if (cache.count >= cache.limit || !make_key(&key, prelude, text, function))
        return;
    if (*find(&key))
        mx_free(key.text);
    else
        add(&key);
}

/* Returns the status of a pipeline that is compiled.  If it is one that may pass, the pipeline
 * is dropped. */
static int use(struct pipeline *pipeline, const void **compiled)
{
    int status = pipeline->status;
    pipeline->used = ++cache.clock;
    *compiled = pipeline->compiled;
    if (status == MX_OK)
        return MX_OK;
    mx_fail(status, "%s", pipeline->failure ? pipeline->failure : "unable to keep a message");
    if (status != MX_ERROR_VALUE) {
        struct key key = {pipeline->text, pipeline->length, pipeline->hash};
        drop(find(&key));
    }
    return status;
}

int mx_pipelines_get(const void **compiled, const char *prelude, const char *text,
                     const char *function, void (*begin_others)(void))
{
    struct key key;
    if (!make_key(&key, prelude, text, function))
        return MX_ERROR_MEMORY;
    struct pipeline *pipeline = *find(&key);
    bool is_new = !pipeline;
    if (is_new)
        pipeline = add(&key);
    else
        mx_free(key.text);
    if (!pipeline)
        return MX_ERROR_MEMORY;
    pipeline->is_held = true;
    if (is_new && begin_others)
        begin_others();
    await(pipeline);
    pipeline->is_held = false;
    return use(pipeline, compiled);
}
