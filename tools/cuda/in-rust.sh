#!/usr/bin/env bash
# Builds and checks the two crates of kernels written in Rust, chapters/02-cpu-gpu/tile and cube, if anything in them has
# changed since they last passed:
#
#     tools/cuda/in-rust.sh ~/.cache/throughput/cuda
#     tools/cuda/in-rust.sh --changed               # only says which have, and succeeds if there are any
#
# Each is a workspace of its own that takes minutes to build, so that `passed` in its folder has the digest of all that it
# depends on. The folder gets the compilers that it lacks (see toolkit.sh). Commit `passed` with the change.
set -euo pipefail
[ $# -eq 1 ] || { echo 'Usage: tools/cuda/in-rust.sh DIR' >&2; exit 2; }
[ "$1" = --changed ] || { mkdir -p "$1" && toolkit="$(cd "$1" && pwd)"; }
cd "$(dirname "$0")/../.."
changed=1
for crate in chapters/02-cpu-gpu/tile chapters/02-cpu-gpu/cube; do
    files=("$crate" tools/cuda/toolkit.sh rustfmt.toml)
    # Three kernels of `tile` are solutions of exercises, and its tests make a reader's file of them.
    [ "$crate" != chapters/02-cpu-gpu/tile ] || files+=(chapters/02-cpu-gpu/exercises/{product-tn,epilogue,attention-dq}/solution.rs
        tools/bookbinder/src/exercises/stub.rs)
    digest="$(git ls-files -co --exclude-standard -- "${files[@]}" |
        grep -vxE "$crate/(passed|README.md)" | LC_ALL=C sort -u | xargs -d '\n' sha256sum | sha256sum | cut -c 1-64)"
    if [ "$digest" = "$(cat "$crate/passed" 2>/dev/null)" ]; then
        echo "$crate is unchanged since it passed"
        continue
    fi
    changed=0
    echo "$crate has changed"
    [ "$1" = --changed ] && continue
    (cd "$crate" && bash check.sh "$toolkit")
    echo "$digest" >"$crate/passed"
    echo "passed: commit $crate/passed with the change, and it is not built again"
done
[ "$1" != --changed ] || exit $changed
