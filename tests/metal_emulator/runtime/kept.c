/* kept.c -- see kept.h. */
#include "kept.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

char *describe(const char *what)
{
    char *text = NULL;
    if (asprintf(&text, "Metal emulator: %s: %s", what, strerror(errno)) < 0)
        abort();
    return text;
}

/* -- The folder -------------------------------------------------------------------- */

static bool is_private(const struct stat *status)
{
    return status->st_uid == geteuid() && !(status->st_mode & (S_IWGRP | S_IWOTH));
}

static void make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    mkdir(path, 0700);
}

static char *describe_others(const char *path, const struct stat *status)
{
    char *text = NULL;
    if (asprintf(&text,
                 "Metal emulator: kernels are not kept in %s, which others can write to (its owner "
                 "is user %u, its mode %03o): make it yours alone, or name another folder in "
                 "METAL_EMULATOR_CACHE",
                 path, status->st_uid, status->st_mode & 0777) < 0)
        abort();
    return text;
}

const char *kept_folder(char **diagnostics)
{
    static char path[PATH_MAX];
    if (!*path) {
        const char *given = getenv("METAL_EMULATOR_CACHE"), *home = getenv("HOME");
        if (given && *given)
            snprintf(path, sizeof path, "%s", given);
        else
            snprintf(path, sizeof path, "%s/.cache/mxnp-metal-emulator",
                     home && *home ? home : "/tmp");
    }
    make_folders(path);
    struct stat status;
    if (stat(path, &status))
        *diagnostics = describe(path);
    else if (!is_private(&status))
        *diagnostics = describe_others(path, &status);
    else
        return path;
    return NULL;
}

/* -- Files ------------------------------------------------------------------------- */

/* From its beginning; the caller frees it.  NULL and errno if it is shorter. */
static uint8_t *read_bytes(int file, size_t size)
{
    uint8_t *bytes = malloc(size + 1);
    for (size_t done = 0; bytes && done < size;) {
        ssize_t count = pread(file, bytes + done, size - done, (off_t)done);
        if (count > 0) {
            done += (size_t)count;
        } else if (!count || errno != EINTR) {
            errno = count ? errno : EBADMSG;
            free(bytes);
            return NULL;
        }
    }
    return bytes;
}

bool keep_file(const char *made, const char *path, hash128 key)
{
    struct stat status;
    int file = open(made, O_RDWR | O_APPEND | O_CLOEXEC);
    if (file < 0)
        return false;
    uint8_t *bytes = fstat(file, &status) ? NULL : read_bytes(file, (size_t)status.st_size);
    hash128 seal = bytes ? add_bytes(key, bytes, (size_t)status.st_size) : 0;
    free(bytes);
    bool is_kept = bytes && write(file, &seal, sizeof seal) == sizeof seal &&
                   !fchmod(file, 0600) && !rename(made, path);
    close(file);
    return is_kept;
}

static bool is_what_was_kept(int file, hash128 key)
{
    struct stat status;
    hash128 seal;
    if (fstat(file, &status) || !S_ISREG(status.st_mode) || !is_private(&status) ||
        status.st_size < (off_t)sizeof seal)
        return false;
    size_t size = (size_t)status.st_size - sizeof seal;
    uint8_t *bytes = read_bytes(file, size + sizeof seal);
    if (!bytes)
        return false;
    memcpy(&seal, bytes + size, sizeof seal);
    bool is_whole = add_bytes(key, bytes, size) == seal;
    free(bytes);
    return is_whole;
}

int open_kept(const char *path, hash128 key)
{
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (file >= 0 && !is_what_was_kept(file, key)) {
        close(file);
        errno = EBADMSG;
        return -1;
    }
    return file;
}

/* Another host of the process may load the same file, but its kernels call its own engine. */
static int copy_to_memory(int file)
{
    struct stat status;
    int copy = fstat(file, &status) ? -1 : memfd_create("kernels", MFD_CLOEXEC);
    for (off_t done = 0; copy >= 0 && done < status.st_size;)
        if (sendfile(copy, file, &done, (size_t)(status.st_size - done)) <= 0) {
            close(copy);
            return -1;
        }
    return copy;
}

/* The loader takes two libraries of one name for one, and a descriptor's number comes back: "/"
 * and "/." mean nothing in a path, and are the bits of a number that does not, here or in
 * another host of the process. */
static void *load_copy(int copy)
{
    static _Atomic uintptr_t last;
    char name[160] = "/proc/self/fd", *end = name + strlen(name);
    for (uintptr_t number = (uintptr_t)&last + ++last; number; number >>= 1)
        end = stpcpy(end, number & 1 ? "/." : "/");
    sprintf(end, "/%d", copy);
    return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

void *load_file(int file)
{
    int copy = copy_to_memory(file);
    void *handle = copy < 0 ? NULL : load_copy(copy);
    if (copy >= 0)
        close(copy);
    return handle;
}
