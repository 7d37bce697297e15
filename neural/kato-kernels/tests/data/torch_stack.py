"""The example `stack` in PyTorch: f32|bf16 plain|checkpointed THREADS SECONDS."""

import sys
import time

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm_1, self.norm_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.qkv(self.norm_1(x)).view(b, n, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        a = nn.functional.scaled_dot_product_attention(q, k, v)
        x = x + self.out(a.transpose(1, 2).reshape(b, n, d))
        return x + self.down(nn.functional.gelu(self.up(self.norm_2(x))))


def main(precision="f32", mode="plain", threads="1", seconds="5"):
    torch.set_num_threads(int(threads))
    torch.manual_seed(1)
    batch, rows, width = 64, 151, 128
    blocks = nn.ModuleList(Block(width, 4) for _ in range(4))
    adam = torch.optim.AdamW(blocks.parameters(), lr=1e-4, weight_decay=0.01)
    x = torch.rand(batch, rows, width) * 2 - 1
    for step in range(10**9):
        if step == 1:
            start, processor = time.monotonic(), time.process_time()
        adam.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
            y = x
            for block in blocks:
                y = checkpoint(block, y, use_reentrant=False) if mode == "checkpointed" else block(y)
            loss = (y.float() ** 2).mean()
        loss.backward()
        adam.step()
        if step >= 2 and time.monotonic() - start > float(seconds):
            break
    tokens = step * batch * rows
    wall, used = time.monotonic() - start, time.process_time() - processor
    print(
        f"PyTorch {torch.__version__} {precision} {mode}: {tokens / used:.0f} tokens per processor second, "
        f"{tokens / wall:.0f} a second, loss {loss.item():.5f}"
    )


main(*sys.argv[1:])
