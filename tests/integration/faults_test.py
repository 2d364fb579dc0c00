#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every fault of faults_table.py ends as it is documented, and no record is lost, double or torn:
faults_test.py ASSAY FAULTY_PLUGIN NO_ENTRY OTHER_MAJOR FAILING_SYSTEM, or the same and --table to print what the guide
has to say."""
import concurrent.futures
import pathlib
import re
import sys
import time
import traceback
import unittest

from faults_commits import THEN
from faults_table import GROUPS
from faults_world import World
from own_folder import FULL

GUIDE = pathlib.Path(__file__).resolve().parents[2] / "harness/engine/results/README.md"
AT_ONCE = 4  # most of their time they wait
NO_MESSAGES = ("internal error", "terminate called", "json.exception")


def check(world, fault):
    done = fault.commit(world)
    said = done.stderr
    world.assertEqual(done.returncode, fault.code, said)
    for words in NO_MESSAGES:
        world.assertNotIn(words, said)
    if world.stood is None:
        world.note_what_stands()
    if fault.then:
        after = THEN[fault.then](world)
        world.assertEqual(after.returncode, 0, after.stderr)
    records = world.whole_records()
    world.assertEqual(sorted(r["case_id"] for r in records), sorted(world.planned))
    lines = world.lines()
    for line in world.stood:
        world.assertIn(line, lines, "a record is lost")
    for record in records:
        rows = int(re.search(r"m=(\d+)", record["case_id"])[1])
        world.assertEqual(record["verdict"], fault.verdict_of(rows), record["reason"])
        if rows in fault.met:
            said += record["reason"] + record["timing_invalid"]
    world.assertIn(fault.text, said)


def end_of(fault):
    """Describes how one fault ended; "" if all is well."""
    world = World()
    world.setUp()
    try:
        check(world, fault)
        return ""
    except Exception:  # pylint: disable=broad-except  # of one fault among many
        return traceback.format_exc()
    finally:
        world.tearDown()


class Faults(unittest.TestCase):
    def check_group(self, group):
        begun = time.monotonic()
        faults = [fault for fault in GROUPS[group] if FULL or not fault.alike]
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            for fault, problem in zip(faults, pool.map(end_of, faults)):
                with self.subTest(f"{group}: {fault.name}"):
                    self.assertEqual(problem, "")
        print(f"{len(faults)} faults of {group} in {time.monotonic() - begun:.1f} s", flush=True)


def of_group(group):
    return type(group.capitalize(), (Faults,), {"test_every_fault_ends_as_documented": lambda self: self.check_group(group)})


Disk, Memory, Clock, Worker = map(of_group, GROUPS)


class Guide(unittest.TestCase):
    def test_it_has_every_fault_and_its_end(self):
        rows = [fault.row(group) for group, faults in GROUPS.items() for fault in faults]
        self.assertGreaterEqual(len(rows), 40)
        self.assertEqual(len(rows), len(set(rows)))
        lines = GUIDE.read_text(encoding="utf-8").splitlines()
        self.assertEqual([line for line in lines if line.startswith(tuple(f"| {group} |" for group in GROUPS))], rows)


if __name__ == "__main__":
    if sys.argv[6:] == ["--table"]:
        print("\n".join(fault.row(group) for group, faults in GROUPS.items() for fault in faults))
    else:
        unittest.TestCase.maxDiff = None
        unittest.main(argv=sys.argv[:1] + sys.argv[6:], verbosity=2)
