#!/usr/bin/env bash
# Compiles every kernel of the course with NVIDIA's compilers, for three generations of GPUs, without a GPU:
#
#     tools/cuda/compile.sh ~/.cache/throughput/cuda
#
# The folder gets the compilers first, if it has none (0.1 GB, see toolkit.sh). Prints the registers, shared memory
# and spills of each kernel; fails where one does not compile, or where a fast one spills.
set -euo pipefail
[ $# -eq 1 ] || { echo 'Usage: tools/cuda/compile.sh DIR' >&2; exit 2; }
toolkit="$(bash "$(dirname "$0")/toolkit.sh" "$1" --compile-only)"
eval "$toolkit"
cd "$(dirname "$0")/../.."
THROUGHPUT_REQUIRE_NVCC=1 cargo test -q -p cpu_gpu -p performance --test it cuda_compile -- --nocapture
