/* memory.h -- memory of buffers that the device allocates itself. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Ends at a page that cannot be used, but for up to 15 bytes of alignment. */
struct memory {
    uint8_t *start; /* zeros at first */
    size_t length;
    void *map; /* NULL if there is no memory */
    size_t map_length;
};

struct memory memory_allocate(size_t length);

/* From here on any use of it faults, until thousands of others are retired too. */
void memory_retire(const struct memory *memory);

/* Whether this is an address in what was retired.  May be called by a signal handler. */
bool memory_is_retired(const void *at);

size_t memory_page_size(void);
