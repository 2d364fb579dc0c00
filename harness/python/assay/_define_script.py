# SPDX-License-Identifier: Apache-2.0
"""Traces the definitions of a file for `assay define` and `--operators`, started as _define_script.py FILE.py FILE.json."""
import sys

from _reader import import_assay

import_assay()
from assay._define import main  # noqa: E402

sys.exit(main(sys.argv[1:]))
