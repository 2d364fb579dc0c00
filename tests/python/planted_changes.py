# SPDX-License-Identifier: Apache-2.0
"""Faults that tests of assay.watch plant in the results of a model, and how they make a model. Needs PyTorch."""
import assay.models._calls
import torch
from torch.utils._python_dispatch import TorchDispatchMode


class Changed(TorchDispatchMode):
    """Below a watch: changes the results of one function, from the given call on."""

    def __init__(self, name, change, first=0):
        super().__init__()
        self.name, self.change, self.left = name, change, first

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        made = function(*args, **(kwargs or {}))
        if function._schema.name == f"aten::{self.name}":
            self.left -= 1
            if self.left < 0:
                self.change(made)
        return made


class Fault(TorchDispatchMode):
    """Below a watch: changes one result of all that its model computes. Counts with place=None."""

    def __init__(self, place=None, change=None):
        super().__init__()
        self.place, self.change, self.seen, self.changed = place, change, 0, ""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        made = function(*args, **(kwargs or {}))
        first = made[0] if isinstance(made, (tuple, list)) and made else made
        if assay.models._calls.is_view(function) or not isinstance(first, torch.Tensor) or not first.dtype.is_floating_point \
                or assay.models._calls.why_unjudgeable(function) or first.numel() < 8 \
                or function._schema.name.startswith(("aten::_unsafe_view", "aten::unsafe_split")):  # whose results are their operand's memory
            return made
        self.seen += 1
        if self.seen - 1 == self.place:
            before = first.clone()
            self.change(first)
            if not torch.equal(first, before):
                self.changed = function._schema.name
        return made


def element(x, place):
    """The index of the element at a row-major place, whatever the strides."""
    return tuple(int(k) for k in torch.unravel_index(torch.tensor(place), x.shape))


def one_element(x):
    x[element(x, x.numel() // 3)] += 0.05 * x.abs().max()


def last_row_doubled(x):
    x[-1] *= 2


def rows_exchanged(x):
    flat = x.reshape(-1, x.shape[-1])
    if flat.shape[0] > 1 and x.is_contiguous():
        x.view(flat.shape)[[0, -1]] = flat[[-1, 0]].clone()
    else:
        x += 0.1 * x.abs().max()


def scaled(x):
    x *= 1.01


def nothing_left_of_the_end(x):
    x[..., -1] = 0.25 * x.abs().max()


def kept_in_bf16(x):
    x.copy_(x.bfloat16().float())


def not_a_number(x):
    x[element(x, x.numel() - 1)] = float("nan")


CHANGES = (one_element, last_row_doubled, rows_exchanged, scaled, nothing_left_of_the_end, kept_in_bf16, not_a_number)


def made(kind, seed=0):
    torch.manual_seed(seed)
    return kind().eval(), kind.example()
