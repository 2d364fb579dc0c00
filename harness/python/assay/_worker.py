# SPDX-License-Identifier: Apache-2.0
"""Worker process of `assay run --kernels FILE.py`, started as _worker.py SETTINGS FD. It talks to the program through
libassay_worker.so, and imports the file when it is first asked for its kernels."""
import ctypes
import faulthandler
import importlib.util
import json
import os
import sys
import threading
import traceback
from typing import Any


def _module_name(path: str) -> str:
    """The file's own name, unless another module has it: a kernel file json.py must not replace the module json."""
    name = os.path.splitext(os.path.basename(path))[0]
    if not name.isidentifier() or name in sys.modules:
        return "assay_kernels"
    found = importlib.util.find_spec(name)
    is_own = found is None or (found.origin is not None and os.path.realpath(found.origin) == os.path.realpath(path))
    return name if is_own else "assay_kernels"


def _import_file(name: str, path: str, **more: list) -> None:
    spec = importlib.util.spec_from_file_location(name, path, **more)  # type: ignore[arg-type]
    module = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
    sys.modules[name] = module
    spec.loader.exec_module(module)  # type: ignore[union-attr]


def _tell_where(thread: int, path: str, ended: threading.Event, limit_s: float) -> None:
    """Prints where an import is that is about to be given up, for the message about it."""
    if ended.wait(max(limit_s - 1, 0.8 * limit_s)):
        return
    from assay._reasons import places
    frame = sys._current_frames().get(thread)
    print(f"{os.path.basename(path)} is still imported" + places(traceback.extract_stack(frame), path), file=sys.stderr,
          flush=True)


def _import_kernels(path: str, limit_s: float) -> None:
    folder = os.path.dirname(path)
    if folder not in sys.path:
        sys.path.append(folder)
    ended = threading.Event()
    watch = threading.Thread(target=_tell_where, args=(threading.get_ident(), path, ended, limit_s), daemon=True)
    watch.start()
    try:
        _import_file(_module_name(path), path)
    finally:
        ended.set()
        watch.join()


def _import_assay() -> None:
    """By its own place, which is not put on the path: the folder that it lies in may be the site-packages of another
    version of Python, and what else is there is none of this interpreter's."""
    package = os.path.dirname(os.path.abspath(__file__))
    _import_file("assay", os.path.join(package, "__init__.py"), submodule_search_locations=[package])


def _answer(function: Any, *texts: str) -> str:
    """The text that a function of the library writes for these."""
    answer = ctypes.create_string_buffer(1024)
    function(*(text.encode(errors="replace") for text in texts), answer, ctypes.c_uint64(len(answer)))
    return answer.value.decode(errors="replace")


def _main(settings: dict, fd: int) -> int:
    """Returns when the host is done. An exception of another thread that comes then concerns nobody any more."""
    faulthandler.enable(sys.stderr)  # the host reads there where the code was, should it crash the interpreter
    sys.dont_write_bytecode = True
    # Else each worker with JAX takes three quarters of a GPU's memory at its start, from those beside it (docs.jax.dev,
    # "GPU memory allocation").
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    sys.path[:] = settings["path"]
    _import_assay()
    from assay._bridge import Bridge
    from assay._declaration import Knowledge
    library = ctypes.CDLL(settings["library"])
    Knowledge.operators = settings["operators"]
    Knowledge.contract_problem = lambda text: _answer(library.assay_contract_problem, text)
    Knowledge.operator_hint = lambda word: _answer(library.assay_operator_hint, word, ",".join(settings["operators"]))
    Knowledge.definitions = settings["definitions"]
    bridge = Bridge(settings["kernels"], settings["operators"],
                    lambda: _import_kernels(settings["kernels"], settings["import_timeout_s"]))
    library.assay_python_register(ctypes.byref(bridge.calls))
    library.assay_worker_serve.restype = ctypes.c_int
    try:
        return library.assay_worker_serve(fd, settings["library"].encode())
    except BaseException:
        return 0


if __name__ == "__main__":
    code = _main(json.loads("".join(sys.argv[1:-1])), int(sys.argv[-1]))
    # At once: what frameworks do at an interpreter's end can hang or crash, and nothing is left to be done.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
