# SPDX-License-Identifier: Apache-2.0
"""Small networks with random weights, of the kinds that people run: what ``assay.watch`` is tried on."""
import torch
from torch import nn
import torch.nn.functional as F


class Block(nn.Module):
    """A residual block of ResNet (He et al., 2016)."""

    def __init__(self, c, o, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(c, o, 3, stride, 1, bias=False), nn.BatchNorm2d(o)
        self.conv2, self.bn2 = nn.Conv2d(o, o, 3, 1, 1, bias=False), nn.BatchNorm2d(o)
        self.down = nn.Sequential(nn.Conv2d(c, o, 1, stride, bias=False), nn.BatchNorm2d(o)) if stride != 1 or c != o else None

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(y + (x if self.down is None else self.down(x)))


class ResNet18(nn.Module):
    def __init__(self, width=16, classes=10):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
        blocks, c = [], width
        for o, stride in ((width, 1), (2 * width, 2), (4 * width, 2), (8 * width, 2)):
            blocks += [Block(c, o, stride), Block(o, o, 1)]
            c = o
        self.blocks, self.head = nn.Sequential(*blocks), nn.Linear(c, classes)

    def forward(self, x):
        return self.head(self.blocks(self.stem(x)).mean((2, 3)))

    @staticmethod
    def example():
        return (torch.randn(2, 3, 64, 64),)


class BertTiny(nn.Module):
    def __init__(self, words=500, d=128, layers=2, heads=2):
        super().__init__()
        self.words, self.places = nn.Embedding(words, d), nn.Embedding(64, d)
        layer = nn.TransformerEncoderLayer(d, heads, 4 * d, 0.0, "gelu", batch_first=True)
        self.norm, self.encoder = nn.LayerNorm(d), nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)

    def forward(self, ids):
        return self.encoder(self.norm(self.words(ids) + self.places.weight[:ids.shape[1]]))

    @staticmethod
    def example():
        return (torch.randint(0, 500, (2, 32)),)


class Decoder(nn.Module):
    """A decoder in the manner of Llama: RMSNorm, rotated halves, shared heads, SwiGLU, and a cache for the last token."""

    def __init__(self, words=500, d=128, layers=2, heads=4, shared=2):
        super().__init__()
        self.heads, self.shared, self.size = heads, shared, d // heads
        self.words = nn.Embedding(words, d)
        self.layers = nn.ModuleList(nn.ModuleDict({
            "norm1": nn.RMSNorm(d), "q": nn.Linear(d, d, bias=False), "k": nn.Linear(d, shared * self.size, bias=False),
            "v": nn.Linear(d, shared * self.size, bias=False), "o": nn.Linear(d, d, bias=False), "norm2": nn.RMSNorm(d),
            "gate": nn.Linear(d, 3 * d, bias=False), "up": nn.Linear(d, 3 * d, bias=False), "down": nn.Linear(3 * d, d, bias=False)})
            for _ in range(layers))
        self.norm, self.out = nn.RMSNorm(d), nn.Linear(d, words, bias=False)

    def turned(self, x, first):
        half = self.size // 2
        angles = torch.outer(torch.arange(first, first + x.shape[2]).float(), 10000.0 ** (-torch.arange(half) / half)).to(x.dtype)
        cos, sin = torch.cos(angles), torch.sin(angles)
        a, b = x[..., :half], x[..., half:]
        return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)

    def step(self, x, caches):
        first = caches[0][0].shape[2] if caches[0] is not None else 0
        for place, layer in enumerate(self.layers):
            z, (b, l, _) = layer["norm1"](x), x.shape
            q, k, v = (layer[n](z).view(b, l, -1, self.size).transpose(1, 2) for n in "qkv")
            q, k = self.turned(q, first), self.turned(k, first)
            if caches[place] is not None:
                k, v = torch.cat([caches[place][0], k], 2), torch.cat([caches[place][1], v], 2)
            caches[place] = (k, v)
            k, v = (t.repeat_interleave(self.heads // self.shared, 1) for t in (k, v))
            y = F.scaled_dot_product_attention(q, k, v, is_causal=l > 1)
            x = x + layer["o"](y.transpose(1, 2).reshape(b, l, -1))
            z = layer["norm2"](x)
            x = x + layer["down"](F.silu(layer["gate"](z)) * layer["up"](z))
        return self.out(self.norm(x)), caches

    def forward(self, ids):
        prompt, caches = self.step(self.words(ids), [None] * len(self.layers))
        following, _ = self.step(self.words(prompt[:, -1:].argmax(-1)), caches)
        return torch.cat([prompt, following], 1)

    @staticmethod
    def example():
        return (torch.randint(0, 500, (1, 24)),)


class MambaTiny(nn.Module):
    """Selective state spaces (Gu and Dao, 2023), the recurrence step by step."""

    def __init__(self, d=32, state=8, layers=2):
        super().__init__()
        self.state = state
        self.layers = nn.ModuleList(nn.ModuleDict({"norm": nn.LayerNorm(d), "into": nn.Linear(d, 4 * d), "conv": nn.Conv1d(2 * d, 2 * d, 4, padding=3, groups=2 * d),
                                                   "bc": nn.Linear(2 * d, 2 * state), "delta": nn.Linear(2 * d, 2 * d), "out": nn.Linear(2 * d, d)})
                                    for _ in range(layers))
        self.a_log = nn.Parameter(torch.log(torch.arange(1, state + 1).float()).repeat(2 * d, 1))

    def forward(self, x):
        for layer in self.layers:
            u, gate = layer["into"](layer["norm"](x)).chunk(2, -1)
            u = F.silu(layer["conv"](u.transpose(1, 2))[..., :x.shape[1]].transpose(1, 2))
            b, c = layer["bc"](u).chunk(2, -1)
            delta = F.softplus(layer["delta"](u))
            decay = torch.exp(delta[..., None] * -torch.exp(self.a_log))
            h, steps = torch.zeros_like(decay[:, 0]), []
            for t in range(x.shape[1]):
                h = decay[:, t] * h + (delta[:, t] * u[:, t])[..., None] * b[:, t, None]
                steps.append((h * c[:, t, None]).sum(-1))
            x = x + layer["out"](torch.stack(steps, 1) * F.silu(gate))
        return x

    @staticmethod
    def example():
        return (torch.randn(2, 12, 32),)


MODELS = (ResNet18, BertTiny, Decoder, MambaTiny)
