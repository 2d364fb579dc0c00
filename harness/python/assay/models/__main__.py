# SPDX-License-Identifier: Apache-2.0
"""python -m assay.models: of which of the installed PyTorch's functions ``assay.watch`` judges the results."""
from __future__ import annotations

import sys

from ._calls import is_known, is_view, why_unjudgeable


def main() -> int:
    import torch
    known, unknown = [], set()
    for name in torch._C._dispatch_get_all_op_names():
        space, _, rest = name.partition("::")
        base, _, overload = rest.partition(".")
        if space != "aten":
            continue
        function = getattr(getattr(torch.ops.aten, base), overload or "default", None)
        if function is None or not any("Tensor" in str(each.type) for each in (*function._schema.returns, *function._schema.arguments)):
            continue
        if is_view(function) or why_unjudgeable(function):
            continue
        known += [name] if is_known(base) else []
        unknown |= set() if is_known(base) else {base.rstrip("_")}
    print(f"{len(known)} overloads of {len({name.split('.')[0].rstrip('_') for name in known})} functions of PyTorch {torch.__version__} are judged.")
    print("No rule: " + " ".join(sorted(unknown)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
