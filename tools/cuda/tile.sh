#!/usr/bin/env bash
# Builds and checks chapters/02-cpu-gpu/tile, if anything has changed since it last passed:
#
#     tools/cuda/tile.sh ~/.cache/throughput/cuda
#
# It is a workspace of its own that takes minutes to build, so that `passed` in its folder has the digest of all that it
# depends on. The folder gets the compilers first, if it has none (0.3 GB, see toolkit.sh). Commit `passed` with the change.
set -euo pipefail
[ $# -eq 1 ] || { echo 'Usage: tools/cuda/tile.sh DIR' >&2; exit 2; }
mkdir -p "$1"
toolkit="$(cd "$1" && pwd)"
cd "$(dirname "$0")/../.."
crate=chapters/02-cpu-gpu/tile
digest="$(git ls-files -co --exclude-standard -- "$crate" tools/cuda/toolkit.sh tools/cuda/tile.sh rustfmt.toml |
    grep -vxE "$crate/(passed|README.md)" | LC_ALL=C sort -u | xargs -d '\n' sha256sum | sha256sum | cut -c 1-64)"
if [ "$digest" = "$(cat "$crate/passed" 2>/dev/null)" ]; then
    echo "skipped: $crate is unchanged since it passed"
    exit
fi
exports="$(bash tools/cuda/toolkit.sh "$toolkit" --tile)"
eval "$exports"
cd "$crate"
cargo fmt --all --check
cargo clippy --locked --all-targets -- -D warnings
cargo test --locked
echo "$digest" >passed
echo "passed: commit $crate/passed with the change, and it is not built again"
