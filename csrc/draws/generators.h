#pragma once
/* generators.h -- the words of NumPy's bit generators, from any place of their streams. */
#include "base/base.h"

#define MX_MT_WORDS 624

/* MT19937 makes words of 32 bits, and the others of 64.  Both are counted in units of 32 bits,
 * so a count for the others is even. */
enum mx_generator {
    MX_PCG64,
    MX_PCG64DXSM,
    MX_PHILOX,
    MX_SFC64,
    MX_MT19937,
    MX_GENERATOR_COUNT
};

/* A state between two words, with the fields of NumPy's dict of that state. */
struct mx_generator_state {
    union {
        struct {
            uint64_t state[2], increment[2]; /* the lower half first */
        } pcg;
        struct {
            uint64_t key[2], counter[4], buffer[4], n_used;
        } philox;
        uint64_t sfc[4];
        struct {
            uint32_t key[MX_MT_WORDS], n_used;
        } mt;
    };
};

/* Returns the generator with NumPy's name, or -1. */
int mx_generator_find(const char *name);
size_t mx_generator_state_size(int generator);

/* Returns whether the stream continues as the state says: a program may have changed the words
 * that Philox keeps. */
bool mx_generator_is_plain(int generator, const struct mx_generator_state *state);

/* Returns whether the time of mx_generator_skip is about the same for any number of words. */
bool mx_generator_jumps(int generator);

/* Write the next n units, and pass over them. */
void mx_generator_fill(int generator, struct mx_generator_state *state, uint32_t *out,
                       size_t n);
void mx_generator_skip(int generator, struct mx_generator_state *state, size_t n);
