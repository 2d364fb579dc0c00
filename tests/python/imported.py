# SPDX-License-Identifier: Apache-2.0
"""Readers of other projects' test cases on files of a test's own: what becomes of them, as ids and reasons."""
import pathlib
import tempfile
import unittest

import assay
from assay.importers._cases import Option


def stated_id(case):
    attrs = ",".join(f"{key}={value}" for key, value in case.attrs.items())
    return "/".join([case.op, "-".join(case.dtypes), *([attrs] if attrs else []), f"fill={case.fill}", "seed=0"])


def id_of(case):
    """The canonical id, or why the operator refuses the case: by the library, as the program does. Of a definition its name, without
    the digest that those of ONNX have, and the types."""
    if case.definition:
        return f"{case.op.rpartition('_')[0] if case.op.startswith('onnx_') else case.op}/{'-'.join(case.dtypes)}"
    stated = stated_id(case)
    try:
        return assay.cases(ids=[stated]).ids[0].removesuffix("/seed=0").removesuffix("/fill=normal")
    except assay.UsageError as refused:
        return str(refused).removeprefix(f"--case {stated}: ")


class Imported(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.dir = pathlib.Path(folder.name)

    def write(self, name, content):
        path = self.dir / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    def split(self, items):
        """The cases that were found and the options that were passed over."""
        items = list(items)
        self.found = [item for item in items if not isinstance(item, Option)]
        return self.found, [item for item in items if isinstance(item, Option)]

    def outcomes(self, items):
        """An id or a reason for each case."""
        return [one.reason or id_of(one.case) for one in self.split(items)[0]]
