// One kernel as C++: -DKERNEL=ASYNC_COPY, WMMA or WGMMA and -DSOURCE="the .cu file".
#define ASYNC_COPY 1
#define WMMA 2
#define WGMMA 3
#if KERNEL == WGMMA
#define SHARED_MEMORY_HAS_ADDRESSES
#endif
#include "device.h"
#include SOURCE

#if KERNEL == WMMA
#define SHARED_BYTES 0
#endif
extern const unsigned threads_of_a_block = THREADS, shared_bytes_of_a_block = SHARED_BYTES;
extern const bool uses_maps = KERNEL == WGMMA;

void run_kernel(Arguments &x) {
#if KERNEL == ASYNC_COPY
    async_copy((const float *)x.a, (const float *)x.b, x.c, x.m, x.n, x.k);
#elif KERNEL == WMMA
    wmma((const __nv_bfloat16 *)x.a, (const __nv_bfloat16 *)x.b, x.c, x.m, x.n, x.k, x.lda, x.ldb);
#else
    wgmma(x.map_a, x.map_b, x.c, x.m, x.n, x.k, &x.ran);
#endif
}
