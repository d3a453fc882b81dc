#pragma once
/* draws.h -- what is drawn from a bit generator. */
#include "draws/generators.h"

/* What draws a number.  Those without a row in samplers.def have forms of their own. */
enum mx_sampler {
#define SAMPLER(name, form) MX_SAMPLER_##name,
#include "draws/samplers.def"
#undef SAMPLER
    MX_SAMPLER_uniform, /* the first double plus the second times one of [0, 1) */
    MX_SAMPLER_uniform_f,
    MX_SAMPLER_bools,
    MX_SAMPLER_binomial,
    MX_SAMPLER_hypergeometric,
    MX_SAMPLER_integers_8, /* of 8 bits */
    MX_SAMPLER_integers_16,
    MX_SAMPLER_integers_32,
    MX_SAMPLER_integers_64,
    MX_SAMPLER_gauss_pair, /* two numbers of the legacy normal distribution */
    MX_SAMPLER_legacy_exponential,
    MX_SAMPLER_shuffle, /* which exchanges the elements of the output: see shuffles.h */
    MX_SAMPLER_COUNT
};

struct mx_draws {
    int sampler, generator;
    double numbers[3];                /* the parameters that are floats, in NumPy's order */
    uint64_t integers[3];             /* and the integers; of integers: offset, range, masked;
                                       * of a shuffle: see shuffles.h */
    struct mx_generator_state *state; /* before the call, then after it */
    bool has_half;                    /* whether the upper half of the last word is left */
    uint32_t half;                    /* which it is, or was */
    void *out;
    size_t n; /* at least one */
};
