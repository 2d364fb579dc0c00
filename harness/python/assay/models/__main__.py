# SPDX-License-Identifier: Apache-2.0
"""python -m assay.models: `assay inventory torch --missing`, without the program."""
import sys

from ._inventory import main

if __name__ == "__main__":
    sys.exit(main({"framework": "torch", "missing": True, "json": False}))
