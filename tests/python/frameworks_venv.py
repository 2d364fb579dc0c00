#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""frameworks_venv.py FOLDER ASSAY: a virtual environment with the frameworks, which pip fetches, the tests of their functions
in it, and of their columns in runs. The environment stays for the next time."""
import os
import subprocess
import sys

PACKAGES = ["numpy", "ml-dtypes", "torch", "onnxruntime", "onnx", "jax", "triton", "apache-tvm-ffi", "openvino", "tinygrad",
            "tensorflow-cpu", "pytest", "pytest-xdist", "expecttest"]


def run(*command, limit):
    return subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)


def has_index(python, folder):
    """One small package answers whether there is a registry at all: what fails after it is a failure."""
    return run(python, "-m", "pip", "download", "--no-deps", "-q", "-d", os.path.join(folder, "probe"), "packaging",
               limit=300).returncode == 0


def main(folder, program):
    python = os.path.join(folder, "bin", "python")
    if not os.path.exists(python):
        subprocess.run([sys.executable, "-m", "venv", folder], check=True, timeout=300)
    if not has_index(python, folder):
        print("skipped: pip reaches no index of packages")
        return 0
    installed = run(python, "-m", "pip", "install", "-q", *PACKAGES, limit=3000)
    if installed.returncode != 0:
        print("pip could not install the frameworks:\n" + installed.stderr[-2000:])
        return 1
    here = os.path.dirname(os.path.abspath(__file__))
    os.environ["ASSAY_PROGRAM"] = program
    tests = [("frameworks_test.py", "Functions"), ("kernel_examples_test.py",), ("pytest_plugin_test.py", "Distributed"),
             ("arrays_test.py", "MlDtypes", "Torch"), ("watch_test.py",), ("watch_edges_test.py",), ("watch_planted_test.py",),
             ("watch_proofs_test.py",), ("watch_cost_test.py",), ("watch_steps_test.py",), ("watch_places_test.py",),
             ("watch_replay_test.py",), ("watch_modes_test.py",), ("watch_jax_test.py",), ("watch_onnx_test.py",), ("inventory_test.py",), ("gloo_test.py", program),
             ("device_memory_test.py", program, "OfTorch"), ("devices_test.py", program), ("align_test.py", program, "Graphs"),
             ("framework_columns_test.py", program, "Frameworks", python),
             ("defined_columns_test.py", program, "OfFrameworks", python), ("imported_columns_test.py", program)]
    failed = [name for name, *arguments in tests
              if subprocess.run([python, os.path.join(here, name), *arguments], check=False, timeout=5400).returncode != 0]
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(os.path.abspath(sys.argv[1]), sys.argv[2]))
