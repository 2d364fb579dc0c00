#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every kind of bad input gets its exit code and a message that names it: cli_test.py and the arguments of
program.py."""
import fcntl
import json
import os
import pathlib
import pty
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import termios
import unittest

from dumped_tensors import write_npy
from own_folder import rule
from program import ASSAY, CASE, Cli, NO_ENTRY, OTHER_MAJOR, PLUGIN


class BadInput(Cli):
    def test_selection(self):
        self.fails(2, "names all", "run", "--case", "matmull/f32/m=1,n=1,k=1/fill=normal/seed=0")
        self.fails(2, "f33", "run", "--case", "matmul/f33/m=1,n=1,k=1/fill=normal/seed=0")
        self.fails(2, "depth", "run", "--case", "matmul/f32/m=1,n=1,k=1,depth=2/fill=normal/seed=0")
        self.fails(2, "flat", "run", "--case", "matmul/f32/m=1,n=1,k=1/fill=flat/seed=0")
        self.fails(2, "no-such-suite", "run", "--suite", "no-such-suite")
        self.fails(2, "--op conw", "run", "--suite", "smoke", "--op", "conw")
        self.fails(4, "--filter", "list", "cases", "--suite", "smoke", "--filter", "zzz*")
        self.fails(4, "--filter", "run", "--suite", "smoke", "--filter", "zzz*")
        self.fails(2, "shard", "run", "--suite", "smoke", "--shard", "4/4")
        self.fails(2, "--frobnicate", "run", "--frobnicate")
        self.fails(2, "not expected: --one f32 --two", "run", "--one", "f32", "--two")
        for verb in ("passport", "certify", "runn"):
            with self.subTest(verb):
                self.assertEqual(self.fails(2, f"no verb '{verb}'; known: run, check, judge, conform, ", verb).stdout, "")
                self.fails(2, f"no verb '{verb}'", verb, "out", "--json")
        self.fails(2, "subcommand is required; see assay --help")
        self.assertNotIn("worker", self.fails(2, "known", "runn").stderr)
        self.fails(2, "acc", "run", "--case", CASE, "--contract", "acc=f99")

    def test_a_current_folder_that_is_gone(self):
        gone = self.dir / "gone"
        gone.mkdir()
        done = subprocess.run(["sh", "-c", f"cd '{gone}' && rmdir '{gone}' && exec '{ASSAY}' list ops"], env=self.env,
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("the current folder cannot be used: No such file or directory; change to another one", done.stderr)

    def test_the_version_says_the_revision_of_the_sources(self):
        self.assertRegex(self.assay("--version").stdout, r"^assay \d+\.\d+\.\d+( \([0-9a-z.-]*[0-9a-f]{7,40}(-dirty)?\))?\n$")

    def test_list_ops_takes_names_and_shows_types(self):
        listed = self.assay("list", "ops", "matmul", "softmax", "--verbose").stdout
        self.assertEqual([line.split()[0] for line in listed.splitlines() if line[0] != " "], ["matmul", "softmax"])
        self.assertRegex(listed, r"\n  types        f32, bf16, f16, f64, bf16-bf16-f32, f16-f16-f32, i8-i8-i32\n")
        listed = self.assay("list", "ops", "cast", "sub", "--verbose").stdout  # also those that no generated case has
        self.assertRegex(listed, r"\n  types .* i32-i8, .* bool-f32, .*\n")
        self.assertRegex(listed, r"\n  types        f32, bf16, f16, f64, i8, u8, i16, i32, i64\n")
        listed = self.assay("list", "ops", "stft", "layer_norm", "--verbose").stdout  # any hop is taken, and a flag is 0 or 1
        self.assertRegex(listed, r"\n  hop .* such as 1\|3 ")
        self.assertRegex(listed, r"\n  stats .* one of 0\|1 ")
        self.fails(2, "matmull", "list", "ops", "matmull")
        listed = self.assay("list", "ops", "softmax", "--op", "matmul,conv").stdout
        self.assertEqual(sorted(line.split()[0] for line in listed.splitlines()), ["conv", "matmul", "softmax"])

    def test_list_ops_as_a_table_of_operators_types_and_devices(self):
        table = self.assay("list", "ops", "--markdown", "--backend", "cpu", "top_k", "where").stdout.splitlines()
        self.assertEqual(table[0], "| operator | types | cpu |")
        self.assertEqual([line.split(" | ")[0] for line in table[2:]], ["| top_k", "| where", "| 2 operators"])
        self.assertEqual(table[3], "| where | bool | all |")
        self.assertEqual(table[4].split("|")[3].strip(), "2")

    def test_list_cases_takes_names_of_operators(self):
        by_option = self.assay("list", "cases", "--suite", "smoke", "--op", "matmul,softmax").stdout
        self.assertEqual(self.assay("list", "cases", "matmul", "softmax", "--suite", "smoke").stdout, by_option)
        self.assertEqual(self.assay("list", "cases", "matmul", "--op", "softmax", "--suite", "smoke").stdout, by_option)
        self.assertIn("softmax/", by_option)
        self.fails(2, "for the suite 'smoke' give --suite smoke", "list", "cases", "smoke")
        self.fails(2, f"for the case '{CASE}' give --case {CASE}", "list", "cases", CASE)
        self.fails(2, "matmull: unknown operator", "list", "cases", "matmull")

    def test_json_takes_no_file(self):
        for words in (("backends",), ("check-plugin", PLUGIN), ("golden", "list")):
            self.fails(2, "--json takes no file: it prints to standard output, so end the command with `> x.json`", *words,
                       "--json", "x.json")

    def test_names_of_variables_are_names(self):
        for name, text in (("A,B,", "--pass-env 'A,B,': it takes one name; give --pass-env A --pass-env B"),
                           (PLUGIN, f"--pass-env '{PLUGIN}': it is not the name of a variable; give one"), ("1A", "--pass-env '1A': it is not the name"),
                           ("A=1", "--pass-env 'A=1': give the name of a variable only")):
            self.fails(2, text, "check-plugin", "--pass-env", name)
            self.fails(2, text, "run", "--case", CASE, "--pass-env", name)
        said = "--pass-env: not set in the environment: NOT_SET; workers do not see it"
        for words in (("check-plugin", PLUGIN, "--only", "loads"), ("backends", "--plugin", PLUGIN)):
            done = self.assay(*words, "--pass-env", "NOT_SET", "--pass-env", "IS_SET", env={"IS_SET": "1"})
            self.assertEqual(done.stderr.count(said), 1, done.stderr)

    def test_one_is_no_plural(self):
        self.run_cases("--case", CASE, "--backend", "cpu", "--impl", "naive", "--no-perf", "--evidence", "1")
        self.assertEqual(self.assay("bundle", "out").returncode, 0)
        said = [self.assay("verify", "run.assay.tar.zst"), self.assay("inputs", "--case", CASE, "--out", "inputs"),
                self.assay("golden", "list"), self.assay("check-plugin", PLUGIN, "--only", "loads")]
        text = "".join(done.stdout + done.stderr for done in said)
        self.assertIn("1 check: ", text)
        self.assertIn("sample: 1 result drawn by", text)
        found = re.findall(r"(?<!of )(?<![\d.,])1 (?:[a-z]+ )?(?:result|case|file|record|check|golden value|operator)s\b", text)
        self.assertEqual(found, [], text)

    def test_an_option_that_may_be_repeated_leaves_the_file_behind_its_value(self):
        env = {"MY_SWITCH": "1"}
        done = self.assay("check-plugin", "--pass-env", "MY_SWITCH", PLUGIN, "--only", "entry", env=env)
        self.assertNotIn("name the plugin's .so file", done.stderr)
        self.assertNotIn("--pass-env", done.stderr)
        self.fails(2, f"not expected: {CASE}", "run", "--case", CASE, CASE)

    def test_a_small_stack_is_room_enough(self):
        for verb in (("list", "ops", "--verbose"), ("run", "--case", CASE, "--backend", "cpu", "--no-perf", "--out", "small")):
            done = self.assay(*verb, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_STACK, (65536, 65536)))
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_names_that_do_not_exist_are_refused_with_those_that_do(self):
        run = ("run", "--case", CASE, "--out", "o")
        self.fails(2, "--impl nowhere: no backend offers this implementation for these cases; they offer "
                      "cpu: blocked, naive, splitk", *run, "--backend", "cpu", "--impl", "nowhere,naive")
        self.fails(2, "did you mean 'naive'?", *run, "--backend", "cpu", "--impl", "naiv")
        self.fails(2, "--impl winograd-2x2-3x3: ", *run, "--backend", "cpu", "--impl", "winograd-2x2-3x3")
        self.fails(2, "--backend nowhere: there is no such backend; found: cpu", *run, "--backend", "nowhere")
        self.fails(2, "--op nowhere: unknown operator; assay list ops names all", *run, "--op", "nowhere")
        self.fails(2, "unknown dtype 'f33'; known: f64, f32", *run, "--dtype", "f33")
        self.fails(2, "did you mean 'f16'?", *run, "--dtype", "float16")
        self.fails(2, "did you mean 'softmax' with log=1?", *run, "--op", "torch.log_softmax")
        check = ("check", "--op", "softmax", "--input", "x=x.npy", "--output", "x.npy")
        write_npy(self.dir / "x.npy", "f4", (2, 2), [0.5] * 4)
        self.fails(2, "did you mean 'axis'?", *check, "--attr", "dim=1")
        self.fails(2, "did you mean 'bf16'?", *check, "--dtype", "x=bfloat16")
        self.fails(2, "--impl", "backends", "--impl", "naive")
        self.assertFalse((self.dir / "o").exists())
        # A backend that cannot answer now may know the name: a note, and the run goes on.
        done, records = self.run_cases("--case", CASE, "--plugin", PLUGIN, "--impl", "ok,naive", "--no-perf",
                                       env={"ASSAY_MISBEHAVE": "crash_on_load"})
        self.assertIn("--impl ok: no backend offers", done.stderr)
        self.assertIn("naive", [r["implementation"] for r in records])

    def test_an_illegal_case_is_refused_with_the_key_its_value_and_the_rule(self):
        for case, text in (
                ("matmul/f32/m=-8,n=8,k=8", "m=-8 must not be negative"),
                ("reduce/f32/shape=4x0,axes=1,kind=max", "rows without elements, and nothing is the max of none"),
                ("matmul/f32/m=8,n=8", "matmul needs k=, an integer"),
                ("matmul/f32/m=8,n=8,k=8,depth=2", "no key 'depth'; it takes m n k"),
                ("attention/f32/b=1,h=3,hkv=2,l=4,d=4", "hkv=2 does not divide h=3"),
                ("conv/f32/n=1,c=3,o=4,i=3x3,k=5x5", "k=5 of axis 0 spans 5 elements, but i=3 with pad=0 has 3"),
                ("matmul/f32/m=1000000,n=1000000,k=4", "need about 1.96e+05 GB")):
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

    def test_an_empty_text_is_no_value(self):
        for words in (("run", "--suite"), ("run", "--case"), ("run", "--shard"), ("run", "--trace"), ("run", "--filter"),
                      ("run", "--contract"), ("run", "--require-backend"), ("run", "--sweep"), ("compare", "a", "b", "--policy"),
                      ("compare", "a", "b", "--markdown"), ("golden", "verify", "--manifest"), ("golden", "gc", "--store"),
                      ("check", "--write-golden"), ("report",)):
            with self.subTest(words):
                self.fails(2, "the text is empty; is it a variable that is not set?", *words, "")

    def test_a_program_without_its_folder_share_says_so(self):
        program = self.dir / "alone" / "bin" / "assay"
        program.parent.mkdir(parents=True)
        shutil.copy2(ASSAY, program)
        missing = "there is no folder {}/alone/share/assay/{}; install or unpack the program as a whole, with its folder share"

        def alone(code, *args):
            done = subprocess.run([program, *args], cwd=self.dir, env=self.env, capture_output=True, text=True, timeout=120)
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)
            return done.stderr
        suites = missing.format(self.dir, "suites")
        self.assertIn(f"there is no suite 'smoke': this program finds no suites at all: {suites}", alone(2, "run", "--suite", "smoke"))
        self.assertIn(f"this program finds no suites: {suites}", alone(4, "list", "suites"))
        run = ("run", "--case", CASE, "--plugin", PLUGIN, "--impl", "ok", "--no-perf", "--progress", "none", "--out")
        self.assertIn("known failures count as failures, since no list of them was found: "
                      + missing.format(self.dir, "expectations"), alone(0, *run, "first"))
        self.assertNotIn("known failures", alone(0, *run, "second", "--expectations", "none"))

    def test_threads_in_the_environment_are_a_number(self):
        for text in ("abc", "0", "-2", "1.5", "100000"):
            self.fails(2, f"ASSAY_THREADS in the environment: '{text}' is ", "list", "ops", env={"ASSAY_THREADS": text})
        for text in ("3", ""):
            self.assertEqual(self.assay("list", "ops", env={"ASSAY_THREADS": text}).returncode, 0)

    def test_a_folder_is_no_file(self):
        (self.dir / "folder").mkdir()
        run = ("run", "--case", CASE, "--backend", "cpu", "--impl", "naive", "--no-perf")
        self.fails(2, "cannot read the expectations file folder: Is a directory", *run, "--expectations", "folder")
        self.run_cases(*run[1:])
        self.fails(2, "cannot read the policy file folder: Is a directory", "compare", "out", "out", "--policy", "folder")
        self.assertFalse((self.dir / "out/failures").exists())
        for name, code in (("environment.json", 0), ("offers.jsonl", 0), ("plan.json", 2), ("results.jsonl", 2)):
            (self.dir / "out" / name).unlink()
            (self.dir / "out" / name).mkdir()
            for words in (("report", "out"), ("compare", "out", "out")):
                done = self.assay(*words)
                self.assertEqual(done.returncode, code, (name, words, done.stderr))
                self.assertNotIn("internal error", done.stderr)
                self.assertEqual(f"out/{name}: " in done.stderr, name != "environment.json", done.stderr)

    def test_a_pipe_is_as_good_as_a_file(self):
        line = '"$0" run --case "$1" --backend cpu --impl naive --no-perf --expectations <(echo "$2")'
        done = subprocess.run(["bash", "-c", line, ASSAY, CASE, rule("cpu", case="matmul/*")], cwd=self.dir, env=self.env, capture_output=True, text=True,
                              timeout=120)
        self.assertEqual(done.returncode, 1, done.stderr)  # it passes, which was not expected
        self.assertIn("unexpected_pass", done.stdout)

    def test_a_random_seed_is_another_one_each_time_and_in_every_id(self):
        seeds = set()
        for _ in range(3):
            ids = self.assay("list", "cases", "--suite", "smoke", "--seed", "random").stdout.split()
            own = {i.rsplit("/seed=", 1)[1] for i in ids}
            self.assertEqual(len(own), 1, own)
            seeds |= own
        self.assertGreater(len(seeds), 1)  # three draws of 1e9 are equal once in 1e18
        self.fails(2, "'rndom' is not a number", "list", "cases", "--seed", "rndom")

    def test_list_names_what_it_lists(self):
        self.fails(2, "list takes one of ops, cases, suites, profiles; ", "list")
        self.fails(2, "list takes one of ops, cases, suites, profiles, not 'foo'; ", "list", "foo")
        self.fails(2, "bar", "list", "ops", "bar")
        self.fails(2, "--op foo: unknown operator; assay list ops names all", "list", "ops", "--op", "foo")

    def test_a_selection_without_cases_says_what_was_asked(self):
        done = self.fails(4, "none of the ", "list", "cases", "--suite", "smoke", "--op", "matmul", "--dtype", "c64")
        self.assertRegex(done.stderr, r"none of the \d+ cases of suite smoke matches --op 'matmul' --dtype 'c64'; ")
        self.assertNotIn("--filter", done.stderr)
        self.assertNotIn("has cases of", done.stderr)
        self.fails(4, "the only case of --case does not match --op 'fft'; ", "run", "--case", CASE, "--op", "fft")
        self.fails(4, "; suite first has cases of top_k", "list", "cases", "--suite", "smoke", "--op", "top_k")
        empty = self.dir / "empty.suite"
        empty.write_text("# nothing\n")
        self.fails(4, f"there is no case in suite {empty}: ", "run", "--suite", str(empty), "--filter", "a*")

    def test_an_oversized_case_is_an_error_of_that_case_alone(self):
        suite = self.dir / "large.suite"
        suite.write_text("matmul dtypes=f32 {m,n}={1000000,1000000}|{4,4} k=4\n")
        done, records = self.run_cases("--suite", str(suite), "--backend", "cpu", "--no-perf")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertEqual([r["verdict"] for r in records][:2], ["error", "pass"])
        self.assertIn("1.96e+05 GB", records[0]["reason"])
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
            self.assertIn("out/report.html: cannot be written: File too large; once it can be written, ", done.stderr)
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
        done = self.fails(2, "contains another run", "run", "--case", CASE, "--out", "out")
        self.assertIn("One that assay run left unfinished is continued by its command and --resume", done.stderr)
        self.assertEqual((self.dir / "out/results.jsonl").read_bytes(), before)
        (self.dir / "file").write_text("")
        self.fails(2, "output folder", "run", "--case", CASE, "--out", "file/below")

    def test_plugins(self):
        self.fails(2, "/nowhere/lib.so", "run", "--case", CASE, "--plugin", "/nowhere/lib.so")
        text = self.dir / "notes.so"
        text.write_text("no library\n")
        cpu = pathlib.Path(ASSAY).parents[1] / "lib/assay/plugins/libassay_cpu.so"  # the drivers of others take long to load
        for file, problem in ((text, "is not a shared library"), (NO_ENTRY, "does not export assay_backend_v1"),
                              (OTHER_MAJOR, "exports assay_backend_v2"), (self.dir, "is a folder")):
            for words, env in ((("--plugin", f"mine={file}", "--backend", "cpu"), {}),
                               ((), {"ASSAY_PLUGIN_FILES": str(cpu), "ASSAY_ADD_PLUGIN_FILES": str(file)})):
                with self.subTest(file=file, words=words):
                    done = self.fails(2, problem, "run", "--case", CASE, "--out", "o", *words, env=env)
                    self.assertIn(str(file), done.stderr)
                    self.assertIn("plugin from --plugin" if words else "plugin from ASSAY_ADD_PLUGIN_FILES", done.stderr)
                    self.assertIn("name the", done.stderr)  # what to do
                    self.assertFalse((self.dir / "o").exists())  # before anything ran
        for verb in (("run", "--case", CASE, "--plugin"), ("check-plugin",)):
            self.fails(2, "is a folder; name the .so file itself", *verb, ".")
            self.fails(2, "/dev/null is not a regular file; name the .so file itself", *verb, "/dev/null")
        self.fails(4, "no backend plugin", "run", "--case", CASE, env={"ASSAY_PLUGIN_FILES": ""})
        self.fails(2, "no such backend", "run", "--case", CASE, "--backend", "cuda13")
        for how, problem in (("bad_name", "Mis Behaving"), ("null_function", "query"), ("crash_on_load", "SIGSEGV")):
            done = self.fails(2, "cannot be used: ", "run", "--case", CASE, "--plugin", str(PLUGIN), "--backend", "vendor",
                              env={"ASSAY_MISBEHAVE": how})
            self.assertIn(problem, done.stderr)

    def test_required_backends(self):
        done, records = self.run_cases("--case", CASE, "--require-backend", "cpu,onedn", "--no-perf")
        self.assertEqual((done.returncode, records), (5, []))  # before anything runs
        absent = "required and absent: onedn (there is no such backend; found: cpu"
        self.assertIn(absent, done.stderr)
        self.assertIn("did you mean 'onednn'?", done.stderr)
        self.fails(5, absent, "report", "out")
        for name in ("summary.md", "report.html"):
            self.assertIn("Nothing ran. Required and absent: onedn", (self.dir / "out" / name).read_text())
        self.assertIn('errors="1"', (self.dir / "out/junit.xml").read_text())
        self.fails(2, "nothing ran: " + absent, "compare", "out", "out")
        self.fails(5, "quantum", "backends", "--require-backend", "quantum")
        none = {"ASSAY_PLUGIN_FILES": ""}
        self.fails(5, "quantum", "run", "--case", CASE, "--require-backend", "quantum", env=none)
        # A backend that --backend leaves out does not count as absent.
        done, records = self.run_cases("--case", CASE, "--plugin", PLUGIN, "--backend", "cpu", "--require-backend",
                                       "misbehaving", "--no-perf", out="b")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual({r["backend"] for r in records}, {"cpu"})
        self.assertEqual(self.assay("backends", "--plugin", PLUGIN, "--backend", "cpu", "--require-backend",
                                    "misbehaving").returncode, 0)

    def test_two_plugins_of_one_name_are_told_apart_by_the_user(self):
        other = self.dir / "other.so"
        shutil.copy(PLUGIN, other)
        run = ("--case", CASE, "--plugin", PLUGIN, "--no-perf", "--impl", "ok", "--backend", "misbehaving")
        done = self.fails(2, "two plugins have the name 'misbehaving': ", "run", *run, "--plugin", str(other), "--out", "o")
        self.assertIn(f"give one of them a name of its own: --plugin misbehaving-2={other}", done.stderr)
        self.assertFalse((self.dir / "o").exists())
        self.assertEqual(self.assay("backends", "--plugin", PLUGIN, "--plugin", str(other)).returncode, 0)
        done, records = self.run_cases(*run, "--plugin", f"misbehaving={PLUGIN}", out="own-name")  # one file, one backend
        self.assertEqual([r["backend"] for r in records], ["misbehaving"], done.stderr)
        done, records = self.run_cases(*run[:-1], "misbehaving,misbehaving-2", "--plugin", f"misbehaving-2={other}")
        self.assertEqual({r["backend"] for r in records}, {"misbehaving", "misbehaving-2"}, done.stderr)
        for record in records:
            self.assertIn(f"--plugin {other if record['backend'].endswith('2') else PLUGIN}",
                          record["reproduce"].replace("misbehaving-2=", ""))

    def test_a_mistyped_name_is_answered_with_the_one_that_is_near(self):
        for words, meant in ((("run", "--siute", "smoke"), "--suite"), (("run", "--op=conv", "--dtpye=f32"), "--dtype"),
                             (("golden", "build", "--shrad", "0/2"), "--shard"), (("rnu",), "run"),
                             (("golden", "bulid"), "build"), (("list", "suits"), "suites"),
                             (("run", "--suite", "somke"), "smoke"), (("run", "--op", "matmull"), "matmul"),
                             (("run", "--case", CASE.replace("matmul", "matmlu")), "matmul"),
                             (("check", "--op", "sofmax", "--input", "x=x.npy", "--output", "y.npy"), "softmax"),
                             (("run", "--case", CASE, "--backend", "onedn"), "onednn")):
            with self.subTest(words):
                self.fails(2, f"; did you mean '{meant}'?", *words)
        self.assertNotIn("did you mean", self.fails(2, "--frobnicate", "run", "--frobnicate").stderr)

    def test_help_shows_what_people_use_and_help_all_the_rest(self):
        verbs, short, whole = (self.assay(*words).stdout for words in (("--help",), ("run", "--help"), ("run", "--help-all")))
        self.assertEqual(re.findall(r"^(\w+):\n", verbs, re.M), ["Options", "Judge", "Investigate", "Look", "Exchange", "Maintain"])
        options = [re.findall(r"^  (?:-\w,)?(--[\w-]+)", text, re.M) for text in (short, whole)]
        self.assertTrue(20 <= len(options[0]) <= 30 and len(options[0]) + 20 < len(options[1]), options)
        self.assertEqual([name for name in options[1] if name in options[0]], options[0])
        self.assertLessEqual({"--suite", "--plugin", "--kernels", "--resume", "--help-all"}, set(options[0]))
        self.assertLessEqual({"--sweep", "--grant", "--evidence"}, set(options[1]) - set(options[0]))
        self.assertNotIn("(further)", whole)

    def test_help_fits_the_terminal(self):
        for verb in ((), ("run",), ("golden", "list"), ("compare",)):
            text = self.assay(*verb, "--help").stdout
            self.assertGreater(len(text.splitlines()), 5)
            self.assertEqual([line for line in text.splitlines() if len(line) > 80], [], verb)
        wide = max(map(len, self.on_terminal(120, "run", "--help").splitlines()))
        self.assertTrue(80 < wide <= 120, wide)

    def on_terminal(self, columns, *args):
        terminal, side = pty.openpty()
        fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        process = subprocess.Popen([ASSAY, *args], cwd=self.dir, env=self.env, stdout=side)
        os.close(side)
        text = b""
        try:
            while part := os.read(terminal, 4096):
                text += part
        except OSError:  # its other side is closed
            pass
        os.close(terminal)
        self.assertEqual(process.wait(60), 0)
        return text.decode()

    def test_everything_unsupported_is_4(self):
        case = "matmul/e4m3-e4m3-f32/m=4,n=4,k=4/fill=normal/seed=0"
        done, records = self.run_cases("--case", case, "--no-perf")
        self.assertEqual({r["verdict"] for r in records} - {"unavailable"}, {"unsupported"})
        self.assertTrue(all(r["reason"] for r in records))
        self.assertEqual(done.returncode, 4)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[5:], verbosity=2)
