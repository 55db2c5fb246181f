#!/usr/bin/env bash
# Every measurement that needs an NVIDIA GPU, taken on a machine that has a driver and neither Rust nor a network, beside
# PyTorch's where it has that.
#
#     tools/cuda/harvest.sh pack harvest              # here: builds what is carried there, and says how large it is
#     tools/cuda/harvest.sh plan harvest h100         # here: what the two commands will do, and what does not fit
#     bash harvest/harvest.sh 1 harvest OUT           # there: two commands of at most 570 and 200 seconds, one after
#     bash harvest/harvest.sh 2 harvest OUT           # the other
#     tools/cuda/harvest.sh join OUT1 OUT2 TO         # here: one folder of records out of what came back
#
# HARVEST_ONLY, a regular expression, chooses among the steps by their names.
#
# Every step is a program of its own with a limit, writes a line to OUT/summary.txt and its words to a log, and costs no
# other step anything when it fails. OUT/harvest.tar.gz holds records, logs, machine code, and the card's clock and power
# after each of them, so that a command that is cut off has not run for nothing. A step is left out whose files are those
# of its record: TO/MACHINE/ledger.txt keeps them, with its seconds and joules. README.md beside this file says more.
set -uo pipefail
export LC_ALL=C

usage() { sed -n '2,/^set /{s/^# \{0,1\}//;/^set /d;p}' "$0"; }
say() { printf 'harvest: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

# The most that may be carried, in megabytes.
most=${HARVEST_MOST:-60}

# ---- the steps -------------------------------------------------------------------------------------------------

# In the order of their worth: is it right, how fast beside PyTorch, what chapters owe. Each has its name, the seconds that
# it takes where no visit has shown how many, the files that its numbers depend on (- for one that always runs), and what it
# runs.
steps() {
    local two=chapters/02-cpu-gpu four=chapters/04-training five=chapters/05-performance six=chapters/06-mixed-precision
    local seven=chapters/07-multi-gpu nine=chapters/09-language-model peer=chapters/03-backprop/peers/pytorch.py model
    local rust="$two/tile/src $two/cube/src $two/src/in_rust.rs"
    local products="$two/kernels $two/src/tensor_cores $two/src/ladder.rs $two/src/gpu"
    local dfdx="$four/src/learning $four/src/models"
    local engine="$two/kernels/portable.h $five/engine/src $five/engine/kernels $five/gpu/src $five/src/learner.rs $dfdx"
    local gpt="$nine/kernels $nine/src/gpu.rs $nine/src/attention $nine/src/layers $nine/src/train $nine/src/transformer.rs"

    step machine 5 - bash -c 'nvidia-smi -q || echo "skipped: no nvidia-smi"'
    step starts 5 - bash -c starts
    tests right-on-a-gpu 60 "$products $rust $two/src/verify.rs $two/tests/it" cpu_gpu-it there_is_a_gpu
    tests tests-engine_gpu 25 "$engine $five/gpu/tests" engine_gpu-it
    tests tests-performance 20 "$engine $five/src/gpu $five/tests/it" performance-it gpu:: timeline:: a_device_trains
    tests tests-language_model 15 "$engine $gpt $nine/tests/it/gpu.rs" language_model-it gpu::
    tests tests-ladder 20 "$products $two/tests/it" cpu_gpu-it ladder:: lu_device::
    tests tests-cpu_gpu 25 "$two/kernels $two/src $two/tests/it" cpu_gpu-it gpu:: verify:: wrong:: truck:: experiments::lu:: --skip on_a_gpu
    tests nccl 10 "$seven/src/comm $seven/tests/it/comm" multi_gpu-it on_a_gpu

    measure cpu_gpu.ladder 110 "$products $rust $two/src/measured/experiments/ladder.rs"
    measure performance.gpu.pytorch 45 "$five/peers/pytorch_gpu.py $five/src/measured/experiments/pytorch.rs" --peers
    measure performance.gpu.models 140 "$peer $five/peers/pytorch_models.py $five/src/measured/experiments/pytorch.rs $engine" --peers
    measure language_model.gpu 95 "$engine $gpt $peer $nine/peers/pytorch_gpt.py $nine/src/measured/experiments/gpu.rs" --peers

    measure cpu_gpu.lu 25 "$two/kernels $two/src/lu $two/src/measured/experiments/lu.rs"
    measure lab.peaks 20 chapters/00-lab/src/peak.rs
    measure matmul.bf16 20 chapters/01-matmul/src
    step doctor 5 - "$state/throughput" doctor
    measure training.mlp 25 "$dfdx" --device cuda:0

    measure performance.gpu.timeline 15 "$engine $five/src/gpu $five/src/measured/experiments/timeline.rs"
    measure performance.pieces 15 "$five/src/measured/experiments/input.rs"
    measure mixed_precision.amp.speed 40 "$six/src/amp $six/src/measured/experiments/amp.rs $dfdx" --device cuda:0
    measure performance.gpu.graph 30 "$engine $five/src/gpu $five/src/measured/experiments/gpu.rs"
    measure performance.gpu.ahead 20 "$engine $five/src/gpu $five/src/measured/experiments/gpu.rs"
    step sass 15 "$products" bash -c sass
    for model in linear mlp cnn resnet transformer rnn; do
        step "train-$model" 10 "$engine" "$state/throughput" train --model "$model" --device cuda:0 --epochs 2 --run "runs/$model"
    done
    measure cpu_gpu.devices 20 "$two/src/measured/experiments/devices.rs"
    measure cpu_gpu.truck 56 "$two/kernels/map.cl $two/src/truck.rs $two/src/measured/experiments/truck.rs"
}

# measure KEY SECONDS FILES [OPTION…]: one experiment as a program of its own.
measure() {
    step "$1" "$2" "$3" "$state/throughput" measure "$1" --budget "$budget" --records records --machine "$machine" \
        --verbose "${@:4}"
}

# tests NAME SECONDS FILES CRATE [FILTER…]: a crate's tests, or those whose names contain a filter.
tests() {
    step "$1" "$2" "$3" "$state/tests/$4" --nocapture --test-threads=1 "${@:5}"
}

# Seconds of the two commands. Those of a device's lease, less what its start and transfers take.
seconds_of() { case $1 in 1) echo "${HARVEST_LIMIT:-570}" ;; 2) echo "${HARVEST_LIMIT:-200}" ;; esac; }

# step NAME SECONDS FILES COMMAND…: what it does depends on who reads the table.
step() {
    local name=$1 seconds=$2 files=$3 rest hash
    shift 3
    [[ "$name" =~ ${HARVEST_ONLY:-.} ]] || return 0
    if [ "$reader" = hashes ]; then
        hash=$(hashed "$files") || exit 1
        printf '%s %s\n' "$name" "$hash"
        return
    fi
    [[ " $finished " != *" $name "* ]] || return 0
    seconds=$(awk -v name="$name" -v or="$seconds" '$1 == name { or = $3 } END { print int(or) + (or > int(or)) }' "$ledger")
    rest=$(fresh "$name")
    if [ -n "$rest" ]; then
        told "$name" "up to date since $rest"
        finished+=" $name"
    elif [ "$seconds" -gt "$(left)" ]; then
        told "$name" "does not fit: it takes $seconds s, and $(left) are left of command $command"
    else
        finished+=" $name"
        case "$reader" in
            plan) told "$name" "$seconds s in command $command"; spent=$((spent + seconds)) ;;
            run) run "$name" "$seconds" "$@" ;;
        esac
    fi
}

# What is left of a command's seconds: of those that are planned, or of those that have gone by.
left() {
    if [ "$reader" = plan ]; then echo $((limit - spent)); else echo $((limit - (SECONDS - begun))); fi
}

# One number for all files in and below these.
hashed() {
    [ "$1" != - ] || { echo -; return; }
    local path
    for path in $1; do [ -e "$path" ] || fail "a step depends on $path, which is not there"; done
    # shellcheck disable=SC2086
    find $1 -type f -print0 | sort -z | xargs -0 cat | sha256sum | cut -c1-12
}

# The day of a step's record, if it came from the files that are carried.
fresh() {
    awk -v name="$1" 'FNR == NR { if ($1 == name) hash = $2; next }
        $1 == name && $2 == hash && hash != "-" && $7 == "done" { print $6 }' "$dir/hashes" "$ledger"
}

told() {
    if [ "$reader" = plan ]; then printf '%-28s %s\n' "$1" "$2"; else printf '%-28s %s\n' "$1" "$2" >>"$state/summary.txt"; fi
}

# Plans a command: what is finished after it.
planned() {
    command=$1 limit=$(seconds_of "$1") spent=10 reader=plan # to unpack and to look around
    steps
}

# plan DIR MACHINE: what the two commands will do on this card.
plan() {
    [ $# -eq 2 ] || { usage >&2; exit 2; }
    dir=$1 machine=$2 state=/tmp/none budget=full finished=
    [ -s "$dir/hashes" ] || fail "$dir has no hashes; make it with: tools/cuda/harvest.sh pack"
    ledger=$(ledger_of "$machine")
    local plan
    plan=$(mktemp)
    for command in 1 2; do
        planned "$command" >"$plan"
        if [ "$command" = 1 ]; then grep -v 'does not fit' "$plan"; else cat "$plan"; fi
        printf '== command %s: %d of %d s\n' "$command" "$spent" "$limit"
    done
    rm "$plan"
}

ledger_of() { if [ -s "$dir/ledgers/$1" ]; then echo "$dir/ledgers/$1"; else echo /dev/null; fi; }

# ---- here ------------------------------------------------------------------------------------------------------

# pack DIR: builds the command with the feature `cuda`, and the tests that run on a GPU. HARVEST_DEFAULT_ONLY=1 leaves the
# feature out: that needs no library of CUDA but the driver and NVRTC. HARVEST_NO_TESTS=1 leaves the tests out, HARVEST_MOST is
# the most that may be carried, in megabytes. MNIST_DIR is carried too, if it is set, and the kernels in Rust, if they are
# built, for the generation HARVEST_TARGET (sm_90).
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

    cargo build "${features[@]}" || fail 'the command does not build'
    carry "$target/debug/throughput" "$dir/throughput"
    # With the command among the packages its crates serve the tests, too: the features are the same.
    local package
    if [ -z "${HARVEST_NO_TESTS:-}" ]; then
        for package in cpu_gpu engine_gpu performance multi_gpu language_model; do
            carry "$(test_of "$package" --test it)" "$dir/tests/$package-it"
        done
    fi
    # What is looked for by its full path: PyTorch's programs, and what kernels include that are compiled while it runs.
    local paths=("$PWD"/chapters/*/peers/*.py)
    [ ${#features[@]} -eq 0 ] || paths+=("$CUDA_PATH"/include/cuda_fp16.{h,hpp} "$CUDA_PATH"/include/nv
        "$(cd "$target" && pwd)"/debug/build/dfdx-*/out/*.cuh)
    # Those that are built of the crates written in Rust, and for the one whose compiler is not carried what it would compile.
    local rust=$PWD/chapters/02-cpu-gpu
    [ ! -x "$rust/cube/target/debug/cube" ] || paths+=("$rust/cube/target/debug/cube")
    if [ -x "$rust/tile/target/debug/tile" ]; then
        rm -rf "$rust/tile/target/cubins"
        CUDA_TOOLKIT_PATH=${CUDA_TOOLKIT_PATH:-$HOME/.cache/throughput/cuda/13.5/nvidia/cu13} \
            "$rust/tile/target/debug/tile" cubins "$rust/tile/target/cubins" "${HARVEST_TARGET:-sm_90}" ||
            fail 'the kernels in Rust do not compile; tools/cuda/toolkit.sh DIR --tile gets their compiler'
        paths+=("$rust/tile/target/debug/tile" "$rust/tile/target/cubins")
    fi
    tar -cJPhf "$dir/paths.tar.xz" "${paths[@]}" || fail 'the headers of dfdx are not there'
    reader=hashes state='' budget='' machine='' steps >"$dir/hashes" || exit 1
    local ledger
    mkdir -p "$dir/ledgers"
    for ledger in book/records/*/ledger.txt; do
        [ ! -s "$ledger" ] || cp "$ledger" "$dir/ledgers/$(basename "$(dirname "$ledger")")"
    done
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
    cargo test --no-run -p throughput -p "$package" "${features[@]}" "$@" --message-format=json 2>/dev/null |
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

# join OUT… TO: the records of all commands in one folder, of an experiment that ran twice the later one; and what each
# step took, in TO/MACHINE/ledger.txt.
join() {
    [ $# -ge 2 ] || { usage >&2; exit 2; }
    python3 - "$@" <<'PYTHON'
import datetime, json, pathlib, re, statistics, sys, tarfile, tempfile

HEAD = "# step hash seconds joules MHz date state: what each step of tools/cuda/harvest.sh took in its last visit\n"
STEP = re.compile(r"(\S+) +exit (\d+) +\S+ s from (\S+) to (\S+) of (\S+)  (.*)")

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

def samples(path):
    """Seconds, watts and megahertz of each of nvidia-smi's lines; those that a card does not tell are left out."""
    found = []
    for line in path.read_text().splitlines() if path.is_file() else []:
        try:
            when, watts, clock, *_ = [word.strip() for word in line.split(",")]
            when = datetime.datetime.strptime(when, "%Y/%m/%d %H:%M:%S.%f").replace(tzinfo=datetime.timezone.utc)
            found.append((when.timestamp(), float(watts), float(clock)))
        except ValueError:
            pass
    return sorted(found)

def joules(samples, begin, end):
    """The power between two times, of which neighbours are joined by straight lines; None where it was not told."""
    if not samples or begin < samples[0][0] - 1 or end > samples[-1][0] + 1:
        return None
    times, watts = [s[0] for s in samples], [s[1] for s in samples]
    def power(at):
        after = next((i for i, time in enumerate(times) if time >= at), len(times) - 1)
        before = max(after - 1, 0)
        span = times[after] - times[before]
        part = min(max((at - times[before]) / span, 0), 1) if span else 1
        return watts[before] + (watts[after] - watts[before]) * part
    inner = [(time, watt) for time, watt, _ in samples if begin < time < end]
    points = [(begin, power(begin)), *inner, (end, power(end))]
    return sum((t2 - t1) * (w1 + w2) / 2 for (t1, w1), (t2, w2) in zip(points, points[1:]))

def line(found, power):
    """A step's line of the ledger, from its line of the summary."""
    name, code, begin, end, hash, outcome = found
    begin, end = float(begin), float(end)
    empty = re.search(r"^skipped|\b0 passed|: 0 values|no NVIDIA driver|no NVRTC|without a reply", outcome)
    state = f"failed-{code}" if code != "0" else "empty" if empty else "done"
    energy = joules(power, begin, end)
    clocks = [clock for time, _, clock in power if begin <= time <= end]
    energy = "-" if energy is None else f"{energy:.0f}"
    clock = f"{statistics.median(clocks):.0f}" if clocks else "-"
    day = datetime.datetime.fromtimestamp(begin, datetime.timezone.utc).date()
    return f"{name:28} {hash:12} {end - begin:6.1f} {energy:>7} {clock:>5} {day} {state}\n"

*froms, to = map(pathlib.Path, sys.argv[1:])
to.mkdir(parents=True, exist_ok=True)
for out in froms:
    archive = out / "harvest.tar.gz"
    if not archive.is_file():
        sys.exit(f"harvest: {archive} is not there")
    with tempfile.TemporaryDirectory() as folder:
        tarfile.open(archive).extractall(folder, filter="data")
        folder = pathlib.Path(folder)
        for file in sorted(folder.glob("records/*/*.json")):
            target = to / file.parent.name / file.name
            target.parent.mkdir(exist_ok=True)
            new = json.loads(file.read_text())
            if "runs" in new and target.is_file():
                names = {run["experiment"] for run in new["runs"]}
                old = json.loads(target.read_text())["runs"]
                new["runs"] = [run for run in old if run["experiment"] not in names] + new["runs"]
            target.write_text(text(new))
            print(f"harvest: {target}", file=sys.stderr)
        power = samples(folder / "power.csv")
        ledger = to / (folder / "machine").read_text().strip() / "ledger.txt"
        ledger.parent.mkdir(exist_ok=True)
        old = ledger.read_text().splitlines(True)[1:] if ledger.is_file() else []
        lines = {entry.split()[0]: entry for entry in old}
        for entry in (folder / "summary.txt").read_text(errors="replace").splitlines():
            if found := STEP.fullmatch(entry):
                lines[found[1]] = line(found.groups(), power)
        ledger.write_text(HEAD + "".join(lines[name] for name in sorted(lines)))
        print(f"harvest: {ledger}", file=sys.stderr)
PYTHON
}

# ---- there -----------------------------------------------------------------------------------------------------

begun=$SECONDS

# Puts what there is so far where it is taken from. tar says 1 where a file has grown meanwhile, as the clock's does.
gather() {
    tar -czf "$out/.part" -C "$state" records logs sass power.csv machine summary.txt 2>/dev/null
    [ $? -gt 1 ] || mv -f "$out/.part" "$out/harvest.tar.gz"
    cp -f "$state/summary.txt" "$out/summary.txt" 2>/dev/null
}

# run NAME SECONDS COMMAND…: at most twice as long as it should take and a little, and not beyond the command's limit.
run() {
    local name=$1 from=$EPOCHREALTIME to rc hash most=$((2 * $2 + ${HARVEST_PATIENCE:-15}))
    shift 2
    [ "$most" -le "$(left)" ] || most=$(left)
    echo "$name" >>"$state/finished"
    timeout --kill-after=5 "$most" "$@" >"$state/logs/$name.txt" 2>&1 </dev/null
    rc=$?
    to=$EPOCHREALTIME
    hash=$(awk -v name="$name" '$1 == name { print $2 }' "$dir/hashes")
    printf '%-28s exit %-3s %6.1f s from %s to %s of %s  %s%s\n' "$name" "$rc" \
        "$(awk -v a="$from" -v b="$to" 'BEGIN { print b - a }')" "$from" "$to" "${hash:--}" \
        "$(outcome "$state/logs/$name.txt")" "$(counted "$name")" >>"$state/summary.txt"
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

# What xz has packed, also where there is none.
unpack() {
    if command -v xz >/dev/null; then
        xz -dc "$1"
    else
        python3 -c 'import lzma, shutil, sys; shutil.copyfileobj(lzma.open(sys.argv[1]), sys.stdout.buffer)' "$1"
    fi
}

# What the records of this machine are called: by the name of its card.
card() {
    local name
    name=$(timeout 60 nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -n 1 | tr 'A-Z ' 'a-z-' |
        sed -E 's/(nvidia|tesla|geforce)-//g; s/-?[0-9]+gb//; s/-?(hbm[0-9]*e?|sxm[0-9]*)//g; s/[^a-z0-9_-]//g; s/^-+|-+$//g')
    echo "${name:-no-gpu}"
}

# Programs out of the carried folder, libraries that this machine has, and where everything goes. Done once a machine.
prepare() {
    dir="$(cd "$1" && pwd)" || fail "there is no folder $1"
    mkdir -p "$2" || fail "can't write to $2"
    out="$(cd "$2" && pwd)"
    state=${HARVEST_STATE:-/tmp/throughput-harvest}
    machine=$(card)
    ledger=$(ledger_of "$machine")
    budget=${HARVEST_BUDGET:-full}
    mkdir -p "$state"/{records,logs,sass,kernels,tests,mnist} "$state/home" || fail "can't write to $state"
    touch "$state"/{summary.txt,finished,power.csv}
    echo "$machine" >"$state/machine"
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
    [ -s "$dir/paths.tar.xz" ] && unpack "$dir/paths.tar.xz" | tar -xPf - 2>/dev/null
    THROUGHPUT_COMMIT=$(cat "$dir/commit" 2>/dev/null)
    export THROUGHPUT_COMMIT
    # PyTorch brings CUDA's libraries of its own: what is set for the program is not for its peers.
    mkdir -p "$state/bin"
    printf '#!/bin/sh\nexec env LD_LIBRARY_PATH="%s" "%s" "$@"\n' "${LD_LIBRARY_PATH:-}" "$(command -v python3)" >"$state/bin/python3"
    chmod +x "$state/bin/python3"
    # What is there of CUDA's libraries: in the toolkit's folders, or in Python's packages.
    local found library folder
    # shellcheck disable=SC2086
    found=$(find -L ${HARVEST_LIBRARIES:-/usr/local /opt /usr/lib} -maxdepth 10 -type f \
        \( -name 'libnvrtc.so.*' -o -name 'libcublas.so.*' -o -name 'libcurand.so.*' -o -name 'libnccl.so.*' \) 2>/dev/null | sort -V)
    for library in libnvrtc libcublas libcurand libnccl; do
        folder=$(grep -F "/$library.so" <<<"$found" | tail -n 1)
        [ -z "$folder" ] || LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$(dirname "$folder")"
    done
    export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:-}" PATH="$state/bin:$PATH"
    export THROUGHPUT_OPENCL=off # with it everything would be measured twice
    export THROUGHPUT_KERNELS=$state/kernels NO_COLOR=1 RUST_BACKTRACE=0
    [ -n "$(ls "$state/mnist" 2>/dev/null)" ] && export MNIST_DIR=$state/mnist
    # The tests of portable kernels run on the GPU, where there is one. The first question starts its driver.
    if timeout 60 nvidia-smi -L >/dev/null 2>&1; then
        export THROUGHPUT_TEST_DEVICE=cuda THROUGHPUT_REQUIRE_CUDA=1
        # Clock and power, five times a second, beside all that follows.
        TZ=UTC0 stdbuf -oL nvidia-smi --query-gpu=timestamp,power.draw,clocks.sm,temperature.gpu \
            --format=csv,noheader,nounits --loop-ms=200 >>"$state/power.csv" 2>/dev/null </dev/null &
        sampler=$!
    else
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

case "${1:-}" in
    pack | plan | join) "$@" ;;
    hashes) cd "$(dirname "${BASH_SOURCE[0]}")/../.." && reader=hashes state='' budget='' machine='' steps ;;
    1 | 2)
        [ $# -eq 3 ] || { usage >&2; exit 2; }
        export -f sass starts
        sampler=
        prepare "$2" "$3"
        export state
        finished=$(paste -sd' ' "$state/finished")
        # A machine that has not seen the first command: what that was to do is done.
        [ "$1" = 1 ] || [ -s "$state/finished" ] || { finished=; planned 1 >/dev/null; }
        printf '== command %s on %s at %s\n' "$1" "$machine" "$(date -u +%FT%TZ)" >>"$state/summary.txt"
        command=$1 limit=$(seconds_of "$1") reader=run
        steps
        [ -z "$sampler" ] || kill "$sampler" 2>/dev/null
        printf '== command %s took %d s\n' "$1" $((SECONDS - begun)) >>"$state/summary.txt"
        gather
        say "$(wc -c <"$out/harvest.tar.gz") bytes in $out/harvest.tar.gz"
        ;;
    -h | --help) usage ;;
    *) usage >&2; exit 2 ;;
esac
