# SPDX-License-Identifier: Apache-2.0
"""Prints what assay.watch costs: time of a step in training of small networks, plain, with each call judged, by a watch of its own and by one
that has judged a step before, and between judged steps. OPENBLAS_NUM_THREADS=1 keeps NumPy's idle threads out of it."""
import contextlib
import statistics
import time

import assay
import torch
import watched_models


def seconds(function, times):
    """Least of several calls: others on the machine only add to it."""
    found = []
    for _ in range(times):
        begun = time.process_time()
        function()
        found.append(time.process_time() - begun)
    return min(found)


class TwoLayers(torch.nn.TransformerEncoder):
    """A model with layers of BERT's size, so that judging has large operands."""

    def __init__(self):
        super().__init__(torch.nn.TransformerEncoderLayer(768, 12, 3072, 0.0, "gelu", batch_first=True), 2, enable_nested_tensor=False)

    @staticmethod
    def example():
        return (torch.randn(4, 128, 768),)


def between_steps(step):
    """How much longer a step takes between judged steps."""
    between, alone, beside = assay.watch(every_step=1 << 20, threads=0), [], []
    for _ in range(30):  # in turns, so that both have the same neighbours on the machine
        for watch, found in ((contextlib.nullcontext(), alone), (between, beside)):
            with watch:
                for _ in range(4):
                    step()
                found += [seconds(step, 1) for _ in range(16)]
    return f", between judged steps {statistics.median(beside) / statistics.median(alone) - 1:+.2%}"


def later_steps(step, turns, threads, clock):
    """How many times as long as a plain step one takes that a watch follows which has judged steps before, with all proofs."""
    watch, plain, watched = assay.watch(threads=threads), [], []
    with watch:
        step(), step()
    for _ in range(turns):
        begun = clock()
        for _ in range(4):
            step()
        between = clock()
        with watch:
            for _ in range(4):
                step()
        plain.append(between - begun), watched.append(clock() - between)
    return statistics.median(watched) / statistics.median(plain)


def main():
    torch.set_num_threads(1)
    torch.backends.mha.set_fastpath_enabled(False)
    for kind in (*watched_models.MODELS, TwoLayers):
        torch.manual_seed(0)
        model, given = kind().train(), kind.example()

        def step():
            model.zero_grad()
            model(*given).square().mean().backward()

        def watched():
            with assay.watch(threads=0):
                step()

        with assay.watch(threads=0) as w:
            step()
        for _ in range(3):
            step(), watched()
        is_small = kind is not TwoLayers
        plain, judged = seconds(step, 40 if is_small else 5), seconds(watched, 12 if is_small else 3)
        turns = 15 if is_small else 2
        later, beside = later_steps(step, turns, 0, time.process_time), later_steps(step, turns, None, time.perf_counter)
        print(f"{kind.__name__}: {w.calls} calls, plain {plain * 1e3:.1f} ms, judged {judged * 1e3:.0f} ms, ratio {judged / plain:.1f}, "
              f"later steps of one watch, ratio {later:.1f}, with threads {beside:.1f} by the clock" +
              (between_steps(step) if is_small else ""), flush=True)


if __name__ == "__main__":
    main()
