#!/usr/bin/env python3
"""Compares distances with scikit-bio's on tables that R packages ship.

    cargo build --release -p kato-unifrac --examples
    apt-get download r-bioc-phyloseq r-cran-gunifrac
    for package in r-*.deb; do dpkg -x "$package" root; done
    python3 neural/kato-unifrac/benches/equal.py target/release/examples/unifrac root/usr/lib/R/site-library

GlobalPatterns has 26 samples of 19,216 features, throat 60 of 856. Needs the packages `rdata`,
`scikit-bio` and `biom-format`. Both programs read the same files.
"""

import pathlib
import subprocess
import sys
import tempfile
import warnings

import biom
import h5py
import numpy as np
import rdata
from skbio import TreeNode
from skbio.diversity import beta_diversity

METRICS = {"unweighted": {}, "weighted": {}, "normalized": {"normalized": True}}


def read(path):
    with warnings.catch_warnings():
        # Classes of R that Python has none for come as their parts, which is what is wanted.
        warnings.simplefilter("ignore")
        return rdata.conversion.convert(rdata.parser.parse_file(path))


def newick(tree):
    """Writes a tree of R's package ape: tips have the first numbers."""
    tips = [str(name) for name in tree["tip.label"]]
    children, lengths = {}, {}
    for (parent, child), length in zip(np.asarray(tree["edge"]), tree["edge.length"]):
        children.setdefault(int(parent), []).append(int(child))
        lengths[int(child)] = repr(float(length))
    root = len(tips) + 1
    texts = {}
    stack = [root]
    # By hand, as trees are deeper than Python calls.
    while stack:
        node = stack[-1]
        missing = [child for child in children.get(node, []) if child not in texts]
        if missing:
            stack.extend(missing)
            continue
        stack.pop()
        if node in children:
            text = "(" + ",".join(texts.pop(child) for child in children[node]) + ")"
        else:
            text = "'" + tips[node - 1] + "'"
        texts[node] = text if node == root else f"{text}:{lengths[node]}"
    return texts[root] + ";"


def global_patterns(library):
    found = read(library / "phyloseq/data/GlobalPatterns.RData")["GlobalPatterns"]
    return found.otu_table.to_pandas(), found.phy_tree


def throat(library):
    table = read(library / "GUniFrac/data/throat.otu.tab.rda")["throat.otu.tab"]
    tree = read(library / "GUniFrac/data/throat.tree.rda")["throat.tree"]
    return table.T, tree


def compare(name, program, counts, tree, folder):
    features = [str(feature) for feature in counts.index]
    samples = [str(sample) for sample in counts.columns]
    numbers = np.asarray(counts, dtype=float)
    stem = folder / name
    with h5py.File(f"{stem}.biom", "w") as file:
        biom.Table(numbers, features, samples).to_hdf5(file, "a test")
    stem.with_suffix(".nwk").write_text(newick(tree))
    theirs_tree = TreeNode.read(f"{stem}.nwk", convert_underscores=False)
    theirs_counts = numbers.T.astype(int)
    for metric, options in METRICS.items():
        out = f"{stem}.npy"
        subprocess.run(
            [program, f"{stem}.biom", f"{stem}.nwk", metric, out, "1"],
            check=True,
            capture_output=True,
        )
        kind = "unweighted_unifrac" if metric == "unweighted" else "weighted_unifrac"
        theirs = beta_diversity(
            kind, theirs_counts, samples, taxa=features, tree=theirs_tree, validate=False, **options
        )
        order = pathlib.Path(f"{stem}.ids.txt").read_text().split()
        apart = np.abs(np.load(out) - theirs.filter(order).data).max()
        greatest = theirs.data.max()
        print(f"{name} {numbers.T.shape}: {metric}: {apart:.1e} apart at most, of {greatest:.3f}")


def main():
    program, library = sys.argv[1], pathlib.Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        for name, made in ("global-patterns", global_patterns), ("throat", throat):
            counts, tree = made(library)
            compare(name, program, counts, tree, pathlib.Path(folder))


if __name__ == "__main__":
    main()
