# SPDX-License-Identifier: Apache-2.0
"""Exceptions and warnings of assay."""
from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._verdict import Verdict


# Their module is set to assay, where users catch and see them.
class UsageError(ValueError):
    """Something that cannot be: an unknown operator or attribute, shapes or types that do not fit, a wrong contract, an
    object that is no array. The text says what would be possible."""


class Error(RuntimeError):
    """assay itself could not do it: its library is not there, or the host has too little memory."""


class Mismatch(AssertionError):
    """The result is not what the contract permits. The text says the worst element, where the errors are, which
    arithmetic explains them, and what else to try; ``verdict`` has everything."""

    def __init__(self, text: str, verdict: Verdict) -> None:
        super().__init__(text)
        self.verdict = verdict

    def __reduce__(self):  # test runners send exceptions from process to process
        return type(self), (self.args[0], self.verdict)


class InconclusiveWarning(UserWarning):
    """Nothing is wrong, but with these data a tensor of zeros or the like would pass as well."""


class SuspectWarning(UserWarning):
    """The result is within its bound, but its errors are larger, or lie otherwise, than random roundings make them."""


for _kind in (UsageError, Error, Mismatch, InconclusiveWarning, SuspectWarning):
    _kind.__module__ = "assay"
