#!/usr/bin/env bash
# Does a token cost the same at any size? Makes corpora that resemble a text, trains each, and prints a Markdown table.
#
#   benches/scale.sh [--like FILE] [--sizes "100MB 1GB 4GB"] [--repeats 3] [--workers 2] [--dir DIR] [--program FILE] [--ask]
#
# --like FILE    text that the corpora resemble (default: README.md)
# --sizes LIST   sizes of the corpora; the first is what the others are compared with
# --repeats N    trainings of each corpus; the median by time is shown
# --workers N    learning threads
# --program FILE the program `kato` (default: built here, profile dist)
# --ask          what questions cost right after the training, and the files that answer them, instead (benches/ask.py)
# --dir DIR      where corpora and knowledge bases are made and removed again: needs about 6 times the largest size, with --ask 8 times
#
# Needs Linux and python3. A quiet machine gives quiet numbers: the load average is printed with them.
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
like="$root/README.md"
sizes="100MB 1GB 4GB"
repeats=3
workers=2
parent="${TMPDIR:-/tmp}"
program=""
asks=""

usage() {
    sed -n '2,/^set -euo/{/^set -euo/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"
}

while (($# > 0)); do
    case "$1" in
        --help | -h)
            usage
            exit 0
            ;;
        --ask)
            asks=1
            shift
            continue
            ;;
        --like | --sizes | --repeats | --workers | --dir | --program)
            if (($# < 2)); then
                echo "$1 needs a value" >&2
                exit 2
            fi
            ;;&
        --like) like="$2" ;;
        --sizes) sizes="$2" ;;
        --repeats) repeats="$2" ;;
        --workers) workers="$2" ;;
        --dir) parent="$2" ;;
        --program) program="$(realpath -- "$2")" ;;
        *)
            echo "unknown argument: $1" >&2
            usage >&2
            exit 2
            ;;
    esac
    shift 2
done
for number in "$repeats" "$workers"; do
    if ! [[ "$number" =~ ^[1-9][0-9]*$ ]]; then
        echo "--repeats and --workers take whole numbers from 1" >&2
        exit 2
    fi
done

like="$(realpath -- "$like")"
if [[ -z "$program" ]]; then
    cargo build --quiet --profile dist --manifest-path "$root/Cargo.toml" -p kato-cli --features full
    target="$(cargo metadata --manifest-path "$root/Cargo.toml" --format-version 1 --no-deps |
        python3 -c 'import json, sys; print(json.load(sys.stdin)["target_directory"])')"
    program="$target/dist/kato"
fi

work="$(mktemp -d "$parent/kato-scale.XXXXXX")"
trap 'rm -rf "$work"' EXIT

# Trains once and appends the report with the peak resident set to $work/runs.jsonl.
train_once() {
    local size="$1" corpus="$2"
    python3 - "$size" "$work/runs.jsonl" "$program" train "$corpus" \
        --kb "$work/kb" --levels 5,7,9 --workers "$workers" --quiet --json <<'PY'
import json, os, resource, subprocess, sys

size, runs, *command = sys.argv[1:]
report = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
report["size"] = size
report["corpus_bytes"] = os.path.getsize(command[2])
# Of the one child there was; Linux counts in kilobytes.
report["peak_rss_bytes"] = 1024 * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
with open(runs, "a", encoding="utf-8") as out:
    out.write(json.dumps(report) + "\n")
PY
    rm -rf "$work/kb"
}

load_before="$(cut -d ' ' -f 1 /proc/loadavg)"
for size in $sizes; do
    corpus="$work/corpus.jsonl"
    "$program" corpus --like "$like" --text-size "$size" --seed 1 --out "$corpus"
    if [[ -n "$asks" ]]; then
        echo "Text of $size like $(basename -- "$like"), seed 1:"
        "$root/benches/ask.py" --program "$program" --corpus "$corpus" --dir "$work" --forget 1000
        rm "$corpus"
        continue
    fi
    for ((run = 1; run <= repeats; run++)); do
        echo "$size: training $run of $repeats" >&2
        train_once "$size" "$corpus"
    done
    rm "$corpus"
done

[[ -z "$asks" ]] || exit 0
python3 - "$work/runs.jsonl" "$load_before" "$repeats" "$workers" "$(basename -- "$like")" <<'PY'
import json, sys

path, load, repeats, workers, like = sys.argv[1:]
by_size = {}
with open(path, encoding="utf-8") as lines:
    for run in map(json.loads, lines):
        by_size.setdefault(run["size"], []).append(run)

def median(runs):
    return sorted(runs, key=lambda run: run["total_time_seconds"])[(len(runs) - 1) // 2]

runs = [median(runs) for runs in by_size.values()]

def ns(run, seconds):
    return 1e9 * seconds / max(run["tokens"], 1)

def table(head, rows):
    print("| " + " | ".join(head) + " |")
    print("|" + "--:|" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |")

print(f"Corpora like {like}, seed 1, levels 5, 7, 9, {workers} workers, median of {repeats}; load average before: {load}\n")
first = ns(runs[0], runs[0]["total_time_seconds"])
head = ["text", "M tokens", "seconds", "M tokens/s", "ns/token", f"relative to {runs[0]['size']}",
        "peak RSS, MB", "MB on disk", "bytes/pattern", "M patterns"]
rows = []
for run in runs:
    patterns = sum(level["unique_patterns"] for level in run["levels"])
    seconds = run["total_time_seconds"]
    rows.append([run["size"], f"{run['tokens'] / 1e6:.1f}", f"{seconds:.2f}", f"{run['tokens_per_sec'] / 1e6:.2f}",
                 f"{ns(run, seconds):.1f}", f"{ns(run, seconds) / first:.2f}", f"{run['peak_rss_bytes'] / 1e6:.0f}",
                 f"{run['disk_bytes'] / 1e6:.1f}", f"{run['disk_bytes'] / max(patterns, 1):.1f}", f"{patterns / 1e6:.2f}"])
table(head, rows)
print("\nThread time by stage, ns/token:\n")
stages = list(runs[0]["stage_seconds"])
table(["text", *(stage.replace("_", " ") for stage in stages)],
      [[run["size"], *(f"{ns(run, run['stage_seconds'][stage]):.1f}" for stage in stages)] for run in runs])
PY
