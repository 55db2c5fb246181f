// A stand-in for NCCL, libnccl.so.2, between processes: messages are files in the folder FAKE_NCCL, and nothing happens
// before somebody waits for the stream. It does what the manual says, and ends the program at the first mistake.
// FAKE_NCCL_FAIL=name makes that function fail with result 2; FAKE_NCCL_HANG lets sums never end.
#include "../../../02-cpu-gpu/tests/fake_cuda/fake.h"
#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

extern "C" char *fake_bytes(uint64_t at, size_t count);
extern "C" void fake_hang(bool on);

struct Id { char internal[128]; };
struct Comm { std::string name; int rank, size; long calls = 0; std::vector<long> sent, received; };
static long left = 0, opened = 0, sums = 0;
static int depth = 0;
static std::vector<std::function<void()>> sends, receives; // of an open group
static void *stream_of_group = nullptr;

static std::string folder() { const char *f = getenv("FAKE_NCCL"); DEMAND(f); return f; }
static bool fails(const char *name) { const char *f = getenv("FAKE_NCCL_FAIL"); return f && !strcmp(f, name); }

static std::string path(Comm *c, int from, int to, long at) {
    return folder() + "/" + c->name + "-" + std::to_string(from) + "-" + std::to_string(to) + "-" + std::to_string(at);
}
static void put(Comm *c, int to, const char *bytes, size_t count) {
    std::string file = path(c, c->rank, to, c->sent[to]++);
    std::ofstream(file + ".new", std::ios::binary).write(bytes, count);
    rename((file + ".new").c_str(), file.c_str()); // whole or not at all
}
static std::vector<char> take(Comm *c, int from) {
    std::string file = path(c, from, c->rank, c->received[from]++);
    for (int tries = 0;; tries++) {
        struct stat about;
        if (!stat(file.c_str(), &about)) {
            std::vector<char> bytes(about.st_size);
            std::ifstream(file, std::ios::binary).read(bytes.data(), bytes.size());
            unlink(file.c_str());
            return bytes;
        }
        DEMAND(tries < 30000); // half a minute
        usleep(1000);
    }
}
static void enqueue(void *stream, std::function<void()> work) { fake_enqueue(stream, &work); }

extern "C" {
long fake_comms_left() { return left; }
long fake_sums() { return sums; }
int ncclGetUniqueId(Id *id) {
    if (fails("ncclGetUniqueId")) return 2;
    memset(id, 0xee, sizeof *id); // bits that are no number's
    snprintf(id->internal, 64, "c%d-%ld", int(getpid()), opened++);
    return 0;
}
int ncclCommInitRank(Comm **comm, int size, Id id, int rank) {
    DEMAND(fake_has_context() && rank >= 0 && rank < size);
    DEMAND(id.internal[0] == 'c' && id.internal[127] == char(0xee)); // it came whole
    if (fails("ncclCommInitRank")) return 2;
    auto *c = *comm = new Comm{id.internal, rank, size};
    c->sent.resize(size), c->received.resize(size);
    left++;
    for (int other = 0; other < size; other++) if (other != rank) put(c, other, "here", 4);
    for (int other = 0; other < size; other++) if (other != rank) take(c, other);
    return 0;
}
int ncclCommDestroy(Comm *comm) { DEMAND(fake_has_context()); left--; delete comm; return 0; }
int ncclCommAbort(Comm *comm) { fake_hang(false); return ncclCommDestroy(comm); }
int ncclCommGetAsyncError(Comm *, int *error) { *error = 0; return 0; }
int ncclGroupStart() { depth++; return 0; }
int ncclGroupEnd() {
    DEMAND(depth == 1);
    depth = 0;
    auto all = std::move(sends);
    for (auto &one : receives) all.push_back(std::move(one));
    sends.clear(), receives.clear();
    enqueue(stream_of_group, [all] { for (auto &one : all) one(); });
    return 0;
}
int ncclSend(uint64_t at, size_t count, int type, int to, Comm *c, void *stream) {
    DEMAND(fake_has_context() && type == 7 && to >= 0 && to < c->size && to != c->rank);
    std::function<void()> work = [=] { put(c, to, count ? fake_bytes(at, 4 * count) : nullptr, 4 * count); };
    stream_of_group = stream;
    if (depth) sends.push_back(work); else enqueue(stream, work);
    return 0;
}
int ncclRecv(uint64_t at, size_t count, int type, int from, Comm *c, void *stream) {
    DEMAND(fake_has_context() && type == 7 && from >= 0 && from < c->size && from != c->rank);
    std::function<void()> work = [=] {
        auto got = take(c, from);
        DEMAND(got.size() == 4 * count);
        if (count) memcpy(fake_bytes(at, 4 * count), got.data(), got.size());
    };
    stream_of_group = stream;
    if (depth) receives.push_back(work); else enqueue(stream, work);
    return 0;
}
int ncclAllReduce(uint64_t from, uint64_t to, size_t count, int type, int operation, Comm *c, void *stream) {
    DEMAND(fake_has_context() && type == 7 && operation == 0);
    if (fails("ncclAllReduce")) return 2;
    sums++;
    std::function<void()> work = [=] {
        if (getenv("FAKE_NCCL_HANG")) return fake_hang(true);
        if (!count) return;
        std::vector<float> sum(count), mine(count);
        memcpy(mine.data(), fake_bytes(from, 4 * count), 4 * count);
        for (int other = 0; other < c->size; other++) if (other != c->rank) put(c, other, (char *)mine.data(), 4 * count);
        for (int rank = 0; rank < c->size; rank++) { // in one order for all
            std::vector<char> got;
            if (rank != c->rank) got = take(c, rank);
            DEMAND(rank == c->rank || got.size() == 4 * count);
            const float *x = rank == c->rank ? mine.data() : (const float *)got.data();
            for (size_t i = 0; i < count; i++) sum[i] += x[i];
        }
        memcpy(fake_bytes(to, 4 * count), sum.data(), 4 * count);
    };
    stream_of_group = stream;
    if (depth) sends.push_back(work); else enqueue(stream, work);
    return 0;
}
int ncclBroadcast(uint64_t from, uint64_t to, size_t count, int type, int root, Comm *c, void *stream) {
    DEMAND(fake_has_context() && type == 7 && root >= 0 && root < c->size);
    enqueue(stream, [=] {
        if (!count) return;
        if (c->rank == root) {
            for (int other = 0; other < c->size; other++) if (other != root) put(c, other, fake_bytes(from, 4 * count), 4 * count);
        } else {
            memcpy(fake_bytes(to, 4 * count), take(c, root).data(), 4 * count);
        }
    });
    return 0;
}
}
