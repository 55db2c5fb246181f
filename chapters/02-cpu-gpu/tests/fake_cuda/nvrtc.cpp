// A stand-in for NVRTC: "compiles" a source into "FAKE ,kernel,kernel, target OPTION=value …", all of its kernels and all options
// that are numbers. It refuses an architecture that it does not know, and a source with the word `oops`.
#include "fake.h"
#include <algorithm>
#include <cstring>
#include <iterator>
#include <regex>
#include <set>
#include <string>

struct Program { std::string source, name, image, log; };
static auto &programs = *new std::set<Program *>;
static const int known[] = {80, 86, 89, 90}; // compute capabilities
using namespace std::string_literals;

extern "C" {
static long compiled = 0;
long fake_programs_left() { return programs.size(); }
long fake_programs_compiled() { return compiled; }
int nvrtcVersion(int *major, int *minor) { *major = 13; *minor = 0; return 0; }
const char *nvrtcGetErrorString(int) { return "NVRTC_ERROR"; }
int nvrtcCreateProgram(Program **program, const char *source, const char *name, int headers, const char *const *,
                       const char *const *) {
    DEMAND(headers == 0);
    *program = new Program{source, name, "", ""};
    programs.insert(*program);
    return 0;
}
int nvrtcDestroyProgram(Program **program) {
    DEMAND(programs.erase(*program) == 1);
    delete *program;
    *program = nullptr;
    return 0;
}
int nvrtcCompileProgram(Program *program, int count, const char *const *options) {
    DEMAND(programs.count(program));
    static const std::regex kernel("\\b(?:KERNEL|__global__)\\b[^;{}]*?\\bvoid\\s+(?:__\\w+\\([^)]*\\)\\s+)*(\\w+)\\(");
    std::string target, defines, source = program->source;
    for (int i = 0; i < count; i++) {
        std::string option = options[i];
        char *end = options[i] ? (char *)strchr(options[i], '=') : nullptr;
        if (option.rfind("-D", 0) == 0 && end) {
            char *last;
            strtol(end + 1, &last, 10);
            if (last != end + 1 && !*last) defines += " " + option.substr(2);
        }
        if (option.rfind("--gpu-architecture=", 0) == 0 && end)
            for (int arch : known) {
                std::string number = std::to_string(arch);
                if (end + 1 == "sm_" + number || end + 1 == "compute_" + number || (arch == 90 && end + 1 == "sm_90a"s))
                    target = end + 1;
            }
    }
    if (target.empty()) return 5; // NVRTC_ERROR_INVALID_OPTION
    compiled++;
    if (program->source.find(" oops") != std::string::npos) {
        program->log = program->name + "(3): error: oops is undefined";
        return 6; // NVRTC_ERROR_COMPILATION
    }
    std::string kernels = ",";
    for (std::smatch found; std::regex_search(source, found, kernel); source = found.suffix()) kernels += found.str(1) + ",";
    program->image = "FAKE " + kernels + " " + target + defines;
    return 0;
}
int nvrtcGetNumSupportedArchs(int *count) { *count = std::size(known); return 0; }
int nvrtcGetSupportedArchs(int *to) { std::copy(std::begin(known), std::end(known), to); return 0; }
static bool is_ptx(Program *program) { return program->image.find(" compute_") != std::string::npos; }
// Sizes count the zero byte at the end. There is machine code for a GPU, and PTX for a generation.
int nvrtcGetCUBINSize(Program *program, size_t *size) { *size = is_ptx(program) ? 0 : program->image.size() + 1; return 0; }
int nvrtcGetCUBIN(Program *program, char *to) { DEMAND(!is_ptx(program)); strcpy(to, program->image.c_str()); return 0; }
int nvrtcGetPTXSize(Program *program, size_t *size) { *size = program->image.size() + 1; return 0; }
int nvrtcGetPTX(Program *program, char *to) { DEMAND(is_ptx(program)); strcpy(to, program->image.c_str()); return 0; }
int nvrtcGetProgramLogSize(Program *program, size_t *size) { *size = program->log.size() + 1; return 0; }
int nvrtcGetProgramLog(Program *program, char *to) { strcpy(to, program->log.c_str()); return 0; }
}
