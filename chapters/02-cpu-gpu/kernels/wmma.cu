// Tensor cores, by CUDA's own C++ interface to them: inputs in bf16, sums in f32.
//
// Shows     what a tensor core does: 32 lanes together hand over 16×16 tiles of A and B and get a tile of sums back.
//           What was a loop is one call, `mma_sync`, and the kernel's own work is to bring the tiles in time: two
//           slots of shared memory take turns, `cp.async` fills one while the tensor cores empty the other.
//           A "fragment" is a tile that is spread over the registers of a warp's lanes. Which lane holds which element
//           is not said, so a fragment is loaded, multiplied and stored as a whole.
//           Blocks that run at the same time work on neighbouring tiles of C, as in `async_copy.cu`: these tiles are
//           too small for the memory, and what they share has to come from the L2 cache.
// Launch    256 threads in a row, one block for each 128×128 tile of C, in one dimension.
// Reads     a, m rows of `lda` bf16 numbers, k of which count; b, k rows of `ldb`, n of which count. lda and ldb are
//           multiples of 8, and the numbers between are zero: so each copy is 16 bytes, and aligned.
// Writes    every element of c (m×n), row-major, f32. Any m, n and k. Compute capability 8.0 and later.
// Before    `async_copy.cu`, where a thread multiplies two numbers with an instruction.
// Sources   CUDA C++ Programming Guide, "Warp matrix functions"; PTX ISA, "wmma.load" and "cp.async".

#include <mma.h>

#define BM 128
#define BN 128
#define BK 32
#define GROUP 8 // rows of tiles that run side by side, see `tile_of_block`
#define THREADS 256
#define WARP_M 64 // a warp computes 64×32 of C: 4×2 fragments
#define WARP_N 32
#define A_STRIDE (BK + 8) // eight more than needed: rows start in different banks
#define B_STRIDE (BN + 8)
#define SCRATCH_STRIDE 20

using nvcuda::wmma::fragment, nvcuda::wmma::row_major;
using nvcuda::wmma::matrix_a, nvcuda::wmma::matrix_b;
using FragmentA = fragment<matrix_a, 16, 16, 16, __nv_bfloat16, row_major>;
using FragmentB = fragment<matrix_b, 16, 16, 16, __nv_bfloat16, row_major>;
using Sums = fragment<nvcuda::wmma::accumulator, 16, 16, 16, float>;

#ifndef HOST_MODEL
// PTX ISA, "cp.async": copies 16 bytes by itself; of these, `bytes` are read and the others become zero.
__device__ __forceinline__ void copy_16(void *to, const void *from, unsigned bytes) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"((unsigned)__cvta_generic_to_shared(to)),
                 "l"(from), "r"(bytes)
                 : "memory");
}
// PTX ISA, "cp.async.commit_group": closes the group of copies issued since the last one.
__device__ __forceinline__ void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// PTX ISA, "cp.async.wait_group": until at most N of this thread's groups are still on their way.
template <int N> __device__ __forceinline__ void wait_for_copies() {
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}
// PTX ISA, "wmma.load". The header's `load_matrix_sync` does the same, but for bf16 it leaves open in which memory
// the tile is, and then the compiler loads 4 bytes at a time; told that it is shared memory, it takes `ldmatrix`,
// which loads 512 (tests/it/machine_code.rs looks).
__device__ __forceinline__ void load_tile(FragmentA &tile, const __nv_bfloat16 *from, unsigned stride) {
    unsigned *const to = (unsigned *)tile.x;
    asm volatile("wmma.load.a.sync.aligned.row.m16n16k16.shared.bf16 {%0, %1, %2, %3}, [%4], %5;"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"((unsigned)__cvta_generic_to_shared(from)), "r"(stride)
                 : "memory");
}
__device__ __forceinline__ void load_tile(FragmentB &tile, const __nv_bfloat16 *from, unsigned stride) {
    unsigned *const to = (unsigned *)tile.x;
    asm volatile("wmma.load.b.sync.aligned.row.m16n16k16.shared.bf16 {%0, %1, %2, %3}, [%4], %5;"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"((unsigned)__cvta_generic_to_shared(from)), "r"(stride)
                 : "memory");
}
#endif

// The first row and column of this block's tile, as in `async_copy.cu`: down GROUP rows of tiles, then one column further.
__device__ __forceinline__ void tile_of_block(unsigned m, unsigned n, unsigned *row, unsigned *column) {
    const unsigned tiles_m = (m + BM - 1) / BM, tiles_n = (n + BN - 1) / BN;
    const unsigned first = blockIdx.x / (GROUP * tiles_n) * GROUP;
    const unsigned height = min(GROUP, tiles_m - first);
    const unsigned within = blockIdx.x % (GROUP * tiles_n);
    *row = (first + within % height) * BM;
    *column = within / height * BN;
}

// Starts the copies of a `rows`×`columns` tile whose first element is at (row, column) of the matrix.
__device__ __forceinline__ void fetch(__nv_bfloat16 *to, unsigned to_stride, unsigned rows, unsigned columns,
                                      const __nv_bfloat16 *matrix, unsigned row, unsigned column,
                                      unsigned matrix_rows, unsigned stride) {
    const unsigned chunks = columns / 8;
    for (unsigned i = threadIdx.x; i < rows * chunks; i += THREADS) {
        const unsigned r = i / chunks, c = i % chunks * 8;
        const bool inside = row + r < matrix_rows && column + c < stride;
        const unsigned long long at = (unsigned long long)(row + r) * stride + column + c;
        copy_16(to + r * to_stride + c, matrix + (inside ? at : 0), inside ? 16 : 0);
    }
}

// Adds the product of a pair of tiles to a warp's 4×2 fragments of sums.
// ANCHOR: multiply
__device__ __forceinline__ void multiply(const __nv_bfloat16 *a,
                                         const __nv_bfloat16 *b,
                                         Sums (&sums)[4][2]) {
#pragma unroll
    for (int k = 0; k < BK; k += 16) {
        FragmentA left[4];
        FragmentB right[2];
#pragma unroll
        for (int i = 0; i < 4; i++)
            load_tile(left[i], a + 16 * i * A_STRIDE + k, A_STRIDE);
#pragma unroll
        for (int j = 0; j < 2; j++)
            load_tile(right[j], b + k * B_STRIDE + 16 * j, B_STRIDE);
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int j = 0; j < 2; j++)
                mma_sync(sums[i][j], left[i], right[j], sums[i][j]);
    }
}
// ANCHOR_END: multiply

extern "C" __global__ void __launch_bounds__(THREADS, 2)
    wmma(const __nv_bfloat16 *__restrict__ a, const __nv_bfloat16 *__restrict__ b, float *__restrict__ c,
              unsigned m, unsigned n, unsigned k, unsigned lda, unsigned ldb) {
    alignas(32) __shared__ __nv_bfloat16 tile_a[2][BM * A_STRIDE];
    alignas(32) __shared__ __nv_bfloat16 tile_b[2][BK * B_STRIDE];
    alignas(32) __shared__ float scratch[THREADS / 32][16 * SCRATCH_STRIDE];

    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const unsigned row = warp / 4 * WARP_M, column = warp % 4 * WARP_N;
    unsigned block_row, block_column;
    tile_of_block(m, n, &block_row, &block_column);

    Sums sums[4][2];
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 2; j++) nvcuda::wmma::fill_fragment(sums[i][j], 0.0f);

    const unsigned tiles = (k + BK - 1) / BK;
    for (unsigned tile = 0; tile <= tiles; tile++) {
        if (tile < tiles) { // one slot is filled ...
            const unsigned to = tile % 2, k0 = tile * BK;
            fetch(tile_a[to], A_STRIDE, BM, BK, a, block_row, k0, m, lda);
            fetch(tile_b[to], B_STRIDE, BK, BN, b, k0, block_column, k, ldb);
        }
        commit_copies();
        if (tile == 0) continue;
        // ... while the other, sent for a round ago, is multiplied.
        wait_for_copies<1>();
        __syncthreads();
        const unsigned slot = (tile - 1) % 2;
        multiply(tile_a[slot] + row * A_STRIDE, tile_b[slot] + column, sums);
        __syncthreads();
    }

    // A fragment can only be stored as a whole: to shared memory, and from there what lies inside C.
    float *const out = scratch[warp];
#pragma unroll
    for (int i = 0; i < 4; i++) {
#pragma unroll
        for (int j = 0; j < 2; j++) {
            nvcuda::wmma::store_matrix_sync(out, sums[i][j], SCRATCH_STRIDE, nvcuda::wmma::mem_row_major);
            __syncwarp();
            for (unsigned e = lane; e < 256; e += 32) {
                const unsigned r = block_row + row + 16 * i + e / 16;
                const unsigned at = block_column + column + 16 * j + e % 16;
                if (r < m && at < n) c[(unsigned long long)r * n + at] = out[e / 16 * SCRATCH_STRIDE + e % 16];
            }
            __syncwarp();
        }
    }
}
