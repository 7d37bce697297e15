"""The three-level transformer as one writes it in PyTorch: the peer of `kato-libtorch measure microbes`."""

import argparse

import torch
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from measuring import begin, find_device, report, timed, words

N_TOKENS, PADDING, START, MASKED, IGNORED = 7, 0, 5, 6, -100


class Block(nn.Module):
    def __init__(self, options, attention):
        super().__init__()
        width = options.width
        self.heads, self.attention = options.heads, attention
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.dropout = nn.Dropout(options.dropout)

    def forward(self, tokens, mask):
        rows, length, width = tokens.shape
        parts = self.qkv(self.norm1(tokens)).view(rows, length, 3, self.heads, -1)
        queries, keys, values = parts.permute(2, 0, 3, 1, 4).unbind(0)
        if self.attention == "fused":
            attended = functional.scaled_dot_product_attention(queries, keys, values, mask)
        else:
            scores = queries @ keys.transpose(2, 3) / queries.shape[-1] ** 0.5
            attended = scores.masked_fill(~mask, float("-inf")).softmax(-1) @ values
        attended = attended.transpose(1, 2).reshape(rows, length, width)
        tokens = tokens + self.dropout(self.out(attended))
        inner = self.dropout(functional.gelu(self.up(self.norm2(tokens))))
        return tokens + self.dropout(self.down(inner))


class Stack(nn.Module):
    def __init__(self, options, attention, recompute):
        super().__init__()
        self.blocks = nn.ModuleList(Block(options, attention) for _ in range(options.layers))
        self.recompute = recompute

    def forward(self, tokens, valid):
        mask = (valid | ~valid.any(1, keepdim=True))[:, None, None]
        for block in self.blocks:
            if self.recompute:
                tokens = checkpoint(block, tokens, mask, use_reentrant=False)
            else:
                tokens = block(tokens, mask)
        return tokens


class Pooling(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.query = nn.Parameter(torch.randn(width) * 0.02)
        self.norm = nn.LayerNorm(width)

    def forward(self, tokens, valid):
        scores = (tokens.float() @ self.query).float() / len(self.query) ** 0.5
        weights = scores.masked_fill(~valid, -1e30).softmax(-1)
        pooled = (weights[:, None] @ tokens)[:, 0]
        return self.norm(pooled).float() * valid.any(1, keepdim=True)


class Microbes(nn.Module):
    def __init__(self, options, attention, recompute):
        super().__init__()
        width = options.width
        self.chunk = options.chunk
        self.tokens = nn.Parameter(torch.randn(N_TOKENS, width) * 0.02)
        self.nucleotide_positions = nn.Parameter(torch.randn(options.length, width) * 0.02)
        self.nucleotides = Stack(options, attention, recompute)
        self.sequence_pooling, self.head = Pooling(width), nn.Linear(width, N_TOKENS)
        self.sequence_positions = nn.Parameter(torch.randn(options.sequences, width) * 0.02)
        self.sequences = Stack(options, attention, recompute)
        self.samples = Stack(options, attention, recompute)
        self.sample_pooling = Pooling(width)

    def encode_sequences(self, tokens, targets):
        n_samples, n_sequences, length = tokens.shape
        rows, targets = tokens.view(-1, length), targets.view(-1, length)
        present = (rows != PADDING).any(1).nonzero().view(-1)
        encoded, letters = [], 0.0
        for part in present.split(self.chunk):
            chunk = rows[part]
            valid = chunk != PADDING
            inputs = functional.embedding(chunk, self.tokens) + self.nucleotide_positions[:length]
            output = self.nucleotides(inputs, valid)
            logits = self.head(output).float().view(-1, N_TOKENS)
            letters = letters + functional.cross_entropy(
                logits, targets[part].view(-1), ignore_index=IGNORED, reduction="sum"
            )
            encoded.append(self.sequence_pooling(output, valid))
        everything = torch.zeros(len(rows), self.tokens.shape[1], device=rows.device)
        everything = everything.index_add(0, present, torch.cat(encoded))
        return everything.view(n_samples, n_sequences, -1), letters

    def forward(self, tokens, targets, distances):
        sequences, letters = self.encode_sequences(tokens, targets)
        valid = (tokens != PADDING).any(2)
        inputs = sequences + self.sequence_positions[: sequences.shape[1]]
        samples = self.samples(self.sequences(inputs, valid), valid)
        samples = self.sample_pooling(samples, valid)
        squares = (samples[None] - samples[:, None]).square().sum(2)
        near = torch.tanh((squares + 1e-12).sqrt() / 10)
        n = len(samples)
        pairs = torch.ones(n, n, device=samples.device).triu(1)
        unifrac = ((near - distances).square() * pairs).sum() / max(1, n * (n - 1) // 2)
        return unifrac + letters / (targets != IGNORED).sum().clamp_min(1)


def random_batch(options, device):
    shape = options.batch, options.sequences, options.length
    letters = torch.randint(1, 5, shape, device=device)
    letters[:, :, 0] = START
    hidden = (torch.rand(shape, device=device) < 0.15) & (letters != START)
    distances = torch.rand(options.batch, options.batch, device=device)
    targets = letters.masked_fill(~hidden, IGNORED)
    return letters.masked_fill(hidden, MASKED), targets, (distances + distances.T) / 2


def measure(options, device, precision, attention, recompute):
    begin(device)
    model = Microbes(options, attention, recompute).to(device)
    batch = random_batch(options, device)
    adam = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.01, fused=True)

    def step():
        adam.zero_grad(set_to_none=True)
        with torch.autocast(device.type, torch.bfloat16, enabled=precision == "bf16"):
            loss = model(*batch)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adam.step()
        return loss.detach()

    return timed(device, options.seconds, step)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda", choices=["cpu", "cuda"])
    parser.add_argument("--threads", type=int)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--sequences", type=int, default=1024)
    parser.add_argument("--length", type=int, default=151)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--dropout", type=float, default=0.0)
    parser.add_argument("--chunk", type=int, default=256)
    parser.add_argument("--precisions", type=words(str), default=["f32", "bf16"])
    parser.add_argument("--attention", type=words(str), default=["fused"])
    parser.add_argument("--recompute", type=words(str), default=["off", "on"])
    parser.add_argument("--seconds", type=float, default=1.5)
    options = parser.parse_args()
    device = find_device(options.device)
    if options.threads:
        torch.set_num_threads(options.threads)
    n_tokens = options.batch * options.sequences * options.length
    for precision in options.precisions:
        for attention in options.attention:
            for recompute in options.recompute:
                timing = measure(options, device, precision, attention, recompute == "on")
                configuration = {"batch": options.batch, "precision": precision}
                configuration |= {"attention": attention, "recompute": recompute == "on"}
                report("microbes", device, configuration, n_tokens, timing)


if __name__ == "__main__":
    main()
