/* streams.c -- draws of NumPy's random generators on several threads.
 *
 * A sampler takes a varying number of words of its generator, so the place in the stream at
 * which a draw begins depends on all draws before.  But the place is all that a draw needs to
 * know.  So the stream is cut into chunks of words, and a thread draws from the first word of a
 * chunk as if a draw began there.  It notes where each of its draws begins.  When the chunk
 * before is done, it is known where a draw really begins.  From there draws are repeated until
 * one of them begins where a noted one did: the rest is the same.  Mostly that is after a few
 * draws.
 *
 * Chunks are taken and joined in order.  A thread that waits too long for one draws it itself.
 * Generators that cannot jump make their words while the thread takes the chunk.
 */
#include "draws/streams.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "cpu/threads/thread_pool.h"
#include "draws/shuffles.h"
#include "memory/pool.h"

const char *mx_streams_name(int sampler)
{
    static const char *const names[MX_SAMPLER_COUNT] = {
#define SAMPLER(name, form) #name,
#include "draws/samplers.def"
#undef SAMPLER
        [MX_SAMPLER_uniform] = "uniform",
        [MX_SAMPLER_uniform_f] = "uniform_f",
        [MX_SAMPLER_bools] = "bools",
        [MX_SAMPLER_binomial] = "binomial",
        [MX_SAMPLER_hypergeometric] = "hypergeometric",
        [MX_SAMPLER_integers_8] = "integers_8",
        [MX_SAMPLER_integers_16] = "integers_16",
        [MX_SAMPLER_integers_32] = "integers_32",
        [MX_SAMPLER_integers_64] = "integers_64",
        [MX_SAMPLER_gauss_pair] = "gauss_pair",
        [MX_SAMPLER_legacy_exponential] = "legacy_exponential",
        [MX_SAMPLER_shuffle] = "shuffle",
    };
    return names[sampler];
}

const char *mx_streams_version(void)
{
#ifdef MX_SAMPLERS
    return MX_SAMPLERS;
#else
    return "";
#endif
}

#ifndef MX_SAMPLERS

int mx_streams_find(const char *name)
{
    (void)name;
    return -1;
}

bool mx_streams_draw(struct mx_draws *draws)
{
    (void)draws;
    return false;
}

#else

int mx_streams_find(const char *name)
{
    int i = MX_SAMPLER_COUNT - 1;
    while (i >= 0 && strcmp(mx_streams_name(i), name) != 0)
        i--;
    return i;
}

/* -- NumPy's samplers --------------------------------------------------------------- */

/* The interface of numpy/random/bitgen.h and numpy/random/distributions.h, which includes
 * Python.h.  The samplers are in NumPy's libnpyrandom.a. */
struct bitgen {
    void *state;
    uint64_t (*next_uint64)(void *);
    uint32_t (*next_uint32)(void *);
    double (*next_double)(void *);
    uint64_t (*next_raw)(void *);
};

#define double0(name)       double random_##name(struct bitgen *);
#define double1(name)       double random_##name(struct bitgen *, double);
#define double2(name)       double random_##name(struct bitgen *, double, double);
#define double3(name)       double random_##name(struct bitgen *, double, double, double);
#define float0(name)        float random_##name(struct bitgen *);
#define float1(name)        float random_##name(struct bitgen *, float);
#define long1(name)         int64_t random_##name(struct bitgen *, double);
#define long2(name)         int64_t random_##name(struct bitgen *, double, double);
#define SAMPLER(name, form) form(name)
#include "draws/samplers.def"
#undef SAMPLER
#undef double0
#undef double1
#undef double2
#undef double3
#undef float0
#undef float1
#undef long1
#undef long2
int64_t random_binomial(struct bitgen *, double p, int64_t n, void *kept);
int64_t random_hypergeometric(struct bitgen *, int64_t good, int64_t bad, int64_t sample);
uint64_t random_bounded_uint64(struct bitgen *, uint64_t first, uint64_t range, uint64_t mask,
                               bool is_masked);
uint32_t random_buffered_bounded_uint32(struct bitgen *, uint32_t first, uint32_t range,
                                        uint32_t mask, bool is_masked, int *left,
                                        uint32_t *bits);
uint16_t random_buffered_bounded_uint16(struct bitgen *, uint16_t first, uint16_t range,
                                        uint16_t mask, bool is_masked, int *left,
                                        uint32_t *bits);
uint8_t random_buffered_bounded_uint8(struct bitgen *, uint8_t first, uint8_t range,
                                      uint8_t mask, bool is_masked, int *left, uint32_t *bits);

#define SIZE_OF_KEPT 64 /* doubles: room for what random_binomial keeps between draws */

/* -- Reading words ------------------------------------------------------------------ */

#define UNITS  5040 /* of a chunk, which is divisible by what samplers take together */
#define FRONT  2    /* units before them, the last of which is the half that was left */
#define BEYOND 4096 /* units that the last draw of a chunk may take of the next one */
#define MORE   64   /* units that are made when it needs them */
#define LATER  64   /* more than the numbers that are left of a unit for later draws */
#define MOST   (UNITS + LATER) /* draws of a chunk */

/* The words of a chunk, and a thread's draws of it. */
struct reader {
    struct bitgen bitgen;
    const uint32_t *at, *end; /* the next unit, and the end of those that are made */
    bool has_failed;
    int generator, left; /* `left` numbers of 1 to 16 bits are left in `bits` */
    uint32_t bits;
    struct mx_generator_state before, after; /* the chunk, and the units that are made */
    double kept[SIZE_OF_KEPT];
    uint32_t begins[MOST + 1]; /* where each draw begins: see place() */
    uint32_t units[FRONT + UNITS + BEYOND];
    _Alignas(double) char numbers[8 * MOST];
};

/* Makes more units.  If a draw takes too many, they overwrite others, and the draw fails. */
__attribute__((noinline)) static void make_more(struct reader *r)
{
    uint32_t *end = r->units + (r->end - r->units), *beyond = r->units + FRONT + UNITS;
    if (end + MORE > beyond + BEYOND) {
        r->has_failed = true;
        r->at = end = beyond;
    }
    mx_generator_fill(r->generator, &r->after, end, MORE);
    r->end = end + MORE;
}

static inline const uint32_t *take(struct reader *r, int units)
{
    if (r->end - r->at < units)
        make_more(r);
    const uint32_t *taken = r->at;
    r->at += units;
    return taken;
}

static inline double double_of(uint64_t word)
{
    return (double)(int64_t)(word >> 11) * (1.0 / 9007199254740992.0);
}

static inline double double_of_mt(const uint32_t *units)
{
    double high = (int32_t)(units[0] >> 5), low = (int32_t)(units[1] >> 6);
    return (high * 67108864.0 + low) / 9007199254740992.0;
}

static uint64_t next_word(void *r)
{
    uint64_t word;
    memcpy(&word, take(r, 2), sizeof word);
    return word;
}

static double next_double(void *r) { return double_of(next_word(r)); }

static uint32_t next_half(void *r) { return *take(r, 1); }

static uint64_t next_mt_word(void *r)
{
    const uint32_t *units = take(r, 2);
    return (uint64_t)units[0] << 32 | units[1];
}

static double next_mt_double(void *r) { return double_of_mt(take(r, 2)); }

static uint64_t next_mt_raw(void *r) { return *take(r, 1); }

/* Draws take either words or halves.  If they take both, which half a draw takes depends on
 * more than its place. */
static uint64_t fail_word(void *r)
{
    ((struct reader *)r)->has_failed = true;
    return next_word(r);
}

static double fail_double(void *r) { return double_of(fail_word(r)); }

static uint32_t fail_half(void *r)
{
    ((struct reader *)r)->has_failed = true;
    return next_half(r);
}

static const struct bitgen of_words = {NULL, next_word, fail_half, next_double, next_word};
static const struct bitgen of_halves = {NULL, fail_word, next_half, fail_double, fail_word};
static const struct bitgen of_mt = {NULL, next_mt_word, next_half, next_mt_double, next_mt_raw};

/* -- Drawing ------------------------------------------------------------------------ */

/* Returns a number for the place where a draw begins, which increases with each draw. */
static inline uint32_t place(const struct reader *r)
{
    return (uint32_t)(r->at - r->units) * LATER - (uint32_t)r->left;
}

static size_t unit_of(uint32_t place) { return (place + LATER - 1) / LATER; }

struct pair {
    double first, second;
};

/* Returns two numbers of the legacy normal distribution (Marsaglia's polar method). */
static struct pair draw_pair(struct bitgen *bitgen, double mean, double scale)
{
    double x, y, square;
    do {
        x = 2.0 * bitgen->next_double(bitgen->state) - 1.0;
        y = 2.0 * bitgen->next_double(bitgen->state) - 1.0;
        square = x * x + y * y;
    } while (square >= 1.0 || square == 0.0);
    double factor = sqrt(-2.0 * log(square) / square);
    return (struct pair){mean + scale * (factor * y), mean + scale * (factor * x)};
}

static uint64_t mask_of(uint64_t range)
{
    for (int shift = 1; shift < 64; shift *= 2)
        range |= range >> shift;
    return range;
}

/* -- Integers of many units at a time -- */

#define TOGETHER_UNITS 64

/* Draw from pieces of 8, 16 or 32 bits as NumPy's samplers do: Lemire, ACM TOMACS 29, 2019, or
 * the lower bits of a piece if they are in the range.  Return how many numbers they drew. */
#define INTEGERS_OF(name, piece, product, number)                                           \
    static size_t name(struct reader *r, const struct mx_draws *d, void *out,               \
                       uint32_t *begins)                                                    \
    {                                                                                       \
        enum {                                                                              \
            WIDTH = 8 * sizeof(piece),                                                      \
            OF_UNIT = 32 / WIDTH,                                                           \
            N = TOGETHER_UNITS * OF_UNIT                                                    \
        };                                                                                  \
        const uint64_t range = d->integers[1];                                              \
        const piece past = (piece)(range + 1), least = (piece)((piece) - past % past);      \
        const piece mask = (piece)mask_of(range);                                           \
        const number first = (number)d->integers[0];                                        \
        const bool is_masked = d->integers[2];                                              \
        const uint32_t begin = place(r);                                                    \
        piece pieces[N];                                                                    \
        uint32_t n = 0, next = 0;                                                           \
        memcpy(pieces, r->at, sizeof pieces);                                               \
        begins[0] = 0;                                                                      \
        for (uint32_t i = 0; i < N; i++) {                                                  \
            product all = (product)pieces[i] * past;                                        \
            number value = is_masked ? pieces[i] & mask : (number)(all >> WIDTH);           \
            uint64_t room = is_masked ? range - value : (uint64_t)(piece)all - least;       \
            uint32_t rejects = (uint32_t)(room >> 63); /* branches would be mispredicted */ \
            ((number *)out)[n] = (number)(first + value);                                   \
            n += 1 - rejects;                                                               \
            next += (i + 1 - next) & (rejects - 1);                                         \
            begins[n] = next;                                                               \
        }                                                                                   \
        for (uint32_t k = 0; k < n; k++)                                                    \
            begins[k] = begin + (begins[k] + OF_UNIT - 1) / OF_UNIT * LATER -               \
                        (OF_UNIT - begins[k] % OF_UNIT) % OF_UNIT;                          \
        r->at += (next + OF_UNIT - 1) / OF_UNIT; /* what is left of it is rejected */       \
        return n;                                                                           \
    }
INTEGERS_OF(draw_8, uint8_t, uint16_t, uint8_t)
INTEGERS_OF(draw_16, uint16_t, uint32_t, uint16_t)
INTEGERS_OF(draw_32, uint32_t, uint64_t, uint32_t)
INTEGERS_OF(draw_32_to_64, uint32_t, uint64_t, uint64_t)

/* The same for pieces that are all accepted, in vectors.  Return whether they surely are. */
#define INTEGERS_OF_ALL(name, number)                                              \
    static bool name(const uint32_t *at, uint64_t first, uint32_t past, void *out) \
    {                                                                              \
        uint32_t pieces[TOGETHER_UNITS], few = 0;                                  \
        memcpy(pieces, at, sizeof pieces);                                         \
        for (int i = 0; i < TOGETHER_UNITS; i++) {                                 \
            uint64_t all = (uint64_t)pieces[i] * past;                             \
            ((number *)out)[i] = (number)((number)first + (number)(all >> 32));    \
            few |= (uint32_t)all < past;                                           \
        }                                                                          \
        return !few;                                                               \
    }
INTEGERS_OF_ALL(all_32, uint32_t)
INTEGERS_OF_ALL(all_32_to_64, uint64_t)

/* Draws integers from some units.  Returns how many it drew. */
static size_t draw_together(struct reader *r, const struct mx_draws *d, const uint32_t *stop,
                            size_t most, void *out, uint32_t *begins)
{
    const uint64_t first = d->integers[0], range = d->integers[1];
    const bool is_8 = d->sampler == MX_SAMPLER_integers_8;
    const bool is_16 = d->sampler == MX_SAMPLER_integers_16;
    const bool is_32 = d->sampler == MX_SAMPLER_integers_32;
    const size_t of_unit = is_8 ? 4 : is_16 ? 2 : 1;
    if (range >= (is_8    ? UINT8_MAX
                  : is_16 ? UINT16_MAX
                          : UINT32_MAX) ||
        r->left > 0 || stop - r->at < TOGETHER_UNITS || most < TOGETHER_UNITS * of_unit)
        return 0;
    if (is_8 || is_16)
        return (is_8 ? draw_8 : draw_16)(r, d, out, begins);
    uint32_t past = (uint32_t)range + 1;
    if (d->integers[2] || !(is_32 ? all_32 : all_32_to_64)(r->at, first, past, out))
        return (is_32 ? draw_32 : draw_32_to_64)(r, d, out, begins);
    for (uint32_t i = 0, begin = place(r); i < TOGETHER_UNITS; i++)
        begins[i] = begin + i * LATER;
    r->at += TOGETHER_UNITS;
    return TOGETHER_UNITS;
}

__extension__ typedef unsigned __int128 u128;

/* Draws an integer of more than 32 bits, by Lemire's method if NumPy's sampler takes the word.
 */
static inline uint64_t draw_64(struct reader *r, uint64_t first, uint64_t range, uint64_t mask,
                               bool is_masked)
{
    uint64_t past = range + 1, word;
    if (!is_masked && past > 0 && r->generator != MX_MT19937 && r->end - r->at >= 2) {
        memcpy(&word, r->at, sizeof word);
        u128 all = (u128)word * past;
        if ((uint64_t)all >= past) {
            r->at += 2;
            return first + (uint64_t)(all >> 64);
        }
    }
    return random_bounded_uint64(&r->bitgen, first, range, mask, is_masked);
}

/* Draws while draws begin before `stop`, and at most `most`.  Returns how many it drew. */
static size_t draw_numbers(struct reader *r, const struct mx_draws *d, const uint32_t *stop,
                           size_t most, char *out, uint32_t *begins)
{
    struct bitgen *bitgen = &r->bitgen;
    const double *p = d->numbers;
    uint64_t first = d->integers[0], range = d->integers[1], mask = mask_of(range);
    bool is_masked = d->integers[2] != 0;
    size_t n = 0;
#define DRAW(type, value)                   \
    for (; n < most && r->at < stop; n++) { \
        begins[n] = place(r);               \
        ((type *)(void *)out)[n] = value;   \
    }                                       \
    break;
#define DRAW_INTEGERS(type, value)                                                     \
    while (n < most && (r->at < stop || r->left > 0)) {                                \
        size_t drawn =                                                                 \
            draw_together(r, d, stop, most - n, out + n * sizeof(type), begins + n);   \
        n += drawn;                                                                    \
        for (size_t i = drawn ? TOGETHER_UNITS : 0;                                    \
             n < most && (r->left > 0 || (i < TOGETHER_UNITS && r->at < stop)); i++) { \
            begins[n] = place(r);                                                      \
            ((type *)(void *)out)[n++] = value;                                        \
        }                                                                              \
    }                                                                                  \
    break;
#define double0(name) DRAW(double, random_##name(bitgen))
#define double1(name) DRAW(double, random_##name(bitgen, p[0]))
#define double2(name) DRAW(double, random_##name(bitgen, p[0], p[1]))
#define double3(name) DRAW(double, random_##name(bitgen, p[0], p[1], p[2]))
#define float0(name)  DRAW(float, random_##name(bitgen))
#define float1(name)  DRAW(float, random_##name(bitgen, (float)p[0]))
#define long1(name)   DRAW(int64_t, random_##name(bitgen, p[0]))
#define long2(name)   DRAW(int64_t, random_##name(bitgen, p[0], p[1]))
#define INTEGERS(width)                                                                        \
    DRAW_INTEGERS(uint##width##_t, random_buffered_bounded_uint##width(                        \
                                       bitgen, (uint##width##_t)first, (uint##width##_t)range, \
                                       (uint##width##_t)mask, is_masked, &r->left, &r->bits))
    switch (d->sampler) {
#define SAMPLER(name, form) \
    case MX_SAMPLER_##name: \
        form(name)
#include "draws/samplers.def"
#undef SAMPLER
    case MX_SAMPLER_binomial:
        DRAW(int64_t, random_binomial(bitgen, p[0], (int64_t)first, r->kept))
    case MX_SAMPLER_hypergeometric:
        DRAW(int64_t, random_hypergeometric(bitgen, (int64_t)first, (int64_t)range,
                                            (int64_t)d->integers[2]))
    case MX_SAMPLER_integers_8:
        INTEGERS(8)
    case MX_SAMPLER_integers_16:
        INTEGERS(16)
    case MX_SAMPLER_integers_32:
        INTEGERS(32)
    case MX_SAMPLER_integers_64:
        if (range > UINT32_MAX) {
            DRAW(uint64_t, draw_64(r, first, range, mask, is_masked))
        }
        DRAW_INTEGERS(uint64_t, random_bounded_uint64(bitgen, first, range, mask, is_masked))
    case MX_SAMPLER_legacy_exponential:
        DRAW(double, -log(1.0 - bitgen->next_double(r)) * p[0])
    case MX_SAMPLER_gauss_pair:
        DRAW(struct pair, draw_pair(bitgen, p[0], p[1]))
    default:
        r->has_failed = true;
    }
    return n;
}

/* Writes n numbers, each of which takes the same part of the stream. */
static void draw_regular(const struct reader *r, const struct mx_draws *d, size_t n, char *out)
{
    double lower = d->numbers[0], range = d->numbers[1];
    if (d->sampler == MX_SAMPLER_bools)
        for (size_t i = 0; i < n; i++)
            out[i] = r->at[i / 32] >> i % 32 & 1;
    else if (d->sampler == MX_SAMPLER_uniform_f)
        for (size_t i = 0; i < n; i++)
            ((float *)(void *)out)[i] = (float)(int32_t)(r->at[i] >> 8) * (1.0f / 16777216.0f);
    else if (d->generator == MX_MT19937)
        for (size_t i = 0; i < n; i++)
            ((double *)(void *)out)[i] = lower + range * double_of_mt(r->at + 2 * i);
    else
        for (size_t i = 0; i < n; i++) {
            uint64_t word;
            memcpy(&word, r->at + 2 * i, sizeof word);
            ((double *)(void *)out)[i] = lower + range * double_of(word);
        }
}

/* -- Chunks ------------------------------------------------------------------------- */

#define TOGETHER 2048 /* draws between two looks at whether another thread has finished */
#define SPIN_NS  2000 /* until a thread that waits yields the processor */

struct job {
    struct mx_draws *draws;
    bool begins_with_half, takes_halves, is_regular;
    size_t itemsize;      /* bytes of a draw */
    size_t chunk, of_all; /* units of a chunk, and of all draws if they are regular */
    struct reader *readers, *spare;
    pthread_mutex_t lock;               /* for generators that cannot jump */
    struct mx_generator_state upcoming; /* before the next chunk, or for others before all */
    atomic_size_t n_taken, n_joined;    /* chunks */
    atomic_bool is_joining, is_done, has_failed;
    /* These belong to the thread that joins a chunk. */
    size_t n_filled; /* draws */
    int64_t entry;   /* the unit where the next one begins */
    struct mx_generator_state last;
    bool has_half;
    uint32_t half;
};

static bool is_over(const struct job *job)
{
    return atomic_load_explicit(&job->is_done, memory_order_relaxed) ||
           atomic_load_explicit(&job->has_failed, memory_order_relaxed);
}

/* Return how many regular numbers some units make, and how many units numbers take. */
static size_t numbers_of(const struct job *job, size_t units)
{
    return job->draws->sampler == MX_SAMPLER_bools ? 32 * units
           : job->takes_halves                     ? units
                                                   : units / 2;
}

static size_t units_of(const struct job *job, size_t numbers)
{
    return job->draws->sampler == MX_SAMPLER_bools ? (numbers + 31) / 32
           : job->takes_halves                     ? numbers
                                                   : 2 * numbers;
}

/* Makes the units of a chunk, before which the generator is in the state `upcoming` if it
 * cannot jump. */
static void make_chunk(const struct job *job, struct reader *r, size_t chunk)
{
    r->before = job->upcoming;
    if (mx_generator_jumps(r->generator))
        mx_generator_skip(r->generator, &r->before, chunk * job->chunk);
    r->after = r->before;
    r->units[FRONT - 1] = job->draws->half;
    r->at = r->units + FRONT - (chunk == 0 && job->begins_with_half);
    r->end = r->units + FRONT + job->chunk;
    r->left = 0;
    mx_generator_fill(r->generator, &r->after, r->units + FRONT, job->chunk);
}

/* Takes the next chunk.  Returns false if there is none. */
static bool take_chunk(struct job *job, struct reader *r, size_t *chunk)
{
    bool jumps = mx_generator_jumps(r->generator);
    if (!jumps)
        pthread_mutex_lock(&job->lock);
    *chunk = atomic_fetch_add(&job->n_taken, 1);
    /* Regular chunks are not joined in order, so the last one may be over before others. */
    bool is_left = job->is_regular ? *chunk * job->chunk < job->of_all : !is_over(job);
    if (is_left)
        make_chunk(job, r, *chunk);
    if (is_left && !jumps)
        job->upcoming = r->after;
    if (!jumps)
        pthread_mutex_unlock(&job->lock);
    return is_left;
}

/* Notes the state of the generator after the last draw. */
static void finish(struct job *job, const struct reader *r)
{
    size_t taken = (size_t)(r->at - r->units) - FRONT;
    bool has_halves = job->takes_halves && r->generator != MX_MT19937;
    size_t words = r->generator == MX_MT19937 ? taken : taken + taken % 2;
    job->last = r->before;
    mx_generator_skip(r->generator, &job->last, words);
    if (has_halves) {
        job->has_half = taken % 2;
        job->half = r->units[FRONT + words - 1]; /* the one before the chunk if it took none */
    }
    atomic_store(&job->is_done, true);
}

static void run_regular(struct job *job, struct reader *r, size_t chunk)
{
    const struct mx_draws *d = job->draws;
    size_t units = (size_t)(r->end - r->at), unit = chunk * job->chunk;
    size_t first = numbers_of(job, unit + (chunk > 0 && job->begins_with_half));
    size_t n = numbers_of(job, units);
    n = n < d->n - first ? n : d->n - first;
    draw_regular(r, d, n, (char *)d->out + first * job->itemsize);
    r->at += units_of(job, n);
    if (first + n == d->n)
        finish(job, r);
}

/* Joins the n draws of a chunk, which end before the unit `end`, to those before.  The calling
 * thread has set is_joining, and others may join when n_joined has increased. */
static void join_chunk(struct job *job, struct reader *r, size_t chunk, size_t n,
                       const uint32_t *end)
{
    const struct mx_draws *d = job->draws;
    const uint32_t *stop = r->units + FRONT + job->chunk;
    char *out = d->out;
    size_t k = 0;
    uint32_t begin = 0;
    r->at = r->units + FRONT + (job->entry - (int64_t)(chunk * job->chunk));
    r->left = 0;
    for (;; job->n_filled++) {
        while (k < n && r->begins[k] < place(r))
            k++;
        if ((k < n && r->begins[k] == place(r)) || job->n_filled == d->n ||
            draw_numbers(r, d, stop, 1, out + job->n_filled * job->itemsize, &begin) == 0)
            break;
    }
    bool has_met = k < n && r->begins[k] == place(r);
    size_t same = has_met ? n - k : 0, needed = d->n - job->n_filled, first = job->n_filled;
    if (same > needed)
        r->at = r->units + unit_of(r->begins[k + needed]), same = needed;
    else if (same > 0)
        r->at = end;
    job->n_filled += same;
    job->entry = (r->at - r->units) - FRONT + (int64_t)(chunk * job->chunk);
    if (r->has_failed)
        atomic_store(&job->has_failed, true);
    else if (job->n_filled == d->n)
        finish(job, r);
    atomic_store(&job->n_joined, chunk + 1);
    atomic_store(&job->is_joining, false);
    memcpy(out + first * job->itemsize, r->numbers + k * job->itemsize, same * job->itemsize);
}

/* Enters the section in which one thread joins, if `chunk` is the next one to be joined. */
static bool enter_chunk(struct job *job, size_t chunk)
{
    if (atomic_load(&job->n_joined) != chunk || atomic_exchange(&job->is_joining, true))
        return false;
    bool is_next = atomic_load(&job->n_joined) == chunk && !is_over(job);
    if (!is_next)
        atomic_store(&job->is_joining, false);
    return is_next;
}

/* Joins the n draws of a chunk when those before are joined.  If the system has stopped the
 * thread that draws the next chunk, waiting for it would take long.  So if no chunk is joined
 * for the time that the draws of this one took, that chunk is drawn here, and that thread finds
 * it joined.  The states of generators that cannot jump are that thread's own. */
static void join_in_order(struct job *job, struct reader *r, size_t chunk, size_t n,
                          int64_t patience)
{
    const bool jumps = mx_generator_jumps(r->generator);
    size_t next = 0, before = chunk + 1;
    int64_t since = 0;
    while (!is_over(job) && (next = atomic_load(&job->n_joined)) <= chunk) {
        if (next == chunk && enter_chunk(job, chunk)) {
            join_chunk(job, r, chunk, n, r->at);
            return;
        }
        if (next != before) {
            before = next;
            since = mx_now();
        } else if (mx_now() - since > (jumps ? patience : SPIN_NS)) {
            if (jumps && enter_chunk(job, next)) {
                make_chunk(job, job->spare, next);
                join_chunk(job, job->spare, next, 0, NULL);
            } else {
                sched_yield();
            }
        }
    }
}

static void run_chunk(struct job *job, struct reader *r, size_t chunk)
{
    const uint32_t *stop = r->units + FRONT + job->chunk;
    const int64_t begin = mx_now();
    size_t n = 0, drawn = TOGETHER;
    while (drawn == TOGETHER && !is_over(job)) {
        size_t most = MOST - n < TOGETHER ? MOST - n : TOGETHER;
        drawn = draw_numbers(r, job->draws, stop, most, r->numbers + n * job->itemsize,
                             r->begins + n);
        n += drawn;
    }
    if (r->has_failed || (r->at < stop && !is_over(job)))
        atomic_store(&job->has_failed, true); /* a draw takes too many units, or none */
    else
        join_in_order(job, r, chunk, n, mx_now() - begin);
}

static void work_on_chunks(void *job, size_t unused, int thread)
{
    (void)unused;
    struct reader *r = &((struct job *)job)->readers[thread];
    size_t chunk;
    while (take_chunk(job, r, &chunk))
        (((struct job *)job)->is_regular ? run_regular : run_chunk)(job, r, chunk);
}

/* -- Calls -------------------------------------------------------------------------- */

static size_t itemsize_of(int sampler)
{
    switch (sampler) {
    case MX_SAMPLER_gauss_pair:
        return 16;
    case MX_SAMPLER_standard_normal_f:
    case MX_SAMPLER_standard_exponential_f:
    case MX_SAMPLER_standard_gamma_f:
    case MX_SAMPLER_uniform_f:
    case MX_SAMPLER_integers_32:
        return 4;
    case MX_SAMPLER_integers_16:
        return 2;
    case MX_SAMPLER_integers_8:
    case MX_SAMPLER_bools:
        return 1;
    default:
        return 8;
    }
}

/* Returns the most numbers that one unit makes, of those that are not regular. */
static size_t most_of_unit(int sampler)
{
    return sampler == MX_SAMPLER_integers_8 ? 4 : sampler == MX_SAMPLER_integers_16 ? 2 : 1;
}

static void begin(struct reader *r, const struct mx_draws *d, const struct bitgen *bitgen)
{
    r->bitgen = *bitgen;
    r->bitgen.state = r;
    r->generator = d->generator;
    r->has_failed = false;
    memset(r->kept, 0, sizeof r->kept);
}

/* Draws one number, and returns whether it takes units of this kind. */
static bool takes_units(struct reader *r, const struct mx_draws *d, const struct bitgen *bitgen)
{
    begin(r, d, bitgen);
    r->after = *d->state;
    r->at = r->end = r->units + FRONT;
    r->left = 0;
    make_more(r);
    draw_numbers(r, d, r->end, 1, r->numbers, r->begins);
    return !r->has_failed && r->at > r->units + FRONT;
}

/* Finds out what the draws take.  Returns NULL if they take both words and halves, or nothing.
 */
static const struct bitgen *find_bitgen(struct job *job)
{
    const struct mx_draws *d = job->draws;
    job->takes_halves = d->sampler == MX_SAMPLER_uniform_f || d->sampler == MX_SAMPLER_bools;
    job->is_regular = job->takes_halves || d->sampler == MX_SAMPLER_uniform;
    if (job->is_regular)
        return &of_words; /* which is not used */
    if (d->generator == MX_MT19937)
        return takes_units(job->readers, d, &of_mt) ? &of_mt : NULL;
    if (takes_units(job->readers, d, &of_words))
        return &of_words;
    job->takes_halves = true;
    return takes_units(job->readers, d, &of_halves) ? &of_halves : NULL;
}

static bool run(struct job *job, int threads)
{
    struct mx_draws *d = job->draws;
    const struct bitgen *bitgen = find_bitgen(job);
    if (!bitgen)
        return false;
    job->begins_with_half = job->takes_halves && d->has_half && d->generator != MX_MT19937;
    job->itemsize = itemsize_of(d->sampler);
    job->chunk = UNITS / most_of_unit(d->sampler) & ~(size_t)1;
    /* Regular draws have at least one chunk, also if they take no more than the half. */
    job->of_all = units_of(job, d->n);
    job->of_all -= job->of_all > 1 && job->begins_with_half;
    job->entry = -job->begins_with_half;
    job->upcoming = *d->state;
    job->spare = job->readers + threads;
    for (int t = 0; t <= threads; t++)
        begin(&job->readers[t], d, bitgen);
    pthread_mutex_init(&job->lock, NULL);
    mx_thread_pool_run(work_on_chunks, job, (struct mx_chunks){0, (size_t)threads}, threads,
                       NULL);
    pthread_mutex_destroy(&job->lock);
    if (atomic_load(&job->has_failed))
        return false;
    memcpy(d->state, &job->last, mx_generator_state_size(d->generator));
    if (job->takes_halves && d->generator != MX_MT19937) {
        d->has_half = job->has_half;
        d->half = job->half;
    }
    return true;
}

static bool draw_on_threads(struct mx_draws *draws)
{
    struct job job = {.draws = draws};
    size_t chunks = draws->n / UNITS + 1;
    int threads = mx_thread_pool_size();
    threads = chunks < (size_t)threads ? (int)chunks : threads;
    struct mx_block *block = mx_pool_take((size_t)(threads + 1) * sizeof *job.readers);
    if (!block)
        return false;
    job.readers = (struct reader *)(void *)mx_pool_data(block);
    bool has_drawn = run(&job, threads);
    mx_pool_put(block);
    return has_drawn;
}

bool mx_streams_draw(struct mx_draws *draws)
{
    if (!mx_generator_is_plain(draws->generator, draws->state))
        return false;
    return (draws->sampler == MX_SAMPLER_shuffle ? mx_shuffle : draw_on_threads)(draws);
}

#endif
