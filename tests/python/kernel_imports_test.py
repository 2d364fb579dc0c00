# SPDX-License-Identifier: Apache-2.0
"""Imports of kernels that take long, and exceptions from outside of them: kernel_imports_test.py ASSAY [CLASS]."""
import os
import sys
import textwrap
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

from kernels_test import CASE, Program

SIZES = [CASE.replace("257", str(n)) for n in (65, 130, 257, 300, 513, 700)]


class Imports(Program):
    def test_imports_that_are_waited_for(self):
        """Side by side, each in a folder of its own: they wait much longer than they compute."""
        def run(name):
            one = type(self)(name)
            try:
                one.setUp()
                getattr(one, name)()
            finally:
                one.doCleanups()
        with ThreadPoolExecutor() as pool:
            for done in [pool.submit(run, name) for name in dir(self) if name.startswith("wait_")]:
                done.result()

    def wait_a_slow_import_is_no_timeout_of_a_call(self):
        """This holds where a run begins and in the worker that follows one that has ended."""
        path = self.write("""
            import os, time
            time.sleep(1.3)
            @assay.kernel("exp", contract="f32acc", dtypes=["f32"])
            def right(x):
                return np.exp(x.astype(np.float64)).astype(x.dtype)
            @assay.kernel("exp", contract="f32acc", dtypes=["f32"])
            def leaves(x):
                os._exit(3)
        """)
        done, records = self.run_kernels(path, "--case", CASE, "--case", SIZES[0], "--no-perf", "--timeout", "1",
                                         "--relations", "none", "--retries", "0")
        found = {(r["implementation"], r["verdict"]) for r in records}
        self.assertEqual(found, {("right", "pass"), ("leaves", "crash")}, done.stdout + done.stderr)
        self.assertEqual(len(records), 4)

    def test_neighbours_are_found_in_a_project_with_its_environment_its_runs_and_much_else(self):
        """Folders that hold no modules are not looked through; a left-out one is named where an import fails for it."""
        self.write("def twice(x):\n    return x + x\n", name="helper.py")
        path = self.write("""
            import helper
            @assay.kernel("exp", contract="f32acc", dtypes=["f32"])
            def right(x):
                return np.exp(x.astype(np.float64)).astype(x.dtype)
        """)
        folders = [path.parent / name for name in ("venv", "data", ".git", "out/first")]
        for folder in folders:
            folder.mkdir(parents=True)
        (path.parent / "venv/pyvenv.cfg").touch()
        for i in range(20001):
            os.link(path.parent / "venv/pyvenv.cfg", f"{folders[1]}/{i}")  # takes no inode, as a file or a symbolic link does
        (path.parent / "out/first/results.jsonl").touch()
        (path.parent / "data/large.py").write_text("")
        done, records = self.run_kernels(path, "--case", CASE, "--no-perf")
        self.assertEqual([r["verdict"] for r in records], ["pass"], done.stdout + done.stderr)
        self.assertIn(f"all of {path.parent}/data, which has more than 20000 entries", done.stdout + done.stderr)
        path = self.write("from data import large\n")
        done, _ = self.run_kernels(path, "--case", CASE, "--no-perf", out="closed")
        self.assertEqual(done.returncode, 2)
        self.assertIn(f"data/large.py is there, but workers do not see it: open its folder with --grant {path.parent}/data", done.stderr)
        done, _ = self.run_kernels(path, "--case", CASE, "--no-perf", "--grant", str(path.parent / "data"), out="opened")
        self.assertNotIn("large", done.stderr)

    def test_a_module_in_a_folder_that_is_left_out_whole_is_named(self):
        self.write("", name="helper.py")
        path = self.write("import helper\n")
        done = self.assay("backends", "--kernels", str(path), "--python", sys.executable, HOME=str(path.parent))
        self.assertIn("ModuleNotFoundError: No module named 'helper'", done.stdout)
        self.assertIn(f"{path.parent}/helper.py is there, but workers do not see it: open its folder with --grant {path.parent}, or put "
                      "the kernels and what they import into a folder of their own", done.stdout)

    def test_a_module_in_the_folder_of_a_run_cannot_be_granted(self):
        path = self.write("import os, sys\nsys.path.append(os.path.join(os.path.dirname(__file__), 'night/more'))\nimport helper\n")
        (path.parent / "night/more").mkdir(parents=True)
        (path.parent / "night/results.jsonl").write_text("")
        (path.parent / "night/more/helper.py").write_text("")
        done, _ = self.run_kernels(path, "--case", CASE, "--no-perf")
        self.assertIn("night/more/helper.py is there, but lies in the folder of a run, which no worker may see: put the kernels", done.stderr)

    def test_results_above_the_kernels_are_a_run_with_their_plan_alone(self):
        """The advice that is given is one that --grant takes."""
        path = self.write("import os, sys\nsys.path.append(os.path.join(os.path.dirname(__file__), '../more'))\nimport helper\n")
        project = path.parent.parent
        (project / "more").mkdir()
        (project / "more/helper.py").write_text("")
        (project / "results.jsonl").write_text("")
        grant = ("--grant", str(project / "more"))
        done, _ = self.run_kernels(path, "--case", CASE, "--no-perf")
        self.assertIn(f"more/helper.py is there, but workers do not see it: open its folder with --grant {project}", done.stderr)
        done, _ = self.run_kernels(path, "--case", CASE, "--no-perf", *grant, out="opened")
        self.assertNotIn("helper", done.stderr)
        (project / "plan.json").write_text("")
        done, _ = self.run_kernels(path, "--case", CASE, "--no-perf", out="closed")
        self.assertIn("more/helper.py is there, but lies in the folder of a run, which no worker may see: put the kernels", done.stderr)
        done, _ = self.run_kernels(path, "--case", CASE, "--no-perf", *grant, out="refused")
        self.assertIn("--grant", done.stderr)

    def test_a_variable_that_is_read_in_vain_is_said_once(self):
        path = self.write("""
            import os
            SWITCH = os.environ.get("MY_OWN_SWITCH"), os.environ.get('MY_UNSET'), "MY_PART_OF_A_TEXT is none"
            @assay.kernel("exp", contract="f32acc", dtypes=["f32"])
            def right(x):
                return np.exp(x.astype(np.float64)).astype(x.dtype)
        """)
        env = {"MY_OWN_SWITCH": "1", "MY_PART_OF_A_TEXT": "1"}
        done, _ = self.run_kernels(path, "--case", CASE, "--no-perf", **env)
        text = "mine does not see the variable MY_OWN_SWITCH, which it names; --pass-env MY_OWN_SWITCH shows it"
        self.assertEqual((done.stdout + done.stderr).count(text), 1, done.stdout + done.stderr)
        done, _ = self.run_kernels(path, "--case", CASE, "--no-perf", "--pass-env", "MY_OWN_SWITCH", out="passed", **env)
        self.assertNotIn("MY_OWN_SWITCH, which", done.stdout + done.stderr)
        listed = self.assay("backends", "--kernels", str(path), "--python", sys.executable, "--backend", "mine", **env).stdout
        self.assertIn("it does not see the variable MY_OWN_SWITCH, which it names", listed)

    def wait_an_import_that_hangs_ends_a_run_before_its_first_case(self):
        path = self.write("import time\ntime.sleep(1000)  # for ever\n")
        done = self.assay("run", "--kernels", str(path), "--python", sys.executable, "--import-timeout", "2",
                          "--case", CASE, "--out", "refused")
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertRegex(done.stderr, rf"kernels from --kernels: importing {path} did not end within 2 s; "
                                      "import less in it, or allow more time with --import-timeout SECONDS")
        self.assertIn("mine.py is still imported; at mine.py:4 in <module>: time.sleep(1000)  # for ever", done.stderr)
        self.assertFalse((self.dir / "refused").exists())

    def test_one_that_crashes_does_too_and_says_on_which_line(self):
        self.write("import ctypes\ndef read():\n    return ctypes.string_at(1)\n", name="native.py")
        for text, how, place in (
                ("import os\nos.kill(os.getpid(), 11)\n", "SIGSEGV", r"at mine\.py:4 in <module>: os\.kill\(os\.getpid\(\), 11\)"),
                ("import os\n\nos.abort()  # here\n", "SIGABRT", r"at mine\.py:5 in <module>: os\.abort\(\)  # here"),
                ("def deep(n):\n    return native.read() if n == 0 else deep(n - 1)\nimport native\ndeep(300)\n", "SIGSEGV",
                 r"at [^;]*/ctypes/__init__\.py:\d+ in string_at; from \S+/native\.py:5 in read; "
                 r"from mine\.py:4 in deep: return native\.read\(\) if n == 0 else deep\(n - 1\)")):
            with self.subTest(place):
                path = self.write(text)
                done = self.assay("run", "--kernels", str(path), "--python", sys.executable, "--case", CASE, "--out", "refused")
                self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
                self.assertRegex(done.stderr, rf"kernels from --kernels: while importing {path}: the worker was killed by {how} "
                                         rf"\([A-Za-z ]+\) during describe; {place}; assay backends ")

    def test_a_candidate_whose_import_crashes_has_its_line_beside_what_it_printed(self):
        reference = self.write("""
            @assay.kernel("exp", contract="f32acc", dtypes=["f32"])
            def right(x):
                return np.exp(x.astype(np.float64)).astype(x.dtype)
        """, name="reference.py")
        path = self.write("import os, sys\nprint('the last word', file=sys.stderr, flush=True)\nos.abort()\n")
        done = self.assay("judge", str(path), "--against", str(reference), "--python", sys.executable, "--case", CASE)
        self.assertNotEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, rf"while importing {path}: .* at mine\.py:5 in <module>: os\.abort\(\); it printed: the "
                                      "last word")
        self.assertNotIn("Fatal Python error", done.stdout + done.stderr)

    def test_a_kernel_that_crashes_says_on_which_line(self):
        path = self.write("""
            import os
            @assay.kernel("exp", contract="f32acc", dtypes=["f32"])
            def mine(x):
                os.abort()
        """)
        done, [record] = self.run_kernels(path, "--case", CASE, "--no-perf", "--relations", "none", "--retries", "0")
        self.assertEqual(record["verdict"], "crash", done.stderr)
        self.assertRegex(record["reason"], r"SIGABRT .*during \w+; at mine\.py:7 in mine: os\.abort\(\)$")

    def crashed(self, body, **env):
        """The reason of a kernel that does this."""
        path = self.write('import ctypes, os, sys, threading\n@assay.kernel("exp", contract="f32acc", dtypes=["f32"])\n'
                          "def mine(x):\n" + textwrap.indent(textwrap.dedent(body).strip("\n"), "    ") + "\n")
        done, [record] = self.run_kernels(path, "--case", CASE, "--no-perf", "--relations", "none", "--retries", "0", **env)
        self.assertEqual(record["verdict"], "crash", done.stderr)
        return record["reason"]

    def test_why_python_ended_itself_stands_beside_the_line(self):
        reason = self.crashed("ctypes.pythonapi.Py_FatalError(b'deallocating None: a refcount is wrong')")
        self.assertRegex(reason, r"SIGABRT .*during \w+; at mine\.py:6 in mine: ctypes\.pythonapi\.Py_FatalError\(.*\); "
                                 "it printed: Fatal Python error: deallocating None: a refcount is wrong ?$")

    def test_what_is_printed_behind_such_a_line_is_seen(self):
        reason = self.crashed("""
            os.write(2, b"Fatal Python error: \\nlibvendor: out of command slots\\n")
            os._exit(7)
        """)
        self.assertRegex(reason, "exited with .*7.*; it printed: Fatal Python error: +libvendor: out of command slots ?$")

    def test_the_places_of_many_deep_threads_hide_nothing(self):
        """The faulthandler prints a hundred frames of each thread, the crashing thread last."""
        name = "n" * 130
        self.write("def deep(n, at_the_end):\n    at_the_end() if n == 0 else deep(n - 1, at_the_end)\n", name=name + ".py")
        reason = self.crashed(f"""
            import {name} as native
            within, forever = threading.Barrier(6), threading.Event()
            def wait():
                within.wait()
                forever.wait()
            for _ in range(5):
                threading.Thread(target=native.deep, args=(150, wait), daemon=True).start()
            def end():
                within.wait()
                os.write(2, b"libvendor: out of command slots\\n")
                os.abort()
            native.deep(150, end)
        """)
        self.assertRegex(reason, r"SIGABRT .*; at mine\.py:16 in end: os\.abort\(\); from \S+ in deep; from \S+ in deep; "
                                 "it printed: libvendor: out of command slots ?$")

    def wait_one_that_hangs_in_a_later_worker_is_waited_for_once(self):
        path = self.write("""
            import os, time
            mark = os.path.join(os.path.dirname(__file__), "mark")
            if os.path.exists(mark):
                time.sleep(1000)
            open(mark, "w").close()
            @assay.kernel("exp", contract="f32acc", dtypes=["f32"])
            def leaves(x):
                os._exit(3)
        """)
        begin = time.monotonic()
        cases = [word for case in SIZES for word in ("--case", case)]
        done, records = self.run_kernels(path, *cases, "--no-perf", "--no-sandbox", "--retries", "0", "--relations", "none",
                                         "--import-timeout", "2.5")
        self.assertEqual(sorted(r["verdict"] for r in records), ["crash"] + ["timeout"] * 5, done.stdout + done.stderr)
        for record in records:
            if record["verdict"] == "timeout":
                self.assertRegex(record["reason"], "the worker of mine .* did not start: importing .*mine.py did not end")
        self.assertLess(time.monotonic() - begin, 12, "each case has waited 2.5 s")

    def wait_a_crash_that_no_worker_could_try_again_stays_one(self):
        path = self.write("""
            import os, time
            mark = os.path.join(os.path.dirname(__file__), "mark")
            if os.path.exists(mark):
                time.sleep(1000)
            @assay.kernel("exp", contract="f32acc", dtypes=["f32"])
            def leaves(x):
                open(mark, "w").close()
                os._exit(3)
        """)
        done, [record] = self.run_kernels(path, "--case", SIZES[0], "--no-perf", "--no-sandbox", "--relations", "none",
                                          "--import-timeout", "2.5")
        self.assertEqual((record["verdict"], done.returncode), ("crash", 3), done.stdout + done.stderr)
        self.assertRegex(record["reason"], r"\[it could not be tried again in a fresh worker: .* did not start: importing")


class FromOutside(Program):
    HEAD = """
        import ctypes, sys, threading, time
        main, sent = threading.get_ident(), []

        def interrupt():
            while sys._current_frames()[main].f_code.co_name != "_main":  # the worker's, which waits for the next call
                time.sleep(0.001)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(main), ctypes.py_object(KeyboardInterrupt))

        def right(x):
            return np.exp(x.astype(np.float64)).astype(x.dtype)
    """

    def test_what_another_thread_raises_between_calls_is_told(self):
        path = self.write(self.HEAD + """
        @assay.kernel("exp", contract="f32acc", dtypes=["f32"])
        def mine(x):
            if not sent:
                sent.append(threading.Thread(target=interrupt, daemon=True))
                sent[0].start()
            return right(x)
        """)
        done, records = self.run_kernels(path, "--case", CASE, "--no-perf", "--relations", "none", "--retries", "0")
        self.assertEqual([r["verdict"] for r in records], ["error"], done.stdout + done.stderr)
        self.assertIn("an exception came from outside of the kernel, as another thread or a signal raises it: "
                      "KeyboardInterrupt", records[0]["reason"])
        self.assertNotIn("killed by", done.stderr)

    def test_what_is_raised_within_a_kernel_has_its_line(self):
        path = self.write(self.HEAD + """
        @assay.kernel("exp", contract="f32acc", dtypes=["f32"])
        def interrupted(x):
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(main), ctypes.py_object(KeyboardInterrupt))
            return right(x)

        @assay.kernel("exp", contract="f32acc", dtypes=["f32"])
        def starved(x):
            raise MemoryError("no room for x")
        """)
        _, records = self.run_kernels(path, "--case", CASE, "--no-perf", "--retries", "0")
        found = {r["implementation"]: r for r in records}
        self.assertEqual({r["verdict"] for r in records}, {"error"})
        self.assertRegex(found["interrupted"]["reason"], r"interrupted: KeyboardInterrupt; at mine.py:\d+ in interrupted")
        self.assertRegex(found["starved"]["reason"], r"starved: MemoryError: no room for x; at mine.py:\d+ in starved: raise")


if __name__ == "__main__":
    unittest.main()
