# SPDX-License-Identifier: Apache-2.0
"""assay.mark: marks of pytest, which is imported by those who use them alone."""
from __future__ import annotations

from typing import Any, Callable, Optional, Sequence, Union

from ._errors import UsageError
from ._signature import says_what_it_takes

Names = Union[None, str, Sequence[str]]
Operators = Union[Names, Callable[..., Any], Sequence[Union[str, Callable[..., Any]]]]


class _Marks:
    @staticmethod
    @says_what_it_takes("assay.mark.suite", "@assay.mark.suite(\"smoke\", op=\"softmax\")")
    def suite(suite: Optional[str] = None, *, op: Operators = None, dtype: Names = None, filter: Optional[str] = None,
              contract: Optional[str] = None, strict: bool = False, bits: bool = False,
              sample: Optional[int] = None) -> Any:
        """Runs a test once for each of these cases (see ``assay.cases``), which the fixture ``assay_case`` hands in. What
        the test returns is judged, by `contract` if there is one. `op` may be a definition of ``assay.operator``. `bits`: the test takes bf16 and fp8 as uint16 and uint8
        where the package ml_dtypes is missing; else such a case fails there, and says so. `sample`: about how many elements of
        each large output are judged (``assay.check``)."""
        if callable(suite):  # the decorator without parentheses, which would leave a mark in the place of the test
            raise UsageError("assay.mark.suite needs parentheses, @assay.mark.suite(), else pytest would find no test")
        import pytest
        return pytest.mark.assay_suite(suite, op=op, dtype=dtype, filter=filter, contract=contract, strict=strict,
                                       bits=bits, sample=sample)


mark = _Marks()
