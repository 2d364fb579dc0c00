# SPDX-License-Identifier: Apache-2.0
"""Operators from functions: tracing them, and ``assay define``, which writes their definitions as data."""
from __future__ import annotations

import contextlib
import hashlib
import inspect
import json
import os
import re
import sys
from collections import Counter
from typing import Any, Callable, Iterable, Iterator, Mapping, Optional, Sequence

from ._axes import Axis, Dims, roots_of
from ._errors import UsageError
from ._traced import Trace, Traced, reduce

_VERSION = 1
_AXIS = re.compile(r"(?:([1-9]\d{0,2})\*)?([A-Za-z_]\w*)$")
_EXTENT = re.compile(r"[1-9]\d{0,5}$")
_PLACES = ("places", "lengths", "ends")  # along an axis, which stands behind them
_ROLES = ("data", "weight", "positive", "base", "exponent", "table", "offset", "zero", "scale", "condition")

_defined: dict[str, Definition] = {}  # by name, in the order of their functions
_collecting = False  # definitions of one file


def _stated_axes(owner: str, annotation: Any, axes: dict[str, Axis], trace: Trace) -> Dims:
    """The axes of an annotation such as "rows 2*n"; new ones join `axes`. Of an axis that stands twice, as in "n n", the
    second is a copy."""
    if not isinstance(annotation, str):
        raise UsageError(f"{owner}: annotate it with its axes, as x: \"rows n\"")
    def stated(key: str, **more: Any) -> Axis:
        if key not in axes:
            axes[key] = Axis(key, stated=True, **more)
            trace.axes.append(axes[key])
        return axes[key]

    dims: list[Axis] = []
    for word in annotation.strip("'\"").split():
        found = _AXIS.match(word)
        if _EXTENT.match(word):
            axis = stated(word, extent=int(word), fixed=True)
        elif found is None:
            raise UsageError(f"{owner}: '{word}' is no axis; write a name such as n, a multiple such as 2*n, or an extent such as 4")
        else:
            times, name = found.groups()
            axis = stated(name)
            if times is not None:
                axis = stated(word, of=axis, times=int(times))
        dims.append(trace.copy_of(axis) if axis in dims else axis)
    return tuple(dims)


def _input(trace: Trace, name: str, dims: Dims, is_condition: bool = False) -> Traced:
    """The operand; axes of one element, which broadcast, are taken off its values."""
    trace.arrays.append(dims)
    whole = Traced(trace, name, dims, is_condition)
    trace.inputs[name] = name
    single = [place for place, axis in enumerate(dims) if axis is not None and axis.extent == 1]
    if single:
        whole = reduce("sum", whole, single, True)
        whole.is_condition = is_condition
        trace.inputs[whole.name] = name
    return whole


def _signature_of(function: Callable[..., Any]) -> inspect.Signature:
    try:
        return inspect.signature(function)
    except ValueError:
        raise UsageError(f"{function!r} is no function of Python, so that it cannot be traced: write one that calls functions of "
                         "assay.namespace(x)") from None


def _call(function: Callable[..., Any], called: str, arrays: Sequence[Any], named: Mapping[str, Any]) -> Any:
    """The function's result. Its own exceptions pass through, but for what NumPy says of traced arrays."""
    try:
        _signature_of(function).bind(*arrays, **named)
    except TypeError as error:
        raise UsageError(f"{called}: {error}; inputs are its arrays, and attributes its arguments by name") from None
    try:
        return function(*arrays, **named)
    except RecursionError as error:
        raise UsageError(f"{_recursion_of(error)}: {called} calls itself too often: end the recursion by an extent or an attribute, such as "
                         "x.shape[0], as the data are not known while a function is traced") from None
    except TypeError as error:
        if "does not support ufuncs" not in str(error):
            raise
        frame = error.__traceback__.tb_next  # type: ignore[union-attr]
        place = f"{frame.tb_frame.f_code.co_filename}:{frame.tb_lineno}: " if frame else ""
        raise UsageError(f"{place}a function of NumPy takes no traced array: take functions of assay.namespace(x), such as "
                         "xp.exp(x)") from None


def _recursion_of(error: BaseException) -> str:
    """The line of the author's that stands most often on the way to the error."""
    here, lines, trace = os.path.dirname(__file__), Counter[str](), error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if os.path.dirname(code.co_filename) != here:
            lines[f"{code.co_filename}:{trace.tb_lineno}, in {code.co_name}"] += 1
        trace = trace.tb_next
    return lines.most_common(1)[0][0]


def _refuse_unread(trace: Trace, inputs: Sequence[tuple[str, Dims]], outputs: Mapping[str, Traced], function: str) -> None:
    """Refuses arguments on which no result depends, neither by their numbers nor by their extents."""
    read = {value.name for value in outputs.values()} | trace.measured
    counted: set[Any] = set()
    for node in reversed(trace.nodes):
        if node["name"] not in read:
            continue
        read |= set(node["of"])
        if node["f"] in ("index", "extent"):
            counted |= {axis.root() for axis in node["axes"]}
    read |= {trace.inputs.get(name, name) for name in read}
    for name, dims in inputs:
        if name not in read and name not in trace.spoken and not counted & set(roots_of(dims)):
            raise UsageError(f"{function}: no result depends on {name}: use it, or take it out of the arguments")


def _refuse_mutable(function: Callable[..., Any], called: str, given: Iterable[str]) -> None:
    for name, parameter in _signature_of(function).parameters.items():
        if name not in given and isinstance(parameter.default, (list, dict, set, bytearray)):
            raise UsageError(f"{_place_of(function, called)}: the default of {name} is a {type(parameter.default).__name__}, which another call may "
                             "change: give numbers or a tuple")


def _place_of(function: Callable[..., Any], called: str) -> str:
    code = getattr(function, "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}, in {called}" if code else called


def _outputs_of(result: Any, function: str, inputs: Sequence[tuple[str, Dims]]) -> dict[str, Traced]:
    """function: where it stands, for messages."""
    if result is None:
        raise UsageError(f"{function}: the function returns nothing: end it with `return` and arrays that follow from its arguments")
    if isinstance(result, Mapping):
        outputs = dict(result)
    elif isinstance(result, (tuple, list)):
        outputs = {f"y{place}": value for place, value in enumerate(result)}
    else:
        outputs = {"result" if "y" in dict(inputs) else "y": result}
    if not outputs:
        raise UsageError(f"{function}: the function returns no array: return arrays that follow from its arguments")
    for name, value in outputs.items():
        if not isinstance(name, str):
            raise UsageError(f"{function}: the function names a result {name!r}: names are texts, such as 'y'")
        if not isinstance(value, Traced):
            raise UsageError(f"{function}: the function returns {type(value).__name__} for {name}: return arrays that follow from its arguments")
    return outputs


def _described(trace: Trace, inputs: Sequence[tuple[str, Dims]], outputs: Mapping[str, Traced], roles: Mapping[str, str],
               integers: Mapping[str, str] = {}) -> dict[str, Any]:
    """`integers`: types of outputs that are integers, where they are not those that the function states."""
    def names(axes: Sequence[Optional[Axis]]) -> list[str]:
        return [axis.name for axis in roots_of(axes)]

    units: list[str] = []  # axes of one element, which results have and no value

    def with_units(axes: Sequence[Optional[Axis]]) -> list[str]:
        count = sum(axis is None for axis in axes)
        units.extend(f"1@{number}" for number in range(len(units), count))
        unit = iter(units)
        return [next(unit) if axis is None else axis.root().name for axis in axes]

    def role_of(name: str) -> dict[str, str]:
        if (found := trace.spoken.get(name, trace.indices.get(name))) is not None:
            return {"role": found[0], "along": found[1].root().name}
        return {"role": roles.get(name, "data")}

    for operand in roles:
        if operand not in dict(inputs):
            raise UsageError(f"roles: there is no operand {operand}; there are {', '.join(dict(inputs))}")
    roots = list(dict.fromkeys(axis.root() for axis in trace.axes))
    roots.sort(key=lambda axis: axis.of is not None)  # what follows from others stands behind them
    results = [{"name": name, "is": value.name, "axes": with_units(value.dims),
                **({"type": integers.get(name, trace.types[value.name])} if place > 0 and value.name in trace.types else {})}
               for place, (name, value) in enumerate(outputs.items())]
    axes = [{"name": a.name, "of": a.of.root().name, "times": a.times} if a.of is not None else
            {"name": a.name, "extent": a.extent} if a.fixed else
            {"name": a.name, "doc": "extent of an axis", **({"at_least": a.least} if a.least > 0 else {})} for a in roots]
    return {"axes": axes + [{"name": name, "extent": 1} for name in units],
            "inputs": [{"name": name, "axes": names(dims), **role_of(name)} for name, dims in inputs],
            "nodes": [{**node, **{key: names(node[key]) for key in ("axes", "to") if key in node}} for node in trace.nodes],
            "outputs": results}


def _types_beside_places(trace: Trace, inputs: Sequence[str], first: Traced) -> Optional[list[str]]:
    """Lists of types for operands of which some are places, or a first result of integers; None: neither is."""
    are_places = [name in trace.spoken or name in trace.indices for name in inputs]
    result = trace.types.get(first.name)
    if not any(are_places) and result is None:
        return None
    return ["-".join([*(integer if is_place else number for is_place in are_places), result or number])
            for number in ("f64", "f32", "f16", "bf16") for integer in (("i64", "i32") if any(are_places) else ("i64",))]


class Definition:
    """An operator that is a function. Calling it calls the function."""

    def __init__(self, name: str, function: Callable[..., Any], types: Optional[Sequence[str]], roles: Mapping[str, str],
                 doc: Optional[str]) -> None:
        self.name, self.function, self._types, self._roles = name, function, types, roles
        self._doc = (doc or inspect.getdoc(function) or f"{name}, as {function.__module__} defines it").strip().splitlines()[0]
        self._data: Optional[dict[str, Any]] = None
        self._registered_as = ""
        if isinstance(types, str):
            raise UsageError(f"{name}: types is a text; give a list of texts, as [\"{types}\"]")
        self.__doc__ = function.__doc__
        for operand, role in roles.items():
            kind, _, along = role.partition(" ")
            if kind not in (_PLACES if along else _ROLES):
                raise UsageError(f"{name}: no role '{role}' of {operand}; there are {', '.join(_ROLES)}, and {', '.join(_PLACES)} with an "
                                 "axis, as \"places n\"")

    def __call__(self, *arrays: Any, **attributes: Any) -> Any:
        return self.function(*arrays, **attributes)

    @property
    def data(self) -> dict[str, Any]:
        """The definition as data (harness/python/DEFINITIONS.md). Raises UsageError with the line that cannot be traced."""
        if self._data is None:
            self._data = self._traced()
        return self._data

    def _traced(self) -> dict[str, Any]:
        trace = Trace()
        axes: dict[str, Axis] = {}
        inputs, attributes, arguments = [], [], {}
        for parameter in inspect.signature(self.function).parameters.values():
            owner = f"{self.name}: {parameter.name}"
            if parameter.kind is parameter.KEYWORD_ONLY:
                attributes.append(_attribute(owner, parameter))
                arguments[parameter.name] = Traced(trace, parameter.name, ())
                if attributes[-1]["kind"] == "integer":
                    trace.integers.add(parameter.name)
            elif parameter.kind is parameter.POSITIONAL_OR_KEYWORD and parameter.default is parameter.empty:
                inputs.append((parameter.name, _stated_axes(owner, parameter.annotation, axes, trace)))
            else:
                raise UsageError(f"{owner}: arguments are arrays without a default, and attributes behind *")
        for operand, role in self._roles.items():
            kind, _, along = role.partition(" ")
            if along:
                trace.integers.add(operand)
                trace.spoken[operand] = kind, _stated_axes(f"{self.name}: role of {operand}", along, axes, trace)[0].root()
        arrays = [_input(trace, name, dims) for name, dims in inputs]
        outputs = _outputs_of(_call(self.function, self.name, arrays, arguments), _place_of(self.function, self.name), inputs)
        _refuse_unread(trace, inputs, outputs, _place_of(self.function, self.name))
        parts = _described(trace, inputs, outputs, self._roles)
        listed = _types_beside_places(trace, [name for name, _ in inputs], next(iter(outputs.values()))) if self._types is None else self._types
        types = {} if listed is None else {"types": list(listed)}
        return {"op": self.name, "doc": self._doc, **types, "attributes": attributes, **parts}

    def register(self) -> str:
        """Makes the operator known to the library, and returns its name there: where this process has another definition of the
        name, as after an edit in a notebook, it gets a longer one."""
        if not self._registered_as:
            data, text = self.data, as_text([self.data])
            if _registered.get(self.name, text) != text:
                data = {**data, "op": f"{self.name}_{hashlib.sha256(text.encode()).hexdigest()[:8]}"}
            register(data)
            self._registered_as = data["op"]
        return self._registered_as


def _attribute(owner: str, parameter: inspect.Parameter) -> dict[str, Any]:
    default = parameter.default
    if parameter.name in ("contract", "require", "tier", "dtypes", "strict"):
        raise UsageError(f"{owner}: check has an argument of this name; take another")
    if isinstance(default, bool) or not isinstance(default, (int, float)) or default - default != 0:
        raise UsageError(f"{owner}: an attribute has a number as its default, as {parameter.name}: float = 1e-5")
    real = isinstance(default, float) or parameter.annotation in (float, "float")
    return {"name": parameter.name, "kind": "real" if real else "integer",
            "default": repr(float(default)) if real else str(default), "doc": f"{parameter.name} of the function"}


def operator(name: str, types: Optional[Sequence[str]] = None, roles: Optional[Mapping[str, str]] = None,
             doc: Optional[str] = None) -> Callable[[Callable[..., Any]], Definition]:
    """Makes an operator of a function of arrays.

    name: of the operator, in letters, digits and _.
    types: lists of types that cases may have, such as "f32" for all operands, or "bf16-f32-bf16", inputs first; None: f64,
        f32, f16 and bf16.
    roles: by operand, what fills make of it: "weight" (around 1), "offset", "positive", ...; else "data".
    doc: what it computes, in a line; None: the first line of the function's docstring.

    Arrays are annotated with their axes (x: "rows n"); arguments behind * are attributes, whose defaults are numbers. The
    function takes what it needs from ``assay.namespace(x)``. It is traced when the definition is first used.
    """
    def made(function: Callable[..., Any]) -> Definition:
        definition = Definition(name, function, types, roles or {}, doc)
        if _collecting and name in _defined:
            raise UsageError(f"two operators of the file are called {name}; give each its own name")
        _defined[name] = definition
        return definition
    return made


def trace_plain(function: Callable[..., Any], shapes: Sequence[tuple[str, Sequence[int]]], attributes: Mapping[str, Any],
                types: Optional[str], conditions: Sequence[str] = (), whole: Sequence[str] = (), integers: Sequence[str] = ()) -> dict[str, Any]:
    """The definition of any function on arrays of these shapes, `attributes` being constants of it. `types`: the list of
    types of all operands; None: those that definitions have anyway. `conditions` and `whole`: arrays of bool and of
    integers, by name. `integers`: types of the outputs, which count where these are places."""
    trace, inputs = Trace(), []
    for name, shape in shapes:
        dims = tuple(Axis(f"{name}_{place}", extent) for place, extent in enumerate(shape))
        trace.axes += dims
        inputs.append((name, dims))
    trace.has_types = True
    trace.integers |= {*conditions, *whole}
    arrays = {name: _input(trace, name, dims, name in conditions) for name, dims in inputs}
    called = getattr(function, "__name__", type(function).__name__)
    called = called if called.isidentifier() else "function"
    _refuse_mutable(function, called, {*arrays, *attributes})
    outputs = _outputs_of(_call(function, called, [], {**arrays, **attributes}), _place_of(function, called), inputs)
    if not getattr(function, "may_leave_unread", False):
        _refuse_unread(trace, inputs, outputs, _place_of(function, called))
    parts = {**_described(trace, inputs, outputs, {}, dict(zip(outputs, integers))), **({} if types is None else {"types": [types]})}
    digest = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:8]
    return {"op": f"{called}_{digest}", "doc": "a function that was traced", **parts}


_TYPES = {"bool": "i8", "float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16", "int8": "i8", "uint8": "u8",
          "int16": "i16", "int32": "i32", "int64": "i64"}


def _type_of(array: Any) -> str:
    from ._arrays import NARROW_INTEGERS
    name = str(getattr(array, "dtype", "")).split(".")[-1]
    return NARROW_INTEGERS.get(name, name)


def _mixed_types(arrays: Sequence[Any]) -> Optional[str]:
    """The list of their types where all are known by their names; None: one of those that definitions have anyway."""
    types = [_TYPES.get(_type_of(array)) for array in arrays]
    is_usual = len(set(types)) == 1 and types[0] in ("f64", "f32", "f16", "bf16")
    return None if None in types or is_usual else "-".join(dict.fromkeys(types) if len(set(types)) == 1 else types)  # type: ignore[arg-type]


def take_function(function: Callable[..., Any], inputs: Any, outputs: Any, attributes: Mapping[str, Any]) \
        -> tuple[str, dict[str, Any]]:
    """The name of the operator that a function is on these inputs, and the attributes that are left to state."""
    if isinstance(function, Definition):
        return function.register(), dict(attributes)
    parameters = _signature_of(function).parameters
    for parameter in parameters.values():
        if parameter.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
            raise UsageError(f"{_place_of(function, getattr(function, '__name__', 'function'))}: the argument {str(parameter).split(':')[0]} stands "
                             "for any number of arrays: name each")
    names = [name for name in parameters if name not in attributes]
    arrays = inputs if isinstance(inputs, (list, tuple, Mapping)) else [inputs]
    named = dict(arrays) if isinstance(arrays, Mapping) else dict(zip(names, arrays))
    needed = [name for name in names if parameters[name].default is inspect.Parameter.empty]
    if len(named) != len(arrays) or not set(needed) <= set(named) <= set(names):
        raise UsageError(f"the function needs {', '.join(needed) or 'no array'}, and gets {len(arrays)} inputs: give one for each, in "
                         "its order or by its name")
    for name, array in named.items():
        if not hasattr(array, "shape"):
            raise UsageError(f"input {name} has no shape: give an array, as numpy.asarray makes one")
    results = list(outputs.values()) if isinstance(outputs, Mapping) else outputs if isinstance(outputs, (list, tuple)) else [outputs]
    if not results:
        raise UsageError("there is no result to judge: give one array for each that the function returns")
    shapes = [(name, tuple(array.shape)) for name, array in named.items()]
    conditions = [name for name, array in named.items() if _type_of(array) == "bool"]
    whole = [name for name, array in named.items() if "int" in _type_of(array)]
    data = trace_plain(function, shapes, attributes, _mixed_types([*named.values(), results[0]]), conditions, whole,
                       [_TYPES.get(_type_of(result), "i64") for result in results])
    if register(data):
        from . import _operators
        _operators.expect_traced(data["op"], *([one["name"] for one in data[kind]] for kind in ("inputs", "outputs")))
    return data["op"], {}


def as_text(operators: Sequence[Mapping[str, Any]]) -> str:
    return json.dumps({"assay_definitions": _VERSION, "operators": list(operators)}, indent=1) + "\n"


_registered: dict[str, str] = {}  # texts by name


def register(data: Mapping[str, Any]) -> bool:
    """Makes the operator known to the library. Returns whether it is new there."""
    from . import _library, _operators
    text = as_text([data])
    if _registered.get(data["op"]) == text:
        return False
    _library.demand(_library.load().assay_add_operators(text.encode()))
    _registered[data["op"]] = text
    _operators.expect_more()
    return True


def registered_text(name: str) -> str:
    """The file of the definition that this process has under the name, or ""."""
    return _registered.get(name, "")


def definitions_in(path: str) -> Iterator[Definition]:
    """Definitions that a file of Python makes, in its order."""
    global _collecting
    import runpy
    _defined.clear()
    _collecting = True
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    try:
        with contextlib.redirect_stdout(sys.stderr):  # what the file prints is no message of this program
            runpy.run_path(path)
    finally:
        _collecting = False
    yield from _defined.values()


def main(words: Sequence[str]) -> int:
    """Writes the definitions of words[0] to words[1]. Prints what is wrong, and returns the exit code."""
    path, out = words
    try:
        found = list(definitions_in(path))
        if not found:
            raise UsageError(f"{path} defines no operator: decorate a function with @assay.operator(\"name\")")
        text = as_text([definition.data for definition in found])
        with open(out, "w", encoding="utf-8") as file:
            file.write(text)
    except (UsageError, OSError) as error:
        print(error)
        return 2
    except (Exception, SystemExit) as error:  # whatever the file does
        import traceback
        frames = [f for f in traceback.extract_tb(error.__traceback__)
                  if os.path.exists(f.filename) and not f.filename.startswith(os.path.dirname(__file__))]
        place = f"{frames[-1].filename}:{frames[-1].lineno}: " if frames else ""
        print(f"{place}{type(error).__name__}: {error}")
        return 2
    return 0
