/* reduce.metal -- combines the results of the threads of a threadgroup. */

#define MX_THREADS 256u /* of a threadgroup: MX_KERNEL_THREADS of csrc/gpu/kernel.h */

/* Combines the values of a column of `height` threads by Op::apply.  The first n of them have a
 * value, and `width` columns lie side by side.  All threads must call it.  The first thread of
 * a column gets the result. */
template <typename Op, typename T>
inline T mx_join(threadgroup T *shared, T mine, uint thread_index, long y, uint width,
                 uint height, long n, thread uint *met)
{
    shared[thread_index] = mine;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint step = height / 2; step > 0; step /= 2) {
        if (y < long(step) && y + long(step) < n) {
            T other = shared[thread_index + step * width], both = Op::apply(mine, other);
            *met |= mx_met_arithmetic(mine, other, both);
            shared[thread_index] = mine = both;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    return mine;
}

/* Whether a search for the maximum or the minimum prefers a to b.  It finds the first NaN, if
 * there is one. */
template <typename T> inline bool mx_is_above(T a, T b)
{
    return !mx_isnan(b) && (mx_isnan(a) || mx_less(b, a));
}
template <typename T> inline bool mx_is_below(T a, T b)
{
    return !mx_isnan(b) && (mx_isnan(a) || mx_less(a, b));
}

/* The same for indices: returns that of the best value, or the first of several. */
template <bool is_most, typename T>
inline long mx_join_indices(threadgroup T *shared, threadgroup long *indices, T mine,
                            long index, uint thread_index, long y, uint width, uint height,
                            long n)
{
    shared[thread_index] = mine;
    indices[thread_index] = index;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint step = height / 2; step > 0; step /= 2) {
        if (y < long(step) && y + long(step) < n) {
            T other = shared[thread_index + step * width];
            long other_index = indices[thread_index + step * width];
            bool is_better = is_most ? mx_is_above(other, mine) : mx_is_below(other, mine);
            bool is_worse = is_most ? mx_is_above(mine, other) : mx_is_below(mine, other);
            if (is_better || (!is_worse && other_index < index)) {
                shared[thread_index] = mine = other;
                indices[thread_index] = index = other_index;
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    return index;
}

/* Returns the combination of the values of all threads up to this one.  Hillis and Steele, Data
 * Parallel Algorithms, 1986. */
template <typename Op, typename T>
inline T mx_scan(threadgroup T *shared, T mine, uint thread_index)
{
    shared[thread_index] = mine;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint step = 1; step < MX_THREADS; step *= 2) {
        T before = thread_index >= step ? shared[thread_index - step] : mine;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (thread_index >= step)
            shared[thread_index] = mine = Op::apply(before, mine);
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    return mine;
}

/* Returns the value of the last thread. */
template <typename T> inline T mx_last(threadgroup T *shared, T mine, uint thread_index)
{
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (thread_index == MX_THREADS - 1)
        shared[0] = mine;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    T last = shared[0];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    return last;
}

/* Returns whether the value of every thread is true. */
template <typename T> inline bool mx_all(threadgroup T *shared, bool mine, uint thread_index)
{
    shared[thread_index] = mx_cast<T>(mine);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint step = MX_THREADS / 2; step > 0; step /= 2) {
        if (thread_index < step && !mx_truth(shared[thread_index + step]))
            shared[thread_index] = mx_cast<T>(false);
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    return mx_truth(shared[0]);
}

/* The condition of a scan whose last result is `sum`: overflow if all its elements were finite.
 */
template <typename T> inline uint mx_met_sum(T sum, bool is_finite)
{
    return is_finite && !mx_isfinite(sum) ? MX_OVERFLOW : 0u;
}
