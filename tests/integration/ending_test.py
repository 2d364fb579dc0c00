#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How runs end, and what their reports say afterwards: ending_test.py ASSAY MISBEHAVING_PLUGIN NO_ENTRY OTHER_MAJOR.

Interrupted and killed runs, output that nobody takes, folders that hold something else, records that were damaged or
made elsewhere.
"""
import json
import os
import pathlib
import pty
import shutil
import signal
import subprocess
import sys
import time
import unittest
import xml.etree.ElementTree

from own_folder import rule
from program import ASSAY, CASE, Cli, PLUGIN

OTHER_CASE = "matmul/f32/m=5,n=3,k=7/fill=normal/seed=0"
HANGING = ("--case", CASE, "--case", OTHER_CASE, "--plugin", PLUGIN, "--backend", "misbehaving", "--impl", "ok,hang",
           "--no-perf", "--progress", "none", "--jobs", "1")


def is_alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def children_of(host):
    found = []
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[1]) == host:
            found.append(int(stat.parent.name))
    return found


class Base(Cli):
    def start(self, *args, out="out", prepare=None):
        return subprocess.Popen([ASSAY, "run", *args, "--out", out], cwd=self.dir, env=self.env, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=prepare)

    def text(self, name, out="out"):
        return (self.dir / out / name).read_text()

    def everywhere(self, text, stdout):
        """It stands on the console and in every report."""
        self.assertIn(text, stdout)
        for name in ("summary.md", "junit.xml", "report.html"):
            self.assertIn(text, self.text(name), name)


class Ending(Base):
    def junit(self):
        cases = xml.etree.ElementTree.parse(self.dir / "out/junit.xml").getroot().findall("testsuite/testcase")
        return sorted((c.get("name"), c.get("classname"), *(e.get("type") for e in c.findall("error"))) for c in cases)

    def test_a_signal_ends_the_run_with_reports_that_name_what_is_missing(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number):
                shutil.rmtree(self.dir / "out", ignore_errors=True)
                process = self.start(*HANGING, "--timeout", "300")
                self.await_text(self.dir / "out/results.jsonl")
                workers = children_of(process.pid)
                self.assertTrue(workers)
                process.send_signal(number)
                if number == signal.SIGHUP:  # of the shell that ends, and of the kernel after it
                    time.sleep(0.05)
                    process.send_signal(number)
                stdout, stderr = process.communicate(timeout=60)
                self.assertEqual(process.returncode, 130, stderr)
                # The hanging implementation was cut short: its result is missing.
                self.everywhere("incomplete: 1 of 2 planned cases have no record, 1 has a part of them", stdout)
                self.assertEqual(self.junit(), [(CASE, "misbehaving.hang", "missing"), (CASE, "misbehaving.ok"),
                                                (OTHER_CASE, "misbehaving", "missing")])
                self.assertEqual([pid for pid in workers if is_alive(pid)], [])
                before = {name: self.text(name) for name in ("summary.md", "junit.xml", "report.html")}
                again = self.assay("report", "out")
                self.assertEqual(again.returncode, 130, again.stderr)
                self.assertEqual(again.stdout.split("\nreport:")[0], stdout.split("\nrecords:")[0])
                self.assertEqual({name: self.text(name) for name in before}, before)

    def test_a_signal_while_a_plugin_hangs_at_load_ends_with_reports_too(self):
        self.env["ASSAY_MISBEHAVE"] = "hang_on_load"
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number):
                shutil.rmtree(self.dir / "out", ignore_errors=True)
                process = self.start("--case", CASE, "--plugin", f"hanging={PLUGIN}", "--backend", "cpu,hanging", "--no-perf",
                                     "--progress", "none")
                while not any(map(children_of, children_of(process.pid))):  # the supervisor's own child
                    time.sleep(0.05)
                time.sleep(0.3)
                process.send_signal(number)
                stdout, stderr = process.communicate(timeout=60)
                self.assertEqual(process.returncode, 130, stderr)
                self.everywhere("1 of 1 planned cases", stdout)
                self.assertIn("hanging", self.text("summary.md"))

    def test_a_run_under_nohup_outlives_its_terminal(self):
        process = self.start(*HANGING, "--timeout", "1", "--retries", "0", prepare=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        self.await_text(self.dir / "out/results.jsonl")
        process.send_signal(signal.SIGHUP)
        stdout, stderr = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 3, stderr)
        self.assertNotIn("incomplete", stdout)

    def test_a_killed_run_is_reported_as_what_it_is_and_leaves_no_worker(self):
        process = self.start(*HANGING, "--timeout", "60")
        self.await_text(self.dir / "out/results.jsonl")
        workers = children_of(process.pid)
        self.assertTrue(workers)
        process.kill()
        process.communicate(timeout=60)
        for _ in range(200):  # the worker hangs in a call: only the end of its host ends it
            if not any(map(is_alive, workers)):
                break
            time.sleep(0.05)
        self.assertEqual([pid for pid in workers if is_alive(pid)], [])
        done = self.assay("report", "out")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.everywhere("incomplete: 1 of 2 planned cases have no record, 1 has a part of them", done.stdout)
        self.assertEqual(self.junit(), [(CASE, "misbehaving.hang", "missing"), (CASE, "misbehaving.ok"),
                                        (OTHER_CASE, "misbehaving", "missing")])
        self.assertIn("| 1 | misbehaving:hang |", self.text("summary.md"))
        self.assertEqual(json.loads(self.text("benchmark.json"))["benchmarks"], [])

    # Groups of eight cases: that of the first failure comes to its end.
    def test_a_run_that_stops_at_a_failure_goes_on_where_it_stopped(self):
        wrong = [word for seed in range(24) for word in ("--case", CASE.replace("seed=0", f"seed={seed}"))]
        args = ("run", *wrong, "--plugin", PLUGIN, "--backend", "misbehaving", "--impl", "ok,drop_last_k", "--no-perf",
                "--progress", "none", "--out", "out")
        for option in (("--maxfail", "1"), ("--maxfail", "3")):
            done = self.assay(*args, *option)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("(--maxfail): what has not run is listed as missing", done.stderr)
            self.assertEqual(self.text("results.jsonl").count("\n"), 16)
            self.assertIn("The run was told to stop at", self.text("summary.md"))
            self.assertEqual(self.assay("report", "out").returncode, 1)
            more = self.assay(*args, "--resume", *option)
            self.assertEqual(more.returncode, 1, more.stderr)
            self.assertEqual(self.text("results.jsonl").count("\n"), 32)
            rest = self.assay(*args, "--resume")
            self.assertEqual(rest.returncode, 1, rest.stderr)
            self.assertNotIn("--maxfail", rest.stderr + self.text("summary.md"))
            self.assertEqual(self.text("results.jsonl").count("\n"), 48)
            shutil.rmtree(self.dir / "out")

    def test_a_torn_last_line_is_a_missing_result(self):
        self.run_cases("--case", CASE, "--backend", "cpu", "--impl", "naive,blocked", "--no-perf")
        path = self.dir / "out/results.jsonl"
        text = path.read_text()
        path.write_text(text[:-20])
        done = self.assay("report", "out")
        self.assertEqual(done.returncode, 3, done.stdout)
        self.assertIn(f"{path.relative_to(self.dir)}:2: the last line is torn", done.stderr)
        self.assertIn("1 missing, 1 pass", done.stdout)

    def test_what_ended_by_itself_is_complete(self):
        # onednn offers no implementation of this name: nothing of it was planned.
        done, _ = self.run_cases("--case", CASE, "--case", OTHER_CASE, "--impl", "naive", "--no-perf")
        self.assertEqual(done.returncode, 0, done.stderr)
        # A case that no backend saw has its record too.
        suite = self.dir / "large.suite"
        suite.write_text("matmul dtypes=f32 m=1000000 n=1000000 k=4\n")
        broken, records = self.run_cases("--suite", str(suite), "--no-perf", out="broken")
        self.assertEqual([r["verdict"] for r in records], ["error"])
        for out, code in (("out", 0), ("broken", 3)):
            again = self.assay("report", out)
            self.assertEqual((again.returncode, again.stderr), (code, ""))
            for text in (done.stdout, broken.stdout, again.stdout, self.text("summary.md", out)):
                self.assertNotIn("missing", text)
                self.assertNotIn("incomplete", text)

    def test_records_without_their_run_are_reported_alone(self):
        self.run_cases("--case", CASE, "--backend", "cpu", "--no-perf")
        (self.dir / "out/offers.jsonl").unlink()
        self.assertEqual(self.assay("report", "out").returncode, 0)
        (self.dir / "out/plan.json").unlink()
        done = self.assay("report", "out")
        self.assertEqual(done.returncode, 0)
        self.assertIn("no plan.json", done.stderr)

    def test_a_report_has_the_exit_code_of_its_run(self):
        rules = self.dir / "rules.toml"
        rules.write_text(rule("misbehaving", case="matmul/*"))
        for name, options, code in (("ok", (), 0), ("drop_last_k", (), 1), ("segfault", (), 3),
                                    ("ok", ("--strict",), 0),
                                    ("drop_last_k", ("--expectations", str(rules)), 0),
                                    ("segfault", ("--expectations", str(rules)), 3),
                                    ("write_after", ("--expectations", str(rules)), 1),
                                    ("change_input", ("--expectations", str(rules)), 1),
                                    ("ok", ("--expectations", str(rules)), 1)):
            with self.subTest(name=name, options=options):
                out = f"{name}{len(options)}"
                done, _ = self.run_cases("--case", CASE, "--plugin", PLUGIN, "--backend", "misbehaving", "--impl", name,
                                         "--no-perf", *options, out=out)
                self.assertEqual((done.returncode, self.assay("report", out).returncode), (code, code), done.stderr)

    def test_every_report_of_a_strict_run_says_what_fails_it(self):
        open_case = "reduce/bf16/shape=768x3072,axes=0+1,kind=l2/fill=normal/seed=0"  # a term less changes no bit
        for options, code in (((), 0), (("--strict",), 1)):
            out = f"strict{code}"
            done, records = self.run_cases("--case", open_case, "--backend", "cpu", "--no-perf", *options, out=out)
            self.assertIn("inconclusive", {r["verdict"] for r in records})
            again = self.assay("report", out)
            self.assertEqual((done.returncode, again.returncode), (code, code), done.stdout[-500:])
            for text in (done.stdout, again.stdout, *((self.dir / out / f).read_text() for f in ("summary.md", "report.html"))):
                self.assertEqual("The run is strict and fails by" in text, code == 1)
            self.assertEqual("<failure" in (self.dir / out / "junit.xml").read_text(), code == 1)

    def test_a_shard_without_cases_is_no_failure(self):
        codes = []
        for i in range(4):
            done, records = self.run_cases("--case", CASE, "--backend", "cpu", "--no-perf", "--shard", f"{i}/4", out=f"{i}")
            again = self.assay("report", f"{i}")
            codes.append((done.returncode, again.returncode, len(records) > 0))
            for name in ("plan.json", "environment.json", "summary.md", "junit.xml", "benchmark.json", "report.html"):
                self.assertGreater(len(self.text(name, f"{i}")), 0, name)
            self.assertTrue((self.dir / f"{i}/results.jsonl").exists())
            if not records:
                for stderr in (done.stderr, again.stderr):
                    self.assertEqual(stderr, f"assay: shard {i}/4 holds none of the 1 selected cases\n")
        self.assertEqual(sorted(codes), [(0, 0, False)] * 3 + [(0, 0, True)])
        self.assertIn("An empty shard exits with 0", " ".join(self.assay("run", "--help").stdout.split()))


class Output(Base):
    RUN = ("run", "--case", CASE, "--backend", "cpu", "--no-perf", "--progress", "none", "--out", "out")

    def piped(self, stdout, *args):
        shutil.rmtree(self.dir / "out", ignore_errors=True)
        done = subprocess.run([ASSAY, *args], cwd=self.dir, env=self.env, stdout=stdout, stderr=subprocess.PIPE, text=True,
                              timeout=120)
        self.assertNotIn("internal error", done.stderr)
        return done

    def check_files(self):
        self.assertEqual([json.loads(line)["outcome"] for line in self.text("results.jsonl").splitlines()], ["pass"] * 3)
        for name in ("summary.md", "junit.xml", "benchmark.json", "report.html"):
            self.assertGreater(len(self.text(name)), 0, name)

    def test_a_full_device_is_said_and_fails(self):
        for args in (self.RUN, ("report", "out"), ("list", "cases", "--suite", "default"), ("list", "suites"), ("backends",),
                     ("--help",), ("--version",)):
            with self.subTest(args), open("/dev/full", "w") as full:
                if args[0] == "report":
                    self.run_cases("--case", CASE, "--backend", "cpu", "--no-perf", out="kept")
                    args = ("report", "kept")
                done = self.piped(full, *args)
                self.assertEqual(done.returncode, 3, done.stderr)
                self.assertIn("cannot write to standard output: ", done.stderr)
                if args == self.RUN:
                    self.assertIn("No space left on device", done.stderr)
                    self.check_files()

    def test_a_reader_that_has_left_is_no_failure(self):
        for args in (self.RUN, ("list", "cases", "--suite", "default"), ("list", "suites"), ("--help",)):
            with self.subTest(args):
                reader, writer = os.pipe()
                os.close(reader)
                done = self.piped(writer, *args)
                os.close(writer)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                if args == self.RUN:
                    self.check_files()

    def test_the_exit_code_is_the_runs_when_the_reader_has_left(self):
        reader, writer = os.pipe()
        os.close(reader)
        done = self.piped(writer, "run", "--case", CASE, "--plugin", PLUGIN, "--backend", "misbehaving", "--impl",
                          "drop_last_k", "--no-perf", "--progress", "none", "--out", "out")
        os.close(writer)
        self.assertEqual((done.returncode, done.stderr), (1, ""))

    def on_terminal(self, *args, **env):
        """Output of the program on a terminal, standard output and standard error together; without NO_COLOR unless it
        is given."""
        master, slave = pty.openpty()
        process = subprocess.Popen([ASSAY, *args], cwd=self.dir, stdout=slave, stderr=slave,
                                   env={k: v for k, v in {**self.env, "NO_COLOR": None, **env}.items() if v is not None})
        os.close(slave)
        text = b""
        while True:
            try:
                part = os.read(master, 65536)
            except OSError:  # the other side is closed
                break
            text += part
        process.wait(timeout=60)
        os.close(master)
        return text.decode()

    def test_only_a_terminal_that_obeys_gets_colours_and_a_bar(self):
        shown = self.on_terminal(*self.RUN[:-4], "--out", "out", TERM="xterm")
        self.assertIn("\x1b[2K", shown)
        self.assertIn("\x1b[32m3 pass\x1b[0m", shown)
        for env in ({"TERM": "dumb"}, {"TERM": "xterm", "NO_COLOR": "1"}):
            with self.subTest(env):
                text = self.on_terminal("report", "out", **env)
                self.assertNotIn("\x1b", text)
                self.assertIn("3 pass", text)
        self.assertNotIn("\x1b", self.on_terminal(*self.RUN[:-4], "--out", "dumb", TERM="dumb"))  # nor a bar
        self.assertIn("\x1b[32m", self.on_terminal("report", "out", "--color", "always", TERM="dumb"))
        piped = subprocess.run([ASSAY, "report", "out"], cwd=self.dir, env={**self.env, "NO_COLOR": "", "TERM": "xterm"},
                               capture_output=True, text=True, timeout=60)
        self.assertNotIn("\x1b", piped.stdout)

    def test_closed_streams_take_no_part_of_the_records(self):
        for closed in (">&-", "2>&-", "<&- >&- 2>&-"):
            with self.subTest(closed):
                shutil.rmtree(self.dir / "out", ignore_errors=True)
                done = subprocess.run(["sh", "-c", f'exec "$@" {closed}', "sh", ASSAY, *self.RUN], cwd=self.dir,
                                      env=self.env, capture_output=True, text=True, timeout=120)
                self.assertEqual(done.returncode, 0 if closed == "2>&-" else 3, done.stderr)
                self.check_files()

    def unused_rule(self):
        """A file that gives rise to a message."""
        (self.dir / "unused.toml").write_text(rule("cpu", case="conv/*"))
        return "unused.toml"

    def test_messages_that_cannot_be_shown_are_left_out(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([ASSAY, *self.RUN, "--expectations", self.unused_rule()], cwd=self.dir, env=self.env,
                                  stdout=subprocess.PIPE, stderr=full, text=True, timeout=120)
        self.assertEqual(done.returncode, 0)
        self.check_files()


class Folder(Base):
    def test_a_folder_that_holds_something_else_is_refused(self):
        (self.dir / "home").mkdir()
        (self.dir / "home/thesis.txt").write_text("years")
        self.fails(2, "home is not empty (it has thesis.txt): give a new or an empty --out", "run", "--case", CASE, "--out",
                   "home")
        self.assertEqual([p.name for p in (self.dir / "home").iterdir()], ["thesis.txt"])
        (self.dir / "empty").mkdir()
        done, _ = self.run_cases("--case", CASE, "--backend", "cpu", "--no-perf", out="empty")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.fails(2, "empty contains another run", "run", "--case", CASE, "--out", "empty")

    def test_nobody_else_may_write_to_what_a_run_leaves(self):
        done = subprocess.run(f"umask 0; exec {ASSAY} run --case {CASE} --backend cpu --no-perf --out open", shell=True,
                              cwd=self.dir, env=self.env, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        for path in [self.dir / "open", *(self.dir / "open").rglob("*")]:
            self.assertEqual(path.stat().st_mode & 0o002, 0, path)

    def test_a_folder_that_was_exchanged_gets_nothing(self):
        run = subprocess.Popen([ASSAY, "run", "--case", CASE, "--backend", "cpu", "--no-perf", "--out", "mine", "--for", "5s",
                                "--progress", "none"], cwd=self.dir, env=self.env, text=True, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
        self.await_text(self.dir / "mine/results.jsonl")
        (self.dir / "mine").rename(self.dir / "moved")
        (self.dir / "theirs").mkdir()
        (self.dir / "mine").symlink_to("theirs")
        stdout, stderr = run.communicate(timeout=120)
        self.assertEqual(list((self.dir / "theirs").iterdir()), [])
        self.assertEqual(run.returncode, 3, stdout + stderr)
        self.assertIn("is no longer the folder in which this run began", stderr)

    def test_an_empty_name_is_refused(self):
        self.fails(2, "--out", "run", "--case", CASE, "--out", "")
        self.assertFalse((self.dir / "out").exists())

    def test_a_damaged_record_is_named_with_what_to_do(self):
        self.run_cases("--case", CASE, "--backend", "cpu", "--no-perf")
        path = self.dir / "out/results.jsonl"
        lines = path.read_text().splitlines()
        for damaged, text in (("{broken", "it is no JSON object"), ("[1]", "it is no JSON object"), ("{}", "it has no case_id"),
                              (lines[1].replace('"seed":0', '"seed":"none"'), "the value of 'seed' has another type")):
            with self.subTest(text):
                path.write_text("\n".join([lines[0], damaged, lines[2], ""]))
                done = self.fails(2, f"out/results.jsonl:2: not a record: {text}", "report", "out")
                self.assertIn("remove this line", done.stderr)
                self.assertNotIn("json.exception", done.stderr)
        path.write_text("\n".join(lines) + "\n")
        offers = self.dir / "out/offers.jsonl"
        offers.write_text("{}\n" + offers.read_text())
        (self.dir / "out/summary.md").unlink()
        done = self.assay("report", "out")  # whole records are worth their report
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("out/offers.jsonl:1: ", done.stderr)
        self.assertNotIn("json.exception", done.stderr)
        self.assertNotIn("missing", done.stdout)
        self.assertIn("3 pass", self.text("summary.md"))
        offers.unlink()
        (self.dir / "out/plan.json").write_text("{}")
        self.assertNotIn("json.exception", self.fails(2, "out/plan.json", "report", "out").stderr)

    def test_no_record_reaches_the_terminal_as_it_is(self):
        self.run_cases("--case", CASE, "--backend", "cpu", "--no-perf")
        path = self.dir / "out/results.jsonl"
        records = [json.loads(line) for line in path.read_text().splitlines()]
        for key in ("reason", "case_id", "backend", "device", "implementation", "op", "dtype", "reproduce", "outcome"):
            records[0][key] = f"{key}\x1b]0;owned\x07\x9b2J\u202e\r"
        path.write_text("".join(json.dumps(r) + "\n" for r in records))
        done = self.assay("report", "out")
        self.assertEqual(done.returncode, 3)
        for character in "\x1b\x07\x9b\u202e\r":
            self.assertNotIn(character, done.stdout)
        self.assertIn(r"reason\x1b]0;owned\x07\x9b2J\u202e\x0d", done.stdout)

    def test_the_lines_to_paste_work_where_they_say(self):
        shutil.copy2(PLUGIN, self.dir / "it's a plugin.so")
        (self.dir / "rules.toml").write_text(rule("*", case="fft/*"))
        _, records = self.run_cases("--case", CASE, "--plugin", "bad=it's a plugin.so", "--backend", "bad", "--impl",
                                    "drop_last_k", "--expectations", "rules.toml", "--no-perf")
        record = records[0]
        lines = self.text("reproduce.txt", f"out/{record['failure_dir']}").splitlines()
        checks = [line for line in lines if " check " in line]
        self.assertTrue(checks)
        folder = self.dir / "out" / record["failure_dir"]
        again = record["reproduce"] + f" --no-perf --out '{self.dir}/again'"
        for line, where in [(again, "/"), *((check, folder) for check in checks)]:
            done = subprocess.run(line, shell=True, cwd=where, env=self.env, capture_output=True, text=True, timeout=120)
            self.assertEqual(done.returncode, 1, line + done.stderr)
        same = json.loads(self.text("results.jsonl", "again"))
        self.assertEqual(same["output_hash"], record["output_hash"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[5:], verbosity=2)
