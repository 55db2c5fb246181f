#!/usr/bin/env bash
# All that must hold here, when this folder has changed: format, lints and tests, with no GPU. The folder that it is given
# gets CUDA 13.5, if it has none.
set -euo pipefail
cd "$(dirname "$0")"
exports="$(bash ../../../tools/cuda/toolkit.sh "$1" --tile)"
eval "$exports"
cargo fmt --all --check
cargo clippy --locked --all-targets -- -D warnings
cargo test --locked
