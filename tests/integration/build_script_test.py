#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Progress that scripts/build.sh prints while it builds, what scripts/run.sh runs, and what scripts/test.sh makes of tests
that fail: build_script_test.py CLASS, with a ninja that waits to be let on, and a ctest whose tests fail as they are told."""
import os
import pathlib
import pty
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"
# A dry run has work to do; a build stops within its second step until the file `go` exists, then does what it holds. It
# ends where a test has failed and its folder is gone.
NINJA = """#!/bin/sh
for word; do [ "$word" != -n ] || { echo "[1/4] CXX a.o"; exit 0; }; done
echo "[1/4] CXX a.o"; echo "[2/4] CXX b.o"
until [ -s "$0.go" ]; do sleep 0.05; [ -e "$0" ] || exit 1; done
. "$0.go"
"""
UP_TO_DATE = """#!/bin/sh
for word; do case $word in -n) dry=1 ;; */build/release/build.ninja) named=1 ;; esac; done
if [ -z "$dry" ] || [ -n "$named" ]; then echo "ninja: no work to do."
else echo "[0/2] Re-checking globbed directories..."; echo "[1/2] Re-running CMake..."; fi
"""
# Both clean up when they are interrupted, and fail.
INTERRUPTED = """#!/bin/sh
trap 'exit 1' INT
for word; do [ "$word" != -n ] || exit 0; done
touch "$0.began"
while [ -e "$0" ]; do sleep 0.05; done
"""


# `alone` has the exit code of what failed when it is run once more.
CTEST = """#!/bin/sh
list=build/release/Testing/Temporary/LastTestsFailed.log
case "$*" in *--rerun-failed*) code=$(cat "$0.alone"); [ "$code" != 0 ] || rm "$list"; exit "$code" ;; esac
cp "$0.fails" "$list"
exit 8
"""


class Scripts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "scripts").mkdir()
        (self.root / "bin").mkdir()
        (self.root / "build/release").mkdir(parents=True)
        (self.root / "build/release/build.ninja").touch()
        for name in ("build.sh", "run.sh", "test.sh", "deps.sh", "deps-debian.txt"):
            shutil.copy(SCRIPTS / name, self.root / "scripts")
        ninja = self.root / "bin/ninja"
        ninja.write_text(NINJA)
        ninja.chmod(0o755)
        self.go = self.root / "bin/ninja.go"
        self.env = {**os.environ, "PATH": f"{self.root}/bin:{os.environ['PATH']}", "ASSAY_SKIP_DEPS": "1"}


class BuildScript(Scripts):
    def start(self, stderr, **env):
        build = subprocess.Popen([self.root / "scripts/build.sh", "release", "product"], env={**self.env, **env},
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=stderr)
        self.addCleanup(build.stdout.close)
        self.addCleanup(build.kill)
        return build

    # `text` appears that many times while the build still goes on.
    def await_text(self, fd, text, times=1):
        seen = b""
        while seen.count(text) < times:
            ready = select.select([fd], [], [], 120)[0]
            part = os.read(fd, 4096) if ready else b""
            self.assertNotEqual(part, b"", f"{text} is missing in {seen}")
            seen += part
        return seen

    def let_on(self, script):
        draft = self.go.with_suffix(".draft")
        draft.write_text(script)
        draft.rename(self.go)

    def test_a_line_each_few_seconds_where_there_is_no_terminal(self):
        build = self.start(subprocess.PIPE, ASSAY_PROGRESS_S="1")
        self.addCleanup(build.stderr.close)
        seen = self.await_text(build.stderr.fileno(), b"assay: building (release), 2 of 4 steps, ", times=2)
        self.assertNotIn(b"\r", seen)
        self.let_on('echo "[4/4] LINK c"')
        self.assertEqual(build.wait(60), 0)
        self.assertEqual(build.stdout.read(), b"")
        self.assertIn("[4/4] LINK c", (self.root / "build/release.log").read_text())

    def test_a_line_rewritten_in_place_on_a_terminal(self):
        terminal, side = pty.openpty()
        self.addCleanup(os.close, terminal)
        build = self.start(side)
        os.close(side)
        self.await_text(terminal, b"\rassay: building (release), 2 of 4 steps, ", times=2)
        self.let_on(":")
        self.await_text(terminal, b" " * 60 + b"\r")  # wiped out
        self.assertEqual(build.wait(60), 0)

    def test_nothing_but_the_start_of_a_build_that_is_soon_done(self):
        self.let_on(":")
        build = self.start(subprocess.PIPE)
        stderr = build.communicate(timeout=60)[1]
        self.assertEqual((build.returncode, stderr), (0, b"assay: building (release), some minutes the first time\n"))

    # A dry run of build.ninja as CMake writes it where it globs: it goes no further than that unless it has another name.
    def test_nothing_at_all_where_nothing_is_to_be_built(self):
        ninja = self.root / "bin/ninja"
        ninja.write_text(UP_TO_DATE)
        build = self.start(subprocess.PIPE)
        stderr = build.communicate(timeout=60)[1]
        self.assertEqual((build.returncode, stderr), (0, b""))

    def test_a_build_folder_of_somebody_else(self):
        user = {}
        if os.geteuid() == 0:
            self.root.chmod(0o755)
            user = {"user": 65534}
        for path in ("build/release", "build"):
            (self.root / path).chmod(0o555)
            self.addCleanup((self.root / path).chmod, 0o755)
        done = subprocess.run([self.root / "scripts/build.sh", "release", "product"], env=self.env, capture_output=True,
                              text=True, stdin=subprocess.DEVNULL, timeout=60, **user)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stderr, r"^assay: \S+/build belongs to \S+ and cannot be written here; build as ")
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    def test_a_failure_shows_the_end_of_the_log(self):
        self.let_on('echo "b.cc:7: error: no such thing"; exit 1')
        build = self.start(subprocess.PIPE)
        stderr = build.communicate(timeout=60)[1]
        self.assertEqual(build.returncode, 1)
        self.assertIn(b"b.cc:7: error: no such thing\nassay: the build failed, see above and build/release.log\n", stderr)

    # Ctrl-C reaches all that a terminal runs.
    def interrupt(self, name):
        program = self.root / "bin" / name
        program.write_text(INTERRUPTED)
        program.chmod(0o755)
        build = subprocess.Popen([self.root / "scripts/build.sh", "release", "product"], env=self.env,
                                 stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True,
                                 preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        self.addCleanup(build.kill)
        end = time.monotonic() + 60
        while not program.with_suffix(".began").exists():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)
        os.killpg(build.pid, signal.SIGINT)
        stderr = build.communicate(timeout=60)[1].decode()
        self.assertEqual(build.returncode, 130, stderr)
        self.assertIn("assay: interrupted\n", stderr)
        self.assertNotIn("failed", stderr)

    def test_a_build_that_is_interrupted_has_not_failed(self):
        self.interrupt("ninja")

    def test_a_configuration_that_is_interrupted_has_not_failed(self):
        (self.root / "build/release/build.ninja").unlink()
        self.interrupt("cmake")

    def test_its_end_leaves_nothing_behind(self):
        build = self.start(subprocess.PIPE, ASSAY_PROGRESS_S="1000")
        self.await_text(build.stderr.fileno(), b"some minutes")
        build.terminate()
        self.let_on(":")  # ninja ends with its own work, as it was not asked
        build.communicate(timeout=60)  # which waits for all that hold the pipe
        self.assertNotEqual(build.returncode, 0)


class RunScript(Scripts):
    def run_script(self, *arguments, code=0):
        self.go.write_text("exit 0\n")
        program = self.root / "build/release/bin/assay"
        program.parent.mkdir()
        program.write_text(f'#!/bin/sh\necho "$@"; exit {code}\n')
        program.chmod(0o755)
        done = subprocess.run([self.root / "scripts/run.sh", *arguments], env=self.env, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout, done.stderr.splitlines()

    def test_the_first_run_is_a_thin_suite_and_says_how_to_go_on(self):
        out, err = self.run_script(code=1)  # what fails does not keep the hint back
        self.assertEqual(out, "run --suite first\n")
        program = f"{self.root}/build/release/bin/assay"
        self.assertRegex(err[-2], f"^  {program} run +# the suite default, ")
        self.assertRegex(err[-1], f"^  {program} run --suite full +# ")

    def test_arguments_select_what_runs(self):
        out, err = self.run_script("--suite", "smoke")
        self.assertEqual(out, "run --suite smoke\n")
        self.assertNotIn("suite", "".join(err))


class TestScript(Scripts):
    def run_tests(self, fails, alone):
        self.go.write_text("exit 0\n")
        (self.root / "build/release/CMakeCache.txt").touch()
        (self.root / "build/release/Testing/Temporary").mkdir(parents=True)
        ctest = self.root / "bin/ctest"
        ctest.write_text(CTEST)
        ctest.chmod(0o755)
        (self.root / "bin/ctest.fails").write_text("".join(f"{i}:a.Test{i}\n" for i in range(fails)))
        (self.root / "bin/ctest.alone").write_text(str(alone))
        return subprocess.run([self.root / "scripts/test.sh", "-R", "a"], env=self.env, capture_output=True, text=True, timeout=60)

    def test_what_fails_beside_others_and_passes_alone_is_named_and_no_failure(self):
        done = self.run_tests(fails=2, alone=0)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("failed beside others, and passed alone:\n  release: a.Test0\n  release: a.Test1\n", done.stderr)

    def test_what_fails_twice_fails(self):
        done = self.run_tests(fails=1, alone=8)
        self.assertEqual(done.returncode, 8)
        self.assertIn("tests failed; run one again with ctest --preset PRESET -R NAME:\n  release: a.Test0\n", done.stderr)

    def test_many_failures_are_no_matter_of_others(self):
        self.assertEqual(self.run_tests(fails=6, alone=0).returncode, 8)

    def test_the_sanitized_build_begins_while_tests_run(self):
        """Tests of the release build wait for it."""
        (self.root / "build/asan").mkdir()
        (self.root / "build/asan/build.ninja").touch()
        for name, text in (("ninja", 'case "$*" in *build/asan*) touch "$0.asan" ;; esac\n'),
                           ("ctest", 'until [ -e "${0%/*}/ninja.asan" ]; do sleep 0.05; done\n')):
            (self.root / "bin" / name).write_text("#!/bin/sh\n" + text)
            (self.root / "bin" / name).chmod(0o755)
        done = subprocess.run([self.root / "scripts/test.sh"], env=self.env, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
