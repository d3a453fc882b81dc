/* generators.c -- the bit generators PCG64, PCG64DXSM, Philox, SFC64 and MT19937.
 *
 * Their words are NumPy's, which never change for a state (NEP 19).
 */
#include "draws/generators.h"

#include <string.h>

__extension__ typedef unsigned __int128 u128;

/* -- PCG64: O'Neill, HMC-CS-2014-0905, 2014 ----------------------------------------- */

#define CHEAP_MULTIPLIER 0xda942042e4dd58b5u
#define LANES            4 /* parts of the stream that are computed at the same time */

struct step {
    u128 factor, plus;
};

static u128 whole(const uint64_t halves[2]) { return (u128)halves[1] << 64 | halves[0]; }

static void set_whole(uint64_t halves[2], u128 value)
{
    halves[0] = (uint64_t)value;
    halves[1] = (uint64_t)(value >> 64);
}

static u128 go(u128 state, struct step step) { return state * step.factor + step.plus; }

static struct step pcg_step(int generator, const struct mx_generator_state *state)
{
    u128 factor = (u128)2549297995355413924u << 64 | 4865540595714422341u;
    return (struct step){generator == MX_PCG64 ? factor : CHEAP_MULTIPLIER,
                         whole(state->pcg.increment)};
}

/* Returns n steps as one. */
static struct step power(struct step step, size_t n)
{
    struct step all = {1, 0};
    for (; n > 0; n >>= 1) {
        if (n & 1)
            all = (struct step){all.factor * step.factor, go(all.plus, step)};
        step = (struct step){step.factor * step.factor, go(step.plus, step)};
    }
    return all;
}

static inline uint64_t pcg64_word(u128 state)
{
    uint64_t word = (uint64_t)(state >> 64) ^ (uint64_t)state;
    unsigned turn = (unsigned)(state >> 122);
    return word >> turn | word << (-turn & 63);
}

static inline uint64_t dxsm_word(u128 state)
{
    uint64_t high = (uint64_t)(state >> 64);
    high ^= high >> 32;
    high *= CHEAP_MULTIPLIER;
    high ^= high >> 48;
    return high * ((uint64_t)state | 1);
}

/* Each lane makes words of its own part of the stream.  PCG64 makes a word of the state after a
 * step, and PCG64DXSM of the state before it.  Returns the state after n words. */
#define PCG_FILL(name, word_before, word_after)                               \
    static u128 name(u128 state, struct step step, char *out, size_t n)       \
    {                                                                         \
        const size_t of_lane = n / LANES;                                     \
        struct step far = power(step, of_lane);                               \
        u128 lanes[LANES] = {state};                                          \
        for (int k = 1; k < LANES; k++)                                       \
            lanes[k] = go(lanes[k - 1], far);                                 \
        for (size_t i = 0; i < of_lane; i++)                                  \
            for (size_t k = 0; k < LANES; k++) {                              \
                u128 next = go(lanes[k], step);                               \
                uint64_t word = word_before(lanes[k]) ^ word_after(next);     \
                memcpy(out + 8 * (k * of_lane + i), &word, sizeof word);      \
                lanes[k] = next;                                              \
            }                                                                 \
        for (size_t i = LANES * of_lane; i < n; i++) {                        \
            u128 next = go(lanes[LANES - 1], step);                           \
            uint64_t word = word_before(lanes[LANES - 1]) ^ word_after(next); \
            memcpy(out + 8 * i, &word, sizeof word);                          \
            lanes[LANES - 1] = next;                                          \
        }                                                                     \
        return lanes[LANES - 1];                                              \
    }
#define NO_WORD(state) 0
PCG_FILL(fill_pcg64, NO_WORD, pcg64_word)
PCG_FILL(fill_dxsm, dxsm_word, NO_WORD)

static void pcg_fill(int generator, struct mx_generator_state *state, char *out, size_t n)
{
    struct step step = pcg_step(generator, state);
    u128 now = whole(state->pcg.state);
    now = (generator == MX_PCG64 ? fill_pcg64 : fill_dxsm)(now, step, out, n);
    set_whole(state->pcg.state, now);
}

/* -- Philox4x64-10: Salmon et al., SC'11 -------------------------------------------- */

#define BLOCK 4 /* words of each value of the counter */

static void philox_block(const struct mx_generator_state *state, const uint64_t counter[4],
                         uint64_t out[BLOCK])
{
    uint64_t a = counter[0], b = counter[1], c = counter[2], d = counter[3];
    uint64_t key0 = state->philox.key[0], key1 = state->philox.key[1];
    for (int round = 0; round < 10; round++) {
        u128 x = (u128)0xd2e7470ee14c6c93u * a, y = (u128)0xca5a826395121157u * c;
        a = (uint64_t)(y >> 64) ^ b ^ key0;
        b = (uint64_t)y;
        c = (uint64_t)(x >> 64) ^ d ^ key1;
        d = (uint64_t)x;
        key0 += 0x9e3779b97f4a7c15u;
        key1 += 0xbb67ae8584caa73bu;
    }
    uint64_t words[BLOCK] = {a, b, c, d};
    memcpy(out, words, sizeof words);
}

static void count_blocks(uint64_t counter[4], uint64_t n)
{
    for (int i = 0; i < 4 && n > 0; i++) {
        counter[i] += n;
        n = counter[i] < n;
    }
}

static void philox_skip(struct mx_generator_state *state, size_t n)
{
    uint64_t n_used = state->philox.n_used + n;
    uint64_t blocks = n_used > BLOCK ? (n_used - 1) / BLOCK : 0;
    count_blocks(state->philox.counter, blocks);
    state->philox.n_used = n_used - blocks * BLOCK;
    if (blocks > 0)
        philox_block(state, state->philox.counter, state->philox.buffer);
}

static void philox_fill(struct mx_generator_state *state, char *out, size_t n)
{
    uint64_t counter[4], words[BLOCK];
    memcpy(counter, state->philox.counter, sizeof counter);
    memcpy(words, state->philox.buffer, sizeof words);
    for (size_t used = state->philox.n_used, left = n; left > 0;) {
        if (used == BLOCK) {
            count_blocks(counter, 1);
            philox_block(state, counter, words);
            used = 0;
        }
        size_t taken = BLOCK - used < left ? BLOCK - used : left;
        memcpy(out, words + used, 8 * taken);
        out += 8 * taken;
        left -= taken;
        used += taken;
    }
    philox_skip(state, n);
}

/* -- SFC64: Doty-Humphrey, PractRand ------------------------------------------------ */

static void sfc_fill(struct mx_generator_state *state, char *out, size_t n)
{
    uint64_t a = state->sfc[0], b = state->sfc[1], c = state->sfc[2], count = state->sfc[3];
    for (size_t i = 0; i < n; i++) {
        uint64_t word = a + b + count++;
        a = b ^ b >> 11;
        b = c + (c << 3);
        c = (c << 24 | c >> 40) + word;
        if (out)
            memcpy(out + 8 * i, &word, 8);
    }
    uint64_t after[4] = {a, b, c, count};
    memcpy(state->sfc, after, sizeof after);
}

/* -- MT19937: Matsumoto and Nishimura, TOMACS 8, 1998 ------------------------------- */

#define MT_FAR 397

static uint32_t mt_mix(uint32_t high, uint32_t low)
{
    uint32_t y = (high & 0x80000000u) | (low & 0x7fffffffu);
    return y >> 1 ^ (-(y & 1) & 0x9908b0dfu);
}

static void mt_turn(struct mx_generator_state *state)
{
    uint32_t *key = state->mt.key;
    const int n = MX_MT_WORDS;
    for (int i = 0; i < n - MT_FAR; i++)
        key[i] = key[i + MT_FAR] ^ mt_mix(key[i], key[i + 1]);
    for (int i = n - MT_FAR; i < n - 1; i++)
        key[i] = key[i + MT_FAR - n] ^ mt_mix(key[i], key[i + 1]);
    key[n - 1] = key[MT_FAR - 1] ^ mt_mix(key[n - 1], key[0]);
    state->mt.n_used = 0;
}

static void mt_temper(const uint32_t *key, uint32_t *out, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t y = key[i];
        y ^= y >> 11;
        y ^= y << 7 & 0x9d2c5680u;
        y ^= y << 15 & 0xefc60000u;
        out[i] = y ^ y >> 18;
    }
}

/* `out` may be NULL. */
static void mt_fill(struct mx_generator_state *state, uint32_t *out, size_t n)
{
    while (n > 0) {
        if (state->mt.n_used == MX_MT_WORDS)
            mt_turn(state);
        size_t left = MX_MT_WORDS - state->mt.n_used, taken = left < n ? left : n;
        if (out) {
            mt_temper(state->mt.key + state->mt.n_used, out, taken);
            out += taken;
        }
        state->mt.n_used += (uint32_t)taken;
        n -= taken;
    }
}

/* -- All ---------------------------------------------------------------------------- */

int mx_generator_find(const char *name)
{
    static const char *const names[MX_GENERATOR_COUNT] = {
        [MX_PCG64] = "PCG64", [MX_PCG64DXSM] = "PCG64DXSM", [MX_PHILOX] = "Philox",
        [MX_SFC64] = "SFC64", [MX_MT19937] = "MT19937",
    };
    int i = MX_GENERATOR_COUNT - 1;
    while (i >= 0 && strcmp(names[i], name) != 0)
        i--;
    return i;
}

size_t mx_generator_state_size(int generator)
{
    static const struct mx_generator_state state;
    static const size_t sizes[MX_GENERATOR_COUNT] = {
        [MX_PCG64] = sizeof state.pcg,     [MX_PCG64DXSM] = sizeof state.pcg,
        [MX_PHILOX] = sizeof state.philox, [MX_SFC64] = sizeof state.sfc,
        [MX_MT19937] = sizeof state.mt,
    };
    return sizes[generator];
}

bool mx_generator_is_plain(int generator, const struct mx_generator_state *state)
{
    uint64_t words[BLOCK];
    if (generator == MX_MT19937)
        return state->mt.n_used <= MX_MT_WORDS;
    if (generator != MX_PHILOX || state->philox.n_used == BLOCK)
        return true;
    uint64_t n_used = state->philox.n_used;
    philox_block(state, state->philox.counter, words);
    return n_used < BLOCK &&
           memcmp(words + n_used, state->philox.buffer + n_used, 8 * (BLOCK - n_used)) == 0;
}

bool mx_generator_jumps(int generator) { return generator <= MX_PHILOX; }

void mx_generator_fill(int generator, struct mx_generator_state *state, uint32_t *out, size_t n)
{
    if (generator == MX_MT19937)
        mt_fill(state, out, n);
    else if (generator == MX_SFC64)
        sfc_fill(state, (char *)out, n / 2);
    else if (generator == MX_PHILOX)
        philox_fill(state, (char *)out, n / 2);
    else
        pcg_fill(generator, state, (char *)out, n / 2);
}

void mx_generator_skip(int generator, struct mx_generator_state *state, size_t n)
{
    if (generator == MX_MT19937)
        mt_fill(state, NULL, n);
    else if (generator == MX_SFC64)
        sfc_fill(state, NULL, n / 2);
    else if (generator == MX_PHILOX)
        philox_skip(state, n / 2);
    else
        set_whole(state->pcg.state,
                  go(whole(state->pcg.state), power(pcg_step(generator, state), n / 2)));
}
