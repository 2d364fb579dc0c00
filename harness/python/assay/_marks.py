# SPDX-License-Identifier: Apache-2.0
"""assay.mark: marks of pytest, which is imported by those who use them alone."""
from __future__ import annotations

from typing import Any, Optional, Sequence, Union

Names = Union[None, str, Sequence[str]]


class _Marks:
    @staticmethod
    def suite(suite: Optional[str] = None, *, op: Names = None, dtype: Names = None, filter: Optional[str] = None,
              contract: Optional[str] = None, strict: bool = False) -> Any:
        """Runs a test once for each of these cases (see ``assay.cases``), which the fixture ``assay_case`` hands in. What
        the test returns is judged, by `contract` if there is one."""
        import pytest
        return pytest.mark.assay_suite(suite, op=op, dtype=dtype, filter=filter, contract=contract, strict=strict)


mark = _Marks()
