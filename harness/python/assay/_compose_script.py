# SPDX-License-Identifier: Apache-2.0
"""Random compositions for `assay explore --compose`, started as _compose_script.py WORDS..."""
import sys

from _reader import import_assay

import_assay()
from assay.compose import main  # noqa: E402

sys.exit(main(sys.argv[1:]))
