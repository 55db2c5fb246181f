#!/usr/bin/env bash
# tools/cuda/harvest.sh from its first command to the joined records, with small scripts for the programs that it carries and
# for nvidia-smi: a card and none, a step that fails, one that does not end, one that is up to date. Takes seconds.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
    echo "harvest test: $*" >&2
    cat "$work"/*/summary.txt >&2 2>/dev/null || true
    exit 1
}
has() { grep -qE "$2" "$1" || fail "$3"; } # has FILE PATTERN WHY

# A program that measures: one value, in a record as `measure` writes it. One experiment fails, one does not end, and where
# there is no Python without CUDA's libraries nothing is measured beside PyTorch.
mkdir -p "$work/carried/tests" "$work/bin" "$work/lib"
touch "$work/lib/libnvrtc.so.13"
cat >"$work/throughput" <<'PROGRAM'
#!/usr/bin/env bash
[ "$1" = measure ] || { echo "$1: there is no GPU here"; exit 0; }
[[ "$LD_LIBRARY_PATH" == of-the-caller:*/lib ]] || exit 5
key=$2 records='' machine=''
while [ $# -gt 0 ]; do
    case "$1" in
        --records) records=$2 ;;
        --machine) machine=$2 ;;
        --peers) [ "$(python3 -c 'import os; print(os.environ["LD_LIBRARY_PATH"])')" = of-the-caller ] || exit 4 ;;
    esac
    shift
done
[ "$key" != performance.gpu.graph ] || { echo 'error: out of memory'; exit 1; }
[ "$key" != performance.gpu.ahead ] || sleep 60
[ "$key" != cpu_gpu.ladder ] || sleep 0.3 # longer than from one sample of the clock to the next
[ -n "$THROUGHPUT_COMMIT" ] && [ -d "$THROUGHPUT_KERNELS" ] && [ "$THROUGHPUT_OPENCL" = off ] && [ -z "${THROUGHPUT_DEVICE:-}" ] || exit 3
mkdir -p "$records/$machine"
echo '{"cpu": "some"}' >"$records/$machine/machine.json"
python3 - "$key" "$records/$machine/${key%%.*}.json" <<'PYTHON'
import json, os, sys
key, path = sys.argv[1:]
runs = json.load(open(path))["runs"] if os.path.exists(path) else []
new = {"experiment": key, "values": ["HERE"], "skipped": ["THERE"]}
if key == "cpu_gpu.lu":
    new["values"] = []
text = json.dumps({"runs": [r for r in runs if r["experiment"] != key] + [new]}, indent=2)
# One value a line, as `measure` writes them.
text = text.replace('"HERE"', json.dumps({"key": key, "params": {}, "median": 1}))
why = "it has ended without a reply" if key == "language_model.gpu" else "no AMX"
text = text.replace('"THERE"', json.dumps({"key": key, "params": {}, "why": why}))
open(path, "w").write(text)
PYTHON
echo "records are in $records/$machine"
PROGRAM
cat >"$work/tested" <<'PROGRAM'
#!/bin/sh
echo 'skipped: no CUDA device'
case "$*" in *there_is_a_gpu*) passed=3 ;; *) passed=0 ;; esac
echo "test result: ok. $passed passed; filters: $*"
PROGRAM
# A card that takes 250 W at 1,500 MHz, of a name that nothing here knows.
cat >"$work/bin/nvidia-smi" <<'PROGRAM'
#!/usr/bin/env bash
case "$*" in
    *query-gpu=name*) echo "$CARD" ;;
    *loop-ms=200*) while :; do echo "$(date +'%Y/%m/%d %H:%M:%S.%3N'), 250.00, 1500, 40"; sleep 0.2; done ;;
    *) [ -n "$CARD" ] || exit 9; echo "GPU 0: $CARD" ;;
esac
PROGRAM
chmod +x "$work/throughput" "$work/tested" "$work/bin/nvidia-smi"
xz -c "$work/throughput" >"$work/carried/throughput.xz"
for name in cpu_gpu-it performance-it multi_gpu-it language_model-it; do xz -c "$work/tested" >"$work/carried/tests/$name.xz"; done
echo 82ecf3d >"$work/carried/commit"
cp tools/cuda/harvest.sh "$work/carried/"
tools/cuda/harvest.sh hashes >"$work/carried/hashes" || fail 'a step depends on what is not there'
# Every step of this card takes a second, but for one that fits in the second command alone and one that fits in none.
mkdir "$work/carried/ledgers"
ledger=$work/carried/ledgers/rtx-5070-ti
awk 'BEGIN { print "# step hash seconds joules MHz date state" } { print $1, "old", 1, "-", "-", "2026-11-26", "done" }' \
    "$work/carried/hashes" | sed -E 's/^(cpu_gpu.lu old) 1/\1 29/; s/^(cpu_gpu.truck old) 1/\1 99/' >"$ledger"

export LD_LIBRARY_PATH=of-the-caller HARVEST_LIBRARIES=$work/lib PATH="$work/bin:$PATH" HARVEST_PATIENCE=1
export CARD='NVIDIA GeForce RTX 5070 Ti' HARVEST_STATE=$work/state
# Ten seconds to unpack, one for each of the other steps, and one that is left.
limit=$(($(wc -l <"$work/carried/hashes") + 9))
plan=$(HARVEST_LIMIT=$limit bash "$work/carried/harvest.sh" plan "$work/carried" rtx-5070-ti)
grep -qE '^cpu_gpu.ladder +1 s in command 1' <<<"$plan" || fail "plan: $plan"
grep -qE '^cpu_gpu.lu +29 s in command 2' <<<"$plan" || fail "plan: $plan"
grep -qE '^cpu_gpu.truck +does not fit: it takes 99 s, and [0-9]+ are left of command 2' <<<"$plan" || fail "plan: $plan"
grep -qE "^== command 1: $((limit - 1)) of $limit s" <<<"$plan" || fail "plan: $plan"

began=$SECONDS
for command in 1 2; do
    out=$work/out$command
    HARVEST_LIMIT=$((25 + 10 * (command - 1))) bash "$work/carried/harvest.sh" $command "$work/carried" "$out" 2>/dev/null
    [ -s "$out/harvest.tar.gz" ] && [ -s "$out/summary.txt" ] || fail "command $command left no files"
    has "$out/summary.txt" "== command $command took" "command $command did not come to its end"
done
[ $((SECONDS - began)) -lt 60 ] || fail 'a step that does not end was waited for'
summary=$work/out2/summary.txt
has "$summary" '^== command 1 on rtx-5070-ti at ' 'the records are not called by the card'
has "$summary" '^cpu_gpu.ladder +exit 0 .*: 1 values, 1 left out \(no AMX\)' 'the ladder was not measured'
has "$summary" '^right-on-a-gpu +exit 0 .*test result: ok. 3 passed' 'a test result is missing'
has "$summary" '^language_model.gpu +exit 0 ' 'PyTorch has the libraries of the program'
has "$summary" '^performance.gpu.graph +exit 1 .*error: out of memory' 'a failure is not told'
has "$summary" '^performance.gpu.ahead +exit 124 ' 'a step that does not end was not cut off'
has "$summary" '^cpu_gpu.truck +does not fit: it takes 99 s' 'a step without room is not told'
has "$summary" '^train-mlp +exit 0 .*train: there is no GPU here' 'nothing was trained'
has "$summary" '^sass +exit 0 .*skipped' 'no reason for missing machine code'
[ "$(grep -c '^cpu_gpu.ladder ' "$summary")" = 1 ] || fail 'the second command repeats the first'
sed -n '/== command 2 on/,$p' "$summary" | grep -qE '^cpu_gpu.lu +exit 0' || fail 'what did not fit at first was not done later'

# What came back, joined: records of one machine, and what each step took.
tools/cuda/harvest.sh join "$work"/out1 "$work"/out2 "$work/joined" 2>/dev/null
found=$(python3 -c 'import json, sys; print(*sorted(r["experiment"] for r in json.load(open(sys.argv[1]))["runs"]))' \
    "$work/joined/rtx-5070-ti/cpu_gpu.json")
[ "$found" = 'cpu_gpu.devices cpu_gpu.ladder cpu_gpu.lu' ] || fail "joined: $found"
[ "$(grep -cE '^ +\{"key": .*"why": "no AMX"\},?$' "$work/joined/rtx-5070-ti/cpu_gpu.json")" = 3 ] || fail 'not one value a line'
tools/cuda/harvest.sh join "$work/nothing" "$work/joined" 2>/dev/null && fail 'nothing was joined without a word'
made=$work/joined/rtx-5070-ti/ledger.txt
hash=$(awk '$1 == "cpu_gpu.ladder" { print $2 }' "$work/carried/hashes")
has "$made" "^cpu_gpu.ladder +$hash +[0-9.]+ +[0-9]+ +1500 20[0-9-]+ done$" 'the ladder is not in the ledger'
has "$made" '^performance.gpu.ahead .* failed-124$' 'a step that did not end counts as done'
has "$made" '^cpu_gpu.lu .* empty$' 'a step that measured nothing counts as done'
has "$made" '^language_model.gpu .* empty$' 'a step without PyTorch counts as done'
has "$made" '^nccl .* empty$' 'no test counts as done'
has "$made" '^sass .* empty$' 'no machine code counts as done'
# 250 W for as long as it took.
awk '$1 ~ /ahead/ && $4 > 0 { exit ($4 / $3 > 245 && $4 / $3 < 255) ? 0 : 1 }' "$made" || fail 'not the energy that the card told'

# The next visit: only what has no record, or whose files have changed. On a machine of its own the second command does what
# the first one left.
cp "$made" "$ledger"
sed -i -E 's/^(cpu_gpu.ladder) .*/\1 changed/' "$work/carried/hashes"
HARVEST_ONLY='^(cpu_gpu|performance.gpu.(graph|models))' HARVEST_LIMIT=30 HARVEST_STATE=$work/again \
    bash "$work/carried/harvest.sh" 1 "$work/carried" "$work/out3" 2>/dev/null
found=$(awk '/ exit / { print $1 }' "$work/out3/summary.txt" | paste -sd' ')
[ "$found" = 'cpu_gpu.ladder cpu_gpu.lu performance.gpu.graph' ] || fail "again: $found"
has "$work/out3/summary.txt" '^performance.gpu.models +up to date since 20' 'what was left out is not told'
HARVEST_ONLY='^(doctor|train-|cpu_gpu.truck)' HARVEST_LIMIT=19 HARVEST_STATE=$work/alone \
    bash "$work/carried/harvest.sh" 2 "$work/carried" "$work/out4" 2>/dev/null
found=$(awk '/ exit / { print $1 }' "$work/out4/summary.txt" | paste -sd' ')
[ -z "$found" ] || fail "the second command alone: $found"

# No card: every step says so and goes on. Names of other cards.
CARD='' HARVEST_ONLY='^doctor' HARVEST_STATE=$work/none bash "$work/carried/harvest.sh" 1 "$work/carried" "$work/out5" 2>/dev/null
has "$work/out5/summary.txt" '^== command 1 on no-gpu' 'without a card'
[ -s "$work/out5/harvest.tar.gz" ] || fail 'without a card nothing comes back'
while IFS='|' read -r CARD wanted; do
    found=$(eval "$(sed -n '/^card() {/,/^}/p' tools/cuda/harvest.sh)"; card)
    [ "$found" = "$wanted" ] || fail "$CARD is called $found"
done <<'CARDS'
NVIDIA H100 80GB HBM3|h100
NVIDIA H100 PCIe|h100-pcie
NVIDIA H200|h200
NVIDIA A100-SXM4-80GB|a100
NVIDIA GeForce RTX 4090|rtx-4090
NVIDIA RTX A6000|rtx-a6000
Tesla T4|t4
CARDS

# Known samples: straight lines between 100 W and 300 W, from half a second to two and a half: 50 + 200 + 150 J.
mkdir -p "$work/known/records"
echo card >"$work/known/machine"
for at in 0:100 1:100 2:300 3:300; do echo "1970/01/01 00:00:0${at%:*}.000, ${at#*:}, 1000, 40"; done >"$work/known/power.csv"
echo 'lu  exit 0     2.0 s from 0.5 to 2.5 of abc  records: 3 values' >"$work/known/summary.txt"
mkdir "$work/out6"
tar -czf "$work/out6/harvest.tar.gz" -C "$work/known" records power.csv machine summary.txt
tools/cuda/harvest.sh join "$work/out6" "$work/energy" 2>/dev/null
has "$work/energy/card/ledger.txt" '^lu +abc +2.0 +400 +1000 1970-01-01 done$' "energy: $(cat "$work/energy/card/ledger.txt")"

# No more than may be carried.
head -c 61000000 /dev/zero >"$work/carried/mnist"
( eval "$(sed -n '/^most=/p; /^say()/p; /^fail()/p; /^size() {/,/^}/p' tools/cuda/harvest.sh)"; size "$work/carried" ) 2>/dev/null &&
    fail 'too much is carried'
rm "$work/carried/mnist"
echo 'harvest: rehearsed with stand-ins'
