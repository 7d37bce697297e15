#!/usr/bin/env bash
# Counting texts in learned documents against infini-gram, three times in turn. Writes about ten bytes a byte of text below the folder.
#
#     benches/compare/occurrences.sh FOLDER CORPUS.jsonl [PYTHON]
#
# PYTHON (3.11) needs infini-gram and numpy. `occurrences_speed` must be built: cargo build --release -p kato-benches --features programs --bin occurrences_speed
set -euo pipefail

folder="${1:?a folder for what is written}"
corpus="${2:?a file of JSON lines with a text, as of kato corpus}"
python="${3:-python3}"
here="$(cd "$(dirname "$0")" && pwd)"
speed="${CARGO_TARGET_DIR:-$here/../../target}/release/occurrences_speed"

[[ -s "$folder/questions.json" ]] || "$speed" "$folder" --make "$corpus"
[[ -s "$folder/table.0" ]] || "$python" "$here/occurrences.py" make "$folder"
for _ in 1 2 3; do
    echo "load average: $(cut -d ' ' -f 1-3 /proc/loadavg)"
    "$speed" "$folder"
    "$python" "$here/occurrences.py" ask "$folder"
done
