# SPDX-License-Identifier: Apache-2.0
"""Checks the arguments of a kernel's decorator. A misspelt word would otherwise declare a kernel that never runs."""
from __future__ import annotations

import difflib
import re
from typing import Any, Callable, Iterable, Mapping, Optional, Sequence

from ._errors import UsageError
from ._types import BY_NAME, OTHER_NAMES

FRAMEWORKS = ("numpy", "torch", "jax")
DTYPES = tuple(BY_NAME)
# Other names of types and frameworks.
_OTHER_NAMES = OTHER_NAMES | {"pytorch": "torch", "np": "numpy"}
_DEVICE = re.compile(r"([a-z]+)(?::(0|[1-9][0-9]*))?\Z")


class Knowledge:
    """Set by the worker: operators by name, each with `operands` and `attrs`, a function that explains an invalid contract
    ("" if it is valid), one that hints at the operator that an unknown word means, and the files of --operators. None
    elsewhere, where kernels are only marked."""
    operators: Optional[Mapping[str, Any]] = None
    contract_problem: Optional[Callable[[str], str]] = None
    operator_hint: Optional[Callable[[str], str]] = None
    definitions: Sequence[str] = ()


def meant(word: str, known: Iterable[str]) -> str:
    """"; did you mean 'f32'?", of the known word that is closest; "": none is close."""
    known = list(known)
    close = _OTHER_NAMES.get(word.lower())
    if close not in known:
        close = next(iter(difflib.get_close_matches(word.lower(), known, 1)), None)
    return f"; did you mean '{close}'?" if close else ""


def not_a_type(said: str, value: Any) -> UsageError:
    """`value` stands where the text of a type is due; it may be one of a framework, such as np.float32."""
    word = str(getattr(value, "__name__", value)).rpartition(".")[2]
    return UsageError(f"{said} is no text; types are {', '.join(DTYPES)}{meant(word, DTYPES)}")


def known_operator(op: str) -> Optional[Mapping[str, Any]]:
    return None if Knowledge.operators is None else Knowledge.operators[op]


def checked_operator(op: Any) -> None:
    if not isinstance(op, str):
        raise UsageError(f"op={op!r}: name the operator by a text, as in @assay.kernel(\"softmax\", contract=\"f32acc\")")
    if Knowledge.operators is not None and op not in Knowledge.operators:
        hint = "" if Knowledge.operator_hint is None else Knowledge.operator_hint(op)
        raise UsageError(f"there is no operator {op}; assay list ops shows all{hint}")


def checked_dtypes(dtypes: Any) -> Optional[list[str]]:
    if dtypes is None:
        return None
    texts = [dtypes] if isinstance(dtypes, str) or not isinstance(dtypes, Iterable) else list(dtypes)
    if not texts:
        raise UsageError("dtypes=[] leaves no case; leave dtypes out to take any")
    for text in texts:
        if not isinstance(text, str):
            raise not_a_type(f"dtypes={dtypes!r}: {text!r}", text)
        for part in text.split("-"):
            if part not in DTYPES:
                raise UsageError(f"dtypes={texts!r}: there is no type {part!r}; there are {', '.join(DTYPES)}, and lists of "
                                 f"them such as bf16-bf16-f32{meant(part, DTYPES)}")
    return texts


def checked_contract(contract: Any) -> None:
    if callable(contract):
        return
    if not isinstance(contract, str):
        raise UsageError(f"contract={contract!r}: give a text such as \"f32acc\", or a function of types and attributes")
    problem = Knowledge.contract_problem(contract) if Knowledge.contract_problem is not None else ""
    if problem:
        raise UsageError(f"contract={contract!r}: {problem}")


def checked_framework(framework: Any) -> None:
    if framework not in FRAMEWORKS:
        raise UsageError(f"framework={framework!r} is none of {', '.join(FRAMEWORKS)}{meant(str(framework), FRAMEWORKS)}")


def checked_device(device: Any, framework: str) -> str:
    """The name as frameworks have it; the first of a kind is that kind: "cuda:0" is "cuda"."""
    found = _DEVICE.match(str(device))  # torch.device too
    if found is None:
        raise UsageError(f"device={device!r} is no device: name a kind, and which of several, such as cpu, cuda or cuda:1")
    kind = "gpu" if framework == "jax" and found[1] in ("cuda", "rocm") else found[1]  # what JAX calls it itself
    name = kind if found[2] in (None, "0") else f"{kind}:{found[2]}"
    if framework == "numpy" and name != "cpu":
        raise UsageError(f"device={device!r}: NumPy computes on the host alone; leave device out")
    return name
