// A GPU made of patience: runs the threads of a kernel on the CPU, one after the other, and is as unkind as the
// hardware may be.
//
// Every thread of a block (and of a cluster's blocks) is a fiber of its own, that runs until it waits for
// something. Copies that the GPU makes by itself leave poison (NaN) at their destination and arrive as late as
// possible, or, by choice, as early as possible; products of `wgmma` are computed from shared memory as late as
// possible. So a kernel that forgets to wait computes NaN or stops in a deadlock, which this file reports.
//
// The sizes of a launch are arguments, A and B come on stdin, C goes to stdout, counts go to stderr.
#include "device.h"
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <ucontext.h>
#include <vector>

void fail(const char *what) {
    std::fprintf(stderr, "host model: %s\n", what);
    std::exit(3);
}

// ---- threads -------------------------------------------------------------------------------------------------

// A barrier in shared memory (PTX ISA, "mbarrier").
struct Barrier {
    unsigned expected = 0, pending = 0, phase = 0;
    long bytes = 0;
    void check() {
        if (pending == 0 && bytes == 0) {
            phase++;
            pending = expected;
        }
    }
    void arrive() {
        if (pending == 0) fail("more threads arrived at a barrier than it expects");
        pending--;
        check();
    }
};

struct Meeting { // of all threads of a warp, block or cluster
    unsigned size = 0, arrived = 0, generation = 0;
};

struct Block {
    Dim3 index;
    unsigned rank = 0, live = 0;
    std::vector<uint8_t> pool; // dynamic shared memory
    Meeting threads;
    std::vector<Meeting> warps;
    std::map<unsigned, Barrier> barriers;
};

struct Copy { // cp.async: from here to there, when it is waited for
    void *to;
    const void *from;
    unsigned bytes, size;
};
struct Product { // wgmma
    float *sums;
    uint64_t a, b;
    bool add;
};
template <typename T> struct Groups {
    std::vector<T> open;
    std::deque<std::vector<T>> closed;
};

struct Fiber {
    ucontext_t context;
    std::unique_ptr<uint8_t[]> stack;
    std::function<bool()> ready;
    bool done = false, fenced = false;
    Dim3 thread;
    Block *block = nullptr;
    Groups<Copy> copies;
    Groups<Product> products;
    std::vector<const void *> loads, stores; // 16-byte accesses to shared memory, see `wavefronts`
};

static Fiber *self = nullptr;
static ucontext_t scheduler;
static std::function<void()> kernel_body;
static std::vector<std::unique_ptr<Block>> cluster;
static Meeting cluster_meeting;
Dim3 *thread_index, *block_index, grid_size;
static unsigned block_size;
static bool late = true; // whether copies arrive as late as they may
static std::deque<std::function<void()>> on_their_way;

static void wait_until(std::function<bool()> ready) {
    if (ready()) return;
    self->ready = std::move(ready);
    swapcontext(&self->context, &scheduler);
}
static void meet(Meeting &m) {
    const unsigned generation = m.generation;
    if (++m.arrived == m.size) {
        m.arrived = 0;
        m.generation++;
    } else {
        wait_until([&m, generation] { return m.generation != generation; });
    }
}
void __syncthreads() { meet(self->block->threads); }
void __syncwarp() { meet(self->block->warps[self->thread.x / 32]); }

static void fiber_main() {
    kernel_body();
    self->done = true;
    self->block->live--;
    swapcontext(&self->context, &scheduler);
}

// Runs one cluster (often of one block) to its end. `backwards` lets the highest thread go first.
static void run_cluster(std::vector<Dim3> blocks, unsigned shared_bytes, bool backwards,
                        std::function<void(const std::vector<std::unique_ptr<Fiber>> &)> after) {
    const unsigned threads = block_size;
    cluster.clear();
    on_their_way.clear();
    cluster_meeting = {threads * (unsigned)blocks.size(), 0, 0};
    std::vector<std::unique_ptr<Fiber>> fibers;
    for (auto index : blocks) {
        auto block = std::make_unique<Block>();
        block->index = index;
        block->rank = cluster.size();
        block->live = threads;
        block->pool.assign(shared_bytes, 0xFF); // NaN, as f32 and as bf16
        block->threads.size = threads;
        block->warps.resize((threads + 31) / 32);
        for (auto &warp : block->warps) warp.size = 32;
        for (unsigned t = 0; t < threads; t++) {
            auto fiber = std::make_unique<Fiber>();
            fiber->stack.reset(new uint8_t[1 << 15]);
            std::memset(fiber->stack.get(), 0xFF, 1 << 15); // NaN, where a kernel reads what it has not written
            fiber->thread.x = t;
            fiber->block = block.get();
            fiber->ready = [] { return true; };
            getcontext(&fiber->context);
            fiber->context.uc_stack.ss_sp = fiber->stack.get();
            fiber->context.uc_stack.ss_size = 1 << 15;
            makecontext(&fiber->context, fiber_main, 0);
            fibers.push_back(std::move(fiber));
        }
        cluster.push_back(std::move(block));
    }
    for (size_t left = fibers.size(); left > 0;) {
        bool progress = false;
        for (size_t i = 0; i < fibers.size(); i++) {
            Fiber &fiber = *fibers[backwards ? fibers.size() - 1 - i : i];
            if (fiber.done || !fiber.ready()) continue;
            progress = true;
            self = &fiber;
            thread_index = &fiber.thread;
            block_index = &fiber.block->index;
            swapcontext(&scheduler, &fiber.context);
            left -= fiber.done;
        }
        if (!progress) {
            if (on_their_way.empty()) fail("deadlock: every thread waits, and nothing is on its way");
            auto land = std::move(on_their_way.front());
            on_their_way.pop_front();
            land();
        }
    }
    if (!on_their_way.empty()) fail("a copy was still on its way when its block ended");
    after(fibers);
}

// ---- memory --------------------------------------------------------------------------------------------------

struct Range {
    const uint8_t *begin;
    size_t bytes;
};
static std::vector<Range> readable; // the matrices in global memory

static void check_global(const void *from, size_t bytes) {
    for (auto &range : readable) {
        const auto *p = (const uint8_t *)from;
        if (p >= range.begin && p + bytes <= range.begin + range.bytes) return;
    }
    fail("a copy reads outside of the matrices");
}
static bool in_pool(const void *p, size_t bytes) {
    const auto &pool = self->block->pool;
    return (const uint8_t *)p >= pool.data() && (const uint8_t *)p + bytes <= pool.data() + pool.size();
}

void saw_sixteen_bytes_move(const void *from, const void *to) {
    if (self->block->pool.empty()) return;
    if (in_pool(from, 16)) self->loads.push_back(from);
    else if (in_pool(to, 16)) fail("a store to shared memory that no kernel here makes");
}

// How many times 128 bytes a warp's access number `i` moves: eight lanes at a time, each bank gives one word (CUDA C++
// Programming Guide, "Shared Memory"). Without bank conflicts it is one for each eight lanes that differ.
static unsigned wavefronts(const std::vector<std::vector<const void *>> &lanes, size_t i) {
    unsigned total = 0;
    for (int quarter = 0; quarter < 4; quarter++) {
        std::map<unsigned, std::set<uintptr_t>> banks;
        for (int lane = 8 * quarter; lane < 8 * quarter + 8; lane++) {
            const auto address = (uintptr_t)lanes[lane][i];
            banks[address / 16 % 8].insert(address / 16);
        }
        size_t most = 0;
        for (auto &bank : banks) most = std::max(most, bank.second.size());
        total += most;
    }
    return total;
}

// ---- cp.async ------------------------------------------------------------------------------------------------

static void copy(void *to, const void *from, unsigned bytes, unsigned size) {
    if ((uintptr_t)to % size || (bytes && (uintptr_t)from % size)) fail("a copy that is not aligned");
    if (bytes) check_global(from, bytes);
    if (!self->block->pool.empty() && !in_pool(to, size)) fail("a copy to outside of shared memory");
    std::memset(to, 0xFF, size);
    self->copies.open.push_back({to, from, bytes, size});
    if (size == 16) self->stores.push_back(to);
}
void copy_16(void *to, const void *from, unsigned bytes) { copy(to, from, bytes, 16); }
void copy_4(void *to, const void *from, unsigned bytes) { copy(to, from, bytes, 4); }
void commit_copies() {
    self->copies.closed.push_back(std::move(self->copies.open));
    self->copies.open.clear();
}
void wait_until_copies_left(unsigned groups) {
    auto &closed = self->copies.closed;
    for (; closed.size() > groups; closed.pop_front()) {
        for (auto &c : closed.front()) {
            std::memset(c.to, 0, c.size);
            std::memcpy(c.to, c.from, c.bytes);
        }
    }
}

// ---- Hopper: barriers, the copy engine, wgmma, by the PTX ISA manual ----------------------------------------

// Not at a multiple of 1024: a kernel that needs one has to see to it.
constexpr unsigned POOL_BEGINS = 1040;

unsigned shared_address() { return POOL_BEGINS; }
float *shared_pointer() { return (float *)self->block->pool.data(); }

static uint8_t *shared_at(Block &block, unsigned address, unsigned bytes) {
    if (address < POOL_BEGINS || address + bytes > POOL_BEGINS + block.pool.size())
        fail("an address outside of the block's shared memory");
    return &block.pool[address - POOL_BEGINS];
}
// "Swizzling modes": in each 1024 bytes, the 16-byte chunks of row r of 128 bytes are permuted by XOR with r.
static unsigned swizzled(unsigned address) { return address ^ ((address >> 7 & 7) << 4); }

static Barrier &barrier_at(Block &block, unsigned address) {
    if (block.live == 0) fail("a barrier of a block that has ended");
    auto found = block.barriers.find(address);
    if (found == block.barriers.end()) fail("a barrier that was not initialised");
    return found->second;
}
void barrier_init(unsigned address, unsigned count) {
    shared_at(*self->block, address, 8);
    if (address % 8) fail("a barrier that is not aligned");
    self->block->barriers[address] = {count, count, 0, 0};
}
void barriers_are_ready() {}
void barrier_expect(unsigned address, unsigned bytes) {
    Barrier &barrier = barrier_at(*self->block, address);
    barrier.bytes += bytes;
    barrier.arrive();
}
void barrier_arrive(unsigned address, unsigned block) { barrier_at(*cluster.at(block), address).arrive(); }
void barrier_wait(unsigned address, unsigned parity) {
    Barrier &barrier = barrier_at(*self->block, address);
    wait_until([&barrier, parity] { return (barrier.phase & 1) != parity; });
}

static void box_arrives(Block &block, unsigned to, TensorMap map, unsigned x, unsigned y, unsigned address) {
    if (block.live == 0) fail("a copy into a block that has ended");
    for (unsigned row = 0; row < map.box_height; row++) {
        for (unsigned column = 0; column < map.box_width; column++) {
            uint8_t *p = shared_at(block, swizzled(to + (row * map.box_width + column) * 2), 2);
            const bool inside = (uint64_t)x + column < map.width && (uint64_t)y + row < map.height;
            if (inside) std::memcpy(p, map.base + (y + row) * map.stride + (x + column) * 2, 2);
            else std::memset(p, 0, 2);
        }
    }
    Barrier &barrier = barrier_at(block, address);
    barrier.bytes -= map.box_width * map.box_height * 2;
    barrier.check();
}
void copy_box_to(unsigned blocks, unsigned to, const TensorMap *map, unsigned x, unsigned y, unsigned barrier) {
    if (to % 128) fail("a box that is not aligned");
    if (map->box_width * 2 != 128 || map->box_height > 256) fail("a box that this swizzle can't have");
    for (auto &other : cluster) {
        if (!(blocks >> other->rank & 1)) continue;
        Block *block = other.get();
        const TensorMap copy = *map;
        auto land = [=] { box_arrives(*block, to, copy, x, y, barrier); };
        std::memset(shared_at(*block, to, copy.box_width * copy.box_height * 2), 0xFF,
                    copy.box_width * copy.box_height * 2);
        if (late) on_their_way.push_back(land);
        else land();
    }
}
void copy_box(unsigned to, const TensorMap *map, unsigned x, unsigned y, unsigned barrier) {
    copy_box_to(1u << self->block->rank, to, map, x, y, barrier);
}

void cluster_sync() { meet(cluster_meeting); }
unsigned block_in_cluster() { return self->block->rank; }

void products_fence() { self->fenced = true; }
void start_product(float (&sums)[128], uint64_t a, uint64_t b, bool add) {
    if (!self->fenced) fail("a product is started without a fence");
    self->products.open.push_back({sums, a, b, add});
}
void commit_products() {
    self->products.closed.push_back(std::move(self->products.open));
    self->products.open.clear();
}

struct Descriptor { // "Matrix Descriptor Format"
    unsigned start, leading, stride;
    explicit Descriptor(uint64_t bits)
        : start((bits & 0x3FFF) << 4), leading((bits >> 16 & 0x3FFF) << 4), stride((bits >> 32 & 0x3FFF) << 4) {
        if (bits >> 62 != 1) fail("a descriptor without the 128-byte swizzle");
        if (bits >> 49 & 7) fail("a descriptor with a base offset");
    }
};

// This thread's part of one product, by "Canonical Layouts" (swizzle of 128 bytes; T is 8 elements of 16 bits):
//   A, K-major:  ((8,m),(T,2k)) : ((8T,SBO),(1,T))
//   B, MN-major: ((T,8,m),(8,k)) : ((1,T,LBO),(8T,SBO))
// and by "Register Fragments for wgmma.mma_async.m64nNk16": rows lane/4 and lane/4 + 8 of the warp's 16, and of each 8
// columns, two beginning at lane%4*2.
static void compute(const Product &product) {
    Block &block = *self->block;
    const Descriptor a(product.a), b(product.b);
    const unsigned warp = self->thread.x % 128 / 32, lane = self->thread.x % 32;
    if (!product.add) std::fill(product.sums, product.sums + 128, 0.0f);
    const auto read = [&block](unsigned address) {
        uint16_t bits;
        std::memcpy(&bits, shared_at(block, swizzled(address), 2), 2);
        return from_bf16(bits);
    };
    for (unsigned k = 0; k < 16; k++) {
        float left[2];
        for (unsigned half = 0; half < 2; half++) {
            const unsigned row = 16 * warp + lane / 4 + 8 * half;
            left[half] = read(a.start + row % 8 * 128 + row / 8 * a.stride + k * 2);
        }
        for (unsigned i = 0; i < 64; i++) {
            const unsigned column = i / 2 * 8 + lane % 4 * 2 + i % 2;
            const float right = read(b.start + column % 64 * 2 + column / 64 * b.leading + k % 8 * 128 +
                                     k / 8 * b.stride);
            for (unsigned half = 0; half < 2; half++)
                product.sums[i / 2 * 4 + half * 2 + i % 2] += left[half] * right;
        }
    }
}
void wait_until_products_left(unsigned groups) {
    auto &closed = self->products.closed;
    for (; closed.size() > groups; closed.pop_front()) {
        for (auto &product : closed.front()) compute(product);
    }
    if (groups == 0) self->fenced = false;
}

// ---- a launch ------------------------------------------------------------------------------------------------

static std::vector<uint8_t> read_stdin(size_t bytes) {
    // Room behind the data, filled with NaN, in case that a kernel reads too far without `cp.async`.
    std::vector<uint8_t> data(bytes + 256, 0xFF);
    if (bytes && std::fread(data.data(), 1, bytes, stdin) != bytes) fail("stdin ended early");
    return data;
}

int main(int count, char **words) {
    if (count == 2 && words[1] == std::string("layouts")) {
        print_layouts();
        return 0;
    }
    std::map<std::string, unsigned long> arg;
    for (int i = 1; i + 1 < count; i += 2) arg[words[i]] = std::strtoul(words[i + 1], nullptr, 10);
    const unsigned m = arg.at("m"), n = arg.at("n"), k = arg.at("k");
    const auto a = read_stdin(arg.at("a_bytes")), b = read_stdin(arg.at("b_bytes"));
    readable = {{a.data(), arg.at("a_bytes")}, {b.data(), arg.at("b_bytes")}};
    late = arg.at("late");
    grid_size = {(unsigned)arg.at("grid_x"), (unsigned)arg.at("grid_y"), 1};
    block_size = arg.at("block");

    // C with a margin on either side; a value that is not written stays NaN.
    const size_t margin = 1024, elements = (size_t)m * n;
    auto *c = (float *)std::aligned_alloc(256, (elements + 2 * margin) * 4 / 256 * 256 + 256);
    std::memset(c, 0xFF, (elements + 2 * margin) * 4);
    float *const inside = c + margin;

    const unsigned shared = arg.at("shared");
    if (block_size != threads_of_a_block || shared != shared_bytes_of_a_block) fail("the launch is not the kernel's");
    Arguments arguments{};
    arguments.a = a.data();
    arguments.b = b.data();
    arguments.c = inside;
    arguments.m = m;
    arguments.n = n;
    arguments.k = k;
    if (uses_maps) {
        const auto map = [&](const std::string &name, const std::vector<uint8_t> &data) {
            TensorMap map;
            map.base = data.data();
            map.width = arg.at(name + "_width");
            map.height = arg.at(name + "_height");
            map.stride = arg.at(name + "_stride");
            map.box_width = arg.at(name + "_box_width");
            map.box_height = arg.at(name + "_box_height");
            if (map.stride % 16 || map.stride < 2 * map.width || !map.width || !map.height ||
                map.stride * map.height > data.size() - 256)
                fail("a descriptor that the driver would refuse");
            return map;
        };
        arguments.map_a = map("a", a);
        arguments.map_b = map("b", b);
    }
    arguments.lda = arg["lda"];
    arguments.ldb = arg["ldb"];
    kernel_body = [&] { run_kernel(arguments); };

    unsigned long loads = 0, load_wavefronts = 0, stores = 0, store_wavefronts = 0, widest_half = 0;
    const auto count_accesses = [&](const std::vector<std::unique_ptr<Fiber>> &fibers) {
        for (size_t warp = 0; warp < fibers.size(); warp += 32) {
            std::vector<std::vector<const void *>> load(32), store(32);
            for (int lane = 0; lane < 32; lane++) {
                load[lane] = fibers[warp + lane]->loads;
                store[lane] = fibers[warp + lane]->stores;
            }
            for (size_t i = 0; i < load[0].size(); i++, loads++) {
                load_wavefronts += wavefronts(load, i);
                for (int half = 0; half < 32; half += 16) {
                    std::set<const void *> chunks;
                    for (int lane = half; lane < half + 16; lane++) chunks.insert(load[lane][i]);
                    widest_half = std::max(widest_half, 16 * (unsigned long)chunks.size());
                }
            }
            bool same = true; // threads at an edge make other copies than their neighbours
            for (auto &lane : store) same = same && lane.size() == store[0].size();
            for (size_t i = 0; same && i < store[0].size(); i++, stores++) store_wavefronts += wavefronts(store, i);
        }
    };
    const unsigned in_cluster = arg.at("cluster");
    for (unsigned y = 0; y < grid_size.y; y++) {
        for (unsigned x = 0; x < grid_size.x; x += in_cluster) {
            std::vector<Dim3> blocks;
            for (unsigned i = 0; i < in_cluster; i++) blocks.push_back({x + i, y, 0});
            run_cluster(blocks, shared, arg.at("backwards"), count_accesses);
        }
    }
    if (uses_maps && arguments.ran != 1) fail("the kernel did not say that it ran");
    for (size_t i = 0; i < margin; i++) {
        uint32_t before, after;
        std::memcpy(&before, c + i, 4);
        std::memcpy(&after, inside + elements + i, 4);
        if (before != 0xFFFFFFFF || after != 0xFFFFFFFF) fail("the kernel writes outside of C");
    }
    std::fprintf(stderr, "loads %lu load_wavefronts %lu widest_half %lu stores %lu store_wavefronts %lu\n", loads,
                 load_wavefronts, widest_half, stores, store_wavefronts);
    return std::fwrite(inside, 4, elements, stdout) == elements ? 0 : 4;
}
