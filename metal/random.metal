/* random.metal -- Philox4x64-10 and PCG64, with NumPy's streams of bits.
 *
 * Philox: each value of a 256-bit counter is encrypted to four 64-bit words, so any part of the
 * stream can be computed alone.  Salmon, Moraes, Dror and Shaw, Parallel Random Numbers: As
 * Easy as 1, 2, 3, SC'11.
 *
 * PCG64: each word is a hash of a 128-bit number.  The next number is a multiple of it plus a
 * constant, and so is the number after any count of steps.  O'Neill, PCG: A Family of Simple
 * Fast Space-Efficient Statistically Good Algorithms for Random Number Generation, 2014.
 */

/* The upper half of a product, which not every version of Metal provides for 64 bits. */
MX_INLINE ulong mx_multiply_high(ulong a, ulong b)
{
    ulong a_low = a & 0xffffffffu, a_high = a >> 32;
    ulong b_low = b & 0xffffffffu, b_high = b >> 32;
    ulong middle = a_high * b_low + (a_low * b_low >> 32);
    ulong other = a_low * b_high + (middle & 0xffffffffu);
    return a_high * b_high + (middle >> 32) + (other >> 32);
}

MX_INLINE ulong4 mx_philox(ulong4 counter, ulong2 key)
{
    const ulong m0 = 0xd2e7470ee14c6c93ul, m1 = 0xca5a826395121157ul;
    for (int round = 0; round < 10; round++) {
        counter = ulong4(mx_multiply_high(m1, counter.z) ^ counter.y ^ key.x, m1 * counter.z,
                         mx_multiply_high(m0, counter.x) ^ counter.w ^ key.y, m0 * counter.x);
        key += ulong2(0x9e3779b97f4a7c15ul, 0xbb67ae8584caa73bul);
    }
    return counter;
}

MX_INLINE ulong4 mx_advance(ulong4 counter, ulong steps)
{
    counter.x += steps;
    ulong carry = counter.x < steps;
    counter.y += carry;
    carry = carry & ulong(counter.y == 0);
    counter.z += carry;
    carry = carry & ulong(counter.z == 0);
    counter.w += carry;
    return counter;
}

/* -- Arguments -------------------------------------------------------------------------- *
 * The two words of the key; the four words of the counter; the number of elements; the least
 * integer; the number of bits to shift out; the number of words that earlier draws left (or of
 * halves, for elements made of halves); these words; and the origin of the grid. */

#define MX_N      6
#define MX_LEAST  7
#define MX_SHIFT  8
#define MX_N_LEFT 9
#define MX_LEFT   10

/* The number of a threadgroup in the whole grid. */
MX_INLINE uint mx_find_group(uint3 group, constant long *args)
{
    constant long *origin = args + MX_LEFT + args[MX_N_LEFT];
    return group.x + uint(origin[0]);
}

/* The four words of a block.  NumPy increments the counter before it encrypts. */
MX_INLINE ulong4 mx_random_words(constant long *args, long block)
{
    ulong2 key = ulong2(ulong(args[0]), ulong(args[1]));
    ulong4 counter = ulong4(ulong(args[2]), ulong(args[3]), ulong(args[4]), ulong(args[5]));
    return mx_philox(mx_advance(counter, ulong(block) + 1), key);
}

/* -- Elements --------------------------------------------------------------------------- */

struct mx_integer {
    static MX_INLINE ulong apply(ulong bits, constant long *args)
    {
        return ulong(args[MX_LEAST]) + (bits >> ulong(args[MX_SHIFT]));
    }
};

/* A number in [0, 1) made of 24 bits of a half. */
struct mx_single {
    static MX_INLINE float apply(ulong bits, constant long *)
    {
        return float(uint(bits) >> 8) * (1.0f / 16777216.0f);
    }
};

/* The bits of a double in [0, 1), which is 53 bits of a word times 2**-53. */
struct mx_double {
    static MX_INLINE ulong apply(ulong bits, constant long *)
    {
        const ulong mantissa = bits >> 11;
        if (mantissa == 0)
            return 0;
        const ulong zeros =
            mx_count_leading_zeros(mantissa) - 11; /* before the first bit of the mantissa */
        return ((1022 - zeros) << 52) + ((mantissa << zeros) & 0xffffffffffffful);
    }
};

/* The words that are left come first.  Then each thread makes the elements of one block. */
template <typename Element, typename T>
MX_INLINE void mx_fill_from_words(device T *to, constant long *args, uint group,
                                  uint thread_index)
{
    const long block = long(group) * MX_THREADS + thread_index, left = args[MX_N_LEFT];
    if (block == 0)
        for (long i = 0; i < left; i++)
            to[i] = T(Element::apply(ulong(args[MX_LEFT + i]), args));
    const ulong4 words = mx_random_words(args, block);
    for (int k = 0; k < 4; k++) {
        const long i = left + block * 4 + k;
        if (i < args[MX_N])
            to[i] = T(Element::apply(words[k], args));
    }
}

/* The same for halves.  The lower half of a word comes first. */
template <typename Element, typename T>
MX_INLINE void mx_fill_from_halves(device T *to, constant long *args, uint group,
                                   uint thread_index)
{
    const long block = long(group) * MX_THREADS + thread_index, left = args[MX_N_LEFT];
    if (block == 0)
        for (long i = 0; i < left; i++)
            to[i] = T(Element::apply(ulong(args[MX_LEFT + i]), args));
    const ulong4 words = mx_random_words(args, block);
    for (int k = 0; k < 8; k++) {
        const long i = left + block * 8 + k;
        if (i < args[MX_N])
            to[i] = T(Element::apply(words[k / 2] >> (32 * (k % 2)) & 0xffffffffu, args));
    }
}

/* -- Kernels ---------------------------------------------------------------------------- *
 * Each threadgroup has MX_THREADS blocks of four words. */

[[max_total_threads_per_threadgroup(256)]]
kernel void mx_random_word_integers(device ulong *to [[buffer(0)]],
                                    constant long *args [[buffer(1)]],
                                    uint3 group [[threadgroup_position_in_grid]],
                                    uint thread_index [[thread_index_in_threadgroup]])
{
    mx_fill_from_words<mx_integer>(to, args, mx_find_group(group, args), thread_index);
}

[[max_total_threads_per_threadgroup(256)]]
kernel void mx_random_doubles(device ulong *to [[buffer(0)]], constant long *args [[buffer(1)]],
                              uint3 group [[threadgroup_position_in_grid]],
                              uint thread_index [[thread_index_in_threadgroup]])
{
    mx_fill_from_words<mx_double>(to, args, mx_find_group(group, args), thread_index);
}

[[max_total_threads_per_threadgroup(256)]]
kernel void mx_random_long_integers(device ulong *to [[buffer(0)]],
                                    constant long *args [[buffer(1)]],
                                    uint3 group [[threadgroup_position_in_grid]],
                                    uint thread_index [[thread_index_in_threadgroup]])
{
    mx_fill_from_halves<mx_integer>(to, args, mx_find_group(group, args), thread_index);
}

[[max_total_threads_per_threadgroup(256)]]
kernel void mx_random_integers(device uint *to [[buffer(0)]], constant long *args [[buffer(1)]],
                               uint3 group [[threadgroup_position_in_grid]],
                               uint thread_index [[thread_index_in_threadgroup]])
{
    mx_fill_from_halves<mx_integer>(to, args, mx_find_group(group, args), thread_index);
}

[[max_total_threads_per_threadgroup(256)]]
kernel void mx_random_singles(device float *to [[buffer(0)]], constant long *args [[buffer(1)]],
                              uint3 group [[threadgroup_position_in_grid]],
                              uint thread_index [[thread_index_in_threadgroup]])
{
    mx_fill_from_halves<mx_single>(to, args, mx_find_group(group, args), thread_index);
}

/* -- PCG64 ------------------------------------------------------------------------------ *
 * The two words of the state; those of the constant; the number of threads; the number of
 * halves that earlier draws left, 0 or 1; the number of elements; the least integer; the number
 * of bits to shift out; the factor and the constant of as many steps as there are threads; the
 * half that is left; and the origin of the grid.  Numbers of 128 bits have the lower word
 * first. */

#define MX_PCG_THREADS 4
#define MX_PCG_LEFT    5
#define MX_PCG_FACTOR  9
#define MX_PCG_PLUS    11
#define MX_PCG_HALF    13
#define MX_PCG_ORIGIN  14

MX_INLINE ulong2 mx_multiply_wide(ulong2 a, ulong2 b)
{
    return ulong2(a.x * b.x, mx_multiply_high(a.x, b.x) + a.x * b.y + a.y * b.x);
}

MX_INLINE ulong2 mx_add_wide(ulong2 a, ulong2 b)
{
    const ulong low = a.x + b.x;
    return ulong2(low, a.y + b.y + ulong(low < a.x));
}

MX_INLINE ulong2 mx_step_wide(ulong2 state, ulong2 factor, ulong2 plus)
{
    return mx_add_wide(mx_multiply_wide(factor, state), plus);
}

MX_INLINE ulong2 mx_read_wide(constant long *args, int first)
{
    return ulong2(ulong(args[first]), ulong(args[first + 1]));
}

/* The state after a number of steps.  Each round doubles the steps that factor and plus make.
 */
MX_INLINE ulong2 mx_advance_pcg(ulong2 state, ulong2 plus, ulong steps)
{
    ulong2 factor = ulong2(0x4385df649fccf645ul, 0x2360ed051fc65da4ul);
    for (; steps > 0; steps >>= 1) {
        if (steps & 1)
            state = mx_step_wide(state, factor, plus);
        plus = mx_step_wide(plus, factor, plus);
        factor = mx_multiply_wide(factor, factor);
    }
    return state;
}

MX_INLINE ulong mx_hash_pcg(ulong2 state)
{
    const ulong bits = state.x ^ state.y, shift = state.y >> 58;
    return bits >> shift | bits << ((64 - shift) & 63);
}

/* Each thread makes the elements of every word whose number is its own plus a multiple of the
 * number of threads, so that adjacent threads write adjacent elements. */
template <typename Element, typename T, int halves>
MX_INLINE void mx_fill_from_pcg(device T *to, constant long *args, uint group,
                                uint thread_index)
{
    const long left = args[MX_PCG_LEFT], threads = args[MX_PCG_THREADS];
    const long first = long(group + uint(args[MX_PCG_ORIGIN])) * MX_THREADS + thread_index;
    const ulong2 factor = mx_read_wide(args, MX_PCG_FACTOR),
                 plus = mx_read_wide(args, MX_PCG_PLUS);
    if (first == 0 && left > 0)
        to[0] = T(Element::apply(ulong(args[MX_PCG_HALF]), args));
    ulong2 state =
        mx_advance_pcg(mx_read_wide(args, 0), mx_read_wide(args, 2), ulong(first) + 1);
    for (long i = left + first * halves; i < args[MX_N]; i += threads * halves) {
        const ulong bits = mx_hash_pcg(state);
        to[i] = T(Element::apply(halves == 1 ? bits : bits & 0xffffffffu, args));
        if (halves == 2 && i + 1 < args[MX_N])
            to[i + 1] = T(Element::apply(bits >> 32, args));
        state = mx_step_wide(state, factor, plus);
    }
}

[[max_total_threads_per_threadgroup(256)]]
kernel void mx_pcg64_word_integers(device ulong *to [[buffer(0)]],
                                   constant long *args [[buffer(1)]],
                                   uint3 group [[threadgroup_position_in_grid]],
                                   uint thread_index [[thread_index_in_threadgroup]])
{
    mx_fill_from_pcg<mx_integer, ulong, 1>(to, args, group.x, thread_index);
}

[[max_total_threads_per_threadgroup(256)]]
kernel void mx_pcg64_doubles(device ulong *to [[buffer(0)]], constant long *args [[buffer(1)]],
                             uint3 group [[threadgroup_position_in_grid]],
                             uint thread_index [[thread_index_in_threadgroup]])
{
    mx_fill_from_pcg<mx_double, ulong, 1>(to, args, group.x, thread_index);
}

[[max_total_threads_per_threadgroup(256)]]
kernel void mx_pcg64_long_integers(device ulong *to [[buffer(0)]],
                                   constant long *args [[buffer(1)]],
                                   uint3 group [[threadgroup_position_in_grid]],
                                   uint thread_index [[thread_index_in_threadgroup]])
{
    mx_fill_from_pcg<mx_integer, ulong, 2>(to, args, group.x, thread_index);
}

[[max_total_threads_per_threadgroup(256)]]
kernel void mx_pcg64_integers(device uint *to [[buffer(0)]], constant long *args [[buffer(1)]],
                              uint3 group [[threadgroup_position_in_grid]],
                              uint thread_index [[thread_index_in_threadgroup]])
{
    mx_fill_from_pcg<mx_integer, uint, 2>(to, args, group.x, thread_index);
}

[[max_total_threads_per_threadgroup(256)]]
kernel void mx_pcg64_singles(device float *to [[buffer(0)]], constant long *args [[buffer(1)]],
                             uint3 group [[threadgroup_position_in_grid]],
                             uint thread_index [[thread_index_in_threadgroup]])
{
    mx_fill_from_pcg<mx_single, float, 2>(to, args, group.x, thread_index);
}
