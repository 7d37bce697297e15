#!/usr/bin/env bash
# Checks kato-libtorch on the processor: format, clippy, documentation, tests. `.ci/check` does not, as
# it needs PyTorch 2.11. KATO_TORCH_VENV is a virtual environment that has it.
set -euo pipefail
cd "$(dirname "$0")/kato-libtorch"

if [ -n "${KATO_TORCH_VENV:-}" ]; then export PATH="$KATO_TORCH_VENV/bin:$PATH"; fi
torch="$(python3 -c 'import os, torch; print(os.path.dirname(torch.__file__))')" ||
  { echo "no PyTorch: \`pip install torch==2.11.0\` into a virtual environment, and name it in KATO_TORCH_VENV" >&2; exit 1; }
export LIBTORCH_USE_PYTORCH=1
export LD_LIBRARY_PATH="$torch/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export RUSTDOCFLAGS="-D warnings"

cargo fmt --check
cargo clippy --release --locked --all-targets -- -D warnings
cargo doc --release --locked --no-deps
cargo test --release --locked
python3 -m py_compile ../peers/*.py
