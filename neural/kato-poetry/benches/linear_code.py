#!/usr/bin/env python3
"""What a code of so many numbers holds of a chunk, without any training: principal components.

    python3 linear_code.py RUN/prepared [N ...]

Chunks of a run's training part, as long rows of their words' vectors, give a mean and orthogonal
directions; held-out chunks are projected to the first N and rebuilt. Prints the mean cosine of their
tokens for training and validation. It is the best linear autoencoder in squared error, and so a
measure of how much an autoencoder with a code of that size can be asked for.
"""

import json
import pathlib
import sys

import numpy as np


def cosine(rebuilt, truth, masks):
    product = (rebuilt * truth).sum(-1)
    scale = np.linalg.norm(rebuilt, axis=-1) * np.linalg.norm(truth, axis=-1)
    return float((product / np.maximum(scale, 1e-12))[masks].mean())


def main():
    prepared = pathlib.Path(sys.argv[1])
    sizes = [int(size) for size in sys.argv[2:]] or [0, 16, 32, 64, 128, 256, 512, 1024, 2048]
    words = np.load(prepared / "word_vectors.npy")
    tokens, masks = np.load(prepared / "tokens.npy"), np.load(prepared / "masks.npy").astype(bool)
    parts = [chunk["part"] for chunk in json.loads((prepared / "chunks.json").read_text())]
    parts = np.array(parts)
    # Of length 1, as a cosine knows no length.
    words = words / np.maximum(np.linalg.norm(words, axis=1, keepdims=True), 1e-12)
    rows = {}
    for part in ("train", "validation"):
        at = parts == part
        vectors = words[tokens[at]] * masks[at][..., None]
        rows[part] = vectors.reshape(len(vectors), -1), masks[at]
    train = rows["train"][0]
    mean = train.mean(0)
    centred = train - mean
    # Eigenvectors of the products of chunks: there are fewer chunks than numbers in one.
    values, vectors = np.linalg.eigh(centred @ centred.T)
    order = np.argsort(values)[::-1][: max(sizes)]
    directions = (vectors[:, order].T @ centred) / np.sqrt(np.maximum(values[order], 1e-9))[:, None]
    print("| numbers of the code | training | validation |\n|---|---|---|")
    for size in sizes:
        cells = []
        for part in ("train", "validation"):
            flat, valid = rows[part]
            first = directions[:size]
            rebuilt = mean + (flat - mean) @ first.T @ first
            shape = (len(flat), -1, words.shape[1])
            cells.append(cosine(rebuilt.reshape(shape), flat.reshape(shape), valid))
        print(f"| {size} | {cells[0]:.3f} | {cells[1]:.3f} |", flush=True)


if __name__ == "__main__":
    main()
