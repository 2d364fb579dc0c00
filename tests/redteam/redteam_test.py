#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every cheat of the catalogue is caught, and by what it says there: redteam_test.py ASSAY PLUGINS [group]; those that
are `alike` with ASSAY_TEST_FULL alone. The honest plugin with which the cheats are linked passes, and nothing is said
against its times."""
import os
import sys
import tempfile
import unittest

from arena import Arena, CASE
from catalogue import GROUPS, LARGE, TWO_OUTPUTS

ASSAY, PLUGINS = sys.argv[1:3]
FULL = "ASSAY_TEST_FULL" in os.environ


class InArena(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="redteam-", ignore_cleanup_errors=True)
        self.arena = Arena(ASSAY, PLUGINS, self.folder.name)

    def tearDown(self):
        if isinstance(self, globals()["Persistence"]):
            self.arena.clean()
        self.folder.cleanup()


class Honest(InArena):
    CASES = (CASE, "matmul/f32/m=33,n=65,k=127,transa=1,transb=1/fill=uniform/seed=1",
             "softmax/f32/shape=64x300/fill=normal/seed=0",
             "reduce/f32/shape=64x500,axes=1,kind=sum/fill=normal/seed=0",
             "reduce/f32/shape=64x500,axes=0,kind=mean/fill=normal/seed=0",
             "reduce/f32/shape=16x500,axes=1,kind=max/fill=special/seed=0",
             "fused_add_rms_norm/f32/rows=33,n=300/fill=normal/seed=0", TWO_OUTPUTS)

    def test_the_honest_plugin_passes(self):
        outcome = self.arena.run("honest", case=self.CASES)
        self.assertEqual(outcome.code, 0, outcome.text())
        self.assertEqual(len(outcome.records), len(self.CASES))
        for r in outcome.records:
            self.assertEqual((r["verdict"], r["timing_invalid"]), ("pass", ""), outcome.text())
            self.assertGreater(r["time_median_s"], 0)
        self.assertNotIn("unnamed_libraries", outcome.environment)

    def test_launches_may_take_as_long_as_the_user_says(self):
        for options, believed in (((), False), (("--launch-us", "10000"), True)):
            for _ in range(3):  # a busy machine spoils times: one run may leave the forged clock in doubt alone
                outcome = self.arena.run("forged_device_clock", *options, case=LARGE)
                if [r["timing_invalid"] == "" for r in outcome.records] == [believed]:
                    break
            self.assertEqual([r["timing_invalid"] == "" for r in outcome.records], [believed], outcome.text())
            self.assertEqual(outcome.environment.get("launch_us"), "10000" if believed else None)


def test_of(cheat):
    def test(self):
        outcome = cheat.run(self.arena)
        caught = cheat.caught_by(outcome, self.arena)
        if cheat.gap:
            return self.assertFalse(caught, f"it is caught now, by {caught}: the catalogue says that it is not")
        if caught:
            return None
        # Which executions are looked at is drawn by chance, and a busy machine spoils times: one run may miss it.
        again = cheat.run(self.arena)
        self.assertTrue(cheat.caught_by(again, self.arena), f"nothing caught it: {outcome.text()}\n{again.text()}")
        return None
    test.__doc__ = f"{cheat.name}: {cheat.does}"
    return test


for group, cheats in GROUPS.items():
    tests = {"test_" + c.name.replace(" ", "_"): test_of(c) for c in cheats if not c.by_chance and (FULL or not c.alike)}
    globals()[group] = type(group, (InArena,), tests)

if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
