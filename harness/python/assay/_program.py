# SPDX-License-Identifier: Apache-2.0
"""The program `assay` of a wheel: the one that lies in the package."""
from __future__ import annotations

import os
import sys

from ._errors import Error
from ._library import find


def main() -> None:
    try:
        program = os.path.join(os.path.dirname(os.path.dirname(find())), "bin", "assay")
        # Kernels run by the interpreter that assay is installed for, whichever environment is active.
        os.environ.setdefault("ASSAY_PYTHON", sys.executable)
        os.execv(program, ["assay", *sys.argv[1:]])
    except (Error, OSError) as error:
        sys.exit(f"assay: the program cannot be started: {error}")
