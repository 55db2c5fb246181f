// What the stand-in driver knows of each kernel: the parameters, the launch that covers the work, and what comes out. It
// is written by the head of each kernel's file, not by the Rust code that launches it, so that the two are held against
// each other. Nothing is computed that the launch would not compute: a grid that is too small leaves C unwritten.
#pragma once
#include "fake.h"
#include <cmath>
#include <cstring>
#include <map>
#include <string>
#include <vector>

extern "C" char *fake_bytes(uint64_t at, size_t count);

// A kernel as it was compiled.
struct Module {
    std::string name, target;
    std::map<std::string, long> options;
    long option(const char *name, long otherwise) const {
        auto found = options.find(name);
        return found == options.end() ? otherwise : found->second;
    }
    std::string kernels; // of its text
};

// cuTensorMapEncodeTiled's arguments, as they stand in the 128 bytes that it fills.
struct Map {
    uint64_t magic, address, width, height, stride;
    uint32_t box[2], steps[2];
    uint64_t rest[9];
};
static_assert(sizeof(Map) == 128, "a descriptor has 128 bytes");
constexpr uint64_t MAP_MAGIC = 0x7E4504A7;

struct Grid {
    unsigned x, y, block_x, block_y, shared;
};

inline long up(long a, long b) { return (a + b - 1) / b; }

// The bytes of each parameter.
inline std::vector<size_t> parameters_of(const std::string &name) {
    static const std::map<std::string, std::vector<size_t>> known = {
        {"map", {8, 8, 4}},
        {"scale", {8, 8, 4}},
        {"copy", {8, 8, 4}},
        {"copy_words", {8, 4, 8, 4, 4}},
        {"zero", {8, 4, 4}},
        {"broken", {8, 4, 8, 4, 4}},
        {"wmma", {8, 8, 8, 4, 4, 4, 4, 4}},
        {"wgmma", {128, 128, 8, 4, 4, 4, 8}},
    };
    auto found = known.find(name);
    return found == known.end() ? std::vector<size_t>{8, 8, 8, 4, 4, 4} : found->second;
}

inline bool is_elementwise(const std::string &name) { return name == "map" || name == "scale" || name == "copy"; }

// The rows and columns of C that this launch covers, after everything that the kernel's head demands of it.
inline void covered(const Module &kernel, const Grid &grid, long m, long n, long k, long *rows, long *columns) {
    const std::string &name = kernel.name;
    const auto of = [&](const char *option, long otherwise) { return kernel.option(option, otherwise); };
    if (name == "naive" || name == "coalesced" || name == "shared") {
        const long tile = of("TILE", 32);
        DEMAND(grid.block_x == tile && grid.block_y == tile && grid.shared == 0);
        *rows = (name == "naive" ? grid.x : grid.y) * tile;
        *columns = (name == "naive" ? grid.y : grid.x) * tile;
        return;
    }
    if (name == "async_copy") {
        const long bm = of("BM", 0), bn = of("BN", 0), tm = of("TM", 0), tn = of("TN", 0), stages = of("STAGES", 0);
        DEMAND(bm && bn && tm && tn && stages >= 2 && of("BLOCKS_PER_SM", 0));
        DEMAND(grid.block_x == 32 * (bm / (4 * tm)) * (bn / (8 * tn)) && grid.block_y == 1);
        DEMAND(grid.shared == 4 * stages * (bm * (16 + 4) + 16 * bn));
        DEMAND(grid.x == up(m, bm) * up(n, bn) && grid.y == 1);
        DEMAND(of("VECTOR", 1) == 0 || (n % 4 == 0 && k % 4 == 0));
        *rows = m, *columns = n;
        return;
    }
    if (name == "wmma") {
        DEMAND(grid.block_x == 256 && grid.block_y == 1 && grid.shared == 0);
        DEMAND(grid.x == up(m, 128) * up(n, 128) && grid.y == 1);
        *rows = m, *columns = n;
        return;
    }
    if (name == "wgmma") {
        DEMAND(kernel.target == "sm_90a");
        DEMAND(grid.block_x == 384 && grid.block_y == 1 && grid.y == 1);
        DEMAND(grid.x % 2 == 0 && grid.x / 2 <= up(m, 256) * up(n, 256));
        DEMAND(grid.shared == 1024 + 4 * (128 * 64 + 64 * 256) * 2 + 2 * 4 * 8);
        DEMAND(k >= 1);
        *rows = m, *columns = n; // a cluster goes on to the next pair of tiles
        return;
    }
    long high = 128, wide = 128, x = 16, y = 16;
    if (name == "tile1d") {
        high = of("ROWS", 64), wide = of("COLUMNS", 64);
        x = wide, y = high / of("RESULTS", 8);
    } else if (name == "warp_tiles") {
        high = of("ROWS", 128), wide = of("COLUMNS", 128);
        x = 32 * (high / of("WARP_ROWS", 32)) * (wide / of("WARP_COLUMNS", 64)), y = 1;
    } else {
        DEMAND(name == "tile2d" || name == "vectorised" || name == "double_buffered");
    }
    DEMAND(grid.block_x == x && grid.block_y == y && grid.shared == 0);
    DEMAND(of("WIDE", 0) == 0 || (n % 4 == 0 && k % 4 == 0));
    *rows = grid.y * high, *columns = grid.x * wide;
}

// C = A·B of the elements that are covered; `element` reads A (0) or B (1).
template <typename Element>
void product(long m, long n, long k, long rows, long columns, uint64_t c, Element element) {
    if (rows > m) rows = m;
    if (columns > n) columns = n;
    std::vector<float> b(k * columns);
    for (long p = 0; p < k; p++)
        for (long j = 0; j < columns; j++) b[p * columns + j] = element(1, p, j);
    std::vector<float> row(columns);
    for (long i = 0; i < rows; i++) {
        for (float &sum : row) sum = 0;
        for (long p = 0; p < k; p++) {
            const float a = element(0, i, p);
            const float *from = &b[p * columns];
            for (long j = 0; j < columns; j++) row[j] += a * from[j];
        }
        if (columns) memcpy(fake_bytes(c + 4 * i * n, 4 * columns), row.data(), 4 * columns);
    }
}

template <typename T> T parameter(void **parameters, int at) {
    T value;
    memcpy(&value, parameters[at], sizeof(T));
    return value;
}

inline float f32_at(uint64_t at) {
    float value;
    memcpy(&value, fake_bytes(at, 4), 4);
    return value;
}
inline float bf16_at(uint64_t at) {
    uint16_t half;
    memcpy(&half, fake_bytes(at, 2), 2);
    uint32_t bits = uint32_t(half) << 16;
    float value;
    memcpy(&value, &bits, 4);
    return value;
}

// A launch of a matrix product, or of what ranks do by words, as work for later. The driver copies the parameters before it returns.
inline std::function<void()> product_of(const Module &kernel, const Grid &grid, void **parameters) {
    const std::string &name = kernel.name;
    const auto length = [&](int at) { return long(parameter<uint32_t>(parameters, at)); };
    const auto pointer = [&](int at) { return parameter<uint64_t>(parameters, at); };
    if (name == "zero") { // the engine's operands: a buffer, and where in it the numbers begin
        const uint64_t to = pointer(0) + 4 * length(1);
        const long count = length(2);
        return [=] { memset(fake_bytes(to, 4 * count), 0, 4 * count); };
    }
    if (name == "copy_words" || name == "broken") {
        const uint64_t from = pointer(0) + 4 * length(1), to = pointer(2) + 4 * length(3);
        const long count = length(4);
        DEMAND(grid.block_x == 256 && grid.x == up(count, 256));
        if (name == "broken")
            return [=] {
                for (long i = 0; i < count; i++) {
                    float value, yes = 1;
                    memcpy(&value, fake_bytes(from + 4 * i, 4), 4);
                    if (!std::isfinite(value)) memcpy(fake_bytes(to + 8, 4), &yes, 4);
                }
            };
        return [=] { memcpy(fake_bytes(to, 4 * count), fake_bytes(from, 4 * count), 4 * count); };
    }
    const long m = length(3), n = length(4), k = length(5);
    const uint64_t c = pointer(2);
    long rows, columns;
    covered(kernel, grid, m, n, k, &rows, &columns);
    if (name == "wgmma") {
        const Map a = parameter<Map>(parameters, 0), b = parameter<Map>(parameters, 1);
        const uint64_t ran = pointer(6);
        DEMAND(a.magic == MAP_MAGIC && b.magic == MAP_MAGIC && c % 8 == 0);
        DEMAND(a.width == uint64_t(k) && a.height == uint64_t(m) && b.width == uint64_t(n) && b.height == uint64_t(k));
        DEMAND(a.box[0] == 64 && a.box[1] == 128 && b.box[0] == 64 && b.box[1] == 64);
        return [=] {
            product(m, n, k, rows, columns, c, [&](int which, long i, long j) {
                const Map &map = which ? b : a;
                return bf16_at(map.address + i * map.stride + 2 * j);
            });
            const uint32_t one = 1;
            memcpy(fake_bytes(ran, 4), &one, 4);
        };
    }
    const uint64_t a = pointer(0), b = pointer(1);
    if (name == "wmma") {
        const long lda = length(6), ldb = length(7);
        DEMAND(lda % 8 == 0 && ldb % 8 == 0 && lda >= k && ldb >= n && a % 16 == 0 && b % 16 == 0);
        return [=] {
            product(m, n, k, rows, columns, c,
                    [&](int which, long i, long j) { return bf16_at((which ? b + 2 * (i * ldb + j) : a + 2 * (i * lda + j))); });
        };
    }
    DEMAND(a % 16 == 0 && b % 16 == 0 && c % 16 == 0);
    return [=] {
        product(m, n, k, rows, columns, c,
                [&](int which, long i, long j) { return f32_at(which ? b + 4 * (i * n + j) : a + 4 * (i * k + j)); });
    };
}
