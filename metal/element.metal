/* element.metal -- loads, stores and casts of elements; the status words in which kernels
 * report to the host; conditions and indices. */

/* -- Memory -------------------------------------------------------------------------- */

template <typename T> MX_INLINE T mx_load(device const uchar *at)
{
    return *(device const T *)at;
}

/* Any byte but 0 is true, and a bool in memory must be 0 or 1. */
template <> MX_INLINE bool mx_load<bool>(device const uchar *at) { return *at != 0; }

/* NumPy aligns a complex number like its parts. */
/* -- also for double, where there is one -- */
template <> MX_INLINE float2 mx_load<float2>(device const uchar *at)
{
    device const float *parts = (device const float *)at;
    return float2(parts[0], parts[1]);
}
/* -- end of the functions for double -- */

template <typename T> MX_INLINE void mx_store(device uchar *at, T value)
{
    *(device T *)at = value;
}

/* -- also for double, where there is one -- */
MX_INLINE void mx_store(device uchar *at, float2 value)
{
    device float *parts = (device float *)at;
    parts[0] = value.x;
    parts[1] = value.y;
}
/* -- end of the functions for double -- */

/* -- Types ----------------------------------------------------------------------------- */

/* Returns a value whose bits are an argument. */
template <typename T> MX_INLINE T mx_value(long bits) { return T(bits); }
template <> MX_INLINE bool mx_value<bool>(long bits) { return (bits & 255) != 0; }
template <> MX_INLINE half mx_value<half>(long bits) { return as_type<half>(ushort(bits)); }
template <> MX_INLINE float mx_value<float>(long bits) { return as_type<float>(uint(bits)); }
template <> MX_INLINE float2 mx_value<float2>(long bits)
{
    return float2(as_type<float>(uint(bits)), as_type<float>(uint(bits >> 32)));
}

/* Reinterprets the bits as another type of the same size. */
template <typename To, typename From> MX_INLINE To mx_bits(From a) { return as_type<To>(a); }

/* Casts as NumPy does: bool is whether the number is not zero, and a number is a real part. */
template <typename T> MX_INLINE T mx_real_part(T a) { return a; }
template <typename T> MX_INLINE T mx_imaginary_part(T) { return T(0); }
/* -- also for double, where there is one -- */
MX_INLINE float mx_real_part(float2 a) { return a.x; }
MX_INLINE float mx_imaginary_part(float2 a) { return a.y; }
/* -- end of the functions for double -- */
template <typename To> struct mx_caster {
    template <typename From> static MX_INLINE To cast(From a) { return To(mx_real_part(a)); }
};
/* Casts of floats to integers saturate on a GPU.  NumPy's results for numbers that the integer
 * type lacks are those of the processor's instructions: narrow integers are the lower bits of
 * an int32, and on x86-64 all negative numbers become the unsigned integer with the bits of a
 * signed one. */
#define MX_CAST_BY(T, W)                                         \
    template <> struct mx_caster<T> {                            \
        template <typename From> static MX_INLINE T cast(From a) \
        {                                                        \
            return T(W(mx_real_part(a)));                        \
        }                                                        \
    };
MX_CAST_BY(char, int)
MX_CAST_BY(short, int)
MX_CAST_BY(uchar, int)
MX_CAST_BY(ushort, int)
#ifdef MX_X86
MX_CAST_BY(uint, long)

template <typename T> MX_INLINE ulong mx_unsigned_bits(T a) { return ulong(a); }
/* -- also for double, where there is one -- */
MX_INLINE ulong mx_unsigned_bits(float a) { return a < 0 ? ulong(long(a)) : ulong(a); }
/* -- end of the functions for double -- */
MX_INLINE ulong mx_unsigned_bits(half a) { return mx_unsigned_bits(float(a)); }
template <> struct mx_caster<ulong> {
    template <typename From> static MX_INLINE ulong cast(From a)
    {
        return mx_unsigned_bits(mx_real_part(a));
    }
};
#endif
template <> struct mx_caster<bool> {
    template <typename From> static MX_INLINE bool cast(From a) { return mx_truth(a); }
};
/* -- also for double, where there is one -- */
template <> struct mx_caster<float2> {
    template <typename From> static MX_INLINE float2 cast(From a)
    {
        return float2(float(mx_real_part(a)), float(mx_imaginary_part(a)));
    }
};
/* -- end of the functions for double -- */
template <typename To, typename From> MX_INLINE To mx_cast(From a)
{
    return mx_caster<To>::cast(a);
}

/* Casts of bfloat go through float. */
#ifdef MX_HAS_BFLOAT
template <> MX_INLINE bfloat mx_value<bfloat>(long bits)
{
    return as_type<bfloat>(ushort(bits));
}
template <> struct mx_caster<bfloat> {
    template <typename From> static MX_INLINE bfloat cast(From a)
    {
        return bfloat(float(mx_real_part(a)));
    }
};
template <typename To> MX_INLINE To mx_cast(bfloat a) { return mx_caster<To>::cast(float(a)); }
#endif

/* -- Words ------------------------------------------------------------------------------- *
 * The bits of an element as words of 32 bits. */

template <typename T, uint size = sizeof(T)> struct mx_words;
template <typename T> struct mx_words<T, 1> {
    static MX_INLINE uint pack(T a) { return as_type<uchar>(a); }
    static MX_INLINE T unpack(uint bits) { return as_type<T>(uchar(bits)); }
};
template <> struct mx_words<bool, 1> {
    static MX_INLINE uint pack(bool a) { return a; }
    static MX_INLINE bool unpack(uint bits) { return bits != 0; }
};
template <typename T> struct mx_words<T, 2> {
    static MX_INLINE uint pack(T a) { return as_type<ushort>(a); }
    static MX_INLINE T unpack(uint bits) { return as_type<T>(ushort(bits)); }
};
template <typename T> struct mx_words<T, 4> {
    static MX_INLINE uint pack(T a) { return as_type<uint>(a); }
    static MX_INLINE T unpack(uint bits) { return as_type<T>(bits); }
};
template <typename T> struct mx_words<T, 8> {
    static MX_INLINE uint2 pack(T a) { return as_type<uint2>(a); }
    static MX_INLINE T unpack(uint2 bits) { return as_type<T>(bits); }
};
template <> struct mx_words<ulong, 8> {
    static MX_INLINE uint2 pack(ulong a) { return uint2(uint(a), uint(a >> 32)); }
    static MX_INLINE ulong unpack(uint2 bits) { return ulong(bits.x) | ulong(bits.y) << 32; }
};
template <> struct mx_words<long, 8> {
    static MX_INLINE uint2 pack(long a) { return mx_words<ulong>::pack(ulong(a)); }
    static MX_INLINE long unpack(uint2 bits) { return long(mx_words<ulong>::unpack(bits)); }
};
template <typename T> struct mx_words<T, 16> {
    static MX_INLINE uint4 pack(T a) { return as_type<uint4>(a); }
    static MX_INLINE T unpack(uint4 bits) { return as_type<T>(bits); }
};

/* -- Packs ------------------------------------------------------------------------------- *
 * Adjacent elements of 2 to 16 bytes in all, which are loaded and stored as one vector.  Their
 * address is a multiple of that size. */

#ifndef MX_UNROLL
#define MX_UNROLL _Pragma("clang loop unroll(full)") /* keeps arrays in registers */
#endif

/* Load and store `bytes` bytes as words. */
template <uint bytes> struct mx_vector;
template <> struct mx_vector<2> {
    static MX_INLINE void load(device const uchar *at, thread uint *words)
    {
        words[0] = *(device const ushort *)at;
    }
    static MX_INLINE void store(device uchar *at, thread const uint *words)
    {
        *(device ushort *)at = ushort(words[0]);
    }
};
template <> struct mx_vector<4> {
    static MX_INLINE void load(device const uchar *at, thread uint *words)
    {
        words[0] = *(device const uint *)at;
    }
    static MX_INLINE void store(device uchar *at, thread const uint *words)
    {
        *(device uint *)at = words[0];
    }
};
template <> struct mx_vector<8> {
    static MX_INLINE void load(device const uchar *at, thread uint *words)
    {
        const uint2 loaded = *(device const uint2 *)at;
        words[0] = loaded.x;
        words[1] = loaded.y;
    }
    static MX_INLINE void store(device uchar *at, thread const uint *words)
    {
        *(device uint2 *)at = uint2(words[0], words[1]);
    }
};
template <> struct mx_vector<16> {
    static MX_INLINE void load(device const uchar *at, thread uint *words)
    {
        const uint4 loaded = *(device const uint4 *)at;
        words[0] = loaded.x;
        words[1] = loaded.y;
        words[2] = loaded.z;
        words[3] = loaded.w;
    }
    static MX_INLINE void store(device uchar *at, thread const uint *words)
    {
        *(device uint4 *)at = uint4(words[0], words[1], words[2], words[3]);
    }
};

/* Finds elements of `size` bytes among words. */
template <typename T, uint size> struct mx_element {
    static MX_INLINE T get(thread const uint *words, uint i)
    {
        const uint shift = i * size * 8 % 32,
                   mask = size == 4 ? ~0u : (1u << size * 8 % 32) - 1;
        return mx_words<T>::unpack(words[i * size / 4] >> shift & mask);
    }
    static MX_INLINE void set(thread uint *words, uint i, T a)
    {
        const uint shift = i * size * 8 % 32,
                   mask = size == 4 ? ~0u : (1u << size * 8 % 32) - 1;
        const uint others = shift == 0 ? 0u : words[i * size / 4];
        words[i * size / 4] = others | (mx_words<T>::pack(a) & mask) << shift;
    }
};
template <typename T> struct mx_element<T, 8> {
    static MX_INLINE T get(thread const uint *words, uint i)
    {
        return mx_words<T>::unpack(uint2(words[2 * i], words[2 * i + 1]));
    }
    static MX_INLINE void set(thread uint *words, uint i, T a)
    {
        const uint2 bits = mx_words<T>::pack(a);
        words[2 * i] = bits.x;
        words[2 * i + 1] = bits.y;
    }
};

template <typename T, uint n> struct mx_pack {
    T item[n];
};

/* Loads the first `count` of n elements. */
template <typename T, uint n>
MX_INLINE mx_pack<T, n> mx_load_pack(device const uchar *at, uint count)
{
    mx_pack<T, n> pack;
    if (count == n) {
        uint words[4];
        mx_vector<n * sizeof(T)>::load(at, words);
        MX_UNROLL
        for (uint i = 0; i < n; i++)
            pack.item[i] = mx_element<T, sizeof(T)>::get(words, i);
        return pack;
    }
    MX_UNROLL
    for (uint i = 0; i < n; i++)
        if (i < count)
            pack.item[i] = mx_load<T>(at + i * sizeof(T));
    return pack;
}

template <typename T, uint n>
MX_INLINE void mx_store_pack(device uchar *at, mx_pack<T, n> pack, uint count)
{
    if (count == n) {
        uint words[4];
        MX_UNROLL
        for (uint i = 0; i < n; i++)
            mx_element<T, sizeof(T)>::set(words, i, pack.item[i]);
        mx_vector<n * sizeof(T)>::store(at, words);
        return;
    }
    MX_UNROLL
    for (uint i = 0; i < n; i++)
        if (i < count)
            mx_store(at + i * sizeof(T), pack.item[i]);
}

/* -- Ranges ------------------------------------------------------------------------------- */

/* The i-th number of a range.  The first two are returned as they are: sums may round. */
template <typename T> MX_INLINE T mx_range(T first, T second, long i)
{
    return i == 0   ? first
           : i == 1 ? second
                    : mx_add(first, mx_multiply(mx_cast<T>(i), mx_subtract(second, first)));
}
MX_INLINE half mx_range(half first, half second, long i)
{
    return i == 0   ? first
           : i == 1 ? second
                    : half(float(first) + float(i) * (float(second) - float(first)));
}

/* -- Parts of grids ----------------------------------------------------------------------- */

/* The origin of the part of a grid that a dispatch has, from three of its arguments. */
MX_INLINE uint3 mx_origin(long x, long y, long z) { return uint3(uint(x), uint(y), uint(z)); }

/* Divide the number of an element by the length of an axis.  Divisors from memory are slow, so
 * a number below 2^31 is divided by the words of `reciprocal` in csrc/gpu/kernel.c. */
MX_INLINE int mx_quotient(int a, long by)
{
    return int(mulhi(uint(a) * 2, uint(by)) >> uint(by >> 32));
}
MX_INLINE long mx_quotient(long a, long by) { return a / by; }

/* -- Status words ------------------------------------------------------------------------- */

#define MX_DIVIDE_BY_ZERO 1u
#define MX_OVERFLOW       2u
#define MX_UNDERFLOW      4u
#define MX_INVALID        8u
#define MX_FAILED         16u

/* Whether a check of an earlier group failed.  A plain load suffices, because only kernels that
 * have ended can have written the word. */
MX_INLINE bool mx_is_stopped(device const atomic_uint *status, uint group)
{
    return ~*(device const uint *)status < group;
}

/* On a device whose words the host cannot read, their number, and what follows them: the
 * address of a word of the host.  A kernel that reports anything sets that word too. */
#define MX_STATUS_WORDS 4096u /* MAX_WORDS of csrc/gpu/batch.c */
#ifndef MX_HAS_REPORT_FLAG
MX_INLINE void mx_flag_report(device atomic_uint *) {}
#endif

/* Adds a report to a word.  The first word is the complement of the least number of a group
 * with a failed check, or 0. */
MX_INLINE void mx_report(device atomic_uint *status, uint word, uint group, uint report)
{
    if (report == 0)
        return;
    atomic_fetch_or_explicit(&status[word], report, memory_order_relaxed);
    mx_flag_report(status + MX_STATUS_WORDS);
    if (report & MX_FAILED)
        atomic_fetch_max_explicit(&status[0], ~group, memory_order_relaxed);
}

/* -- Conditions ---------------------------------------------------------------------------- *
 * A GPU has no flags for conditions.  They are derived from the operands and the result. */

template <typename T> MX_INLINE uint mx_met_arithmetic(T a, T b, T r)
{
    if (mx_isnan(r))
        return mx_isnan(a) || mx_isnan(b) ? 0u : MX_INVALID;
    return mx_isinf(r) && mx_isfinite(a) && mx_isfinite(b) ? MX_OVERFLOW : 0u;
}

template <typename A, typename B, typename R> MX_INLINE uint mx_met_arithmetic(A a, B, R r)
{
    if (mx_isnan(r))
        return mx_isnan(a) ? 0u : MX_INVALID;
    return mx_isinf(r) && mx_isfinite(a) ? MX_OVERFLOW : 0u;
}

template <typename A, typename R> MX_INLINE uint mx_met_arithmetic(A a, R r)
{
    if (mx_isnan(r))
        return mx_isnan(a) ? 0u : MX_INVALID;
    return mx_isinf(r) && mx_isfinite(a) ? MX_OVERFLOW : 0u;
}

/* A cast of a float to an integer is invalid if the integer type lacks the number. */
#define MX_MET_CAST(From, T, LEAST, END)                                        \
    MX_INLINE uint mx_met_arithmetic(From a, T)                                 \
    {                                                                           \
        return a > LEAST - 1.0f && a < END ? 0u : a == LEAST ? 0u : MX_INVALID; \
    }
/* -- also for double, where there is one -- */
MX_MET_CAST(float, int, -2147483648.0f, 2147483648.0f)
MX_MET_CAST(float, long, -9223372036854775808.0f, 9223372036854775808.0f)
MX_MET_CAST(float, uint, -2147483648.0f, 4294967296.0f)
MX_MET_CAST(float, ulong, -9223372036854775808.0f, 18446744073709551616.0f)
MX_MET_CAST(float, char, -2147483648.0f, 2147483648.0f)
MX_MET_CAST(float, short, -2147483648.0f, 2147483648.0f)
MX_MET_CAST(float, uchar, -2147483648.0f, 2147483648.0f)
MX_MET_CAST(float, ushort, -2147483648.0f, 2147483648.0f)
/* -- end of the functions for double -- */

#define MX_MET_HALF_CAST(T) \
    MX_INLINE uint mx_met_arithmetic(half a, T r) { return mx_met_arithmetic(float(a), r); }
MX_MET_HALF_CAST(int)
MX_MET_HALF_CAST(long)
MX_MET_HALF_CAST(uint)
MX_MET_HALF_CAST(ulong)
MX_MET_HALF_CAST(char)
MX_MET_HALF_CAST(short)
MX_MET_HALF_CAST(uchar)
MX_MET_HALF_CAST(ushort)

#ifdef MX_HAS_BFLOAT
template <typename R> MX_INLINE uint mx_met_arithmetic(bfloat a, R r)
{
    return mx_met_arithmetic(float(a), r);
}
#endif

template <typename T> MX_INLINE uint mx_met_quotient(T a, T b, T r)
{
    if (mx_isnan(r))
        return mx_isnan(a) || mx_isnan(b) ? 0u : MX_INVALID;
    if (!mx_isinf(r) || !mx_isfinite(a) || !mx_isfinite(b))
        return 0u;
    return mx_truth(b) ? MX_OVERFLOW : MX_DIVIDE_BY_ZERO;
}

template <typename T> MX_INLINE uint mx_met_reciprocal(T a, T r)
{
    return mx_met_quotient(T(1), a, r);
}

template <typename T> MX_INLINE uint mx_met_pole(T a, T r)
{
    if (mx_isnan(r))
        return mx_isnan(a) ? 0u : MX_INVALID;
    return mx_isinf(r) && mx_isfinite(a) ? MX_DIVIDE_BY_ZERO : 0u;
}

template <typename T> MX_INLINE uint mx_met_power(T a, T b, T r)
{
    if (mx_isnan(r))
        return mx_isnan(a) || mx_isnan(b) ? 0u : MX_INVALID;
    if (!mx_isinf(r) || !mx_isfinite(a) || !mx_isfinite(b))
        return 0u;
    return mx_truth(a) ? MX_OVERFLOW : MX_DIVIDE_BY_ZERO;
}

/* The next number of another one, or the distance to it. */
template <typename T> MX_INLINE uint mx_met_step(T a, T r)
{
    return mx_isinf(r) && mx_isfinite(a) ? MX_OVERFLOW : 0u;
}
template <typename T> MX_INLINE uint mx_met_step(T a, T, T r)
{
    return mx_isinf(r) && mx_isfinite(a) ? MX_OVERFLOW : 0u;
}
MX_INLINE uint mx_met_step(half a, half r) /* of spacing: NumPy subtracts infinities */
{
    return mx_isfinite(a) ? (mx_isinf(r) ? MX_OVERFLOW : 0u) : MX_INVALID;
}

/* For integers.  The quotient of the least number and -1 overflows. */
template <typename T> MX_INLINE uint mx_met_divmod(T a, T b, T r)
{
    if (!mx_truth(b))
        return MX_DIVIDE_BY_ZERO;
    return a < T(0) && b == T(-1) && r == a ? MX_OVERFLOW : 0u;
}
/* -- also for double, where there is one -- */
MX_INLINE uint mx_met_divmod(float a, float b, float r) { return mx_met_quotient(a, b, r); }
/* -- end of the functions for double -- */
MX_INLINE uint mx_met_divmod(half a, half b, half r) { return mx_met_quotient(a, b, r); }
#ifdef MX_HAS_BFLOAT
MX_INLINE uint mx_met_divmod(bfloat a, bfloat b, bfloat r) { return mx_met_quotient(a, b, r); }
#endif

/* Comparisons of bfloat are invalid with NaN: maximum and minimum if it is the second operand,
 * fmax and fmin if it is the first. */
template <typename T, typename R> MX_INLINE uint mx_met_order(T a, T b, R)
{
    return mx_isnan(a) || mx_isnan(b) ? MX_INVALID : 0u;
}
template <typename T> MX_INLINE uint mx_met_extreme(T a, T b, T)
{
    return mx_isnan(b) && !mx_isnan(a) ? MX_INVALID : 0u;
}
template <typename T> MX_INLINE uint mx_met_number(T a, T b, T)
{
    return mx_isnan(a) && !mx_isnan(b) ? MX_INVALID : 0u;
}

/* Of logarithms of sums.  NumPy's loops compare the operands, which is invalid with NaN. */
template <typename T> MX_INLINE uint mx_met_logarithms(T a, T b, T r)
{
    return mx_isnan(r) ? MX_INVALID : mx_met_arithmetic(a, b, r);
}

/* A result underflows if it is below the normal numbers and is rounded.  The operands decide
 * whether it is: the lowest bits of factors add up to that of the product.  A result that Metal
 * has made zero is judged as NumPy's. */
template <typename T> MX_INLINE uint mx_underflow_product(T a, T b, T r)
{
    if (!mx_is_tiny(r) || mx_magnitude_bits(a) == 0 || mx_magnitude_bits(b) == 0)
        return 0u;
    return mx_split(a).low + mx_split(b).low < mx_least_exponent(a) ? MX_UNDERFLOW : 0u;
}

template <typename T> MX_INLINE uint mx_underflow_quotient(T a, T b, T r)
{
    if (!mx_is_tiny(r) || mx_magnitude_bits(a) == 0 || mx_isinf(b))
        return 0u;
    const mx_parts dividend = mx_split(a), divisor = mx_split(b);
    const bool is_exact =
        dividend.odd % divisor.odd == 0 && dividend.low - divisor.low >= -mx_least_exponent(a);
    return is_exact ? 0u : MX_UNDERFLOW;
}

template <typename T> MX_INLINE uint mx_underflow_reciprocal(T a, T r)
{
    return mx_underflow_quotient(T(1), a, r);
}

template <typename T> MX_INLINE uint mx_underflow_exponential(T a, T r)
{
    return mx_is_tiny(r) && mx_isfinite(a) ? MX_UNDERFLOW : 0u;
}

/* -- Indices ------------------------------------------------------------------------------- */

/* enum mx_bounds of csrc/ir/instruction.h */
#define MX_PLAIN    0
#define MX_NEGATIVE 1
#define MX_CLAMP    2
#define MX_DROP     3
#define MX_NEAREST  4
#define MX_MODULO   5

MX_INLINE bool mx_is_outside(long i, long size) { return i < -size || i >= size; }

/* Adds the offset of an index of an axis.  Returns false if the index selects no element. */
template <int bounds, typename T>
MX_INLINE bool mx_index(long i, long size, T stride, thread T *offset)
{
    if (bounds == MX_NEGATIVE || bounds == MX_CLAMP || bounds == MX_DROP)
        i += i < 0 ? size : 0;
    if (bounds == MX_DROP && (i < 0 || i >= size))
        return false;
    if (bounds == MX_CLAMP || bounds == MX_NEAREST)
        i = i < 0 ? 0 : i < size ? i : size - 1;
    if (bounds == MX_MODULO)
        i = mx_remainder(i, size);
    *offset += T(i) * stride;
    return true;
}

/* The order of sorted arrays: NaN comes after all numbers. */
template <typename T> MX_INLINE bool mx_is_before(T a, T b)
{
    return a < b || (mx_isnan(b) && !mx_isnan(a));
}

/* The index at which a value belongs into a sorted table: before equal ones, or after them. */
template <typename T, bool is_right>
MX_INLINE long mx_search(device const uchar *table, long size, long stride, T value)
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
