/* hash.h -- FNV-1a, for the sources and the content of a library. */
#pragma once
#include <stddef.h>
#include <stdint.h>

typedef unsigned __int128 hash128;

#define HASH_START (((hash128)0x6c62272e07bb0142 << 64) | 0x62b821756295c58d)
#define HASH_PRIME (((hash128)0x0000000001000000 << 64) | 0x000000000000013b)

static inline hash128 add_bytes(hash128 hash, const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ ((const uint8_t *)bytes)[i]) * HASH_PRIME;
    return hash;
}
