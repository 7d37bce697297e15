#!/usr/bin/env bash
# Opening 400,000 word vectors of 100 numbers against Python, three times in turn. Writes about 510 MB below the folder given.
#
#     benches/compare/embeddings.sh FOLDER [PYTHON]
#
# PYTHON needs numpy. `embeddings_speed` must be built: cargo build --profile dist -p kato-benches --features programs --bin embeddings_speed
set -euo pipefail

folder="${1:?a folder with room for 600 MB}"
python="${2:-python3}"
here="$(cd "$(dirname "$0")" && pwd)"
speed="${CARGO_TARGET_DIR:-$here/../../target}/dist/embeddings_speed"
text="$folder/vectors.txt"

[[ -s "$text" ]] || "$speed" --make "$text"
for _ in 1 2 3; do
    echo "load average: $(cut -d ' ' -f 1-3 /proc/loadavg)"
    "$speed" "$text"
    "$speed" --workers 1 "$text"
    for way in lines asarray fromstring; do
        "$python" "$here/embeddings.py" "$way" "$text"
    done
done
