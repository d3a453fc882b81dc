#pragma once
/* cubins.h -- compiled kernels on disk, for later processes.
 *
 * They are in a folder of the user, which nobody else may write to: MXNP_CUDA_CACHE or
 * ~/.cache/mxnp/cuda.  An empty MXNP_CUDA_CACHE turns the cache off.  It has a limited size,
 * and the files that were not used for longest are deleted first.
 */
#include <stdbool.h>
#include <stddef.h>

struct mx_cubins_key {
    unsigned long long words[2];
};

/* The key of a kernel: its text, and what else determines the code. */
struct mx_cubins_key mx_cubins_key(const char *source, const char *language, int arch,
                                   int driver_version, int nvrtc_version);

/* Returns the code for a key, which is freed by mx_free, or NULL. */
char *mx_cubins_read(struct mx_cubins_key key, size_t *size);

void mx_cubins_write(struct mx_cubins_key key, const char *code, size_t size);
void mx_cubins_clear(void); /* deletes all */
