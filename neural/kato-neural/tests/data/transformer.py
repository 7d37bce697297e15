"""Writes what PyTorch makes of two transformer blocks and of attention pooling, for the tests.

`python transformer.py` writes beside itself transformer-weights.safetensors, the state of an
`nn.TransformerEncoder`, and transformer.json: rows, lengths, outputs and gradients. PyTorch 2.11.
"""
import json
import struct
from pathlib import Path

import torch
from torch import nn

torch.manual_seed(5)
BATCH, ROWS, WIDTH, HEADS, HIDDEN, LAYERS = 4, 5, 8, 2, 12, 2
LENGTHS = [5, 1, 0, 3]
HERE = Path(__file__).parent


def save(path, tensors):
    """The format by hand: a header's length, the header, the numbers."""
    header, data = {}, b""
    for name, tensor in tensors.items():
        numbers = tensor.detach().contiguous().numpy().tobytes()
        offsets = [len(data), len(data) + len(numbers)]
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": offsets}
        data += numbers
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


layer = nn.TransformerEncoderLayer(WIDTH, HEADS, HIDDEN, 0.0, "gelu", batch_first=True, norm_first=True)
net = nn.TransformerEncoder(layer, LAYERS, nn.LayerNorm(WIDTH), enable_nested_tensor=False)
with torch.no_grad():
    # PyTorch begins with zeros and ones where an error would not show.
    for parameter in net.parameters():
        parameter.add_(0.2 * torch.randn_like(parameter))
query = torch.randn(WIDTH, requires_grad=True)
norm = nn.LayerNorm(WIDTH)

rows = torch.randn(BATCH, ROWS, WIDTH, requires_grad=True)
padding = torch.arange(ROWS)[None, :] >= torch.tensor(LENGTHS)[:, None]
kept = torch.tensor(LENGTHS) > 0
# PyTorch gives NaN for a sequence of padding alone, so that it is left out here.
outputs = torch.zeros(BATCH, ROWS, WIDTH)
outputs[kept] = net(rows[kept], src_key_padding_mask=padding[kept])
outputs = outputs.masked_fill(padding[:, :, None], 0.0)
scores = (outputs @ query / WIDTH**0.5).masked_fill(padding, float("-inf"))
pooled = torch.zeros(BATCH, WIDTH)
shares = torch.softmax(scores[kept], 1)
pooled[kept] = norm((shares[:, :, None] * outputs[kept]).sum(1))
upstream, upstream_pooled = torch.randn_like(outputs), torch.randn_like(pooled)
((outputs * upstream).sum() + (pooled * upstream_pooled).sum()).backward()

save(HERE / "transformer-weights.safetensors", net.state_dict())
gradients = {name: parameter.grad for name, parameter in net.named_parameters()}
flat = lambda tensor: [float(f"{float(value):.9g}") for value in tensor.detach().flatten()]
json.dump(
    {
        "lengths": LENGTHS,
        "rows": flat(rows),
        "query": flat(query),
        "upstream": flat(upstream),
        "upstream_pooled": flat(upstream_pooled),
        "outputs": flat(outputs),
        "pooled": flat(pooled),
        "d_rows": flat(rows.grad),
        "d_query": flat(query.grad),
        "gradients": {name: flat(gradient) for name, gradient in gradients.items()},
    },
    (HERE / "transformer.json").open("w"),
)
