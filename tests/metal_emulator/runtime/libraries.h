/* libraries.h -- libraries of compiled MSL, which are cached on disk and loaded once. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "../engine/engine.h"

struct kernel_library {
    struct kernel_library *next;
    unsigned __int128 key;
    const struct msl_kernel *kernels;
    uint32_t kernel_count;
    _Atomic long *dispatches; /* of each kernel */
    struct engine_range image;
};

/* What MTLCompileOptions chooses. */
struct language {
    bool fast_math, fast_functions;
    uint16_t version; /* __METAL_VERSION__ */
};

/* Returns the library of a source, which is compiled once.  If it does not compile, returns NULL
 * and sets the diagnostics, which the caller frees. */
const struct kernel_library *load_library(const char *source, struct language language,
                                          char **diagnostics);
