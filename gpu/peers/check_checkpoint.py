"""Loads checkpoints of kato-poetry into PyTorch's own layers and compares what comes out.

    kato-poetry encode RUN --out codes.npy
    python check_checkpoint.py RUN codes.npy

compares the code of every poem of a run. `--record FILE` adds to the file that `kato-libtorch golden`
wrote what torch.nn makes of its weights, for a test of kato-poetry.
"""

import argparse
import json
import pathlib
import struct

import numpy as np
import torch
from torch import nn

TYPES = {"F32": np.float32, "F64": np.float64, "I64": np.int64}
NAMES = {np.dtype(kind).str: name for name, kind in TYPES.items()}
CELLS = {1: (nn.RNN, "vanilla"), 3: (nn.GRU, "gru"), 4: (nn.LSTM, "lstm")}


def read(path):
    """Reads a safetensors file: a length, a header of JSON, numbers."""
    data = pathlib.Path(path).read_bytes()
    n_header = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + n_header])
    body, arrays = data[8 + n_header :], {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            numbers = np.frombuffer(body[begin:end], TYPES[entry["dtype"]])
            arrays[name] = torch.tensor(numbers.reshape(entry["shape"]))
    return arrays


def write(path, arrays):
    """Writes a safetensors file."""
    header, body = {}, b""
    for name in sorted(arrays):
        numbers = np.ascontiguousarray(arrays[name].numpy())
        end = len(body) + numbers.nbytes
        header[name] = {"dtype": NAMES[numbers.dtype.str], "shape": list(numbers.shape)}
        header[name]["data_offsets"] = [len(body), end]
        body += numbers.tobytes()
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    pathlib.Path(path).write_bytes(struct.pack("<Q", len(text)) + text + body)


def below(prefix, arrays):
    return {name[len(prefix) :]: each for name, each in arrays.items() if name.startswith(prefix)}


class Encoder(nn.Module):
    """Encoder and bottleneck of PyTorch's layers, with the names of our checkpoints."""

    def __init__(self, weights):
        super().__init__()
        width = weights["encoder.weight_ih_l0"].shape[1]
        n_rows, hidden = weights["encoder.weight_hh_l0"].shape
        layers = sum(name.startswith("encoder.weight_ih_l") for name in weights)
        code = len(weights["bottleneck.linear.bias"])
        self.encoder = CELLS[n_rows // hidden][0](width, hidden, layers, batch_first=True)
        self.bottleneck = nn.Module()
        self.bottleneck.linear = nn.Linear(hidden, code)
        own = {name for name in weights if name.startswith(("encoder.", "bottleneck."))}
        if "bottleneck.norm.weight" in weights:
            self.bottleneck.norm = nn.BatchNorm1d(code)
        self.load_state_dict({name: weights[name] for name in own}, strict=True)
        self.eval()

    @torch.no_grad()
    def forward(self, vectors, lengths):
        outputs = self.encoder(vectors)[0]
        codes = self.bottleneck.linear(outputs[torch.arange(len(lengths)), lengths - 1])
        return self.bottleneck.norm(codes) if hasattr(self.bottleneck, "norm") else codes


def newest(run):
    """Returns the folder of the checkpoint that `kato-poetry` would load: the best, or the newest."""
    folders = sorted((run / "checkpoints").iterdir())
    best = [folder for folder in folders if folder.name.startswith("best-")]
    steps = [folder for folder in folders if folder.name.startswith("step-")]
    return (best or steps)[-1]


def check(run, codes):
    """Compares the code of every poem: the mean over its chunks, weighted by tokens."""
    folder = newest(run)
    encoder = Encoder(read(folder / "weights.safetensors"))
    prepared = run / "prepared"
    tokens, mask = (np.load(prepared / f"{name}.npy") for name in ("tokens", "masks"))
    words = torch.tensor(np.load(prepared / "word_vectors.npy"))
    chunks = json.loads((prepared / "chunks.json").read_text(encoding="utf-8"))
    lengths = torch.tensor(mask.sum(1).astype(np.int64))
    vectors = words[torch.tensor(tokens.astype(np.int64))]
    found = encoder(vectors, lengths).double()
    expected = torch.tensor(np.load(codes)).double()
    poems = torch.tensor([chunk["poem"] for chunk in chunks])
    weights = lengths.double()[:, None]
    sums = torch.zeros_like(expected).index_add(0, poems, found * weights)
    totals = torch.zeros(len(expected), 1, dtype=torch.double).index_add(0, poems, weights)
    # Poems that were too short for training have no chunk among the prepared ones.
    known = totals[:, 0] > 0
    gap = ((sums / totals)[known] - expected[known]).abs().max() / expected[known].abs().max()
    kind = type(encoder.encoder).__name__
    print(f"{folder.name}: torch.nn.{kind} gives the codes of {int(known.sum())} poems, gap {gap:.1e}")
    return bool(gap <= 1e-5)


def record(path):
    arrays = read(path)
    for layers in (1, 2):
        for _, name in CELLS.values():
            encoder = Encoder(below(f"{name}{layers}/weights/", arrays))
            codes = encoder(arrays["vectors"], arrays["lengths"])
            arrays[f"torch/{name}{layers}/codes"] = codes
    write(path, arrays)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("run", type=pathlib.Path, nargs="?")
    parser.add_argument("codes", type=pathlib.Path, nargs="?")
    parser.add_argument("--record", type=pathlib.Path)
    options = parser.parse_args()
    if options.record:
        record(options.record)
    elif options.run and options.codes:
        raise SystemExit(0 if check(options.run, options.codes) else 1)
    else:
        parser.error("a run and its codes, or --record FILE")


if __name__ == "__main__":
    main()
