/* shuffles.c -- exchanges of elements at random, in NumPy's order.
 *
 * Each exchange depends on those before, but the places do not depend on the elements.  So some
 * places are drawn at a time, and the elements there are fetched into the cache together.
 */
#include "draws/shuffles.h"

#include <string.h>

#define UNITS 512 /* an even number that are made at a time */

struct places {
    size_t top, least; /* the next element that is exchanged, and the last one */
    size_t n;
    uint32_t at[UNITS + 1]; /* for each element from the top down */
};

static uint32_t mask_of(uint32_t range)
{
    for (int shift = 1; shift < 32; shift *= 2)
        range |= range >> shift;
    return range;
}

/* Draw places from n units, without branches that would be mispredicted.  Return how many units
 * they took. */
static size_t draw_masked(struct places *places, const uint32_t *units, size_t n)
{
    size_t taken = 0, last = places->top;
    places->n = 0;
    while (taken < n && last >= places->least) {
        uint32_t mask = mask_of((uint32_t)last);
        size_t least = mask / 2 + 1; /* that has this mask */
        least = least > places->least ? least : places->least;
        size_t end = n - taken < last - least + 1 ? n : taken + (last - least + 1);
        for (; taken < end; taken++) {
            places->at[places->n] = units[taken] & mask;
            size_t accepts = (units[taken] & mask) <= last;
            places->n += accepts;
            last -= accepts;
        }
    }
    return taken;
}

/* The same by Lemire's method (ACM TOMACS 29, 2019). */
static size_t draw_scaled(struct places *places, const uint32_t *units, size_t n)
{
    size_t taken = 0;
    uint32_t past = (uint32_t)places->top + 1;
    places->n = 0;
    for (; taken < n && past > places->least; taken++) {
        uint64_t all = (uint64_t)units[taken] * past;
        uint32_t rest = (uint32_t)all;
        if (rest < past && rest < (0 - past) % past)
            continue;
        places->at[places->n++] = (uint32_t)(all >> 32);
        past--;
    }
    return taken;
}

typedef struct {
    uint64_t parts[2];
} uint128;

#define EXCHANGE(type)                                                 \
    {                                                                  \
        type *elements = (type *)out;                                  \
        for (size_t k = 0; k < places->n; k++)                         \
            __builtin_prefetch(elements + places->at[k], 1);           \
        for (size_t k = 0; k < places->n; k++) {                       \
            type *element = elements + places->at[k], kept = *element; \
            *element = elements[places->top - k];                      \
            elements[places->top - k] = kept;                          \
        }                                                              \
        break;                                                         \
    }

static void exchange(const struct places *places, void *out, uint64_t itemsize)
{
    switch (itemsize) {
    case 1:
        EXCHANGE(uint8_t)
    case 2:
        EXCHANGE(uint16_t)
    case 4:
        EXCHANGE(uint32_t)
    case 8:
        EXCHANGE(uint64_t)
    default:
        EXCHANGE(uint128)
    }
}

bool mx_shuffle(struct mx_draws *draws)
{
    const bool has_words = draws->generator != MX_MT19937;
    struct mx_generator_state *state = draws->state, before, after = *state;
    struct places places = {.top = draws->n - 1, .least = draws->integers[0]};
    uint32_t units[1 + UNITS];
    if (draws->n > UINT32_MAX || places.least < 1)
        return false;
    size_t first = !(has_words && draws->has_half);
    units[0] = draws->half;
    while (places.top >= places.least) {
        before = after;
        mx_generator_fill(draws->generator, &after, units + 1, UNITS);
        size_t taken = (draws->integers[2] ? draw_masked : draw_scaled)(&places, units + first,
                                                                        1 + UNITS - first);
        exchange(&places, draws->out, draws->integers[1]);
        places.top -= places.n;
        taken -= 1 - first; /* a half that was left is not from this fill */
        first = 1;
        if (places.top >= places.least)
            continue;
        size_t words = has_words ? taken + taken % 2 : taken;
        mx_generator_skip(draws->generator, &before, words);
        memcpy(state, &before, mx_generator_state_size(draws->generator));
        if (has_words) {
            draws->has_half = taken % 2;
            draws->half = units[words];
        }
    }
    return true;
}
