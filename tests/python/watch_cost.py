# SPDX-License-Identifier: Apache-2.0
"""Prints what assay.watch costs: processor time of a step in training of small networks, plain, with each call judged, and between
judged steps. OPENBLAS_NUM_THREADS=1 keeps NumPy's idle threads out of it."""
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


def main():
    torch.set_num_threads(1)
    torch.backends.mha.set_fastpath_enabled(False)
    for kind in watched_models.MODELS:
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
        plain, judged = seconds(step, 40), seconds(watched, 12)
        between = assay.watch(every_step=1 << 20, threads=0)
        alone, beside = [], []
        for _ in range(80):  # in turns, so that both have the same neighbours on the machine
            for watch, found in ((contextlib.nullcontext(), alone), (between, beside)):
                with watch:
                    for _ in range(4):
                        step()
                    found += [seconds(step, 1) for _ in range(16)]
        print(f"{kind.__name__}: {w.calls} calls, plain {plain * 1e3:.1f} ms, judged {judged * 1e3:.0f} ms, ratio {judged / plain:.0f}, "
              f"between judged steps {statistics.median(beside) / statistics.median(alone) - 1:+.2%}", flush=True)


if __name__ == "__main__":
    main()
