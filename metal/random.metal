/* random.metal -- Philox4x64-10, with NumPy's stream of bits.
 *
 * Salmon, Moraes, Dror and Shaw, Parallel Random Numbers: As Easy as 1, 2, 3, SC'11.  Each
 * value of a counter of 256 bits is encrypted to four words, so that any part of the stream is
 * made without what comes before it.
 */

/* The upper half of a product; not every version of Metal has it for 64 bits. */
inline ulong mx_multiply_high(ulong a, ulong b)
{
    ulong a_low = a & 0xffffffffu, a_high = a >> 32;
    ulong b_low = b & 0xffffffffu, b_high = b >> 32;
    ulong middle = a_high * b_low + (a_low * b_low >> 32);
    ulong other = a_low * b_high + (middle & 0xffffffffu);
    return a_high * b_high + (middle >> 32) + (other >> 32);
}

inline ulong4 mx_philox(ulong4 counter, ulong2 key)
{
    const ulong m0 = 0xd2e7470ee14c6c93ul, m1 = 0xca5a826395121157ul;
    for (int round = 0; round < 10; round++) {
        counter = ulong4(mx_multiply_high(m1, counter.z) ^ counter.y ^ key.x, m1 * counter.z,
                         mx_multiply_high(m0, counter.x) ^ counter.w ^ key.y, m0 * counter.x);
        key += ulong2(0x9e3779b97f4a7c15ul, 0xbb67ae8584caa73bul);
    }
    return counter;
}

inline ulong4 mx_advance(ulong4 counter, ulong steps)
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

/* The four words after `block` times four; NumPy counts before it encrypts.
 * args: the key's two words, the counter's four. */
inline ulong4 mx_random_words(constant long *args, long block)
{
    ulong2 key = ulong2(ulong(args[0]), ulong(args[1]));
    ulong4 counter = ulong4(ulong(args[2]), ulong(args[3]), ulong(args[4]), ulong(args[5]));
    return mx_philox(mx_advance(counter, ulong(block) + 1), key);
}

/* -- Kernels ---------------------------------------------------------------------------- *
 * args: key and counter; where in the stream the result begins, and its length, in elements.
 * Threadgroups: MX_THREADS blocks of four words. */

kernel void mx_random_raw(device ulong *to [[buffer(0)]], constant long *args [[buffer(1)]],
                          uint3 group [[threadgroup_position_in_grid]],
                          uint thread_index [[thread_index_in_threadgroup]])
{
    const long block = args[6] / 4 + long(group.x) * MX_THREADS + thread_index;
    const ulong4 words = mx_random_words(args, block);
    for (int k = 0; k < 4; k++) {
        long i = block * 4 + k - args[6];
        if (i >= 0 && i < args[7])
            to[i] = words[k];
    }
}

/* Each word gives two numbers in [0, 1), the one of its lower half first. */
kernel void mx_random_float(device float *to [[buffer(0)]], constant long *args [[buffer(1)]],
                            uint3 group [[threadgroup_position_in_grid]],
                            uint thread_index [[thread_index_in_threadgroup]])
{
    const long block = args[6] / 8 + long(group.x) * MX_THREADS + thread_index;
    const ulong4 words = mx_random_words(args, block);
    for (int k = 0; k < 8; k++) {
        long i = block * 8 + k - args[6];
        uint bits = uint(words[k / 2] >> (32 * (k % 2)));
        if (i >= 0 && i < args[7])
            to[i] = float(bits >> 8) * (1.0f / 16777216.0f);
    }
}
