#pragma once
/* device.h -- Metal, as the core sees it: kernels are compiled, encoded, and waited for. */
#include "memory/buffer.h"

/* Everything below is for whoever is inside the stream, one at a time. */

bool mx_metal_is_there(void); /* asked once */

/* Compiles the function of this name; *out is to be released.  Status: MX_ERROR_VALUE with the
 * compiler's words when the text is no Metal. */
int mx_metal_compile(void **out, const char *source, const char *function);
void mx_metal_release(void *compiled);
size_t mx_metal_threads(const void *compiled); /* that a threadgroup of it may have */

struct mx_dispatch {
    const void *compiled;
    struct mx_buffer *const *buffers; /* placed; bound from 0 on */
    const bool *is_written;
    const size_t *offsets; /* bytes, where the kernel finds its memory */
    int n_buffers;
    const void *args; /* bound after the buffers; 4,096 bytes at most */
    size_t args_size;
    bool is_in_threadgroups; /* what the grid counts; otherwise threads */
    size_t grid[3], threads[3];
};

/* Appends it to what runs next, after all before that it depends on.  The buffers and the
 * compiled kernel are held until it has run.  Status. */
int mx_metal_encode(const struct mx_dispatch *dispatch);

/* Waits until all that was encoded has run.  MX_ERROR_DEVICE with the device's words if some of
 * it did not. */
int mx_metal_wait(void);

/* Adds what was encoded and compiled since the start. */
void mx_metal_add_counts(struct mx_metal_counts *out);
