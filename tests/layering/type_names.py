# SPDX-License-Identifier: Apache-2.0
"""Checks that no two types of one namespace have the same name: the linker would take one's functions for the other's.

  type_names.py ROOT              prints "name: file:line, file:line" and exits 1 on a violation
  type_names.py ROOT --self-test  plants two in a copy and fails unless they are found
"""
import collections
import pathlib
import re
import sys
import tempfile

TREES = ("harness", "golden", "ops", "reports")  # each backend is a library of its own
BEGINS = re.compile(r"(?:inline )?namespace\s*([\w:]*)\s*\{")
ENDS = re.compile(r"\}\s*// namespace")
TYPE = re.compile(r"(?:struct|class|enum(?: class)?)\s+(\w+)[^;:]*(?::(?!:)[^;]*)?\{")


def types_of(file):
    """Name and line of the types that others could see, at the scope of their namespace."""
    scopes = []
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        begins = BEGINS.match(line)
        if begins:
            scopes.append(begins[1])
        elif ENDS.match(line):
            scopes.pop()
        found = TYPE.match(line)
        if found and "" not in scopes and "HWY_NAMESPACE" not in scopes:
            yield "::".join([*scopes, found[1]]), number


def violations(root):
    places = collections.defaultdict(list)
    for tree in TREES:
        for file in sorted((pathlib.Path(root) / tree).rglob("*")):
            if file.suffix in (".h", ".cc"):
                for name, number in types_of(file):
                    places[name].append(f"{file.relative_to(root)}:{number}")
    return [f"{name}: {', '.join(at)}; give one of them another name" for name, at in sorted(places.items()) if len(at) > 1]


def self_test():
    twice = "namespace assay {\nstruct Change {\n};\n}  // namespace assay\n"
    apart = "namespace assay {\nnamespace {\nstruct Change {\n};\n}  // namespace\nstruct Change;\nstruct A {\n  struct Change {};\n};\n}  // namespace assay\n"
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in (("ops/a.h", twice), ("harness/b.cc", apart)):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        legal = violations(root)
        (root / "harness/c.h").write_text(twice.replace("struct Change", "class Change final : public A"))
        return legal == [] and violations(root) == ["assay::Change: harness/c.h:2, ops/a.h:2; give one of them another name"]


def main():
    if "--self-test" in sys.argv[2:]:
        sys.exit(0 if self_test() else "self-test: of planted types two with one name were not found, or others were")
    found = violations(pathlib.Path(sys.argv[1]).resolve())
    print("\n".join(found) or "ok")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
