# SPDX-License-Identifier: Apache-2.0
"""Rules that viewers impose on a file in Chrome's trace event format (JSON object form), as far as assay writes it.

Complete events (X) of a track are nested, metadata (M) name every process and thread, and a flow (s to f) leads from
the slice around a call to the slice of what it called. A viewer binds the end of a flow to the slice around its time
only with "bp":"e", and both ends to the innermost slice there.
"""
import math

_NANOSECOND = 1e-3  # viewers count in whole ones


def problems(trace):
    """One line for each rule that is broken."""
    found = []
    if not isinstance(trace, dict) or not isinstance(trace.get("traceEvents"), list):
        return ["no object with a list traceEvents"]
    if trace.get("displayTimeUnit", "ms") not in ("ms", "ns"):
        found.append(f"displayTimeUnit {trace['displayTimeUnit']!r}")
    events = []
    for number, event in enumerate(trace["traceEvents"]):
        wrong = _field_problem(event)
        if wrong:
            found.append(f"event {number}: {wrong}: {event}")
        else:
            events.append(event)
    slices = {}
    for event in events:
        if event["ph"] == "X":
            slices.setdefault((event["pid"], event["tid"]), []).append(event)
    found += _unnamed(events)
    for track, of_track in slices.items():
        of_track.sort(key=lambda e: (e["ts"], -e["dur"]))
        found += _overlaps(track, of_track)
    return found + _flow_problems(events, slices)


def _field_problem(event):
    kinds = {"X": ("ts", "dur"), "s": ("ts",), "f": ("ts",), "M": ()}
    if not isinstance(event, dict) or event.get("ph") not in kinds:
        return "no event of a known phase"
    if not isinstance(event.get("name"), str) or not event["name"]:
        return "no name"
    if any(type(event.get(key)) is not int or event[key] < 0 for key in ("pid", "tid")):
        return "pid and tid are no numbers"
    for key in kinds[event["ph"]]:
        if type(event.get(key)) not in (int, float) or not math.isfinite(event[key]) or event[key] < 0:
            return f"{key} is no time"
    if not isinstance(event.get("args", {}), dict):
        return "args is no object"
    if event["ph"] in "Xsf" and not isinstance(event.get("cat"), str):
        return "no category"
    if event["ph"] in "sf" and "id" not in event:
        return "a flow without id"
    if event["ph"] == "f" and event.get("bp") != "e":
        return "the end of a flow binds to the next slice, not to the one around it"
    if event["ph"] == "M" and (event["name"] not in ("process_name", "thread_name", "process_sort_index")
                               or not event.get("args")):
        return "metadata that viewers do not know"
    return None


def _unnamed(events):
    named = {(e["name"], e["pid"], e["tid"] if e["name"] == "thread_name" else 0) for e in events if e["ph"] == "M"}
    tracks = {(e["pid"], e["tid"]) for e in events if e["ph"] != "M"}
    return [f"track {track} has no {what}" for track in sorted(tracks) for what in ("process_name", "thread_name")
            if (what, track[0], track[1] if what == "thread_name" else 0) not in named]


def _overlaps(track, slices):
    found, open_ends = [], []
    for event in slices:
        end = event["ts"] + event["dur"]
        while open_ends and open_ends[-1] <= event["ts"] + _NANOSECOND:
            open_ends.pop()
        if open_ends and end > open_ends[-1] + _NANOSECOND:
            found.append(f"track {track}: {event['name']} at {event['ts']} outlasts the slice that it is in")
        open_ends.append(end)
    return found


def _innermost(slices, at):
    around = [e for e in slices if e["ts"] - _NANOSECOND <= at <= e["ts"] + e["dur"] + _NANOSECOND]
    return min(around, key=lambda e: e["dur"], default=None)


def _flow_problems(events, slices):
    flows, found = {}, []
    for event in events:
        if event["ph"] in "sf":
            flows.setdefault((event["cat"], event["name"], event["id"]), []).append(event)
    for key, ends in flows.items():
        if sorted(e["ph"] for e in ends) != ["f", "s"]:
            found.append(f"flow {key}: {[e['ph'] for e in ends]} where one begin and one end are expected")
            continue
        start, finish = sorted(ends, key=lambda e: e["ph"], reverse=True)
        if finish["ts"] < start["ts"] - _NANOSECOND:
            found.append(f"flow {key} ends before it begins")
        bound = [_innermost(slices.get((e["pid"], e["tid"]), []), e["ts"]) for e in (start, finish)]
        if None in bound:
            found.append(f"flow {key}: no slice around an end")
        elif any(bound[0].get(of) != bound[1].get(of) for of in ("name",)) or not _same_case(*bound):
            found.append(f"flow {key} leads from {bound[0]} to {bound[1]}")
    return found


def _same_case(caller, called):
    of = ("case", "backend", "implementation")
    return all(caller["args"].get(key) == called["args"].get(key) for key in of)
