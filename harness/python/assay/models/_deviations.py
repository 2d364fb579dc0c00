# SPDX-License-Identifier: Apache-2.0
"""Which elements of a result to judge: those furthest from what the same call gives in f64. That says where to look, not what is right."""
from __future__ import annotations

import math
from typing import Any, Callable, Iterator, NamedTuple, Optional

from ._background import tensors_in
from ._calls import _form
from ._rules import is_tensor


_MOST_ELEMENTS = 1 << 22  # of operands that are copied in f64, and of results beside them
_MOST_COPIED = 1 << 22    # of a large matrix at a time
_MOST_PRODUCTS = 1 << 22  # of a product of matrices that is computed in f64


def _widened(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_widened(each) for each in value]
    return value.detach().double() if is_tensor(value) and value.dtype.is_floating_point else value


def _is_repeatable(function: Any, call: Any, result: Any) -> bool:
    """Whether another execution changes nothing but new tensors: ATen's, no random one, and none that may write into operands. In f64 these
    are copies, unless they are of f64 already; what writes into others says so."""
    import torch
    tensors = list(tensors_in([*call.arguments.values(), result]))
    return str(function._schema.name).startswith("aten::") and torch.Tag.nondeterministic_seeded not in function.tags and not call.written and \
        not any(each.dtype == torch.float64 for each in tensors) and sum(each.numel() for each in tensors) <= _MOST_ELEMENTS


class _Product(NamedTuple):
    """A large product of matrices, alpha a b + beta c, which in f64 would take longer than judging."""
    a: Any
    b: Any
    c: Any
    alpha: float
    beta: float

    def turned(self) -> _Product:
        return self._replace(a=self.b.T, b=self.a.T, c=None if self.c is None else self.c.T)


def _product_of(call: Any, result: Any) -> Optional[_Product]:
    """None: it is another call."""
    given = call.arguments
    a, b = given.get("self" if call.base == "mm" else "mat1"), given.get("mat2")
    if call.base not in ("mm", "addmm") or call.written or a.shape[0] * b.numel() <= _MOST_PRODUCTS or not a.dtype.is_floating_point:
        return None
    beta = given["beta"] if call.base == "addmm" else 0
    return _Product(a.detach(), b.detach(), given["self"].detach().expand(result.shape) if beta else None, given.get("alpha", 1), beta)


def _in_blocks(m: Any, step: Callable[[Any], Any]) -> Any:
    """Numbers of all rows, of which some at a time are copied in f64, so that a large matrix takes no second memory."""
    import torch
    rows = max(1, _MOST_COPIED // max(m.shape[1], 1))
    return torch.cat([step(m[first:first + rows].double()) for first in range(0, m.shape[0], rows)])


def _places_in_product(product: _Product, y: Any) -> Optional[list[int]]:
    """Elements that are furthest off in rows and columns whose sums with random signs are (Freivalds, 1977), absolutely and by their size.
    None: infinities or NaN would hide the others of their rows and columns."""
    y, width = y.detach(), y.shape[1]
    try:
        return [row * width + column for row, column in _furthest_of_rows(product, y)] + \
            [row * width + column for column, row in _furthest_of_rows(product.turned(), y.T)]
    except ArithmeticError:
        return None


def _furthest_of_rows(product: _Product, y: Any) -> Iterator[tuple[int, int]]:
    import torch
    a, b, c, alpha, beta = product
    signs = torch.randint(0, 2, (y.shape[1],), generator=torch.Generator().manual_seed(0)).to(y.device, torch.float64).mul_(2).sub_(1)

    def times(m: Any, vector: Any) -> Any:
        return _in_blocks(m, lambda block: block @ vector)

    sums, sizes = _in_blocks(y, lambda block: torch.stack([block @ signs, block.abs().sum(1)], 1)).T
    if not math.isfinite(sizes.sum()):
        raise ArithmeticError
    sums = sums - alpha * times(a, times(b, signs)) - (beta * times(c, signs) if c is not None else 0)
    for row in {int(sums.abs().argmax()), int((sums.abs() / (sizes + 1e-300)).argmax())}:
        right = alpha * times(b.T, a[row].double()) + (beta * c[row] if c is not None else 0)
        yield row, int((y[row] - right).abs_().argmax())


class Deviations:
    """Distances of a call's results from those in f64."""

    def __init__(self, function: Any, call: Any, result: Any) -> None:
        self._of_product: Any = None
        self._found: list[tuple[Any, ...]] = []  # a result, and distances of its elements, also by their sizes
        try:
            if (product := _product_of(call, result)) is not None:
                self._of_product = result, _places_in_product(product, result)
            elif _is_repeatable(function, call, result):
                names = [name for name, *_ in _form(function).arguments]
                self._measure(result, function(**{name: _widened(call.arguments[name]) for name in names if name in call.arguments}))
        except (RuntimeError, TypeError, ValueError):
            pass  # the function or the device has no f64, so that nobody knows where to look

    def _measure(self, result: Any, again: Any) -> None:
        import torch
        for got, wide in zip(tensors_in(result), tensors_in(again)):
            if wide.dtype == torch.float64 and got.shape == wide.shape and got.numel():
                strides = got.stride() if _is_dense(got) else wide.stride()
                distance = torch.empty_strided(got.shape, strides, dtype=torch.float64, device=got.device)
                torch.sub(got, wide, out=distance).abs_()
                if not math.isfinite(distance.max()):
                    distance.masked_fill_(_is_right_beyond(got, wide.to(got.dtype)), 0)
                size = wide.abs_().nan_to_num_(0, posinf=0)
                shares = []
                for least in (size.max() * 2.0 ** -10, 0):  # the latter is soon hit by cancellation, the former by no tiny result
                    shares.append(torch.empty_strided(got.shape, strides, dtype=torch.float64, device=got.device))
                    torch.div(distance, size + (least + 1e-300), out=shares[-1])
                self._found.append((got, distance, *shares))

    def of(self, output: Any) -> Optional[list[int]]:
        """Elements of this output, which is a view of a result, that are furthest away; None: it is no such view."""
        import torch
        if self._of_product is not None:
            whole, places = self._of_product
            return places if output.shape == whole.shape and output.data_ptr() == whole.data_ptr() else None
        for got, *distances in self._found:
            if got.dtype == output.dtype and got.shape == output.shape and got.stride() == output.stride() and got.data_ptr() == output.data_ptr():
                return [int(each.argmax()) for each in distances]  # a slice of a larger tensor has no dense distances
            offset = output.storage_offset() - got.storage_offset()
            if _is_dense(got) and got.dtype == output.dtype and got.untyped_storage()._cdata == output.untyped_storage()._cdata and offset >= 0:
                return [int(torch.as_strided(each, output.shape, output.stride(), offset).argmax()) for each in distances]
        return None


def _is_right_beyond(got: Any, right: Any) -> Any:
    """Infinities and NaN that are right, whose distances would hide those of all others."""
    return (got == right) | got.isnan() & right.isnan()


def _is_dense(tensor: Any) -> bool:
    return tensor.is_contiguous() or tensor._is_view() is False and tensor.numel() * tensor.dtype.itemsize == tensor.untyped_storage().nbytes()


def furthest(deviations: Deviations, question: Any) -> Iterator[tuple[int, int]]:
    """Places of outputs with elements of theirs. Raises LookupError where one output's are not known."""
    for place, output in enumerate(question.outputs.values()):
        found = deviations.of(output) if is_tensor(output) else None
        if found is None:
            raise LookupError
        yield from ((place, element) for element in found)
