# SPDX-License-Identifier: Apache-2.0
"""Backends and devices as the user sees and selects them: backends_test.py ASSAY ALTERED_PLUGIN.

The altered plugin has two devices, of which the second computes wrongly, so that a mix-up shows.
"""
import json
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import unittest

from own_folder import OwnFolder

ASSAY, PLUGIN = sys.argv[1:]
CASE = "matmul/f32/m=5,n=7,k=33/fill=normal/seed=0"


class Backends(OwnFolder):
    INSTALLED = pathlib.Path(ASSAY).parents[1] / "lib/assay/plugins"

    def setUp(self):
        super().setUp()
        self.env["ASSAY_PLUGIN_FILES"] = str(self.INSTALLED / "libassay_cpu.so")  # drivers of others take long to load

    def assay(self, *words, alter=None, **variables):
        env = dict(self.env, **variables, **({"ASSAY_ALTER": alter} if alter else {}))
        return subprocess.run([ASSAY, *words], cwd=self.dir, env=env, capture_output=True, text=True, timeout=240)

    def run_cases(self, *words, alter="two-devices", out="out"):
        done = self.assay("run", "--case", CASE, "--no-perf", "--plugin", PLUGIN, "--out", out, *words, alter=alter)
        path = self.dir / out / "results.jsonl"
        return done, [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def test_two_devices_are_two_columns_everywhere(self):
        for alter, names in (("two-devices", ["Example 1", "Example 2"]), ("two-alike", ["Example 1 #0", "Example 1 #1"])):
            with self.subTest(alter):
                done, records = self.run_cases("--backend", "vendor,cpu", alter=alter, out=alter)
                self.assertEqual([(r["device"], r["verdict"]) for r in records if r["backend"] == "vendor"],
                                 [(names[0], "pass"), (names[1], "mismatch")])
                self.assertEqual(done.returncode, 1)
                table = done.stdout.splitlines()
                heading = next(line for line in table if line.startswith("operator"))
                for name in names:
                    self.assertIn(f"vendor[{name}]", heading)
                row = next(line for line in table if line.startswith("matmul"))
                self.assertLess(row.index("1 pass"), row.index("1 mismatch"))
                for report in ("summary.md", "report.html", "junit.xml"):
                    text = (self.dir / alter / report).read_text()
                    text = text.replace("\\", "").replace("\u200b", "")  # no "#0" there is a mention of an issue
                    for name in names:
                        self.assertIn(name, text, report)
                environment = json.loads((self.dir / alter / "environment.json").read_text())
                self.assertEqual([b["device"] for b in environment["backends"] if b["backend"] == "vendor"], names)

    def test_capabilities_are_listed_where_there_is_a_table(self):
        for alter, expected in (("complete", [{"op": "matmul", "type": "f32", "features": "strides;permuted"}]),
                                ("times", None)):
            done = self.assay("backends", "--json", "--capabilities", "--plugin", PLUGIN, "--backend", "vendor", alter=alter)
            self.assertEqual([b["capabilities"] for b in json.loads(done.stdout)], [expected])
        self.assertRegex(self.assay("backends", "--capabilities", "--backend", "cpu").stdout, r"softmax +f32 +.*in_place")

    def test_the_reproduction_line_names_the_device(self):
        _, records = self.run_cases("--backend", "vendor:1")
        words = shlex.split(records[0]["reproduce"])
        self.assertEqual(words[words.index("--backend") + 1], "vendor:1")
        again = subprocess.run(records[0]["reproduce"] + " --out again", shell=True, cwd=self.dir,
                               env=dict(self.env, ASSAY_ALTER="two-devices"), capture_output=True, text=True, timeout=120)
        self.assertEqual(again.returncode, 1, again.stderr)
        same = [json.loads(line) for line in (self.dir / "again/results.jsonl").read_text().splitlines()]
        self.assertEqual([r["device"] for r in same], ["Example 2"])

    def test_a_device_can_be_chosen(self):
        for number, (words, devices) in enumerate([
                (("--backend", "vendor"), ["Example 1", "Example 2"]), (("--backend", "vendor:0"), ["Example 1"]),
                (("--backend", "vendor:1"), ["Example 2"]), (("--device", "Example 2"), ["Example 2"]),
                (("--device", "Example*", "--backend", "vendor:0,cpu"), ["Example 1"]),
                (("--device", "*2", "--device", "*1"), ["Example 1", "Example 2"])]):
            with self.subTest(words):
                _, records = self.run_cases(*words, out=f"out{number}")
                self.assertEqual([r["device"] for r in records], devices)

    def test_what_is_not_there_is_named_with_what_is(self):
        for words, texts in ((("--backend", "vendor:2"), ("vendor:2", "vendor:1 (Example 2)")),
                             (("--device", "H200"), ("H200", "vendor:0 (Example 1)")),
                             (("--device", "host", "--backend", "vendor"), ("matches no device of vendor", "cpu (host)")),
                             (("--backend", "nowhere"), ("nowhere", "cpu"))):
            with self.subTest(words):
                done, _ = self.run_cases(*words)
                self.assertEqual(done.returncode, 2)
                for text in texts:
                    self.assertIn(text, done.stderr)

    def test_a_backend_without_a_device_says_why_whatever_device_is_wanted(self):
        done = self.assay("run", "--case", CASE, "--no-perf", "--plugin", PLUGIN, "--backend", "vendor", "--device", "host",
                          "--out", "o-none", alter="no-device")
        self.assertEqual(done.returncode, 4, done.stdout + done.stderr)
        self.assertIn("no accelerator was found; install its driver", done.stdout)

    def test_a_required_backend_that_is_absent_or_unusable_is_5(self):
        for name, alter, text in (("vendor", "no-device", "install its driver"),
                                  ("vendor:2", "two-devices", "vendor:2"), ("no-such", None, "no-such")):
            for verb in (("backends",), ("run", "--case", CASE, "--no-perf", "--backend", "cpu", "--out", f"o-{name}")):
                with self.subTest((name, verb[0])):
                    done = self.assay(*verb, "--plugin", PLUGIN, "--require-backend", name, alter=alter)
                    self.assertEqual(done.returncode, 5, done.stdout + done.stderr)
                    self.assertIn(text, done.stderr)
        for name in ("cpu", "cpu:0", "vendor:1"):
            done = self.assay("backends", "--plugin", PLUGIN, "--require-backend", name, alter="two-devices")
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_every_backend_is_listed_with_its_reason(self):
        del self.env["ASSAY_PLUGIN_FILES"]
        listed = json.loads(self.assay("backends", "--json", "--plugin", PLUGIN, alter="no-device").stdout)
        by_name = {b["backend"]: b for b in listed}
        for name in ("cpu", "onednn", "vulkan", "opencl", "cuda", "hip", "vendor"):
            self.assertIn(name, by_name)
            if not by_name[name]["usable"]:
                self.assertTrue(by_name[name]["reason"])
        self.assertEqual((by_name["vendor"]["outcome"], by_name["vendor"]["reason"]),
                         ("unavailable", "no accelerator was found; install its driver"))
        text = self.assay("backends").stdout
        for name, backend in by_name.items():
            if backend.get("outcome") == "absent":
                reason = "configured (" if "target gpu builds it" in backend["reason"] else "not built: "
                self.assertTrue(backend["reason"].startswith(reason), backend)
                self.assertRegex(text, rf"(?m)^{name} +absent\n +{re.escape(reason)}")
        self.assertRegex(text, r"(?m)^cpu +usable +device 0: ")
        # Without the plugins beside it, a backend that was built is missed.
        program = self.dir / "bin/assay"
        program.parent.mkdir()
        program.write_bytes(pathlib.Path(ASSAY).read_bytes())
        program.chmod(0o755)
        done = subprocess.run([program, "backends", "--json"], env=self.env, capture_output=True, text=True, timeout=60)
        reasons = {b["backend"]: b["reason"] for b in json.loads(done.stdout)}
        self.assertIn("libassay_cpu.so is not in lib/assay/plugins", reasons["cpu"])
        self.assertEqual(done.returncode, 4)

    def test_onednn_chooses_among_bytes_and_adds_none(self):
        """Sums of bytes saturate there, and the operator wraps around."""
        del self.env["ASSAY_PLUGIN_FILES"]
        if not any(b["backend"] == "onednn" and b["usable"] for b in json.loads(self.assay("backends", "--json").stdout)):
            self.skipTest("no oneDNN")
        cases = ("maximum/i8/n=257", "minimum/u8/n=257", "less/i8-i8-bool/n=257", "relu/i8/n=257", "add/i8/n=257")
        words = [word for case in cases for word in ("--case", f"{case}/fill=extremes/seed=0")]
        self.assay("run", *words, "--backend", "onednn", "--no-perf", "--out", "o-bytes")
        records = [json.loads(line) for line in (self.dir / "o-bytes" / "results.jsonl").read_text().splitlines()]
        self.assertEqual([{r["verdict"] for r in records if r["case_id"].startswith(case)} for case in cases], 4 * [{"pass"}] + [{"unsupported"}])

    def test_casts_to_integers_say_why_onednn_has_none(self):
        del self.env["ASSAY_PLUGIN_FILES"]
        if not any(b["backend"] == "onednn" and b["usable"] for b in json.loads(self.assay("backends", "--json").stdout)):
            self.skipTest("oneDNN is not here")
        done = self.assay("run", "--case", "cast/u8-i32/n=257/fill=normal/seed=0", "--backend", "onednn", "--no-perf", "--out", "o-cast")
        self.assertEqual(done.returncode, 4, done.stdout + done.stderr)
        self.assertIn("oneDNN's reorder saturates where cast wraps around", done.stdout)

    def test_a_backend_that_is_named_is_found_by_its_file_and_else_in_all_of_them(self):
        """Two files of one backend are refused where both are loaded."""
        del self.env["ASSAY_PLUGIN_FILES"]
        (self.dir / "bin").mkdir()
        plugins = self.dir / "lib/assay/plugins"
        plugins.mkdir(parents=True)
        program = shutil.copy(ASSAY, self.dir / "bin")
        shutil.copy(self.INSTALLED / "libassay_cpu.so", plugins / "libassay_other.so")
        shutil.copy(plugins / "libassay_other.so", plugins / "libassay_cpu.so")

        def run(out, *words):
            return subprocess.run([program, "run", "--case", CASE, "--no-perf", "--out", out, *words], cwd=self.dir, env=self.env,
                                  capture_output=True, text=True, timeout=60)
        self.assertIn("two plugins have the name 'cpu'", run("both").stderr)
        self.assertEqual(run("named", "--backend", "cpu").returncode, 0)
        (plugins / "libassay_cpu.so").unlink()
        self.assertEqual(run("elsewhere", "--backend", "cpu").returncode, 0)

    def test_objects_are_destroyed_once_and_before_their_device(self):
        report = self.shared / "closed"
        done = self.assay("run", "--case", CASE, "--plugin", PLUGIN, "--backend", "vendor", "--relations", "all",
                          "--perf-time", "0.01", "--out", "out", alter="counts", ASSAY_ALTER_REPORT=str(report))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        lines = report.read_text().splitlines()
        self.assertTrue(lines)
        self.assertEqual(set(lines), {"0 plans, 0 buffers"})

    def test_a_worker_that_crashes_as_it_ends_is_told_of_everywhere(self):
        for alter, how in (("crashes-at-exit", "was killed by SIGABRT"), ("code-at-exit", "exited with code 3"),
                           ("times", "")):
            with self.subTest(alter):
                done, records = self.run_cases("--backend", "vendor", alter=alter, out=alter)
                self.assertEqual((done.returncode, [r["verdict"] for r in records]), (0, ["pass"]), done.stderr)
                environment = json.loads((self.dir / alter / "environment.json").read_text())
                said = environment.get("crashes_at_end", "")
                self.assertEqual(bool(said), bool(how))
                if not how:
                    continue
                self.assertRegex(said, rf"^A worker of vendor {how} \([^)]*\)+.* when it ended")
                self.assertEqual((done.stdout + done.stderr).count("A worker of vendor"), 1)
                for text in (done.stdout, *((self.dir / alter / r).read_text() for r in ("summary.md", "report.html"))):
                    self.assertIn(f"A worker of vendor {how}", text)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
