#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Host memory that a large case takes, and how workers allocate: memory_test.py ASSAY MISBEHAVING_PLUGIN NO_ENTRY
OTHER_MAJOR."""
import json
import os
import re
import resource
import subprocess
import sys
import time
import unittest

from program import ASSAY, Cli, PLUGIN

M, N, K = 1536, 1536, 2048
TENSORS = 4 * (M * K + K * N + M * N)


class Memory(Cli):
    # Golden values, S, sigma and errors are five times an f32 output alone, each twin seven times, and four images of
    # all operands are shared with a worker: they fit when they are not all there at once.
    def test_a_large_case_takes_three_times_its_tensors_and_a_fixed_part(self):
        out = self.dir / "out"
        with open(os.devnull, "w") as null:
            run = subprocess.Popen([ASSAY, "run", "--case", f"matmul/f32/m={M},n={N},k={K}/fill=normal/seed=0",
                                    "--backend", "cpu", "--impl", "naive", "--perf-time", "0.01", "--progress", "none", "--jobs", "2",
                                    "--out", str(out)], cwd=self.dir, env=self.env, stdout=null, stderr=null)
            _, status, usage = os.wait4(run.pid, 0)
        self.assertEqual(os.waitstatus_to_exitcode(status), 0)
        self.assertIn('"verdict":"pass"', (out / "results.jsonl").read_text())
        self.assertLess(usage.ru_maxrss * 1024, 3 * TENSORS + 300e6)

    # Its memory is the plugin's, which is to behave as in any other program.
    def test_workers_allocate_as_the_system_does(self):
        done = self.assay("backends", "--json", "--plugin", PLUGIN, "--backend", "misbehaving",
                          env={"ASSAY_MISBEHAVE": "tells_malloc"})
        [backend] = json.loads(done.stdout)
        self.assertEqual(backend["version"], "default malloc", done.stderr)


FILL = "/fill=normal/seed=0"
SMALL = "exp/f32/n=100"
FIXED = 2 ** 27  # what is said for what the program keeps
ATTENTION = "attention/f32/b=1,h=4,l=16,d={}"
# One case for each kind of cost: outputs, inputs, long rows, several outputs, no twins, results of eight bytes, tables,
# and many small parts.
MEASURED = ["matmul/f32/m=2000,n=1000,k=16", "matmul/f32/m=8,n=8,k=160000", "reduce/f32/shape=1000x2000,axes=1,kind=sum",
            "softmax/f32/shape=1000x1000,axis=1", "layer_norm/f32/rows=1000,n=1000,stats=1", "exp/f32/n=1500000",
            "fft/c128/kind=c2c,n=524288", "gather/f32-i64-f32/v=100,n=12000,d=100", ATTENTION.format(24000)]


def family_of(pid):
    """The process and all that descend from it."""
    pids = [pid]
    for one in pids:
        try:
            for thread in os.listdir(f"/proc/{one}/task"):
                with open(f"/proc/{one}/task/{thread}/children") as children:
                    pids += [int(child) for child in children.read().split()]
        except OSError:
            pass  # it has ended
    return pids


def bytes_of(pid):
    try:
        with open(f"/proc/{pid}/smaps_rollup") as rollup:
            return 1024 * int(re.search(r"^Pss: +(\d+) kB", rollup.read(), re.M).group(1))
    except (OSError, AttributeError):
        return 0


class Estimate(Cli):
    runs = 0

    def command(self, *args):
        self.runs += 1
        self.out = self.dir / f"out{self.runs}"
        return [ASSAY, "run", *args, "--backend", "cpu", "--progress", "none", "--out", str(self.out)]

    def measured(self, case):
        """The most that program and workers took together."""
        with open(os.devnull, "w") as null:
            run = subprocess.Popen(self.command("--case", case + FILL, "--perf-time", "0.01"), cwd=self.dir, env=self.env,
                                   stdout=null, stderr=null)
        most = 0
        while run.poll() is None:
            most = max(most, sum(map(bytes_of, family_of(run.pid))))
            time.sleep(0.003)
        self.assertEqual(run.returncode, 0, case)
        return most

    def estimated(self, case):
        listed = self.assay("list", "cases", "--case", case + FILL, "--verbose").stdout.rstrip("\n").split("\t")
        return 1e9 * float(listed[5].removesuffix(" GB"))

    def test_what_is_listed_is_no_less_than_a_case_takes_and_not_far_more(self):
        program = self.measured(SMALL)  # with workers, and a case of no size
        for case in MEASURED:
            with self.subTest(case):
                takes, says = self.measured(case) - program, self.estimated(case)
                print(f"{case}: {takes / 1e6:.0f} MB, said to be {says / 1e6:.0f} MB", file=sys.stderr)
                self.assertLessEqual(takes, says)
                self.assertLessEqual(says - FIXED, 3 * takes)

    # Its runs have golden values of the reproducible tier, also of f32.
    def test_what_is_listed_of_the_conformance_suite_is_more_than_of_the_case_alone(self):
        lines = self.assay("list", "cases", "--suite", "conformance", "--op", "softmax", "--dtype", "f32", "--verbose").stdout
        listed = [line.split("\t") for line in lines.splitlines()]
        says, case = max((float(words[5].removesuffix(" GB")), words[0]) for words in listed if words[0].endswith(FILL))
        self.assertGreater(1e9 * says, self.estimated(case.removesuffix(FILL)))

    # It took more than so much, and the program was killed.
    def test_a_case_that_would_end_the_run_is_refused(self):
        records, text = self.suite_within(int(17.8e9), "attention/f32/b=1000000,h=2,l=17,d=4", SMALL)
        self.assertEqual([record["verdict"] for record in records], ["error", "pass", "pass"], text)
        self.assertIn("the case is too large for this host", records[0]["reason"])

    def suite_within(self, limit, *cases):
        """Records of a run whose processes may each map so many bytes."""
        (self.dir / "s.suite").write_text("".join(self.line_of(case) for case in cases))
        done = subprocess.run(self.command("--suite", "s.suite", "--no-perf", "--jobs", "1"), cwd=self.dir,
                              env={**self.env, "MALLOC_ARENA_MAX": "1"}, capture_output=True, text=True,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
        lines = (self.out / "results.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines], done.stdout + done.stderr

    @staticmethod
    def line_of(case):
        op, dtypes, attrs = case.split("/")
        return f"{op} dtypes={dtypes} {attrs.replace(',', ' ')}\n"

    # The second one is not prepared beside the first, and finds as much memory as that one did.
    def test_neighbours_make_no_case_too_large(self):
        cases = [ATTENTION.format(24000), ATTENTION.format(24001)]
        says = self.estimated(cases[1])
        limit = 1 << 29
        records, text = self.suite_within(limit, cases[0])
        available = re.search(r"([\d.]+) GB of memory are available", records[0]["reason"])
        self.assertIsNotNone(available, text)
        limit += int(1.05 * says - 1e9 * float(available.group(1)))
        records, text = self.suite_within(limit, *cases)
        self.assertEqual({record["verdict"] for record in records}, {"pass"}, [record["reason"] for record in records])
        self.assertEqual({record["case_id"] for record in records}, {case + FILL for case in cases})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[5:], verbosity=2)
