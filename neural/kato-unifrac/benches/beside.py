#!/usr/bin/env python3
"""Measures the crate beside unifrac-binaries, scikit-bio and biom-format, by processor seconds.

    cargo build --release -p kato-unifrac --examples
    target/release/examples/synthetic /tmp/s 781 20000 200000 1
    python3 neural/kato-unifrac/benches/beside.py target/release/examples/unifrac /tmp/s [ROUNDS]

Contenders take turns, one thread each. Needs NumPy; `ssu` (Debian: unifrac-tools), the packages
`biom-format`, `h5py` and `scikit-bio` are measured where they are installed. scikit-bio's pairs are
slow, so it runs once, over the first hundred samples, and its figure is scaled to all pairs.
"""

import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

METHODS = {  # of the example: of ssu
    "unweighted": ["unweighted_fp64"],
    "weighted": ["weighted_unnormalized_fp64"],
    "normalized": ["weighted_normalized_fp64"],
    "0.5": ["generalized_fp64", "-a", "0.5"],
}


def child(command):
    """Runs a command; gives its processor seconds, its peak memory so far, and what it said."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    said = subprocess.run(command, check=True, stderr=subprocess.PIPE, text=True).stderr
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, said


def ours(program, stem, metric, out):
    seconds, said = child([program, f"{stem}.biom", f"{stem}.nwk", metric, out, "1"])
    matrix = next(line for line in said.splitlines() if line.endswith("  distances"))
    return seconds, float(matrix.split()[2])


def ssu(stem, metric, out):
    method, *more = METHODS[metric]
    command = ["ssu", "-i", f"{stem}.biom", "-t", f"{stem}.nwk", "-o", out, "-m", method, *more]
    return child([*command, "-r", "hdf5_fp64", "--pcoa", "0"])[0]


def spent(work):
    start = time.process_time()
    work()
    return time.process_time() - start


def say(name, seconds):
    low, middle = min(seconds), statistics.median(seconds)
    print(f"{name:50} {low:8.3f} least, {middle:8.3f} median of {len(seconds)}", flush=True)


def matrices(program, stem, rounds, folder):
    for metric in METHODS:
        whole, matrix, other = [], [], []
        for _ in range(rounds):
            seconds, of_matrix = ours(program, stem, metric, f"{folder}/o.npy")
            whole.append(seconds)
            matrix.append(of_matrix)
            if shutil.which("ssu"):
                other.append(ssu(stem, metric, f"{folder}/o.h5"))
        say(f"{metric}: matrix", matrix)
        say(f"{metric}: files to file", whole)
        if other:
            import h5py

            say(f"{metric}: ssu, files to file", other)
            theirs = np.asarray(h5py.File(f"{folder}/o.h5")["matrix"])
            apart = np.abs(np.load(f"{folder}/o.npy") - theirs).max()
            print(f"{metric}: {apart:.1e} apart at most", flush=True)


def tables(program, stem, rounds):
    import biom
    import h5py

    def arrays():
        with h5py.File(f"{stem}.biom") as file:
            for axis in ("observation", "sample"):
                file[f"{axis}/ids"][:]
                for part in ("data", "indices", "indptr"):
                    file[f"{axis}/matrix/{part}"][:]

    mine, theirs, bare = [], [], []
    for _ in range(rounds):
        command = [program, f"{stem}.biom", f"{stem}.nwk", "unweighted", "-", "1"]
        said = child(command)[1].splitlines()
        mine.append(float(next(line for line in said if "  table:" in line).split()[2]))
        theirs.append(spent(lambda: biom.load_table(f"{stem}.biom")))
        bare.append(spent(arrays))
    say("table", mine)
    say("table: biom-format", theirs)
    say("table: h5py's bare arrays", bare)


def scikit_bio(stem):
    import biom
    from skbio import TreeNode
    from skbio.diversity import beta_diversity

    table = biom.load_table(f"{stem}.biom")
    tree = TreeNode.read(f"{stem}.nwk", convert_underscores=False)
    n, n_all = 100, table.shape[1]
    counts = table.matrix_data[:, :n].T.toarray().astype(int)
    for metric in ("unweighted_unifrac", "weighted_unifrac"):
        seconds = spent(
            lambda: beta_diversity(
                metric, counts, taxa=table.ids("observation"), tree=tree, validate=False
            )
        )
        say(f"{metric}: scikit-bio, scaled", [seconds * (n_all * (n_all - 1)) / (n * (n - 1))])


def main():
    program, stem = sys.argv[1:3]
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 5
    os.environ["OMP_NUM_THREADS"] = "1"
    print(f"load {os.getloadavg()[0]:.1f} at the start")
    with tempfile.TemporaryDirectory() as folder:
        matrices(program, stem, rounds, folder)
    try:
        tables(program, stem, rounds)
        scikit_bio(stem)
    except ImportError as error:
        print(f"passed over: {error}")
    print(f"load {os.getloadavg()[0]:.1f} at the end")


if __name__ == "__main__":
    main()
