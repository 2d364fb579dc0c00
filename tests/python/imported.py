# SPDX-License-Identifier: Apache-2.0
"""Readers of other projects' test cases on files of a test's own: what becomes of them, as ids and reasons."""
import pathlib
import random
import tempfile
import unittest

import assay
from assay.importers._cases import Option


def id_of(case):
    """The canonical id, or why the operator refuses the case: by the library, as the program does."""
    attrs = ",".join(f"{key}={value}" for key, value in case.attrs.items())
    stated = f"{case.op}/{'-'.join(case.dtypes)}/{attrs}/fill={case.fill}/seed=0"
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


PIECES = [b"99999999999999999999", b"2147483648", b"-1", b"0", b"x", b":", b",", b"[", b"]", b"(", b")", b"=", b"\\\n", b"#",
          b"--dt=", b"nan", b"1e999", b"\xff"]


def damage(data, seed):
    """Cuts, repeats and overwrites pieces at random."""
    chance = random.Random(seed)
    for _ in range(chance.randint(1, 4)):
        at = chance.randint(0, len(data))
        end = min(at + chance.randint(0, 40), len(data))
        number = str(chance.getrandbits(64) >> chance.randint(0, 63)).encode()
        data = chance.choice([data[:at] + data[end:], data[:end] + data[at:], data[:at] + chance.choice(PIECES) + data[at:],
                              data[:at] + bytes([chance.choice([chance.randint(0, 255), chance.randint(48, 57)])]) + data[at + 1:],
                              data[:at] + number + data[end:]])
    return data
