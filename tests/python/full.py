# SPDX-License-Identifier: Apache-2.0
"""Whether scripts/test.sh --full runs the tests: they then try all operators, types and settings of a rule, else a part."""
import os

FULL = "ASSAY_TEST_FULL" in os.environ
