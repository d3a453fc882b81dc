/* standin.h -- what the functions of the stand-in share. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#define EXPORT __attribute__((visibility("default")))

enum { SUCCESS = 0 };

/* Counts a call, and returns the error that it must return. */
int standin_enter(const char *name);

#define ENTER                                 \
    do {                                      \
        int error_ = standin_enter(__func__); \
        if (error_)                           \
            return error_;                    \
    } while (0)

/* Whether a test runs without a library. */
bool standin_is_missing(const char *name);

/* Returns where the memory of an address of the device is, or NULL if `size` bytes from there
 * on are not in one allocation. */
void *standin_memory(const void *address, size_t size);
