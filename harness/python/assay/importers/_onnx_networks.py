# SPDX-License-Identifier: Apache-2.0
"""Recurrent networks of ONNX, step by step."""
from __future__ import annotations

from typing import Any, Callable, Optional

import numpy

from ._cases import Unmapped, demand
from ._onnx_arrays import Value, apply, concat, known, move, reshape, transpose
from ._onnx_elements import clipped
from ._onnx_steps import Step, operator
from ._onnx_sums import matmul

_FUNCTIONS: dict[str, Callable[[Value], Value]] = {
    "tanh": lambda x: apply("tanh", x), "sigmoid": lambda x: apply("sigmoid", x), "relu": lambda x: apply("maximum", x, 0)}


def _part(x: Value, number: int, of: int, axis: int) -> Value:
    size = x.shape[axis] // of
    return move(x, numpy.arange(number * size, (number + 1) * size), axis, 1)


class _Direction:
    """The weights of one direction, and its functions."""

    def __init__(self, s: Step, number: int, gates: int, functions: int) -> None:
        def own(position: int, axis: int = 0) -> Optional[Value]:
            value = s.get(position)
            if value is None:
                return None
            return reshape(move(value, [number], axis, 1), (*value.shape[:axis], *value.shape[axis + 1:]))
        self.w, self.r, bias = own(1), own(2), own(3)
        self.gates, hidden = gates, s[2].shape[2]
        zeros = known(numpy.zeros(gates * hidden), s[0].type)
        self.wb, self.rb = (_part(bias, k, 2, 0) for k in range(2)) if bias is not None else (zeros, zeros)
        usual = ["Sigmoid", "Tanh", "Tanh"] if functions > 1 else ["Tanh"]
        names = s.attr("activations") or usual[:functions] * 2
        demand(len(names) >= (number + 1) * functions, f"activations of {s.op} are {functions} for each direction, not {len(names)}")
        clip = s.attr("clip")
        batch_first = s.attr("layout", 0)
        self.h, self.c, self.peepholes = own(5, batch_first), own(6, batch_first), own(7)
        batch = s[0].shape[0 if batch_first else 1]
        demand(s.attr("hidden_size", hidden) == hidden, f"hidden_size of {s.op} is not that of its weights: make it {hidden}")
        start = known(numpy.zeros((batch, hidden)), s[0].type)
        self.h, self.c = self.h or start, self.c or start

        def made(name: str) -> Callable[[Value], Value]:
            demand(name.lower() in _FUNCTIONS, f"the activation {name[:40]} of {s.op}: {', '.join(_FUNCTIONS)} are there")
            return lambda x: _FUNCTIONS[name.lower()](x if clip is None else clipped(x, -clip, clip))
        self.functions = [made(name) for name in names[number * functions:(number + 1) * functions]]

    def gate(self, x: Value, h: Value, k: int) -> Value:
        return self.of_x(x, k) + self.of_h(h, k)

    def of_x(self, x: Value, k: int) -> Value:
        return matmul(x, transpose(_part(self.w, k, self.gates, 0), (1, 0))) + _part(self.wb, k, self.gates, 0)

    def of_h(self, h: Value, k: int) -> Value:
        return matmul(h, transpose(_part(self.r, k, self.gates, 0), (1, 0))) + _part(self.rb, k, self.gates, 0)


def _rnn(d: _Direction, s: Step, x: Value, h: Value, c: Value) -> tuple[Value, Value]:
    return d.functions[0](d.gate(x, h, 0)), c


def _gru(d: _Direction, s: Step, x: Value, h: Value, c: Value) -> tuple[Value, Value]:
    f, g = d.functions
    z, r = f(d.gate(x, h, 0)), f(d.gate(x, h, 1))
    new = g(d.of_x(x, 2) + (r * d.of_h(h, 2) if s.attr("linear_before_reset", 0) else d.of_h(r * h, 2)))
    return (1 - z) * new + z * h, c


def _lstm(d: _Direction, s: Step, x: Value, h: Value, c: Value) -> tuple[Value, Value]:
    f, g, last = d.functions
    demand(not s.attr("input_forget", 0), "input_forget of LSTM")
    p = [_part(d.peepholes, k, 3, 0) for k in range(3)] if d.peepholes is not None else [0, 0, 0]
    i = f(d.gate(x, h, 0) + p[0] * c)
    forget = f(d.gate(x, h, 2) + p[2] * c)
    c = forget * c + i * g(d.gate(x, h, 3))
    o = f(d.gate(x, h, 1) + p[1] * c)
    return o * last(c), c


_CELLS = {"RNN": (_rnn, 1, 1), "GRU": (_gru, 3, 2), "LSTM": (_lstm, 4, 3)}  # gates and functions


@operator(*_CELLS)
def _recurrent(s: Step) -> Any:
    cell, gates, functions = _CELLS[s.op]
    batch_first, way = s.attr("layout", 0), s.attr("direction", "forward")
    x = transpose(s[0], (1, 0, 2)) if batch_first else s[0]
    if s.has(4) and (s.array(4) != x.shape[0]).any():
        raise Unmapped("sequences of different lengths")
    outputs, last_h, last_c = [], [], []
    for number in range(2 if way == "bidirectional" else 1):
        d = _Direction(s, number, gates, functions)
        h, c, steps = d.h, d.c, []
        order = range(x.shape[0])
        is_back = way == "reverse" or number == 1
        for t in order[::-1] if is_back else order:
            h, c = cell(d, s, reshape(move(x, [t], 0, 1), x.shape[1:]), h, c)
            steps.append(reshape(h, (1, 1, *h.shape)))
        outputs.append(concat(steps[::-1] if is_back else steps, 0))
        last_h.append(reshape(h, (1, *h.shape)))
        last_c.append(reshape(c, (1, *c.shape)))
    y, *last = concat(outputs, 1), concat(last_h, 0), concat(last_c, 0)
    if batch_first:
        y, last = transpose(y, (2, 0, 1, 3)), [transpose(one, (1, 0, 2)) for one in last]
    return [y, *last]
