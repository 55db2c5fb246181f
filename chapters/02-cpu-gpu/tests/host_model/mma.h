// Instead of CUDA's mma.h: a fragment is the whole tile, in every lane.
#pragma once
#include "device.h"

struct __nv_bfloat16 {
    uint16_t bits;
};

namespace nvcuda {
namespace wmma {
struct matrix_a;
struct matrix_b;
struct accumulator;
struct row_major;
enum layout_t { mem_row_major };

template <typename Use, int M, int N, int K, typename T, typename Layout = void> struct fragment {
    static_assert(M == 16 && N == 16 && K == 16, "the one shape that this model knows");
    float whole[16][16];
};

template <typename Sums> void fill_fragment(Sums &sums, float value) {
    for (auto &row : sums.whole)
        for (auto &element : row) element = value;
}
template <typename Sums, typename A, typename B> void mma_sync(Sums &d, const A &a, const B &b, const Sums &c) {
    float row[16];
    for (int i = 0; i < 16; i++) {
        for (int j = 0; j < 16; j++) row[j] = c.whole[i][j];
        for (int k = 0; k < 16; k++)
            for (int j = 0; j < 16; j++) row[j] += a.whole[i][k] * b.whole[k][j];
        for (int j = 0; j < 16; j++) d.whole[i][j] = row[j];
    }
}
// Each lane stores only its part, so that a kernel that does not wait for the others reads what was there before.
template <typename Sums> void store_matrix_sync(float *to, const Sums &sums, unsigned stride, layout_t) {
    if (stride % 4 || (uintptr_t)to % 32) fail("a fragment is stored to where it may not be");
    const unsigned first = threadIdx.x % 32 * 8;
    for (unsigned e = first; e < first + 8; e++) to[e / 16 * stride + e % 16] = sums.whole[e / 16][e % 16];
}
} // namespace wmma
} // namespace nvcuda

template <typename Fragment> void load_tile(Fragment &tile, const __nv_bfloat16 *from, unsigned stride) {
    if (stride % 8 || (uintptr_t)from % 32) fail("a fragment is loaded from where it may not be");
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 16; j++) tile.whole[i][j] = from_bf16(from[i * stride + j].bits);
}
