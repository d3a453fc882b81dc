/* reduce.metal -- what the threads of a threadgroup found becomes one result. */

#define MX_THREADS 256u /* of a threadgroup: MX_KERNEL_THREADS of csrc/gpu/kernel.h */

/* Op::apply over the values of the `height` threads of a column, of which the first n have one;
 * `width` columns lie side by side.  All threads call it; the first of a column gets the
 * result. */
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

/* Whether a search prefers a to b, both NaN-aware: the first NaN is what it looks for. */
template <typename T> inline bool mx_is_above(T a, T b)
{
    return !mx_isnan(b) && (mx_isnan(a) || mx_less(b, a));
}
template <typename T> inline bool mx_is_below(T a, T b)
{
    return !mx_isnan(b) && (mx_isnan(a) || mx_less(a, b));
}

/* The same for places: the best value's, the first of them. */
template <bool is_most, typename T>
inline long mx_join_indices(threadgroup T *shared, threadgroup long *places, T mine, long place,
                           uint thread_index, long y, uint width, uint height, long n)
{
    shared[thread_index] = mine;
    places[thread_index] = place;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint step = height / 2; step > 0; step /= 2) {
        if (y < long(step) && y + long(step) < n) {
            T other = shared[thread_index + step * width];
            long other_place = places[thread_index + step * width];
            bool is_better = is_most ? mx_is_above(other, mine) : mx_is_below(other, mine);
            bool is_worse = is_most ? mx_is_above(mine, other) : mx_is_below(mine, other);
            if (is_better || (!is_worse && other_place < place)) {
                shared[thread_index] = mine = other;
                places[thread_index] = place = other_place;
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    return place;
}

/* The results up to each thread's own.  Hillis and Steele, Data Parallel Algorithms, 1986. */
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

/* What the last thread has. */
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

/* Whether it is true of all threads. */
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

/* What a scan has met, whose last result is this, if all that it added up was finite. */
template <typename T> inline uint mx_met_sum(T sum, bool is_finite)
{
    return is_finite && !mx_isfinite(sum) ? MX_OVERFLOW : 0u;
}
