/* compact.metal -- the elements that a mask selects.  One kernel counts them by blocks, one
 * sums the counts, and one writes the positions or the items.
 *
 * The definition of mx_item, the type of the items, precedes it.
 */

#define MX_MASK_SHARE 16u                        /* elements that a thread has at a time */
#define MX_MASK_STEP  (MX_LANES * MX_MASK_SHARE) /* those of a SIMD-group */
#define MX_MASK_STEPS 4u
#define MX_MASK_PART  (MX_MASK_STEP * MX_MASK_STEPS) /* all elements of a SIMD-group */
#define MX_MASK_BLOCK (MX_SIMDGROUPS * MX_MASK_PART) /* also in mxnp/_gpu/kernels.py */

struct mx_count {
    template <typename T> static MX_INLINE T apply(T a, T b) { return a + b; }
};

/* -- Masks -----------------------------------------------------------------------------------
 * * Each SIMD-group of a threadgroup has a part of a block.  It goes along its part, and its
 * lanes have adjacent elements. */

MX_INLINE long mx_find_part(uint group, uint thread_index)
{
    return long(group) * MX_MASK_BLOCK + thread_index / MX_LANES * MX_MASK_PART;
}

/* Stores which of the elements from `begin` on are true, in a bit for each lane.  Returns their
 * number.  All lanes must call it. */
MX_INLINE uint mx_read_mask(device const uchar *mask, long n, long begin, uint lane,
                            thread uint *bits)
{
    uint count = 0;
    MX_UNROLL
    for (uint k = 0; k < MX_MASK_SHARE; k++) {
        const long i = begin + k * MX_LANES + lane;
        bits[k] = uint(ulong(simd_ballot(i < n && mask[i] != 0)));
        count += popcount(bits[k]);
    }
    return count;
}

/* Counts the true elements of the part that begins at `begin`.  All lanes must call it. */
MX_INLINE uint mx_count_part(device const uchar *mask, long n, long begin, uint lane)
{
    uint count = 0, bits[MX_MASK_SHARE];
    for (uint step = 0; step < MX_MASK_STEPS; step++)
        count += mx_read_mask(mask, n, begin + step * MX_MASK_STEP, lane, bits);
    return count;
}

/* Shares the counts of the SIMD-groups, and returns the sum of those before `end`.  All threads
 * must call it. */
MX_INLINE uint mx_sum_parts(threadgroup uint *shared, uint count, uint thread_index, uint end)
{
    if (thread_index % MX_LANES == 0)
        shared[thread_index / MX_LANES] = count;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint sum = 0;
    for (uint s = 0; s < end; s++)
        sum += shared[s];
    return sum;
}

/* args: the number of elements; the origin of the grid.  There is a threadgroup for each block.
 */
[[max_total_threads_per_threadgroup(256)]]
kernel void
mx_count_blocks(device const uchar *mask [[buffer(0)]], device long *counts [[buffer(1)]],
                constant long *args [[buffer(2)]], uint3 group [[threadgroup_position_in_grid]],
                uint thread_index [[thread_index_in_threadgroup]])
{
    threadgroup uint shared[MX_SIMDGROUPS];
    group += mx_origin(args[1], args[2], args[3]);
    uint count = mx_count_part(mask, args[0], mx_find_part(group.x, thread_index),
                               thread_index % MX_LANES);
    count = mx_sum_parts(shared, count, thread_index, thread_index == 0 ? MX_SIMDGROUPS : 0u);
    if (thread_index == 0)
        counts[group.x] = long(count);
}

/* -- Counts ----------------------------------------------------------------------------------
 */

/* Replaces each count by the sum of those before it, and stores the sum of all.
 * args: the number of counts.  There is one threadgroup. */
[[max_total_threads_per_threadgroup(256)]]
kernel void mx_sum_counts(device long *counts [[buffer(0)]], device long *total [[buffer(1)]],
                          constant long *args [[buffer(2)]],
                          uint thread_index [[thread_index_in_threadgroup]])
{
    threadgroup long shared[MX_SIMDGROUPS];
    const long n = args[0];
    long sum = 0;
    for (long begin = 0; begin < n; begin += MX_THREADS * MX_MASK_SHARE) {
        const long own = begin + thread_index * MX_MASK_SHARE;
        long sums[MX_MASK_SHARE], all, last = 0;
        MX_UNROLL
        for (uint k = 0; k < MX_MASK_SHARE; k++) {
            sums[k] = last;
            last += own + k < n ? counts[own + k] : 0;
        }
        long before = mx_scan<mx_count>(shared, last, thread_index, &all);
        before = thread_index == 0 ? sum : sum + before;
        MX_UNROLL
        for (uint k = 0; k < MX_MASK_SHARE; k++)
            if (own + k < n)
                counts[own + k] = before + sums[k];
        sum += all;
    }
    if (thread_index == 0)
        *total = sum;
}

/* -- Outputs ---------------------------------------------------------------------------------
 */

/* Returns the position of the first output of a SIMD-group.  All threads must call it. */
MX_INLINE long mx_find_output(device const uchar *mask, device const long *offsets,
                              threadgroup uint *shared, long n, uint group, uint thread_index)
{
    const uint count =
        mx_count_part(mask, n, mx_find_part(group, thread_index), thread_index % MX_LANES);
    return offsets[group] + mx_sum_parts(shared, count, thread_index, thread_index / MX_LANES);
}

/* Whether the element of a lane is true, and how many true ones lower lanes have. */
MX_INLINE bool mx_is_selected(uint bits, uint lane) { return (bits >> lane & 1u) != 0; }
MX_INLINE uint mx_count_below(uint bits, uint lane)
{
    return popcount(bits & ((1u << lane) - 1));
}

/* args: the number of elements; the origin of the grid.  There is a threadgroup for each block.
 */
[[max_total_threads_per_threadgroup(256)]]
kernel void mx_write_positions(device const uchar *mask [[buffer(0)]],
                               device const long *offsets [[buffer(1)]],
                               device long *positions [[buffer(2)]],
                               constant long *args [[buffer(3)]],
                               uint3 group [[threadgroup_position_in_grid]],
                               uint thread_index [[thread_index_in_threadgroup]])
{
    threadgroup uint shared[MX_SIMDGROUPS];
    uint bits[MX_MASK_SHARE];
    group += mx_origin(args[1], args[2], args[3]);
    const uint lane = thread_index % MX_LANES;
    long begin = mx_find_part(group.x, thread_index);
    long at = mx_find_output(mask, offsets, shared, args[0], group.x, thread_index);
    for (uint step = 0; step < MX_MASK_STEPS; step++, begin += MX_MASK_STEP) {
        mx_read_mask(mask, args[0], begin, lane, bits);
        MX_UNROLL
        for (uint k = 0; k < MX_MASK_SHARE; k++) {
            if (mx_is_selected(bits[k], lane))
                positions[at + mx_count_below(bits[k], lane)] = begin + k * MX_LANES + lane;
            at += popcount(bits[k]);
        }
    }
}

/* The same for the items. */
[[max_total_threads_per_threadgroup(256)]]
kernel void
mx_write_items(device const uchar *mask [[buffer(0)]], device const long *offsets [[buffer(1)]],
               device const uchar *items [[buffer(2)]], device uchar *to [[buffer(3)]],
               constant long *args [[buffer(4)]], uint3 group [[threadgroup_position_in_grid]],
               uint thread_index [[thread_index_in_threadgroup]])
{
    threadgroup uint shared[MX_SIMDGROUPS];
    uint bits[MX_MASK_SHARE];
    group += mx_origin(args[1], args[2], args[3]);
    const uint lane = thread_index % MX_LANES;
    const long size = long(sizeof(mx_item));
    long begin = mx_find_part(group.x, thread_index);
    long at = mx_find_output(mask, offsets, shared, args[0], group.x, thread_index);
    for (uint step = 0; step < MX_MASK_STEPS; step++, begin += MX_MASK_STEP) {
        mx_read_mask(mask, args[0], begin, lane, bits);
        MX_UNROLL
        for (uint k = 0; k < MX_MASK_SHARE; k++) {
            if (mx_is_selected(bits[k], lane))
                mx_store(to + (at + mx_count_below(bits[k], lane)) * size,
                         mx_load<mx_item>(items + (begin + k * MX_LANES + lane) * size));
            at += popcount(bits[k]);
        }
    }
}
