# SPDX-License-Identifier: Apache-2.0
"""Devices by the names that a decorator gives: a kind, and from the second of a kind on which one. cpu, cuda, cuda:1."""
from __future__ import annotations

from typing import Any, Sequence


class NoDevice(Exception):
    """The framework does not reach such a device. The text says which it reaches."""


def _absent(device: str, who: str, there: Sequence[str], why: str = "") -> NoDevice:
    reason = f" ({why.splitlines()[0]})" if why else ""
    return NoDevice(f"device={device!r} is not there: {who} reaches {', '.join(there)} here{reason}")


def torch_devices(torch: Any, kinds: Sequence[str] = ("cuda", "xpu", "mps")) -> list[str]:
    """Lists the devices of this PyTorch: cpu, cuda, cuda:1. The first of a kind has no index."""
    names = ["cpu"]
    for kind in kinds:
        module = getattr(torch, kind, None)
        where = torch.backends.mps if kind == "mps" else module  # torch.mps cannot say
        if getattr(where, "is_available", lambda: False)():
            count = getattr(module, "device_count", lambda: 1)()
            names += [kind, *(f"{kind}:{i}" for i in range(1, count))]
    return names


def torch_device(torch: Any, name: str) -> Any:
    there = torch_devices(torch)
    # Kinds that a module of its own brings are asked for alone.
    try:
        if name in there or name in torch_devices(torch, (name.partition(":")[0],)):
            return torch.device(name)
    except RuntimeError:  # a module that is no kind of device, such as torch.distributed
        pass
    raise _absent(name, f"PyTorch {torch.__version__}", there)


def jax_device(jax: Any, name: str) -> Any:
    kind, _, index = name.partition(":")
    try:
        return jax.devices(kind)[int(index or 0)]
    except (RuntimeError, IndexError) as why:
        there = []
        for platform in dict.fromkeys(("cpu", jax.default_backend())):
            there += [platform, *(f"{platform}:{i}" for i in range(1, len(jax.devices(platform))))]
        reason = str(why) if isinstance(why, RuntimeError) else ""  # else there are fewer of its kind
        raise _absent(name, f"JAX {jax.__version__}", there, reason) from None


def capability(torch: Any, device: Any) -> str:
    """NVIDIA's compute capability, "9.0"; empty for what is none of theirs."""
    if torch.device(device).type != "cuda" or torch.version.hip:
        return ""
    return ".".join(map(str, torch.cuda.get_device_capability(device)))
