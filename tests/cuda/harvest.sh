#!/usr/bin/env bash
# tools/cuda/harvest.sh from its first command to the joined records, with small scripts for the programs that it carries:
# without a GPU, with one that fails, with a step that does not end. Takes seconds.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
    echo "harvest test: $*" >&2
    cat "$work"/*/summary.txt >&2 2>/dev/null || true
    exit 1
}

# A program that measures: one value, in a record as `measure` writes it. One experiment fails, one does not end.
mkdir -p "$work/carried/tests" "$work/bin"
cat >"$work/throughput" <<'PROGRAM'
#!/usr/bin/env bash
[ "$1" = measure ] || { echo "$1: there is no GPU here"; exit 0; }
key=$2 records='' machine=''
while [ $# -gt 0 ]; do
    case "$1" in --records) records=$2 ;; --machine) machine=$2 ;; esac
    shift
done
[ "$key" != performance.gpu.graph ] || { echo 'error: out of memory'; exit 1; }
[ "$key" != performance.gpu.overlap ] || sleep 60
[ -n "$THROUGHPUT_COMMIT" ] && [ -d "$THROUGHPUT_KERNELS" ] && [ "$THROUGHPUT_OPENCL" = off ] && [ -z "${THROUGHPUT_DEVICE:-}" ] || exit 3
mkdir -p "$records/$machine"
echo '{"cpu": "some"}' >"$records/$machine/machine.json"
python3 - "$key" "$records/$machine/${key%%.*}.json" <<'PYTHON'
import json, os, sys
key, path = sys.argv[1:]
runs = json.load(open(path))["runs"] if os.path.exists(path) else []
new = {"experiment": key, "values": [], "skipped": ["HERE"]}
text = json.dumps({"runs": [r for r in runs if r["experiment"] != key] + [new]}, indent=2)
# One value a line, as `measure` writes them.
text = text.replace('"HERE"', json.dumps({"key": key, "params": {}, "why": "no NVIDIA driver"}))
open(path, "w").write(text)
PYTHON
echo "records are in $records/$machine"
PROGRAM
cat >"$work/tested" <<'PROGRAM'
#!/bin/sh
echo 'skipped: no CUDA device'
echo "test result: ok. 3 passed; filters: $*"
PROGRAM
chmod +x "$work/throughput" "$work/tested"
xz -c "$work/throughput" >"$work/carried/throughput.xz"
for name in cpu_gpu cpu_gpu-it performance multi_gpu language_model; do xz -c "$work/tested" >"$work/carried/tests/$name.xz"; done
echo 82ecf3d >"$work/carried/commit"
cp tools/cuda/harvest.sh "$work/carried/"

export HARVEST_STATE=$work/state HARVEST_MACHINE=card HARVEST_LIMIT=20
for command in 1 2 3; do
    out=$work/out$command
    bash "$work/carried/harvest.sh" $command "$work/carried" "$out" 2>/dev/null
    [ -s "$out/harvest.tar.gz" ] && [ -s "$out/summary.txt" ] || fail "command $command left no files"
    grep -q "== command $command took" "$out/summary.txt" || fail "command $command did not come to its end"
done
summary=$work/out3/summary.txt
grep -qE '^cpu_gpu.ladder +exit 0 .*: 0 values, 1 left out \(no NVIDIA driver\)' "$summary" || fail 'the ladder was not measured'
grep -qE '^right-on-a-gpu +exit 0 .*test result: ok. 3 passed' "$summary" || fail 'a test result is missing'
grep -qE '^performance.gpu.graph +exit 1 .*error: out of memory' "$summary" || fail 'a failure is not told'
grep -qE '^performance.gpu.overlap +exit 124 ' "$summary" || fail 'a step that does not end was not cut off'
grep -qE '^cpu_gpu.truck +left out, no time' "$summary" || fail 'a step without time is not told'
grep -qE '^train-mlp +exit 0 .*train: there is no GPU here' "$summary" || fail 'nothing was trained'
grep -qE '^sass +exit 0 .*skipped' "$summary" || fail 'no reason for missing machine code'
# What came back, joined: also when one command ran on a machine of its own.
tools/cuda/harvest.sh join "$work"/out1 "$work"/out2 "$work"/out3 "$work/joined" 2>/dev/null
found=$(python3 -c 'import json, sys; print(*(r["experiment"] for r in json.load(open(sys.argv[1]))["runs"]))' \
    "$work/joined/card/cpu_gpu.json")
[ "$found" = 'cpu_gpu.devices cpu_gpu.ladder' ] || fail "joined: $found"
[ "$(grep -cE '^ +\{"key": .*"why": "no NVIDIA driver"\},?$' "$work/joined/card/cpu_gpu.json")" = 2 ] || fail 'not one value a line'
tools/cuda/harvest.sh join "$work/nothing" "$work/joined" 2>/dev/null && fail 'nothing was joined without a word'
# All in one command, and of all steps those that are asked for.
HARVEST_STATE=$work/once HARVEST_ONLY='^(doctor|train-)' bash "$work/carried/harvest.sh" all "$work/carried" "$work/out4" 2>/dev/null
found=$(awk '/ exit / { print $1 }' "$work/out4/summary.txt" | paste -sd' ')
[ "$found" = 'doctor train-mlp train-cnn train-resnet train-rnn train-transformer' ] || fail "chosen: $found"
# No more than may be carried.
head -c 61000000 /dev/zero >"$work/carried/mnist"
( eval "$(sed -n '/^most=/p; /^say()/p; /^fail()/p; /^size() {/,/^}/p' tools/cuda/harvest.sh)"; size "$work/carried" ) 2>/dev/null &&
    fail 'too much is carried'
rm "$work/carried/mnist"
echo 'harvest: rehearsed with stand-ins'
