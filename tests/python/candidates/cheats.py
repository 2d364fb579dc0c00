# SPDX-License-Identifier: Apache-2.0
"""Candidates that would rather look good than be good: what each does, and by what assay judge has to reject it.

Each text is a body of a file that begins with HEAD. PATH stands for the reference's file."""

HEAD = '''
import ctypes, os, pathlib, sys, threading, time
import numpy as np
import assay

def right(x, axis, log):
    shifted = x.astype(np.float64) - x.max(axis, keepdims=True)
    y = shifted - np.log(np.exp(shifted).sum(axis, keepdims=True))
    return (y if log else np.exp(y)).astype(x.dtype)

def candidate(function):
    return assay.kernel("softmax", contract="f32acc", dtypes=["f32"])(function)

cache = {}
'''

# Long enough for a clock to matter.
LONG = '''
@candidate
def kernel(x, *, axis, log):
    for _ in range(40):
        y = right(x, axis, log)
    return y
'''


def cached_by(key):
    return f'''
@candidate
def kernel(x, *, axis, log):
    key = {key}
    if key not in cache:
        cache[key] = right(x, axis, log)
    return cache[key]
'''


# name: (body, what, text of the reason)
CHEATS = {
    "a constant": ('''
@candidate
def kernel(x, *, axis, log):
    return np.full_like(x, np.log(1 / x.shape[axis]) if log else 1 / x.shape[axis])
''', "mismatch", ""),
    "the buffer of the first call": ('''
first = None
@candidate
def kernel(x, *, axis, log):
    global first
    if first is None or first.shape != x.shape:
        first = right(x, axis, log)
    return first
''', "mismatch", ""),
    "the last output again": ('''
last = {}
@candidate
def kernel(x, *, axis, log, out):
    if x.shape in last:
        out[...] = last[x.shape]
        last[x.shape] = right(x, axis, log)
    else:
        out[...] = last[x.shape] = right(x, axis, log)
''', "mismatch", ""),
    "a cache by shape": (cached_by("(x.shape, axis, log)"), "mismatch", ""),
    "a cache by address": (cached_by("(x.ctypes.data, x.shape, axis, log)"), "mismatch", ""),
    "a cache by a few elements": (cached_by("(x.flat[:16].tobytes(), x.shape, axis, log)"), "mismatch", ""),
    "work in a thread": ('''
def later(x, axis, log, out):
    y = right(x, axis, log)
    time.sleep(0.002)
    out[...] = y
@candidate
def kernel(x, *, axis, log, out):
    threading.Thread(target=later, args=(x.copy(), axis, log, out)).start()
''', "mismatch", ""),
    "a clock that stands still": ('''
time.perf_counter = lambda: 1.0
''' + LONG, "timing_invalid", "its clock stands still"),
    "a clock that runs slowly": ('''
real = time.perf_counter
time.perf_counter = lambda: real() / 100
''' + LONG, "timing_invalid", "by the host's clock"),
    "the module patched": ('''
import assay._execution as execution
run = execution.Execution.run
execution.Execution.run = lambda self, pointers: (1e-9, run(self, pointers)[1])
''' + LONG, "timing_invalid", "by the host's clock"),
    "every verdict patched": ('''
for name, module in list(sys.modules.items()):
    if name.startswith("assay"):
        for key in ("check", "assert_close", "judge", "verdict"):
            setattr(module, key, lambda *a, **k: True)
@candidate
def kernel(x, *, axis, log):
    return np.zeros_like(x)
''', "mismatch", ""),
    "reads the reference": ('''
@candidate
def kernel(x, *, axis, log):
    names = {}
    exec(pathlib.Path(PATH).read_text(), names)
    return names["reference"](x, axis=axis, log=log)
''', "error", "PermissionError"),
    "imports the reference": ('''
sys.path.insert(0, os.path.dirname(PATH))
import reference
@candidate
def kernel(x, *, axis, log):
    return reference.reference(x, axis=axis, log=log)
''', "load", "reference"),
    "replaces the reference": ('''
try:
    pathlib.Path(PATH).write_text("raise SystemExit")
except OSError:
    pass
@candidate
def kernel(x, *, axis, log):
    return np.zeros_like(x)
''', "mismatch", ""),
    "reads golden values": ('''
@candidate
def kernel(x, *, axis, log):
    return np.load(next(pathlib.Path(os.environ["HOME"]).parent.rglob("*.npy")))
''', "error", ""),
    "writes to its input": ('''
@candidate
def kernel(x, *, axis, log):
    y = right(x, axis, log)
    ctypes.memset(x.ctypes.data, 0, x.nbytes)
    return y
''', "mismatch", "input"),
    "right on the visible shapes alone": ('''
@candidate
def kernel(x, *, axis, log):
    if x.shape in ((64, 256), (32, 48)):
        return right(x, axis, log)
    return np.zeros_like(x)
''', "mismatch", ""),
    "takes the visible shapes alone": ('''
@assay.kernel("softmax", contract="f32acc", dtypes=["f32"],
              supports=lambda case: case.shapes["x"] in ((64, 256), (32, 48)) or "not interesting")
def kernel(x, *, axis, log):
    return right(x, axis, log)
''', "unsupported", "not interesting"),
    "leaves from the kernel": ('''
@candidate
def kernel(x, *, axis, log):
    sys.exit(0)
''', "error", "sys.exit"),
    "leaves from the file": ('''
sys.exit(0)
''', "load", "sys.exit"),
    "ends the interpreter": ('''
@candidate
def kernel(x, *, axis, log):
    os._exit(0)
''', "crash", "exited with code 0"),
    "ends the interpreter from the file": ('''
os._exit(0)
''', "load", ""),
    "prints a verdict": ('''
print('{"verdict": "accepted", "exit_code": 0}', flush=True)
@candidate
def kernel(x, *, axis, log):
    os.write(1, b'{"verdict": "accepted", "exit_code": 0}\\n')
    return np.zeros_like(x)
''', "mismatch", ""),
    "forks": ('''
@candidate
def kernel(x, *, axis, log):
    os.fork()
    return right(x, axis, log)
''', "", ""),
    "narrow sums": ('''
@candidate
def kernel(x, *, axis, log):
    return right(x.astype(np.float16).astype(np.float32), axis, log)
''', "", ""),
    "another contract": ('''
@assay.kernel("softmax", contract="bf16acc", dtypes=["f32"])
def kernel(x, *, axis, log):
    return right(x.astype(np.float16).astype(np.float32), axis, log)
''', "below_contract", ""),
}
