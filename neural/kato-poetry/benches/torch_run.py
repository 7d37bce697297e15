#!/usr/bin/env python3
"""Trains the model of a run in PyTorch: same data, first weights, order of batches and feeding.

    kato-poetry bench course RUN --out COURSE
    python3 torch_run.py RUN/prepared COURSE RUN/settings.toml [--epochs N] [--steps N] [--device cuda]
        [--captured] [--threads N] [--patience N] [--seconds S] [--out FILE]

Dropout masks are PyTorch's own, seeded with the run's seed; everything else is what the run has.
Every line is JSON: a step's loss with `--steps`, otherwise an epoch's validation as the run judges
it. `--captured` replays forward and backward as a CUDA graph. Needs PyTorch and NumPy.
"""

import argparse
import json
import math
import os
import pathlib
import time
import tomllib

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F


def read_weights(path):
    """Reads a file of safetensors: the length of its header, the header, the numbers."""
    content = path.read_bytes()
    end = 8 + int.from_bytes(content[:8], "little")
    tensors = json.loads(content[8:end])
    tensors.pop("__metadata__", None)
    for name, tensor in tensors.items():
        assert tensor["dtype"] == "F32", f"{name} is {tensor['dtype']}"
        first, last = (end + offset for offset in tensor["data_offsets"])
        numbers = np.frombuffer(content[first:last], "<f4")
        yield name, numbers.reshape(tensor["shape"]).copy()


class Autoencoder(nn.Module):
    """The model, with parameters of the names and shapes that the run's files have."""

    def __init__(self, options, dims):
        super().__init__()
        self.hidden, self.layers = options["hidden"], options["layers"]
        self.dropout, width = options["dropout"], options["bottleneck"]
        assert options["cell"] == "lstm"

        def stack():
            sizes = [dims] + [self.hidden] * (self.layers - 1)
            # A module a layer, so that dropout between them is ours to draw.
            return nn.ModuleList(nn.LSTM(size, self.hidden, batch_first=True) for size in sizes)

        def cells():
            sizes = [dims] + [self.hidden] * (self.layers - 1)
            return nn.ModuleList(nn.LSTMCell(size, self.hidden) for size in sizes)

        self.encoder, self.decoder = stack(), cells()
        self.bottleneck = nn.Linear(self.hidden, width)
        self.norm = nn.BatchNorm1d(width) if options["batch_norm"] else nn.Identity()
        self.to_hidden = nn.Linear(width, self.hidden * self.layers)
        self.to_memory = nn.Linear(width, self.hidden * self.layers)
        self.start = nn.Parameter(torch.zeros(dims))
        self.output = nn.Linear(self.hidden, dims)

    def load(self, weights):
        """Fills in the weights of a run's file."""
        weights = dict(weights)

        def take(target, name):
            with torch.no_grad():
                target.copy_(torch.from_numpy(weights.pop(name)).reshape(target.shape))

        for layer in range(self.layers):
            for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
                take(getattr(self.encoder[layer], f"{kind}_l0"), f"encoder.{kind}_l{layer}")
                name = f"decoder.recurrent.{kind}_l{layer}"
                take(getattr(self.decoder[layer], kind), name)
        for module, name in [
            (self.bottleneck, "bottleneck.linear"),
            (self.to_hidden, "projection.hidden"),
            (self.to_memory, "projection.memory"),
            (self.output, "decoder.output"),
        ]:
            take(module.weight, f"{name}.weight")
            take(module.bias, f"{name}.bias")
        if isinstance(self.norm, nn.BatchNorm1d):
            for kind in ("weight", "bias", "running_mean", "running_var"):
                take(getattr(self.norm, kind), f"bottleneck.norm.{kind}")
        take(self.start, "decoder.start")
        assert not weights, f"not used: {sorted(weights)}"

    def drop(self, tensor):
        return F.dropout(tensor, self.dropout, self.training)

    def encode(self, vectors, last):
        """Compresses `[batch, time, dims]`; `last` is each chunk's last position."""
        states = vectors
        for layer, net in enumerate(self.encoder):
            states = net(states if layer == 0 else self.drop(states))[0]
        rows = last.view(-1, 1, 1).expand(-1, 1, self.hidden)
        final = states.gather(1, rows).squeeze(1)
        return self.norm(self.bottleneck(self.drop(final)))

    def decode(self, codes, n_steps, truth=None, coins=None):
        """Rebuilds; `coins` is `[time]` of 0 and 1, on the device: 1 feeds the true word before."""

        def project(module):
            return torch.tanh(module(codes)).view(-1, self.layers, self.hidden).unbind(1)

        hidden, memory = list(project(self.to_hidden)), list(project(self.to_memory))
        step_input, rebuilt = self.start.expand(codes.shape[0], -1), []
        for step in range(n_steps):
            if step > 0:
                step_input = rebuilt[-1]
                if truth is not None:
                    step_input = torch.where(coins[step], truth[:, step - 1], step_input)
            for layer, cell in enumerate(self.decoder):
                if layer > 0:
                    step_input = self.drop(step_input)
                state = cell(step_input, (hidden[layer], memory[layer]))
                hidden[layer], memory[layer] = state
                step_input = hidden[layer]
            rebuilt.append(self.output(self.drop(step_input)))
        return torch.stack(rebuilt, 1)


def cosines(rebuilt, truth):
    length = lambda vectors: torch.sqrt(vectors.square().sum(-1) + 1e-12)
    return (rebuilt * truth).sum(-1) / (length(rebuilt) * length(truth))


def token_losses(rebuilt, truth, options):
    squares = (rebuilt - truth).square().mean(-1)
    if options["kind"] == "mse":
        return squares
    assert options["kind"] == "cosine"
    likeness = cosines(rebuilt, truth)
    if options.get("temperature"):
        likeness = torch.tanh(options["temperature"] * likeness)
    share = options["mse_share"]
    return (1 - share) * (1 - likeness) + share * squares


class Data:
    """The chunks of a run, on the device."""

    def __init__(self, prepared, device):
        load = lambda name: torch.from_numpy(np.load(prepared / name).astype(np.int64)).to(device)
        self.tokens, self.masks = load("tokens.npy"), load("masks.npy")
        words = np.load(prepared / "word_vectors.npy")
        self.words = torch.from_numpy(words).to(device)
        parts = [chunk["part"] for chunk in json.loads((prepared / "chunks.json").read_text())]
        place = lambda part: torch.tensor([at for at, name in enumerate(parts) if name == part])
        self.train, self.validation = place("train").to(device), place("validation").to(device)

    def batch(self, rows, n_steps=None):
        """Vectors, mask and last positions of chunks, cut to the longest of them if not told else."""
        masks = self.masks[rows]
        if n_steps is None:
            n_steps = int(masks.sum(1).max())
        masks = masks[:, :n_steps]
        vectors = self.words[self.tokens[rows][:, :n_steps]] * masks.unsqueeze(-1)
        return vectors, masks.float(), masks.sum(1) - 1


class Step:
    """Forward and backward of one batch size, captured as a CUDA graph if asked for."""

    def __init__(self, trainer, n_rows, n_steps, captured):
        self.trainer, self.n_steps, self.graph = trainer, n_steps, None
        if not captured:
            return
        device = trainer.data.words.device
        self.vectors = torch.zeros(n_rows, n_steps, trainer.data.words.shape[1], device=device)
        self.vectors.normal_()
        self.mask = torch.ones(n_rows, n_steps, device=device)
        self.last = torch.full((n_rows,), n_steps - 1, device=device)
        self.coins = torch.ones(n_steps, dtype=torch.bool, device=device)
        model = trainer.model
        before = {name: value.clone() for name, value in model.state_dict().items()}
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                model.zero_grad(set_to_none=True)
                self.forward(self.vectors, self.mask, self.last, self.coins).backward()
        torch.cuda.current_stream().wait_stream(side)
        model.zero_grad(set_to_none=True)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = self.forward(self.vectors, self.mask, self.last, self.coins)
            self.loss.backward()
        self.gradients = [parameter.grad for parameter in model.parameters()]
        # Warming up has moved the running statistics.
        model.load_state_dict(before)

    def forward(self, vectors, mask, last, coins):
        trainer = self.trainer
        codes = trainer.model.encode(vectors, last)
        rebuilt = trainer.model.decode(codes, vectors.shape[1], vectors, coins)
        losses = token_losses(rebuilt, vectors, trainer.loss) * mask
        penalty = trainer.loss["bottleneck_l2"] * codes.square().mean()
        return losses.sum() / mask.sum() + penalty

    def run(self, vectors, mask, last, coins):
        """Leaves the gradients in the parameters and returns the loss, on the device."""
        model = self.trainer.model
        if self.graph is None:
            model.zero_grad(set_to_none=True)
            loss = self.forward(vectors, mask, last, coins)
            loss.backward()
            return loss.detach()
        self.vectors.copy_(vectors)
        self.mask.copy_(mask)
        self.last.copy_(last)
        self.coins.copy_(coins)
        self.graph.replay()
        for parameter, gradient in zip(model.parameters(), self.gradients, strict=True):
            parameter.grad = gradient
        return self.loss.detach()


class Trainer:
    def __init__(self, arguments):
        settings = tomllib.loads(arguments.settings.read_text())
        self.training, self.loss = settings["training"], settings["loss"]
        device = torch.device(arguments.device)
        self.data = Data(arguments.prepared, device)
        torch.manual_seed(self.training["seed"])
        self.model = Autoencoder(settings["model"], self.data.words.shape[1])
        self.model.load(read_weights(arguments.course / "weights.safetensors"))
        self.model.to(device)
        load = lambda name: np.load(arguments.course / name)
        self.order = torch.from_numpy(load("order.npy").astype(np.int64)).to(device)
        self.sizes, self.rates = load("sizes.npy"), load("rates.npy")
        self.coins = torch.from_numpy(load("coins.npy").astype(bool)).to(device)
        self.window = self.coins.shape[1]
        self.captured, self.steps, self.taken, self.first = arguments.captured, {}, 0, 0
        self.adam = torch.optim.Adam(
            self.model.parameters(),
            lr=1e-3,
            weight_decay=self.training["weight_decay"],
            fused=device.type == "cuda",
        )

    def epoch_steps(self):
        return math.ceil(len(self.data.train) / self.training["batch"])

    def step(self):
        """Takes the next step of the course and returns its loss, on the device."""
        n_rows = int(self.sizes[self.taken])
        rows = self.order[self.first : self.first + n_rows]
        # A graph has one shape; padding changes no loss.
        batch = self.data.batch(self.data.train[rows], self.window if self.captured else None)
        coins = self.coins[self.taken][: batch[0].shape[1]]
        if n_rows not in self.steps:
            self.steps[n_rows] = Step(self, n_rows, self.window, self.captured)
        loss = self.steps[n_rows].run(*batch, coins)
        nn.utils.clip_grad_norm_(self.model.parameters(), self.training["clip"])
        self.adam.param_groups[0]["lr"] = float(self.rates[self.taken])
        self.adam.step()
        self.taken, self.first = self.taken + 1, self.first + n_rows
        return loss

    @torch.no_grad()
    def judge(self):
        """Loss, cosine and ratio of variances on the validation chunks, as the run judges."""
        self.model.eval()
        sums, rows = torch.zeros(2, dtype=torch.float64), self.data.validation
        moments = []
        for part in rows.split(256):
            vectors, mask, last = self.data.batch(part)
            rebuilt = self.model.decode(self.model.encode(vectors, last), vectors.shape[1])
            losses = (token_losses(rebuilt, vectors, self.loss) * mask).sum()
            alike = (cosines(rebuilt, vectors) * mask).sum()
            sums += torch.stack([losses, alike]).double().cpu()
            valid = mask.bool()
            moments.append((vectors[valid].double(), rebuilt[valid].double()))
        texts, rebuilt = (torch.cat(part) for part in zip(*moments, strict=True))
        variance = lambda tensor: float(tensor.var(0, unbiased=False).sum())
        self.model.train()
        loss, cosine = (sums / len(texts)).tolist()
        return {"loss": loss, "cosine": cosine, "variance": variance(rebuilt) / variance(texts)}

    def baseline(self):
        """Cosine of the validation tokens with the mean direction of the training tokens."""
        vectors = lambda rows: self.words_of(rows).double()
        mean = F.normalize(vectors(self.data.train), dim=-1).mean(0)
        return float(F.cosine_similarity(vectors(self.data.validation), mean, dim=-1).mean())

    def words_of(self, rows):
        return self.data.words[self.data.tokens[rows][self.data.masks[rows].bool()]]


def say(out, **line):
    text = json.dumps(line)
    print(text, flush=True)
    if out:
        out.write(text + "\n")
        out.flush()


def train(trainer, arguments, out):
    begun, best, waited = time.time(), math.inf, 0
    n_epochs = min(arguments.epochs or 10**9, trainer.training["epochs"])
    for epoch in range(n_epochs):
        losses = [trainer.step().clone() for _ in range(trainer.epoch_steps())]
        judged = trainer.judge()
        improved = judged["loss"] < best - trainer.training["min_delta"]
        best, waited = (judged["loss"], 0) if improved else (best, waited + 1)
        say(
            out,
            epoch=epoch,
            train_loss=float(torch.stack(losses).mean()),
            best=improved,
            wall_s=time.time() - begun,
            processor_s=time.process_time(),
            load=os.getloadavg()[0],
            **judged,
        )
        if waited >= (arguments.patience or 10**9):
            return say(out, ending="patience")
        if time.time() - begun > arguments.seconds:
            return say(out, ending="out of time")
    return say(out, ending="complete")


def main():
    parser = argparse.ArgumentParser()
    for name in ("prepared", "course", "settings"):
        parser.add_argument(name, type=pathlib.Path)
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--patience", type=int)
    parser.add_argument("--seconds", type=float, default=math.inf)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--captured", action="store_true")
    parser.add_argument("--out", type=pathlib.Path)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    # Both round products to 10 bits of mantissa on a GPU; the run does not.
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    trainer = Trainer(arguments)
    out = arguments.out.open("w") if arguments.out else None
    if arguments.steps:
        for step in range(arguments.steps):
            say(out, step=step, loss=float(trainer.step()))
        return
    device = torch.cuda.get_device_name() if arguments.device == "cuda" else "cpu"
    say(out, baseline=trainer.baseline(), torch=torch.__version__, device=device)
    train(trainer, arguments, out)


if __name__ == "__main__":
    main()
