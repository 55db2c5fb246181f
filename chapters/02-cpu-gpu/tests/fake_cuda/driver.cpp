// A stand-in for NVIDIA's driver, libcuda.so.1: the functions that the course calls, on the CPU's memory, and stricter
// than the real ones. Nothing that is put into a stream happens before the program waits for the stream; every call wants a
// context; a handle that is used after its end, or never given back, ends the program.
//
// Written by the CUDA driver API's manual (CUDA 13.0). FAKE_VERSION, FAKE_MEMORY, FAKE_GPUS, FAKE_INIT and FAKE_FAULT
// make it an old, small, empty, broken or failing one; FAKE_FAULT_KERNEL names a kernel that takes the context down, as an
// illegal address does, and FAKE_HANG one that never ends; FAKE_CLUSTERS is how many clusters run at once; FAKE_CAPABILITY=89 and FAKE_SHARED make another
// card of it. With
// FAKE_HOST_MEMORY=1 the CPU's own addresses count as the device's, too.
#include "fake.h"
#include "kernels.h"
#include <algorithm>
#include <climits>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

enum { OK = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NO_DEVICE = 100, INVALID_IMAGE = 200, NO_BINARY = 209, NOT_FOUND = 500 };

static long number(const char *name, long otherwise) {
    const char *text = getenv(name);
    return text ? atol(text) : otherwise;
}

static int capability() { return number("FAKE_CAPABILITY", 90); }
static int shared() { return number("FAKE_SHARED", 232448); }

using Works = std::vector<std::function<void()>>;
struct Stream { Works waiting; bool captures = false; Works captured; long given = 0, done = 0; };
struct Event { double at = -1; Stream *in = nullptr; long place = 0; };
struct Function { Module *module; unsigned allowed_shared = 0; };

// Never destroyed, so that destructors at the program's end find them.
static auto &memory = *new std::map<uint64_t, std::vector<char> *>;
static auto &streams = *new std::set<Stream *>;
static auto &modules = *new std::map<Module *, Function *>;
static auto &events = *new std::set<Event *>;
static auto &graphs = *new std::set<Works *>; // and what is made of them
static auto &pinned = *new std::set<void *>;
static long retained = 0, used = 0, calls = 0, maps_made = 0;
static double device_clock = 0; // milliseconds
static bool initialised = false;
static thread_local void *current = nullptr;
static char the_context;
static int broken = 0;    // what every call returns after a kernel has taken the context down
static bool hung = false; // a kernel that does not end: who waits for it, waits forever

static void wait(Stream *stream, long place = LONG_MAX) {
    DEMAND(!hung);
    DEMAND(streams.count(stream) && !stream->captures); // to wait would end the capture
    while (!stream->waiting.empty() && stream->done < place) {
        auto work = std::move(stream->waiting.front());
        stream->waiting.erase(stream->waiting.begin());
        stream->done++;
        work();
    }
}

// The bytes beginning at `at`, which must lie in one living allocation.
static char *bytes(uint64_t at, size_t count) {
    if (at < uint64_t(1) << 47 && number("FAKE_HOST_MEMORY", 0)) return (char *)at;
    auto after = memory.upper_bound(at);
    DEMAND(after != memory.begin());
    auto &[start, block] = *std::prev(after);
    DEMAND(at - start + count <= block->size());
    return block->data() + (at - start);
}

#define CONTEXT                                                                        \
    calls++;                                                                           \
    DEMAND(current && retained > 0);                                                   \
    if (broken) return broken

extern "C" {
void fake_enqueue(void *stream, std::function<void()> *work) {
    DEMAND(streams.count((Stream *)stream));
    auto *to = (Stream *)stream;
    if (!to->captures) to->given++;
    (to->captures ? to->captured : to->waiting).push_back(std::move(*work));
}
void fake_hang(bool on) { hung = on; }
int fake_has_context() { return current != nullptr && retained > 0; }
char *fake_bytes(uint64_t at, size_t count) { return bytes(at, count); }
// What was not given back: buffers, streams, modules, events, contexts.
long fake_left() {
    return memory.size() + streams.size() + modules.size() + events.size() + graphs.size() + pinned.size() + retained;
}
long fake_calls() { return calls; }
long fake_maps() { return maps_made; }
// What was given to a stream and is not done.
long fake_waiting() {
    long waiting = 0;
    for (auto *stream : streams) waiting += stream->waiting.size();
    return waiting;
}

int cuDriverGetVersion(int *version) { *version = number("FAKE_VERSION", 13000); return OK; }
int cuInit(unsigned flags) {
    DEMAND(flags == 0);
    if (number("FAKE_INIT", OK)) return number("FAKE_INIT", OK);
    if (!number("FAKE_GPUS", 1)) return NO_DEVICE;
    initialised = true;
    return OK;
}
int cuDeviceGetCount(int *count) { DEMAND(initialised); *count = number("FAKE_GPUS", 1); return OK; }
int cuDeviceGet(int *device, int at) {
    DEMAND(initialised);
    if (at < 0 || at >= number("FAKE_GPUS", 1)) return 101;
    *device = at;
    return OK;
}
int cuDeviceGetName(char *name, int room, int device) {
    snprintf(name, room, "Fake GPU %d", device);
    return OK;
}
int cuDeviceTotalMem_v2(size_t *bytes, int) { *bytes = number("FAKE_MEMORY", 1 << 30); return OK; }
int cuDeviceGetAttribute(int *value, int attribute, int) {
    DEMAND(initialised);
    const std::map<int, int> known = {
        {1, 1024},  // threads of a block
        {13, 1980000}, // clock in kHz
        {16, 132},  // multiprocessors
        {75, capability() / 10}, {76, capability() % 10},
        {97, shared()}, // shared memory of a block that asks for more
    };
    auto found = known.find(attribute);
    DEMAND(found != known.end());
    *value = found->second;
    return OK;
}
int cuDevicePrimaryCtxRetain(void **context, int) { retained++; *context = &the_context; return OK; }
int cuDevicePrimaryCtxRelease_v2(int) { DEMAND(retained > 0); retained--; return OK; }
int cuCtxSetCurrent(void *context) { DEMAND(context == &the_context); current = context; return OK; }
int cuCtxSynchronize() {
    CONTEXT;
    for (auto *stream : streams) wait(stream);
    return OK;
}
int cuStreamCreate(void **stream, unsigned) {
    CONTEXT;
    auto *made = new Stream;
    streams.insert(made);
    *stream = made;
    return OK;
}
int cuStreamDestroy_v2(void *stream) {
    CONTEXT;
    wait((Stream *)stream);
    streams.erase((Stream *)stream);
    delete (Stream *)stream;
    return OK;
}
int cuStreamSynchronize(void *stream) {
    CONTEXT;
    wait((Stream *)stream);
    return broken ? broken : number("FAKE_FAULT", OK);
}
// A query finds it done if asked often enough: here the first time.
int cuStreamQuery(void *stream) {
    CONTEXT;
    if (hung) return 600; // not ready
    wait((Stream *)stream);
    return hung ? 600 : broken ? broken : number("FAKE_FAULT", OK);
}
int cuMemAlloc_v2(uint64_t *at, size_t bytes) {
    CONTEXT;
    DEMAND(bytes > 0); // the real one refuses zero
    if (bytes > size_t(number("FAKE_MEMORY", 1 << 30) - used)) return OUT_OF_MEMORY;
    used += bytes;
    auto *block = new std::vector<char>(bytes, char(0xff)); // as f32: NaN
    // Addresses that are none of the CPU's: who uses one there stops at once.
    static uint64_t next = uint64_t(1) << 56;
    *at = next;
    next += (bytes + 511) / 256 * 256;
    memory[*at] = block;
    return OK;
}
int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t count, void *stream) {
    CONTEXT;
    DEMAND(count > 0);
    std::function<void()> work = [=] { memmove(bytes(to, count), bytes(from, count), count); };
    fake_enqueue(stream, &work);
    return OK;
}
int cuMemFree_v2(uint64_t at) {
    CONTEXT;
    cuCtxSynchronize();
    DEMAND(memory.count(at));
    used -= memory[at]->size();
    delete memory[at];
    memory.erase(at);
    return OK;
}
int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t count, void *stream) {
    CONTEXT;
    DEMAND(!hung); // the real one may wait for the stream before it copies memory that is not pinned
    std::function<void()> work = [=] { memcpy(bytes(to, count), from, count); };
    fake_enqueue(stream, &work);
    return OK;
}
int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t count, void *stream) {
    CONTEXT;
    DEMAND(!hung || pinned.count(to));
    std::function<void()> work = [=] { memcpy(to, bytes(from, count), count); };
    fake_enqueue(stream, &work);
    return OK;
}
// An image is what nvrtc.cpp writes: "FAKE ,kernel,kernel, target OPTION=value …".
int cuModuleLoadData(void **module, const void *image) {
    CONTEXT;
    char kernels[2000], target[20], option[100];
    int read = 0;
    const char *text = (const char *)image;
    if (sscanf(text, "FAKE %1999s %19s%n", kernels, target, &read) != 2) return INVALID_IMAGE;
    // Machine code runs on its own GPU; PTX on this and later ones.
    int of = 0;
    bool fits = sscanf(target, "sm_%d", &of) == 1 ? of == capability() : sscanf(target, "compute_%d", &of) == 1 && of <= capability();
    if (!fits) return NO_BINARY;
    auto *made = new Module{"", target, {}, kernels};
    long value;
    for (text += read; sscanf(text, " %99[^=]=%ld%n", option, &value, &read) == 2; text += read)
        made->options[option] = value;
    modules[made] = new Function{made};
    *module = made;
    return OK;
}
int cuModuleUnload(void *module) {
    CONTEXT;
    auto found = modules.find((Module *)module);
    DEMAND(found != modules.end());
    for (auto *stream : streams) DEMAND(stream->waiting.empty()); // a kernel in there would lose its code
    delete found->second;
    delete found->first;
    modules.erase(found);
    return OK;
}
static bool alive(void *function) {
    return std::any_of(modules.begin(), modules.end(), [=](auto &m) { return m.second == function; });
}
int cuModuleGetFunction(void **function, void *module, const char *name) {
    CONTEXT;
    DEMAND(modules.count((Module *)module));
    auto *of = (Module *)module;
    if (of->kernels.find(std::string(",") + name + ",") == std::string::npos) return NOT_FOUND;
    DEMAND(of->name.empty() || of->name == name); // the course takes one kernel of each
    of->name = name;
    *function = modules[of];
    return OK;
}
int cuFuncGetAttribute(int *value, int attribute, void *function) {
    CONTEXT;
    DEMAND(alive(function) && attribute == 0); // threads of a block
    *value = is_elementwise(((Function *)function)->module->name) ? 512 : 1024;
    return OK;
}
int cuFuncSetAttribute(void *function, int attribute, int value) {
    CONTEXT;
    DEMAND(alive(function) && attribute == 8 && value >= 0); // shared memory next to the declared
    if (value > shared()) return INVALID_VALUE;
    ((Function *)function)->allowed_shared = value;
    return OK;
}
// Without being asked for, a block has 48 KiB at most.
static bool has_shared(void *function, unsigned bytes) {
    return bytes <= 49152 || bytes <= ((Function *)function)->allowed_shared;
}
struct Attribute { int id; char pad[4]; unsigned x, y, z; char rest[52]; };
static_assert(sizeof(Attribute) == 72, "CUlaunchAttribute");
struct Config { unsigned gx, gy, gz, bx, by, bz, shared; void *stream; Attribute *attributes; unsigned count; };
int cuOccupancyMaxActiveClusters(int *clusters, void *function, const Config *config) {
    CONTEXT;
    DEMAND(alive(function) && streams.count((Stream *)config->stream));
    DEMAND(((Function *)function)->module->name == "wgmma"); // the one with clusters
    DEMAND(config->count == 1 && config->attributes->id == 4);
    DEMAND(config->attributes->x == 2 && config->attributes->y == 1 && config->attributes->z == 1);
    DEMAND(config->gx % 2 == 0 && config->gy == 1 && config->gz == 1);
    DEMAND(config->bx == 384 && config->by == 1 && config->bz == 1 && has_shared(function, config->shared));
    *clusters = number("FAKE_CLUSTERS", 66);
    return OK;
}
// "The parameters passed are bound to the following requirements", in cuda.h; rank 2 and bf16 are what the course has.
int cuTensorMapEncodeTiled(Map *map, int type, unsigned rank, uint64_t address, const uint64_t *size,
                           const uint64_t *strides, const uint32_t *box, const uint32_t *steps, int interleave,
                           int swizzle, int promotion, int fill) {
    CONTEXT;
    DEMAND(uint64_t(map) % 64 == 0 && type == 9 && rank == 2 && interleave == 0);
    DEMAND(address % 16 == 0 && strides[0] % 16 == 0 && strides[0] < uint64_t(1) << 40 && strides[0] >= 2 * size[0]);
    for (int i = 0; i < 2; i++) {
        DEMAND(size[i] >= 1 && size[i] <= uint64_t(1) << 32 && box[i] >= 1 && box[i] <= 256);
        DEMAND(steps[i] == 1);
    }
    DEMAND(swizzle == 3 && 2 * box[0] % 16 == 0 && 2 * box[0] <= 128); // of 128 bytes
    DEMAND(promotion >= 0 && promotion <= 3 && fill == 0);
    bytes(address, strides[0] * size[1]); // all rows are there
    *map = Map{MAP_MAGIC, address, size[0], size[1], strides[0], {box[0], box[1]}, {1, 1}, {}};
    maps_made++;
    return OK;
}
#ifndef BEFORE_12_4
int cuFuncGetParamInfo(void *function, size_t at, size_t *offset, size_t *size) {
    CONTEXT;
    DEMAND(alive(function));
    auto sizes = parameters_of(((Function *)function)->module->name);
    if (at >= sizes.size()) return INVALID_VALUE;
    *offset = 0;
    for (size_t i = 0; i <= at; i++) *offset = (*offset + sizes[i] - 1) / sizes[i] * sizes[i] + (i < at ? sizes[i] : 0);
    *size = sizes[at];
    return OK;
}
#endif
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void *stream, void **parameters, void **extra) {
    CONTEXT;
    DEMAND(alive(function) && streams.count((Stream *)stream) && !extra);
    auto *module = ((Function *)function)->module;
    std::string name = module->name;
    DEMAND(gx && gy && gz == 1 && bx && by && bz == 1 && gy <= 65535 && has_shared(function, shared));
    DEMAND(bx * by <= (is_elementwise(name) ? 512 : 1024));
    if (const char *fatal = getenv("FAKE_FAULT_KERNEL"); fatal && name == fatal) {
        std::function<void()> work = [] { broken = 700; };
        fake_enqueue(stream, &work);
        return OK;
    }
    if (const char *endless = getenv("FAKE_HANG"); endless && name == endless) {
        hung = true;
        return OK;
    }
    if (!is_elementwise(name)) {
        DEMAND(name != "wgmma" || gx / 2 <= unsigned(number("FAKE_CLUSTERS", 66))); // the others would come after all these
        auto product = product_of(*module, Grid{gx, gy, bx, by, shared}, parameters);
        std::function<void()> work = [=] {
            device_clock += 2;
            product();
        };
        fake_enqueue(stream, &work);
        return OK;
    }
    // The driver copies the parameters before it returns.
    uint64_t x, y;
    memcpy(&x, parameters[0], 8);
    memcpy(&y, parameters[1], 8);
    unsigned third;
    memcpy(&third, parameters[2], 4);
    long steps = module->option("STEPS", 1), threads = long(gx) * bx;
    std::function<void()> work = [=] {
        device_clock += 2;
        if (name == "copy") { // four pieces of 16 bytes for each thread
            size_t pieces = std::min(long(third), 4 * threads);
            if (pieces) memcpy(bytes(y, 16 * pieces), bytes(x, 16 * pieces), 16 * pieces);
            return;
        }
        long count = name == "map" ? long(third) : threads;
        float factor;
        memcpy(&factor, &third, 4);
        for (long i = 0; i < std::min(count, threads); i++) {
            float value;
            memcpy(&value, bytes(x + 4 * i, 4), 4);
            if (name == "map")
                for (long step = 0; step < steps; step++) value = value * 0.5f + 1.0f;
            else
                value *= factor;
            memcpy(bytes(y + 4 * i, 4), &value, 4);
        }
    };
    fake_enqueue(stream, &work);
    return OK;
}
int cuEventCreate(void **event, unsigned) {
    CONTEXT;
    auto *made = new Event;
    events.insert(made);
    *event = made;
    return OK;
}
int cuEventDestroy_v2(void *event) {
    CONTEXT;
    DEMAND(events.count((Event *)event));
    events.erase((Event *)event);
    delete (Event *)event;
    return OK;
}
int cuEventRecord(void *event, void *stream) {
    CONTEXT;
    DEMAND(events.count((Event *)event));
    std::function<void()> work = [=] {
        device_clock += 0.25;
        if (events.count((Event *)event)) ((Event *)event)->at = device_clock; // who waits for it may have destroyed it
    };
    fake_enqueue(stream, &work);
    ((Event *)event)->in = (Stream *)stream;
    ((Event *)event)->place = ((Stream *)stream)->given;
    return OK;
}
// As a stream's: what is before it is done.
int cuEventQuery(void *event) {
    CONTEXT;
    DEMAND(events.count((Event *)event));
    if (hung) return 600; // not ready
    if (auto *in = ((Event *)event)->in) wait(in, ((Event *)event)->place);
    return hung ? 600 : broken ? broken : OK;
}
int cuEventElapsedTime(float *milliseconds, void *start, void *end) {
    CONTEXT;
    double begun = ((Event *)start)->at, ended = ((Event *)end)->at;
    if (begun < 0 || ended < 0) return 600; // not ready
    *milliseconds = float(ended - begun);
    return OK;
}
int cuStreamBeginCapture_v2(void *stream, int mode) {
    CONTEXT;
    auto *to = (Stream *)stream;
    DEMAND(streams.count(to) && !to->captures && mode >= 0 && mode <= 2);
    to->captures = true;
    return OK;
}
int cuStreamEndCapture(void *stream, Works **graph) {
    CONTEXT;
    auto *from = (Stream *)stream;
    DEMAND(streams.count(from) && from->captures);
    *graph = new Works(std::move(from->captured));
    graphs.insert(*graph);
    from->captured.clear();
    from->captures = false;
    return OK;
}
int cuGraphInstantiateWithFlags(Works **made, Works *graph, unsigned long long flags) {
    CONTEXT;
    DEMAND(graphs.count(graph) && flags == 0);
    *made = new Works(*graph);
    graphs.insert(*made);
    return OK;
}
int cuGraphLaunch(Works *graph, void *stream) {
    CONTEXT;
    DEMAND(graphs.count(graph));
    for (auto work : *graph) fake_enqueue(stream, &work);
    return OK;
}
int cuGraphDestroy(Works *graph) {
    CONTEXT;
    DEMAND(graphs.erase(graph) == 1);
    delete graph;
    return OK;
}
int cuGraphExecDestroy(Works *graph) { return cuGraphDestroy(graph); }
int cuMemHostAlloc(void **at, size_t bytes, unsigned flags) {
    CONTEXT;
    DEMAND(bytes > 0 && flags == 0);
    *at = malloc(bytes);
    pinned.insert(*at);
    return OK;
}
int cuMemFreeHost(void *at) {
    CONTEXT;
    DEMAND(pinned.erase(at) == 1);
    free(at);
    return OK;
}
// What comes later in `stream` waits for the event's last mark: here, for all that its stream was given before.
int cuStreamWaitEvent(void *stream, void *event, unsigned flags) {
    CONTEXT;
    DEMAND(streams.count((Stream *)stream) && events.count((Event *)event) && flags == 0);
    auto *marked = ((Event *)event)->in;
    auto before = ((Event *)event)->place;
    std::function<void()> work = [=] {
        DEMAND(streams.count(marked));
        while (marked->done < before) {
            DEMAND(!marked->waiting.empty()); // waits for what will never come
            auto next = std::move(marked->waiting.front());
            marked->waiting.erase(marked->waiting.begin());
            marked->done++;
            next();
        }
    };
    if (marked) fake_enqueue(stream, &work);
    return OK;
}
}
