# SPDX-License-Identifier: Apache-2.0
"""Exceptions from outside of kernels: kernel_imports_test.py ASSAY [CLASS]."""
import unittest

from kernels_test import CASE, Program


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
