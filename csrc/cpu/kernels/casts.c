/* casts.c -- loops over any strides, made from conversions of contiguous elements. */
#include "cpu/kernels/casts.h"

#include "cpu/kernels/cast_kernels.h"

#if defined(__x86_64__)
#define HAS_DETOUR true
#else
#define HAS_DETOUR false
#endif

static const struct mx_cast_kernels *const tables[] = {
#define TABLE(isa) &mx_cast_kernels_##isa, /* mx_cast_kernels_base, _v3, _v4 */
    MX_ISAS(TABLE)
#undef TABLE
};

/* Returns whether a dtype has 16 bits, and is converted from and to others by way of float32.
 */
static bool is_half(int dtype)
{
    return dtype == MX_DTYPE_float16 || dtype == MX_DTYPE_bfloat16;
}

/* Returns the dtype of a complex number's parts, or the dtype itself. */
static int part_of(int dtype)
{
    return dtype == MX_DTYPE_complex64    ? MX_DTYPE_float32
           : dtype == MX_DTYPE_complex128 ? MX_DTYPE_float64
                                          : dtype;
}

/* Returns the dtype of the next step from one dtype to another. */
static int next_step(const struct mx_cast_kernels *table, int from, int to)
{
    if (table->kernels[from][to])
        return to;
    if (part_of(to) != to && table->kernels[from][part_of(to)])
        return part_of(to);
    return is_half(from) || is_half(to) ? MX_DTYPE_float32 : part_of(to);
}

/* Finds the dtypes on the way from one dtype to another, including both.  Returns their number.
 */
static int find_path(int path[], const struct mx_cast_kernels *table, int from, int to,
                     bool contiguous)
{
    /* Only contiguous loops convert a float to uint32 in one step: see cast_kernels.c. */
    bool detour =
        HAS_DETOUR && to == MX_DTYPE_uint32 && (!contiguous || from == MX_DTYPE_float16);
    int length = 0;
    path[length++] =
        table->kernels[from][to] ? from : part_of(from); /* the real part is first */
    while (from = path[length - 1], from != to)
        path[length++] =
            next_step(table, from, detour && mx_dtype_is_float(from) ? MX_DTYPE_int64 : to);
    MX_ASSERT(length <= MX_DTYPE_COUNT);
    return length;
}

static void casts_cast(char **args, const intptr_t *dimensions, const intptr_t *strides,
                       int from, int to)
{
    const struct mx_cast_kernels *table = tables[mx_isa()];
    char *x = args[0], *y = args[1];
    intptr_t n = dimensions[0], x_stride = strides[0], y_stride = strides[1];
    bool contiguous = x_stride == mx_itemsizes[from] && y_stride == mx_itemsizes[to];
    if (contiguous && table->kernels[from][to]) {
        table->kernels[from][to](x, y, n);
        return;
    }
    if (x_stride == 0 && n > 1) {
        _Alignas(16) char one[16];
        casts_cast((char *[]){x, one}, &(intptr_t){1}, (intptr_t[]){0, 0}, from, to);
        mx_copy_loop(mx_itemsizes[to])((char *[]){one, y}, &n, strides, NULL);
        return;
    }

    int path[MX_DTYPE_COUNT];
    int length = find_path(path, table, from, to, contiguous);
    int x_size = mx_itemsizes[path[0]], y_size = mx_itemsizes[to];
    _Alignas(64) char scratch[2][MX_BLOCK * 16];
    for (intptr_t i = 0; i < n; i += MX_BLOCK) {
        intptr_t size = n - i < MX_BLOCK ? n - i : MX_BLOCK;
        char *now = x + i * x_stride, *out = y + i * y_stride;
        int other = 0;
        if (x_stride != x_size) {
            mx_copy_loop(x_size)((char *[]){now, scratch[0]}, &size,
                                 (intptr_t[]){x_stride, x_size}, NULL);
            now = scratch[0];
            other = 1;
        }
        for (int k = 1; k < length; k++, other = !other) {
            bool last = k == length - 1 && y_stride == y_size;
            char *next = last ? out : scratch[other];
            table->kernels[path[k - 1]][path[k]](now, next, size);
            now = next;
        }
        if (y_stride != y_size)
            mx_copy_loop(y_size)((char *[]){now, out}, &size, (intptr_t[]){y_size, y_stride},
                                 NULL);
    }
}

#undef bool /* from here on it is the name of a dtype */

/* Defines a loop for each pair of dtypes.  The loops differ only in the numbers of the dtypes.
 */
#define PAIR(from, to)                                                         \
    static void from##_to_##to(char **args, const intptr_t *dimensions,        \
                               const intptr_t *strides, void *data)            \
    {                                                                          \
        (void)data;                                                            \
        casts_cast(args, dimensions, strides, MX_DTYPE_##from, MX_DTYPE_##to); \
    }

#define EACH_TO(X, from) \
    X(from, bool)        \
    X(from, int8)        \
    X(from, int16)       \
    X(from, int32)       \
    X(from, int64)       \
    X(from, uint8)       \
    X(from, uint16)      \
    X(from, uint32)      \
    X(from, uint64)      \
    X(from, float16)     \
    X(from, bfloat16)    \
    X(from, float32) X(from, float64) X(from, complex64) X(from, complex128)
#define ONE(from, to) +1
_Static_assert(EACH_TO(ONE, ) == MX_DTYPE_COUNT, "EACH_TO has the rows of dtypes.def");

#define DTYPE(name, ...) EACH_TO(PAIR, name)
#include "ir/dtypes.def"
#undef DTYPE

static const mx_loop_function loops[MX_DTYPE_COUNT][MX_DTYPE_COUNT] = {
#define ENTRY(from, to)  [MX_DTYPE_##to] = from##_to_##to,
#define DTYPE(name, ...) [MX_DTYPE_##name] = {EACH_TO(ENTRY, name)},
#include "ir/dtypes.def"
#undef DTYPE
};

mx_loop_function mx_cast_loop(int from, int to)
{
    if (from < 0 || from >= MX_DTYPE_COUNT || to < 0 || to >= MX_DTYPE_COUNT)
        return NULL;
    return from == to ? mx_copy_loop(mx_itemsizes[from]) : loops[from][to];
}
