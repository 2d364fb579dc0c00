# SPDX-License-Identifier: Apache-2.0
"""torch.nn.functional.scaled_dot_product_attention, with each of its backends by itself."""
from __future__ import annotations

import functools

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from assay._frameworks import Unsupported
from assay.frameworks._masks import visible

BACKENDS = {"sdpa-math": SDPBackend.MATH, "sdpa-flash": SDPBackend.FLASH_ATTENTION,
            "sdpa-efficient": SDPBackend.EFFICIENT_ATTENTION, "sdpa-cudnn": SDPBackend.CUDNN_ATTENTION}

# Where each of them exists: the CPU has math and flash.
DEVICES = {"sdpa-math": ("cpu", "cuda", "xpu", "mps"), "sdpa-flash": ("cpu", "cuda", "xpu"),
           "sdpa-efficient": ("cuda",), "sdpa-cudnn": ("cuda",)}


def attention(q, k, v, mask=None, *, causal=False, align="br", window=0, scale=None, **_):
    """is_causal aligns at the first key: the documentation has torch.ones(L, S).tril(diagonal=0) as its equivalent. What is
    aligned at the last one is a mask, as in torch.nn.attention.bias.causal_lower_right."""
    l, s = q.shape[-2], k.shape[-2]
    flag = bool(causal) and not window and mask is None and (l == s or align == "tl")
    seen = None if flag else visible(l, s, bool(causal), align, window)
    if seen is not None:
        seen = torch.from_numpy(seen).to(q.device)
    if mask is not None and mask.dtype == torch.int8:
        mask = mask.bool()
        mask = mask if seen is None else mask & seen
    elif mask is not None:
        mask = mask if seen is None else mask.masked_fill(~seen, float("-inf"))
    else:
        mask = seen
    factor = scale if isinstance(scale, (int, float)) else None  # None and "auto": 1/sqrt(d)
    return F.scaled_dot_product_attention(q, k, v, mask, is_causal=flag, scale=factor, enable_gqa=q.shape[1] != k.shape[1])


def with_backend(name):
    """attention with one backend only. PyTorch says only when it is called what this one cannot take: the first call is
    made on zeros, when a case is offered."""
    backend = BACKENDS[name]

    @functools.wraps(attention)
    def run(q, k, v, mask=None, **attrs):
        if name != "sdpa-math":  # the others want elements of a row beside each other, and copy nothing themselves
            q, k, v = (t if t.stride(-1) == 1 else t.contiguous() for t in (q, k, v))
        try:
            with sdpa_kernel(backend):
                return attention(q, k, v, mask, **attrs)
        except RuntimeError as error:
            if "o available kernel" not in str(error) and "no kernel found to launch" not in str(error):
                raise
            raise Unsupported(f"PyTorch has no kernel of {name} for this call") from error

    run.compiles, run.may_refuse = True, name != "sdpa-math"
    return run
