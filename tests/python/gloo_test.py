# SPDX-License-Identifier: Apache-2.0
"""The column gloo: gloo_test.py PROGRAM [CLASS]. Everything skips without PyTorch."""
import importlib.util
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HAS_TORCH = importlib.util.find_spec("torch") is not None
if HAS_TORCH:
    import torch
    from assay.frameworks._gloo_ranks import RankFailure, Ranks
PROGRAM = sys.argv.pop(1) if len(sys.argv) > 1 and os.path.exists(sys.argv[1]) else None


@unittest.skipUnless(HAS_TORCH, "PyTorch is not here")
class Processes(unittest.TestCase):
    def assert_ended(self, processes):
        deadline = time.monotonic() + 20
        while any(pathlib.Path(f"/proc/{process}").exists() for process in processes) and time.monotonic() < deadline:
            time.sleep(0.1)
        self.assertEqual([process for process in processes if pathlib.Path(f"/proc/{process}").exists()], [])

    def test_what_each_collective_gives(self):
        for count in (2, 4):
            ranks = Ranks(count)
            self.addCleanup(ranks.close)
            x = torch.arange(count * 8, dtype=torch.float32).reshape(count, 8)
            self.assertTrue(torch.equal(ranks.call("all_reduce", x, (count, 8)), x.sum(0).expand(count, 8)))
            self.assertTrue(torch.equal(ranks.call("reduce_scatter", x, (count, 8 // count)), x.sum(0).reshape(count, -1)))
            self.assertTrue(torch.equal(ranks.call("all_gather", x, (count, count * 8)), x.reshape(1, -1).expand(count, count * 8)))

    def test_a_rank_that_is_killed(self):
        ranks = Ranks(2)
        os.kill(ranks.process_ids[1], signal.SIGKILL)
        with self.assertRaisesRegex(RankFailure, r"gloo: rank 1 of 2 .*, by signal 9|gloo: rank 0 of 2 refused all_reduce: "):
            ranks.call("all_reduce", torch.ones(2, 4), (2, 4))
        self.assertFalse(os.path.exists(ranks.folder.name))

    def test_whatever_is_raised_ends_all_ranks(self):
        for operands in ((torch.ones(2, 4), ()), (None, (2, 4))):
            ranks = Ranks(2)
            processes = ranks.process_ids
            with self.assertRaises(Exception):
                ranks.call("all_reduce", *operands)
            self.assert_ended(processes)
            self.assertFalse(os.path.exists(ranks.folder.name))
            ranks.close()

    def test_a_rank_that_hangs(self):
        ranks = Ranks(4, patience_s=3)
        processes = ranks.process_ids
        os.kill(processes[2], signal.SIGSTOP)
        begin = time.monotonic()
        with self.assertRaisesRegex(RankFailure, r"of 4 ranks [0-9, ]*2.* did not answer all_reduce within 3 s; all were ended"):
            ranks.call("all_reduce", torch.ones(4, 4), (4, 4))
        self.assertLess(time.monotonic() - begin, 20)
        self.assert_ended(processes)


@unittest.skipUnless(HAS_TORCH and PROGRAM, "PyTorch or the program is not here")
class Column(unittest.TestCase):
    def run_cases(self, *words):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        ended = subprocess.run([PROGRAM, "run", "--framework", "gloo", "--python", sys.executable, "--backend", "gloo", "--no-perf", "--progress", "none",
                                "--out", os.path.join(folder, "out"), *words], capture_output=True, text=True, check=False)
        with open(os.path.join(folder, "out", "results.jsonl"), encoding="utf-8") as lines:
            return ended, {record["case_id"].partition("/fill")[0]: record for record in map(json.loads, lines)}

    def test_two_and_four_processes(self):
        ids = [f"{op}/f32/ranks={ranks},n=64" for op in ("all_reduce", "reduce_scatter", "all_gather") for ranks in (2, 4)]
        _, records = self.run_cases("--no-sandbox", *(word for each in ids for word in ("--case", f"{each}/fill=normal/seed=0")))
        self.assertEqual({each: record["verdict"] for each, record in records.items()}, dict.fromkeys(ids, "pass"))

    def test_the_sandbox_refuses_sockets(self):
        ended, records = self.run_cases("--case", "all_reduce/f32/ranks=2,n=64/fill=normal/seed=0")
        self.assertEqual([record["verdict"] for record in records.values()], ["unavailable"])
        self.assertIn("add --no-sandbox", ended.stdout)


if __name__ == "__main__":
    unittest.main()
