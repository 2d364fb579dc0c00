#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every fault of the misbehaving plugin ends in its documented verdict, for exactly its implementation, and the run
completes: misbehaviour_test.py and the arguments of program.py."""
import fcntl
import json
import os
import shlex
import shutil
import struct
import subprocess
import sys
import termios
import unittest

from own_folder import rule
from program import ASSAY, CASE, Cli, PLUGIN


class Misbehaviour(Cli):
    def test_every_fault_has_its_verdict_and_the_run_completes(self):
        expected = {
            "ok": ("pass", ""),
            "segfault": ("crash", "SIGSEGV"),
            "abort": ("crash", "SIGABRT"),
            "exit": ("crash", "exit"),
            "hang": ("timeout", "1 s"),
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
            "keeps_prepared": ("pass", ""),
        }
        # Another test tries again what crashed or hung.
        done, records = self.run_cases("--case", CASE, "--plugin", PLUGIN, "--backend", "cpu,misbehaving", "--timeout", "1", "--perf-time",
                                       "0.02", "--relations", "all", "--retries", "0", "--impl", ",".join(["naive", *expected]))
        by_name = {r["implementation"]: r for r in records if r["backend"] == "misbehaving"}
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

    def test_failures_are_said_at_once_and_every_report_names_the_seed(self):
        case = CASE.replace("seed=0", "seed=7")
        done = self.assay("run", "--out", "out", "--progress", "lines", "--case", CASE, "--plugin", PLUGIN, "--backend",
                          "misbehaving", "--impl", "drop_last_k,ok", "--no-perf", "--seed", "7")
        self.assertIn(f"assay: mismatch  misbehaving:drop_last_k  {case}\n    exact channel: ", done.stderr)
        said = "Every case ran with seed 7 (--seed 7) in place of the suite"
        texts = [(self.dir / "out" / name).read_text() for name in ("summary.md", "report.html", "junit.xml")]
        for text in (done.stdout, self.assay("report", "out").stdout, *texts):
            self.assertIn(said, text)
        self.assertIn("At fault: the kernels of backend misbehaving", done.stdout)
        narrow = self.on_a_terminal(60, "report", "out")
        for line in narrow.splitlines():
            self.assertTrue(len(line) <= 60 or line.startswith(("    reproduce: ", "mismatch  ", "report: ")), line)
        self.assertIn("\x1b[31m1 mismatch\x1b[0m,\x1b[32m 1 pass", self.on_a_terminal(200, "report", "out", colour=True))

    def on_a_terminal(self, width, *args, colour=False):
        """Output of the program on a terminal of `width` columns; NO_COLOR is obeyed there."""
        outside, inside = os.openpty()
        fcntl.ioctl(inside, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
        env = {**self.env, "TERM": "xterm", "NO_COLOR": "" if colour else "1"}
        with subprocess.Popen([ASSAY, *args], cwd=self.dir, env=env, stdout=inside, stderr=subprocess.DEVNULL) as program:
            os.close(inside)
            text = b""
            try:
                while part := os.read(outside, 65536):
                    text += part
            except OSError:  # how a terminal says that nobody writes any more
                pass
            program.wait(timeout=60)
        os.close(outside)
        text = text.decode().replace("\r\n", "\n")
        self.assertEqual("\x1b" in text, colour)
        return text

    def test_a_twin_s_wrong_elements_are_in_the_record_and_its_card(self):
        _, records = self.run_cases("--case", "matmul/f32/m=8,n=8,k=4096/fill=normal/seed=0", "--plugin", PLUGIN,
                                    "--backend", "misbehaving", "--impl", "drop_last_k", "--no-perf")
        place, got, expected, tolerance = records[0]["twin_elements"].split(":")
        self.assertEqual((place, tolerance, records[0]["violations"]), ("[0,0]", "0", 0))
        self.assertIn(f"first element [0,0] got {got}, expected {expected}, ", records[0]["reason"])
        shown = self.page_data()["failures"][0]["shown"][0]
        self.assertEqual(shown["rows"], [["[0,0]", got, expected, "0"]])  # none that is right

    def test_the_second_preparation_in_a_process_is_recorded_apart(self):
        words = ("--case", CASE, "--plugin", PLUGIN, "--backend", "misbehaving")
        _, [record] = self.run_cases(*words, "--impl", "keeps_prepared")
        self.assertGreater(record["prepare_s"], 0.29)
        self.assertLess(record["prepare_cached_s"], record["prepare_s"])
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
        rules = self.dir / "my rules.toml"
        rules.write_text(rule("*", case="fft/*"))
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
                done, records = self.run_cases("--case", CASE, "--plugin", f"misbehaving={PLUGIN}", "--backend", "cpu,misbehaving",
                                               "--no-perf", out=how, env={"ASSAY_MISBEHAVE": how})
                bad = [r for r in records if r["backend"] == "misbehaving"]
                self.assertEqual([r["verdict"] for r in bad], [verdict], done.stderr)
                self.assertIn(text, bad[0]["reason"])
                self.assertTrue(any(r["backend"] == "cpu" and r["verdict"] == "pass" for r in records))
                self.assertEqual(done.returncode, 0 if verdict == "unavailable" else 3)

    def test_a_crash_is_tried_once_more_alone_and_another_end_is_a_flake_that_fails(self):
        words = ("--case", CASE, "--plugin", PLUGIN, "--backend", "misbehaving", "--impl", "crash_once,ok")
        file = self.shared / "once"
        for name, more, after in (("judged", ("--no-perf",), "0"), ("timed", ("--perf-time", "0.02"), "12")):
            with self.subTest(name):
                done, records = self.run_cases(*words, *more, out=name,
                                               env={"ASSAY_ONCE_FILE": str(file), "ASSAY_ONCE_AFTER": after})
                self.assertTrue(file.exists())
                file.unlink()
                by_name = {r["implementation"]: r for r in records}
                once = by_name["crash_once"]
                self.assertEqual((by_name["ok"]["verdict"], once["verdict"], once["outcome"]), ("pass", "flaky", "flaky"))
                self.assertRegex(once["reason"], r"First crash: .*SIGSEGV.*Once more, alone in a fresh worker, pass")
                self.assertIsNone(once["time_median_s"])
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertIn("1 flaky, 1 pass", done.stdout)
        rules = self.dir / "rules.toml"
        rules.write_text(rule("misbehaving", "known_flake", implementation="crash_once", verdicts="flaky"))
        done, records = self.run_cases(*words, "--no-perf", "--expectations", str(rules), out="known",
                                       env={"ASSAY_ONCE_FILE": str(file)})
        outcomes = {r["implementation"]: r["outcome"] for r in records}
        self.assertEqual(outcomes, {"ok": "pass", "crash_once": "known_flake"})
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_proposed_list_waives_what_failed_once_somebody_has_stated_why(self):
        words = ("--case", CASE, "--case", CASE.replace("m=17", "m=18"), "--plugin", PLUGIN, "--backend", "misbehaving",
                 "--impl", "drop_last_k,ok,segfault", "--no-perf")
        done, records = self.run_cases(*words)
        self.assertEqual(done.returncode, 3, done.stderr)
        proposed = self.assay("expectations", "propose", "out")
        self.assertEqual(proposed.returncode, 0, proposed.stderr)
        rules = self.dir / "rules.toml"
        rules.write_text(proposed.stdout)
        for words_of_check in (("expectations", "check", str(rules)), ("run", *words, "--expectations", str(rules))):
            done = self.assay(*words_of_check)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertRegex(done.stderr, r"rules.toml:\d+: '(owner|reason)' is empty")
        rules.write_text(proposed.stdout.replace('owner = ""', 'owner = "me"').replace('reason = ""', 'reason = "so it is"'))
        done = self.assay("expectations", "check", str(rules))
        self.assertEqual((done.returncode, len(done.stdout.splitlines())), (0, 2), done.stdout + done.stderr)
        done, records = self.run_cases(*words, "--expectations", str(rules), out="waived")
        outcomes = {(r["implementation"], r["outcome"]) for r in records}
        self.assertEqual(outcomes, {("ok", "pass"), ("drop_last_k", "known_failure"), ("segfault", "known_failure")})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("expectations that match no result", done.stderr)
        self.fails(4, "no failure in waived", "expectations", "propose", "waived")
        # No rule reaches further than what failed.
        other = CASE.replace("m=17", "m=19")
        done, records = self.run_cases("--case", other, *words[4:], "--expectations", str(rules), out="other")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertNotIn("known_failure", {r["outcome"] for r in records})

    def test_a_waiver_is_named_in_every_report_and_fails_once_it_has_expired(self):
        rules = self.dir / "rules.toml"
        words = ("--case", CASE, "--plugin", PLUGIN, "--backend", "misbehaving", "--impl", "drop_last_k", "--no-perf",
                 "--expectations", str(rules))
        keys = {"id": "K-17", "owner": "kernel team", "reason": "drops <the> last k", "device": "*"}
        rules.write_text(rule("misbehaving", expires="2999-12-31", **keys))
        done, records = self.run_cases(*words, out="valid")
        self.assertEqual((done.returncode, records[0]["outcome"]), (0, "known_failure"), done.stderr)
        self.assertEqual((records[0]["known_issue"], records[0]["known_owner"], records[0]["known_expires"]),
                         ("K-17", "kernel team", "2999-12-31"))
        texts = [done.stdout, *((self.dir / "valid" / name).read_text()
                                for name in ("summary.md", "report.html", "junit.xml"))]
        for text in texts:
            self.assertIn("of kernel team, until 2999-12-31", text)
            self.assertIn(f"{rules}:1", text)
        self.assertIn("K-17", done.stdout)
        rules.write_text(rule("misbehaving", expires="2020-02-29", **keys))
        done, records = self.run_cases(*words, out="expired")
        self.assertEqual((done.returncode, records[0]["outcome"]), (1, "mismatch"), done.stderr)
        self.assertIn(f"waivers have expired, so what they cover fails: {rules}:1 (K-17, of kernel team, until "
                      "2020-02-29)", done.stderr)
        self.assertIn("has expired (K-17, of kernel team, until 2020-02-29)", records[0]["reason"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[5:], verbosity=2)
