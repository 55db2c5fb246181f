// One kernel as C++: -DKERNEL=ASYNC_COPY, WMMA or WGMMA and -DSOURCE="the .cu file".
#define ASYNC_COPY 1
#define WMMA 2
#define WGMMA 3
#if KERNEL == WGMMA
#define SHARED_MEMORY_HAS_ADDRESSES
#endif
#include "device.h"
#include <cstdio>
#include SOURCE

#if KERNEL == WMMA
#define SHARED_BYTES 0
#endif
extern const unsigned threads_of_a_block = THREADS, shared_bytes_of_a_block = SHARED_BYTES;
extern const bool uses_maps = KERNEL == WGMMA;

void print_layouts() {
#if KERNEL == WGMMA
    for (unsigned i = 0; i < BK / 16; i++)
        std::printf("a%u %llx\nb%u %llx\n", i, (unsigned long long)part_of_a(0x8400, i), i,
                    (unsigned long long)part_of_b(0x8400, i));
    // Each thread of a warpgroup stores the numbers of its registers: C then says which register holds what.
    static float c[64 * 256], sums[128];
    Dim3 thread;
    thread_index = &thread;
    for (thread.x = 0; thread.x < 128; thread.x++) {
        for (unsigned i = 0; i < 128; i++) sums[i] = float(128 * thread.x + i);
        store(sums, c, 0, 0, 64, 256);
    }
    for (unsigned row = 0; row < 64; row++)
        for (unsigned column = 0; column < 256; column++) std::printf("d %.0f\n", c[256 * row + column]);
#endif
}

void run_kernel(Arguments &x) {
#if KERNEL == ASYNC_COPY
    async_copy((const float *)x.a, (const float *)x.b, x.c, x.m, x.n, x.k);
#elif KERNEL == WMMA
    wmma((const __nv_bfloat16 *)x.a, (const __nv_bfloat16 *)x.b, x.c, x.m, x.n, x.k, x.lda, x.ldb);
#else
    wgmma(x.map_a, x.map_b, x.c, x.m, x.n, x.k, &x.ran);
#endif
}
