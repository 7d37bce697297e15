#!/usr/bin/env python3
"""Trains with each choice and each optimisation switched one at a time, and prints a table.

    cargo build --release -p kato-poetry
    python3 ablation.py choices PROGRAM TEXT [--epochs N] [--seeds N] [--jobs N] [--torch PYTHON] [--out FILE]
    python3 ablation.py items PROGRAM TEXT [--epochs N] [--rounds N] [--jobs N] [--out FILE]

`choices` gives the validation cosine of the best epoch, mean and spread over seeds, beside that of the one best vector. With
a Python that has PyTorch, it also trains the plan there, from the same weights and on the same draws. `items` gives
speed by processor second, waiting for batches, peak memory and cosine; contenders take turns, one
round after another, and speeds are medians. One thread each, `--jobs` of them at a time. A file given with `--out` gets a line
of JSON a training and is gone on with.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

TORCH_RUN = pathlib.Path(__file__).parent / "torch_run.py"
IN_TORCH = "the plan, in PyTorch"
SMALL = "--dims 100 --hidden 128 --layers 1 --bottleneck 32 --patience 0 --threads 1".split()
RATE = 3e-3
RESTARTS = '{kind="cosine-restarts", base_rate=%g, first_cycle=%g}'
PHASE = "{n_epochs=%g, max_length=%d, rate_factor=%g, forcing_start=%g, forcing_end=%g}"


def choices(epochs):
    """The plan's choices, scaled to so many epochs, and the same with one of them switched."""
    # The original's first cycle is a tenth of its 100 epochs; a third here, so that one restart falls in.
    plan = ["--set", "training.schedule=" + RESTARTS % (RATE, epochs / 3)]
    scale = epochs / 50
    phases = [(10, 20, 1.0, 0.9, 0.7), (15, 35, 0.8, 0.7, 0.3), (25, 50, 0.6, 0.3, 0.1)]
    phases = ", ".join(PHASE % (n * scale, *rest) for n, *rest in phases)
    return {
        "the plan": plan,
        "constant rate instead of restarts": ["--constant-rate", str(RATE)],
        "no clipping": [*plan, "--clip", "0"],
        "no bottleneck penalty": [*plan, "--penalty", "0"],
        "forcing 0 instead of 0.5": [*plan, "--forcing", "0"],
        "forcing 1 instead of 0.5": [*plan, "--forcing", "1"],
        "with curriculum": [*plan, "--set", f"training.curriculum={{phases=[{phases}]}}"],
        "bf16": [*plan, "--precision", "bf16"],
    }


def items():
    """The optimisations, each against the defaults, on chunks of 50 tokens and on ragged ones."""
    ragged = ["--set", "chunks.window=200", "--set", "chunks.overlap=0"]
    budget = "--batching token-budget --set training.max_tokens=1600".split()
    both = ["--set", "training.save_steps=20"]
    by_part = "training.batch_norm_by_part=true"
    return {
        "all defaults": [],
        "no worker": ["--workers", "0"],
        "four workers": ["--workers", "4"],
        "prefetch 1 instead of 2": ["--prefetch", "1"],
        "bucketed": ["--batching", "bucketed"],
        "token budget of 32 × 50": budget,
        "steps of 2 × 16 chunks": [*"--batch 16 --accumulate 2 --set".split(), by_part],
        "bf16": ["--precision", "bf16"],
        "checkpoint every 20 steps": both,
        "the same, blocking": [*both, "--checkpoints", "blocking"],
        "artifacts blocking": ["--artifacts", "blocking"],
        "ragged: shuffled": ragged,
        "ragged: bucketed": [*ragged, "--batching", "bucketed"],
        "ragged: token budget": [*ragged, *budget[:2], "--set", "training.max_tokens=6400"],
    }


def train(program, text, flags, epochs, seed, torch=None):
    """Trains in a folder of its own and says what came of it."""
    with tempfile.TemporaryDirectory() as folder:
        run, course = (pathlib.Path(folder) / name for name in ("run", "course"))
        flags = [*SMALL, *flags, "--epochs", str(epochs), "--seed", str(seed)]
        command = [program, "train", text, "--out", str(run), *flags, "--json"]
        begun = time.time()
        if torch:
            # What it begins with, and what it draws, does not depend on how far it goes.
            command += ["--set", "training.target_cosine=0.001"]
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, used = os.wait4(child.pid, 0)
        assert status == 0, f"{command} ended with {status}"
        if torch:
            quiet = {"check": True, "stdout": subprocess.PIPE}
            subprocess.run([program, "bench", "course", str(run), "--out", str(course)], **quiet)
            command = [torch, TORCH_RUN, run / "prepared", course, run / "settings.toml"]
            said = subprocess.run(list(map(str, command)), **quiet).stdout.splitlines()
            first, *judged = map(json.loads, said)
            best = [epoch for epoch in judged if epoch.get("best")][-1]
            return {
                "cosine": best["cosine"],
                "baseline": first["baseline"],
                "processor_s": [epoch for epoch in judged if "cosine" in epoch][-1]["processor_s"],
                "load": best["load"],
            }
        history = [json.loads(line) for line in (run / "history.jsonl").read_text().splitlines()]
        outcome = json.loads((run / "outcome.json").read_text())
    # The first epoch makes buffers and shares the processor with the writing of artifacts.
    steady = history[1:] or history
    chunks = sum(epoch["chunks_per_s"] * epoch["train_s"] for epoch in history)
    return {
        "cosine": outcome["best"]["validation"]["cosine"],
        "baseline": outcome["baseline_cosine"],
        "chunks_per_s": statistics.median(epoch["chunks_per_s"] for epoch in steady),
        "wait_share": statistics.mean(epoch["wait_share"] for epoch in steady),
        "saving_s": sum(epoch["saving_s"] for epoch in history),
        "peak_mib": used.ru_maxrss / 1024,
        "chunks": chunks,
        "processor_s": used.ru_utime + used.ru_stime,
        "wall_s": time.time() - begun,
        "load": os.getloadavg()[0],
    }


def collected(arguments, variants, seeds):
    """Trains every variant once a seed or round, in turns; what a file has is not trained again."""
    results = {}
    if arguments.out and arguments.out.exists():
        for line in arguments.out.read_text().splitlines():
            name, seed, result = json.loads(line)
            results[name, seed] = result
    places = [(name, seed) for seed in range(1, seeds + 1) for name in variants]
    lock = threading.Lock()

    def fill(place):
        name, seed = place
        # Rounds repeat one training, so that they differ in time alone.
        with_seed = seed if arguments.table == "choices" else 1
        flags, epochs = variants[name], arguments.epochs
        torch = arguments.torch if name == IN_TORCH else None
        result = train(arguments.program, arguments.text, flags, epochs, with_seed, torch)
        with lock:
            results[place] = result
            if arguments.out:
                with arguments.out.open("a") as file:
                    file.write(json.dumps([name, seed, result]) + "\n")

    with ThreadPoolExecutor(arguments.jobs) as pool:
        list(pool.map(fill, [place for place in places if place not in results]))
    return {name: [results[name, seed] for seed in range(1, seeds + 1)] for name in variants}


def say_choices(results):
    print("| choice | cosine, mean | spread | processor s |\n|---|---|---|---|")
    for name, runs in results.items():
        cosines = [run["cosine"] for run in runs]
        spread = max(cosines) - min(cosines)
        seconds = statistics.mean(run["processor_s"] for run in runs)
        print(f"| {name} | {statistics.mean(cosines):.4f} | {spread:.4f} | {seconds:.0f} |")
    print(f"| the one best vector, without a model | {runs[0]['baseline']:.4f} | | |\n")


def say_items(results):
    print("| item | chunks a processor s | waiting | stood still | peak | cosine |")
    print("|---|---|---|---|---|---|")
    for name, runs in results.items():
        middle = lambda of: statistics.median(of(run) for run in runs)
        speed = middle(lambda run: run["chunks"] / run["processor_s"])
        waited, saved = middle(lambda run: run["wait_share"]), middle(lambda run: run["saving_s"])
        peak, cosine = max(run["peak_mib"] for run in runs), runs[0]["cosine"]
        cells = f"{speed:.0f} | {waited:.2%} | {saved:.2f} s | {peak:.0f} MiB | {cosine:.4f}"
        print(f"| {name} | {cells} |")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("table", choices=["choices", "items"])
    parser.add_argument("program")
    parser.add_argument("text")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--seeds", "--rounds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--torch", metavar="PYTHON")
    parser.add_argument("--out", type=pathlib.Path)
    arguments = parser.parse_args()
    variants = choices(arguments.epochs) if arguments.table == "choices" else items()
    if arguments.torch and arguments.table == "choices":
        variants[IN_TORCH] = variants["the plan"]
    results = collected(arguments, variants, arguments.seeds)
    (say_choices if arguments.table == "choices" else say_items)(results)
    loads = [run["load"] for runs in results.values() for run in runs]
    print(f"Load {min(loads):.0f} to {max(loads):.0f}.")


if __name__ == "__main__":
    main()
