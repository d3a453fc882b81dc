/* compact.metal -- the elements that a mask selects.  One kernel counts them by blocks, one
 * sums the counts, and one writes the positions or the items.
 *
 * The definition of mx_item, the type of the items, precedes it.
 */

#define MX_MASK_SHARE 16u /* elements of a thread */
#define MX_MASK_BLOCK                                                      \
    (MX_THREADS * MX_MASK_SHARE) /* elements; also in mxnp/_gpu/kernels.py \
                                  */

struct mx_count {
    template <typename T> static T apply(T a, T b) { return a + b; }
};

/* The part of n elements that one thread processes. */
struct mx_mask_share {
    long begin, end;
};
inline mx_mask_share mx_find_mask_share(long n, uint group, uint thread_index)
{
    mx_mask_share share;
    share.begin = min(long(group) * MX_MASK_BLOCK + thread_index * MX_MASK_SHARE, n);
    share.end = min(share.begin + MX_MASK_SHARE, n);
    return share;
}

inline uint mx_count_true(device const uchar *mask, mx_mask_share share)
{
    uint count = 0;
    for (long i = share.begin; i < share.end; i++)
        count += mask[i] != 0;
    return count;
}

/* args: the number of elements.  There is a threadgroup for each block. */
kernel void mx_count_blocks(device const uchar *mask [[buffer(0)]],
                            device long *counts [[buffer(1)]],
                            constant long *args [[buffer(2)]],
                            uint3 group [[threadgroup_position_in_grid]],
                            uint thread_index [[thread_index_in_threadgroup]])
{
    threadgroup uint shared[MX_THREADS];
    uint count = mx_count_true(mask, mx_find_mask_share(args[0], group.x, thread_index));
    uint met = 0;
    count = mx_join<mx_count>(shared, count, thread_index, long(thread_index), 1u, MX_THREADS,
                              long(MX_THREADS), &met);
    if (thread_index == 0)
        counts[group.x] = long(count);
}

/* Replaces each count by the sum of those before it, and appends the sum of all.
 * args: the number of counts.  There is one threadgroup. */
kernel void mx_sum_counts(device long *counts [[buffer(0)]], constant long *args [[buffer(1)]],
                          uint thread_index [[thread_index_in_threadgroup]])
{
    threadgroup long shared[MX_THREADS];
    long total = 0;
    for (uint group = 0; long(group) * MX_MASK_BLOCK < args[0]; group++) {
        mx_mask_share share = mx_find_mask_share(args[0], group, thread_index);
        long own = 0;
        for (long i = share.begin; i < share.end; i++)
            own += counts[i];
        long sum = mx_scan<mx_count>(shared, own, thread_index);
        long before = total + sum - own;
        for (long i = share.begin; i < share.end; i++) {
            long count = counts[i];
            counts[i] = before;
            before += count;
        }
        total += mx_last(shared, sum, thread_index);
    }
    if (thread_index == 0)
        counts[args[0]] = total;
}

/* Returns the position of the first output of a thread.  All threads must call it. */
inline long mx_find_output(device const uchar *mask, device const long *offsets,
                           threadgroup uint *shared, mx_mask_share share, uint group,
                           uint thread_index)
{
    const uint count = mx_count_true(mask, share);
    return offsets[group] + mx_scan<mx_count>(shared, count, thread_index) - count;
}

/* args: the number of elements.  There is a threadgroup for each block. */
kernel void mx_write_positions(device const uchar *mask [[buffer(0)]],
                               device const long *offsets [[buffer(1)]],
                               device long *positions [[buffer(2)]],
                               constant long *args [[buffer(3)]],
                               uint3 group [[threadgroup_position_in_grid]],
                               uint thread_index [[thread_index_in_threadgroup]])
{
    threadgroup uint shared[MX_THREADS];
    const mx_mask_share share = mx_find_mask_share(args[0], group.x, thread_index);
    long at = mx_find_output(mask, offsets, shared, share, group.x, thread_index);
    for (long i = share.begin; i < share.end; i++)
        if (mask[i] != 0)
            positions[at++] = i;
}

/* The same for the items. */
kernel void mx_write_items(device const uchar *mask [[buffer(0)]],
                           device const long *offsets [[buffer(1)]],
                           device const uchar *items [[buffer(2)]],
                           device uchar *to [[buffer(3)]], constant long *args [[buffer(4)]],
                           uint3 group [[threadgroup_position_in_grid]],
                           uint thread_index [[thread_index_in_threadgroup]])
{
    threadgroup uint shared[MX_THREADS];
    const long size = long(sizeof(mx_item));
    const mx_mask_share share = mx_find_mask_share(args[0], group.x, thread_index);
    long at = mx_find_output(mask, offsets, shared, share, group.x, thread_index);
    for (long i = share.begin; i < share.end; i++)
        if (mask[i] != 0)
            mx_store(to + at++ * size, mx_load<mx_item>(items + i * size));
}
