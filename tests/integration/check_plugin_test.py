# SPDX-License-Identifier: Apache-2.0
"""assay check-plugin: check_plugin_test.py GROUP ASSAY ALTERED_PLUGIN EXPORTING_PLUGIN NO_ENTRY_PLUGIN OTHER_MAJOR_PLUGIN BEFORE_1_0_PLUGIN TWO_OUTPUTS_PLUGIN REAL...

The real plugins keep every rule; each alteration of the vendor's example breaks one and is found by the name of its
check (CheckPlugin), and by no other one (EveryCheck).
"""
import json
import pathlib
import platform
import subprocess
import sys
import unittest

from own_folder import FULL, only_full, OwnFolder

GROUP, ASSAY, ALTERED, EXPORTING, NO_ENTRY, OTHER_MAJOR, BEFORE_1_0, TWO_OUTPUTS, *REAL = sys.argv[1:]

BROKEN = {  # alteration: the checks that fail; everything else has to hold
    "two-tables": {"entry-symbol"},
    "starts-thread": {"entry-is-quiet"},
    "wrong-major": {"abi-version"},
    "lower-major": {"abi-version"},
    "older-table": {"abi-version"},
    "null-function": {"functions"},
    "bad-name": {"describe"},
    "null-driver": {"devices"},
    "any-index": {"device-index"},
    "ignores-struct-size": {"older-caller"},
    "clears-struct": {"newer-caller"},
    "silent": {"error-reason", "error-short"},
    "terminates-nothing": {"error-empty"},
    "overruns-text": {"error-short"},
    "cuts-without-end": {"error-short"},
    "opens-once": {"open-close"},
    "declines-as-error": {"unknown-operator", "unknown-type", "unknown-attribute", "unknown-flags",
                          "in-place"},
    "any-type": {"unknown-type"},
    "any-attribute": {"unknown-attribute"},
    "known-attributes": {"unknown-attribute"},
    "any-outputs": {"outputs"},
    "exact-size": {"newer-description"},
    "shares-list": {"query-free"},
    "this-minor-only": {"newer-host"},
    "any-flags": {"unknown-flags"},
    "leaves-rounding": {"float-environment"},
    "times-and-leaves-rounding": {"float-environment"},
    "any-arguments": {"argument-flags"},
    "any-alias": {"in-place"},
    "plan-info-to-newer": {"plan-info"},
    "lists-too-little": {"capabilities"},
    "lists-too-much": {"capabilities"},
    "odd-alignment": {"buffer-alignment"},
    "keeps-result": {"changed-inputs"},
    "lists-twice": {"implementations"},
    "bad-contract": {"implementations"},
    "forgets-offset": {"buffer-roundtrip"},
    "null-for-zero": {"buffer-zero"},
    "promises-all": {"buffer-huge"},
    "cuts-range": {"buffer-range"},
    "any-implementation": {"plan-unknown"},
    "plans-run-out": {"plans", "leaks"},
    "other-bits": {"execute-twice", "changed-inputs"},
    "times-but-one": {"execute-batch"},
    "times-for-newer": {"execute-batch"},
    "opens-while-unused": {"close-after-use", "leaks"},
    "crashes-at-exit": {"unload"},
    "code-at-exit": {"unload"},
    "leaks-heap": {"leaks"},
    "leaks-pages": {"leaks"},
    "leaks-files": {"leaks"},
}
if platform.machine() in ("x86_64", "aarch64"):
    BROKEN["flushes-subnormals"] = {"float-environment"}
if platform.machine() == "x86_64":  # others have processors without traps
    BROKEN["enables-traps"] = {"float-environment"}
OPTIONAL = {"capabilities"}  # what a plugin of this tree may lack
CRASHING = {  # alteration: (the first check that it ends, the outcome)
    "needs-text": ("error-null", "crash"),
    "writes-on-free": ("destroy-null", "crash"),
    "crashes": ("execute-twice", "crash"),
    "hangs": ("execute-twice", "timeout"),
}


class WithPlugins(OwnFolder):
    def run_assay(self, *words, alter=None):
        env = dict(self.env, **({"ASSAY_ALTER": alter} if alter else {}))
        return subprocess.run([ASSAY, "check-plugin", *words], cwd=self.dir, env=env, capture_output=True, text=True,
                              timeout=300)

    def check(self, plugin, *words, alter=None):
        """Exit code, and the status and finding of every check by name."""
        done = self.run_assay(plugin, "--json", *words, alter=alter)
        self.assertTrue(done.stdout, done.stderr)
        checks = json.loads(done.stdout)["checks"]
        return done.returncode, {c["name"]: c["status"] for c in checks}, {c["name"]: c["finding"] for c in checks}

    def named(self, statuses, *wanted):
        return {name for name, status in statuses.items() if status in wanted}

    def find_broken_rules(self, every_check):
        for alter, expected in BROKEN.items():
            with self.subTest(alter):
                only = [] if every_check else ["--only", ",".join(sorted(expected))]
                code, statuses, findings = self.check(ALTERED, *only, alter=alter)
                self.assertEqual(self.named(statuses, "FAIL", "crash", "timeout"), expected, findings)
                self.assertEqual(code, 1)
                self.assertTrue(all(findings[name] for name in expected))


class SeveralOutputs(WithPlugins):
    CASE = ("--case", "fused_add_rms_norm/f32/rows=3,n=8/fill=normal/seed=0")
    FEW = () if FULL else ("--only", "outputs,in-place,changed-inputs,execute-twice")  # each check is a process

    def two_outputs(self, *words, offers="ok", alias=None):
        self.env.update(ASSAY_OFFERS_ONLY=offers, **({"ASSAY_TAKES_ANY_ALIAS": "1"} if alias else {}))
        code, statuses, findings = self.check(TWO_OUTPUTS, *self.CASE, *words)
        self.assertLessEqual(self.named(statuses, "skip"), OPTIONAL | {"execute-batch", "plan-info"}, findings)
        return code, self.named(statuses, "FAIL", "crash", "timeout"), findings

    def test_a_plugin_with_two_keeps_every_rule(self):
        code, failed, findings = self.two_outputs()
        self.assertEqual((code, failed), (0, set()), findings)
        self.assertIn("1 of them with several outputs", findings["outputs"])

    def test_an_output_that_is_never_written_is_found(self):
        code, failed, findings = self.two_outputs(*self.FEW, offers="unwritten_first")
        self.assertEqual((code, failed), (1, {"outputs"}), findings)
        self.assertIn("does not write y", findings["outputs"])

    def test_an_output_in_any_input_is_found(self):
        code, failed, findings = self.two_outputs(*self.FEW, alias=True)
        self.assertEqual((code, failed), (1, {"in-place"}), findings)

    def test_the_host_keeps_every_rule_with_several(self):
        cpu = next(plugin for plugin in REAL if plugin.endswith("libassay_cpu.so"))
        for case in ("layer_norm_backward/f32/rows=3,n=8/fill=normal/seed=0", self.CASE[1],
                     "layer_norm/f32/rows=3,n=8,stats=1/fill=normal/seed=0")[:3 if FULL else 1]:
            code, statuses, findings = self.check(cpu, "--case", case)
            self.assertEqual((code, self.named(statuses, "FAIL", "crash", "timeout")), (0, set()), findings)


class EveryCheck(WithPlugins):
    def test_nothing_but_the_broken_rule_is_found(self):
        self.find_broken_rules(every_check=True)


class RealPlugins(WithPlugins):
    names = [pathlib.Path(plugin).name for plugin in REAL]
    OF_HOST = ("libassay_cpu.so",)

    def test_the_one_of_the_host_keeps_every_rule(self):
        self.assertIn("libassay_cpu.so", self.names)
        self.keep_every_rule(self.OF_HOST)

    @only_full
    def test_the_others_keep_every_rule(self):
        self.keep_every_rule(set(self.names).difference(self.OF_HOST))

    def test_the_others_keep_the_rules_of_their_buffers_and_results(self):
        """Each check loads a driver anew, which takes most of the time, and the kernels of other operators have to be compiled."""
        for name, plugin in zip(self.names, REAL):
            if name not in self.OF_HOST:
                with self.subTest(name):
                    only = "loads,describe,buffer-range,execute-twice,changed-inputs,in-place" + ",leaks" * (name == "libassay_onednn.so")
                    case = [] if name == "libassay_onednn.so" else ["--case", "softmax/f32/shape=2x128x128/fill=normal/seed=0"]
                    code, _, findings = self.check(plugin, "--only", only, *case)
                    self.assertEqual(code, 0, findings)

    def keep_every_rule(self, names):
        for name, plugin in zip(self.names, REAL):
            if name not in names:
                continue
            with self.subTest(name):
                # PoCL 3.1 keeps some 100 bytes of every context and program that a program opens and gives back without
                # any plugin. That this backend gives every object back is tested in opencl_test.py.
                skipped = ["--skip", "leaks"] if name == "libassay_opencl.so" else []
                code, statuses, findings = self.check(plugin, *skipped)
                self.assertEqual(self.named(statuses, "FAIL", "crash", "timeout"), set(), findings)
                if statuses["devices"] == "ok":  # else there is none here, and what needs one is skipped
                    self.assertLessEqual(self.named(statuses, "skip"), OPTIONAL, findings)
                if name == "libassay_cpu.so":
                    self.assertEqual(self.named(statuses, "skip"), set(), findings)
                    self.assertIn("right: softmax", findings["in-place"])
                self.assertEqual(code, 0)


class Ends(WithPlugins):
    def test_a_crash_or_hang_is_a_finding_and_the_other_checks_run(self):
        for alter, (check, outcome) in CRASHING.items():
            with self.subTest(alter):
                # Each check that executes would wait for a hang anew.
                only = [] if FULL else ["--only", f"loads,buffer-range,plan-unknown,destroy-null,{check}"]
                code, statuses, findings = self.check(ALTERED, "--timeout", "1", *only, alter=alter)
                ended = [name for name, status in statuses.items() if status in ("crash", "timeout")]
                self.assertEqual((ended[:1], statuses[check]), ([check], outcome), findings)
                self.assertIn("SIG" if outcome == "crash" else "1 s", findings[check])
                self.assertIn(f"--only {check}", findings[check])
                self.assertEqual((statuses["loads"], statuses["buffer-range"], statuses["plan-unknown"]),
                                 ("ok", "ok", "ok"))
                self.assertEqual(code, 3)

    def test_too_short_a_time_is_a_timeout_of_the_check_and_not_of_the_sandbox(self):
        code, statuses, findings = self.check(ALTERED, "--timeout", "0.001", "--only", "execute-twice", alter="hangs")
        self.assertEqual((code, statuses), (3, {"execute-twice": "timeout"}), findings)
        self.assertIn("check did not end within 0.001 s", findings["execute-twice"])

    def test_no_check_at_all_is_no_success(self):
        done = self.run_assay(ALTERED, "--only", "loads", "--skip", "loads")
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("--only and --skip leave no check", done.stderr)

    def test_a_process_that_does_not_end_is_found(self):
        code, statuses, findings = self.check(ALTERED, "--timeout", "2", "--only", "unload", alter="hangs-at-exit")
        self.assertEqual((code, statuses), (1, {"unload": "FAIL"}))
        self.assertIn("did not end within 1 s", findings["unload"])


class CheckPlugin(WithPlugins):
    def test_the_example_keeps_every_rule_with_and_without_what_it_may_lack(self):
        lacks = {"execute-batch", "plan-info", "capabilities"}
        code, statuses, findings = self.check(ALTERED)
        self.assertEqual((code, self.named(statuses, "skip")), (0, lacks), findings)
        code, statuses, findings = self.check(ALTERED, alter="complete")
        self.assertEqual((code, self.named(statuses, "skip")), (0, set()), findings)

    def test_each_broken_rule_is_found_by_its_name(self):
        self.find_broken_rules(every_check=False)

    def test_ok_without_a_list_is_said_of_every_check_that_needs_one(self):
        code, statuses, findings = self.check(ALTERED, "--only", "implementations,buffer-range", alter="no-list")
        self.assertEqual((code, statuses["implementations"], statuses["buffer-range"]), (1, "FAIL", "ok"))
        self.assertIn("ASSAY_OK and no list", findings["implementations"])

    def test_other_symbols_are_named(self):
        code, statuses, findings = self.check(EXPORTING)
        self.assertEqual((code, self.named(statuses, "FAIL")), (1, {"exports"}))
        self.assertIn("helper_of_the_plugin", findings["exports"])

    def test_what_is_no_plugin(self):
        code, statuses, findings = self.check(NO_ENTRY)
        self.assertEqual((code, statuses["loads"], statuses["entry-symbol"]), (1, "ok", "FAIL"))
        self.assertEqual(findings["describe"], "needs entry-symbol")
        code, statuses, findings = self.check(OTHER_MAJOR)
        self.assertIn("assay_backend_v2", findings["entry-symbol"])
        code, statuses, findings = self.check(BEFORE_1_0)
        self.assertEqual((code, statuses["abi-version"], statuses["describe"]), (1, "FAIL", "skip"))
        self.assertIn("from before ABI 1.0", findings["abi-version"])
        self.assertIn("execute_timed became execute_batch", findings["abi-version"])
        text = self.dir / "text.so"
        text.write_text("not a library")
        code, statuses, findings = self.check(str(text))
        self.assertEqual((code, self.named(statuses, "FAIL")), (1, {"loads"}))
        self.assertEqual(self.named(statuses, "ok"), set())
        self.assertIn("no ELF header", findings["loads"])

    def test_without_a_device_the_reason_is_told_and_the_rest_is_skipped(self):
        code, statuses, findings = self.check(ALTERED, alter="no-device")
        self.assertEqual((code, self.named(statuses, "FAIL", "crash", "timeout")), (0, set()), findings)
        self.assertIn("install its driver", findings["devices"])
        self.assertEqual(statuses["leaks"], "skip")

    def test_usage(self):
        for words, text in (((), "name the plugin"), (("/nowhere/x.so",), "/nowhere/x.so"),
                            ((ALTERED, "--skip", "nothing"), "nothing"),
                            ((ALTERED, "--only", "everything"), "everything"),
                            ((ALTERED, "--case", "matmul/f33/-/fill=normal/seed=0"), "f33")):
            done = self.run_assay(*words)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn(text, done.stderr)

    def test_a_case_of_the_users_and_single_checks(self):
        code, statuses, findings = self.check(ALTERED, "--case", "softmax/f32/shape=4x4/fill=normal/seed=0", "--only", "plans")
        self.assertEqual((code, statuses), (0, {"plans": "skip"}))
        self.assertIn("--case", findings["plans"])
        code, statuses, _ = self.check(ALTERED, "--only", "plans,leaks")
        self.assertEqual((code, statuses), (0, {"plans": "ok", "leaks": "ok"}))
        code, statuses, _ = self.check(ALTERED, "--skip", "leaks", alter="leaks-heap")
        self.assertEqual((code, statuses.get("leaks"), statuses["plans"]), (0, None, "ok"))
        done = self.run_assay("--only", "plans,loads", ALTERED)  # in the order in which people type
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        listed = self.run_assay("--list").stdout
        for name in BROKEN.values():
            for check in name:
                self.assertIn(check, listed)
        text = self.run_assay(ALTERED, "--only", "describe", alter="bad-name").stdout
        self.assertRegex(text, r"(?m)^FAIL +describe +describe: 'Vendor Inc.' is not a valid name")
        self.assertIn("1 failed", text)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], GROUP], verbosity=2)
