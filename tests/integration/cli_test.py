#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The program as its users run it: cli_test.py ASSAY MISBEHAVING_PLUGIN NO_ENTRY_PLUGIN OTHER_MAJOR_PLUGIN.

Every fault of the misbehaving plugin ends in its documented verdict, for exactly its implementation, and the run
completes; every kind of bad input gets its exit code and a message that names it.
"""
import json
import os
import pathlib
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ASSAY, PLUGIN, NO_ENTRY, OTHER_MAJOR = sys.argv[1:5]
CASE = "matmul/f32/m=17,n=9,k=64/fill=normal/seed=0"


class Cli(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.dir = pathlib.Path(self.folder.name)
        self.env = dict(os.environ, ASSAY_GOLDEN_STORE=str(self.dir / "store"), NO_COLOR="1")
        for name in ("ASSAY_SHARD", "GTEST_SHARD_INDEX", "GTEST_TOTAL_SHARDS", "ASSAY_PLUGIN_FILES", "ASSAY_ADD_PLUGIN_FILES"):
            self.env.pop(name, None)

    def tearDown(self):
        self.folder.cleanup()

    def assay(self, *args, env=None, **kwargs):
        return subprocess.run([ASSAY, *args], cwd=self.dir, env={**self.env, **(env or {})}, capture_output=True,
                              text=True, timeout=240, **kwargs)

    def run_cases(self, *args, out="out", env=None):
        done = self.assay("run", "--out", out, "--progress", "none", *args, env=env)
        path = self.dir / out / "results.jsonl"
        records = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        return done, records

    @staticmethod
    def await_text(path):
        for _ in range(600):
            if path.exists() and path.stat().st_size > 0:
                return
            time.sleep(0.05)

    def fails(self, code, text, *args, env=None):
        done = self.assay(*args, env=env)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertIn(text, done.stderr)
        return done


class Misbehaviour(Cli):
    def test_an_accumulator_other_than_the_declared_one_is_named(self):
        done, records = self.run_cases("--case", "matmul/f32/m=64,n=48,k=256/fill=normal/seed=0", "--plugin", PLUGIN,
                                       "--backend", "misbehaving", "--impl", "liar", "--no-perf")
        self.assertEqual([r["verdict"] for r in records], ["below_contract"], records)
        self.assertIn("behaves like bf16 sums", records[0]["reason"])
        self.assertEqual(done.returncode, 1)

    def test_every_fault_has_its_verdict_and_the_run_completes(self):
        done, records = self.run_cases("--case", CASE, "--plugin", PLUGIN, "--timeout", "2", "--perf-time", "0.02",
                                       "--relations", "all")
        by_name = {r["implementation"]: r for r in records if r["backend"] == "misbehaving"}
        expected = {
            "ok": ("pass", ""),
            "segfault": ("crash", "SIGSEGV"),
            "abort": ("crash", "SIGABRT"),
            "exit": ("crash", "exit"),
            "hang": ("timeout", "2 s"),
            "write_before": ("mismatch", "before"),
            "write_after": ("mismatch", "after"),
            "write_gap": ("mismatch", ""),
            "ignores_padding": ("mismatch", "with padded rows and an unaligned start"),
            "unwritten": ("mismatch", "not written"),
            "unwritten_row": ("mismatch", "not written"),
            "change_input": ("mismatch", "input"),
            "liar": ("below_contract", "behaves like bf16 sums, one term after another"),
            "nondeterministic": ("nondeterministic", "det=yes"),
            "nan_result": ("mismatch", "nan"),
            "garbage_contract": ("error", "f99"),
            "depends_on_row": ("mismatch", "metamorphic channel: position does not hold"),
            "depends_on_batch": ("mismatch", "metamorphic channel: batch1 does not hold"),
            "depends_on_column": ("pass", ""),
            "rounds_up": ("mismatch", "metamorphic channel: negation does not hold"),
            "drop_last_k": ("mismatch", "[0,0]"),
            "stale": ("mismatch", ""),
            "slow_prepare": ("pass", ""), "keeps_prepared": ("pass", ""),
        }
        for name, (verdict, text) in expected.items():
            with self.subTest(name):
                self.assertIn(name, by_name)
                self.assertEqual(by_name[name]["verdict"], verdict, by_name[name]["reason"])
                self.assertIn(text, by_name[name]["reason"])
        # The other backends are untouched by it.
        others = [r for r in records if r["backend"] != "misbehaving" and r["verdict"] != "unavailable"]
        self.assertTrue(others)
        for r in others:
            self.assertEqual(r["verdict"], "pass", r["reason"])
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("reproduce: ", done.stdout)

    def test_a_twin_s_wrong_elements_are_in_the_record_and_its_card(self):
        _, records = self.run_cases("--case", "matmul/f32/m=8,n=8,k=4096/fill=normal/seed=0", "--plugin", PLUGIN,
                                    "--backend", "misbehaving", "--impl", "drop_last_k", "--no-perf")
        place, got, expected, tolerance = records[0]["twin_elements"].split(":")
        self.assertEqual((place, tolerance, records[0]["violations"]), ("[0,0]", "0", 0))
        self.assertIn(f"first element [0,0] got {got}, expected {expected}, ", records[0]["reason"])
        card = (self.dir / "out/report.html").read_text().split("<article>")[1].split("</article>")[0]
        self.assertIn(f"<td>[0,0]</td><td>{got}</td><td>{expected}</td><td>0</td>", card)
        self.assertEqual(card.count("<td>"), 4)  # none that is right

    def test_the_reproduction_line_reproduces(self):
        _, records = self.run_cases("--case", CASE, "--plugin", PLUGIN, "--backend", "misbehaving", "--impl", "drop_last_k")
        self.assertEqual([r["verdict"] for r in records], ["mismatch"])
        line = records[0]["reproduce"]
        again = subprocess.run(line + " --out again --progress none", shell=True, cwd=self.dir, env=self.env,
                               capture_output=True, text=True, timeout=120)
        self.assertEqual(again.returncode, 1, again.stdout + again.stderr)
        record = json.loads((self.dir / "again/results.jsonl").read_text())
        self.assertEqual(record["verdict"], "mismatch")
        self.assertEqual(record["output_hash"], records[0]["output_hash"])

    def test_a_fault_of_the_timed_loop_alone_is_a_mismatch_without_a_time(self):
        done, records = self.run_cases("--case", CASE, "--plugin", PLUGIN, "--backend", "misbehaving", "--impl",
                                       "wrong_later,ok", "--perf-time", "0.02")
        by_name = {r["implementation"]: r for r in records}
        self.assertEqual(by_name["wrong_later"]["verdict"], "mismatch", by_name["wrong_later"]["reason"])
        self.assertIn("in the timed loop", by_name["wrong_later"]["reason"])
        self.assertIsNone(by_name["wrong_later"]["time_median_s"])
        self.assertGreater(by_name["ok"]["time_median_s"], 0)
        self.assertNotIn("(wrong_later)", done.stdout)
        self.assertEqual(done.returncode, 1)

    def test_the_second_preparation_in_a_process_is_recorded_apart(self):
        words = ("--case", CASE, "--plugin", PLUGIN, "--backend", "misbehaving", "--perf-time", "0.02")
        _, [record] = self.run_cases(*words, "--impl", "keeps_prepared")
        self.assertGreater(record["prepare_s"], 0.29)
        self.assertLess(record["prepare_cached_s"], 0.29)
        _, [record] = self.run_cases(*words, "--impl", "keeps_prepared", "--no-perf", out="untimed")
        self.assertIsNone(record["prepare_cached_s"])
        # The worker that prepared it is gone when it is timed.
        _, records = self.run_cases(*words, "--impl", "keeps_prepared,segfault", out="restarted")
        by_name = {r["implementation"]: r for r in records}
        self.assertEqual([by_name[name]["verdict"] for name in ("keeps_prepared", "segfault")], ["pass", "crash"])
        self.assertGreater(by_name["keeps_prepared"]["time_median_s"], 0)
        self.assertIsNone(by_name["keeps_prepared"]["prepare_cached_s"])

    def test_the_reproduction_line_carries_what_the_result_needs(self):
        program = self.dir / "a folder/assay"
        program.parent.mkdir()
        shutil.copy2(ASSAY, program)
        rules = self.dir / "my rules.expect"
        rules.write_text("fft/* | * | known_failure | another operator\n")
        for variable in ("ASSAY_PLUGIN_FILES", "ASSAY_ADD_PLUGIN_FILES"):
            with self.subTest(variable):
                done = subprocess.run([str(program), "run", "--case", CASE, "--backend", "misbehaving", "--impl",
                                       "drop_last_k", "--tier", "reproducible", "--timeout", "7", "--expectations",
                                       str(rules), "--out", variable], cwd=self.dir, capture_output=True, text=True,
                                      env={**self.env, variable: PLUGIN}, timeout=120)
                self.assertEqual(done.returncode, 1, done.stderr)
                record = json.loads((self.dir / variable / "results.jsonl").read_text())
                words = shlex.split(record["reproduce"])
                for option, value in [("--plugin", PLUGIN), ("--tier", "reproducible"), ("--timeout", "7"),
                                      ("--expectations", str(rules))]:
                    self.assertEqual(words[words.index(option) + 1], value)
                again = subprocess.run(record["reproduce"] + f" --out again-{variable}", shell=True, cwd=self.dir,
                                       env=self.env, capture_output=True, text=True, timeout=120)
                self.assertEqual(again.returncode, 1, again.stderr)
                same = json.loads((self.dir / f"again-{variable}/results.jsonl").read_text())
                self.assertEqual(same["golden_hash"], record["golden_hash"])

    def test_a_dropped_last_k_in_one_element_is_named_by_the_twin(self):
        case = "matmul/f32/m=8,n=8,k=4096/fill=normal/seed=0"
        _, records = self.run_cases("--case", case, "--plugin", PLUGIN, "--backend", "misbehaving", "--impl",
                                    "drop_last_k,ok")
        verdicts = {r["implementation"]: r for r in records}
        self.assertEqual(verdicts["ok"]["verdict"], "pass")
        self.assertEqual(verdicts["drop_last_k"]["verdict"], "mismatch")
        self.assertLess(verdicts["drop_last_k"]["bound_margin"], 1)  # the bound alone would not have seen it
        self.assertIn("exact", verdicts["drop_last_k"]["reason"])

    def test_a_relation_fails_where_the_contract_claims_it_and_is_a_property_elsewhere(self):
        args = ("--case", CASE, "--plugin", PLUGIN, "--backend", "misbehaving", "--no-perf", "--impl",
                "ok,depends_on_row,depends_on_column")
        done, records = self.run_cases(*args, "--relations", "all")
        self.assertEqual(done.returncode, 1, done.stderr)
        by_name = {r["implementation"]: r for r in records}
        ok, row, column = by_name["ok"], by_name["depends_on_row"], by_name["depends_on_column"]
        self.assertEqual([r["verdict"] for r in (ok, row, column)], ["pass", "mismatch", "pass"])
        self.assertNotIn("=no", ok["properties"])
        for name in ("position", "batch1", "batch_part", "negation", "one_hot", "scale", "columns", "repeat"):
            self.assertIn(f"{name}=yes", ok["properties"].split(";"))
        self.assertLess(ok["metamorphic_margin"], 0.05)  # the bits, but for the order of terms, which the bound judges
        self.assertEqual(ok["property_breaks"], "")
        self.assertEqual(row["metamorphic_margin_nonfinite"], "inf")
        self.assertIn("position=no", row["properties"].split(";"))
        # Reported with its first differing element, and no failure.
        self.assertIn("columns=no", column["properties"].split(";"))
        self.assertIn("columns: element [0,", column["property_breaks"])
        self.assertLess(column["metamorphic_margin"], 0.05)
        self.assertLess(float(column["properties"].split("agreement(ok)=")[1]), 1)
        words = shlex.split(row["reproduce"])
        self.assertEqual(words[words.index("--relations") + 1], "all")
        environment = json.loads((self.dir / "out/environment.json").read_text())
        self.assertEqual(environment["relations"], "all")

        done, records = self.run_cases(*args, "--relations", "none", out="none")
        self.assertEqual(done.returncode, 0, done.stderr)  # nothing else sees it
        self.assertEqual([r["properties"] for r in records], ["", "", ""])

    def test_faults_while_loading_are_results_and_other_backends_run(self):
        for how, verdict, text in [("crash_on_load", "crash", "SIG"), ("no_device", "unavailable", ""),
                                   ("wrong_major", "error", "ABI")]:
            with self.subTest(how):
                done, records = self.run_cases("--case", CASE, "--plugin", PLUGIN, "--no-perf", out=how,
                                               env={"ASSAY_MISBEHAVE": how})
                bad = [r for r in records if r["backend"] == "misbehaving" or "misbehaving" in r["backend"]]
                self.assertEqual([r["verdict"] for r in bad], [verdict], done.stderr)
                self.assertIn(text, bad[0]["reason"])
                self.assertTrue(any(r["backend"] == "cpu" and r["verdict"] == "pass" for r in records))
                self.assertEqual(done.returncode, 0 if verdict == "unavailable" else 3)

    def test_hostile_answers_do_no_harm(self):
        expected = {
            "huge_count": (3, "error", "4294967295 devices is not credible"),
            "huge_query": (3, "error", "1152921504606846976 implementations"),
            "null_implementation": (3, "error", "NULL"),
            "null_strings": (3, "error", "'name' in the worker's answer is NULL"),
            "bad_name": (3, "error", "'Mis Behaving' is no name of a backend"),
            "bad_utf8": (0, "pass", ""),
            "long_text": (0, "pass", ""),
        }
        for how, (code, verdict, text) in expected.items():
            with self.subTest(how):
                done, records = self.run_cases("--case", CASE, "--plugin", PLUGIN, "--impl", "ok,naive", "--no-perf",
                                               out=how, env={"ASSAY_MISBEHAVE": how})
                bad = [r for r in records if "misbehaving" in r["backend"]]
                self.assertEqual([r["verdict"] for r in bad], [verdict], done.stderr)
                self.assertIn(text, bad[0]["reason"])
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertTrue(any(r["backend"] == "cpu" and r["verdict"] == "pass" for r in records))
                environment = json.loads((self.dir / how / "environment.json").read_text())
                vendors = [b["vendor"] for b in environment["backends"] if b["backend"] == "misbehaving"]
                self.assertEqual(len(vendors), how in ("huge_query", "null_implementation") or code == 0)
                for vendor in vendors:
                    self.assertLess(len(vendor), 2000)
                    self.assertNotIn("\x1b", vendor)

    def test_an_expectation_makes_a_known_failure_and_catches_a_stale_one(self):
        rules = self.dir / "rules.expect"
        rules.write_text("matmul/* | misbehaving:drop_last_k | known_failure | it drops the last k\n")
        done, records = self.run_cases("--case", CASE, "--plugin", PLUGIN, "--backend", "misbehaving", "--impl",
                                       "drop_last_k", "--expectations", str(rules))
        self.assertEqual((done.returncode, records[0]["verdict"], records[0]["outcome"]), (0, "mismatch", "known_failure"))
        rules.write_text("matmul/* | misbehaving:ok | known_failure | once it was broken\n")
        done, records = self.run_cases("--case", CASE, "--plugin", PLUGIN, "--backend", "misbehaving", "--impl", "ok",
                                       "--expectations", str(rules), out="stale")
        self.assertEqual((done.returncode, records[0]["verdict"], records[0]["outcome"]), (1, "pass", "unexpected_pass"))


class BadInput(Cli):
    def test_selection(self):
        self.fails(2, "known", "run", "--case", "matmull/f32/m=1,n=1,k=1/fill=normal/seed=0")
        self.fails(2, "f33", "run", "--case", "matmul/f33/m=1,n=1,k=1/fill=normal/seed=0")
        self.fails(2, "depth", "run", "--case", "matmul/f32/m=1,n=1,k=1,depth=2/fill=normal/seed=0")
        self.fails(2, "flat", "run", "--case", "matmul/f32/m=1,n=1,k=1/fill=flat/seed=0")
        self.fails(2, "no-such-suite", "run", "--suite", "no-such-suite")
        self.fails(2, "--op conw", "run", "--suite", "smoke", "--op", "conw")
        self.fails(4, "--filter", "list", "cases", "--suite", "smoke", "--filter", "zzz*")
        self.fails(4, "--filter", "run", "--suite", "smoke", "--filter", "zzz*")
        self.fails(2, "shard", "run", "--suite", "smoke", "--shard", "4/4")
        self.fails(2, "--frobnicate", "run", "--frobnicate")
        for verb in ("explain", "fingerprint", "shrink", "merge", "bundle", "verify",
                     "runn"):
            with self.subTest(verb):
                self.assertEqual(self.fails(2, f"no verb '{verb}'; known: run, list, ", verb).stdout, "")
                self.fails(2, f"no verb '{verb}'", verb, "out", "--json")
        self.fails(2, "subcommand is required; see assay --help")
        self.assertNotIn("worker", self.fails(2, "known", "runn").stderr)
        self.fails(2, "acc", "run", "--case", CASE, "--contract", "acc=f99")

    def test_names_that_do_not_exist_are_refused_with_those_that_do(self):
        run = ("run", "--case", CASE, "--out", "o")
        self.fails(2, "--impl nowhere: no backend offers an implementation of that name for these cases; there are "
                      "cpu: blocked, naive, splitk", *run, "--backend", "cpu", "--impl", "nowhere,naive")
        self.fails(2, "--impl winograd-2x2-3x3: ", *run, "--backend", "cpu", "--impl", "winograd-2x2-3x3")
        self.fails(2, "--backend nowhere: there is no such backend; found: cpu", *run, "--backend", "nowhere")
        self.fails(2, "--op nowhere: no such operator; known: attention conv", *run, "--op", "nowhere")
        self.fails(2, "unknown dtype 'f33'; known: f64, f32", *run, "--dtype", "f33")
        self.fails(2, "--impl", "backends", "--impl", "naive")
        self.assertFalse((self.dir / "o").exists())
        # A backend that cannot answer now may know the name: a note, and the run goes on.
        done, records = self.run_cases("--case", CASE, "--plugin", PLUGIN, "--impl", "ok,naive", "--no-perf",
                                       env={"ASSAY_MISBEHAVE": "crash_on_load"})
        self.assertIn("--impl ok: no backend offers", done.stderr)
        self.assertIn("naive", [r["implementation"] for r in records])

    def test_an_illegal_case_is_refused_with_the_key_its_value_and_the_rule(self):
        for case, text in (
                ("matmul/f32/m=-8,n=8,k=8", "m=-8 must be at least 1"),
                ("matmul/f32/m=0,n=8,k=8", "m=0 must be at least 1"),
                ("matmul/f32/m=8,n=8", "matmul needs k=, an integer"),
                ("matmul/f32/m=8,n=8,k=8,depth=2", "no key 'depth'; it takes m n k"),
                ("attention/f32/b=1,h=3,hkv=2,l=4,d=4", "hkv=2 does not divide h=3"),
                ("conv/f32/n=1,c=3,o=4,i=3x3,k=5x5", "k=5 of axis 0 spans 5 elements, but i=3 with pad=0 has 3"),
                ("matmul/f32/m=1000000,n=1000000,k=4", "need about 4e+04 GB")):
            with self.subTest(case):
                done = self.fails(2, text, "run", "--out", "o", "--case", case + "/fill=normal/seed=0")
                self.assertIn("--case " + case, done.stderr)
        self.assertFalse((self.dir / "o").exists())

    def test_numbers_that_are_none_are_refused(self):
        for verb, option, text, problem in (
                ("run", "--seed", "-3", "out of range; give an integer from 0 to 18446744073709551615"),
                ("run", "--seed", "abc", "not a number"), ("run", "--seed", "1.5", "not an integer"),
                ("list cases", "--seed", "-3", "out of range"),
                ("run", "--perf-time", "nan", "not a number"), ("run", "--perf-time", "inf", "out of range"),
                ("run", "--perf-time", "-1", "out of range"), ("run", "--perf-time", "0", "out of range"),
                ("run", "--timeout", "nan", "not a number"), ("run", "--timeout", "abc", "not a number"),
                ("backends", "--timeout", "0", "out of range"), ("run", "--jobs", "0", "from 1 to 1024"),
                ("run", "--jobs", "two", "not a number"), ("power", "--jobs", "-1", "out of range"),
                ("power", "--seeds", "0", "out of range"), ("power", "--fault-seeds", "nan", "not a number"),
                ("report", "--rows", "-1", "out of range")):
            with self.subTest(f"{verb} {option} {text}"):
                done = self.fails(2, f"{option}: '{text}' is ", *verb.split(), option, text)
                self.assertIn(problem, done.stderr)
                self.assertLess(len(done.stderr), 200)

    def test_list_names_what_it_lists(self):
        self.fails(2, "list takes one of ops, cases, suites; ", "list")
        self.fails(2, "list takes one of ops, cases, suites, not 'foo'; ", "list", "foo")
        self.fails(2, "bar", "list", "ops", "bar")
        self.fails(2, "--op foo: no such operator; known: attention", "list", "ops", "--op", "foo")

    def test_a_selection_without_cases_says_what_was_asked(self):
        done = self.fails(4, "none of the ", "list", "cases", "--suite", "smoke", "--op", "matmul", "--dtype", "c64")
        self.assertRegex(done.stderr, r"none of the \d+ cases of suite smoke matches --op 'matmul' --dtype 'c64'; ")
        self.assertNotIn("--filter", done.stderr)
        self.fails(4, "the only case of --case does not match --op 'fft'; ", "run", "--case", CASE, "--op", "fft")
        empty = self.dir / "empty.suite"
        empty.write_text("# nothing\n")
        self.fails(4, f"there is no case in suite {empty}: ", "run", "--suite", str(empty), "--filter", "a*")

    def test_a_suite_that_is_not_text_is_refused_and_not_printed(self):
        for name, content in (("binary", b"\x7fELF\x02\x01\0\0"), ("escapes", b"matmul \x1b[2Jdtypes=f32\n"),
                              ("latin", "matmul # caf\xe9".encode("latin-1")), ("wide", "matmul".encode("utf-16"))):
            with self.subTest(name):
                suite = self.dir / f"{name}.suite"
                suite.write_bytes(b"# first line\n" + content)
                done = self.fails(2, f"{suite}:2: not a text file, it has byte 0x", "run", "--suite", str(suite))
                self.assertTrue(done.stderr.rstrip("\n").isprintable(), repr(done.stderr))
        done = self.fails(2, "is not an operator's name", "run", "--case", "m\x1b[2J/f32/m=1/fill=normal/seed=0")
        self.assertNotIn("\x1b", done.stderr)

    def test_a_malformed_suite_names_file_line_and_column(self):
        suite = self.dir / "bad.suite"
        suite.write_text("# comment\nmatmul dtypes=f32 m=2 n=2 k=2\nmatmul dtypes=f32 m=2 n=2 q=2\n")
        self.fails(2, f"{suite}:3:27: ", "run", "--suite", str(suite))

    def test_an_impossible_shape_in_a_suite_names_file_line_and_column(self):
        suite = self.dir / "mixed.suite"
        suite.write_text("# comment\nmatmul dtypes=f32 m=4|0 n=4 k=4\n")
        self.fails(2, f"{suite}:2:23: matmul: m=0 must be at least 1", "run", "--suite", str(suite))
        self.fails(2, f"{suite}:2:23: ", "list", "cases", "--suite", str(suite))
        suite.write_text("conv dtypes=f32 n=1 c=3 o=4 i=8x8 {k,dilation}={3,1}|{3,6}\n")
        self.fails(2, f"{suite}:1:55: conv: k=3 of axis 0 spans 13 elements", "list", "cases", "--suite", str(suite))

    def test_an_oversized_case_is_an_error_of_that_case_alone(self):
        suite = self.dir / "large.suite"
        suite.write_text("matmul dtypes=f32 {m,n}={1000000,1000000}|{4,4} k=4\n")
        done, records = self.run_cases("--suite", str(suite), "--backend", "cpu", "--no-perf")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertEqual([r["verdict"] for r in records][:2], ["error", "pass"])
        self.assertIn("4e+04 GB", records[0]["reason"])
        self.assertIn("1000000x1000000", records[0]["reason"])
        self.assertIn("large.suite:1", records[0]["reason"])
        self.assertNotIn("--backend", records[0]["reproduce"])
        self.assertTrue((self.dir / "out/report.html").exists())

    def test_an_absurd_shape_of_any_operator_is_refused(self):
        huge = "4000000000"
        for op, dtype, attrs in (("matmul", "f32", f"m={huge},n={huge},k={huge}"),
                                 ("reduce", "f32", f"shape={huge}x{huge},axes=1,kind=sum"),
                                 ("softmax", "f32", f"shape={huge}x{huge}"),
                                 ("conv", "f32", f"n={huge},c={huge},o=4,i=3,k=1"),
                                 ("attention", "f32", f"b={huge},h={huge},l=4,d=4"),
                                 ("fft", "c64", f"kind=c2c,n={huge},batch={huge}")):
            with self.subTest(op):
                self.fails(2, f"--case {op}/{dtype}/{attrs}", "run", "--case",
                           f"{op}/{dtype}/{attrs}/fill=normal/seed=0")

    def test_records_that_cannot_be_written_end_the_run_with_the_reports_that_can(self):
        def limit():  # of every file, as a full disk would be
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (40000, 40000))
        cases = [word for seed in range(40) for word in ("--case", f"matmul/f32/m=2,n=2,k=2/fill=normal/seed={seed}")]
        done = self.assay("run", *cases, "--backend", "cpu", "--no-perf", "--no-store", "--out", "out",
                          preexec_fn=limit)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("out/results.jsonl: File too large", done.stderr)
        self.assertIn("pass", (self.dir / "out/summary.md").read_text())

    def test_a_report_that_cannot_be_written_leaves_nothing_and_says_why(self):
        self.run_cases("--case", CASE, "--backend", "cpu", "--no-perf")
        before = sorted(p.name for p in (self.dir / "out").iterdir())
        page = (self.dir / "out/report.html").read_bytes()
        for ignored in (True, False):  # the signal that comes with the limit
            def limit(ignored=ignored):
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN if ignored else signal.SIG_DFL)
                resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))
            done = self.assay("report", "out", preexec_fn=limit)
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertIn("out/report.html: cannot be written: File too large; make room, then ", done.stderr)
            self.assertIn("assay report out", done.stderr)
            self.assertEqual(sorted(p.name for p in (self.dir / "out").iterdir()), before)
            self.assertEqual((self.dir / "out/report.html").read_bytes(), page)  # the whole one of before

    def test_records_of_a_newer_program_are_named(self):
        self.run_cases("--case", CASE, "--backend", "cpu", "--impl", "naive", "--no-perf")
        path = self.dir / "out/results.jsonl"
        text = path.read_text()
        path.write_text(text.replace('"schema_version":1', '"schema_version":99'))
        self.fails(2, "schema_version 99", "report", "out")
        path.write_text(text + text[:100])
        self.assertIn("1 pass", self.assay("report", "out").stdout)

    def test_output_folders(self):
        done, _ = self.run_cases("--case", CASE, "--backend", "cpu", "--no-perf")
        self.assertEqual(done.returncode, 0, done.stderr)
        before = (self.dir / "out/results.jsonl").read_bytes()
        self.fails(2, "holds another run", "run", "--case", CASE, "--out", "out")
        self.assertEqual((self.dir / "out/results.jsonl").read_bytes(), before)
        (self.dir / "file").write_text("")
        self.fails(2, "output folder", "run", "--case", CASE, "--out", "file/below")

    def test_plugins(self):
        self.fails(2, "/nowhere/lib.so", "run", "--case", CASE, "--plugin", "/nowhere/lib.so")
        text = self.dir / "notes.so"
        text.write_text("no library\n")
        for file, problem in ((text, "is not a shared library"), (NO_ENTRY, "does not export assay_backend_v1"),
                              (OTHER_MAJOR, "exports assay_backend_v2"), (self.dir, "is a folder")):
            for words, env in ((("--plugin", f"mine={file}", "--backend", "cpu"), {}),
                               ((), {"ASSAY_ADD_PLUGIN_FILES": str(file)})):
                with self.subTest(file=file, words=words):
                    done = self.fails(2, problem, "run", "--case", CASE, "--out", "o", *words, env=env)
                    self.assertIn(str(file), done.stderr)
                    self.assertIn("plugin from --plugin" if words else "plugin from ASSAY_ADD_PLUGIN_FILES", done.stderr)
                    self.assertIn("name the", done.stderr)  # what to do
                    self.assertFalse((self.dir / "o").exists())  # before anything ran
        self.fails(4, "no backend plugin", "run", "--case", CASE, env={"ASSAY_PLUGIN_FILES": ""})
        self.fails(2, "no such backend", "run", "--case", CASE, "--backend", "cuda13")

    def test_required_backends(self):
        done, records = self.run_cases("--case", CASE, "--require-backend", "cpu,quantum", "--no-perf")
        self.assertEqual(done.returncode, 5)
        self.assertIn("quantum", done.stderr)
        self.assertTrue(records)  # what is there still ran
        self.fails(5, "quantum", "backends", "--require-backend", "quantum")
        none = {"ASSAY_PLUGIN_FILES": ""}
        self.fails(5, "quantum", "run", "--case", CASE, "--require-backend", "quantum", env=none)
        # What --backend leaves out is not absent.
        done, records = self.run_cases("--case", CASE, "--plugin", PLUGIN, "--backend", "cpu", "--require-backend",
                                       "misbehaving", "--no-perf", out="b")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual({r["backend"] for r in records}, {"cpu"})
        self.assertEqual(self.assay("backends", "--plugin", PLUGIN, "--backend", "cpu", "--require-backend",
                                    "misbehaving").returncode, 0)

    def test_everything_unsupported_is_4(self):
        case = "matmul/e4m3-e4m3-f32/m=4,n=4,k=4/fill=normal/seed=0"
        done, records = self.run_cases("--case", case, "--no-perf")
        self.assertEqual({r["verdict"] for r in records} - {"unavailable"}, {"unsupported"})
        self.assertTrue(all(r["reason"] for r in records))
        self.assertEqual(done.returncode, 4)


class Run(Cli):
    def test_a_suite_and_cases_are_joined(self):
        suite = self.dir / "my.suite"
        suite.write_text(f"require contract=f64\nmatmul dtypes=f32 m=4|17 n=9 k=64\n")
        first = CASE.replace("m=17", "m=4")
        other = "reduce/f32/shape=4x8,axes=1/fill=normal/seed=0"
        select = ("--suite", str(suite), "--case", CASE, "--case", other, "--case", other)
        listed = [line.split("\t") for line in self.assay("list", "cases", *select, "-v").stdout.splitlines()]
        self.assertEqual([row[0] for row in listed], [first, CASE, other])
        self.assertTrue(listed[1][1].startswith("f64"), listed[1])  # what the suite requires
        self.assertEqual([row[4] for row in listed], [f"{suite}:2", f"{suite}:2", "--case"])
        _, records = self.run_cases(*select, "--backend", "cpu", "--no-perf")
        self.assertEqual({r["case_id"] for r in records}, {first, CASE, other})
        plan = json.loads((self.dir / "out/plan.json").read_text())
        self.assertEqual(plan["suite"], f"{suite} --case")
        # Without --suite only the cases run.
        self.assertEqual(self.assay("list", "cases", "--case", other).stdout, other + "\n")

    def test_one_convolution_has_one_id(self):
        long, short = "k=3,stride=2x2,pad=1x1", "k=3x3,stride=2,pad=1"
        case = "conv/f32/n=1,c=3,o=4,i=9x9,{}/fill=normal/seed=0"
        _, records = self.run_cases("--case", case.format(long), "--case", case.format(short), "--backend", "cpu",
                                    "--impl", "direct", "--no-perf")
        self.assertEqual([r["case_id"] for r in records], [case.format(short)])

    def test_a_negative_scale_of_attention(self):
        case = "attention/f32/b=1,h=2,l=5,s=33,d=16,scale=-0.25/fill=normal/seed=0"
        done, records = self.run_cases("--case", case, "--no-perf")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual({r["verdict"] for r in records} - {"unavailable"}, {"pass"})
        self.assertIn("cpu", {r["backend"] for r in records})

    def test_records_are_complete_and_flat(self):
        done, records = self.run_cases("--case", CASE, "--backend", "cpu", "--perf-time", "0.02")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        keys = ("case_id op dtype shape fill seed backend device implementation contract verdict outcome reason "
                "max_abs_err max_rel_err max_ulp_err rms_err nmse bound_margin stat_margin effective_bits bias_z "
                "outliers elements nonfinite_mismatch worst_index deterministic prepare_s prepare_cached_s time_median_s "
                "time_p10_s time_p90_s samples gflops gbytes_per_s roofline_fraction golden_s compare_s input_hash output_hash "
                "golden_hash").split()
        self.assertEqual(len(records), 3)
        for r in records:
            for key in keys:
                self.assertIn(key, r)
            self.assertFalse([k for k, v in r.items() if isinstance(v, (list, dict))])
            self.assertGreater(r["time_median_s"], 0)
            self.assertLessEqual(r["time_p10_s"], r["time_p90_s"])
        self.assertEqual(len({r["golden_hash"] for r in records}), 1)
        for name in ("plan.json", "environment.json", "summary.md", "junit.xml", "benchmark.json", "report.html"):
            self.assertTrue((self.dir / "out" / name).stat().st_size > 0, name)
        again = self.assay("report", "out")
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertIn("3 pass", again.stdout)

    def test_the_requirement_that_is_listed_is_the_one_that_is_judged(self):
        cases = {"matmul/bf16/m=4,n=4,k=8/fill=normal/seed=0": "f32acc;out=rn;math=256;mid=none",
                 "reduce/f32/shape=4x8,axes=1,kind=max/fill=special/seed=0": "f32;out=rn;math=256;nan=propagate",
                 "softmax/bf16/shape=4x8/fill=normal/seed=0": "f32acc;out=rn;math=256"}
        for number, (case, requirement) in enumerate(cases.items()):
            listed = self.assay("list", "cases", "--case", case, "--verbose").stdout.split("\t")
            self.assertEqual(listed[1], requirement)
            _, records = self.run_cases("--case", case, "--backend", "cpu", "--no-perf", out=f"stated{number}")
            self.assertEqual({r["required_contract"] for r in records}, {requirement})
            plan = json.loads((self.dir / f"stated{number}" / "plan.json").read_text())
            self.assertEqual([c["requirement"] for c in plan["cases"]], [requirement])

    def test_a_second_run_has_the_same_inputs_golden_values_and_outputs(self):
        _, first = self.run_cases("--case", CASE, "--backend", "cpu", "--no-perf", out="a")
        _, second = self.run_cases("--case", CASE, "--backend", "cpu", "--no-perf", "--no-store", "--jobs", "1", out="b")
        for key in ("input_hash", "output_hash", "golden_hash"):
            self.assertEqual([r[key] for r in first], [r[key] for r in second], key)

    def test_a_damaged_store_file_is_reported_and_replaced(self):
        args = ("--case", CASE, "--backend", "cpu", "--no-perf")
        _, first = self.run_cases(*args, out="a")
        stored = [p for p in (self.dir / "store").rglob("*") if p.is_file()]
        self.assertEqual(len(stored), 1)
        damaged = bytearray(stored[0].read_bytes())
        damaged[-5] ^= 0x40
        stored[0].write_bytes(damaged)
        done, second = self.run_cases(*args, out="b")
        self.assertEqual(done.returncode, 0)
        self.assertIn(f"golden store: {stored[0]}: damaged: the checksum does not match; not used: the value was computed "
                      "anew and the file replaced (assay golden verify", done.stderr)
        self.assertEqual(second[0]["golden_hash"], first[0]["golden_hash"])
        done, _ = self.run_cases(*args, out="c")
        self.assertEqual(done.stderr, "")

    def test_a_store_that_cannot_be_written_is_said_once_and_the_run_goes_on(self):
        (self.dir / "store").write_text("no folder")
        done, records = self.run_cases("--case", CASE, "--case", CASE.replace("m=17", "m=4"), "--backend", "cpu", "--impl",
                                       "naive", "--no-perf")
        self.assertEqual((done.returncode, [r["verdict"] for r in records]), (0, ["pass", "pass"]))
        self.assertEqual(done.stderr.count("golden store: "), 1, done.stderr)
        for text in (str(self.dir / "store"), "the value was computed and is used, but not kept", "ASSAY_GOLDEN_STORE"):
            self.assertIn(text, done.stderr)

    def test_shards_partition_the_suite(self):
        whole = self.assay("list", "cases", "--suite", "smoke").stdout.splitlines()
        parts = [self.assay("list", "cases", "--suite", "smoke", "--shard", f"{i}/3").stdout.splitlines() for i in range(3)]
        self.assertEqual(sorted(sum(parts, [])), sorted(whole))
        env = {"GTEST_SHARD_INDEX": "1", "GTEST_TOTAL_SHARDS": "3"}
        self.assertEqual(self.assay("list", "cases", "--suite", "smoke", env=env).stdout.splitlines(), parts[1])

    def test_a_shard_without_cases_leaves_a_folder_like_the_others(self):
        codes = []
        for i in range(8):
            done, records = self.run_cases("--case", CASE, "--backend", "cpu", "--no-perf", "--shard", f"{i}/8",
                                           out=f"s{i}")
            codes.append((done.returncode, len(records) > 0))
            for name in ("plan.json", "environment.json", "summary.md", "junit.xml", "benchmark.json", "report.html"):
                self.assertTrue((self.dir / f"s{i}" / name).stat().st_size > 0, name)
            self.assertTrue((self.dir / f"s{i}/results.jsonl").exists())
        self.assertEqual(sorted(codes), [(0, False)] * 7 + [(0, True)])

    def test_records_are_written_as_they_become_final(self):
        process = subprocess.Popen([ASSAY, "run", "--case", CASE, "--plugin", PLUGIN, "--backend", "misbehaving",
                                    "--impl", "ok,hang", "--timeout", "30", "--no-perf", "--out", "out"],
                                   cwd=self.dir, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        results = self.dir / "out/results.jsonl"
        self.await_text(results)
        self.assertIsNone(process.poll())  # it is still at "hang"
        process.kill()
        process.communicate(timeout=60)
        self.assertEqual([json.loads(line)["implementation"] for line in results.read_text().splitlines()], ["ok"])

    def test_an_interrupt_waits_for_no_golden_value(self):
        large = "matmul/f64/m=3000,n=3000,k=10000/fill=normal/seed=0"
        process = subprocess.Popen([ASSAY, "run", "--case", CASE, "--case", large, "--backend", "cpu", "--no-perf",
                                    "--no-store", "--tier", "reproducible", "--out", "out"],
                                   cwd=self.dir, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.await_text(self.dir / "out/results.jsonl")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=15)
        self.assertEqual(process.returncode, 130)
        self.assertTrue((self.dir / "out/report.html").exists())

    def test_a_declared_weaker_contract_is_below_contract(self):
        done, records = self.run_cases("--case", CASE, "--backend", "cpu", "--impl", "naive", "--no-perf", "--contract",
                                       "f64")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertEqual((records[0]["verdict"], records[0]["class"]), ("below_contract", "within_lower_class"))
        self.assertIn("acc=f32", records[0]["reason"])

    def test_an_interrupt_keeps_the_records_and_exits_130(self):
        process = subprocess.Popen([ASSAY, "run", "--suite", "full", "--out", "out", "--no-perf", "--progress", "none"],
                                   cwd=self.dir, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        results = self.dir / "out/results.jsonl"
        self.await_text(results)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=120)
        self.assertEqual(process.returncode, 130)
        records = [json.loads(line) for line in results.read_text().splitlines()]
        self.assertTrue(records)
        self.assertTrue((self.dir / "out/report.html").exists())

    def test_backends_and_lists(self):
        listed = json.loads(self.assay("backends", "--json").stdout)
        self.assertIn("cpu", [b["backend"] for b in listed if b["usable"]])
        missing = self.assay("backends", "--plugin", NO_ENTRY)
        self.assertIn("assay_backend_v1", missing.stdout)
        ops = self.assay("list", "ops", "--verbose").stdout
        for word in ("matmul", "reduce", "transa", "keepdims", "[batch,m,k]", "only when beta is not 0", "[shape]"):
            self.assertIn(word, ops)
        self.assertIn("default", self.assay("list", "suites").stdout.split())
        fft = self.assay("list", "ops", "--op", "fft", "--verbose").stdout
        self.assertIn("c2r of odd length", fft)
        self.assertNotIn("matmul", fft)
        both = self.assay("list", "ops", "--op", "matmul,fft").stdout.splitlines()
        self.assertEqual([line.split()[0] for line in both], ["fft", "matmul"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[5:], verbosity=2)
