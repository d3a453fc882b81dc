/* memory.h -- memory of the buffers that the device allocates. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A guard page follows the memory, after up to 15 bytes of alignment. */
struct memory {
    uint8_t *start; /* zeros at first */
    size_t length;
    void *map; /* NULL if there is no memory */
    size_t map_length;
};

struct memory memory_allocate(size_t length);

/* Retires memory.  Any use of it faults, until thousands of others have been retired after it. */
void memory_retire(const struct memory *memory);

/* Whether an address is in retired memory.  A signal handler may call this. */
bool memory_is_retired(const void *at);

size_t memory_page_size(void);
