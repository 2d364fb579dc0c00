#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes ops/suites/models from the table scripts/models.toml: the operators of public networks, how often one pass calls
each, and which of their extents `assay run --scale` divides.

usage: scripts/model_suites.py [--check]      from any folder; --check writes nothing, and ends with 1 where files differ
"""
import pathlib
import sys
import tomllib

import model_networks

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "ops/suites/models"


def suite_text(name, title, source, layers):
    """The suite of a network: a tag with calls and source before the cases of each layer."""
    text = ["# SPDX-License-Identifier: Apache-2.0",
            f"# {title}. scripts/model_suites.py has written this file from scripts/models.toml.",
            "# calls: how often a pass through the network calls the case. scale: the extents that --scale divides.",
            "sample 4096"]
    scaled = None
    for layer in layers:
        text.append(f"tag {name}.{layer.name} calls={layer.calls} source={layer.source or source}")
        if layer.scaled != scaled:
            text.append(f"scale {layer.scaled or 'none'}")
            scaled = layer.scaled
        text.append(" ".join([layer.op, f"dtypes={'|'.join(layer.types)}", *(f"{k}={v}" for k, v in layer.attributes)]))
    return "\n".join(text) + "\n"


def check_weights(name, expected, layers):
    found = sum(layer.weights for layer in layers)
    if found != expected:
        sys.exit(f"{name}: its layers have {found:,} weights, and {expected:,} are published; mend scripts/models.toml or "
                 f"scripts/model_networks.py")


def make_suites():
    """{path: text} of all suites."""
    table = tomllib.loads((ROOT / "scripts/models.toml").read_text(encoding="utf-8"))
    suites = {}
    for name, numbers in table.items():
        for phase, layers in model_networks.NETWORKS[numbers["network"]](numbers).items():
            check_weights(f"{name} {phase}", numbers["weights"], layers)
            title = f"{numbers['title']}: {phase}" if phase else numbers["title"]
            file = f"{name}-{phase.split()[0]}" if phase else name
            suites[FOLDER / f"{file}.suite"] = suite_text(name, title, numbers["source"], layers)
    return suites


def main(words):
    if words not in ([], ["--check"]):
        sys.exit(__doc__)
    suites = make_suites()
    known = set(FOLDER.glob("*.suite"))
    changed = sorted(path for path in known | set(suites)
                     if path not in suites or path not in known or path.read_text(encoding="utf-8") != suites[path])
    if words:
        for path in changed:
            print(f"{path.relative_to(ROOT)} is not what scripts/model_suites.py writes: run it", file=sys.stderr)
        return 1 if changed else 0
    for path in changed:
        if path in suites:
            path.write_text(suites[path], encoding="utf-8")
        else:
            path.unlink()
        print(path.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
