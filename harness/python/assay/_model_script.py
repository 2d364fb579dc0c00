# SPDX-License-Identifier: Apache-2.0
"""Judges the nodes of a model for `assay model`, started as _model_script.py SETTINGS."""
import json
import sys

from _reader import import_assay

import_assay()
from assay.models._model_verb import main  # noqa: E402

sys.exit(main(json.loads(sys.argv[1])))
