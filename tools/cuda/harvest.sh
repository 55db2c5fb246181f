#!/usr/bin/env bash
# Every measurement that needs an NVIDIA GPU, taken on a machine that has a driver and neither Rust nor a network.
#
#     tools/cuda/harvest.sh pack harvest              # here: builds what is carried there, and says how large it is
#     bash tools/cuda/harvest.sh 1 harvest OUT        # there: three commands, one after the other, each below 590 s
#     bash tools/cuda/harvest.sh 2 harvest OUT
#     bash tools/cuda/harvest.sh 3 harvest OUT
#     bash tools/cuda/harvest.sh all harvest OUT      # there, in one command: as much as HARVEST_LIMIT seconds allow
#     tools/cuda/harvest.sh join OUT1 OUT2 OUT3 TO    # here: one folder of records out of what came back
#
# HARVEST_ONLY, a regular expression, chooses among the steps by their names.
#
# Every step is a program of its own with a limit, writes a line to OUT/summary.txt and its words to a log, and costs no
# other step anything when it fails. OUT/harvest.tar.gz holds records, logs and machine code after each of them, so that
# a command that is cut off has not run for nothing. README.md beside this file says more.
set -uo pipefail

usage() {
    sed -n '2,/^set /{s/^# \{0,1\}//;/^set /d;p}' "$0"
}
say() { printf 'harvest: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

# The most that may be carried, in megabytes.
most=${HARVEST_MOST:-60}

# ---- here ------------------------------------------------------------------------------------------------------

# pack DIR: builds the command with the feature `cuda`, and the tests that run on a GPU. HARVEST_DEFAULT_ONLY=1 leaves the
# feature out: that needs no library of CUDA but the driver and NVRTC. HARVEST_NO_TESTS=1 leaves the tests out, HARVEST_MOST is
# the most that may be carried, in megabytes. MNIST_DIR is carried too, if it is set.
pack() {
    [ $# -eq 1 ] || { usage >&2; exit 2; }
    mkdir -p "$1/tests" || fail "can't write to $1"
    local dir target features=(--features cuda)
    [ -z "${HARVEST_DEFAULT_ONLY:-}" ] || features=()
    dir="$(cd "$1" && pwd)"
    cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
    target="${CARGO_TARGET_DIR:-target}"
    # The course's own commit, whatever repository the surroundings name or lie in.
    unset $(git rev-parse --local-env-vars 2>/dev/null)
    if [ "$(git rev-parse --show-toplevel 2>/dev/null)" -ef . ] && git rev-parse --short HEAD >"$dir/commit"; then
        [ -z "$(git status --porcelain --untracked-files=no)" ] || sed -i 's/$/+/' "$dir/commit"
    fi
    cp "${BASH_SOURCE[0]}" "$dir/harvest.sh" 2>/dev/null || true

    local profile=${HARVEST_PROFILE:-release} folder=${HARVEST_PROFILE:-release}
    [ "$profile" != dev ] || folder=debug
    cargo build --profile "$profile" "${features[@]}" || fail 'the command does not build'
    carry "$target/$folder/throughput" "$dir/throughput"
    # With the command among the packages its crates serve the tests, too: the features are the same.
    local package
    if [ -z "${HARVEST_NO_TESTS:-}" ]; then
        for package in cpu_gpu performance multi_gpu language_model; do
            carry "$(test_of "$package" --lib)" "$dir/tests/$package"
        done
        carry "$(test_of cpu_gpu --test it)" "$dir/tests/cpu_gpu-it"
    fi
    if [ ${#features[@]} -gt 0 ]; then
        # Kernels that are compiled while it runs include these, by their full paths.
        tar -cJPhf "$dir/headers.tar.xz" "$CUDA_PATH"/include/cuda_fp16.{h,hpp} "$CUDA_PATH"/include/nv \
            "$(cd "$target" && pwd)/$folder"/build/dfdx-*/out/*.cuh || fail 'the headers of dfdx are not there'
    fi
    if [ -n "${MNIST_DIR:-}" ]; then
        mkdir -p "$dir/mnist"
        local file
        for file in "$MNIST_DIR"/*ubyte*; do
            case "$file" in
                *.gz) cp "$file" "$dir/mnist/" ;;
                *) gzip -9c "$file" >"$dir/mnist/$(basename "$file").gz" ;;
            esac
        done
    fi
    size "$dir"
}

# The program of a crate's unit tests (--lib) or of its integration tests (--test it).
test_of() {
    local package=$1
    shift
    cargo test --no-run --profile "$profile" -p throughput -p "$package" "${features[@]}" "$@" --message-format=json 2>/dev/null |
        grep -E "[#/]$package@" | grep -oE '"executable":"[^"]+"' | tail -n 1 | cut -d'"' -f4
}

# carry FROM TO: a program without its symbols, compressed.
carry() {
    [ -x "$1" ] || fail "there is no program $1"
    strip -o "$2" "$1" && xz -T0 -6 -f "$2" || fail "$1 can't be packed"
}

size() {
    local bytes
    bytes=$(find "$1" -type f -printf '%s\n' | awk '{ sum += $1 } END { print sum + 0 }')
    say "$1 has $((bytes / 1000000)) MB in $(find "$1" -type f | wc -l) files"
    [ "$bytes" -le $((most * 1000000)) ] || fail "that is more than the $most MB that may be carried"
}

# join OUT… TO: the records of all commands in one folder; of an experiment that ran twice, the later one.
join() {
    [ $# -ge 2 ] || { usage >&2; exit 2; }
    python3 - "$@" <<'PYTHON'
import json, pathlib, sys, tarfile, tempfile

def text(record):
    """As `measure` writes it: one value a line."""
    lines = {}
    for run in record.get("runs", []):
        for part in ("values", "skipped"):
            for at, value in enumerate(run.get(part, [])):
                mark = f"@{len(lines)}@"
                lines[f'"{mark}"'] = json.dumps(value, ensure_ascii=False)
                run[part][at] = mark
    whole = json.dumps(record, indent=2, ensure_ascii=False)
    for mark, line in lines.items():
        whole = whole.replace(mark, line, 1)
    return whole + "\n"

*froms, to = map(pathlib.Path, sys.argv[1:])
to.mkdir(parents=True, exist_ok=True)
for out in froms:
    archive = out / "harvest.tar.gz"
    if not archive.is_file():
        sys.exit(f"harvest: {archive} is not there")
    with tempfile.TemporaryDirectory() as folder:
        tarfile.open(archive).extractall(folder, filter="data")
        for file in sorted(pathlib.Path(folder).glob("records/*/*.json")):
            target = to / file.parent.name / file.name
            target.parent.mkdir(exist_ok=True)
            new = json.loads(file.read_text())
            if "runs" in new and target.is_file():
                names = {run["experiment"] for run in new["runs"]}
                old = json.loads(target.read_text())["runs"]
                new["runs"] = [run for run in old if run["experiment"] not in names] + new["runs"]
            target.write_text(text(new))
            print(f"harvest: {target}", file=sys.stderr)
PYTHON
}

# ---- there -----------------------------------------------------------------------------------------------------

# One command. Its limit leaves time for what comes before and after it.
limit=${HARVEST_LIMIT:-570}
begun=$SECONDS

# Puts what there is so far where it is taken from.
gather() {
    tar -czf "$out/.part" -C "$state" records logs sass summary.txt 2>/dev/null && mv -f "$out/.part" "$out/harvest.tar.gz"
    cp -f "$state/summary.txt" "$out/summary.txt" 2>/dev/null
}

# step NAME SECONDS COMMAND…: at most so many seconds, and not beyond the command's limit.
step() {
    local name=$1 seconds=$2 from=$SECONDS left=$((limit - (SECONDS - begun))) rc
    shift 2
    [[ "$name" =~ ${HARVEST_ONLY:-.} ]] || return 0
    if [ "$left" -lt 8 ]; then
        printf '%-28s left out, no time\n' "$name" >>"$state/summary.txt"
        gather
        return
    fi
    [ "$seconds" -le "$left" ] || seconds=$left
    timeout --kill-after=5 "$seconds" "$@" >"$state/logs/$name.txt" 2>&1 </dev/null
    rc=$?
    printf '%-28s exit %-3s %4d s  %s%s\n' "$name" "$rc" $((SECONDS - from)) "$(outcome "$state/logs/$name.txt")" \
        "$(counted "$name")" >>"$state/summary.txt"
    tail -n 1 "$state/summary.txt" >&2
    gather
}

# The line of a log that says most: a test's result, else the last one.
outcome() {
    grep -hE '^(test result|error|skipped)' "$1" | tail -n 1 | cut -c1-200 | grep . || tail -n 1 "$1" | cut -c1-200
}

# What an experiment of this name has left, as its record has it, and the last reason for what it left out.
counted() {
    local file=$state/records/$machine/${1%%.*}.json
    [ -s "$file" ] || return 0
    awk -v key="\"experiment\": \"$1\"" '
        index($0, "\"experiment\":") { here = index($0, key) > 0; found += here }
        here && index($0, "\"values\": [") { part = "values" }
        here && index($0, "\"skipped\": [") { part = "skipped" }
        here && /^ *\{"key"/ {
            number[part]++
            if (part == "skipped" && match($0, /"why": "[^"]*/)) why = substr($0, RSTART + 8, RLENGTH - 8)
        }
        END { if (found) printf ": %d values, %d left out%s", number["values"], number["skipped"], why ? " (" substr(why, 1, 140) ")" : "" }
    ' "$file"
}

# measure SECONDS KEY [OPTION…]: one experiment as a program of its own.
measure() {
    local seconds=$1 key=$2
    shift 2
    step "$key" "$seconds" "$state/throughput" measure "$key" --budget "$budget" --records records \
        --machine "$machine" --verbose "$@"
}

# tests NAME SECONDS CRATE [FILTER…]: a crate's tests, or those whose names contain a filter.
tests() {
    local name=$1 seconds=$2 program=$state/tests/$3
    shift 3
    step "$name" "$seconds" "$program" --nocapture --test-threads=1 "$@"
}

# What xz has packed, also where there is none.
unpack() {
    if command -v xz >/dev/null; then
        xz -dc "$1"
    else
        python3 -c 'import lzma, shutil, sys; shutil.copyfileobj(lzma.open(sys.argv[1]), sys.stdout.buffer)' "$1"
    fi
}

# Programs out of the carried folder, libraries that this machine has, and where everything goes. Done once a machine.
prepare() {
    dir="$(cd "$1" && pwd)" || fail "there is no folder $1"
    mkdir -p "$2" || fail "can't write to $2"
    out="$(cd "$2" && pwd)"
    state=${HARVEST_STATE:-/tmp/throughput-harvest}
    machine=${HARVEST_MACHINE:-h200}
    budget=${HARVEST_BUDGET:-full}
    mkdir -p "$state"/{records,logs,sass,kernels,tests,mnist} "$state/home" || fail "can't write to $state"
    touch "$state/summary.txt"
    local packed program
    for packed in "$dir"/*.xz "$dir"/tests/*.xz; do
        program=$state/${packed#"$dir"/}
        program=${program%.xz}
        case "$packed" in *.tar.xz) continue ;; esac
        [ -x "$program" ] || [ ! -e "$packed" ] && continue
        unpack "$packed" >"$program.part" && chmod +x "$program.part" && mv "$program.part" "$program"
    done
    [ -x "$state/throughput" ] || fail "$dir has no throughput.xz; make it with: tools/cuda/harvest.sh pack"
    cp -n "$dir"/mnist/* "$state/mnist/" 2>/dev/null
    [ -s "$dir/headers.tar.xz" ] && unpack "$dir/headers.tar.xz" | tar -xPf - 2>/dev/null
    THROUGHPUT_COMMIT=$(cat "$dir/commit" 2>/dev/null)
    export THROUGHPUT_COMMIT
    # What is there of CUDA's libraries: in the toolkit's folders, or in Python's packages.
    local found library folder
    found=$(find -L /usr/local /opt /usr/lib -maxdepth 10 -type f \
        \( -name 'libnvrtc.so.*' -o -name 'libcublas.so.*' -o -name 'libcurand.so.*' -o -name 'libnccl.so.*' \) 2>/dev/null | sort -V)
    for library in libnvrtc libcublas libcurand libnccl; do
        folder=$(grep -F "/$library.so" <<<"$found" | tail -n 1)
        [ -z "$folder" ] || LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$(dirname "$folder")"
    done
    export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:-}"
    export THROUGHPUT_OPENCL=off # with it everything would be measured twice
    export THROUGHPUT_KERNELS=$state/kernels NO_COLOR=1 RUST_BACKTRACE=0
    [ -n "$(ls "$state/mnist" 2>/dev/null)" ] && export MNIST_DIR=$state/mnist
    # The tests of portable kernels run on the GPU, where there is one. The first question starts its driver.
    if timeout 60 nvidia-smi -L >/dev/null 2>&1; then
        export THROUGHPUT_TEST_DEVICE=cuda THROUGHPUT_REQUIRE_CUDA=1
        gpu=1
    else
        gpu=
        say 'there is no NVIDIA GPU here: every step says so and goes on'
    fi
    cd "$state" || exit 1
}

# The machine code of all kernels that were compiled here, as the disassembler shows it.
sass() {
    local disassembler file
    disassembler=$(command -v nvdisasm || find /usr/local /opt -maxdepth 8 -name nvdisasm -type f 2>/dev/null | head -n 1)
    [ -n "$disassembler" ] || {
        cp "$state"/kernels/w*.cubin "$state/sass/" 2>/dev/null
        echo 'skipped: there is no nvdisasm here; the cubins come back instead'
        return 0
    }
    for file in "$state"/kernels/*.cubin; do
        [ -s "$file" ] || { echo 'skipped: no kernel was compiled'; return 0; }
        "$disassembler" -c "$file" | gzip -9 >"$state/sass/$(basename "$file" .cubin).sass.gz"
    done
    for file in "$state"/sass/wgmma-sm_90a-*.sass.gz; do
        [ -s "$file" ] && echo "$file: $(zcat "$file" | grep -c HGMMA) HGMMA, $(zcat "$file" | grep -cE '(LDL|STL)') local"
    done
    ls "$state/sass" | wc -l
}

# Why the program does not start here, if it does not.
starts() {
    local missing
    missing=$(ldd "$state/throughput" 2>&1 | awk '/not found/ { print $1 }' | sort -u | paste -sd' ')
    [ -z "$missing" ] || { echo "error: the program needs $missing, not found here"; return 1; }
    "$state/throughput" --version
}

one() { # the most valuable: is it right, how fast is the ladder, and what training gains
    step machine 60 bash -c 'nvidia-smi -q || echo "skipped: no nvidia-smi"'
    step starts 20 bash -c starts
    step doctor 60 "$state/throughput" doctor
    measure 60 cpu_gpu.devices
    tests right-on-a-gpu 150 cpu_gpu on_a_gpu there_is_a_gpu
    measure 300 cpu_gpu.ladder
    measure 100 training.speed --device cuda:0
    measure 90 language_model.gpu
    step sass 60 bash -c sass
}

two() { # the other measurements of chapters 2, 5 and 6
    measure 60 performance.gpu.graph
    measure 60 performance.gpu.overlap
    measure 30 performance.gpu.timeline
    measure 120 performance.gpu.fused
    measure 150 cpu_gpu.truck
    measure 100 mixed_precision.amp.speed --device cuda:0
    measure 90 cpu_gpu.counters
    measure 60 cpu_gpu.lu
    measure 60 performance.pieces
}

three() { # training as the reader types it, and all tests
    local model
    for model in mlp cnn resnet rnn transformer; do
        step "train-$model" 45 "$state/throughput" train --model "$model" --device cuda:0 --epochs 2 --run "runs/$model"
    done
    tests nccl 30 multi_gpu on_a_gpu
    tests tests-cpu_gpu 100 cpu_gpu gpu:: tensor_cores:: verify:: wrong:: truck:: lu::
    tests tests-ladder 100 cpu_gpu-it ladder:: lu_device::
    tests tests-performance 120 performance gpu::
    tests tests-language_model 60 language_model gpu::
    measure 40 lab.peaks
}

case "${1:-}" in
    pack) shift; pack "$@" ;;
    join) shift; join "$@" ;;
    1 | 2 | 3 | all)
        [ $# -eq 3 ] || { usage >&2; exit 2; }
        export -f sass starts
        prepare "$2" "$3"
        export state
        printf '== command %s at %s\n' "$1" "$(date -u +%FT%TZ)" >>"$state/summary.txt"
        case "$1" in 1) one ;; 2) two ;; 3) three ;; all) one && two && three ;; esac
        printf '== command %s took %d s\n' "$1" $((SECONDS - begun)) >>"$state/summary.txt"
        gather
        say "$(wc -c <"$out/harvest.tar.gz") bytes in $out/harvest.tar.gz"
        ;;
    -h | --help) usage ;;
    *) usage >&2; exit 2 ;;
esac
