# SPDX-License-Identifier: Apache-2.0
"""ATen's norms, pools and their gradients."""
from __future__ import annotations

import math
from typing import Any, Callable, Iterable, Iterator, Optional, Sequence

from .._namespace import TRACED as xp
from ._rules import FORMULAS, RULES, Answer, Question, Unjudged, accepted, formula, rule, traced


@rule("native_layer_norm")
def _layer_norm(outputs: Any, input: Any, normalized_shape: Sequence[int], weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Question:
    import torch
    n = math.prod(normalized_shape)
    rows = input.numel() // max(n, 1)
    x, y = input.reshape(rows, n), outputs[0].reshape(rows, n)
    gamma = x.new_ones(n) if weight is None else weight.reshape(n)
    beta = x.new_zeros(n) if bias is None else bias.reshape(n)
    stats = outputs[1].dtype == (torch.float64 if x.dtype == torch.float64 else torch.float32)
    found = {"y": y, **({"mean": outputs[1].reshape(rows), "rstd": outputs[2].reshape(rows)} if stats else {})}
    return Question("layer_norm", {"x": x, "gamma": gamma, "beta": beta}, found, {"eps": eps, "stats": int(stats)})


@rule("native_layer_norm_backward")
def _layer_norm_backward(outputs: Any, grad_out: Any, input: Any, normalized_shape: Sequence[int], mean: Any, rstd: Any, output_mask: Any,
                         weight: Any = None, bias: Any = None) -> Question:
    n = math.prod(normalized_shape)
    rows = input.numel() // max(n, 1)
    dx, dgamma, dbeta = outputs
    if not all(output_mask) or weight is None or mean.dtype != weight.dtype or mean.dtype.itemsize < 4 and dx.numel() <= _MOST_WHOLE:
        return _some_of_layer_norm(outputs, grad_out, input, (rows, n), mean, rstd, weight)
    given = {"dy": grad_out.reshape(rows, n), "x": input.reshape(rows, n), "mean": mean.reshape(rows), "rstd": rstd.reshape(rows), "gamma": weight.reshape(n)}
    found = {"dx": dx.reshape(rows, n), "dgamma": dgamma.reshape(n), "dbeta": dbeta.reshape(n)}

    def few(furthest: Callable[[Any], Optional[Sequence[int]]]) -> list[Question]:
        """Rows of the one gradient, columns of the others."""
        some = _some([place // n for place in furthest(found["dx"]) or ()], rows)
        columns = _some([place for name in ("dgamma", "dbeta") for place in furthest(found[name]) or ()], n)
        turned = {"mean": given["mean"][:, None], "rstd": given["rstd"][:, None]}
        whole = sum(each.numel() for each in found.values())
        return [traced(_layer_norm_dx, {"dy": given["dy"][some], "x": given["x"][some], **{name: each[some] for name, each in turned.items()},
                                        "weight": given["gamma"]}, [found["dx"][some]])._replace(elements=found["dx"].numel()),
                traced(_layer_norm_sums, {"dy": given["dy"][:, columns], "x": given["x"][:, columns], **turned},
                       [found["dgamma"][columns], found["dbeta"][columns]])._replace(elements=whole - found["dx"].numel())]

    return Question("layer_norm_backward", given, found, parts=few if dx.numel() > _MOST_WHOLE else None)


_MOST_WHOLE = 1 << 10  # elements of a gradient of which all are judged
_FEW = 6


def _some(places: Sequence[int], extent: int) -> list[int]:
    """These, the ends, and some between."""
    return sorted(list(dict.fromkeys([*places, 0, extent - 1, extent // 2, extent // 3, extent * 3 // 4]))[:_FEW])


def _layer_norm_dx(dy, x, mean, rstd, weight=None):
    z = (x - mean) * rstd
    g = dy if weight is None else dy * weight
    return rstd * (g - xp.mean(g, axis=1, keepdims=True) - z * xp.mean(g * z, axis=1, keepdims=True))


def _layer_norm_sums(dy, x, mean, rstd): return xp.sum(dy * ((x - mean) * rstd), axis=0), xp.sum(dy, axis=0)


def _some_of_layer_norm(outputs: Any, grad_out: Any, input: Any, shape: tuple[int, int], mean: Any, rstd: Any, weight: Any) -> Question:
    def gradients(dy, x, mean, rstd, weight=None):
        made = (_layer_norm_dx(dy, x, mean, rstd, weight), *_layer_norm_sums(dy, x, mean, rstd))
        return [each for each, output in zip(made, outputs) if output is not None]
    rows = shape[0]
    given = {"dy": grad_out.reshape(shape), "x": input.reshape(shape), "mean": mean.reshape(rows, 1), "rstd": rstd.reshape(rows, 1),
             **({} if weight is None else {"weight": weight.reshape(-1)})}
    return traced(gradients, given, [each.reshape(shape if place == 0 else shape[1:]) for place, each in enumerate(outputs) if each is not None])


@rule("native_group_norm")
def _group_norm(outputs: Any, input: Any, N: int, C: int, HxW: int, group: int, eps: float, weight: Any = None, bias: Any = None) -> Question:
    shape = (N, group, C // group, HxW)
    gamma = input.new_ones(C) if weight is None else weight
    beta = input.new_zeros(C) if bias is None else bias
    return Question("group_norm", {"x": input.reshape(shape), "gamma": gamma.reshape(shape[1:3]), "beta": beta.reshape(shape[1:3])},
                    {"y": outputs[0].reshape(shape)}, {"eps": eps})


@rule("_fused_rms_norm")
def _rms_norm(outputs: Any, input: Any, normalized_shape: Sequence[int], weight: Any = None, eps: Any = None) -> Question:
    import torch
    n = math.prod(normalized_shape)
    x, y = input.reshape(-1, n), outputs[0].reshape(-1, n)
    eps = torch.finfo(x.dtype).eps if eps is None else eps
    return Question("rms_norm", {"x": x, "gamma": x.new_ones(n) if weight is None else weight.reshape(n)}, {"y": y}, {"eps": eps})


def _channels(values: Any, x: Any) -> Any:
    """Values of each channel, along axis 1 of x."""
    return xp.reshape(values, (1, -1, *(1 for _ in range(x.ndim - 2)))) if values is not None else None


def _normalised(x: Any, weight: Any, bias: Any, mean: Any, scale: Any) -> Any:
    y = (x - mean) * scale
    y = y if weight is None else y * _channels(weight, x)
    return y if bias is None else y + _channels(bias, x)


def _batch_norm(input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool, eps: float) -> Any:
    if not training:
        return _normalised(input, weight, bias, _channels(running_mean, input), 1 / xp.sqrt(_channels(running_var, input) + eps))
    axes = (0, *range(2, input.ndim))
    mean = xp.mean(input, axis=axes, keepdims=True)
    deviation = input - mean
    return _normalised(input, weight, bias, mean, 1 / xp.sqrt(xp.mean(deviation * deviation, axis=axes, keepdims=True) + eps))


@formula("native_batch_norm", "_native_batch_norm_legit", "_native_batch_norm_legit_functional", "cudnn_batch_norm")
def _batch_norm_of_aten(input, weight=None, bias=None, running_mean=None, running_var=None, training=False, momentum=0.1, eps=1e-5,
                        exponential_average_factor=0, epsilon=None):
    return _batch_norm(input, weight, bias, running_mean, running_var, training, eps if epsilon is None else epsilon)


@formula("_native_batch_norm_legit.no_stats")
def _batch_norm_without(input, weight=None, bias=None, training=True, momentum=0.1, eps=1e-5):
    return _batch_norm(input, weight, bias, None, None, True, eps)


def _statistics(input, eps):
    axes = (0, *range(2, input.ndim))
    deviation = input - xp.mean(input, axis=axes, keepdims=True)
    return xp.mean(input, axis=axes), 1 / xp.sqrt(xp.mean(deviation * deviation, axis=axes) + eps)


_MOST_OF_STATISTICS = 1 << 16  # elements of an operand: the bounds of longer sums would let any statistics pass


def _running(arguments: Any, kept: Sequence[Any]) -> Iterator[Question]:
    """About the statistics of all batches so far, which a batch norm in training changes where they are."""
    x, count = arguments["input"], arguments["input"].numel() // arguments["input"].shape[1]
    if len(kept) < 2 or kept[0] is None or kept[1] is None or count < 2:
        return
    old = [arguments[name] for name in ("running_mean", "running_var")]
    yield traced(_running_statistics, {"input": x.to(old[0].dtype), "mean": old[0], "var": old[1], "momentum": arguments["momentum"]}, kept)


def _running_statistics(input, mean, var, momentum):
    axes = (0, *range(2, input.ndim))
    deviation = input - xp.mean(input, axis=axes, keepdims=True)
    count = math.prod(input.shape[axis] for axis in axes)
    return (xp.mean(input, axis=axes) * momentum + mean * (1 - momentum),
            xp.sum(deviation * deviation, axis=axes) * (momentum / (count - 1)) + var * (1 - momentum))


def _judge_statistics(name: str) -> None:
    """Adds a question about what a gradient reads later, which would be right by wrong ones."""
    usual = RULES[name]

    def both(arguments: Any, outputs: Sequence[Any]) -> Iterable[Answer]:
        yield from usual(arguments, outputs)
        if arguments["training"] and outputs[1].numel() > 0 and arguments["input"].numel() <= _MOST_OF_STATISTICS:
            yield traced(_statistics, {"input": arguments["input"].to(outputs[1].dtype), "eps": arguments["eps"]}, outputs[1:3])
            yield from _running(arguments, outputs[3:5])
    RULES[name] = both


for _name in ("native_batch_norm", "_native_batch_norm_legit", "_native_batch_norm_legit.no_stats"):
    _judge_statistics(_name)


@formula("_native_batch_norm_legit_no_training")
def _batch_norm_of_inference(input, running_mean, running_var, weight=None, bias=None, momentum=0.1, eps=1e-5):
    return _batch_norm(input, weight, bias, running_mean, running_var, False, eps)


@formula("native_batch_norm_backward", judged=(0, 1, 2))
def _batch_norm_backward(grad_out, input, train, eps, output_mask, weight=None, running_mean=None, running_var=None, save_mean=None,
                         save_invstd=None):
    axes = (0, *range(2, input.ndim))
    if train:
        mean, scale = _channels(save_mean, input), _channels(save_invstd, input)
    else:
        mean, scale = _channels(running_mean, input), 1 / xp.sqrt(_channels(running_var, input) + eps)
    z = (input - mean) * scale
    dgamma, dbeta = xp.sum(grad_out * z, axis=axes), xp.sum(grad_out, axis=axes)
    dx = grad_out
    if train:
        dx = grad_out - xp.mean(grad_out, axis=axes, keepdims=True) - z * xp.mean(grad_out * z, axis=axes, keepdims=True)
    dx = dx * scale
    return dx if weight is None else dx * _channels(weight, input), dgamma, dbeta


@formula("_adaptive_avg_pool2d")
def _adaptive_avg_pool(self, output_size):
    """Where the windows are of one size and apart."""
    for extent, count in zip(self.shape[-2:], output_size):
        if extent % count:
            raise Unjudged("adaptive windows of different sizes")
    (h, w), (oh, ow) = self.shape[-2:], output_size
    return xp.mean(xp.reshape(self, (*self.shape[:-2], oh, h // oh, ow, w // ow)), axis=(-3, -1))


@formula("native_group_norm_backward", judged=(0, 1, 2))
def _group_norm_backward(grad_out, input, mean, rstd, N, C, HxW, group, output_mask, weight=None):
    shape = (N, group, C // group, HxW)
    dy, x = xp.reshape(grad_out, shape), xp.reshape(input, shape)
    scale = xp.reshape(rstd, (N, group, 1, 1))
    z = (x - xp.reshape(mean, (N, group, 1, 1))) * scale
    g = dy if weight is None else dy * xp.reshape(weight, (1, group, C // group, 1))
    dx = scale * (g - xp.mean(g, axis=(2, 3), keepdims=True) - z * xp.mean(g * z, axis=(2, 3), keepdims=True))
    return xp.reshape(dx, input.shape), xp.reshape(xp.sum(dy * z, axis=(0, 3)), C), xp.reshape(xp.sum(dy, axis=(0, 3)), C)


@formula("_adaptive_avg_pool2d_backward")
def _adaptive_avg_pool_backward(grad_output, self):
    (h, w), (oh, ow) = self.shape[-2:], grad_output.shape[-2:]
    if h % oh or w % ow:
        raise Unjudged("adaptive windows of different sizes")
    spread = xp.reshape(grad_output, (*grad_output.shape[:-2], oh, 1, ow, 1)) / (h // oh * (w // ow))
    return xp.reshape(spread + 0 * xp.reshape(self, (*self.shape[:-2], oh, h // oh, ow, w // ow)), self.shape)


def _judge_parts(name: str) -> None:
    """Lets the rule judge gradients that a call makes without the others."""
    usual, function = RULES[name], FORMULAS[name]

    def ask(arguments: Any, outputs: Sequence[Any]) -> Iterable[Answer]:
        made = [place for place, each in enumerate(outputs) if each is not None]
        if len(made) == len(outputs):
            yield from usual(arguments, outputs)
        else:
            taken = accepted(name, function, arguments, getattr(arguments, "defaults", {}))
            yield traced(lambda **given: [function(**given)[place] for place in made], taken, [outputs[place] for place in made])
    RULES[name] = ask


for _name in ("native_batch_norm_backward", "native_group_norm_backward"):
    _judge_parts(_name)
