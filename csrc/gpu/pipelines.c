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
    const char *prelude;
    bool owns_prelude;
    char *text;   /* text and name of the function, each with a zero at its end */
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
static uint64_t pipelines_hash(const char *text, size_t length)
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

static int pipelines_compile(struct pipeline *pipeline)
{
    const char *prelude = pipeline->prelude, *text = pipeline->text;
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
    int status = pipelines_compile(pipeline);
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

static void pipelines_append(struct pipeline *pipeline)
{
    pthread_mutex_lock(&queue.lock);
    *queue.last = pipeline;
    queue.last = &pipeline->behind;
    start_thread();
    pthread_mutex_unlock(&queue.lock);
}

/* Waits until a pipeline is compiled.  Meanwhile this thread compiles what still waits. */
static void pipelines_await(struct pipeline *pipeline)
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
    if (pipeline->owns_prelude)
        mx_free((char *)pipeline->prelude);
    mx_free(pipeline->text);
    mx_free(pipeline);
}

static void pipelines_drop(struct pipeline **link)
{
    struct pipeline *pipeline = *link;
    *link = pipeline->next;
    cache.count--;
    pipelines_await(pipeline);
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
        pipelines_drop(oldest);
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

/* Preludes that are never freed.  They are long, so each is hashed only once. */
static struct prelude {
    const char *text;
    uint64_t hash;
} permanent[MX_PRELUDE_COUNT];

void mx_pipelines_keep(const char *const *preludes)
{
    for (int i = 0; i < MX_PRELUDE_COUNT; i++)
        permanent[i] =
            (struct prelude){preludes[i], pipelines_hash(preludes[i], strlen(preludes[i]))};
}

static const struct prelude *find_permanent(const char *text)
{
    for (int i = 0; i < MX_PRELUDE_COUNT; i++)
        if (permanent[i].text == text)
            return &permanent[i];
    return NULL;
}

/* The key of a kernel. */
struct key {
    const char *prelude, *text, *function;
    bool is_permanent; /* the prelude */
    uint64_t hash;
};

static struct key make_key(const char *prelude, const char *text, const char *function)
{
    const struct prelude *kept = find_permanent(prelude);
    uint64_t hashes[] = {kept ? kept->hash : pipelines_hash(prelude, strlen(prelude)),
                         pipelines_hash(text, strlen(text)),
                         pipelines_hash(function, strlen(function))};
    return (struct key){prelude, text, function, kept != NULL,
                        pipelines_hash((const char *)hashes, sizeof hashes)};
}

static bool has_key(const struct pipeline *pipeline, const struct key *key)
{
    size_t length = strlen(key->text) + 1;
    return pipeline->hash == key->hash && strcmp(pipeline->text, key->text) == 0 &&
           strcmp(pipeline->text + length, key->function) == 0 &&
           (pipeline->prelude == key->prelude || strcmp(pipeline->prelude, key->prelude) == 0);
}

static struct pipeline *pipelines_find(const struct key *key)
{
    struct pipeline *pipeline = cache.lists[key->hash % LISTS];
    while (pipeline && !has_key(pipeline, key))
        pipeline = pipeline->next;
    return pipeline;
}

/* Returns a pipeline with copies of the texts.  NULL after mx_fail. */
static struct pipeline *new_pipeline(const struct key *key)
{
    size_t middle = strlen(key->text) + 1, tail = strlen(key->function) + 1;
    size_t head = key->is_permanent ? 0 : strlen(key->prelude) + 1;
    struct pipeline *pipeline = mx_alloc(sizeof *pipeline);
    char *text = mx_alloc(middle + tail), *prelude = head ? mx_alloc(head) : NULL;
    if (!pipeline || !text || (head && !prelude)) {
        mx_free(pipeline);
        mx_free(text);
        mx_free(prelude);
        mx_fail(MX_ERROR_MEMORY, "unable to keep a kernel of %zu bytes", middle);
        return NULL;
    }
    memcpy(text, key->text, middle);
    memcpy(text + middle, key->function, tail);
    if (head)
        memcpy(prelude, key->prelude, head);
    *pipeline = (struct pipeline){.hash = key->hash,
                                  .prelude = head ? prelude : key->prelude,
                                  .owns_prelude = head > 0,
                                  .text = text};
    return pipeline;
}

/* Adds a pipeline to the cache and to the queue. */
static struct pipeline *pipelines_add(const struct key *key)
{
    struct pipeline *pipeline = new_pipeline(key);
    if (!pipeline)
        return NULL;
    while (cache.count >= cache.limit && cache.count > 0 && drop_oldest())
        ;
    struct pipeline **list = &cache.lists[key->hash % LISTS];
    pipeline->next = *list;
    pipeline->used = ++cache.clock;
    *list = pipeline;
    cache.count++;
    pipelines_append(pipeline);
    return pipeline;
}

void mx_pipelines_begin(const char *prelude, const char *text, const char *function)
{
    struct key key = make_key(prelude, text, function);
    if (cache.count < cache.limit && !pipelines_find(&key))
        pipelines_add(&key);
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
        struct pipeline **link = &cache.lists[pipeline->hash % LISTS];
        while (*link != pipeline)
            link = &(*link)->next;
        pipelines_drop(link);
    }
    return status;
}

int mx_pipelines_get(const void **compiled, const char *prelude, const char *text,
                     const char *function, void (*begin_others)(void))
{
    struct key key = make_key(prelude, text, function);
    struct pipeline *pipeline = pipelines_find(&key);
    bool is_new = !pipeline;
    if (is_new)
        pipeline = pipelines_add(&key);
    if (!pipeline)
        return MX_ERROR_MEMORY;
    pipeline->is_held = true;
    if (is_new && begin_others)
        begin_others();
    pipelines_await(pipeline);
    pipeline->is_held = false;
    return use(pipeline, compiled);
}
