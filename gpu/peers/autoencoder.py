"""The sequence autoencoder as one writes it in PyTorch: the peer of `kato-libtorch measure autoencoder`."""

import argparse
import random

import torch
from torch import nn

from measuring import begin, find_device, report, timed, words


class Autoencoder(nn.Module):
    def __init__(self, width, hidden, code, layers, dropout):
        super().__init__()
        between = dropout if layers > 1 else 0.0
        self.layers, self.hidden = layers, hidden
        self.encoder = nn.LSTM(width, hidden, layers, batch_first=True, dropout=between)
        self.dropout = nn.Dropout(dropout)
        self.bottleneck = nn.Linear(hidden, code)
        self.to_hidden = nn.Linear(code, layers * hidden)
        self.to_memory = nn.Linear(code, layers * hidden)
        self.start = nn.Parameter(torch.randn(width) * 0.1)
        self.decoder = nn.LSTM(width, hidden, layers, batch_first=True, dropout=between)
        self.output = nn.Linear(hidden, width)

    def state(self, layer, code):
        states = torch.tanh(layer(code)).view(-1, self.layers, self.hidden)
        return states.transpose(0, 1).contiguous()

    def forward(self, vectors, coins):
        """Rebuilds vectors; `coins` is None where every step is fed with the true vector."""
        code = self.bottleneck(self.dropout(self.encoder(vectors)[0][:, -1]))
        state = self.state(self.to_hidden, code), self.state(self.to_memory, code)
        first = self.start.expand(len(vectors), 1, -1)
        if coins is None:
            inputs = torch.cat([first, vectors[:, :-1]], 1)
            return self.output(self.dropout(self.decoder(inputs, state)[0])), code
        fed, rebuilt = first, []
        for step in range(vectors.shape[1]):
            states, state = self.decoder(fed, state)
            rebuilt.append(self.output(self.dropout(states)))
            is_true = step + 1 < len(coins) and coins[step + 1]
            fed = vectors[:, step : step + 1] if is_true else rebuilt[-1]
        return torch.cat(rebuilt, 1), code


def measure(options, device, batch, feed, precision):
    begin(device)
    coins = random.Random(7)
    shape = options.width, options.hidden, options.code, options.layers, options.dropout
    model = Autoencoder(*shape).to(device)
    vectors = torch.randn(batch, options.steps, options.width, device=device) * 0.4
    adam = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
    cast = torch.autocast(device.type, torch.bfloat16, enabled=precision == "bf16")

    def step():
        tossed = [coins.random() < 0.5 for _ in range(options.steps)]
        adam.zero_grad(set_to_none=True)
        with cast:
            rebuilt, code = model(vectors, None if feed == "true" else tossed)
            error = (rebuilt.float() - vectors).square().mean()
            loss = error + 0.001 * code.float().square().mean()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adam.step()
        return loss.detach()

    return timed(device, options.seconds, step)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda", choices=["cpu", "cuda"])
    parser.add_argument("--threads", type=int)
    parser.add_argument("--width", type=int, default=300)
    parser.add_argument("--hidden", type=int, default=512)
    parser.add_argument("--code", type=int, default=64)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--dropout", type=float, default=0.0)
    parser.add_argument("--batches", type=words(int), default=[32, 256, 1024])
    parser.add_argument("--feeds", type=words(str), default=["true", "sampled"])
    parser.add_argument("--precisions", type=words(str), default=["f32"])
    parser.add_argument("--seconds", type=float, default=1.5)
    options = parser.parse_args()
    device = find_device(options.device)
    if options.threads:
        torch.set_num_threads(options.threads)
    for batch in options.batches:
        for feed in options.feeds:
            for precision in options.precisions:
                timing = measure(options, device, batch, feed, precision)
                configuration = {"batch": batch, "feed": feed, "mode": "eager"}
                configuration |= {"precision": precision}
                report("autoencoder", device, configuration, batch, timing)


if __name__ == "__main__":
    main()
