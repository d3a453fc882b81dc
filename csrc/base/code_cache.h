#pragma once
/* code_cache.h -- compiled kernels on disk, for later processes.
 *
 * They are in a folder of the user, which nobody else may write to: see struct mx_settings.  If
 * its path is "", nothing is kept.  The folder has a limited size, and the files that were not
 * used for longest are deleted first.
 */
#include <stdbool.h>
#include <stddef.h>

/* The hash of everything that determines the code: begin with {{0}}, and add each part. */
struct mx_code_key {
    unsigned long long words[2];
};

struct mx_code_key mx_code_cache_add(struct mx_code_key key, const void *part, size_t size);

/* Returns the code for a key, which is freed by mx_free, or NULL. */
char *mx_code_cache_read(const char *path, struct mx_code_key key, size_t *size);

void mx_code_cache_write(const char *path, struct mx_code_key key, const char *code,
                         size_t size);
void mx_code_cache_clear(const char *path); /* deletes all */
