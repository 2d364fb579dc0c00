# SPDX-License-Identifier: Apache-2.0
"""Counts a framework's functions for `assay inventory`, started as _inventory_script.py SETTINGS."""
import json
import sys

from _reader import import_assay

import_assay()
from assay.models._inventory import main  # noqa: E402

sys.exit(main(json.loads(sys.argv[1])))
