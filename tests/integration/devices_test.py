#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Several devices of one run: their order, that they are judged at once and fail alone, where the time goes:
devices_test.py ASSAY MISBEHAVING_PLUGIN NO_ENTRY OTHER_MAJOR.
"""
import json
import sys
import unittest

import trace_format
from program import CASE, Cli, PLUGIN

OTHER_CASE = "matmul/f32/m=5,n=3,k=7/fill=normal/seed=0"


def order_of(records):
    return [(r["case_id"], r["backend"], r["implementation"]) for r in records]


def appearance(records):
    return list(dict.fromkeys(r["backend"] for r in records))


class Order(Cli):
    def test_records_stand_in_the_order_of_the_plan_whatever_ended_first(self):
        plugins = ("--plugin", f"zebra={PLUGIN}", "--plugin", f"ant={PLUGIN}", "--backend", "zebra,ant,cpu")
        orders = []
        for out in ("first", "second"):
            _, records = self.run_cases("--case", CASE, "--case", OTHER_CASE, *plugins, "--perf-time", "0.001", "--impl",
                                        "ok,drop_last_k,segfault,naive,blocked", out=out)
            self.assertEqual({r["verdict"] for r in records}, {"pass", "mismatch", "crash"})
            orders.append(order_of(records))
        self.assertEqual(*orders)
        self.assertEqual(list(dict.fromkeys(case for case, _, _ in orders[0])), [CASE, OTHER_CASE])
        for case in (CASE, OTHER_CASE):
            part = [r for r in records if r["case_id"] == case]
            self.assertEqual(appearance(part), ["zebra", "ant", "cpu"])
            names = [r["implementation"] for r in part if r["backend"] == "ant"]
            self.assertEqual(names, ["ok", "segfault", "drop_last_k"])  # as the plugin lists them

    def test_cpu_comes_first_and_the_others_by_name(self):
        plugins = ("--plugin", f"zebra={PLUGIN}", "--plugin", f"ant={PLUGIN}")
        done, records = self.run_cases("--case", CASE, *plugins, "--no-perf", "--impl", "ok,naive")
        self.assertEqual(appearance(records)[:2], ["cpu", "ant"], done.stderr)
        self.assertEqual(appearance(records)[-1], "zebra")
        header = next(line for line in done.stdout.splitlines() if line.startswith("operator"))
        self.assertEqual(header.split()[2:], appearance(records))
        listed = json.loads(self.assay("backends", "--json", *plugins).stdout)
        usable = [b["backend"] for b in listed if b["usable"]]
        self.assertEqual(usable, ["cpu", *sorted(set(usable) - {"cpu"})])


class AtOnce(Cli):
    # Both hang for as long as they may: that they overlap does not depend on the speed of the machine.
    HANGING = ("--case", CASE, "--plugin", f"a={PLUGIN}", "--plugin", f"b={PLUGIN}", "--backend", "a,b", "--impl",
               "ok,hang", "--no-perf", "--timeout", "1", "--retries", "0")

    def hangs(self, *args):
        """Begin and end of the executions that hang, by backend."""
        done, records = self.run_cases(*self.HANGING, *args, "--trace", str(self.dir / "trace.json"))
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertEqual([(r["backend"], r["implementation"], r["verdict"]) for r in records],
                         [("a", "ok", "pass"), ("a", "hang", "timeout"), ("b", "ok", "pass"), ("b", "hang", "timeout")])
        for r in records[1::2]:
            self.assertIn("execute did not end within 1 s", r["reason"])
        events = json.loads((self.dir / "trace.json").read_text())["traceEvents"]
        spans = {}
        for e in sorted(events, key=lambda e: e.get("ts", 0)):
            if e["ph"] == "X" and e["name"] == "execute" and e["args"].get("implementation") == "hang":
                spans[e["args"]["backend"]] = e["ts"] * 1e-6, (e["ts"] + e["dur"]) * 1e-6
        return spans

    def test_backends_are_judged_at_once_and_their_timeouts_make_up_for_it(self):
        spans = self.hangs("--jobs", "2")
        self.assertLess(max(begin for begin, _ in spans.values()), min(end for _, end in spans.values()))
        for begin, end in spans.values():
            self.assertGreater(end - begin, 1.2)  # 2 while both hang
        # No longer than one after the other, up to what a busy machine adds.
        everything = max(end for _, end in spans.values()) - min(begin for begin, _ in spans.values())
        self.assertGreater(everything, 1.9)

    def test_one_job_is_one_backend_after_the_other(self):
        spans = self.hangs("--jobs", "1")
        self.assertLessEqual(spans["a"][1], spans["b"][0])

    def test_verdicts_and_bits_are_the_same_at_once_and_one_after_the_other(self):
        results = []
        for jobs in ("1", "4"):
            done, records = self.run_cases("--case", CASE, "--case", OTHER_CASE, "--case", "matmul/f32/m=8,n=8,k=512/fill=normal/seed=0",
                                           "--plugin", f"a={PLUGIN}", "--plugin", f"b={PLUGIN}", "--backend", "cpu,a,b", "--impl",
                                           "naive,blocked,ok,drop_last_k,write_after,segfault", "--no-perf",
                                           "--jobs", jobs, out=jobs)
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertTrue(any(r["failure_dir"] for r in records))
            results.append([(*order, r["verdict"], r["class"], r["output_hash"], r["mutation_power"], r["twin"], r["failure_dir"])
                            for order, r in zip(order_of(records), records)])
        self.assertEqual(*results)

    def test_padded_rows_are_judged_however_slow_the_first_execution_is(self):
        _, records = self.run_cases("--case", CASE, "--plugin", PLUGIN, "--backend", "misbehaving", "--impl",
                                    "ignores_padding", "--no-perf")
        self.assertGreater(records[0]["execute_s"], 0.3)
        self.assertIn("with padded rows and an unaligned start", records[0]["reason"])


class OfOnePlugin(Cli):
    """Two devices of one plugin, of which ASSAY_MISBEHAVE says what the second one does."""
    CASES = [f"matmul/f32/m={m},n=3,k=7/fill=normal/seed=0" for m in (4, 5, 6)]

    def run_both(self, second, *args):
        """Records by device, and the spans of the trace of one name."""
        words = [word for case in self.CASES for word in ("--case", case)]
        done, records = self.run_cases(*words, "--plugin", PLUGIN, "--backend", "misbehaving", "--no-perf", "--jobs",
                                       "2", "--trace", str(self.dir / "trace.json"), *args,
                                       env={"ASSAY_MISBEHAVE": second})
        events = json.loads((self.dir / "trace.json").read_text())["traceEvents"]
        self.assertEqual(done.returncode, 3, done.stderr)
        of_device = {name: [r for r in records if r["device"] == name] for name in ("imaginary #0", "imaginary #1")}
        self.assertEqual(sum(len(of) for of in of_device.values()), len(records))

        def spans(name, device):
            return sorted((e["ts"], e["ts"] + e["dur"]) for e in events
                          if e["ph"] == "X" and e["name"] == name and e["args"].get("backend") == f"misbehaving:{device}")
        return of_device["imaginary #0"], of_device["imaginary #1"], spans

    def check_that_the_second_fails_alone(self, second, verdict, tries, *args):
        first, other, spans = self.run_both(second, "--impl", "ok", *args)
        self.assertEqual([(r["case_id"], r["verdict"]) for r in first], [(case, "pass") for case in self.CASES])
        self.assertEqual([(r["case_id"], r["verdict"]) for r in other], [(case, verdict) for case in self.CASES])
        # The worker that described both goes on as that of the first one; the second one's ends with every try. Once the
        # second one has no case left, a further worker may help the first one.
        self.assertLessEqual(len(spans("start", 0)), 1)
        self.assertEqual(len(spans("start", 1)), tries * len(self.CASES))

    def test_one_that_crashes_leaves_the_other_s_worker_alone(self):
        self.check_that_the_second_fails_alone("second_crashes", "crash", 2)

    def test_one_that_hangs_leaves_the_other_s_worker_alone(self):
        self.CASES = self.CASES[:2]
        self.check_that_the_second_fails_alone("second_hangs", "timeout", 1, "--timeout", "1", "--retries", "0")

    # Both hang for as long as they may: that they overlap does not depend on the speed of the machine.
    def test_they_run_at_the_same_time(self):
        self.CASES = self.CASES[:1]
        first, other, spans = self.run_both("two_devices", "--impl", "hang", "--timeout", "1", "--retries", "0")
        self.assertEqual([r["verdict"] for r in first + other], ["timeout"] * 2)
        begin, end = zip(*(spans("execute", device)[0] for device in (0, 1)))
        self.assertLess(max(begin), min(end))


class Profile(Cli):
    def test_builds_that_take_turns_have_tracks_of_their_own(self):
        done, _ = self.run_cases("--case", CASE, "--plugin", f"a={PLUGIN}", "--plugin", f"b={PLUGIN}", "--backend", "a,b",
                                 "--impl", "ok", "--rounds", "2", "--perf-time", "0.002", "--trace",
                                 str(self.dir / "trace.json"))
        self.assertEqual(done.returncode, 0, done.stderr)
        events = json.loads((self.dir / "trace.json").read_text())["traceEvents"]
        processes = {e["args"]["name"] for e in events if e["name"] == "process_name"}
        self.assertEqual(processes, {"assay", "a worker", "b worker"})

    def check_nesting(self, events):
        """Spans of one thread are apart, or one holds the other."""
        tracks = {}
        for e in events:
            if e["ph"] == "X":
                tracks.setdefault((e["pid"], e["tid"]), []).append((e["ts"], -e["dur"], e["name"]))
        for track in tracks.values():
            opened = []
            for begin, minus, name in sorted(track):
                while opened and opened[-1][0] <= begin + 1e-3:
                    opened.pop()
                end = begin - minus
                if opened:
                    self.assertLessEqual(end, opened[-1][0] + 1e-3, (name, opened[-1]))
                opened.append((end, name))
        return tracks

    def test_a_profile_adds_up_and_is_shown(self):
        done, records = self.run_cases("--suite", "smoke", "--op", "matmul", "--backend", "cpu,onednn", "--perf-time",
                                       "0.002", "--profile", "--trace", str(self.dir / "trace.json"), "--jobs", "2")
        self.assertEqual(done.returncode, 0, done.stderr)
        profile = json.loads((self.dir / "out/profile.json").read_text())
        phases = {(p["backend"], p["phase"]): p for p in profile["phases"]}
        for backend in ("cpu", "onednn"):
            for phase in ("query", "prepare", "execute", "images", "compare", "timed loop", "judge"):
                self.assertGreater(phases[backend, phase]["seconds"], 0, (backend, phase))
        for phase in ("inputs", "golden", "plan", "reports", "run"):
            self.assertGreater(phases["", phase]["seconds"], 0, phase)
        self.assertGreaterEqual(min(p["seconds"] for p in profile["phases"]), -1e-9)
        self.assertGreaterEqual(phases["cpu", "execute"]["spans"],
                                2 * sum(r["backend"] == "cpu" and r["verdict"] == "pass" for r in records))
        self.assertLess(profile["backends_s"], profile["wall_s"])
        self.assertAlmostEqual(profile["host_alone_s"], profile["wall_s"] - profile["backends_s"])

        trace = json.loads((self.dir / "trace.json").read_text())
        self.assertEqual(trace_format.problems(trace), [])
        events = trace["traceEvents"]
        flow = next(e for e in events if e["ph"] == "f")
        called = next(e for e in events if e["ph"] == "X" and (e["pid"], e["ts"]) == (flow["pid"], flow["ts"]))
        for broken in ([e for e in events if e is not flow], [e for e in events if e is not called],
                       [e for e in events if e["ph"] != "M"], events + [dict(called, ts=called["ts"] + called["dur"] / 2)],
                       [dict(e, args=dict(e["args"], case="another")) if e is called else e for e in events]):
            self.assertNotEqual(trace_format.problems(dict(trace, traceEvents=broken)), [])
        tracks = self.check_nesting(events)
        threads = {e["args"]["name"]: (e["pid"], e["tid"]) for e in events if e["name"] == "thread_name"}
        self.assertLessEqual({"main", "next cases", "devices 2"}, set(threads))
        # Phases of one thread are apart: they fit into the wall clock, those of all threads into as many times that.
        self.assertLess(max(t - minus for track in tracks.values() for t, minus, _ in track), profile["wall_s"] * 1e6)
        self.assertLessEqual(sum(p["seconds"] for p in profile["phases"]), 3 * profile["wall_s"])
        processes = {e["args"]["name"]: e["pid"] for e in events if e["name"] == "process_name"}
        self.assertEqual(set(processes), {"assay", "cpu worker", "onednn worker"})
        starts = {e["id"]: e for e in events if e["ph"] == "s"}
        ends = {e["id"]: e for e in events if e["ph"] == "f"}
        self.assertEqual(set(starts), set(ends))
        for number, call in starts.items():
            self.assertEqual(call["pid"], processes["assay"])
            self.assertGreaterEqual(ends[number]["ts"], call["ts"])
        loops = [e for e in events if e["ph"] == "X" and e["pid"] != 1 and e["name"] == "timed loop"]
        loops = [e for e in loops if "repetitions" in e["args"]]  # empty calls tell what a call costs
        self.assertTrue(loops)
        for e in loops:
            self.assertGreater(e["args"]["repetitions"], 0)
            self.assertLessEqual(e["args"]["timed_s"] * 1e6, e["dur"] * 1.01 + 1)

        self.assertIn("with a backend at work", done.stderr)
        self.assertIn("timed loop", done.stderr)
        for name in ("report.html", "summary.md"):
            self.assertIn("with a backend at work", (self.dir / "out" / name).read_text(), name)
        self.assertEqual(self.assay("report", "out").returncode, 0)
        self.assertIn("## Profile", (self.dir / "out/summary.md").read_text())

    def test_without_the_options_there_is_none(self):
        done, _ = self.run_cases("--case", CASE, "--backend", "cpu", "--impl", "naive", "--no-perf")
        self.assertFalse((self.dir / "out/profile.json").exists())
        self.assertNotIn('"profile":', (self.dir / "out/report.html").read_text())
        self.assertEqual(done.stderr, "")
        self.fails(2, "--trace /no/such/folder/x: there is no folder /no/such/folder; make it first", "run", "--case", CASE, "--trace",
                   "/no/such/folder/x", "--out", "o")

    def test_a_refused_run_leaves_the_trace_s_file_alone(self):
        (self.dir / "kept.txt").write_text("precious")
        self.fails(2, "", "run", "--case", "no/such/case", "--trace", "new.json")
        self.assertFalse((self.dir / "new.json").exists())
        self.fails(2, "--trace kept.txt: this is not a trace, so it is not replaced; give another name, or remove it", "run",
                   "--case", CASE, "--trace", "kept.txt")
        (self.dir / "own.toml").write_text("")
        self.fails(2, "--trace own.toml: a list of expectations is read from this file", "run", "--case", CASE,
                   "--expectations", "own.toml", "--trace", "own.toml")
        (self.dir / "own.suite").write_text("matmul dtypes=f32 m=2 n=2 k=2\n")
        (self.dir / "link").symlink_to("own.suite")
        self.fails(2, "--trace link: the suite is read from this file", "run", "--suite", "own", "--trace", "link",
                   env={"ASSAY_SUITES": str(self.dir)})
        self.assertEqual((self.dir / "kept.txt").read_text(), "precious")

    def test_plugins_of_one_name_are_refused(self):
        self.fails(2, "another plugin has the name", "run", "--case", CASE, "--plugin", f"a={PLUGIN}", "--plugin",
                   f"a={PLUGIN}")

    def test_a_trace_may_lie_in_the_run_s_folder_but_in_no_place_of_its_own(self):
        self.run_cases("--case", CASE, "--backend", "cpu", "--impl", "naive", "--no-perf", "--trace",
                       str(self.dir / "out/trace.json"))
        first = (self.dir / "out/trace.json").read_text()
        self.assertTrue(json.loads(first))
        self.run_cases("--case", CASE, "--backend", "cpu", "--impl", "naive", "--no-perf", "--trace",
                       str(self.dir / "out/trace.json"), out="again")
        self.assertNotEqual((self.dir / "out/trace.json").read_text(), first)  # an older trace may be replaced
        self.fails(3, "not written, since the run has a file of that name", "run", "--case", CASE, "--backend", "cpu",
                   "--impl", "naive", "--no-perf", "--out", "two", "--trace", "two/results.jsonl")
        self.assertIn("case_id", (self.dir / "two/results.jsonl").read_text())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[5:], verbosity=2)
