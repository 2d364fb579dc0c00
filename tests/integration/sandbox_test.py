#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Attempts that sandboxed workers must not succeed in, on real runs: sandbox_test.py ASSAY HOSTILE_PLUGIN GROUP.

Each attempt of hostile_attempts.c fails, its result is right and the run completes; without the sandbox the same attempt
succeeds, so that the test would see it. On a kernel without Landlock those that it alone stops are left out, and the run
has to say what is missing. Class Partial has the kernel refuse Landlock.
"""
import ctypes
import json
import os
import pathlib
import resource
import shutil
import signal
import struct
import subprocess
import sys
import time
import unittest

from own_folder import OwnFolder

ASSAY, PLUGIN = sys.argv[1:3]
CASE = "matmul/f32/m=17,n=9,k=64/fill=normal/seed=0"


def is_alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def without_landlock():
    """For the process and what it starts, the kernel has no Landlock (ENOSYS): a filter of four instructions."""
    enosys, allow, landlock_create_ruleset = 0x50000 | 38, 0x7FFF0000, 444
    program = b"".join(struct.pack("HBBI", *line) for line in (
        (0x20, 0, 0, 0), (0x15, 0, 1, landlock_create_ruleset), (0x06, 0, 0, enosys), (0x06, 0, 0, allow)))
    lines = ctypes.create_string_buffer(program)
    filter_ = struct.pack("HxxxxxxQ", 4, ctypes.addressof(lines))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, filter_, 0, 0):  # no_new_privs, a filter of system calls
        raise OSError(ctypes.get_errno(), "seccomp")


class Sandbox(OwnFolder):
    def setUp(self):
        super().setUp()
        for name in ("home", "tmp", "granted", "theirs"):
            (self.dir / name).mkdir()
        (self.dir / "home/diary").write_text("mine")
        (self.dir / "theirs/data").write_text("theirs")
        self.env.update(HOME=str(self.dir / "home"), TMPDIR=str(self.dir / "tmp"), XDG_CACHE_HOME=str(self.dir / "cache"),
                        ASSAY_TEST_API_KEY="secret", USER_OWN_VARIABLE="1")

    def assay(self, *words, env=None, **more):
        return subprocess.run([ASSAY, *words], cwd=self.dir, env={**self.env, **(env or {})}, capture_output=True, text=True,
                              timeout=240, **more)

    def attempt(self, name, *words, out=None, env=None, plugin=PLUGIN, **more):
        out = out or name
        files = [str(self.dir / p)[1:] for p in ("store", out, "home/diary", "theirs/data", "theirs")]
        files += [str(f)[1:] for f in sorted((self.dir / "store").rglob("*.safetensors"))]
        done = self.assay("run", "--out", out, "--progress", "none", "--no-perf", "--timeout", "20", "--relations", "none",
                          "--case", CASE, "--plugin", str(plugin), "--backend", "misbehaving", "--impl", "attempt", *words,
                          env={"ASSAY_TEST_ATTEMPT": name, "ASSAY_TEST_FILES": ":".join(files), **(env or {})}, **more)
        path = self.dir / out / "results.jsonl"
        records = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        return done, records

    def all_fail(self, names, **more):
        """One process makes all attempts; where one of them succeeds, a process each tells which."""
        done, records = self.attempt(",".join(names), out="all", **more)
        if (done.returncode, [r["verdict"] for r in records]) == (0, ["pass"]):
            return
        for name in names:
            with self.subTest(name):
                alone, records = self.attempt(name, **more)
                self.assertEqual((alone.returncode, [r["verdict"] for r in records]), (0, ["pass"]), alone.stdout + alone.stderr)
        self.fail(done.stdout + done.stderr)

    def verdict(self, *args, **kwargs):
        done, records = self.attempt(*args, **kwargs)
        self.assertEqual(len(records), 1, done.stdout + done.stderr)
        return records[0]["verdict"]

    def has_landlock(self):
        listed = json.loads(self.assay("backends", "--json", "--plugin", PLUGIN, "--backend", "misbehaving").stdout)
        return "no Landlock" not in listed[0]["sandbox"]

    def no_folder_is_left(self):
        self.assertEqual(list((self.dir / "tmp").iterdir()), [])


class Attempts(Sandbox):
    # Stopped by what every kernel has, and by Landlock alone.
    ALWAYS = ("may_signal", "trace_host", "read_memory", "read_environment", "limit_host", "read_variables", "change_modes",
              "change_times", "change_open_file", "watch_files", "find_home", "use_network", "use_netlink", "make_datagrams",
              "serve_socket", "enter_namespace")
    LANDLOCK = ("read_files", "write_files", "read_command_line")

    def test_each_fails_and_the_run_goes_on(self):
        self.assay("run", "--out", "first", "--no-perf", "--case", CASE, "--backend", "cpu")  # fills the store
        self.assertTrue(list((self.dir / "store").rglob("*.safetensors")))
        self.all_fail((*self.ALWAYS, *(self.LANDLOCK if self.has_landlock() else ())))
        self.no_folder_is_left()
        self.assertEqual(list((self.dir / "store").rglob("planted")), [])

    def test_without_the_sandbox_each_succeeds(self):
        self.assay("run", "--out", "first", "--no-perf", "--case", CASE, "--backend", "cpu")
        for name in (*self.ALWAYS, *self.LANDLOCK):
            if name in ("use_network", "enter_namespace", "trace_host", "read_memory", "read_environment"):
                continue  # a container may forbid them as well
            with self.subTest(name):
                done, records = self.attempt(name, "--no-sandbox")
                self.assertEqual([r["verdict"] for r in records], ["mismatch"], done.stdout + done.stderr)

    def test_signals_that_would_end_or_freeze_the_run_do_not_arrive(self):
        self.all_fail(("stop_host", "kill_host", "kill_supervisor", "signal_by_pipe"))


class Protocol(Sandbox):
    def test_frames_that_nobody_asked_for_end_the_worker_and_not_the_run(self):
        for name, text in (("nest_deeply", "nested deeper than 32"), ("forge_answer", "writes to the host's socket")):
            with self.subTest(name):
                done, records = self.attempt(name, "--impl", "attempt,ok")
                by_name = {r["implementation"]: r for r in records}
                self.assertEqual(by_name["ok"]["verdict"], "pass", done.stderr)
                self.assertIn(by_name["attempt"]["verdict"], ("error", "flaky", "crash"))
                self.assertIn(text, by_name["attempt"]["reason"])
                self.assertIn(done.returncode, (1, 3))


class Endings(Sandbox):
    def daemon(self, *words, **more):
        file = self.dir / "granted/pid"
        file.unlink(missing_ok=True)
        done, records = self.attempt("leave_daemon", "--grant", "granted", *words, out=f"out{len(words)}",
                                     env={"ASSAY_TEST_DAEMON_FILE": str(file)}, **more)
        self.assertEqual([r["verdict"] for r in records], ["pass"], done.stdout + done.stderr)
        return int(file.read_text())

    def test_a_daemon_ends_with_its_worker(self):
        for words in ((), ("--no-sandbox",)):
            with self.subTest(words):
                self.assertFalse(is_alive(self.daemon(*words)))
        self.no_folder_is_left()

    def test_folders_that_no_path_is_long_enough_for_are_removed(self):
        few = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))  # fewer descriptors than folders
        done, records = self.attempt("leave_deep_folders", preexec_fn=few)
        self.assertEqual([r["verdict"] for r in records], ["pass"], done.stdout + done.stderr)
        self.no_folder_is_left()

    def test_when_the_run_is_killed_nothing_of_a_worker_is_left(self):
        file = self.dir / "granted/pid"
        words = [ASSAY, "run", "--out", "out", "--progress", "none", "--no-perf", "--case", CASE, "--plugin", PLUGIN,
                 "--jobs", "1", "--backend", "misbehaving", "--impl", "attempt", "--grant", "granted"]
        env = {**self.env, "ASSAY_TEST_ATTEMPT": "leave_daemon_and_hang", "ASSAY_TEST_DAEMON_FILE": str(file)}
        with subprocess.Popen(words, cwd=self.dir, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:
            for _ in range(1200):
                if file.exists() and file.read_text().endswith("\n"):
                    break
                time.sleep(0.05)
            self.assertTrue(is_alive(int(file.read_text())))
            run.send_signal(signal.SIGKILL)
        for _ in range(400):
            if not is_alive(int(file.read_text())) and not list((self.dir / "tmp").iterdir()):
                break
            time.sleep(0.05)
        self.assertFalse(is_alive(int(file.read_text())))
        self.no_folder_is_left()

    def test_a_worker_that_ends_by_a_limit_says_which(self):
        for name, limit, text in (("fill_file", "file=1M", "at most 1M bytes (--worker-limit file=1M)"),
                                  ("fill_memory", "memory=1G", "at most 1G bytes of memory (--worker-limit memory=1G)")):
            with self.subTest(name):
                done, records = self.attempt(name, "--worker-limit", limit)
                self.assertEqual([r["verdict"] for r in records], ["crash"], done.stdout + done.stderr)
                self.assertIn(text, records[0]["reason"])
                self.assertIn(f"--worker-limit {limit}", records[0]["reproduce"])
        self.no_folder_is_left()

    @unittest.skipIf(os.geteuid() == 0, "the kernel does not count the processes of root")
    def test_processes_are_limited(self):
        done, records = self.attempt("start_processes", "--worker-limit", "processes=50")
        self.assertEqual([r["verdict"] for r in records], ["crash"], done.stdout + done.stderr)
        self.assertIn("--worker-limit processes=50", records[0]["reason"])


class Options(Sandbox):
    def test_the_sandbox_is_recorded(self):
        for words, wanted in (((), ("full", "partial")), (("--no-sandbox",), ("off",))):
            done, records = self.attempt("enter_namespace", *words, out=f"out{len(words)}")
            out = self.dir / f"out{len(words)}"
            said = json.loads((out / "environment.json").read_text())["sandbox"]
            self.assertIn(said.split(":")[0], wanted)
            self.assertEqual(records[0]["sandbox"], said.split(":")[0])
            for text in (done.stdout, (out / "summary.md").read_text(), (out / "report.html").read_text()):
                self.assertEqual("The sandbox of workers is" in text, said != "full")
            self.assertEqual("--no-sandbox" in records[0]["reproduce"], bool(words))

    def test_variables_and_folders_are_opened_one_by_one(self):
        self.assertEqual(self.verdict("read_variables"), "pass")
        self.assertEqual(self.verdict("read_variables", "--pass-env", "USER_OWN_VARIABLE", out="passed"), "mismatch")
        done, _ = self.attempt("read_variables", "--pass-env", "USER_OWN_VARIABLE", "--pass-env", "NOT_SET", out="unset")
        self.assertIn("--pass-env: not set in the environment: NOT_SET; workers do not see it", done.stderr)
        done, _ = self.attempt("read_variables", "--pass-env", "USER_OWN_VARIABLE=2", out="with-value")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("--pass-env 'USER_OWN_VARIABLE=2': give the name of a variable only", done.stderr)
        if not self.has_landlock():
            self.skipTest("this kernel has no Landlock")
        self.assertEqual(self.verdict("read_files", "--grant", "granted", out="other"), "pass")
        self.assertEqual(self.verdict("read_files", "--grant", "theirs", out="granted-one"), "mismatch")

    def test_what_is_hidden_stays_so_within_what_is_granted(self):
        if not self.has_landlock():
            self.skipTest("this kernel has no Landlock")
        self.assay("run", "--out", "first", "--no-perf", "--case", CASE, "--backend", "cpu")
        store = [str(f)[1:] for f in (self.dir / "store").rglob("*")]
        files = ":".join([str(self.dir / "store")[1:], str(self.dir / "out")[1:], *store])
        _, records = self.attempt("read_files", "--grant", ".", out="out", env={"ASSAY_TEST_FILES": files})
        self.assertEqual([r["verdict"] for r in records], ["pass"])

    def test_of_a_plugins_folder_it_sees_itself_alone(self):
        if not self.has_landlock():
            self.skipTest("this kernel has no Landlock")
        own = self.dir / "vendor"
        (own / "night").mkdir(parents=True)
        plugin = pathlib.Path(shutil.copy(PLUGIN, own))
        secrets = [own / name for name in ("seed", "night.assay.tar.zst", "night/results.jsonl")]
        for file in (*secrets, own / "kernels.bin"):
            file.write_text("0123456789abcdef0123456789abcdef\n")
        for files, words, wanted in (((*secrets, own / "kernels.bin", own), (), "pass"),
                                     (secrets, ("--grant", "vendor"), "pass"),
                                     ([own / "kernels.bin"], ("--grant", "vendor"), "mismatch")):
            listed = ":".join(str(f)[1:] for f in files)
            done, records = self.attempt("read_files", *words, "--evidence", "1", "--evidence-seed", str(own / "seed"),
                                         plugin=plugin, out=f"out{len(listed)}{len(words)}",
                                         env={"ASSAY_TEST_FILES": listed})
            self.assertEqual([r["verdict"] for r in records], [wanted], f"{words}: {done.stdout}{done.stderr}")

    def test_bundles_and_runs_stay_hidden_in_any_folder_that_is_granted(self):
        if not self.has_landlock():
            self.skipTest("this kernel has no Landlock")
        (self.dir / "data/night").mkdir(parents=True)
        answers = [self.dir / "data" / name for name in ("night.assay.tar.zst", "night/results.jsonl")]
        for file in (*answers, self.dir / "data/weights"):
            file.write_text("0123456789abcdef")
        for files, wanted in ((answers, "pass"), ([self.dir / "data/weights"], "mismatch")):
            listed = ":".join(str(f)[1:] for f in files)
            self.assertEqual(self.verdict("read_files", "--grant", "data", out=f"out-{wanted}", env={"ASSAY_TEST_FILES": listed}), wanted)

    def test_what_is_hidden_cannot_be_granted(self):
        (self.dir / "seed").write_text("0123456789abcdef0123456789abcdef\n")
        (self.dir / "old/failures").mkdir(parents=True)
        for name in ("old/results.jsonl", "old/plan.json", "night.assay.tar.zst", "out"):
            (self.dir / name).write_text("answers") if name != "out" else (self.dir / name).mkdir()
        (self.dir / "link").symlink_to("seed")
        (self.dir / "hard").hardlink_to(self.dir / "seed")
        evidence = ("--evidence", "1", "--evidence-seed", "seed")
        for path in ("seed", "link", "hard", "./seed", str(self.dir / "seed"), "out", "old", "old/failures", "night.assay.tar.zst", "store"):
            (self.dir / "store").mkdir(exist_ok=True)
            done, records = self.attempt("read_files", "--grant", path, *evidence, out="out")
            self.assertEqual((done.returncode, records), (2, []), path)
            self.assertIn(f"--grant {path}: workers may not see it, since it holds answers or the secret of --evidence-seed", done.stderr)
        done, _ = self.attempt("read_files", "--grant", ".", *evidence, out="out", env={"ASSAY_TEST_FILES": str(self.dir / "seed")[1:]})
        self.assertIn("--grant .: it contains something hidden from workers", done.stderr)
        done, _ = self.attempt("read_files", "--grant", "granted", out="out2")
        self.assertNotIn("hidden from workers", done.stderr)

    def test_a_slip_is_refused(self):
        for words, text in ((("--worker-limit", "memory=lots"), "'lots' is not an amount"),
                            (("--worker-limit", "speed=1"), "'speed=1' is not a limit"),
                            (("--grant", "nowhere"), "--grant nowhere: no file or folder of this name")):
            done = self.assay("run", "--out", "out", "--case", CASE, "--backend", "cpu", *words)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(text, done.stderr)


class Partial(Sandbox):
    """On a kernel without Landlock."""

    def test_what_is_missing_is_said_once_and_recorded(self):
        done, records = self.attempt("enter_namespace", preexec_fn=without_landlock)
        self.assertEqual([(r["verdict"], r["sandbox"]) for r in records], [("pass", "partial")], done.stderr)
        self.assertEqual(done.stderr.count("no Landlock"), 1, done.stderr)
        self.assertIn("no Landlock", json.loads((self.dir / "enter_namespace/environment.json").read_text())["sandbox"])
        listed = self.assay("backends", "--plugin", PLUGIN, preexec_fn=without_landlock)
        self.assertEqual(listed.stderr.count("no Landlock"), 1, listed.stderr)

    def test_other_processes_are_out_of_reach_all_the_same(self):
        self.all_fail(("stop_host", "kill_host", "kill_supervisor", "signal_by_pipe", *Attempts.ALWAYS), preexec_fn=without_landlock)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
