/* scatter.metal -- updates of elements by several threads at the same time.
 *
 * An update is a compare-exchange of the 32-bit word that contains the element.  It never
 * compares floats: a NaN is not equal to itself, so an exchange of floats would never succeed.
 * If all later results would be NaN too, the first NaN ends the updates of the element, and an
 * update that leaves the word as it is exchanges nothing.  This only saves exchanges: without
 * it, the results are the same.
 */

template <typename T> MX_INLINE uint mx_word(T a, uint before, uint shift);
template <> MX_INLINE uint mx_word<bool>(bool a, uint before, uint shift)
{
    return (before & ~(0xffu << shift)) | (uint(a) << shift);
}
#define MX_WORD8(T)                                                               \
    template <> MX_INLINE uint mx_word<T>(T a, uint before, uint shift)           \
    {                                                                             \
        return (before & ~(0xffu << shift)) | (uint(as_type<uchar>(a)) << shift); \
    }
#define MX_WORD16(T)                                                                 \
    template <> MX_INLINE uint mx_word<T>(T a, uint before, uint shift)              \
    {                                                                                \
        return (before & ~(0xffffu << shift)) | (uint(as_type<ushort>(a)) << shift); \
    }
#define MX_WORD32(T) \
    template <> MX_INLINE uint mx_word<T>(T a, uint, uint) { return as_type<uint>(a); }
MX_WORD8(char)
MX_WORD8(uchar)
MX_WORD16(short)
MX_WORD16(ushort)
MX_WORD16(half)
MX_WORD32(int)
MX_WORD32(uint)
MX_WORD32(float)

template <typename T> MX_INLINE T mx_of_word(uint word, uint shift) { return as_type<T>(word); }
template <> MX_INLINE bool mx_of_word<bool>(uint word, uint shift)
{
    return (word >> shift & 0xff) != 0;
}
template <> MX_INLINE char mx_of_word<char>(uint word, uint shift)
{
    return as_type<char>(uchar(word >> shift));
}
template <> MX_INLINE uchar mx_of_word<uchar>(uint word, uint shift)
{
    return uchar(word >> shift);
}
template <> MX_INLINE short mx_of_word<short>(uint word, uint shift)
{
    return as_type<short>(ushort(word >> shift));
}
template <> MX_INLINE ushort mx_of_word<ushort>(uint word, uint shift)
{
    return ushort(word >> shift);
}
template <> MX_INLINE half mx_of_word<half>(uint word, uint shift)
{
    return as_type<half>(ushort(word >> shift));
}
#ifdef MX_HAS_BFLOAT
MX_WORD16(bfloat)
template <> MX_INLINE bfloat mx_of_word<bfloat>(uint word, uint shift)
{
    return as_type<bfloat>(ushort(word >> shift));
}
#endif

#ifdef MX_HAS_ATOMIC_ULONG
/* The same for an element of 64 bits, which is a word by itself. */
template <typename Op, typename T, bool nan_stays, typename V>
MX_INLINE void mx_update_long(device uchar *memory, long offset, V value)
{
    device atomic_ulong *word = (device atomic_ulong *)(memory + offset);
    ulong before = atomic_load_explicit(word, memory_order_relaxed);
    bool is_done = false;
    while (!is_done) {
        T old = as_type<T>(before);
        if (nan_stays && mx_isnan(old))
            return;
        ulong after = as_type<ulong>(Op::apply(old, value));
        is_done = after == before ||
                  atomic_compare_exchange_weak_explicit(
                      word, &before, after, memory_order_relaxed, memory_order_relaxed);
    }
}
#endif

/* Replaces the element at an offset by Op::apply(element, value), atomically. */
template <typename Op, typename T, bool nan_stays, typename V>
MX_INLINE void mx_update(device uchar *memory, long offset, V value)
{
#ifdef MX_HAS_ATOMIC_ULONG
    if constexpr (sizeof(T) == 8) {
        mx_update_long<Op, T, nan_stays>(memory, offset, value);
    } else
#endif
    {
        uint shift = uint(offset & 3) * 8;
        device atomic_uint *word = (device atomic_uint *)(memory + (offset & ~3L));
        uint before = atomic_load_explicit(word, memory_order_relaxed);
        bool is_done = false;
        while (!is_done) {
            T old = mx_of_word<T>(before, shift);
            if (nan_stays && mx_isnan(old))
                return;
            uint after = mx_word<T>(Op::apply(old, value), before, shift);
            is_done = after == before ||
                      atomic_compare_exchange_weak_explicit(
                          word, &before, after, memory_order_relaxed, memory_order_relaxed);
        }
    }
}

/* Updates that the device makes in one atomic operation, without an exchange. */
template <typename T> struct mx_atomic_of;
template <> struct mx_atomic_of<int> {
    typedef atomic_int type;
};
template <> struct mx_atomic_of<uint> {
    typedef atomic_uint type;
};

#define MX_UPDATE_BY(name)                                                         \
    template <typename T>                                                          \
    MX_INLINE void mx_update_by_##name(device uchar *memory, long offset, T value) \
    {                                                                              \
        device typename mx_atomic_of<T>::type *at =                                \
            (device typename mx_atomic_of<T>::type *)(memory + offset);            \
        atomic_fetch_##name##_explicit(at, value, memory_order_relaxed);           \
    }
MX_UPDATE_BY(add)
MX_UPDATE_BY(max)
MX_UPDATE_BY(min)
MX_UPDATE_BY(and)
MX_UPDATE_BY(or)
MX_UPDATE_BY(xor)

/* -- Sums of the lanes of a SIMD-group ------------------------------------------------------ *
 * On a device that finds lanes with equal numbers, these functions add the values of such
 * lanes. They return whether this lane has the sum.  All lanes that have not returned must call
 * them. The second one only does so if many lanes have the number of the lane before them. */

#ifndef MX_HAS_MATCH
template <typename T> MX_INLINE bool mx_join_peers(uint, thread T &) { return true; }
template <typename T> MX_INLINE bool mx_join_neighbours(uint, thread T &) { return true; }
#endif

/* -- Copies of the target ------------------------------------------------------------------ *
 * If the target has few elements, each threadgroup updates a copy of them in its own memory.
 * At the end it applies the elements of the copy to the target.  An element that was not
 * updated is the identity of the operation: -0.0 in a sum of floats, and 1 in a product. */

#define MX_COPY_BY(name)                                                            \
    template <typename T> MX_INLINE void mx_copy_##name(threadgroup T *at, T value) \
    {                                                                               \
        threadgroup typename mx_atomic_of<T>::type *element =                       \
            (threadgroup typename mx_atomic_of<T>::type *)at;                       \
        atomic_fetch_##name##_explicit(element, value, memory_order_relaxed);       \
    }
MX_COPY_BY(add)
MX_COPY_BY(max)
MX_COPY_BY(min)
MX_COPY_BY(and)
MX_COPY_BY(or)
MX_COPY_BY(xor)

/* An update by a compare-exchange of the word of an element, as in mx_update().  If Op cannot
 * join the element and the value, it exchanges them, and returns false. */
template <typename Op, typename W, typename A, typename T>
MX_INLINE bool mx_copy_by_exchange(threadgroup T *at, thread T &value)
{
    threadgroup A *word = (threadgroup A *)at;
    W before = atomic_load_explicit(word, memory_order_relaxed);
    while (true) {
        const T old = as_type<T>(before);
        T both;
        if (mx_isnan(old))
            return true;
        const bool joins = Op::join(old, value, &both);
        const W after = as_type<W>(joins ? both : value);
        if (after == before ||
            atomic_compare_exchange_weak_explicit(word, &before, after, memory_order_relaxed,
                                                  memory_order_relaxed)) {
            value = old;
            return joins;
        }
    }
}

struct mx_copied_sums {
    template <typename T> static MX_INLINE bool join(T a, T b, thread T *both)
    {
        *both = a + b;
        return true;
    }
};

#ifndef MX_HAS_ATOMIC_FLOATS
template <> MX_INLINE void mx_copy_add<float>(threadgroup float *at, float value)
{
    mx_copy_by_exchange<mx_copied_sums, uint, atomic_uint>(at, value);
}
#endif

/* Whether a product may take the place of its factors.  If it becomes infinite, zero or
 * subnormal, the products of an element with one factor after the other might not. */
template <typename T> MX_INLINE bool mx_joins(T, T, T) { return true; }
/* -- also for double, where there is one -- */
MX_INLINE bool mx_joins(float a, float b, float product)
{
    return (mx_isfinite(product) && !mx_is_tiny(product)) || a == 0 || b == 0 ||
           !mx_isfinite(a) || !mx_isfinite(b);
}
/* -- end of the functions for double -- */

struct mx_copied_products {
    template <typename T> static MX_INLINE bool join(T a, T b, thread T *both)
    {
        *both = mx_multiply(a, b);
        return mx_joins(a, b, *both);
    }
};

template <typename T> MX_INLINE bool mx_copy_multiply(threadgroup T *at, thread T &value)
{
#ifdef MX_HAS_ATOMIC_ULONG
    if constexpr (sizeof(T) == 8)
        return mx_copy_by_exchange<mx_copied_products, ulong, atomic_ulong>(at, value);
    else
#endif
        return mx_copy_by_exchange<mx_copied_products, uint, atomic_uint>(at, value);
}

/* Multiplies an element by its products of a copy, which has several for each element. */
template <typename Op, typename T>
MX_INLINE void mx_multiply_copies(device uchar *memory, long offset,
                                  const threadgroup T *copies, uint n)
{
    T product = copies[0], both;
    for (uint i = 1; i < n; i++) {
        if (mx_copied_products::join(product, copies[i], &both))
            product = both;
        else
            mx_update<Op, T, true>(memory, offset, copies[i]);
    }
    if (product != T(1))
        mx_update<Op, T, true>(memory, offset, product);
}

template <typename T> MX_INLINE bool mx_has_bits(T a, T b) { return a == b; }
/* -- also for double, where there is one -- */
MX_INLINE bool mx_has_bits(float a, float b)
{
    return a == b && mx_signbit(a) == mx_signbit(b);
}
MX_INLINE bool mx_has_bits(float2 a, float2 b)
{
    return mx_has_bits(a.x, b.x) && mx_has_bits(a.y, b.y);
}
/* -- end of the functions for double -- */

/* Notes the greatest of the numbers of the values for an element, which is the last value.  A
 * load is cheaper than an atomic operation. */
MX_INLINE void mx_note_last(device uchar *last, uint order)
{
    if (mx_load<uint>(last) < order)
        atomic_fetch_max_explicit((device atomic_uint *)last, order, memory_order_relaxed);
}
