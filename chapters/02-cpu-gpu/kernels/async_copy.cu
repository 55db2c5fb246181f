// The best of CUDA's ordinary units: copies that need no registers and no waiting, and many sums a thread.
//
// Shows     how tiles travel by themselves (`cp.async`, compute capability 8.0): a thread asks for 16 bytes to be
//           copied from global to shared memory and goes on. A ring of STAGES slots holds the tiles that are being
//           multiplied and those on their way. Blocks that run at the same time work on neighbouring tiles
//           of C, and find what they need in the L2 cache.
//           Why a thread has so many sums: a scheduler issues one instruction in a cycle, for 32 lanes, and each that
//           is no FMA is 32 FMAs lost. For a step along k a thread reads TM + TN numbers from shared memory, four
//           with an instruction, for TM·TN FMAs. More sums, fewer loads, until the registers run out (255 for a
//           thread). Loads are not all: on an H100 8×8 sums with 12 warps were faster than 8×16 with 8.
//           `tests/it/machine_code.rs` counts both in the compiled kernel; `tests/it/host_model.rs` runs it
//           on the CPU and counts the bank conflicts of its loads.
// Launch    THREADS threads in a row, one block for each BM×BN tile of C, in one dimension; SHARED_BYTES of dynamic
//           shared memory. VECTOR is 1 where n and k are multiples of 4.
// Reads     a (m×k) and b (k×n), row-major: for a block, BM·k numbers of A and BN·k of B.
// Writes    every element of c (m×n), row-major. Any m, n and k.
// Before    `warp_tiles.cl`, where a number travels from global memory through a register into shared memory.
// Sources   PTX ISA, "Data Movement and Conversion Instructions: cp.async"; CUDA C++ Programming Guide, "Asynchronous
//           Data Copies" and "Shared Memory". Which lanes share a half of a warp: as in `warp_tiles.cl`.

#ifndef BM
#define BM 128 // rows of C that a block computes
#define BN 256 // columns of C that a block computes
#define TM 8   // rows of C that a thread computes
#define TN 16  // columns of C that a thread computes
#define STAGES 4
#define BLOCKS_PER_SM 1
#endif
#ifndef VECTOR
#define VECTOR 1 // 1: copy four numbers at a time, 0: one at a time
#endif
#define BK 16    // how far along k a tile reaches
#define GROUP 8  // rows of tiles that run side by side, see `tile_of_block`

#define WARP_M (4 * TM) // a warp is 4 threads high and 8 wide
#define WARP_N (8 * TN)
#define WARPS_N (BN / WARP_N)
#define THREADS (32 * (BM / WARP_M) * WARPS_N)

#define A_STRIDE (BK + 4) // four more than needed: rows start in different banks
#define A_FLOATS (BM * A_STRIDE)
#define STAGE_FLOATS (A_FLOATS + BK * BN)
#define SHARED_BYTES (4 * STAGES * STAGE_FLOATS)
#define A_COPIES (BM * BK / 4 / THREADS)
#define B_COPIES (BK * BN / 4 / THREADS)
#define A_STEP (THREADS / 4)        // from one of a thread's copies to the next, in rows of A
#define B_STEP (THREADS / (BN / 4)) // and of B

static_assert(BM % WARP_M == 0 && BN % WARP_N == 0, "a block is whole warps");
static_assert(A_STEP % 8 == 0 && B_STEP * BN == 4 * THREADS, "a thread's copies are whole rows apart");
static_assert(A_COPIES * 4 * THREADS == BM * BK && B_COPIES * 4 * THREADS == BK * BN,
              "every thread makes the same number of copies");

#ifndef HOST_MODEL
// PTX ISA, "Data Movement and Conversion Instructions: cp.async". Of the 16 (or 4) bytes, `bytes` are read and
// the others become zero; with 0 nothing is read at all.
// ANCHOR: cp_async
__device__ __forceinline__ void copy_16(float *to, const float *from,
                                        unsigned bytes) {
    const unsigned at = (unsigned)__cvta_generic_to_shared(to);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 ::"r"(at), "l"(from), "r"(bytes) : "memory");
}
// ANCHOR_END: cp_async
__device__ __forceinline__ void copy_4(float *to, const float *from, unsigned bytes) {
    const unsigned at = (unsigned)__cvta_generic_to_shared(to);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(at), "l"(from), "r"(bytes) : "memory");
}
// PTX ISA, "cp.async.commit_group": closes the group of copies issued since the last one.
__device__ __forceinline__ void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// PTX ISA, "cp.async.wait_group": until at most N of this thread's groups are still on their way.
template <int N> __device__ __forceinline__ void wait_for_copies() {
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}
__device__ __forceinline__ float *dynamic_shared() {
    extern __shared__ float4 pool[];
    return (float *)pool;
}
#endif

// The first row and column of this block's tile. Blocks start in the order of their numbers, so the ones that
// run together have neighbouring numbers: they go down GROUP rows of tiles, then one column further.
__device__ __forceinline__ void tile_of_block(unsigned m, unsigned n,
                                              unsigned *row, unsigned *column) {
    const unsigned tiles_m = (m + BM - 1) / BM, tiles_n = (n + BN - 1) / BN;
    const unsigned first = blockIdx.x / (GROUP * tiles_n) * GROUP;
    const unsigned height = min(GROUP, tiles_m - first);
    const unsigned within = blockIdx.x % (GROUP * tiles_n);
    *row = (first + within % height) * BM;
    *column = within / height * BN;
}

// Which of A's rows this thread copies first; the others are A_STEP rows apart. Eight threads write 128 bytes to
// shared memory at a time: with rows r and r + 4 they hit 32 different banks, with r and r + 1 they would not.
__device__ __forceinline__ unsigned a_copy_row() {
    const unsigned r = threadIdx.x / 4;
    return (r & ~7u) | (r & 1) << 2 | (r >> 1 & 3);
}

// A lane's position in its warp, 4 high and 8 wide. Sixteen neighbouring lanes are 2 high and 8 wide, so that
// each half of a warp asks for no more than 128 different bytes of B, and for two chunks of A.
__device__ __forceinline__ unsigned lane_row(unsigned lane) { return (lane >> 4) * 2 + (lane & 1); }
__device__ __forceinline__ unsigned lane_column(unsigned lane) { return lane >> 1 & 7; }

// One chunk of four numbers to shared memory. `count` of them are inside the matrix; the others become zero.
__device__ __forceinline__ void copy_chunk(float *to, const float *from, const float *safe, int count) {
    if (VECTOR) { // a chunk is all inside or all outside
        copy_16(to, count > 0 ? from : safe, count > 0 ? 16 : 0);
    } else {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            copy_4(to + i, i < count ? from + i : safe, i < count ? 4 : 0);
        }
    }
}

// Where the next tile comes from.
struct Source {
    const float *a, *b;   // this thread's first chunk of the next tile
    unsigned row, column; // of the block's tile in C
};

// Starts this thread's copies of the tile at `k0`. Most tiles have no edge: they are `inside` and need no checks.
template <bool inside>
__device__ __forceinline__ void fetch(float *slot, const Source &source, unsigned k0, const float *safe,
                                      unsigned m, unsigned n, unsigned k) {
    const unsigned a_row = a_copy_row(), a_within = threadIdx.x % 4 * 4;
    float *const a_to = slot + a_row * A_STRIDE + a_within;
    const float *from = source.a;
#pragma unroll
    for (unsigned i = 0; i < A_COPIES; i++, from += (unsigned long long)A_STEP * k) {
        float *const to = a_to + i * A_STEP * A_STRIDE;
        if (inside) {
            copy_16(to, from, 16);
        } else {
            const bool in = source.row + a_row + i * A_STEP < m;
            copy_chunk(to, from, safe, in ? (int)k - (int)(k0 + a_within) : 0);
        }
    }
    const unsigned b_row = threadIdx.x / (BN / 4), b_within = threadIdx.x % (BN / 4) * 4;
    float *const b_to = slot + A_FLOATS + b_row * BN + b_within;
    from = source.b;
#pragma unroll
    for (unsigned i = 0; i < B_COPIES; i++, from += (unsigned long long)B_STEP * n) {
        float *const to = b_to + i * B_STEP * BN;
        if (inside) {
            copy_16(to, from, 16);
        } else {
            const bool in = k0 + b_row + i * B_STEP < k;
            copy_chunk(to, from, safe, in ? (int)n - (int)(source.column + b_within) : 0);
        }
    }
}

// Fetches tile number `next`, if there is one, as a group of its own, and goes on to the one behind it.
template <bool inside>
__device__ __forceinline__ void fetch_next(float *shared, unsigned slot, Source &source, unsigned next,
                                           const float *safe, unsigned m, unsigned n, unsigned k) {
    if (next * BK < k) fetch<inside>(shared + slot * STAGE_FLOATS, source, next * BK, safe, m, n, k);
    source.a += BK;
    source.b += (unsigned long long)BK * n;
    commit_copies();
}

// Adds the product of one pair of tiles to the thread's sums. A thread's rows are 4 apart and its columns come
// in fours that are 32 apart, so that neighbouring lanes read neighbouring banks.
__device__ __forceinline__ void multiply(float *a, float *b,
                                         float (&sums)[TM][TN]) {
#pragma unroll
    for (int k4 = 0; k4 < BK; k4 += 4) {
        alignas(16) float left[TM][4], right[TN]; // written as float4
#pragma unroll
        for (int i = 0; i < TM; i++)
            *(float4 *)left[i] = *(float4 *)(a + 4 * i * A_STRIDE + k4);
#pragma unroll
        for (int k = 0; k < 4; k++) {
#pragma unroll
            for (int j = 0; j < TN; j += 4)
                *(float4 *)(right + j) = *(float4 *)(b + (k4 + k) * BN + 8 * j);
#pragma unroll
            for (int i = 0; i < TM; i++)
#pragma unroll
                for (int j = 0; j < TN; j++)
                    sums[i][j] += left[i][k] * right[j];
        }
    }
}

// All tiles along k, one after the other, while the next ones travel.
template <bool inside>
__device__ __forceinline__ void all_tiles(float *shared, Source &source, unsigned row, unsigned column,
                                          float (&sums)[TM][TN], const float *safe, unsigned m, unsigned n, unsigned k) {
    const unsigned tiles = (k + BK - 1) / BK;
    // ANCHOR: pipeline
    // The first tiles are sent for. One slot of the ring stays free.
    unsigned next = 0, slot = 0;
    for (; next < STAGES - 1; next++)
        fetch_next<inside>(shared, next, source, next, safe, m, n, k);
    for (; next < tiles + STAGES - 1; next++) {
        // This thread's part of the tile is here; then, all threads'.
        wait_for_copies<STAGES - 2>();
        __syncthreads();
        // The slot before is no longer read: all have passed the barrier.
        const unsigned unused = slot == 0 ? STAGES - 1 : slot - 1;
        fetch_next<inside>(shared, unused, source, next, safe, m, n, k);
        float *here = shared + slot * STAGE_FLOATS;
        multiply(here + row * A_STRIDE, here + A_FLOATS + column, sums);
        slot = slot + 1 == STAGES ? 0 : slot + 1;
    }
    // ANCHOR_END: pipeline
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM)
    async_copy(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, unsigned m,
               unsigned n, unsigned k) {
    float *const shared = dynamic_shared();
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const unsigned row = warp / WARPS_N * WARP_M + lane_row(lane);
    const unsigned column = warp % WARPS_N * WARP_N + 4 * lane_column(lane);

    Source source;
    tile_of_block(m, n, &source.row, &source.column);
    source.a = a + (unsigned long long)(source.row + a_copy_row()) * k + threadIdx.x % 4 * 4;
    source.b = b + (unsigned long long)(threadIdx.x / (BN / 4)) * n + source.column + threadIdx.x % (BN / 4) * 4;

    float sums[TM][TN] = {};
    if (VECTOR && source.row + BM <= m && source.column + BN <= n && k % BK == 0)
        all_tiles<true>(shared, source, row, column, sums, a, m, n, k);
    else
        all_tiles<false>(shared, source, row, column, sums, a, m, n, k);

#pragma unroll
    for (int i = 0; i < TM; i++) {
        const unsigned r = source.row + row + 4 * i;
        if (r >= m) continue;
#pragma unroll
        for (int j = 0; j < TN; j += 4) {
            const unsigned at = source.column + column + 8 * j;
            float *to = c + (unsigned long long)r * n + at;
            if (VECTOR) {
                if (at < n) *(float4 *)to = *(const float4 *)(sums[i] + j);
            } else {
#pragma unroll
                for (unsigned l = 0; l < 4; l++) {
                    if (at + l < n) to[l] = sums[i][j + l];
                }
            }
        }
    }
}
