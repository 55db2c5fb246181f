// What a kernel's text sees when it is compiled for the CPU: CUDA's words, and the model's functions instead of
// the kernel's own small functions around PTX (HOST_MODEL is defined). `model.cpp` has them.
#pragma once
#include <cstdint>
#include <cstring>

#define __global__
#define __device__
#define __shared__ static
#define __forceinline__ inline
#define __restrict__
#define __grid_constant__
#define __launch_bounds__(...)
#define __cluster_dims__(...)

struct Dim3 {
    unsigned x = 0, y = 0, z = 0;
};
extern Dim3 *thread_index, *block_index, grid_size;
#define threadIdx (*thread_index)
#define blockIdx (*block_index)
#define gridDim (grid_size)

void __syncthreads();
void __syncwarp();
[[noreturn]] void fail(const char *what);
inline unsigned min(unsigned a, unsigned b) { return a < b ? a : b; }

struct alignas(8) float2 {
    float x, y;
};
inline float2 make_float2(float x, float y) { return {x, y}; }
// Sixteen bytes at a time. An assignment sees where its source is, so that loads from shared memory can be counted.
void saw_sixteen_bytes_move(const void *from, const void *to);
struct alignas(16) float4 {
    float x, y, z, w;
    float4() = default;
    float4 &operator=(const float4 &from) {
        saw_sixteen_bytes_move(&from, this);
        std::memcpy((void *)this, (const void *)&from, 16);
        return *this;
    }
};

// cp.async
void copy_16(void *to, const void *from, unsigned bytes);
void copy_4(void *to, const void *from, unsigned bytes);
void commit_copies();
void wait_until_copies_left(unsigned groups);
template <int N> void wait_for_copies() { wait_until_copies_left(N); }

inline float from_bf16(uint16_t bits) {
    const uint32_t wide = (uint32_t)bits << 16;
    float value;
    std::memcpy(&value, &wide, 4);
    return value;
}

struct TensorMap { // as `cuTensorMapEncodeTiled` is told, for two dimensions of bf16 and a swizzle of 128 bytes
    const uint8_t *base = nullptr;
    uint64_t width = 0, height = 0, stride = 0; // elements, rows, bytes from row to row
    unsigned box_width = 0, box_height = 0;
};

#ifdef SHARED_MEMORY_HAS_ADDRESSES // bytes from the beginning of a block's memory, as PTX has them
unsigned shared_address();
inline unsigned dynamic_shared() { return shared_address(); }
#else
float *shared_pointer();
inline float *dynamic_shared() { return shared_pointer(); }
#endif
void barrier_init(unsigned barrier, unsigned count);
void barriers_are_ready();
void barrier_expect(unsigned barrier, unsigned bytes);
void barrier_arrive(unsigned barrier, unsigned block);
void barrier_wait(unsigned barrier, unsigned parity);
void copy_box(unsigned to, const TensorMap *map, unsigned x, unsigned y, unsigned barrier);
void copy_box_to(unsigned blocks, unsigned to, const TensorMap *map, unsigned x, unsigned y, unsigned barrier);
void cluster_sync();
unsigned block_in_cluster();
template <int N> void give_registers_keep() { static_assert(N % 8 == 0 && N >= 24 && N <= 256, "setmaxnreg"); }
template <int N> void take_registers_up_to() { static_assert(N % 8 == 0 && N >= 24 && N <= 256, "setmaxnreg"); }
void products_fence();
void start_product(float (&sums)[128], uint64_t a, uint64_t b, bool add);
template <bool ADD> void multiply_64x256x16(float (&sums)[128], uint64_t a, uint64_t b) {
    start_product(sums, a, b, ADD);
}
void commit_products();
void wait_until_products_left(unsigned groups);
template <int N> void wait_for_products() { wait_until_products_left(N); }

// What a launch hands over, and what `kernel.cpp` makes of the kernel's macros and arguments.
struct Arguments {
    const void *a, *b;
    float *c;
    unsigned m, n, k, lda, ldb;
    TensorMap map_a, map_b;
    unsigned ran;
};
extern const bool uses_maps;
extern const unsigned threads_of_a_block, shared_bytes_of_a_block;
void run_kernel(Arguments &arguments);
// Prints what the kernel's own functions say of descriptors and registers, for a comparison with literal values.
void print_layouts();
