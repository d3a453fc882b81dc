#pragma once
/* limits.h -- numbers that several files share, and what is behind each.
 *
 * The times are those of 10^6 elements with one thread of an x86-64 with AVX2.
 */

#define MX_MAX_OPERANDS 12 /* inputs and outputs of one instruction */
#define MX_MAX_NDIM     8  /* axes of one instruction */

/* Elements of a chunk, the part of a group that a thread claims.  x.sum() of float64 takes 145
 * us with 4096, 134 with 16384 and 130 with 65536, which leave few chunks to share. */
#define MX_CHUNK_ELEMENTS 16384

/* Elements of the least block of several rows.  With fewer, NumPy's loop reduces the rows of a
 * matrix faster than a block for each. */
#define MX_LEAST_ROWS 256

/* Elements of an intermediate result on the stack.  Casts of float32 to float16 take 156 us
 * with 64, 134 with 256 and 131 with 1024. */
#define MX_BLOCK 256

/* Bytes of a line of operands that is kept in the first-level cache, of which most processors
 * have 32 KB.  Sums along axis 0 of 3000 x 3000 are fastest with it, of 12 to 128 KB. */
#define MX_CACHED_BYTES 32768

/* Elements up to which an operation whose result is needed at once is not recorded.  With 2^17,
 * recording costs 4 % of `a + b`, and with 2^14 it costs 31 %.  For more elements NumPy
 * releases the lock of the interpreter. */
#define MX_MOST_DIRECT (1 << 17)

/* Updates from which a wait for the GPU, or for the processor in its place, is worth it. */
#define MX_MANY_UPDATES (1 << 16)

#define MX_LANES       32 /* of a SIMD-group, on all kinds of GPU */
#define MX_MAX_BUFFERS 31 /* of a kernel, on all kinds of GPU: the least of their limits */
