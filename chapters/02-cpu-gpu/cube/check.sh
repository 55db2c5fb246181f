#!/usr/bin/env bash
# All that must hold here, when this folder has changed: format, lints and tests, with no GPU. Takes a Vulkan device in
# software (Debian: mesa-vulkan-drivers libvulkan1) and NVRTC, which the folder that it is given gets if it has none.
set -euo pipefail
cd "$(dirname "$0")"
exports=$(bash ../../../tools/cuda/toolkit.sh "$1" --compile-only --checks)
eval "$exports"
export THROUGHPUT_REQUIRE_VULKAN=1 THROUGHPUT_REQUIRE_NVRTC=1
export XDG_RUNTIME_DIR="${XDG_RUNTIME_DIR:-/tmp}" # else lavapipe complains, of windows that nobody opens
# Clippy compiles this crate, and so needs no second build of the 200 crates below it.
export RUSTC_WORKSPACE_WRAPPER=clippy-driver RUSTFLAGS='-D warnings'
cargo fmt --check
cargo test --locked --features cuda-text
