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
#define MX_RADIX_SHARE (MX_RADIX_SIZE > 4 ? 12u : 20u)              /* items of a thread */
#define MX_RADIX_PART  (MX_LANES * MX_RADIX_SHARE)                  /* of a SIMD-group */
#define MX_RADIX_TILE  (MX_THREADS * MX_RADIX_SHARE) /* also in mxnp/_gpu/kernels.py */

#ifndef MX_HAS_VOTE
/* Which lanes say yes.  All lanes must call it. */
MX_INLINE uint mx_vote(bool yes) { return uint(ulong(simd_ballot(yes))); }
MX_INLINE void mx_pause() {} /* of a thread that waits for another threadgroup */
#endif

struct mx_radix_add {
    template <typename T> static MX_INLINE T apply(T a, T b) { return a + b; }
};

/* -- Keys --------------------------------------------------------------------------------- *
 * Unsigned integers in NumPy's order: NaN is last, and zeros of both signs are equal. */

MX_INLINE uint mx_radix_key(bool a) { return a; }
MX_INLINE uint mx_radix_key(uchar a) { return a; }
MX_INLINE uint mx_radix_key(ushort a) { return a; }
MX_INLINE uint mx_radix_key(uint a) { return a; }
MX_INLINE ulong mx_radix_key(ulong a) { return a; }
MX_INLINE uint mx_radix_key(char a) { return uint(int(a) + 128); }
MX_INLINE uint mx_radix_key(short a) { return uint(int(a) + 32768); }
MX_INLINE uint mx_radix_key(int a) { return uint(a) ^ 0x80000000u; }
MX_INLINE ulong mx_radix_key(long a) { return ulong(a) ^ 0x8000000000000000ul; }
MX_INLINE uint mx_radix_key(half a) { return mx_isnan(a) ? 0xffffu : uint(mx_rank(a) + 32768); }
/* -- also for double, where there is one -- */
MX_INLINE auto mx_radix_key(float a) -> decltype(mx_radix_key(mx_rank(a)))
{
    return mx_isnan(a) ? ~decltype(mx_radix_key(mx_rank(a)))(0) : mx_radix_key(mx_rank(a));
}
/* -- end of the functions for double -- */

MX_INLINE uint mx_radix_digit(mx_item a, uint pass)
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
    MX_INLINE long count(uint row, uint pass) const
    {
        return (long(row) * passes + pass) * MX_DIGITS;
    }
    MX_INLINE long begun(uint row, uint pass) const
    {
        return count(rows, 0) + long(row) * passes + pass;
    }
    MX_INLINE long state(uint row, uint tile, uint pass) const
    {
        return begun(rows, 0) +
               ((long(pass % 2) * rows + row) * tiles + tile) * long(MX_DIGITS);
    }
};

MX_INLINE mx_radix_words mx_find_radix_words(constant long *args)
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
                if (is_here)
                    atomic_fetch_add_explicit(
                        &counts[(pass * MX_DIGITS + digit) * MX_COPIES + copy], 1u,
                        memory_order_relaxed);
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
    ulong sums[MX_SIMDGROUPS];
    uint tile;
};

/* What the threads of a tile know.  `own` is the place of a thread's first item in the tile. */
struct mx_radix_tile {
    mx_radix_words layout;
    uint row, pass, number, length, own, lane;
    long first, begin; /* the first item of the row, and that of the tile in the row */
};

/* Takes the next tile of a row, and zeroes the counts.  All threads must call it. */
MX_INLINE mx_radix_tile mx_radix_begin(device atomic_uint *words,
                                       threadgroup mx_radix_shared &shared, constant long *args,
                                       uint row, uint thread_index)
{
    mx_radix_tile tile;
    tile.layout = mx_find_radix_words(args);
    tile.row = row;
    tile.pass = uint(args[4]);
    tile.lane = thread_index % MX_LANES;
    tile.own = thread_index / MX_LANES * MX_RADIX_PART + tile.lane;
    if (thread_index == 0)
        shared.tile = atomic_fetch_add_explicit(&words[tile.layout.begun(row, tile.pass)], 1u,
                                                memory_order_relaxed);
    for (uint i = thread_index; i < MX_SIMDGROUPS * MX_DIGITS; i += MX_THREADS)
        shared.counts[i] = 0;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    tile.number = shared.tile;
    tile.first = long(row) * args[0];
    tile.begin = long(tile.number) * MX_RADIX_TILE;
    tile.length = uint(mx_lesser(args[0] - tile.begin, long(MX_RADIX_TILE)));
    if (tile.pass + 1 < tile.layout.passes)
        atomic_store_explicit(
            &words[tile.layout.state(row, tile.number, tile.pass + 1) + thread_index], 0u,
            memory_order_relaxed);
    return tile;
}

/* Loads the items of a thread, stores their digits in `slots`, and counts them.  Items beyond
 * the end of the row have the last digit, and come after all others. */
MX_INLINE void mx_radix_load(device const mx_item *from, thread const mx_radix_tile &tile,
                             threadgroup uint *counts, thread mx_item *items,
                             thread uint *slots)
{
    from += tile.first + tile.begin;
    MX_UNROLL
    for (uint k = 0; k < MX_RADIX_SHARE; k++)
        items[k] = from[mx_lesser(int(tile.own + k * MX_LANES), int(tile.length) - 1)];
    MX_UNROLL
    for (uint k = 0; k < MX_RADIX_SHARE; k++) {
        const bool is_here = tile.own + k * MX_LANES < tile.length;
        slots[k] = is_here ? mx_radix_digit(items[k], tile.pass) : MX_DIGITS - 1;
        atomic_fetch_add_explicit((threadgroup atomic_uint *)&counts[slots[k]], 1u,
                                  memory_order_relaxed);
    }
}

/* Publishes how many items of the digit that is the thread's number the tile has, and returns
 * it.  The last tile counts what is beyond the end of the row, but no other tile reads that.
 * Replaces the counts of SIMD-groups by their first places in the tile, and stores where
 * the items of the digit go if the tiles before have none.  All threads must call it. */
MX_INLINE uint mx_radix_publish(device atomic_uint *words, threadgroup mx_radix_shared &shared,
                                thread const mx_radix_tile &tile, uint digit)
{
    uint in_tile = 0;
    MX_UNROLL
    for (uint s = 0; s < MX_SIMDGROUPS; s++) {
        const uint count = shared.counts[s * MX_DIGITS + digit];
        shared.counts[s * MX_DIGITS + digit] = in_tile;
        in_tile += count;
    }
    atomic_store_explicit(&words[tile.layout.state(tile.row, tile.number, tile.pass) + digit],
                          in_tile | (tile.number == 0 ? MX_OF_ALL : MX_OF_TILE),
                          memory_order_relaxed);
    const uint in_row = atomic_load_explicit(
        &words[tile.layout.count(tile.row, tile.pass) + digit], memory_order_relaxed);
    ulong all,
        sums = mx_scan<mx_radix_add>(shared.sums, ulong(in_row) << 32 | in_tile, digit, &all);
    sums = digit == 0 ? 0 : sums;
    MX_UNROLL
    for (uint s = 0; s < MX_SIMDGROUPS; s++)
        shared.counts[s * MX_DIGITS + digit] += uint(sums);
    shared.places[digit] = uint(sums >> 32) - uint(sums);
    return in_tile;
}

/* Returns the lanes that have the same digit.  All lanes must call it. */
MX_INLINE uint mx_match(uint digit)
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

/* Replaces the digits of a thread's items in `slots` by their places in the tile. */
MX_INLINE void mx_radix_rank(thread uint *slots, threadgroup uint *counts, uint lane)
{
    MX_UNROLL
    for (uint k = 0; k < MX_RADIX_SHARE; k++) {
        const uint digit = slots[k], lanes = mx_match(digit);
        const uint before = counts[digit];
        simdgroup_barrier(mem_flags::mem_threadgroup);
        if (lanes >> lane == 1) /* the last of these lanes */
            counts[digit] = before + popcount(lanes);
        simdgroup_barrier(mem_flags::mem_threadgroup);
        slots[k] = before + popcount(lanes & ((1u << lane) - 1));
    }
}

/* Returns how many items of a digit the tiles before this one have.  It loads the words of
 * several tiles at a time, because each load takes long. */
MX_INLINE uint mx_count_before(device atomic_uint *words, mx_radix_words layout, uint row,
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

/* Adds the items of a digit in the tiles before to its place, and publishes how many there are
 * up to this tile. */
MX_INLINE void mx_radix_add_before(device atomic_uint *words,
                                   threadgroup mx_radix_shared &shared,
                                   thread const mx_radix_tile &tile, uint in_tile, uint digit)
{
    if (tile.number == 0)
        return;
    const uint before =
        mx_count_before(words, tile.layout, tile.row, tile.number, tile.pass, digit);
    atomic_store_explicit(&words[tile.layout.state(tile.row, tile.number, tile.pass) + digit],
                          (before + in_tile) | MX_OF_ALL, memory_order_relaxed);
    shared.places[digit] += before;
}

/* Moves the places of the items of a tile to their targets.  All threads must call it. */
MX_INLINE void mx_radix_move_places(device const uint *from, device uint *to, device long *last,
                                    threadgroup uint *moved, thread const mx_radix_tile &tile,
                                    thread const uint *slots, thread const uint *targets,
                                    uint thread_index)
{
    threadgroup_barrier(mem_flags::mem_threadgroup);
    MX_UNROLL
    for (uint k = 0; k < MX_RADIX_SHARE; k++) {
        const uint i = tile.own + k * MX_LANES;
        if (i < tile.length)
            moved[slots[k]] =
                tile.pass == 0 ? uint(tile.begin) + i : from[tile.first + tile.begin + i];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    MX_UNROLL
    for (uint k = 0; k < MX_RADIX_SHARE; k++) {
        const uint i = k * MX_THREADS + thread_index;
        if (i >= tile.length)
            break;
        if (tile.pass + 1 < tile.layout.passes)
            to[tile.first + targets[k]] = moved[i];
        else
            last[tile.first + targets[k]] = long(moved[i]);
    }
}

/* Moves the items of a tile, and their places in the row.
 * args: the length of a row; the numbers of rows, tiles, passes and of this pass; the origin of
 * the grid, which counts tiles of a row, and rows.  Places are words, which the first pass
 * makes, and 64-bit numbers after the last pass. */
template <bool has_places>
MX_INLINE void mx_radix_move(device const mx_item *from, device const uint *from_places,
                             device mx_item *to, device uint *to_places,
                             device long *last_places, device atomic_uint *words,
                             threadgroup mx_radix_shared &shared, constant long *args, uint row,
                             uint thread_index)
{
    mx_item items[MX_RADIX_SHARE];
    uint slots[MX_RADIX_SHARE], targets[MX_RADIX_SHARE];
    const mx_radix_tile tile = mx_radix_begin(words, shared, args, row, thread_index);
    threadgroup uint *counts = shared.counts + thread_index / MX_LANES * MX_DIGITS;
    mx_radix_load(from, tile, counts, items, slots);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const uint in_tile = mx_radix_publish(words, shared, tile, thread_index);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    mx_radix_rank(slots, counts, tile.lane);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    threadgroup mx_item *moved = (threadgroup mx_item *)shared.moved;
    MX_UNROLL
    for (uint k = 0; k < MX_RADIX_SHARE; k++)
        moved[slots[k]] = items[k];
    mx_radix_add_before(words, shared, tile, in_tile, thread_index);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    MX_UNROLL
    for (uint k = 0; k < MX_RADIX_SHARE; k++) {
        const uint i = k * MX_THREADS + thread_index;
        if (i >= tile.length)
            break;
        const mx_item item = moved[i];
        targets[k] = shared.places[mx_radix_digit(item, tile.pass)] + i;
        to[tile.first + targets[k]] = item;
    }
    if (has_places)
        mx_radix_move_places(from_places, to_places, last_places,
                             (threadgroup uint *)shared.moved, tile, slots, targets,
                             thread_index);
}

#ifdef MX_RESIDENT
#define mx_radix_sort    MX_RESIDENT(4) mx_radix_sort
#define mx_radix_argsort MX_RESIDENT(4) mx_radix_argsort
#endif

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
