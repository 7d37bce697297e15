#!/usr/bin/env python3
"""Measures the crate beside unifrac-binaries, scikit-bio and biom-format, by processor seconds.

    cargo build --release -p kato-unifrac --examples
    target/release/examples/synthetic /tmp/s 781 20000 200000 1
    python3 neural/kato-unifrac/benches/beside.py target/release/examples/unifrac ROUNDS /tmp/s…

It prints a table of distances and one of reading, the least of so many rounds. Contenders take turns, one thread each. Needs NumPy; `ssu` (Debian: unifrac-tools), the packages
`biom-format`, `h5py` and `scikit-bio` are measured where they are installed. scikit-bio's pairs are
slow, so it runs once, over the first hundred samples, and its figure is scaled to all pairs.
"""

import os
import resource
import shutil
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


def cell(seconds):
    return f"{min(seconds):.3g} s" if seconds else "–"


def row(*cells):
    print(f"| {' | '.join(cells)} |", flush=True)


def matrices(program, stem, rounds, folder):
    scaled, apart = scikit_bio(stem), []
    for metric in METHODS:
        whole, matrix, other = [], [], []
        for _ in range(rounds):
            seconds, of_matrix = ours(program, stem, metric, f"{folder}/o.npy")
            whole.append(seconds)
            matrix.append(of_matrix)
            if shutil.which("ssu"):
                other.append(ssu(stem, metric, f"{folder}/o.h5"))
        row(f"{name_of(stem)}, {metric}", *map(cell, (matrix, whole, other, scaled.get(metric))))
        if other:
            import h5py

            theirs = np.asarray(h5py.File(f"{folder}/o.h5")["matrix"])
            apart.append(f"{metric} {np.abs(np.load(f'{folder}/o.npy') - theirs).max():.1e}")
    return apart


def name_of(stem):
    return os.path.basename(stem)


def tables(program, stem, rounds):
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
        try:
            import biom
            import h5py
        except ImportError:
            continue
        theirs.append(spent(lambda: biom.load_table(f"{stem}.biom")))
        bare.append(spent(arrays))
    row(name_of(stem), *map(cell, (mine, theirs, bare)))


def scikit_bio(stem):
    """Gives the seconds that all pairs would take, by metric."""
    try:
        import biom
        from skbio import TreeNode
        from skbio.diversity import beta_diversity
    except ImportError:
        return {}
    table = biom.load_table(f"{stem}.biom")
    tree = TreeNode.read(f"{stem}.nwk", convert_underscores=False)
    n, n_all = 100, table.shape[1]
    counts = table.matrix_data[:, :n].T.toarray().astype(int)
    options = {"taxa": table.ids("observation"), "tree": tree, "validate": False}
    of = lambda metric: spent(lambda: beta_diversity(f"{metric}_unifrac", counts, **options))
    return {
        metric: [of(metric) * (n_all * (n_all - 1)) / (n * (n - 1))]
        for metric in ("unweighted", "weighted")
    }


def main():
    program, rounds, stems = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    os.environ["OMP_NUM_THREADS"] = "1"
    load = os.getloadavg()[0]
    apart = {}
    row("table, distance", "matrix", "files to `.npy`", "`ssu`, 64 bits", "scikit-bio, scaled from 100 samples")
    row(*["---"] * 5)
    with tempfile.TemporaryDirectory() as folder:
        for stem in stems:
            apart[stem] = matrices(program, stem, rounds, folder)
    print()
    row("table", "here", "biom-format", "h5py's bare arrays")
    row(*["---"] * 4)
    for stem in stems:
        tables(program, stem, rounds)
    print()
    for stem, found in apart.items():
        if found:
            print(f"{name_of(stem)}: from `ssu` at most {', '.join(found)} apart.")
    print(f"Load {load:.1f} before and {os.getloadavg()[0]:.1f} after.")


if __name__ == "__main__":
    main()
