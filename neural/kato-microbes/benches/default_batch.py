#!/usr/bin/env python3
"""Takes one step of the default batch, 8 samples of 1,024 sequences of 150 nucleotides, none of them alike, with its
guesses and a judgement of two samples; prints what it took.

    cargo build --release -p kato-microbes
    python3 default_batch.py target/release/kato-microbes [FLAG…]
"""

import json
import os
import random
import subprocess
import sys
import tempfile

SAMPLES, SEQUENCES, LENGTH = 10, 1024, 150
FLAGS = "--depth 0 --batch 8 --epochs 1 --no-cache --json".split()
PARTS = ["validation=0.2", "calibration=0.0", "test=0.0"]


def branch(names):
    """Parts names at random, down to single ones, in Newick."""
    if len(names) == 1:
        return f"{names[0]}:0.1"
    middle = random.randint(1, len(names) - 1)
    return f"({branch(names[:middle])},{branch(names[middle:])}):0.1"


def main():
    random.seed(1)
    names = set()
    while len(names) < SAMPLES * SEQUENCES:
        names.add("".join(random.choice("ACGT") for _ in range(LENGTH)))
    names = sorted(names)
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/table.tsv", "w") as table:
            print("#OTU ID", *(f"s{i}" for i in range(SAMPLES)), sep="\t", file=table)
            for i, name in enumerate(names):
                print(name, *(int(i % SAMPLES == sample) for sample in range(SAMPLES)), sep="\t", file=table)
        half = len(names) // 2
        with open(f"{folder}/tree.nwk", "w") as tree:
            print(f"({branch(names[:half])},{branch(names[half:])});", file=tree)
        parts = [word for part in PARTS for word in ("--set", f"split.{part}")]
        command = [sys.argv[1], "pretrain", f"{folder}/table.tsv", "--tree", f"{folder}/tree.nwk"]
        command += ["--out", f"{folder}/run", *FLAGS, *parts, *sys.argv[2:]]
        before = os.getloadavg()[0]
        found = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    print(
        f"{found['best']['n_tokens']:,} tokens: at most {found['peak_bytes'] >> 20} MiB, "
        f"{found['processor_s']:.0f} processor seconds, {found['best']['train_s']:.0f} s of the clock for the step; "
        f"load {before:.0f} before and {os.getloadavg()[0]:.0f} after"
    )


if __name__ == "__main__":
    main()
