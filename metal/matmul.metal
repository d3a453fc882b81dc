/* matmul.metal -- products of contiguous matrices, by tiles in threadgroup memory.
 *
 * These definitions precede it: mx_item, the type of the elements, and mx_sum, the type in
 * which products are summed.  That is float for half, and unsigned for integers, which wrap.
 */

#define MX_SIDE      32u /* of a tile; also in mxnp/_gpu/kernels.py */
#define MX_HALF_SIDE (MX_SIDE / 2)

/* Copies a tile of the matrix whose element (0, 0) is at `from`.  Beyond the edges the tile has
 * zeros, which do not change the sums. */
inline void mx_load_tile(threadgroup mx_sum *tile, device const mx_item *from, long row,
                         long column, long rows, long columns, uint thread_index)
{
    for (uint i = thread_index; i < MX_SIDE * MX_SIDE; i += MX_THREADS) {
        long r = row + i / MX_SIDE, c = column + i % MX_SIDE;
        tile[i] = r < rows && c < columns ? mx_sum(from[r * columns + c]) : mx_sum(0);
    }
}

/* c[...] = a[...] @ b[...].  args: m, k and n of (m, k) @ (k, n); the distances in elements
 * between the matrices of a and of b, 0 for a single matrix.  The grid of threadgroups counts
 * tiles of a row, tiles of a column, and matrices. */
kernel void mx_matmul(device const mx_item *a [[buffer(0)]],
                      device const mx_item *b [[buffer(1)]], device mx_item *c [[buffer(2)]],
                      constant long *args [[buffer(3)]],
                      uint3 group [[threadgroup_position_in_grid]],
                      uint thread_index [[thread_index_in_threadgroup]])
{
    threadgroup mx_sum a_tile[MX_SIDE * MX_SIDE], b_tile[MX_SIDE * MX_SIDE];
    const long m = args[0], depth = args[1], n = args[2];
    const long row = long(group.y) * MX_SIDE, column = long(group.x) * MX_SIDE;
    const uint x = thread_index % MX_HALF_SIDE, y = thread_index / MX_HALF_SIDE;
    mx_sum sums[2][2] = {{0, 0}, {0, 0}}; /* at (y, x), and half a tile away */
    a += long(group.z) * args[3];
    b += long(group.z) * args[4];
    c += long(group.z) * m * n;
    for (long k = 0; k < depth; k += MX_SIDE) {
        mx_load_tile(a_tile, a, row, k, m, depth, thread_index);
        mx_load_tile(b_tile, b, k, column, depth, n, thread_index);
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint j = 0; j < MX_SIDE; j++) {
            for (uint r = 0; r < 2; r++) {
                mx_sum left = a_tile[(y + r * MX_HALF_SIDE) * MX_SIDE + j];
                for (uint s = 0; s < 2; s++)
                    sums[r][s] += left * b_tile[j * MX_SIDE + x + s * MX_HALF_SIDE];
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    for (uint r = 0; r < 2; r++) {
        for (uint s = 0; s < 2; s++) {
            long to_row = row + y + r * MX_HALF_SIDE, to_column = column + x + s * MX_HALF_SIDE;
            if (to_row < m && to_column < n)
                c[to_row * n + to_column] = mx_item(sums[r][s]);
        }
    }
}
