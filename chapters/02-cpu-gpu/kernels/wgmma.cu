// Hopper's tensor cores and its copy engine, spoken to directly: inputs in bf16, sums in f32.
//
// Shows     the two units that make this GPU fast (compute capability 9.0):
//           - the copy engine (Tensor Memory Accelerator, TMA) brings whole tiles. One thread says which, by
//             coordinates; a descriptor made on the CPU says where the matrix is. What lies outside comes as zeros;
//           - `wgmma` multiplies from shared memory: four warps (a warpgroup) start a 64×256×16 product and go on.
//           One thread does nothing but send for tiles (the producer), two warpgroups do nothing but multiply (the
//           consumers). They meet at barriers in shared memory: `full` says that a slot's tiles are here, `empty`
//           that they have been used. Two blocks form a cluster, one above the other in C: they need the same tile of
//           B, so each fetches half of it, and the engine writes it into both blocks' memory: a third less to read
//           from the L2 cache.
// Launch    384 threads in a row, clusters of 2 blocks; as many clusters as run at once, and each takes one pair of
//           tiles of C after the other. SHARED_BYTES of dynamic shared memory.
// Reads     a (m×k) and b (k×n) through descriptors: boxes of 128 rows × 64 columns for a, 64×64 for b; bf16,
//           row-major, swizzle of 128 bytes, zeros outside; a row begins at a multiple of 16 bytes.
// Writes    every element of c (m×n), row-major, f32. Any m and n, and k of at least 1 (a product without terms has one
//           of zeros). And `ran`: 1 if this kernel can run here.
// Before    `wmma.cu`, where every thread computes addresses, copies, loads fragments and only then multiplies.
// Sources   PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions", "mbarrier", "cp.async.bulk.tensor"; CUDA
//           Driver API, cuTensorMapEncodeTiled; NVIDIA, "Hopper Tuning Guide".
//
// It must be compiled for sm_90a: these instructions are Hopper's alone. Blackwell (10.0) has others instead
// (tcgen05, with the sums in a memory of their own). Compiled for any other GPU, this kernel only reports it, in `ran`.

#define BM 128    // rows of C that a block computes: 64 for each consumer
#define BN 256    // columns of C that a block computes
#define BK 64     // how far along k a tile reaches: 64 bf16 numbers are 128 bytes
#define STAGES 4  // slots in the ring
#define CLUSTER 2 // blocks in a cluster
#define GROUP 8   // rows of pairs of tiles that run side by side, see `tile_of_cluster`

#define A_BYTES (BM * BK * 2)
#define BOX_BYTES (BK * 64 * 2) // a box of B is 64 columns wide
#define B_BOXES (BN / 64)
#define STAGE_BYTES (A_BYTES + B_BOXES * BOX_BYTES)
#define BARRIERS (STAGES * STAGE_BYTES) // behind the slots: full[STAGES], empty[STAGES]
// The slots must begin at a multiple of 1024 bytes, which may leave a gap in front of them.
#define SHARED_BYTES (1024 + BARRIERS + 16 * STAGES)
#define THREADS 384
#define CONSUMER_WARPS 8

#if defined(__CUDA_ARCH_FEAT_SM90_ALL) || defined(HOST_MODEL)
#define HOPPER 1
#else
#define HOPPER 0
#endif

typedef unsigned long long u64;

#ifndef HOST_MODEL
// What the CPU's `cuTensorMapEncodeTiled` makes: 128 bytes that only the copy engine reads.
struct alignas(64) TensorMap {
    u64 opaque[16];
};
#endif

#if HOPPER && !defined(HOST_MODEL)
__device__ __forceinline__ unsigned dynamic_shared() {
    extern __shared__ uint4 pool[];
    return (unsigned)__cvta_generic_to_shared(pool);
}
// PTX ISA, "mbarrier.init": a phase ends when `count` threads have arrived and all bytes expected are here.
__device__ __forceinline__ void barrier_init(unsigned barrier, unsigned count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}
// PTX ISA, "fence.mbarrier_init": the other blocks of the cluster, and the copy engine, see initialised barriers.
__device__ __forceinline__ void barriers_are_ready() {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
// PTX ISA, "mbarrier.arrive" with ".expect_tx": arrives, and announces bytes that the copy engine will write.
__device__ __forceinline__ void barrier_expect(unsigned barrier, unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
// PTX ISA, "mbarrier.arrive" and "mapa": arrives at the same barrier of block `block` of the cluster. The data behind
// these barriers is written by the copy engine and read by the tensor cores alone, so that the default order within
// a block is enough; `.release.cluster` would flush caches in every round.
__device__ __forceinline__ void barrier_arrive(unsigned barrier, unsigned block) {
    asm volatile("{\n\t.reg .b32 there;\n\t"
                 "mapa.shared::cluster.u32 there, %0, %1;\n\t"
                 "mbarrier.arrive.shared::cluster.b64 _, [there];\n\t}" ::"r"(barrier),
                 "r"(block)
                 : "memory");
}
// PTX ISA, "mbarrier.try_wait": until the phase of this parity (0 for the first) is over.
__device__ __forceinline__ void barrier_wait(unsigned barrier, unsigned parity) {
    asm volatile("{\n\t.reg .pred over;\n\t"
                 "again:\n\t"
                 "mbarrier.try_wait.parity.shared::cta.b64 over, [%0], %1;\n\t"
                 "@!over bra again;\n\t}" ::"r"(barrier),
                 "r"(parity)
                 : "memory");
}
// PTX ISA, "cp.async.bulk.tensor": the box at (x, y), x along a row, into this block's shared memory.
__device__ __forceinline__ void copy_box(unsigned to, const TensorMap *map, unsigned x, unsigned y,
                                         unsigned barrier) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3}], [%4];" ::"r"(to),
                 "l"(map), "r"(x), "r"(y), "r"(barrier)
                 : "memory");
}
// The same, written to the same offset in each block that has its bit in `blocks`, where it counts at that
// block's own barrier.
__device__ __forceinline__ void copy_box_to(unsigned short blocks, unsigned to, const TensorMap *map, unsigned x,
                                            unsigned y, unsigned barrier) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
                 "[%0], [%1, {%2, %3}], [%4], %5;" ::"r"(to),
                 "l"(map), "r"(x), "r"(y), "r"(barrier), "h"(blocks)
                 : "memory");
}
// PTX ISA, "barrier.cluster": all threads of both blocks.
__device__ __forceinline__ void cluster_sync() {
    asm volatile("barrier.cluster.arrive.release;\n\tbarrier.cluster.wait.acquire;" ::: "memory");
}
// PTX ISA, special register "%cluster_ctarank".
__device__ __forceinline__ unsigned block_in_cluster() {
    unsigned rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}
// PTX ISA, "setmaxnreg": a warpgroup gives registers back, or takes them.
template <int N> __device__ __forceinline__ void give_registers_keep() {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(N));
}
template <int N> __device__ __forceinline__ void take_registers_up_to() {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(N));
}
// PTX ISA, "wgmma.fence": registers written before are ready for the next `wgmma`.
__device__ __forceinline__ void products_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
// PTX ISA, "wgmma.commit_group": closes the group of products started since the last one.
__device__ __forceinline__ void commit_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
// PTX ISA, "wgmma.wait_group": until at most N groups are still being computed.
template <int N> __device__ __forceinline__ void wait_for_products() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}
// PTX ISA, "wgmma.mma_async": sums = A·B (ADD false) or sums += A·B, for A of 64×16 and B of 16×256 in shared memory. Behind
// the two descriptors: whether to add to the sums (p), both inputs with their sign (1, 1), A by rows (0), B by rows too
// (1: "transposed").
#define R8(c, i) c(d[i]), c(d[i + 1]), c(d[i + 2]), c(d[i + 3]), c(d[i + 4]), c(d[i + 5]), c(d[i + 6]), c(d[i + 7])
#define R32(c, i) R8(c, i), R8(c, i + 8), R8(c, i + 16), R8(c, i + 24)
#define WGMMA(add, c)                                                                                             \
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, " add ", 0;\n\t"                                           \
                 "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {"                                        \
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "                         \
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "               \
                 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "               \
                 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "               \
                 "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "               \
                 "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "               \
                 "%96, %97, %98, %99, %100, %101, %102, %103, "                                                   \
                 "%104, %105, %106, %107, %108, %109, %110, %111, "                                               \
                 "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127" \
                 "}, %128, %129, p, 1, 1, 0, 1;\n\t}"                                                             \
                 : R32(c, 0), R32(c, 32), R32(c, 64), R32(c, 96)                                                  \
                 : "l"(a), "l"(b))
template <bool ADD> __device__ __forceinline__ void multiply_64x256x16(float (&d)[128], u64 a, u64 b) {
    if (ADD) WGMMA("1", "+f");
    else WGMMA("0", "=f");
}
#endif

#if HOPPER
// A tile in shared memory as `wgmma` wants it described. PTX ISA, "Matrix Descriptor Format": address and the two
// strides in units of 16 bytes, and the swizzle (1: 128 bytes). "Strides" says what they mean:
//   A, by rows (K-major): 128 bytes of k a row, 8 rows (1024 bytes) a pattern; `stride` leads to the next 8 rows;
//   B, by rows (N-major): 64 columns a row of 128 bytes, 8 rows a pattern; `stride` leads to the next 8 rows of k,
//   `leading` to the next 64 columns.
__device__ __forceinline__ u64 descriptor(unsigned address, unsigned leading,
                                          unsigned stride) {
    const u64 swizzle_128_bytes = 1;
    return (u64)((address & 0x3FFFF) >> 4) | (u64)(leading >> 4) << 16 |
           (u64)(stride >> 4) << 32 | swizzle_128_bytes << 62;
}

// The 16 columns of A, and the 16 rows of B, that product `i` of a pair of tiles takes.
__device__ __forceinline__ u64 part_of_a(unsigned a, unsigned i) { return descriptor(a + i * 32, 16, 1024); }
__device__ __forceinline__ u64 part_of_b(unsigned b, unsigned i) { return descriptor(b + i * 2048, BOX_BYTES, 1024); }

// A slot of the ring, and which time round it is. Producer and consumers go through it alike.
struct Ring {
    unsigned slot, round;
    __device__ __forceinline__ void step() {
        if (++slot == STAGES) {
            slot = 0;
            round ^= 1;
        }
    }
};

// Row and column of this block's tile in pair `pair`. Pairs that run at the same time are neighbours: down GROUP rows
// of pairs, then one column further.
__device__ __forceinline__ void tile_of_cluster(unsigned pair, unsigned m, unsigned n, unsigned rank, unsigned *row,
                                                unsigned *column) {
    const unsigned high = (m + CLUSTER * BM - 1) / (CLUSTER * BM), wide = (n + BN - 1) / BN;
    const unsigned first = pair / (GROUP * wide) * GROUP;
    const unsigned height = min(GROUP, high - first);
    const unsigned within = pair % (GROUP * wide);
    *row = ((first + within % height) * CLUSTER + rank) * BM;
    *column = within / height * BN;
}

// One thread: sends for the tiles of one pair of C's tiles.
// ANCHOR: producer
__device__ __forceinline__ void produce(const TensorMap *a, const TensorMap *b,
                                        unsigned slots, unsigned row,
                                        unsigned column, unsigned k,
                                        unsigned rank, Ring &ring) {
    const unsigned boxes = B_BOXES / CLUSTER, first = rank * boxes; // mine
    for (unsigned k0 = 0; k0 < k; k0 += BK, ring.step()) {
        const unsigned full = slots + BARRIERS + 8 * ring.slot;
        const unsigned empty = full + 8 * STAGES;
        const unsigned tile_a = slots + ring.slot * STAGE_BYTES;
        const unsigned tile_b = tile_a + A_BYTES;
        barrier_wait(empty, ring.round ^ 1); // first round: no block must leave
        barrier_expect(full, STAGE_BYTES);
        copy_box(tile_a, a, k0, row, full);
#pragma unroll
        for (unsigned box = first; box < first + boxes; box++)
            copy_box_to(0b11, tile_b + box * BOX_BYTES, b,
                        column + 64 * box, k0, full);
    }
}
// ANCHOR_END: producer

// A warp has used slot `slot`: its first lanes tell both blocks' producers, since both write into it.
__device__ __forceinline__ void leave(unsigned slots, unsigned slot) {
    const unsigned lane = threadIdx.x % 32;
    if (lane < CLUSTER) barrier_arrive(slots + BARRIERS + 8 * (STAGES + slot), lane);
}

// A warpgroup: starts the products of one pair of tiles for its 64 rows of C, all 256 columns, in 128 registers of
// each thread. With BEGIN they are the first ones: what is in the registers does not count.
// ANCHOR: multiply_tiles
template <bool BEGIN>
__device__ __forceinline__ void multiply_tiles(float (&sums)[128],
                                               unsigned slots,
                                               unsigned first_row,
                                               const Ring &ring) {
    const unsigned tiles = slots + ring.slot * STAGE_BYTES;
    const unsigned a = tiles + first_row * 128, b = tiles + A_BYTES;
    barrier_wait(slots + BARRIERS + 8 * ring.slot, ring.round);
    products_fence();
    if (BEGIN)
        multiply_64x256x16<false>(sums, part_of_a(a, 0), part_of_b(b, 0));
#pragma unroll
    for (unsigned i = BEGIN; i < BK / 16; i++)
        multiply_64x256x16<true>(sums, part_of_a(a, i), part_of_b(b, i));
    commit_products();
}
// ANCHOR_END: multiply_tiles

// A tile of C. The first pair of tiles is outside of the loop: no register has to be set to zero, and `sums` goes
// into the loop as what is being computed.
// ANCHOR: consumer
__device__ __forceinline__ void consume(float (&sums)[128], unsigned slots,
                                        unsigned first_row, unsigned k,
                                        Ring &ring) {
    multiply_tiles<true>(sums, slots, first_row, ring);
    unsigned used = ring.slot; // the slot of the round before
    ring.step();
    for (unsigned k0 = BK; k0 < k; k0 += BK, ring.step()) {
        multiply_tiles<false>(sums, slots, first_row, ring);
        wait_for_products<1>(); // the round before is over, this one goes on
        leave(slots, used);
        used = ring.slot;
    }
    wait_for_products<0>();
    leave(slots, used);
}
// ANCHOR_END: consumer

// PTX ISA, "Register Fragments for wgmma.mma_async.m64nNk16", accumulator D: which element each register holds. Every
// loop is unrolled: a register has no address, and sums that are chosen while the program runs would live in memory.
__device__ __forceinline__ void store(const float (&sums)[128], float *c,
                                      unsigned row, unsigned column,
                                      unsigned m, unsigned n) {
    const unsigned warp = threadIdx.x % 128 / 32, lane = threadIdx.x % 32;
    column += lane % 4 * 2;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const unsigned r = row + 16 * warp + 8 * half + lane / 4;
        float *const to = c + (u64)r * n + column;
        const int inside = r < m ? (int)n - (int)column : 0; // columns from here on
#pragma unroll
        for (int j = 0; j < 32; j++) {
            const float first = sums[4 * j + 2 * half], second = sums[4 * j + 2 * half + 1];
            float *const at = to + 8 * j;
            if (n % 2 == 0) { // both are inside, or none is
                if (8 * j < inside) *(float2 *)at = make_float2(first, second);
            } else {
                if (8 * j < inside) at[0] = first;
                if (8 * j + 1 < inside) at[1] = second;
            }
        }
    }
}

extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(THREADS, 1)
    wgmma(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, float *__restrict__ c, unsigned m,
          unsigned n, unsigned k, unsigned *ran) {
    const unsigned slots = (dynamic_shared() + 1023) & ~1023u, barriers = slots + BARRIERS;
    const unsigned rank = block_in_cluster(), warpgroup = threadIdx.x / 128;
    const unsigned pairs = ((m + CLUSTER * BM - 1) / (CLUSTER * BM)) * ((n + BN - 1) / BN);
    if (threadIdx.x == 0) {
        if (blockIdx.x == 0) *ran = 1;
        for (unsigned i = 0; i < STAGES; i++) {
            barrier_init(barriers + 8 * i, 1); // full: the producer
            barrier_init(barriers + 8 * (STAGES + i), CLUSTER * CONSUMER_WARPS); // empty: each consumer warp
        }
        barriers_are_ready();
    }
    cluster_sync();

    Ring ring = {0, 0};
    unsigned row, column;
    if (warpgroup == 0) {
        give_registers_keep<40>();
        if (threadIdx.x == 0) {
            for (unsigned pair = blockIdx.x / CLUSTER; pair < pairs; pair += gridDim.x / CLUSTER) {
                tile_of_cluster(pair, m, n, rank, &row, &column);
                produce(&a, &b, slots, row, column, k, rank, ring);
            }
        }
        __syncwarp();
    } else {
        take_registers_up_to<232>();
        const unsigned first_row = (warpgroup - 1) * 64;
        for (unsigned pair = blockIdx.x / CLUSTER; pair < pairs; pair += gridDim.x / CLUSTER) {
            tile_of_cluster(pair, m, n, rank, &row, &column);
            float sums[128];
            consume(sums, slots, first_row, k, ring);
            store(sums, c, row + first_row, column, m, n);
        }
    }
    cluster_sync(); // a block must not end while the other still writes to its memory
}
#else
extern "C" __global__ void __launch_bounds__(THREADS)
    wgmma(const __grid_constant__ TensorMap, const __grid_constant__ TensorMap, float *, unsigned, unsigned, unsigned,
          unsigned *ran) {
    if (blockIdx.x == 0 && threadIdx.x == 0) *ran = 0;
}
#endif
