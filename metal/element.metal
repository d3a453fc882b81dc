/* element.metal -- loads, stores and casts of elements; the status words in which kernels
 * report to the host; conditions and indices. */

/* -- Memory -------------------------------------------------------------------------- */

template <typename T> inline T mx_load(device const uchar *at) { return *(device const T *)at; }

/* NumPy aligns a complex number like its parts. */
template <> inline float2 mx_load<float2>(device const uchar *at)
{
    device const float *parts = (device const float *)at;
    return float2(parts[0], parts[1]);
}

template <typename T> inline void mx_store(device uchar *at, T value)
{
    *(device T *)at = value;
}

inline void mx_store(device uchar *at, float2 value)
{
    device float *parts = (device float *)at;
    parts[0] = value.x;
    parts[1] = value.y;
}

/* -- Types ----------------------------------------------------------------------------- */

/* Returns a value whose bits are an argument. */
template <typename T> inline T mx_value(long bits) { return T(bits); }
template <> inline bool mx_value<bool>(long bits) { return (bits & 255) != 0; }
template <> inline half mx_value<half>(long bits) { return as_type<half>(ushort(bits)); }
template <> inline float mx_value<float>(long bits) { return as_type<float>(uint(bits)); }
template <> inline float2 mx_value<float2>(long bits) { return as_type<float2>(bits); }

/* Reinterprets the bits as another type of the same size. */
template <typename To, typename From> inline To mx_bits(From a) { return as_type<To>(a); }

/* Casts as NumPy does: bool is whether the number is not zero, and a number is a real part. */
template <typename To> struct mx_caster {
    template <typename From> static To cast(From a) { return To(a); }
    static To cast(float2 a) { return To(a.x); }
};
template <> struct mx_caster<bool> {
    template <typename From> static bool cast(From a) { return mx_truth(a); }
};
template <> struct mx_caster<float2> {
    template <typename From> static float2 cast(From a) { return float2(float(a), 0.0f); }
    static float2 cast(float2 a) { return a; }
};
template <typename To, typename From> inline To mx_cast(From a)
{
    return mx_caster<To>::cast(a);
}

/* Casts of bfloat go through float. */
#ifdef MX_HAS_BFLOAT
template <> inline bfloat mx_value<bfloat>(long bits) { return as_type<bfloat>(ushort(bits)); }
template <> struct mx_caster<bfloat> {
    template <typename From> static bfloat cast(From a) { return bfloat(float(a)); }
    static bfloat cast(float2 a) { return bfloat(a.x); }
};
template <typename To> inline To mx_cast(bfloat a) { return mx_caster<To>::cast(float(a)); }
#endif

/* -- Ranges ------------------------------------------------------------------------------- */

/* The i-th number of a range.  The first two are returned as they are: sums may round. */
template <typename T> inline T mx_range(T first, T second, long i)
{
    return i == 0   ? first
           : i == 1 ? second
                    : mx_add(first, mx_multiply(T(i), mx_subtract(second, first)));
}
inline half mx_range(half first, half second, long i)
{
    return i == 0   ? first
           : i == 1 ? second
                    : half(float(first) + float(i) * (float(second) - float(first)));
}

/* -- Status words ------------------------------------------------------------------------- */

#define MX_DIVIDE_BY_ZERO 1u
#define MX_OVERFLOW       2u
#define MX_INVALID        8u
#define MX_FAILED         16u

/* Whether a check of an earlier group failed.  A plain load suffices, because only kernels that
 * have ended can have written the word. */
inline bool mx_is_stopped(device const atomic_uint *status, uint group)
{
    return *(device const uint *)status < group;
}

/* Adds a report to a word.  The first word is the least number of a group with a failed check.
 */
inline void mx_report(device atomic_uint *status, uint word, uint group, uint report)
{
    if (report == 0)
        return;
    atomic_fetch_or_explicit(&status[word], report, memory_order_relaxed);
    if (report & MX_FAILED)
        atomic_fetch_min_explicit(&status[0], group, memory_order_relaxed);
}

/* -- Conditions ---------------------------------------------------------------------------- *
 * A GPU has no flags for conditions.  They are derived from the operands and the result. */

template <typename T> inline uint mx_met_arithmetic(T a, T b, T r)
{
    if (mx_isnan(r))
        return mx_isnan(a) || mx_isnan(b) ? 0u : MX_INVALID;
    return mx_isinf(r) && mx_isfinite(a) && mx_isfinite(b) ? MX_OVERFLOW : 0u;
}

template <typename A, typename B, typename R> inline uint mx_met_arithmetic(A a, B, R r)
{
    if (mx_isnan(r))
        return mx_isnan(a) ? 0u : MX_INVALID;
    return mx_isinf(r) && mx_isfinite(a) ? MX_OVERFLOW : 0u;
}

template <typename A, typename R> inline uint mx_met_arithmetic(A a, R r)
{
    if (mx_isnan(r))
        return mx_isnan(a) ? 0u : MX_INVALID;
    return mx_isinf(r) && mx_isfinite(a) ? MX_OVERFLOW : 0u;
}

/* A cast of a float to an integer is invalid if the integer type lacks the number. */
#define MX_MET_CAST(T, LEAST, END)                                              \
    inline uint mx_met_arithmetic(float a, T)                                   \
    {                                                                           \
        return a > LEAST - 1.0f && a < END ? 0u : a == LEAST ? 0u : MX_INVALID; \
    }                                                                           \
    inline uint mx_met_arithmetic(half a, T r) { return mx_met_arithmetic(float(a), r); }
MX_MET_CAST(int, -2147483648.0f, 2147483648.0f)
MX_MET_CAST(long, -9223372036854775808.0f, 9223372036854775808.0f)
MX_MET_CAST(uint, -2147483648.0f, 4294967296.0f)
MX_MET_CAST(ulong, -9223372036854775808.0f, 18446744073709551616.0f)
MX_MET_CAST(char, -2147483648.0f, 2147483648.0f)
MX_MET_CAST(short, -2147483648.0f, 2147483648.0f)
MX_MET_CAST(uchar, -2147483648.0f, 2147483648.0f)
MX_MET_CAST(ushort, -2147483648.0f, 2147483648.0f)

#ifdef MX_HAS_BFLOAT
template <typename R> inline uint mx_met_arithmetic(bfloat a, R r)
{
    return mx_met_arithmetic(float(a), r);
}
#endif

template <typename T> inline uint mx_met_quotient(T a, T b, T r)
{
    if (mx_isnan(r))
        return mx_isnan(a) || mx_isnan(b) ? 0u : MX_INVALID;
    if (!mx_isinf(r) || !mx_isfinite(a) || !mx_isfinite(b))
        return 0u;
    return mx_truth(b) ? MX_OVERFLOW : MX_DIVIDE_BY_ZERO;
}

template <typename T> inline uint mx_met_pole(T a, T r)
{
    if (mx_isnan(r))
        return mx_isnan(a) ? 0u : MX_INVALID;
    return mx_isinf(r) && mx_isfinite(a) ? MX_DIVIDE_BY_ZERO : 0u;
}

template <typename T> inline uint mx_met_power(T a, T b, T r)
{
    if (mx_isnan(r))
        return mx_isnan(a) || mx_isnan(b) ? 0u : MX_INVALID;
    if (!mx_isinf(r) || !mx_isfinite(a) || !mx_isfinite(b))
        return 0u;
    return mx_truth(a) ? MX_OVERFLOW : MX_DIVIDE_BY_ZERO;
}

/* For integers.  The quotient of the least number and -1 overflows. */
template <typename T> inline uint mx_met_divmod(T a, T b, T r)
{
    if (!mx_truth(b))
        return MX_DIVIDE_BY_ZERO;
    return a < T(0) && b == T(-1) && r == a ? MX_OVERFLOW : 0u;
}
inline uint mx_met_divmod(float a, float b, float r) { return mx_met_quotient(a, b, r); }
inline uint mx_met_divmod(half a, half b, half r) { return mx_met_quotient(a, b, r); }
#ifdef MX_HAS_BFLOAT
inline uint mx_met_divmod(bfloat a, bfloat b, bfloat r) { return mx_met_quotient(a, b, r); }
#endif

/* Comparisons of bfloat are invalid with NaN: maximum and minimum if it is the second operand,
 * fmax and fmin if it is the first. */
template <typename T, typename R> inline uint mx_met_order(T a, T b, R)
{
    return mx_isnan(a) || mx_isnan(b) ? MX_INVALID : 0u;
}
template <typename T> inline uint mx_met_extreme(T a, T b, T)
{
    return mx_isnan(b) && !mx_isnan(a) ? MX_INVALID : 0u;
}
template <typename T> inline uint mx_met_number(T a, T b, T)
{
    return mx_isnan(a) && !mx_isnan(b) ? MX_INVALID : 0u;
}

/* -- Indices ------------------------------------------------------------------------------- */

/* enum mx_bounds of csrc/ir/instruction.h */
#define MX_PLAIN    0
#define MX_NEGATIVE 1
#define MX_CLAMP    2
#define MX_DROP     3
#define MX_NEAREST  4
#define MX_MODULO   5

inline bool mx_is_outside(long i, long size) { return i < -size || i >= size; }

/* Adds the offset of an index of an axis.  Returns false if the index selects no element. */
template <int bounds> inline bool mx_index(long i, long size, long stride, thread long *offset)
{
    if (bounds == MX_NEGATIVE || bounds == MX_CLAMP || bounds == MX_DROP)
        i += i < 0 ? size : 0;
    if (bounds == MX_DROP && (i < 0 || i >= size))
        return false;
    if (bounds == MX_CLAMP || bounds == MX_NEAREST)
        i = i < 0 ? 0 : i < size ? i : size - 1;
    if (bounds == MX_MODULO)
        i = mx_remainder(i, size);
    *offset += i * stride;
    return true;
}

/* The order of sorted arrays: NaN comes after all numbers. */
template <typename T> inline bool mx_is_before(T a, T b)
{
    return a < b || (mx_isnan(b) && !mx_isnan(a));
}

/* The index at which a value belongs into a sorted table: before equal ones, or after them. */
template <typename T, bool is_right>
inline long mx_search(device const uchar *table, long size, long stride, T value)
{
    long low = 0;
    while (size > 0) {
        long step = size / 2;
        T middle = mx_load<T>(table + (low + step) * stride);
        bool is_after = is_right ? !mx_is_before(value, middle) : mx_is_before(middle, value);
        low = is_after ? low + step + 1 : low;
        size = is_after ? size - step - 1 : step;
    }
    return low;
}
