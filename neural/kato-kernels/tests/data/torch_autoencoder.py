"""The example `throughput` in PyTorch: small|large f32|bf16 taught|sampled THREADS SECONDS."""

import sys
import time

import torch
from torch import nn


def main(size="small", precision="f32", mode="taught", threads="1", seconds="5"):
    torch.set_num_threads(int(threads))
    torch.manual_seed(1)
    batch, steps = 32, 50
    d, h, z, layers = (300, 512, 64, 2) if size == "large" else (50, 128, 16, 1)
    encoder = nn.LSTM(d, h, layers, batch_first=True)
    decoder = nn.LSTM(d, h, layers, batch_first=True)
    to_z, to_h, to_c = nn.Linear(h, z), nn.Linear(z, layers * h), nn.Linear(z, layers * h)
    projection, first = nn.Linear(h, d), nn.Parameter(torch.randn(d) * 0.1)
    modules = nn.ModuleList([encoder, decoder, to_z, to_h, to_c, projection])
    parameters = [*modules.parameters(), first]
    adam = torch.optim.Adam(parameters, lr=1e-3)
    x = torch.rand(batch, steps, d) * 2 - 1
    draws = torch.rand(steps) < 0.5

    def loss_of():
        _, (hidden, _) = encoder(x)
        code = to_z(hidden[-1])
        state = tuple(
            torch.tanh(part(code)).view(batch, layers, h).transpose(0, 1).contiguous() for part in (to_h, to_c)
        )
        begin = first.expand(batch, 1, d)
        if mode == "taught":
            out, _ = decoder(torch.cat([begin, x[:, :-1]], 1), state)
            return nn.functional.mse_loss(projection(out), x)
        read, predictions = begin, []
        for t in range(steps):
            out, state = decoder(read, state)
            predictions.append(projection(out))
            read = x[:, t : t + 1] if draws[t] else predictions[-1]
        return nn.functional.mse_loss(torch.cat(predictions, 1), x)

    n = 0
    for step in range(10**9):
        if step == 3:
            start, processor = time.monotonic(), time.process_time()
        adam.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
            loss = loss_of()
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, 1.0)
        adam.step()
        n = max(0, step - 2) * batch
        if step >= 6 and time.monotonic() - start > float(seconds):
            break
    wall, used = time.monotonic() - start, time.process_time() - processor
    print(
        f"PyTorch {torch.__version__} {size} {precision} {mode}: {n / used:.0f} sequences per processor second, "
        f"{n / wall:.0f} a second, loss {loss.item():.5f}"
    )


main(*sys.argv[1:])
