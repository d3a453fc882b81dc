/* code_cache.c -- compiled kernels on disk. */
#include "base/code_cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"

#define MAX_BYTES      ((size_t)256 << 20)
#define MAX_PATH       4096
#define SUFFIX         ".code"
#define MAGIC          "mxnp code 1\n\n\n\n"
#define WRITES_AT_ONCE 64 /* between two looks at the size of the folder */

/* The beginning of a file. */
struct header {
    char magic[16];
    unsigned long long sum[2]; /* hash of the code */
    unsigned long long size;
};

/* -- Keys -------------------------------------------------------------------------- */

__extension__ typedef unsigned __int128 hash128;

/* FNV-1a of 128 bits, eight bytes at a time. */
static hash128 code_cache_add(hash128 hash, const void *bytes, size_t size)
{
    const hash128 prime = ((hash128)1 << 88) + 0x13b;
    const char *at = bytes;
    for (; size >= 8; size -= 8, at += 8) {
        uint64_t word;
        memcpy(&word, at, sizeof word);
        hash = (hash ^ word) * prime;
        hash ^= hash >> 64;
    }
    for (; size; size--, at++)
        hash = (hash ^ (unsigned char)*at) * prime;
    return hash ^ hash >> 61;
}

static struct mx_code_key key_of(hash128 hash)
{
    return (struct mx_code_key){{(unsigned long long)(hash >> 64), (unsigned long long)hash}};
}

/* The size of a part is added too, so that no two lists of parts have the same bytes. */
struct mx_code_key mx_code_cache_add(struct mx_code_key key, const void *part, size_t size)
{
    hash128 hash = ((hash128)0x6c62272e07bb0142 << 64) + 0x62b821756295c58d;
    hash = code_cache_add(hash, key.words, sizeof key.words);
    hash = code_cache_add(hash, &size, sizeof size);
    return key_of(code_cache_add(hash, part, size));
}

/* -- The folder -------------------------------------------------------------------- */

/* Makes the folders of a path, of which the last one is private. */
static void make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(path, 0777);
        *slash = '/';
    }
    mkdir(path, 0700);
}

/* Opens the folder, or returns -1 if there is none that only this user may write to. */
static int open_folder(const char *chosen)
{
    char path[MAX_PATH];
    struct stat status;
    if (!*chosen)
        return -1;
    snprintf(path, sizeof path, "%s", chosen);
    make_folders(path);
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0 && fstat(folder, &status) == 0 && status.st_uid == geteuid() &&
        !(status.st_mode & (S_IWGRP | S_IWOTH)))
        return folder;
    if (folder >= 0)
        close(folder);
    return -1;
}

static void print_name(char *name, size_t size, struct mx_code_key key)
{
    snprintf(name, size, "%016llx%016llx" SUFFIX, key.words[0], key.words[1]);
}

/* -- Reading and writing ----------------------------------------------------------- */

static bool read_whole(int file, void *to, size_t size)
{
    for (char *at = to; size;) {
        ssize_t n = read(file, at, size);
        if (n <= 0 && errno != EINTR)
            return false;
        at += n > 0 ? n : 0;
        size -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

static bool write_whole(int file, const void *from, size_t size)
{
    for (const char *at = from; size;) {
        ssize_t n = write(file, at, size);
        if (n < 0 && errno != EINTR)
            return false;
        at += n > 0 ? n : 0;
        size -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

static struct mx_code_key sum_of(const char *code, size_t size)
{
    return key_of(code_cache_add(1, code, size));
}

static char *read_code(int file, size_t *size)
{
    struct header header;
    struct stat status;
    if (!read_whole(file, &header, sizeof header) ||
        memcmp(header.magic, MAGIC, sizeof header.magic) != 0 || fstat(file, &status) != 0 ||
        (unsigned long long)status.st_size != sizeof header + header.size)
        return NULL;
    char *code = mx_alloc(header.size + 1);
    if (!code)
        return NULL;
    *size = header.size;
    code[header.size] = 0;
    if (read_whole(file, code, header.size)) {
        struct mx_code_key sum = sum_of(code, header.size);
        if (memcmp(sum.words, header.sum, sizeof sum.words) == 0)
            return code;
    }
    mx_free(code);
    return NULL;
}

char *mx_code_cache_read(const char *path, struct mx_code_key key, size_t *size)
{
    char name[64];
    int folder = open_folder(path);
    if (folder < 0)
        return NULL;
    print_name(name, sizeof name, key);
    int file = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    char *code = file < 0 ? NULL : read_code(file, size);
    if (code)
        futimens(file, NULL); /* it is used now */
    if (file >= 0)
        close(file);
    close(folder);
    return code;
}

/* -- The size of the folder -------------------------------------------------------- */

struct entry {
    char name[64];
    size_t size;
    struct timespec used;
};

static int compare_use(const void *a, const void *b)
{
    const struct timespec *x = &((const struct entry *)a)->used;
    const struct timespec *y = &((const struct entry *)b)->used;
    return x->tv_sec != y->tv_sec ? (x->tv_sec > y->tv_sec) - (x->tv_sec < y->tv_sec)
                                  : (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

/* Lists the files, of which there are n.  The caller frees the list. */
static struct entry *list_files(int folder, size_t *n)
{
    struct entry *list = NULL;
    int copy = dup(folder);
    DIR *open = copy < 0 ? NULL : fdopendir(copy);
    *n = 0;
    if (!open)
        return NULL;
    rewinddir(open);
    for (struct dirent *each; (each = readdir(open));) {
        struct stat status;
        if (strlen(each->d_name) >= sizeof list->name || !strstr(each->d_name, SUFFIX) ||
            fstatat(folder, each->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        if ((*n & (*n - 1)) == 0) {
            struct entry *longer = mx_realloc(list, (*n ? 2 * *n : 1) * sizeof *list);
            if (!longer)
                break;
            list = longer;
        }
        struct entry *entry = &list[(*n)++];
        strcpy(entry->name, each->d_name);
        entry->size = (size_t)status.st_size;
#ifdef __APPLE__
        entry->used = status.st_mtimespec;
#else
        entry->used = status.st_mtim;
#endif
    }
    closedir(open);
    return list;
}

/* Deletes the files that were not used for longest, until at most `limit` bytes are left. */
static void shrink(int folder, size_t limit)
{
    size_t n, total = 0;
    struct entry *list = list_files(folder, &n);
    for (size_t i = 0; i < n; i++)
        total += list[i].size;
    if (total > limit)
        qsort(list, n, sizeof *list, compare_use);
    for (size_t i = 0; i < n && total > limit; i++) {
        unlinkat(folder, list[i].name, 0);
        total -= list[i].size;
    }
    mx_free(list);
}

void mx_code_cache_write(const char *path, struct mx_code_key key, const char *code,
                         size_t size)
{
    static atomic_uint n_written;
    unsigned number = atomic_fetch_add(&n_written, 1);
    char name[64], temporary[64];
    struct header header = {.size = size};
    struct mx_code_key sum = sum_of(code, size);
    int folder = open_folder(path);
    if (folder < 0)
        return;
    memcpy(header.magic, MAGIC, sizeof header.magic);
    memcpy(header.sum, sum.words, sizeof header.sum);
    print_name(name, sizeof name, key);
    snprintf(temporary, sizeof temporary, ".%ld.%u" SUFFIX, (long)getpid(), number);
    int file = openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file >= 0) {
        bool is_written =
            write_whole(file, &header, sizeof header) && write_whole(file, code, size);
        if (close(file) != 0 || !is_written || renameat(folder, temporary, folder, name) != 0)
            unlinkat(folder, temporary, 0);
    }
    if (number % WRITES_AT_ONCE == 0)
        shrink(folder, MAX_BYTES);
    close(folder);
}

void mx_code_cache_clear(const char *path)
{
    int folder = open_folder(path);
    if (folder < 0)
        return;
    shrink(folder, 0);
    close(folder);
}
