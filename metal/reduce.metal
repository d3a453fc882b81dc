/* reduce.metal -- combines the results of the threads of a SIMD-group or a threadgroup. */

#define MX_THREADS    256u /* of a threadgroup: MX_KERNEL_THREADS of csrc/gpu/kernel.h */
#define MX_LANES      32u  /* of a SIMD-group */
#define MX_SIMDGROUPS (MX_THREADS / MX_LANES)

/* -- Values of other lanes ----------------------------------------------------------------- *
 * All types travel as mx_words, which every GPU can exchange. */

MX_INLINE uint mx_word_above(uint a, uint step) { return simd_shuffle_down(a, ushort(step)); }
MX_INLINE uint2 mx_word_above(uint2 a, uint step)
{
    return uint2(mx_word_above(a.x, step), mx_word_above(a.y, step));
}
MX_INLINE uint4 mx_word_above(uint4 a, uint step)
{
    return uint4(mx_word_above(a.x, step), mx_word_above(a.y, step), mx_word_above(a.z, step),
                 mx_word_above(a.w, step));
}
MX_INLINE uint mx_word_below(uint a, uint step) { return simd_shuffle_up(a, ushort(step)); }
MX_INLINE uint2 mx_word_below(uint2 a, uint step)
{
    return uint2(mx_word_below(a.x, step), mx_word_below(a.y, step));
}
MX_INLINE uint4 mx_word_below(uint4 a, uint step)
{
    return uint4(mx_word_below(a.x, step), mx_word_below(a.y, step), mx_word_below(a.z, step),
                 mx_word_below(a.w, step));
}
MX_INLINE uint mx_word_of(uint a, uint lane) { return simd_shuffle(a, ushort(lane)); }
MX_INLINE uint2 mx_word_of(uint2 a, uint lane)
{
    return uint2(mx_word_of(a.x, lane), mx_word_of(a.y, lane));
}
MX_INLINE uint4 mx_word_of(uint4 a, uint lane)
{
    return uint4(mx_word_of(a.x, lane), mx_word_of(a.y, lane), mx_word_of(a.z, lane),
                 mx_word_of(a.w, lane));
}

/* Return the value of the lane that is `step` lanes above or below, and that of a lane.  All
 * lanes must call them. */
template <typename T> MX_INLINE T mx_from_above(T a, uint step)
{
    return mx_words<T>::unpack(mx_word_above(mx_words<T>::pack(a), step));
}
template <typename T> MX_INLINE T mx_from_below(T a, uint step)
{
    return mx_words<T>::unpack(mx_word_below(mx_words<T>::pack(a), step));
}
template <typename T> MX_INLINE T mx_from_lane(T a, uint lane)
{
    return mx_words<T>::unpack(mx_word_of(mx_words<T>::pack(a), lane));
}

/* -- Batches ------------------------------------------------------------------------------- *
 * A thread has loaded n values, which are `stride` apart. */

/* Adds to a running result.  A compensated sum (Kahan, Further remarks on reducing truncation
 * errors, 1965) keeps in `rest` what the last addition rounded off. */
template <bool compensates> struct mx_running {
    template <typename Op, typename T> static MX_INLINE T apply(T before, T value, thread T *)
    {
        return Op::apply(before, value);
    }
};
template <> struct mx_running<true> {
    template <typename Op, typename T> static MX_INLINE T apply(T before, T value,
                                                                thread T *rest)
    {
        const T wanted = mx_subtract(value, *rest), sum = Op::apply(before, wanted);
        const T missing = mx_subtract(mx_subtract(sum, before), wanted);
        *rest = mx_isfinite(sum) ? missing : T(0);
        return sum;
    }
};

/* Combines them as a tree, and changes the thread's result once.  A sum or product that is
 * finite at the end was finite all along, so the conditions are only looked for otherwise. */
template <typename Op, uint n, uint stride, bool reports, bool compensates, typename T>
MX_INLINE void mx_fold(thread T *mine, thread T *rest, thread const T *batch, bool is_first,
                       thread uint *met)
{
    T tree[2 * n];
    MX_UNROLL
    for (uint k = 0; k < n; k++)
        tree[k] = batch[k * stride];
    MX_UNROLL
    for (uint k = 0; k + 1 < n; k++)
        tree[n + k] = Op::apply(tree[2 * k], tree[2 * k + 1]);
    const T before = *mine, all = tree[2 * n - 2];
    *mine = is_first ? all : mx_running<compensates>::template apply<Op>(before, all, rest);
    if (!reports || mx_isfinite(*mine))
        return;
    MX_UNROLL
    for (uint k = 0; k + 1 < n; k++)
        *met |= mx_met_arithmetic(tree[2 * k], tree[2 * k + 1], tree[n + k]);
    if (!is_first)
        *met |= mx_met_arithmetic(before, all, *mine);
}

/* -- One result ---------------------------------------------------------------------------- *
 * The threads of a result are numbered from 0, and the first n of them have a value.  The first
 * one gets the result.  All threads must call these functions. */

/* Combines the values of `lanes` adjacent lanes, a power of two, by Op::apply. */
template <typename Op, uint lanes, typename T>
MX_INLINE T mx_join_lanes(T mine, uint y, uint n, thread uint *met)
{
    for (uint step = lanes / 2; step > 0; step /= 2) {
        T other = mx_from_above(mine, step);
        if (y < step && y + step < n) {
            T both = Op::apply(mine, other);
            *met |= mx_met_arithmetic(mine, other, both);
            mine = both;
        }
    }
    return mine;
}

/* Returns how many lanes of a SIMD-group have a value, if n threads have one. */
MX_INLINE uint mx_lanes_of(uint n, uint simdgroup)
{
    return n > simdgroup * MX_LANES ? n - simdgroup * MX_LANES : 0u;
}

/* Combines the values of a threadgroup.  `shared` has MX_SIMDGROUPS elements. */
template <typename Op, typename T>
MX_INLINE T mx_join(threadgroup T *shared, T mine, uint thread_index, uint n, thread uint *met)
{
    const uint lane = thread_index % MX_LANES, simdgroup = thread_index / MX_LANES;
    mine = mx_join_lanes<Op, MX_LANES>(mine, lane, mx_lanes_of(n, simdgroup), met);
    if (lane == 0)
        shared[simdgroup] = mine;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (simdgroup == 0)
        mine = mx_join_lanes<Op, MX_SIMDGROUPS>(T(shared[lane % MX_SIMDGROUPS]), lane,
                                                (n + MX_LANES - 1) / MX_LANES, met);
    return mine;
}

/* Combines the values of columns of `height` threads.  `width` columns lie side by side. */
template <typename Op, typename T>
MX_INLINE T mx_join_columns(threadgroup T *shared, T mine, uint thread_index, uint y,
                            uint width, uint height, uint n, thread uint *met)
{
    shared[thread_index] = mine;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint step = height / 2; step > 0; step /= 2) {
        if (y < step && y + step < n) {
            T other = shared[thread_index + step * width], both = Op::apply(mine, other);
            *met |= mx_met_arithmetic(mine, other, both);
            shared[thread_index] = mine = both;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    return mine;
}

/* -- The index of an extreme ----------------------------------------------------------------
 */

/* Whether a search for the maximum or the minimum prefers a to b.  It finds the first NaN, if
 * there is one. */
template <typename T> MX_INLINE bool mx_is_above(T a, T b)
{
    return !mx_isnan(b) && (mx_isnan(a) || mx_less(b, a));
}
template <typename T> MX_INLINE bool mx_is_below(T a, T b)
{
    return !mx_isnan(b) && (mx_isnan(a) || mx_less(a, b));
}

/* Whether another value replaces this one: it is better, or as good and before it. */
template <bool is_most, typename T, typename I>
MX_INLINE bool mx_replaces(T other, I other_index, T mine, I index)
{
    bool is_better = is_most ? mx_is_above(other, mine) : mx_is_below(other, mine);
    bool is_worse = is_most ? mx_is_above(mine, other) : mx_is_below(mine, other);
    return is_better || (!is_worse && other_index < index);
}

/* Like mx_join_lanes, mx_join and mx_join_columns, for a value and its index. */
template <bool is_most, uint lanes, typename T, typename I>
MX_INLINE void mx_join_index_lanes(thread T *mine, thread I *index, uint y, uint n)
{
    for (uint step = lanes / 2; step > 0; step /= 2) {
        T other = mx_from_above(*mine, step);
        I other_index = mx_from_above(*index, step);
        if (y < step && y + step < n &&
            mx_replaces<is_most>(other, other_index, *mine, *index)) {
            *mine = other;
            *index = other_index;
        }
    }
}

template <bool is_most, typename T, typename I>
MX_INLINE void mx_join_indices(threadgroup T *shared, threadgroup I *indices, thread T *mine,
                               thread I *index, uint thread_index, uint n)
{
    const uint lane = thread_index % MX_LANES, simdgroup = thread_index / MX_LANES;
    mx_join_index_lanes<is_most, MX_LANES>(mine, index, lane, mx_lanes_of(n, simdgroup));
    if (lane == 0) {
        shared[simdgroup] = *mine;
        indices[simdgroup] = *index;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (simdgroup == 0) {
        *mine = shared[lane % MX_SIMDGROUPS];
        *index = indices[lane % MX_SIMDGROUPS];
        mx_join_index_lanes<is_most, MX_SIMDGROUPS>(mine, index, lane,
                                                    (n + MX_LANES - 1) / MX_LANES);
    }
}

template <bool is_most, typename T, typename I>
MX_INLINE void mx_join_index_columns(threadgroup T *shared, threadgroup I *indices,
                                     thread T *mine, thread I *index, uint thread_index, uint y,
                                     uint width, uint height, uint n)
{
    shared[thread_index] = *mine;
    indices[thread_index] = *index;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint step = height / 2; step > 0; step /= 2) {
        if (y < step && y + step < n) {
            T other = shared[thread_index + step * width];
            I other_index = indices[thread_index + step * width];
            if (mx_replaces<is_most>(other, other_index, *mine, *index)) {
                shared[thread_index] = *mine = other;
                indices[thread_index] = *index = other_index;
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
}

/* Searches a batch of n values, which are `stride` apart.  Returns the number of the first
 * extreme if the thread's value is replaced by it, and otherwise n. */
template <bool is_most, uint n, uint stride, typename T>
MX_INLINE uint mx_fold_index(thread T *mine, thread const T *batch, bool is_first)
{
    T tree[2 * n];
    MX_UNROLL
    for (uint k = 0; k < n; k++)
        tree[k] = batch[k * stride];
    MX_UNROLL
    for (uint k = 0; k + 1 < n; k++) {
        const T a = tree[2 * k], b = tree[2 * k + 1];
        tree[n + k] = (is_most ? mx_is_above(b, a) : mx_is_below(b, a)) ? b : a;
    }
    const T best = tree[2 * n - 2];
    if (!is_first && !(is_most ? mx_is_above(best, *mine) : mx_is_below(best, *mine)))
        return n;
    *mine = best;
    uint found = n - 1;
    MX_UNROLL
    for (uint k = 1; k < n; k++) {
        const T a = tree[n - 1 - k];
        found = (is_most ? mx_is_above(best, a) : mx_is_below(best, a)) ? found : n - 1 - k;
    }
    return found;
}

/* -- Running results -------------------------------------------------------------------------
 * * Each thread has one value.  It gets the combination of the values of all threads before it,
 * which is undefined for the first one, and of all threads.  Hillis and Steele, Data Parallel
 * Algorithms, 1986. */

/* For each group of `lanes` adjacent lanes, a power of two, whose numbers are y. */
template <typename Op, uint lanes, typename T>
MX_INLINE T mx_scan_lanes(T mine, uint y, uint lane, thread T *all)
{
    for (uint step = 1; step < lanes; step *= 2) {
        T before = mx_from_below(mine, step);
        if (y >= step)
            mine = Op::apply(before, mine);
    }
    *all = mx_from_lane(mine, lane | (lanes - 1));
    return mx_from_below(mine, 1u);
}

/* For a threadgroup.  `shared` has MX_SIMDGROUPS elements. */
template <typename Op, typename T>
MX_INLINE T mx_scan(threadgroup T *shared, T mine, uint thread_index, thread T *all)
{
    const uint lane = thread_index % MX_LANES, simdgroup = thread_index / MX_LANES;
    T total, before = mx_scan_lanes<Op, MX_LANES>(mine, lane, lane, &total);
    if (lane == 0)
        shared[simdgroup] = total;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    total = shared[0];
    for (uint s = 1; s < MX_SIMDGROUPS; s++) {
        if (s == simdgroup)
            before = lane == 0 ? total : Op::apply(total, before);
        total = Op::apply(total, T(shared[s]));
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    *all = total;
    return before;
}
