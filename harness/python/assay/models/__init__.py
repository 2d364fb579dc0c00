# SPDX-License-Identifier: Apache-2.0
"""Models: each operator that a program executes, judged from its own operands (harness/python/MODELS.md)."""
from ._rules import Unjudged as Unjudged, formula as formula, rule as rule

__all__ = ["Unjudged", "formula", "rule"]
