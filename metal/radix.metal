/* radix.metal -- stable sorts of long rows, by the bytes of their keys from the lowest on.
 *
 * The definition of mx_item, the type of the items, precedes it.  One kernel counts the digits
 * of all passes.  Each pass then moves the items once: a threadgroup ranks the items of a tile,
 * and finds how many items of the same digit the tiles before it have.  It waits for these
 * tiles, so they must have begun and must go on: see `makes_progress` in csrc/mxnp.h.
 * Adinets and Merrill, Onesweep: A Faster Least Significant Digit Radix Sort for GPUs, 2022.
 */

#define MX_DIGITS      256u
#define MX_RADIX_SIZE  (sizeof(mx_item) > 4 ? sizeof(mx_item) : 4u) /* bytes of what moves */
#define MX_RADIX_SHARE (MX_RADIX_SIZE > 4 ? 8u : 16u)               /* items of a thread */
#define MX_RADIX_PART  (MX_LANES * MX_RADIX_SHARE)                  /* of a SIMD-group */
#define MX_RADIX_TILE  (MX_THREADS * MX_RADIX_SHARE) /* also in mxnp/_gpu/kernels.py */

#ifndef MX_HAS_VOTE
/* Which lanes say yes.  All lanes must call it. */
inline uint mx_vote(bool yes) { return uint(ulong(simd_ballot(yes))); }
inline void mx_pause() {} /* of a thread that waits for another threadgroup */
#endif

struct mx_radix_add {
    static uint apply(uint a, uint b) { return a + b; }
};

/* -- Keys --------------------------------------------------------------------------------- *
 * Unsigned integers in NumPy's order: NaN is last, and zeros of both signs are equal. */

inline uint mx_radix_key(bool a) { return a; }
inline uint mx_radix_key(uchar a) { return a; }
inline uint mx_radix_key(ushort a) { return a; }
inline uint mx_radix_key(uint a) { return a; }
inline ulong mx_radix_key(ulong a) { return a; }
inline uint mx_radix_key(char a) { return uint(int(a) + 128); }
inline uint mx_radix_key(short a) { return uint(int(a) + 32768); }
inline uint mx_radix_key(int a) { return uint(a) ^ 0x80000000u; }
inline ulong mx_radix_key(long a) { return ulong(a) ^ 0x8000000000000000ul; }
inline uint mx_radix_key(half a) { return mx_isnan(a) ? 0xffffu : uint(mx_rank(a) + 32768); }
/* -- also for double, where there is one -- */
inline auto mx_radix_key(float a) -> decltype(mx_radix_key(mx_rank(a)))
{
    return mx_isnan(a) ? ~decltype(mx_radix_key(mx_rank(a)))(0) : mx_radix_key(mx_rank(a));
}
/* -- end of the functions for double -- */

inline uint mx_radix_digit(mx_item a, uint pass)
{
    return uint(mx_radix_key(a) >> (8 * pass)) & (MX_DIGITS - 1);
}

/* -- Words ---------------------------------------------------------------------------------- *
 * The kernels share an array of words: the number of items with each digit of each pass, for
 * each row; how many tiles of each row have begun each pass; and two arrays with a word for
 * each tile and digit, for even and for odd passes.  In such a word the two highest bits say
 * what the others are: the number of items of the tile, or of the tile and those before it. */

#define MX_OF_TILE 0x40000000u
#define MX_OF_ALL  0x80000000u
#define MX_IN_WORD 0x3fffffffu

#define MX_RADIX_LOADS 8u /* words that a thread loads at a time */

struct mx_radix_words {
    uint rows, tiles, passes;
    long count(uint row, uint pass) const { return (long(row) * passes + pass) * MX_DIGITS; }
    long begun(uint row, uint pass) const { return count(rows, 0) + long(row) * passes + pass; }
    long state(uint row, uint tile, uint pass) const
    {
        return begun(rows, 0) +
               ((long(pass % 2) * rows + row) * tiles + tile) * long(MX_DIGITS);
    }
};

inline mx_radix_words mx_find_radix_words(constant long *args)
{
    mx_radix_words words;
    words.rows = uint(args[1]);
    words.tiles = uint(args[2]);
    words.passes = uint(args[3]);
    return words;
}

/* Zeroes the words that the first pass and the count need.
 * args: the number of these words; the origin of the grid.  The grid counts threads. */
[[max_total_threads_per_threadgroup(256)]]
kernel void mx_radix_clear(device uint *words [[buffer(0)]], constant long *args [[buffer(1)]],
                           uint3 at [[thread_position_in_grid]])
{
    at += mx_origin(args[1], args[2], args[3]);
    if (long(at.x) < args[0])
        words[at.x] = 0;
}

/* -- Counts --------------------------------------------------------------------------------- *
 * The lanes of a SIMD-group count in several copies, so that fewer of them wait for each other.
 */

#define MX_COPIES        (sizeof(mx_item) > 4 ? 2u : 4u)
#define MX_RADIX_COUNTED 4u /* items that a thread loads at a time */
#define MX_RADIX_STEP    (MX_THREADS * MX_RADIX_COUNTED)

/* args: the length of a row; the numbers of rows, tiles and passes; the threadgroups of a row;
 * the origin of the grid, which has these threadgroups for each row. */
[[max_total_threads_per_threadgroup(256)]]
kernel void mx_radix_count(device const mx_item *from [[buffer(0)]],
                           device atomic_uint *words [[buffer(1)]],
                           constant long *args [[buffer(2)]],
                           uint3 group [[threadgroup_position_in_grid]],
                           uint thread_index [[thread_index_in_threadgroup]])
{
    threadgroup atomic_uint counts[sizeof(mx_item) * MX_DIGITS * MX_COPIES];
    group += mx_origin(args[5], args[6], args[7]);
    constexpr uint passes = uint(sizeof(mx_item));
    const uint n_counts = passes * MX_DIGITS * MX_COPIES;
    const long n = args[0], step = args[4] * MX_RADIX_STEP, row = long(group.y) * n;
    for (uint i = thread_index; i < n_counts; i += MX_THREADS)
        atomic_store_explicit(&counts[i], 0, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const uint copy = thread_index % MX_COPIES;
    for (long begin = long(group.x) * MX_RADIX_STEP; begin < n; begin += step) {
        mx_item items[MX_RADIX_COUNTED];
        const long own = begin + thread_index;
        MX_UNROLL
        for (uint k = 0; k < MX_RADIX_COUNTED; k++)
            items[k] = from[row + mx_lesser(own + k * MX_THREADS, n - 1)];
        MX_UNROLL
        for (uint k = 0; k < MX_RADIX_COUNTED; k++) {
            const bool is_here = own + k * MX_THREADS < n;
            MX_UNROLL
            for (uint pass = 0; pass < passes; pass++) {
                const uint digit = mx_radix_digit(items[k], pass);
                const uint first = mx_from_lane(digit, 0);
                const bool is_one = mx_vote(!is_here || digit != first) == 0;
                if (is_one ? thread_index % MX_LANES == 0 : is_here)
                    atomic_fetch_add_explicit(
                        &counts[(pass * MX_DIGITS + digit) * MX_COPIES + copy],
                        is_one ? MX_LANES : 1u, memory_order_relaxed);
            }
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const long to = mx_find_radix_words(args).count(group.y, 0);
    for (uint i = thread_index; i < passes * MX_DIGITS; i += MX_THREADS) {
        uint count = 0;
        for (uint k = 0; k < MX_COPIES; k++)
            count += atomic_load_explicit(&counts[i * MX_COPIES + k], memory_order_relaxed);
        if (count > 0)
            atomic_fetch_add_explicit(&words[to + i], count, memory_order_relaxed);
    }
}

/* -- Passes ---------------------------------------------------------------------------------
 */

/* What a threadgroup shares. */
struct mx_radix_shared {
    ulong moved[MX_RADIX_TILE * MX_RADIX_SIZE / 8]; /* the items, and then their places */
    uint counts[MX_SIMDGROUPS * MX_DIGITS]; /* of the digits in each SIMD-group's part */
    uint places[MX_DIGITS]; /* where the items of each digit go, less their place in the tile */
    uint sums[MX_SIMDGROUPS];
    uint tile;
};

/* Returns the lanes that have the same digit.  All lanes must call it. */
inline uint mx_match(uint digit)
{
    uint lanes = ~0u;
    MX_UNROLL
    for (uint bit = 0; bit < 8; bit++) {
        const bool is_set = (digit >> bit & 1) != 0;
        const uint votes = mx_vote(is_set);
        lanes &= is_set ? votes : ~votes;
    }
    return lanes;
}

/* Returns how many items of a digit the tiles before this one have.  It loads the words of
 * several tiles at a time, because each load takes long. */
inline uint mx_count_before(device atomic_uint *words, mx_radix_words layout, uint row,
                            uint tile, uint pass, uint digit)
{
    const long first = layout.state(row, 0, pass) + digit;
    uint sum = 0;
    while (tile > 0) {
        uint loaded[MX_RADIX_LOADS], k = 0;
        MX_UNROLL
        for (uint i = 0; i < MX_RADIX_LOADS; i++)
            loaded[i] =
                i < tile
                    ? atomic_load_explicit(&words[first + long(tile - 1 - i) * long(MX_DIGITS)],
                                           memory_order_relaxed)
                    : MX_OF_ALL;
        MX_UNROLL
        for (uint i = 0; i < MX_RADIX_LOADS; i++) {
            if (i > k || loaded[i] == 0)
                continue;
            sum += loaded[i] & MX_IN_WORD;
            if ((loaded[i] & MX_OF_ALL) != 0)
                return sum;
            k++;
        }
        tile -= k;
        if (k == 0)
            mx_pause();
    }
    return sum;
}

/* Returns the sum of the values of the threads before this one.  All threads must call it. */
inline uint mx_radix_sum_before(threadgroup uint *sums, uint mine, uint thread_index)
{
    uint all, before = mx_scan<mx_radix_add>(sums, mine, thread_index, &all);
    return thread_index == 0 ? 0 : before;
}

/* Moves the items of a tile, and their places in the row.
 * args: the length of a row; the numbers of rows, tiles, passes and of this pass; the origin of
 * the grid, which counts tiles of a row, and rows.  Places are words, which the first pass
 * makes, and 64-bit numbers after the last pass. */
template <bool has_places>
inline void mx_radix_move(device const mx_item *from, device const uint *from_places,
                          device mx_item *to, device uint *to_places, device long *last_places,
                          device atomic_uint *words, threadgroup mx_radix_shared &shared,
                          constant long *args, uint row, uint thread_index)
{
    const mx_radix_words layout = mx_find_radix_words(args);
    const long n = args[0], first = long(row) * n;
    const uint pass = uint(args[4]), lane = thread_index % MX_LANES;
    threadgroup mx_item *moved_items = (threadgroup mx_item *)shared.moved;
    threadgroup uint *moved_places = (threadgroup uint *)shared.moved;
    threadgroup uint *counts = shared.counts + thread_index / MX_LANES * MX_DIGITS;
    if (thread_index == 0)
        shared.tile = atomic_fetch_add_explicit(&words[layout.begun(row, pass)], 1u,
                                                memory_order_relaxed);
    for (uint s = 0; s < MX_SIMDGROUPS; s++)
        shared.counts[s * MX_DIGITS + thread_index] = 0;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const uint tile = shared.tile;
    const long begin = long(tile) * MX_RADIX_TILE;
    const uint length = uint(mx_lesser(n - begin, long(MX_RADIX_TILE)));
    if (pass + 1 < layout.passes)
        atomic_store_explicit(&words[layout.state(row, tile, pass + 1) + thread_index], 0u,
                              memory_order_relaxed);

    /* Items beyond the end of the row have the last digit, and come after all others. */
    mx_item items[MX_RADIX_SHARE];
    uint slots[MX_RADIX_SHARE];
    const uint own = thread_index / MX_LANES * MX_RADIX_PART + lane;
    MX_UNROLL
    for (uint k = 0; k < MX_RADIX_SHARE; k++)
        if (own + k * MX_LANES < length)
            items[k] = from[first + begin + own + k * MX_LANES];
    MX_UNROLL
    for (uint k = 0; k < MX_RADIX_SHARE; k++) {
        const bool is_here = own + k * MX_LANES < length;
        const uint digit = is_here ? mx_radix_digit(items[k], pass) : MX_DIGITS - 1;
        const uint lanes = mx_match(digit), below = popcount(lanes & ((1u << lane) - 1));
        const uint before = counts[digit];
        simdgroup_barrier(mem_flags::mem_threadgroup);
        if (below == 0)
            counts[digit] = before + popcount(lanes);
        simdgroup_barrier(mem_flags::mem_threadgroup);
        slots[k] = before + below;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);

    /* From here on, a thread has a digit. */
    uint in_tile = 0;
    for (uint s = 0; s < MX_SIMDGROUPS; s++) {
        const uint count = shared.counts[s * MX_DIGITS + thread_index];
        shared.counts[s * MX_DIGITS + thread_index] = in_tile;
        in_tile += count;
    }
    if (thread_index == MX_DIGITS - 1)
        in_tile -= MX_RADIX_TILE - length;
    device atomic_uint *state = words + layout.state(row, tile, pass) + thread_index;
    atomic_store_explicit(state, in_tile | (tile == 0 ? MX_OF_ALL : MX_OF_TILE),
                          memory_order_relaxed);
    const uint in_row = atomic_load_explicit(&words[layout.count(row, pass) + thread_index],
                                             memory_order_relaxed);
    const uint slot = mx_radix_sum_before(shared.sums, in_tile, thread_index);
    uint place = mx_radix_sum_before(shared.sums, in_row, thread_index);
    if (tile > 0) {
        const uint before = mx_count_before(words, layout, row, tile, pass, thread_index);
        atomic_store_explicit(state, (before + in_tile) | MX_OF_ALL, memory_order_relaxed);
        place += before;
    }
    shared.places[thread_index] = place - slot;
    for (uint s = 0; s < MX_SIMDGROUPS; s++)
        shared.counts[s * MX_DIGITS + thread_index] += slot;
    threadgroup_barrier(mem_flags::mem_threadgroup);

    MX_UNROLL
    for (uint k = 0; k < MX_RADIX_SHARE; k++) {
        const bool is_here = own + k * MX_LANES < length;
        slots[k] += counts[is_here ? mx_radix_digit(items[k], pass) : MX_DIGITS - 1];
        if (is_here)
            moved_items[slots[k]] = items[k];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint targets[MX_RADIX_SHARE];
    MX_UNROLL
    for (uint k = 0; k < MX_RADIX_SHARE; k++) {
        const uint i = k * MX_THREADS + thread_index;
        if (i >= length)
            break;
        const mx_item item = moved_items[i];
        targets[k] = shared.places[mx_radix_digit(item, pass)] + i;
        to[first + targets[k]] = item;
    }
    if (!has_places)
        return;

    threadgroup_barrier(mem_flags::mem_threadgroup);
    MX_UNROLL
    for (uint k = 0; k < MX_RADIX_SHARE; k++) {
        const uint i = own + k * MX_LANES;
        if (i < length)
            moved_places[slots[k]] =
                pass == 0 ? uint(begin) + i : from_places[first + begin + i];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    MX_UNROLL
    for (uint k = 0; k < MX_RADIX_SHARE; k++) {
        const uint i = k * MX_THREADS + thread_index;
        if (i >= length)
            break;
        if (pass + 1 < layout.passes)
            to_places[first + targets[k]] = moved_places[i];
        else
            last_places[first + targets[k]] = long(moved_places[i]);
    }
}

[[max_total_threads_per_threadgroup(256)]]
kernel void
mx_radix_sort(device const mx_item *from [[buffer(0)]], device mx_item *to [[buffer(1)]],
              device atomic_uint *words [[buffer(2)]], constant long *args [[buffer(3)]],
              uint3 group [[threadgroup_position_in_grid]],
              uint thread_index [[thread_index_in_threadgroup]])
{
    threadgroup mx_radix_shared shared;
    group += mx_origin(args[5], args[6], args[7]);
    mx_radix_move<false>(from, nullptr, to, nullptr, nullptr, words, shared, args, group.y,
                         thread_index);
}

[[max_total_threads_per_threadgroup(256)]]
kernel void
mx_radix_argsort(device const mx_item *from [[buffer(0)]],
                 device const uint *from_places [[buffer(1)]], device mx_item *to [[buffer(2)]],
                 device uint *to_places [[buffer(3)]], device long *last_places [[buffer(4)]],
                 device atomic_uint *words [[buffer(5)]], constant long *args [[buffer(6)]],
                 uint3 group [[threadgroup_position_in_grid]],
                 uint thread_index [[thread_index_in_threadgroup]])
{
    threadgroup mx_radix_shared shared;
    group += mx_origin(args[5], args[6], args[7]);
    mx_radix_move<true>(from, from_places, to, to_places, last_places, words, shared, args,
                        group.y, thread_index);
}
