# SPDX-License-Identifier: Apache-2.0
"""What `assay run --kernels FILE.py` starts as a worker: _worker.py SETTINGS FD. It speaks with the program by
libassay_worker.so, and imports the file when it is first asked what it offers."""
import ctypes
import importlib.util
import json
import os
import sys


def _import_kernels(path: str) -> None:
    folder = os.path.dirname(path)
    if folder not in sys.path:
        sys.path.append(folder)
    name = os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(name if name.isidentifier() else "assay_kernels", path)
    module = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
    sys.modules[spec.name] = module  # type: ignore[union-attr]
    spec.loader.exec_module(module)  # type: ignore[union-attr]


def _main(settings: dict, fd: int) -> int:
    sys.dont_write_bytecode = True
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    sys.path[:] = [package, *(folder for folder in settings["path"] if folder != package)]
    from assay._bridge import Bridge
    library = ctypes.CDLL(settings["library"])
    bridge = Bridge(settings["kernels"], settings["operators"], lambda: _import_kernels(settings["kernels"]))
    library.assay_python_register(ctypes.byref(bridge.calls))
    return library.assay_worker_serve(fd, settings["library"].encode())


if __name__ == "__main__":
    code = _main(json.loads(sys.argv[1]), int(sys.argv[2]))
    # At once: what frameworks do at an interpreter's end can hang or crash, and nothing is left to be done.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
