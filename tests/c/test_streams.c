/* test_streams.c -- draws have the same bits and end in the same state, however many threads
 * draw. Results have their exact size, so the sanitizers find each access beyond their end.
 *
 * It includes the tested file to enter the section in which one thread joins. */
#include "../../csrc/draws/streams.c"

#include <stdlib.h>

#include "check.h"

struct result {
    struct mx_generator_state state;
    bool has_half;
    uint32_t half;
    char *numbers;
};

static struct mx_generator_state first_state(int generator)
{
    struct mx_generator_state state;
    memset(&state, 0, sizeof state);
    unsigned char *bytes = (unsigned char *)&state;
    for (size_t i = 0; i < mx_generator_state_size(generator); i++)
        bytes[i] = (unsigned char)(i * 37 + 11);
    if (generator == MX_PHILOX)
        state.philox.n_used = 4;
    if (generator == MX_MT19937)
        state.mt.n_used = MX_MT_WORDS;
    return state;
}

static struct result draw(const char *sampler, size_t itemsize, int generator, size_t n,
                          int threads)
{
    struct result result = {.state = first_state(generator), .numbers = malloc(n * itemsize)};
    struct mx_draws draws = {.sampler = mx_streams_find(sampler),
                             .generator = generator,
                             .numbers = {2.5, 1},
                             .integers = {3, 99},
                             .state = &result.state,
                             .has_half = true,
                             .half = 12345,
                             .out = result.numbers,
                             .n = n};
    CHECK(result.numbers);
    mx_thread_pool_set_size(threads);
    CHECK(mx_streams_draw(&draws));
    result.has_half = draws.has_half;
    result.half = draws.half;
    return result;
}

static void check(const char *sampler, size_t itemsize, int generator, size_t n)
{
    struct result one = draw(sampler, itemsize, generator, n, 1);
    for (int threads = 2; threads <= 5; threads++) {
        struct result many = draw(sampler, itemsize, generator, n, threads);
        CHECK(memcmp(one.numbers, many.numbers, n * itemsize) == 0);
        CHECK(memcmp(&one.state, &many.state, sizeof one.state) == 0);
        CHECK(one.has_half == many.has_half && one.half == many.half);
        free(many.numbers);
    }
    free(one.numbers);
}

/* One thread at a time joins, and only the next chunk. */
static void check_section(void)
{
#ifdef MX_SAMPLERS
    struct job job = {.n_joined = 3};
    CHECK(!enter_chunk(&job, 2) && !enter_chunk(&job, 4));
    CHECK(enter_chunk(&job, 3));
    CHECK(!enter_chunk(&job, 3));
    atomic_store(&job.n_joined, 4); /* as join_chunk() leaves the section */
    CHECK(!enter_chunk(&job, 4));
    atomic_store(&job.is_joining, false);
    CHECK(enter_chunk(&job, 4));
    atomic_store(&job.is_joining, false);
    atomic_store(&job.is_done, true);
    CHECK(!enter_chunk(&job, 4));
    CHECK(!atomic_load(&job.is_joining));
#endif
}

int main(void)
{
    if (mx_streams_find("normal") < 0)
        return 0; /* a build without NumPy's samplers */
    check_section();
    static const struct {
        const char *sampler;
        size_t itemsize;
    } all[] = {{"uniform", 8},          {"uniform_f", 4},   {"bools", 1},
               {"standard_gamma", 8},   {"poisson", 8},     {"integers_8", 1},
               {"integers_16", 2},      {"integers_64", 8}, {"gauss_pair", 16},
               {"standard_normal_f", 4}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (int generator = 0; generator < MX_GENERATOR_COUNT; generator++)
            for (size_t n = 1; n < 60000; n = n * 7 + 1)
                check(all[i].sampler, all[i].itemsize, generator, n);
    return 0;
}
