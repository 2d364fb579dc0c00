# SPDX-License-Identifier: Apache-2.0
"""Base of every test that runs the program: a folder of its own, and an environment in which nothing that the caller
has set selects cases or plugins, with an empty golden store and a folder of the plugins in that folder."""
import json
import os
import pathlib
import tempfile
import unittest

# Prefix of a command that must obey permissions even if root runs it.
HELD_BY_PERMISSIONS = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []


FULL = "ASSAY_TEST_FULL" in os.environ


def only_full(test):
    """Leaves a test to scripts/test.sh --full: its class has a shorter one, which sees the same fault."""
    return test if FULL else None


class OwnFolder(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.dir = pathlib.Path(self.folder.name)
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("ASSAY_", "GTEST_"))}
        self.shared = self.dir / "of-plugins"  # which plugins may read and write
        self.shared.mkdir()
        # Threads of OpenMP that wait on a processor would keep it from the tests beside this one.
        self.env = dict(kept, ASSAY_GOLDEN_STORE=str(self.dir / "store"), ASSAY_GRANT=str(self.shared), NO_COLOR="1",
                        OMP_WAIT_POLICY="passive")

    def tearDown(self):
        self.folder.cleanup()


def first_of(listed, *wanted):
    """Options for the first case of each wanted operator and type that takes less than 0.2 GB, if `list cases --verbose` has one."""
    lines = sorted((line.split("\t") for line in listed.splitlines()), key=lambda line: float(line[-1].split()[0]) > 0.2)
    cases = {}
    for case, *_ in lines:
        cases.setdefault(tuple(case.split("/")[:2]), case)
    return [word for name in wanted for word in ("--case", cases[tuple(name.split("/"))])]


def rule(backend, kind="known_failure", **keys):
    """A rule of an expectation file; keys that have to be there and are not given are what a test seldom asks about."""
    keys = {"id": "a-rule", "backend": backend, "verdicts": ["mismatch", "below_contract", "nondeterministic"],
            "reason": "why", **keys}
    lines = [f"{key.replace('_', '.')} = {value if key == 'expires' else json.dumps(value)}" for key, value in keys.items()]
    return "\n".join([f"[[{kind}]]", *lines, ""])
