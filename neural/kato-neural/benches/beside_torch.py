#!/usr/bin/env python3
"""Trains beside PyTorch in turns, and prints a table of medians, by processor seconds and by the clock.

    cargo build --release -p kato-kernels -p kato-neural --examples
    python3 neural/kato-neural/benches/beside_torch.py target/release/examples [ROUNDS] [SECONDS] [NAME…]

One thread each. Each NAME chooses a case: `stack` (four transformer blocks over 64 × 151 rows of width 128), `small`
and `large` (the sequence autoencoder, 50/128/16 and 300/512/64). Needs PyTorch, of the Python that runs this.
"""

import os
import pathlib
import re
import statistics
import subprocess
import sys

SCRIPTS = pathlib.Path(__file__).parents[2] / "kato-kernels/tests/data"
RATES = re.compile(r"([\d.]+) (?:\w+ )?(?:a|per) processor second, ([\d.]+) a second")


def cases(programs, seconds):
    """Gives each case: its name, PyTorch's command, and ours by name."""

    def torch(script, *words):
        return [sys.executable, SCRIPTS / script, *words, "1", seconds]

    for mode in "plain", "checkpointed":
        yield f"stack f32 {mode}", torch("torch_stack.py", "f32", mode), {
            "over Burn": [programs / "stack_throughput", "f32"],
            "kernels alone": [programs / "stack", "f32", "1", seconds],
        }
    yield "stack bf16 plain", torch("torch_stack.py", "bf16", "plain"), {
        "over Burn": [programs / "stack_throughput", "bf16"],
        "kernels alone": [programs / "stack", "bf16", "1", seconds],
    }
    for size in "small", "large":
        for feed in "taught", "sampled":
            ours = {}
            for precision in "f32", "bf16":
                words = [size, precision, feed]
                ours[f"{precision} over Burn"] = [programs / "training_throughput", *words, "once"]
            ours["f32 kernels alone"] = [programs / "throughput", size, "f32", feed, "1", seconds]
            yield f"{size} f32 {feed}", torch("torch_autoencoder.py", size, "f32", feed), ours


def rates(command):
    """Runs a contender; gives what it does a processor second, and a second."""
    environment = os.environ | {"RAYON_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    said = subprocess.run(
        list(map(str, command)), check=True, stdout=subprocess.PIPE, text=True, env=environment
    ).stdout
    found = RATES.search(said)
    if not found:
        raise SystemExit(f"no rate in what `{command[0]}` says: {said}")
    return tuple(float(rate) for rate in found.groups())


def main():
    programs = pathlib.Path(sys.argv[1])
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    seconds = sys.argv[3] if len(sys.argv) > 3 else "5"
    names = sys.argv[4:]
    loads = [os.getloadavg()[0]]
    print("| what is trained | by | a processor second | beside PyTorch | a second | beside it |")
    print("|---|---|---|---|---|---|")
    for case, torch, ours in cases(programs, seconds):
        if names and case.split()[0] not in names:
            continue
        contenders = {"PyTorch": torch} | ours
        found = {name: [] for name in contenders}
        for _ in range(rounds):
            # In turns, so that what else the machine does is shared by all.
            for name, command in contenders.items():
                found[name].append(rates(command))
        loads.append(os.getloadavg()[0])
        middle = {
            name: [statistics.median(column) for column in zip(*runs)]
            for name, runs in found.items()
        }
        for name, pair in middle.items():
            cells = (f"{mine:,.0f} | {mine / theirs:.2f}" for mine, theirs in zip(pair, middle["PyTorch"]))
            print(f"| {case} | {name} | {' | '.join(cells)} |", flush=True)
    print(f"\nLoad {min(loads):.0f} to {max(loads):.0f}, {rounds} rounds.")


if __name__ == "__main__":
    main()
