# SPDX-License-Identifier: Apache-2.0
"""assay inventory: inventory_test.py [CLASS]. Without PyTorch only the class Missing has something to test."""
import contextlib
import importlib.util
import io
import json
import os
import subprocess
import sys
import types
import unittest
import unittest.mock

from assay.models import _inventory

HAS_TORCH = importlib.util.find_spec("torch") is not None
PROGRAM = os.environ.get("ASSAY_PROGRAM")


def overload(name, returns=("Tensor",), arguments=("Tensor",), alias=None):
    """A function with a schema as PyTorch's."""
    def values(kinds, alias):
        return [types.SimpleNamespace(type=kind, name="self", alias_info=alias) for kind in kinds]
    made = unittest.mock.NonCallableMock(tags=[])
    made._schema = types.SimpleNamespace(name=f"aten::{name}", returns=values(returns, alias), arguments=values(arguments, None))
    return made


class Missing(unittest.TestCase):
    def test_without_pytorch(self):
        said = io.StringIO()
        with unittest.mock.patch.dict(sys.modules, {"torch": None}), contextlib.redirect_stderr(said):
            self.assertEqual(_inventory.main({"framework": "torch", "missing": False, "json": False}), 3)
        self.assertIn(f"{sys.executable} has no PyTorch to take an inventory of", said.getvalue())
        self.assertIn("-m pip install torch", said.getvalue())

    def test_kinds(self):
        view = types.SimpleNamespace(is_write=False)
        torch = types.SimpleNamespace(Tag=types.SimpleNamespace(nondeterministic_seeded="seeded"))
        with unittest.mock.patch.dict(sys.modules, {"torch": torch}):
            for name, words, composed, expected in (
                    ("exp", {}, False, ("judged", "")), ("linear", {}, True, ("composed", "")), ("cholesky_solve", {}, False, ("missing", "decompositions")),
                    ("_weight_norm_interface", {}, False, ("missing", "sums and orders")), ("erfinv", {}, False, ("missing", "special functions")),
                    ("nobody_knows", {}, False, ("missing", "others")), ("size.int", {"returns": ("int",)}, False, ("without", _inventory._TELLS)),
                    ("t", {"alias": view}, False, ("without", "views: their results are memory of their operands"))):
                found = _inventory.classify(name, overload(name, **words), composed)
                self.assertEqual((found.status, found.group), expected, name)

    @unittest.skipUnless(PROGRAM, "the program is not here")
    def test_what_the_program_refuses(self):
        for words, code, text in ((["inventory", "jax"], 2, "torch"), (["inventory"], 2, "FRAMEWORK"),
                                  (["inventory", "torch", "--python", "/nowhere/python"], 2, "interpreter /nowhere/python cannot be run")):
            ended = subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=False)
            self.assertEqual(ended.returncode, code, ended.stderr)
            self.assertIn(text, ended.stderr)


@unittest.skipUnless(HAS_TORCH and PROGRAM, "PyTorch or the program is not here")
class Inventory(unittest.TestCase):
    def take(self, *words):
        ended = subprocess.run([PROGRAM, "inventory", "torch", "--python", sys.executable, *words], capture_output=True, text=True, check=False)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        return ended.stdout

    def test_all_overloads_are_counted_once(self):
        import torch
        found = json.loads(self.take("--json"))
        groups = found["groups"]
        self.assertEqual(found["numeric"], found["judged"] + found["composed"] + found["missing"])
        self.assertEqual(found["overloads"], found["numeric"] + sum(found["without"].values()))
        self.assertEqual(found["missing"], sum(len(names) for group in groups for names in group["functions"].values()))
        registered = [name for name in torch._C._dispatch_get_all_op_names() if name.startswith("aten::")]
        self.assertLessEqual(found["overloads"], len(registered))
        self.assertGreater(found["overloads"], 0.99 * len(registered))
        for name, status in (("exp", "judged"), ("mm", "judged"), ("matmul", "composed")):
            self.assertIn(name, found["functions"][status])
        missing = {name: group["group"] for group in groups for name in group["functions"]}
        self.assertEqual([missing[name] for name in ("lgamma", "linalg_qr", "quantize_per_tensor")], ["special functions", "decompositions", "quantised"])
        self.assertTrue(all(group["reason"] for group in groups))

    def test_names_stand_in_the_text_where_they_are_asked_for(self):
        self.assertNotIn("linalg_qr", self.take())
        self.assertRegex(self.take("--missing"), r"decompositions: a factorisation is not unique.*\n +.*\blinalg_qr\b")


if __name__ == "__main__":
    unittest.main()
