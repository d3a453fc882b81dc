/* sort.metal -- stable sorts of rows: tiles in threadgroup memory, then merges of two runs.
 *
 * The definition of mx_item, the type of the items, precedes it.  A threadgroup computes a tile
 * of the result, and each of its threads a share of the tile.  Bisection finds where a share
 * begins in both runs, so all threads have the same work.  Green, McColl and Bader, GPU Merge
 * Path, 2012.
 */

#define MX_SHARE 8u                      /* items */
#define MX_TILE  (MX_THREADS * MX_SHARE) /* items; also in mxnp/_gpu/kernels.py */

/* -- The order ------------------------------------------------------------------------- *
 * The order is NumPy's: NaN is last, and zeros of both signs are equal.  Floats are compared by
 * their bits, because a GPU may flush subnormal ones to zero. */

template <typename T> MX_INLINE T mx_sort_key(T a) { return a; }
MX_INLINE int mx_sort_key(float a) { return mx_isnan(a) ? INT_MAX : mx_rank(a); }
MX_INLINE int mx_sort_key(half a) { return mx_isnan(a) ? INT_MAX : mx_rank(a); }

MX_INLINE bool mx_sorts_before(mx_item a, mx_item b) { return mx_sort_key(a) < mx_sort_key(b); }

/* -- Merging --------------------------------------------------------------------------- */

/* Returns how many of the first `count` items of the merge of a and b come from a. */
#define MX_MERGE_PATH(SPACE, N)                                                             \
    MX_INLINE N mx_merge_path(SPACE const mx_item *a, N n_a, SPACE const mx_item *b, N n_b, \
                              N count)                                                      \
    {                                                                                       \
        N low = count > n_b ? count - n_b : 0, high = count < n_a ? count : n_a;            \
        while (low < high) {                                                                \
            N middle = low + (high - low) / 2;                                              \
            if (mx_sorts_before(b[count - 1 - middle], a[middle]))                          \
                high = middle;                                                              \
            else                                                                            \
                low = middle + 1;                                                           \
        }                                                                                   \
        return low;                                                                         \
    }
MX_MERGE_PATH(threadgroup, uint)
MX_MERGE_PATH(device, long)

/* Merges the runs [begin, middle) and [middle, end) in place.  All threads must call it, each
 * for the share that begins at item `done` of the result.  `origins` are the original indices
 * of the items. */
template <bool has_origins>
MX_INLINE void mx_merge_share(threadgroup mx_item *items, threadgroup ushort *origins,
                              uint begin, uint middle, uint end, uint done)
{
    mx_item merged[MX_SHARE];
    ushort merged_origins[MX_SHARE];
    uint n = end - begin > done ? min(MX_SHARE, end - begin - done) : 0u;
    uint a = begin, b = middle;
    if (n > 0) {
        a += mx_merge_path(items + begin, middle - begin, items + middle, end - middle, done);
        b += begin + done - a;
    }
    for (uint i = 0; i < MX_SHARE; i++) { /* a fixed length keeps the items in registers */
        if (i >= n)
            break;
        bool is_from_b = a == middle || (b < end && mx_sorts_before(items[b], items[a]));
        uint next = is_from_b ? b++ : a++;
        merged[i] = items[next];
        if (has_origins)
            merged_origins[i] = origins[next];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = 0; i < MX_SHARE; i++) {
        if (i >= n)
            break;
        items[begin + done + i] = merged[i];
        if (has_origins)
            origins[begin + done + i] = merged_origins[i];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
}

/* -- A tile in threadgroup memory ------------------------------------------------------- */

/* An insertion sort, which is fast for few items. */
template <bool has_origins>
MX_INLINE void mx_sort_share(threadgroup mx_item *items, threadgroup ushort *origins,
                             uint begin, uint end)
{
    for (uint i = begin + 1; i < end; i++) {
        mx_item item = items[i];
        ushort origin = has_origins ? origins[i] : ushort(0);
        uint slot = i;
        for (; slot > begin && mx_sorts_before(item, items[slot - 1]); slot--) {
            items[slot] = items[slot - 1];
            if (has_origins)
                origins[slot] = origins[slot - 1];
        }
        items[slot] = item;
        if (has_origins)
            origins[slot] = origin;
    }
}

template <bool has_origins>
MX_INLINE void mx_sort_tile(threadgroup mx_item *items, threadgroup ushort *origins, uint n,
                            uint thread_index)
{
    uint own = thread_index * MX_SHARE;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    mx_sort_share<has_origins>(items, origins, min(own, n), min(own + MX_SHARE, n));
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint width = MX_SHARE; width < n; width *= 2) {
        uint first = own & ~(2 * width - 1); /* the widths are powers of two */
        mx_merge_share<has_origins>(items, origins, min(first, n), min(first + width, n),
                                    min(first + 2 * width, n), own - first);
    }
}

/* -- Kernels: the tiles of each row ------------------------------------------------------ *
 * args: the length of a row; the origin of the grid.  The grid of threadgroups counts tiles of
 * a row, and rows. */

[[max_total_threads_per_threadgroup(256)]]
kernel void mx_sort_tiles(device const mx_item *from [[buffer(0)]],
                          device mx_item *to [[buffer(1)]], constant long *args [[buffer(2)]],
                          uint3 group [[threadgroup_position_in_grid]],
                          uint3 threads [[threads_per_threadgroup]],
                          uint thread_index [[thread_index_in_threadgroup]])
{
    threadgroup mx_item items[MX_TILE];
    group += mx_origin(args[1], args[2], args[3]);
    const long begin = long(group.x) * MX_TILE, at = long(group.y) * args[0] + begin;
    const uint n = uint(mx_lesser(args[0] - begin, long(MX_TILE)));
    for (uint i = thread_index; i < n; i += threads.x)
        items[i] = from[at + i];
    mx_sort_tile<false>(items, nullptr, n, thread_index);
    for (uint i = thread_index; i < n; i += threads.x)
        to[at + i] = items[i];
}

/* The same, with the original index of each item in its row. */
[[max_total_threads_per_threadgroup(256)]]
kernel void
mx_argsort_tiles(device const mx_item *from [[buffer(0)]], device mx_item *to [[buffer(1)]],
                 device long *places [[buffer(2)]], constant long *args [[buffer(3)]],
                 uint3 group [[threadgroup_position_in_grid]],
                 uint3 threads [[threads_per_threadgroup]],
                 uint thread_index [[thread_index_in_threadgroup]])
{
    threadgroup mx_item items[MX_TILE];
    threadgroup ushort origins[MX_TILE];
    group += mx_origin(args[1], args[2], args[3]);
    const long begin = long(group.x) * MX_TILE, at = long(group.y) * args[0] + begin;
    const uint n = uint(mx_lesser(args[0] - begin, long(MX_TILE)));
    for (uint i = thread_index; i < n; i += threads.x) {
        items[i] = from[at + i];
        origins[i] = ushort(i);
    }
    mx_sort_tile<true>(items, origins, n, thread_index);
    for (uint i = thread_index; i < n; i += threads.x) {
        to[at + i] = items[i];
        places[at + i] = begin + origins[i];
    }
}

/* -- Kernels: pairs of sorted runs become one --------------------------------------------- *
 * args: the length of a row; the length of a run, which is MX_TILE times a power of two; the
 * origin of the grid.  The grid of threadgroups counts tiles of a row, and rows. */

/* The parts of a pair of runs that become one tile.  All indices are those of the row. */
struct mx_tile_parts {
    long begin;  /* of the tile */
    long a, b;   /* of its part of each run */
    uint n_a, n; /* items: from the first run, and in all */
};

/* All threads must call it. */
MX_INLINE mx_tile_parts mx_find_parts(device const mx_item *row, threadgroup long *splits,
                                      long length, long width, uint tile, uint thread_index)
{
    mx_tile_parts parts;
    parts.begin = long(tile) * MX_TILE;
    long first = parts.begin & ~(2 * width - 1);
    long middle = mx_lesser(first + width, length), end = mx_lesser(first + 2 * width, length);
    long done = parts.begin - first;
    parts.n = uint(mx_lesser(end - parts.begin, long(MX_TILE)));
    if (thread_index < 2)
        splits[thread_index] =
            mx_merge_path(row + first, middle - first, row + middle, end - middle,
                          done + (thread_index == 0 ? 0L : long(parts.n)));
    threadgroup_barrier(mem_flags::mem_threadgroup);
    parts.a = first + splits[0];
    parts.b = middle + done - splits[0];
    parts.n_a = uint(splits[1] - splits[0]);
    return parts;
}

/* The index of the i-th item of the tile before the merge. */
MX_INLINE long mx_part_index(mx_tile_parts parts, uint i)
{
    return i < parts.n_a ? parts.a + i : parts.b + (i - parts.n_a);
}

[[max_total_threads_per_threadgroup(256)]]
kernel void mx_sort_merge(device const mx_item *from [[buffer(0)]],
                          device mx_item *to [[buffer(1)]], constant long *args [[buffer(2)]],
                          uint3 group [[threadgroup_position_in_grid]],
                          uint thread_index [[thread_index_in_threadgroup]])
{
    threadgroup mx_item items[MX_TILE];
    threadgroup long splits[2];
    group += mx_origin(args[2], args[3], args[4]);
    const long row = long(group.y) * args[0];
    const mx_tile_parts parts =
        mx_find_parts(from + row, splits, args[0], args[1], group.x, thread_index);
    for (uint i = thread_index; i < parts.n; i += MX_THREADS)
        items[i] = from[row + mx_part_index(parts, i)];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    mx_merge_share<false>(items, nullptr, 0, parts.n_a, parts.n, thread_index * MX_SHARE);
    for (uint i = thread_index; i < parts.n; i += MX_THREADS)
        to[row + parts.begin + i] = items[i];
}

[[max_total_threads_per_threadgroup(256)]]
kernel void
mx_argsort_merge(device const mx_item *from [[buffer(0)]],
                 device const long *from_places [[buffer(1)]], device mx_item *to [[buffer(2)]],
                 device long *to_places [[buffer(3)]], constant long *args [[buffer(4)]],
                 uint3 group [[threadgroup_position_in_grid]],
                 uint thread_index [[thread_index_in_threadgroup]])
{
    threadgroup mx_item items[MX_TILE];
    threadgroup ushort origins[MX_TILE];
    threadgroup long splits[2];
    group += mx_origin(args[2], args[3], args[4]);
    const long row = long(group.y) * args[0];
    const mx_tile_parts parts =
        mx_find_parts(from + row, splits, args[0], args[1], group.x, thread_index);
    for (uint i = thread_index; i < parts.n; i += MX_THREADS) {
        items[i] = from[row + mx_part_index(parts, i)];
        origins[i] = ushort(i);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    mx_merge_share<true>(items, origins, 0, parts.n_a, parts.n, thread_index * MX_SHARE);
    for (uint i = thread_index; i < parts.n; i += MX_THREADS) {
        to[row + parts.begin + i] = items[i];
        to_places[row + parts.begin + i] = from_places[row + mx_part_index(parts, origins[i])];
    }
}
