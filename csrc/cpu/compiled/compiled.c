/* compiled.c -- the table of compiled kernels, and the thread that has them compiled. */
#include "cpu/compiled/compiled.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/code_cache.h"
#include "base/thread.h"

#define MAX_ENTRIES 2048
#define N_SLOTS     4096 /* of the table: a power of two, greater than MAX_ENTRIES */
#define STACK_SIZE  ((size_t)8 << 20) /* LLVM's passes are recursive */

enum state { COUNTED, REQUESTED, FINISHED };

struct entry {
    uint64_t hash;
    enum state state;
    int64_t work;                /* of the programs that looked it up */
    struct mx_compiled *kernels; /* NULL unless it is finished and some calls were compiled */
    struct entry *next;          /* among those that were requested */
    struct entry *next_forgotten;
    int n;
    short numbers[];
};

static struct {
    pthread_mutex_t lock;     /* of all fields */
    pthread_cond_t requested; /* the list is not empty, or the thread has to end */
    pthread_cond_t is_idle;   /* nothing is being compiled */
    mx_compiler *compiler;    /* NULL: nothing is compiled */
    bool is_immediate;        /* a lookup waits for the compiler */
    bool has_thread, is_compiling, is_stopped;
    int n_pauses;
    struct entry *first, *last; /* that were requested */
    struct entry *slots[N_SLOTS];
    struct entry *forgotten; /* they are kept, as their kernels may be running */
    int n_entries;
    struct mx_compiled_stats stats;
} table = {.lock = PTHREAD_MUTEX_INITIALIZER,
           .requested = PTHREAD_COND_INITIALIZER,
           .is_idle = PTHREAD_COND_INITIALIZER};

/* The compiler is read without the lock, because most lookups find that there is none. */
static atomic_bool is_on;

/* -- The table --------------------------------------------------------------------- */

static uint64_t hash_of(const struct mx_compiled_key *key)
{
    uint64_t hash = 14695981039346656037u; /* FNV-1a, a number at a time */
    for (int i = 0; i < key->n; i++)
        hash = (hash ^ (unsigned short)key->numbers[i]) * 1099511628211u;
    return hash ^ hash >> 32;
}

/* Returns the slot of a key: it is empty if the key is not in the table. */
static struct entry **slot_of(const struct mx_compiled_key *key)
{
    uint64_t hash = hash_of(key);
    size_t size = (size_t)key->n * sizeof *key->numbers;
    for (size_t i = hash;; i++) {
        struct entry **slot = &table.slots[i % N_SLOTS], *entry = *slot;
        if (!entry || (entry->hash == hash && entry->n == key->n &&
                       memcmp(entry->numbers, key->numbers, size) == 0))
            return slot;
    }
}

static struct entry *add_entry(struct entry **slot, const struct mx_compiled_key *key)
{
    size_t size = (size_t)key->n * sizeof *key->numbers;
    struct entry *entry = table.n_entries < MAX_ENTRIES ? mx_alloc(sizeof *entry + size) : NULL;
    if (!entry)
        return NULL;
    *entry = (struct entry){.hash = hash_of(key), .n = key->n};
    memcpy(entry->numbers, key->numbers, size);
    table.n_entries++;
    return *slot = entry;
}

static void forget_entries(void)
{
    for (int i = 0; i < N_SLOTS; i++) {
        struct entry *entry = table.slots[i];
        if (!entry)
            continue;
        entry->next_forgotten = table.forgotten;
        table.forgotten = entry;
        table.slots[i] = NULL;
    }
    table.n_entries = 0;
}

/* -- Compiling --------------------------------------------------------------------- */

/* Has an entry compiled.  The lock is held before and after, but not meanwhile: the compiler
 * may wait for a thread that looks up a key. */
static void compile(struct entry *entry)
{
    struct mx_compiled_run runs[MX_MAX_COMPILED_RUNS];
    mx_compiler *compiler = table.compiler;
    table.is_compiling = true;
    pthread_mutex_unlock(&table.lock);
    int64_t begin = mx_now();
    int n_runs = compiler(entry->numbers, entry->n, runs);
    int64_t nanoseconds = mx_now() - begin;
    struct mx_compiled *kernels = NULL;
    if (n_runs > 0 && (kernels = mx_alloc(sizeof *kernels + (size_t)n_runs * sizeof *runs))) {
        kernels->n_runs = n_runs;
        memcpy(kernels->runs, runs, (size_t)n_runs * sizeof *runs);
    }
    pthread_mutex_lock(&table.lock);
    table.is_compiling = false;
    entry->kernels = kernels;
    entry->state = FINISHED;
    table.stats.n_kernels += kernels ? n_runs : 0;
    table.stats.n_keys++;
    table.stats.n_failures += n_runs == MX_COMPILER_FAILED;
    table.stats.nanoseconds += nanoseconds;
    if (n_runs == MX_NO_COMPILER) {
        table.compiler = NULL;
        atomic_store(&is_on, false);
    }
    pthread_cond_broadcast(&table.is_idle);
}

static void *compile_requested(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&table.lock);
    while (!table.is_stopped) {
        struct entry *entry = table.first;
        if (!entry || table.n_pauses > 0) {
            pthread_cond_wait(&table.requested, &table.lock);
            continue;
        }
        table.first = entry->next;
        if (table.compiler)
            compile(entry);
        pthread_cond_broadcast(&table.is_idle);
    }
    table.has_thread = false;
    pthread_cond_broadcast(&table.is_idle);
    pthread_mutex_unlock(&table.lock);
    return NULL;
}

/* A thread that cannot be started is tried again with the next request. */
static void request(struct entry *entry)
{
    if (!table.has_thread && !table.is_stopped)
        table.has_thread = mx_thread_start(compile_requested, NULL, STACK_SIZE);
    if (!table.has_thread || table.is_stopped)
        return;
    entry->state = REQUESTED;
    entry->next = NULL;
    if (table.first)
        table.last->next = entry;
    else
        table.first = entry;
    table.last = entry;
    pthread_cond_signal(&table.requested);
}

const struct mx_compiled *mx_compiled_get(const struct mx_compiled_key *key, int64_t work)
{
    if (!atomic_load_explicit(&is_on, memory_order_relaxed))
        return NULL;
    const struct mx_compiled *kernels = NULL;
    pthread_mutex_lock(&table.lock);
    struct entry **slot = slot_of(key), *entry = *slot ? *slot : add_entry(slot, key);
    if (entry && table.compiler) {
        entry->work += work;
        if (entry->state == COUNTED && table.is_immediate)
            compile(entry);
        else if (entry->state == COUNTED && entry->work >= MX_COMPILED_WORK)
            request(entry);
        kernels = entry->kernels;
    }
    pthread_mutex_unlock(&table.lock);
    return kernels;
}

bool mx_compiled_is_on(void) { return atomic_load_explicit(&is_on, memory_order_relaxed); }

/* -- mxnp.h ------------------------------------------------------------------------ */

void mx_compiled_start(mx_compiler *compiler, bool is_immediate)
{
    pthread_mutex_lock(&table.lock);
    if (!compiler)
        forget_entries();
    table.compiler = compiler;
    table.is_immediate = is_immediate;
    table.is_stopped = false;
    atomic_store(&is_on, compiler != NULL);
    pthread_mutex_unlock(&table.lock);
}

void mx_compiled_stop(void)
{
    pthread_mutex_lock(&table.lock);
    table.is_stopped = true;
    atomic_store(&is_on, false);
    pthread_cond_signal(&table.requested);
    while (table.has_thread || table.is_compiling)
        pthread_cond_wait(&table.is_idle, &table.lock);
    pthread_mutex_unlock(&table.lock);
}

void mx_compiled_wait(void)
{
    pthread_mutex_lock(&table.lock);
    while (table.is_compiling || (table.first && table.has_thread))
        pthread_cond_wait(&table.is_idle, &table.lock);
    pthread_mutex_unlock(&table.lock);
}

void mx_compiled_pause(void)
{
    pthread_mutex_lock(&table.lock);
    table.n_pauses++;
    while (table.is_compiling)
        pthread_cond_wait(&table.is_idle, &table.lock);
    pthread_mutex_unlock(&table.lock);
}

void mx_compiled_resume(void)
{
    pthread_mutex_lock(&table.lock);
    table.n_pauses--;
    pthread_cond_signal(&table.requested);
    pthread_mutex_unlock(&table.lock);
}

void mx_compiled_stats(struct mx_compiled_stats *out)
{
    pthread_mutex_lock(&table.lock);
    *out = table.stats;
    pthread_mutex_unlock(&table.lock);
}

/* -- On disk ----------------------------------------------------------------------- */

static struct mx_code_key key_on_disk(const char *key, size_t size)
{
    return mx_code_cache_add((struct mx_code_key){{0}}, key, size);
}

char *mx_compiled_read(const char *key, size_t key_size, size_t *size)
{
    return mx_code_cache_read(mx_settings.jit_cache, key_on_disk(key, key_size), size);
}

void mx_compiled_free(char *code) { mx_free(code); }

void mx_compiled_write(const char *key, size_t key_size, const char *code, size_t size)
{
    mx_code_cache_write(mx_settings.jit_cache, key_on_disk(key, key_size), code, size);
}

void mx_compiled_clear(void) { mx_code_cache_clear(mx_settings.jit_cache); }

/* -- Fork -------------------------------------------------------------------------- */

/* A child could find the compiler's locks held forever, so nothing is compiled during a fork
 * that Python makes: the bridge pauses the thread.  After any other fork in the middle of a
 * compilation, the child compiles nothing. */
void mx_compiled_before_fork(void) { pthread_mutex_lock(&table.lock); }

void mx_compiled_after_fork(bool in_child)
{
    if (in_child) {
        pthread_cond_init(&table.requested, NULL);
        pthread_cond_init(&table.is_idle, NULL);
        table.has_thread = false;
        if (table.is_compiling) {
            table.is_compiling = false;
            table.compiler = NULL;
            atomic_store(&is_on, false);
        }
        for (struct entry *entry = table.first; entry; entry = entry->next)
            entry->state = COUNTED;
        table.first = NULL;
    }
    pthread_mutex_unlock(&table.lock);
}
