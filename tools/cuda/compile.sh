#!/usr/bin/env bash
# Compiles every kernel of the course with NVIDIA's compilers, for three generations of GPUs, without a GPU, and looks at
# the machine code:
#
#     tools/cuda/compile.sh ~/.cache/throughput/cuda
#
# The folder gets the compilers first, if it has none (0.2 GB, see toolkit.sh): NVRTC, which the program uses when it
# runs, nvcc, and nvdisasm. Prints the registers and shared memory of each kernel; fails where one does not compile, has a
# stack or registers in memory, where the compiler says that it is slower than it was written, or where the
# instructions are missing that it was written for.
set -euo pipefail
[ $# -eq 1 ] || { echo 'Usage: tools/cuda/compile.sh DIR' >&2; exit 2; }
toolkit="$(bash "$(dirname "$0")/toolkit.sh" "$1" --compile-only --checks)"
eval "$toolkit"
cd "$(dirname "$0")/../.."
export THROUGHPUT_REQUIRE_NVCC=1 THROUGHPUT_REQUIRE_NVRTC=1 THROUGHPUT_REQUIRE_NVDISASM=1
cargo test -q -p cpu_gpu -p engine_gpu -p language_model --test it -- --nocapture code:: cuda_compile:: compiled:: machine_code::
