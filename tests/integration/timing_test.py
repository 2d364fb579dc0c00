#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a run says of time: timing_test.py ASSAY MISBEHAVING_PLUGIN NO_ENTRY OTHER_MAJOR. No duration is compared with
a constant: a machine may be as slow as it likes.
"""
import json
import sys
import unittest

from program import CASE, Cli, PLUGIN


class Protocol(Cli):
    def check_times(self, r):
        self.assertIn(r["stop_reason"], ("settled", "time limit", "repetitions"))
        self.assertGreater(r["time_median_s"], 0)
        self.assertGreater(r["time_wall_s"], 0)
        for way in ("upload", "download"):
            self.assertGreater(r[f"{way}_s"], 0)
            self.assertGreater(r[f"{way}_gbytes_per_s"], 0)
        if r["time_cold_median_s"] is None:
            self.assertTrue(r["cold_note"])
            self.assertIsNone(r["cold_samples"])
        else:
            self.assertEqual(r["cold_note"], "")
            self.assertGreater(r["time_cold_median_s"], 0)
            self.assertGreaterEqual(r["cold_samples"], 2)

    def test_cold_and_warm_times_of_every_backend(self):
        done, records = self.run_cases("--case", CASE, "--perf-time", "0.01", "--cold")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        timed = [r for r in records if r["verdict"] != "unavailable"]
        self.assertIn("cpu", {r["backend"] for r in timed})
        for r in timed:
            self.check_times(r)
            self.assertIsNotNone(r["time_cold_median_s"], r["backend"])

    def test_cold_times_are_null_with_a_reason_where_there_are_none(self):
        _, records = self.run_cases("--case", CASE, "--backend", "cpu", "--perf-time", "0.01", out="without")
        for r in records:
            self.check_times(r)
            self.assertIn("--cold", r["cold_note"])
        self.env["ASSAY_MISBEHAVE"] = "no_timer"
        _, records = self.run_cases("--case", CASE, "--plugin", PLUGIN, "--backend", "misbehaving", "--impl", "ok",
                                    "--perf-time", "0.01", "--cold")
        self.check_times(records[0])
        self.assertIn("no way to flush", records[0]["cold_note"])
        self.assertEqual(records[0]["timing_clock"], "host")


    def test_no_perf_refuses_what_needs_times(self):
        for given in (["--rounds", "3"], ["--rounds", "1"], ["--roofline"], ["--cold"], ["--perf-time", "0.01"],
                      ["--price", "3"], ["--price", "cpu=3"], ["--sweep", "m=1,2"]):
            done = self.assay("run", "--case", CASE, "--backend", "cpu", "--no-perf", *given, "--out", "out")
            self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
            self.assertIn(f"--no-perf times nothing, and {given[0]} needs times: leave out one", done.stderr)
            self.assertFalse((self.dir / "out").exists())
        for kept in (["--no-cold"], ["--no-roofline"]):
            done, _ = self.run_cases("--case", CASE, "--backend", "cpu", "--no-perf", *kept, out=kept[0].strip("-"))
            self.assertEqual(done.returncode, 0, done.stderr)


class Roofline(Cli):
    def test_ceilings_are_measured_once_and_kept(self):
        done, records = self.run_cases("--suite", "smoke", "--op", "matmul,softmax", "--dtype", "f32,bf16", "--backend",
                                       "cpu,onednn", "--perf-time", "0.005", "--cold", "--roofline")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        ceilings = json.loads((self.dir / "out/ceilings.json").read_text())
        self.assertEqual(ceilings["given_up"], [])
        self.assertEqual({m["hardware"] for m in ceilings["memory"]}, {"host"})
        # oneDNN multiplies bf16 from AVX-512 on.
        multiplied = {(r["dtype"].split("-")[0], r["backend"]) for r in records
                      if r["op"] == "matmul" and r["verdict"] == "pass"}
        self.assertLessEqual({("f32", "cpu"), ("bf16", "cpu"), ("f32", "onednn")}, multiplied)
        self.assertEqual({(c["dtype"], c["backend"]) for c in ceilings["compute"]}, multiplied)
        self.assertEqual({launch["selector"] for launch in ceilings["launch"]}, {"cpu", "onednn"})
        bandwidth = max(m["gbytes_per_s"] for m in ceilings["memory"])
        rates = {d: max(c["gflops"] for c in ceilings["compute"] if c["dtype"] == d) for d in ("f32", "bf16")}
        timed = [r for r in records if r["time_median_s"]]
        self.assertTrue(timed)
        for r in timed:
            self.assertEqual(r["ceiling_gbytes_per_s"], bandwidth)
            self.assertEqual(r["ceiling_gflops"], rates[r["dtype"].split("-")[0]])
            self.assertAlmostEqual(r["roofline_fraction"], max(r["memory_fraction"], r["compute_fraction"]))
            self.assertAlmostEqual(r["memory_fraction"],
                                   r["bytes"] / bandwidth * 1e-9 / r["time_cold_median_s"], delta=1e-6)
            balance = r["flops"] / r["ceiling_gflops"] - r["bytes"] / r["ceiling_gbytes_per_s"]
            self.assertEqual(r["bound_by"], "compute" if balance > 0 else "memory")
            self.assertEqual(r["timing_invalid"], "")  # none of these has more data than four caches hold
            self.assertTrue(0 < r["launch_fraction"] <= 1)
        environment = json.loads((self.dir / "out/environment.json").read_text())
        self.assertEqual(set(environment["machine_before"]), set(environment["machine_after"]))
        self.assertIn("### Limits", (self.dir / "out/summary.md").read_text())
        entry = json.loads((self.dir / "out/benchmark.json").read_text())["benchmarks"][0]
        self.assertLessEqual({"cold_ns", "wall_ns", "roofline_fraction", "launch_fraction"}, set(entry))

    def test_without_it_nothing_is_measured(self):
        _, records = self.run_cases("--case", CASE, "--backend", "cpu", "--perf-time", "0.005", "--price",
                                    "7", "--price", "cpu=3")
        self.assertFalse((self.dir / "out/ceilings.json").exists())
        for r in records:
            self.assertIsNone(r["roofline_fraction"])
            self.assertEqual(r["bound_by"], "")
            self.assertEqual(r["price_per_hour"], 3)
        self.assertIn("cost of 10^6", (self.dir / "out/summary.md").read_text())
        done, _ = self.run_cases("--case", CASE, "--backend", "cpu", "--impl", "naive", "--perf-time", "0.005", "--price",
                                 "cuda=3", "--price", "1", out="other")
        self.assertIn("--price: unused for cuda; the backends of this run are cpu", done.stderr)
        self.fails(2, "'cheap' is no price", "run", "--case", CASE, "--price", "cheap")

    def test_a_plugin_that_dies_while_it_is_measured_loses_no_record(self):
        plugin = ("--plugin", PLUGIN, "--backend", "misbehaving")
        # "ok" alone can be timed; the ceilings try what else there is as well, since nothing is selected.
        done, records = self.run_cases("--case", CASE, *plugin, "--perf-time", "0.002", "--timeout", "2", "--roofline")
        ok = next(r for r in records if r["implementation"] == "ok")
        self.assertEqual(ok["verdict"], "pass", done.stderr)
        self.assertGreater(ok["time_median_s"], 0)
        ceilings = json.loads((self.dir / "out/ceilings.json").read_text())
        self.assertEqual([g["selector"] for g in ceilings["given_up"]], ["misbehaving"])


class Sweep(Cli):
    def test_a_sweep_runs_every_size_and_shows_it(self):
        case = "matmul/f32/m=1,n=64,k=64/fill=normal/seed=0"
        done, records = self.run_cases("--case", case, "--sweep", "m=1..16*4", "--backend", "cpu", "--impl", "naive",
                                       "--perf-time", "0.005")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual([r["sweep"] for r in records], ["m=1", "m=4", "m=16"])
        self.assertEqual([r["case_id"] for r in records], [case.replace("m=1", f"m={m}") for m in (1, 4, 16)])
        page = (self.dir / "out/report.html").read_text()
        self.assertIn('<polyline class="rate"', page)
        advice = [line for line in done.stdout.splitlines() if line.startswith("  cpu: ")]
        self.assertTrue(advice, done.stdout)
        again = self.assay("report", "out")
        self.assertEqual([line for line in again.stdout.splitlines() if line.startswith("  cpu: ")], advice)

    def test_it_says_what_cannot_be_swept(self):
        self.fails(2, "--sweep: give the case", "run", "--suite", "smoke", "--sweep", "m=1..4")
        self.fails(2, "matmul has no attribute 'b'", "run", "--case", CASE, "--sweep", "b=1..4")
        self.fails(2, "KEY=1..256", "run", "--case", CASE, "--sweep", "m=4..1")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[5:], verbosity=2)
