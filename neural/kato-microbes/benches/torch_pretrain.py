#!/usr/bin/env python3
"""Pre-trains the model of a run in PyTorch: same data, first weights, batches, hidden nucleotides and rates.

    kato-microbes bench course RUN --out COURSE
    python3 torch_pretrain.py COURSE RUN/settings.toml [--steps N] [--threads N]

Every line is JSON: a step's loss with `--steps`, otherwise an epoch's R² and mean error of the distances of the
validation samples, as the run judges them. Masks of dropout are PyTorch's own. Needs PyTorch and NumPy.
"""

import argparse
import json
import pathlib
import sys
import time
import tomllib

import torch
from torch import nn
from torch.nn import functional as F


# What reads a run's weights is there already.
sys.path.append(str(pathlib.Path(__file__).parents[2] / "kato-poetry/benches"))
from torch_run import read_weights  # noqa: E402


class Pooling(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.query, self.norm = nn.Parameter(torch.zeros(width)), nn.LayerNorm(width)

    def forward(self, rows, padding):
        scores = rows @ self.query / len(self.query) ** 0.5
        weights = scores.masked_fill(padding, -1e30).softmax(1)
        return self.norm((weights.unsqueeze(1) @ rows).squeeze(1))


class Encoder(nn.Module):
    """The encoder, with parameters of the names and shapes that the run's files have."""

    def __init__(self, options, max_bp):
        super().__init__()
        width = options["width"]

        def stack(n_layers):
            layer = nn.TransformerEncoderLayer(
                width, options["heads"], 4 * width, options["dropout"], "gelu", batch_first=True, norm_first=True
            )
            return nn.TransformerEncoder(layer, n_layers, enable_nested_tensor=False)

        self.tokens, self.positions = nn.Embedding(7, width), nn.Embedding(max_bp + 1, width)
        self.nucleotides, self.sequence_pooling = stack(options["nucleotide_layers"]), Pooling(width)
        self.letters, self.ranks = nn.Linear(width, 4), nn.Embedding(options["max_sequences"], width)
        if options["abundance"]:
            self.abundance = nn.Parameter(torch.zeros(width))
        self.sequences, self.sample_pooling = stack(options["sample_layers"]), Pooling(width)

    def chunk(self, chunk):
        tokens = torch.tensor(chunk["tokens"]).view(-1, chunk["n_steps"])
        padding = torch.arange(chunk["n_steps"]) >= torch.tensor(chunk["lengths"])[:, None]
        rows = self.tokens(tokens) + self.positions.weight[: chunk["n_steps"]]
        return self.nucleotides(rows, src_key_padding_mask=padding), padding

    def guess(self, batch):
        """Scores of all hidden nucleotides, and which they are."""
        scores, letters = [], []
        for chunk in batch["guesses"]:
            if chunk["hidden"]:
                rows = self.chunk(chunk)[0].flatten(0, 1)
                scores.append(self.letters(rows[torch.tensor(chunk["hidden"])]))
                letters += chunk["letters"]
        return (torch.cat(scores), torch.tensor(letters)) if scores else None

    def samples(self, batch):
        """A row a sample, whose distances are those of the samples."""
        distinct = [torch.zeros(1, self.ranks.weight.shape[1])]
        distinct += [self.sequence_pooling(*self.chunk(chunk)) for chunk in batch["chunks"]]
        shape = len(batch["lengths"]), batch["n_rows"]
        rows = torch.cat(distinct)[torch.tensor(batch["places"])].view(*shape, -1)
        rows = rows + self.ranks.weight[: shape[1]]
        if hasattr(self, "abundance"):
            rows = rows + torch.tensor(batch["abundances"]).view(*shape, 1) * self.abundance
        padding = torch.arange(shape[1]) >= torch.tensor(batch["lengths"])[:, None]
        rows = self.sequences(rows, src_key_padding_mask=padding)
        return self.sample_pooling(rows.masked_fill(padding[..., None], 0.0), padding)


def distances(rows):
    first, second = torch.triu_indices(len(rows), len(rows), 1)
    squares = (rows[first] - rows[second]).square().sum(1)
    return torch.tanh((squares + 1e-12).sqrt() / 10)


def loss_of(model, batch, weights):
    loss = torch.zeros(())
    if batch["distances"]:
        truth = torch.tensor(batch["distances"])
        loss = loss + weights["unifrac"] * F.mse_loss(distances(model.samples(batch)), truth)
    guessed = model.guess(batch)
    if guessed is not None:
        loss = loss + weights["nucleotides"] * F.cross_entropy(*guessed)
    return loss


@torch.no_grad()
def judge(model, batches, truth):
    model.eval()
    error = distances(torch.cat([model.samples(batch) for batch in batches])).double() - truth
    model.train()
    r2 = 1 - error.square().sum() / (truth - truth.mean()).square().sum()
    return {"r2": r2.item(), "mae": error.abs().mean().item()}


def lines(path):
    with path.open() as file:
        yield from map(json.loads, file)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("course", type=pathlib.Path)
    parser.add_argument("settings", type=pathlib.Path)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    settings = tomllib.loads(arguments.settings.read_text())
    training = settings["training"]
    torch.manual_seed(training["seed"])
    model = Encoder(settings["model"], settings["data"]["tokens"]["max_bp"])
    weights = read_weights(arguments.course / "weights.safetensors")
    model.load_state_dict({name.removeprefix("encoder."): torch.from_numpy(values) for name, values in weights})
    model.train()
    kept = [value for name, value in model.named_parameters() if "norm" in name or name.endswith("bias")]
    others = [value for name, value in model.named_parameters() if not ("norm" in name or name.endswith("bias"))]
    groups = [{"params": others, "weight_decay": training["weight_decay"]}, {"params": kept, "weight_decay": 0.0}]
    adam = torch.optim.AdamW(groups, lr=1.0)
    judged = list(lines(arguments.course / "validation.jsonl"))
    truth = torch.tensor(next(lines(arguments.course / "distances.json"))).double()
    begin, epoch = time.process_time(), 0

    def say_epoch():
        seconds = time.process_time() - begin
        print(json.dumps({"epoch": epoch, "processor_s": seconds} | judge(model, judged, truth)), flush=True)

    for number, batch in enumerate(lines(arguments.course / "steps.jsonl")):
        if arguments.steps is not None and number == arguments.steps:
            return
        if batch["epoch"] != epoch and arguments.steps is None:
            say_epoch()
        epoch = batch["epoch"]
        for group in adam.param_groups:
            group["lr"] = batch["rate"]
        loss = loss_of(model, batch, settings["loss"])
        adam.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), training["clip"])
        adam.step()
        if arguments.steps is not None:
            print(json.dumps({"step": number, "loss": loss.item()}), flush=True)
    say_epoch()


if __name__ == "__main__":
    main()
