# SPDX-License-Identifier: Apache-2.0
"""ATen functions of single elements."""
from __future__ import annotations

import math
from typing import Any

from .._namespace import TRACED as xp
from .._traced import Exact as Digits, map_function
from ._rules import RULES, Defaults, Exact, Question, Unjudged, formula, formulas, is_tensor, promoted, rule, traced

_UNARY = ("abs acos acosh asin asinh atan atanh ceil cos cosh erf erfc exp exp2 expm1 floor isfinite isinf isnan log log10 log1p log2 "
          "logical_not neg reciprocal relu rsqrt sigmoid sign sin sinh sqrt square tan tanh trunc").split()
_BINARY = {"add": "add", "sub": "sub", "mul": "mul", "div": "div", "maximum": "maximum", "minimum": "minimum", "eq": "equal",
           "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "logical_and": "logical_and",
           "logical_or": "logical_or"}


def of_elements(op: str, **tensors: Any) -> Question:
    """An operator of single elements, whose operands all have the shape of the result: given flat, the result as y or z."""
    shape = next(reversed(tensors.values())).shape
    flat = {name: each.expand(shape).reshape(-1) for name, each in tensors.items()}
    name, result = flat.popitem()
    return Question(op, flat, {name: result})


def _unary(op: str) -> None:
    @rule(op)
    def ask(outputs: Any, self: Any) -> Question:
        return of_elements(op, **promoted({"x": self}, outputs[0]), y=outputs[0])


for _name in _UNARY:
    _unary(_name)
RULES.update(absolute=RULES["abs"], negative=RULES["neg"])

_FORMULAS = {"add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y, "div": lambda x, y: x / y,
             "maximum": xp.maximum, "minimum": xp.minimum, "eq": xp.equal, "ne": xp.not_equal, "lt": xp.less, "le": xp.less_equal,
             "gt": xp.greater, "ge": xp.greater_equal, "logical_and": xp.logical_and, "logical_or": xp.logical_or}


def _binary(aten: str, op: str) -> None:
    function = _FORMULAS[aten]

    @formula(aten, promotes=True)
    def broadcast(self: Any, other: Any, alpha: Any = 1) -> Any:
        return function(self, other if alpha == 1 else alpha * other)

    usual = RULES[aten]

    def of_one_shape(arguments: Any, outputs: Any) -> Any:
        import torch
        x, y = arguments["self"], arguments["other"]
        if isinstance(y, float) and is_tensor(x) and (not math.isfinite(y) or y == 0 and math.copysign(1, y) < 0):
            # No constant of a formula: these are finite and have no zero with a sign.
            y = torch.full((), y, dtype=x.dtype if x.dtype.is_floating_point else torch.get_default_dtype())
            arguments = Defaults({**arguments, "other": y}, getattr(arguments, "defaults", {}))
        if not outputs[0].dtype.is_floating_point and aten in ("add", "sub", "mul"):
            return [_of_integers(aten, arguments, outputs[0])]
        if is_tensor(x) and is_tensor(y) and arguments.get("alpha", 1) == 1 and not arguments.get("rounding_mode"):
            given = promoted({"x": x, "y": y}, outputs[0])
            if given["x"].dtype == given["y"].dtype and given["x"].shape == given["y"].shape and given["x"].dim() > 0:
                return [of_elements(op, **given, z=outputs[0])]
        return usual(arguments, outputs)

    RULES[aten] = of_one_shape


def _of_integers(aten: str, arguments: Any, output: Any) -> Exact:
    """Sums and products modulo that of the type, as NumPy has them, too."""
    import numpy
    import torch
    x, y = (torch.as_tensor(arguments[name]).to(output.dtype).cpu().numpy() for name in ("self", "other"))
    if arguments.get("alpha", 1) != 1:
        y = y * y.dtype.type(arguments["alpha"])
    function = {"add": numpy.add, "sub": numpy.subtract, "mul": numpy.multiply}[aten]
    return Exact(numpy.broadcast_to(function(x, y), output.shape), output.cpu().numpy())


for _name, _op in _BINARY.items():
    _binary(_name, _op)


@formula("rsub", promotes=True)
def _rsub(self, other, alpha=1): return other - alpha * self


@formula("clamp", "clip", "hardtanh", promotes=True)
def _clamp(self, min=None, max=None, min_val=None, max_val=None):
    return xp.clip(self, min if min_val is None else min_val, max if max_val is None else max_val)


@formula("clamp_min", promotes=True)
def _clamp_min(self, min): return xp.maximum(self, min)


@formula("clamp_max", promotes=True)
def _clamp_max(self, max): return xp.minimum(self, max)


@formula("where", promotes=True)
def _where(condition, self, other): return xp.where(condition, self, other)


@rule("pow")
def _pow(outputs: Any, self: Any, exponent: Any) -> Question:
    import torch
    result = outputs[0]
    if not is_tensor(exponent) and float(exponent).is_integer() and 0 <= exponent <= 8:
        return traced(lambda self: self**int(exponent), {"self": self}, outputs)
    given = {name: each if is_tensor(each) else torch.full(result.shape, each, dtype=result.dtype)
             for name, each in (("x", self), ("p", exponent))}
    return of_elements("pow", **promoted(given, result), y=result)


@formula("floor_divide")
def _floor_divide(self, other):
    _demand_integers(self, other)
    return xp.floor_divide(self, other)


@formula("remainder")
def _remainder(self, other):
    _demand_integers(self, other)
    return xp.remainder(self, other)


def _demand_integers(*operands: Any) -> None:
    for x in operands:
        if not isinstance(x, int) and getattr(x, "name", "") not in getattr(getattr(x, "trace", None), "integers", ()):
            raise Unjudged("a quotient of real numbers that is rounded down, whose steps rounding decides")


@formula("softplus")
def _softplus(self, beta=1, threshold=20):
    return xp.where(self * beta > threshold, self, xp.log1p(xp.exp(xp.minimum(self * beta, threshold))) / beta)


@formula("elu")
def _elu(self, alpha=1, scale=1, input_scale=1):
    below = xp.minimum(self, 0) * input_scale
    return xp.where(self > 0, scale * self, scale * alpha * (xp.exp(below) - 1))


@formula("log_sigmoid_forward", judged=(0,))
def _log_sigmoid(self): return xp.minimum(self, 0) - xp.log1p(xp.exp(-xp.abs(self)))


@formula("silu_backward")
def _silu_backward(grad_output, self):
    s = xp.sigmoid(self)
    return grad_output * (s * (1 + self * (1 - s)))


@formula("gelu_backward")
def _gelu_backward(grad_output, self, approximate="none"):
    if approximate == "tanh":
        k, c = Digits("0.79788456080286535587989211986876373695"), Digits("0.044715")
        t = xp.tanh(k * (self + c * (self * self * self)))
        slope = k * (1 + 3 * c * (self * self))
        return grad_output * (0.5 * (1 + t) + 0.5 * self * ((1 - t * t) * slope))
    cdf = 0.5 * map_function("one_minus_erf", self * Digits("-0.70710678118654752440084436210484903928"))
    pdf = xp.exp(-0.5 * (self * self)) * Digits("0.39894228040143267793994605993438186848")
    return grad_output * (cdf + self * pdf)


@formula("leaky_relu_backward")
def _leaky_relu_backward(grad_output, self, negative_slope, self_is_result=False):
    return xp.where(self > 0, grad_output, grad_output * negative_slope)


@formula("elu_backward")
def _elu_backward(grad_output, alpha, scale, input_scale, is_result, self_or_result):
    below = self_or_result + alpha if is_result else alpha * xp.exp(xp.minimum(self_or_result, 0) * input_scale)
    return xp.where(self_or_result > 0, grad_output * scale, grad_output * (input_scale * scale) * below)


@formula("softplus_backward")
def _softplus_backward(grad_output, self, beta, threshold):
    z = xp.minimum(self * beta, threshold)
    return xp.where(self * beta > threshold, grad_output, grad_output * xp.sigmoid(z))


@formula("hardswish_backward")
def _hardswish_backward(grad_output, self):
    return xp.where(self < -3, 0, xp.where(self <= 3, grad_output * (self / 3 + 0.5), grad_output))


@formula("hardsigmoid_backward")
def _hardsigmoid_backward(grad_output, self):
    return xp.where((self > -3) & (self < 3), grad_output * Digits("0.16666666666666666666666666666666666667"), 0)


@rule("sign", "sgn")
def _sgn(outputs: Any, self: Any) -> Question:
    """PyTorch has 0 for NaN."""
    if self.dtype.is_floating_point and bool(self.isnan().any()):
        return traced(lambda self: xp.where(self > 0, 1, xp.where(self < 0, -1, 0)), {"self": self}, outputs)
    return of_elements("sign", x=self, y=outputs[0])


@rule("round")
def _round(outputs: Any, self: Any, decimals: int = 0) -> Question:
    if decimals:
        raise Unjudged("round to decimals")
    return of_elements("round", x=self, y=outputs[0])


@formula("hypot")
def _hypot(self, other):
    root = xp.where(xp.isinf(other), xp.abs(other), xp.sqrt(self * self + other * other))
    return xp.where(xp.isinf(self), xp.abs(self), root)


@formula("logaddexp", promotes=True)
def _logaddexp(self, other):
    apart = xp.where(self == other, 0, self - other)  # also of infinities
    return xp.maximum(self, other) + xp.log1p(xp.exp(-xp.abs(apart)))


@formula("logit")
def _logit(self, eps=None):
    x = self if eps is None else xp.clip(self, eps, 1 - eps)
    return xp.log(x / (1 - x))


@formula("glu")
def _glu(self, dim=-1):
    a, b = xp.split(self, 2, axis=dim)
    return a * xp.sigmoid(b)


@formula("mish_backward")
def _mish_backward(grad_output, self):
    t = xp.tanh(xp.maximum(self, 0) + xp.log1p(xp.exp(-xp.abs(self))))
    return grad_output * (t + self * xp.sigmoid(self) * (1 - t * t))


@formula("logit_backward")
def _logit_backward(grad_output, self, eps=None):
    slope = grad_output / (self * (1 - self))
    return slope if eps is None else xp.where((self < eps) | (self > 1 - eps), 0, slope)


@formula("_prelu_kernel_backward", judged=(0, 1))
def _prelu_backward(grad_output, self, weight):
    return xp.where(self > 0, grad_output, weight * grad_output), xp.where(self > 0, 0, self * grad_output)


formulas({
    "logical_xor": lambda self, other: xp.not_equal(xp.not_equal(self, 0), xp.not_equal(other, 0)),
    "lerp": lambda self, end, weight: self + weight * (end - self),
    "addcmul": lambda self, tensor1, tensor2, value=1: self + value * tensor1 * tensor2,
    "addcdiv": lambda self, tensor1, tensor2, value=1: self + value * tensor1 / tensor2,
    "silu": lambda self: xp.silu(self),
    "gelu": lambda self, approximate="none": xp.gelu(self, approximate),
    "leaky_relu": lambda self, negative_slope=0.01: xp.where(self > 0, self, self * negative_slope),
    "hardsigmoid": lambda self: xp.clip(self + 3, 0, 6) / 6,
    "hardswish": lambda self: self * xp.clip(self + 3, 0, 6) / 6,
    "mish": lambda self: self * xp.tanh(xp.maximum(self, 0) + xp.log1p(xp.exp(-xp.abs(self)))),
    "threshold": lambda self, threshold, value: xp.where(self <= threshold, value, self),
    "_prelu_kernel": lambda self, weight: xp.where(self > 0, self, self * weight),
    "threshold_backward": lambda grad_output, self, threshold: xp.where(self <= threshold, 0, grad_output),
    "hardtanh_backward": lambda grad_output, self, min_val, max_val: xp.where((self <= min_val) | (self >= max_val), 0, grad_output),
    "tanh_backward": lambda grad_output, output: grad_output * (1 - output * output),
    "sigmoid_backward": lambda grad_output, output: grad_output * ((1 - output) * output),
    "log_sigmoid_backward": lambda grad_output, self, buffer=None: grad_output * xp.sigmoid(-self),
    "rad2deg": lambda self: self * Digits("57.295779513082320876798154814105170332405"),
    "deg2rad": lambda self: self * Digits("0.017453292519943295769236907684886127134429"),
    "hardshrink": lambda self, lambd=0.5: xp.where(xp.abs(self) <= lambd, 0, self),
    "softshrink": lambda self, lambd=0.5: xp.where(self > lambd, self - lambd, xp.where(self < -lambd, self + lambd, 0 * self)),
    "hardshrink_backward": lambda grad_out, self, lambd: xp.where(xp.abs(self) > lambd, grad_out, 0),
    "softshrink_backward": lambda grad_output, self, lambd: xp.where(xp.abs(self) > lambd, grad_output, 0),
    "heaviside": lambda self, values: xp.where(self == 0, values, xp.where(self > 0, 1, 0)),
    "isposinf": lambda self: xp.isinf(self) & (self > 0),
    "isneginf": lambda self: xp.isinf(self) & (self < 0),
})
