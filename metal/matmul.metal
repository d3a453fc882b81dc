/* matmul.metal -- products of contiguous matrices, by tiles in threadgroup memory.
 *
 * These definitions precede it: mx_item, the type of the elements; mx_sum, the type in which
 * products are summed, which is float for half, and unsigned for integers, which wrap; MX_SIDE,
 * the side of a tile of the result, 32 or 64; MX_IS_FLOAT and MX_IS_COMPLEX, whether mx_sum is
 * float or complex; and MX_A_IS_TRANSPOSED and MX_B_IS_TRANSPOSED, whether memory has the
 * transposed matrix.
 */

/* SIMD-groups multiply matrices of 8 x 8 floats or halves together. */
#if MX_IS_FLOAT && defined(__METAL_VERSION__)
#define MX_HAS_MATRICES
#endif

#define MX_MATMUL_THREADS 128u              /* of a threadgroup; also in mxnp/_gpu/kernels.py */
#define MX_DEPTH          (1024u / MX_SIDE) /* of a tile, along the axis of the sums */

/* The rows of the tiles in threadgroup memory are longer than the tiles by some bytes, so that
 * the rows of a small matrix are in different banks. */
#define MX_PADDING uint(16 / sizeof(mx_tile_item))
#define MX_A_ROW   (MX_DEPTH + MX_PADDING)
#define MX_B_ROW   (MX_SIDE + MX_PADDING)

#ifdef MX_HAS_MATRICES
typedef mx_item mx_tile_item;
#else
typedef mx_sum mx_tile_item;
#endif

/* Copies a tile of `height` rows and `width` columns.  `from` points to its first element, in a
 * matrix with rows of `stride` elements, or if it is transposed, with columns of as many.
 * Outside the `rows` and `columns` that the matrix has from there on, the tile has zeros, which
 * do not change the sums. */
template <uint height, uint width, bool is_transposed>
MX_INLINE void mx_load_tile(threadgroup mx_tile_item *tile, device const mx_item *from,
                            uint stride, uint rows, uint columns, uint thread_index)
{
    if (is_transposed) {
        const uint row = thread_index % height, first = thread_index / height;
        for (uint column = first; column < width; column += MX_MATMUL_THREADS / height) {
            mx_tile_item item = mx_tile_item(0);
            if (row < rows && column < columns)
                item = mx_tile_item(from[column * stride + row]);
            tile[row * (width + MX_PADDING) + column] = item;
        }
        return;
    }
    const uint column = thread_index % width, first = thread_index / width;
    if (rows >= height && columns >= width) {
        for (uint row = first; row < height; row += MX_MATMUL_THREADS / width)
            tile[row * (width + MX_PADDING) + column] =
                mx_tile_item(from[row * stride + column]);
        return;
    }
    for (uint row = first; row < height; row += MX_MATMUL_THREADS / width) {
        mx_tile_item item = mx_tile_item(0);
        if (row < rows && column < columns)
            item = mx_tile_item(from[row * stride + column]);
        tile[row * (width + MX_PADDING) + column] = item;
    }
}

/* -- The sums of a threadgroup's tile --------------------------------------------------- */

#ifdef MX_HAS_MATRICES

#define MX_PART  (MX_SIDE / 2)  /* side of the part of a SIMD-group, of which there are four */
#define MX_PARTS (MX_SIDE / 16) /* small matrices along that side */

typedef simdgroup_matrix<mx_item, 8, 8> mx_small;
typedef simdgroup_matrix<float, 8, 8> mx_small_sum;

struct mx_sums {
    mx_small_sum of[MX_PARTS][MX_PARTS];
};

MX_INLINE void mx_clear_sums(thread mx_sums &sums)
{
    MX_UNROLL
    for (uint i = 0; i < MX_PARTS; i++) {
        MX_UNROLL
        for (uint j = 0; j < MX_PARTS; j++)
            sums.of[i][j] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
    }
}

MX_INLINE void mx_add_products(thread mx_sums &sums, threadgroup const mx_tile_item *a,
                               threadgroup const mx_tile_item *b, uint thread_index)
{
    const uint simdgroup = thread_index / 32;
    a += simdgroup / 2 * MX_PART * MX_A_ROW;
    b += simdgroup % 2 * MX_PART;
    MX_UNROLL
    for (uint k = 0; k < MX_DEPTH; k += 8) {
        mx_small left[MX_PARTS], right[MX_PARTS];
        MX_UNROLL
        for (uint i = 0; i < MX_PARTS; i++) {
            simdgroup_load(left[i], a + i * 8 * MX_A_ROW + k, MX_A_ROW);
            simdgroup_load(right[i], b + k * MX_B_ROW + i * 8, MX_B_ROW);
        }
        MX_UNROLL
        for (uint i = 0; i < MX_PARTS; i++) {
            MX_UNROLL
            for (uint j = 0; j < MX_PARTS; j++)
                simdgroup_multiply_accumulate(sums.of[i][j], left[i], right[j], sums.of[i][j]);
        }
    }
}

/* Eight rows of a SIMD-group's part at a time go through threadgroup memory, where every lane
 * can read them.  The tiles are no longer needed. */
MX_INLINE void mx_store_sums(thread mx_sums &sums, threadgroup mx_tile_item *tiles,
                             device mx_item *to, uint stride, uint rows, uint columns,
                             uint thread_index)
{
    const uint simdgroup = thread_index / 32, lane = thread_index % 32;
    const uint row = simdgroup / 2 * MX_PART, column = simdgroup % 2 * MX_PART + lane % MX_PART;
    threadgroup float *shared = (threadgroup float *)tiles + simdgroup * 8 * MX_PART;
    MX_UNROLL
    for (uint i = 0; i < MX_PARTS; i++) {
        MX_UNROLL
        for (uint j = 0; j < MX_PARTS; j++)
            simdgroup_store(sums.of[i][j], shared + j * 8, MX_PART);
        simdgroup_barrier(mem_flags::mem_threadgroup);
        for (uint r = lane / MX_PART; r < 8; r += 32 / MX_PART)
            if (row + i * 8 + r < rows && column < columns)
                to[(row + i * 8 + r) * stride + column] =
                    mx_item(shared[r * MX_PART + lane % MX_PART]);
        simdgroup_barrier(mem_flags::mem_threadgroup);
    }
}

#else

#define MX_DOWN   (MX_SIDE / 8)  /* sums of a thread down a column, 8 rows apart */
#define MX_ACROSS (MX_SIDE / 16) /* and along a row, 16 columns apart */

struct mx_sums {
    mx_sum of[MX_DOWN][MX_ACROSS];
};

MX_INLINE void mx_clear_sums(thread mx_sums &sums)
{
    MX_UNROLL
    for (uint r = 0; r < MX_DOWN; r++) {
        MX_UNROLL
        for (uint s = 0; s < MX_ACROSS; s++)
            sums.of[r][s] = mx_sum(0);
    }
}

MX_INLINE mx_sum mx_product(mx_sum a, mx_sum b)
{
#if MX_IS_COMPLEX
    return mx_sum(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
#else
    return a * b;
#endif
}

MX_INLINE void mx_add_products(thread mx_sums &sums, threadgroup const mx_tile_item *a,
                               threadgroup const mx_tile_item *b, uint thread_index)
{
    a += thread_index / 16 * MX_A_ROW;
    b += thread_index % 16;
    MX_UNROLL
    for (uint k = 0; k < MX_DEPTH; k++) {
        mx_sum right[MX_ACROSS];
        MX_UNROLL
        for (uint s = 0; s < MX_ACROSS; s++)
            right[s] = b[k * MX_B_ROW + s * 16];
        MX_UNROLL
        for (uint r = 0; r < MX_DOWN; r++) {
            const mx_sum left = a[r * 8 * MX_A_ROW + k];
            MX_UNROLL
            for (uint s = 0; s < MX_ACROSS; s++)
                sums.of[r][s] += mx_product(left, right[s]);
        }
    }
}

MX_INLINE void mx_store_sums(thread mx_sums &sums, threadgroup mx_tile_item *,
                             device mx_item *to, uint stride, uint rows, uint columns,
                             uint thread_index)
{
    MX_UNROLL
    for (uint r = 0; r < MX_DOWN; r++) {
        MX_UNROLL
        for (uint s = 0; s < MX_ACROSS; s++) {
            const uint row = thread_index / 16 + r * 8, column = thread_index % 16 + s * 16;
            if (row < rows && column < columns)
                to[row * stride + column] = mx_item(sums.of[r][s]);
        }
    }
}

#endif

/* -- The kernel ------------------------------------------------------------------------- */

/* c[...] = a[...] @ b[...].  args: struct mx_product of csrc/gpu/device.h, and the origin of
 * the grid.  The grid of threadgroups counts tiles of a row, tiles of a column, and matrices.
 * Offsets within a tile have 32 bits: the driver sees to it that MX_SIDE rows have fewer
 * elements. */
[[max_total_threads_per_threadgroup(128)]]
kernel void mx_matmul(device const mx_item *a [[buffer(0)]],
                      device const mx_item *b [[buffer(1)]], device mx_item *c [[buffer(2)]],
                      constant long *args [[buffer(3)]],
                      uint3 group [[threadgroup_position_in_grid]],
                      uint thread_index [[thread_index_in_threadgroup]])
{
    threadgroup mx_tile_item a_tile[MX_SIDE * MX_A_ROW + MX_DEPTH * MX_B_ROW];
    threadgroup mx_tile_item *b_tile = a_tile + MX_SIDE * MX_A_ROW;
    group += mx_origin(args[10], args[11], args[12]);
    const long matrix = group.z;
    const long row = long(group.y) * MX_SIDE, column = long(group.x) * MX_SIDE;
    const uint depth = uint(args[1]), n = uint(args[2]);
    const uint a_stride = uint(args[5]), b_stride = uint(args[6]);
    const uint rows = uint(mx_lesser(args[0] - row, long(MX_SIDE)));
    const uint columns = uint(mx_lesser(args[2] - column, long(MX_SIDE)));
    a += matrix * args[3] + row * (MX_A_IS_TRANSPOSED ? 1 : args[5]);
    b += matrix * args[4] + column * (MX_B_IS_TRANSPOSED ? args[6] : 1);
    mx_sums sums;
    mx_clear_sums(sums);
    for (uint k = 0; k < depth; k += MX_DEPTH) {
        mx_load_tile<MX_SIDE, MX_DEPTH, MX_A_IS_TRANSPOSED>(a_tile, a, a_stride, rows,
                                                            depth - k, thread_index);
        mx_load_tile<MX_DEPTH, MX_SIDE, MX_B_IS_TRANSPOSED>(b_tile, b, b_stride, depth - k,
                                                            columns, thread_index);
        threadgroup_barrier(mem_flags::mem_threadgroup);
        mx_add_products(sums, a_tile, b_tile, thread_index);
        threadgroup_barrier(mem_flags::mem_threadgroup);
        a += MX_A_IS_TRANSPOSED ? long(MX_DEPTH) * a_stride : long(MX_DEPTH);
        b += MX_B_IS_TRANSPOSED ? long(MX_DEPTH) : long(MX_DEPTH) * b_stride;
    }
    mx_store_sums(sums, a_tile, c + (matrix * args[0] + row) * args[2] + column, n, rows,
                  columns, thread_index);
}
