/* libraries.c -- see libraries.h.
 *
 * The file name of a library is a hash of everything that it is made from.  The file is written
 * under another name and renamed, so processes may compile the same source at the same time.
 * kept.h says how a file is checked.
 */
#include "libraries.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kept.h"
#include "metal_emulator.h"
#include "settings.h"

#define EXPORT __attribute__((visibility("default")))

extern char **environ;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* it is open while one compiles */
static struct kernel_library *loaded;

static const char *variable_or(const char *name, const char *otherwise)
{
    const char *value = getenv(name);
    return value && *value ? value : otherwise;
}

static const char *folder(void) { return variable_or("METAL_EMULATOR_FOLDER", METAL_EMULATOR_FOLDER); }

static const char *python(void) { return variable_or("METAL_EMULATOR_PYTHON", METAL_EMULATOR_PYTHON); }

/* -- What a library is made from ---------------------------------------------------- */

/* With its end, so that what follows cannot be taken for a part of it. */
static hash128 add_string(hash128 hash, const char *string)
{
    return add_bytes(hash, string, strlen(string) + 1);
}

static hash128 add_file(hash128 hash, const char *path)
{
    char chunk[4096];
    size_t size;
    FILE *file = fopen(path, "rb");
    while (file && (size = fread(chunk, 1, sizeof chunk, file)) > 0)
        hash = add_bytes(hash, chunk, size);
    if (file)
        fclose(file);
    return hash;
}

static int is_front_end(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && entry->d_name[0] != '_';
}

static hash128 add_folder(hash128 hash, const char *path)
{
    struct dirent **entries;
    int count = scandir(path, &entries, is_front_end, alphasort);
    for (int i = 0; i < count; i++) {
        char inner[PATH_MAX];
        snprintf(inner, sizeof inner, "%s/%s", path, entries[i]->d_name);
        hash = add_string(hash, entries[i]->d_name);
        hash = entries[i]->d_type == DT_DIR ? add_folder(hash, inner) : add_file(hash, inner);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    return hash;
}

/* Of the compiler itself: asked once. */
static hash128 front_end_hash(void)
{
    static hash128 hash;
    if (hash)
        return hash;
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/msl", folder());
    hash = add_folder(HASH_START, path);
    hash = add_string(hash, python());
    return hash = add_string(hash, variable_or("METAL_EMULATOR_CLANG", ""));
}

/* -- Compiling --------------------------------------------------------------------- */

/* A folder of one compilation's own. */
struct workshop {
    char folder[PATH_MAX - 64];
    char source[PATH_MAX], library[PATH_MAX], diagnostics[PATH_MAX];
};

static bool open_workshop(struct workshop *shop, const char *cache)
{
    snprintf(shop->folder, sizeof shop->folder, "%s/compile.XXXXXX", cache);
    if (!mkdtemp(shop->folder))
        return false;
    snprintf(shop->source, PATH_MAX, "%s/program_source.metal", shop->folder);
    snprintf(shop->library, PATH_MAX, "%s/library.so", shop->folder);
    snprintf(shop->diagnostics, PATH_MAX, "%s/diagnostics", shop->folder);
    return true;
}

static void close_workshop(const struct workshop *shop)
{
    struct dirent **entries;
    int count = scandir(shop->folder, &entries, NULL, NULL);
    for (int i = 0; i < count; i++) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%s/%s", shop->folder, entries[i]->d_name);
        unlink(path);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    rmdir(shop->folder);
}

static bool write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    if (!file)
        return false;
    bool is_written = fputs(text, file) >= 0;
    return fclose(file) == 0 && is_written;
}

static char *read_file(const char *path)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = fopen(path, "r");
    if (!file || getdelim(&text, &size, '\0', file) < 0) {
        free(text);
        text = NULL;
    }
    if (file)
        fclose(file);
    return text;
}

/* Returns the exit status of the front end, or -1 with errno set. */
static int run_front_end(const struct workshop *shop, struct language language)
{
    char program[PATH_MAX], version[32];
    const char *arguments[9] = {python(), program, shop->source, shop->library, version};
    int count = 5, status = -1;
    snprintf(program, sizeof program, "%s/msl/compile.py", folder());
    snprintf(version, sizeof version, "--version=%d", language.version);
    if (language.fast_math)
        arguments[count++] = "--fast-math";
    if (language.fast_functions)
        arguments[count++] = "--fast-functions";
    if (host_settings()->plain)
        arguments[count++] = "--plain";
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, shop->diagnostics,
                                     O_WRONLY | O_CREAT | O_TRUNC, 0600);
    pid_t child;
    errno = posix_spawnp(&child, python(), &actions, NULL, (char **)arguments, environ);
    if (!errno)
        while (waitpid(child, &status, 0) < 0 && errno == EINTR)
            ;
    posix_spawn_file_actions_destroy(&actions);
    return errno && status == -1 ? -1 : WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

/* What is asked for, and where it is kept. */
struct job {
    const char *source;
    struct language language;
    hash128 key;
    char cache[PATH_MAX - 64];
    char path[PATH_MAX];
};

static bool compile(const struct job *job, char **diagnostics)
{
    struct workshop shop;
    if (!open_workshop(&shop, job->cache)) {
        *diagnostics = describe(job->cache);
        return false;
    }
    bool is_made = false;
    errno = 0;
    if (!write_file(shop.source, job->source)) {
        *diagnostics = describe(shop.source);
    } else {
        int status = run_front_end(&shop, job->language);
        if (status == 0 && keep_file(shop.library, job->path, job->key))
            is_made = true;
        else
            *diagnostics = status > 0    ? read_file(shop.diagnostics)
                           : status == 0 ? describe(job->path)
                                         : describe(python());
    }
    close_workshop(&shop);
    if (!is_made && !*diagnostics)
        *diagnostics = strdup("Metal emulator: the front end failed and does not say why");
    return is_made;
}

/* -- Loading ----------------------------------------------------------------------- */

/* It is never unloaded: pipelines keep pointers into it. */
static struct kernel_library *open_library(int file, hash128 key, char **diagnostics)
{
    void *handle = load_file(file);
    void (*load)(const struct msl_engine *) = handle ? dlsym(handle, "metal_emulator_load") : NULL;
    const struct msl_kernel *kernels = handle ? dlsym(handle, "metal_emulator_kernels") : NULL;
    const uint32_t *count = handle ? dlsym(handle, "metal_emulator_kernel_count") : NULL;
    if (!load || !kernels || !count) {
        const char *problem = dlerror();
        *diagnostics = problem ? strdup(problem) : describe("a kernel's copy in memory");
        return NULL;
    }
    load(&engine_for_kernels);
    struct kernel_library *library = calloc(1, sizeof *library);
    library->key = key;
    library->kernels = kernels;
    library->kernel_count = *count;
    library->dispatches = calloc(*count + 1, sizeof *library->dispatches);
    library->image = engine_image_of(kernels);
    return library;
}

static struct kernel_library *find_loaded(hash128 key)
{
    for (struct kernel_library *library = loaded; library; library = library->next)
        if (library->key == key)
            return library;
    return NULL;
}

/* What is not what was kept is compiled again. */
static int open_or_compile(struct job *job, char **diagnostics)
{
    snprintf(job->path, sizeof job->path, "%s/%016llx%016llx.so", job->cache,
             (unsigned long long)(job->key >> 64), (unsigned long long)job->key);
    int file = open_kept(job->path, job->key);
    if (file < 0 && compile(job, diagnostics)) {
        file = open_kept(job->path, job->key);
        if (file < 0)
            *diagnostics = describe(job->path);
    }
    return file;
}

#define SECONDS_TOGETHER 30

static struct {
    pthread_cond_t changed;
    long now, most; /* that are compiled at the same time */
} compiling = {.changed = PTHREAD_COND_INITIALIZER};

/* With the setting `together`, waits until so many libraries are compiled at the same time.  The
 * caller holds the lock. */
static void begin_compiling(void)
{
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += SECONDS_TOGETHER;
    if (++compiling.now > compiling.most)
        compiling.most = compiling.now;
    pthread_cond_broadcast(&compiling.changed);
    while (compiling.most < host_settings()->together &&
           pthread_cond_timedwait(&compiling.changed, &lock, &end) == 0)
        ;
}

EXPORT long metal_emulator_most_compiled_together(void)
{
    pthread_mutex_lock(&lock);
    long most = compiling.most;
    compiling.most = 0;
    pthread_mutex_unlock(&lock);
    return most;
}

/* The caller holds the lock, which is open while the front end runs. */
static struct kernel_library *load_new(const char *source, struct language language,
                                       hash128 key, char **diagnostics)
{
    struct job job = {.source = source, .language = language, .key = key};
    const char *cache = kept_folder(diagnostics);
    if (!cache)
        return NULL;
    snprintf(job.cache, sizeof job.cache, "%s", cache);
    begin_compiling();
    pthread_mutex_unlock(&lock);
    int file = open_or_compile(&job, diagnostics);
    pthread_mutex_lock(&lock);
    compiling.now--;
    struct kernel_library *library = find_loaded(key); /* by another thread meanwhile */
    bool is_first = !library && file >= 0;
    if (is_first)
        library = open_library(file, key, diagnostics);
    if (file >= 0)
        close(file);
    if (is_first && library) {
        library->next = loaded;
        loaded = library;
    }
    return library;
}

const struct kernel_library *load_library(const char *source, struct language language,
                                          char **diagnostics)
{
    pthread_mutex_lock(&lock);
    uint8_t options[4] = {language.fast_math, language.fast_functions,
                          (uint8_t)(language.version / 10), host_settings()->plain != 0};
    hash128 key = add_bytes(front_end_hash(), options, sizeof options);
    key = add_string(key, source);
    struct kernel_library *library = find_loaded(key);
    if (!library)
        library = load_new(source, language, key, diagnostics);
    pthread_mutex_unlock(&lock);
    return library;
}

EXPORT long metal_emulator_dispatch_count(const char *kernel_name)
{
    long count = 0;
    pthread_mutex_lock(&lock);
    for (struct kernel_library *library = loaded; library; library = library->next)
        for (uint32_t i = 0; i < library->kernel_count; i++)
            if (!kernel_name || !strcmp(library->kernels[i].name, kernel_name))
                count += library->dispatches[i];
    pthread_mutex_unlock(&lock);
    return count;
}
