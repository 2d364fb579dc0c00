# SPDX-License-Identifier: Apache-2.0
"""Variables with which libraries take this machine for another one."""


def topology(l2_bytes):
    """For PoCL, by way of hwloc: two processors with a second-level cache of that size each."""
    return {"HWLOC_THISSYSTEM": "1", "HWLOC_SYNTHETIC": f"pack:1 l3:1(size={32 << 20}) l2:2(size={l2_bytes}) "
                                                        "l1d:1(size=32768) core:1 pu:1"}
