#!/usr/bin/env bash
# Measures kato-libtorch and the same models in PyTorch's Python, in turn on one GPU, in some four
# minutes: a table, and every figure as a line of JSON in $OUT/gpu.jsonl. Without a GPU it says so.
#
# gpu/measure.sh [SECONDS of each configuration]
#
# KATO_TORCH_PYTHON is the Python that has PyTorch 2.11 (the first of /opt/torch/.venv and python3
# otherwise). KATO_STEPS is what `cargo run -p kato-poetry --example reference_steps FILE` wrote.
set -uo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
seconds="${1:-1}"
out="${OUT:-.}"
# What would begin later than this is left out, so that the whole takes some four minutes.
deadline_s=185

python="${KATO_TORCH_PYTHON:-/opt/torch/.venv/bin/python}"
[ -x "$python" ] || python=python3
program="$here/kato-libtorch"
[ -f "$program" ] || program="$here/kato-libtorch/target/release/kato-libtorch"
steps="${KATO_STEPS:-$here/steps.safetensors}"
device="${KATO_DEVICE:-cuda}"

if [ ! -x "$program" ]; then
  echo "there is no program: build it as gpu/README.md says" >&2
  exit 1
fi
libraries="$("$python" - <<'PYTHON'
import glob, os, torch
root = os.path.dirname(torch.__file__)
folders = [os.path.join(root, "lib"), *glob.glob(os.path.join(os.path.dirname(root), "nvidia/*/lib"))]
print(":".join(folders), torch.cuda.is_available())
PYTHON
)" || { echo "no PyTorch in $python: set KATO_TORCH_PYTHON" >&2; exit 1; }
if [ "$device" = cuda ] && [ "${libraries##* }" != True ]; then
  echo "no GPU that PyTorch sees: nothing is measured"
  exit 0
fi
export LD_LIBRARY_PATH="${libraries%% *}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"

mkdir -p "$out"
lines="$out/gpu.jsonl"
: >"$lines"
nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>/dev/null || true
ours() { run "$program" --device "$device" "$@"; }
peer() { run "$python" "$here/peers/$1.py" --device "$device" "${@:2}"; }
# One that fails is told, and the others still run.
run() {
  if [ "$SECONDS" -gt "$deadline_s" ]; then
    echo "left out for want of time: $*" >&2
    return
  fi
  local begin=$SECONDS
  "$@" >>"$lines" || echo "exit code $?: $*" >&2
  echo "$((SECONDS - begin)) s: ${*##*/}" >&2
}
# Smaller ones where the script itself is tried on a processor.
read -ra autoencoder <<<"${KATO_AUTOENCODER:---batches 32,256,1024}"
read -ra microbes <<<"${KATO_MICROBES:---batch 8}"
read -ra half <<<"${KATO_HALF:---batches 256}"
graph=(--modes graph)
[ "$device" = cuda ] || graph=(--modes eager)

if [ -f "$steps" ]; then
  ours steps "$steps"
  [ "$device" = cuda ] && ours steps "$steps" --graph
else
  echo "no recorded steps in $steps: equality with the processor is not compared" >&2
fi
for round in 1 2; do
  ours measure autoencoder "${autoencoder[@]}" --seconds "$seconds"
  peer autoencoder "${autoencoder[@]}" --seconds "$seconds"
  ours measure autoencoder "${autoencoder[@]}" "${graph[@]}" --seconds "$seconds"
  ours measure microbes "${microbes[@]}" --seconds "$seconds"
  peer microbes "${microbes[@]}" --seconds "$seconds"
  if [ "$round" = 1 ]; then
    ours measure autoencoder "${half[@]}" --precisions bf16 --seconds "$seconds"
    peer autoencoder "${half[@]}" --precisions bf16 --seconds "$seconds"
  fi
done
"$python" "$here/peers/table.py" "$lines"
echo "$SECONDS s in all"
