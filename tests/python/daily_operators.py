# SPDX-License-Identifier: Apache-2.0
"""The operators of ops/compositions/daily.py in plain NumPy: data, right results, and everyday mistakes, each by a name. Nothing here
uses assay's functions of arrays. Every result is computed in float64."""
import numpy as np


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


class Daily:
    """inputs(): the operands by name, of which integers are int64, uint8 or int8. right(*inputs): the outputs. Each mistake is a
    function of the inputs, too."""
    attributes = {}
    integers = {}  # types that differ from i64, by operand

    def __init__(self, seed=4):
        self.rng = np.random.default_rng(seed)

    def normal(self, *shape):
        return self.rng.standard_normal(shape)


class BatchNormTraining(Daily):
    name = "traced_batch_norm_training"

    def inputs(self):
        c = 4
        return dict(x=self.normal(3, c, 10) + 0.5, gamma=1 + self.normal(c) / 4, beta=self.normal(c), running_mean=self.normal(c),
                    running_var=abs(self.normal(c)) + 0.5)

    def right(self, x, gamma, beta, running_mean, running_var, axes=(0, 2), eps=1e-5, unbiased=1, momentum=0.1, centred=True, of_y=0):
        mean = x.mean(axes, keepdims=True)
        var = ((x - mean * centred)**2).mean(axes, keepdims=True)
        count = x.size / x.shape[1]
        y = (x - mean) / np.sqrt(var * (count / (count - of_y)) + eps) * gamma[:, None] + beta[:, None]
        var = var[0, :, 0] if axes == (0, 2) else var.mean((0, 2))
        mean = mean[0, :, 0] if axes == (0, 2) else mean.mean((0, 2))
        return dict(y=y, new_mean=(1 - momentum) * running_mean + momentum * mean,
                    new_var=(1 - momentum) * running_var + momentum * var * count / (count - unbiased))

    def mistakes(self):
        return {"statistics of each sequence": lambda *a: self.right(*a, axes=(2,)), "eps of 1e-3": lambda *a: self.right(*a, eps=1e-3),
                "biased running variance": lambda *a: self.right(*a, unbiased=0), "unbiased variance in y": lambda *a: self.right(*a, of_y=1),
                "momentum the other way": lambda *a: self.right(*a, momentum=0.9), "mean square": lambda *a: self.right(*a, centred=False),
                "no beta": lambda x, g, b, *a: self.right(x, g, 0 * b, *a)}


class BatchNormInference(Daily):
    name = "batch_norm_inference"

    def inputs(self):
        return dict(x=self.normal(3, 4, 10), gamma=1 + self.normal(4) / 4, beta=self.normal(4), mean=self.normal(4), variance=abs(self.normal(4)) + 0.1)

    def right(self, x, gamma, beta, mean, variance, eps=1e-5):
        return dict(y=(x - mean[:, None]) / np.sqrt(variance + eps)[:, None] * gamma[:, None] + beta[:, None])

    def mistakes(self):
        return {"statistics of the data": lambda x, g, b, m, v: self.right(x, g, b, x.mean((0, 2)), x.var((0, 2))),
                "eps of 1e-3": lambda *a: self.right(*a, eps=1e-3), "no beta": lambda x, g, b, *a: self.right(x, g, 0 * b, *a),
                "the deviation as variance": lambda x, g, b, m, v: self.right(x, g, b, m, v**2),
                "the next channel's gamma": lambda x, g, *a: self.right(x, np.roll(g, -1), *a)}


class LogSoftmaxBackward(Daily):
    name = "traced_log_softmax_backward"

    def inputs(self):
        return dict(dy=self.normal(6, 33), y=np.log(softmax(self.normal(6, 33))))

    def right(self, dy, y, axis=-1, last=None):
        return dict(dx=dy - np.exp(y) * dy[:, :last].sum(axis, keepdims=True))

    def mistakes(self):
        return {"sum over rows": lambda *a: self.right(*a, axis=0), "no sum": lambda dy, y: dict(dx=dy - np.exp(y) * dy),
                "the softmax's gradient": lambda dy, y: dict(dx=np.exp(y) * (dy - (np.exp(y) * dy).sum(-1, keepdims=True))),
                "y for exp(y)": lambda dy, y: self.right(dy, np.log(abs(y))), "one term less": lambda *a: self.right(*a, last=-1)}


class ClampedSwiglu(Daily):
    name = "traced_clamped_swiglu"
    attributes = {"limit": 1.5}

    def inputs(self):
        return dict(x=self.normal(6, 64) * 2)

    def right(self, x, limit=1.5, alpha=1.702, both=False, one=1, halves=False):
        gate, value = (x[:, :32], x[:, 32:]) if halves else (x[:, ::2], x[:, 1::2])
        gate = np.clip(gate, -limit if both else -np.inf, limit)
        return dict(y=gate * sigmoid(alpha * gate) * (np.clip(value, -limit, limit) + one))

    def mistakes(self):
        return {"halves": lambda x: self.right(x, halves=True), "gates within both limits": lambda x: self.right(x, both=True),
                "no clamp": lambda x: self.right(x, limit=np.inf), "no alpha": lambda x: self.right(x, alpha=1),
                "no 1": lambda x: self.right(x, one=0), "limit of 7": lambda x: self.right(x, limit=7)}


class CrossEntropy(Daily):
    name = "traced_cross_entropy"
    attributes = {"smoothing": 0.1, "ignored": 2}

    def inputs(self):
        labels = self.rng.integers(0, 20, 12)
        labels[[1, 5]] = 2
        return dict(logits=self.normal(12, 20), labels=labels)

    def right(self, logits, labels, smoothing=0.1, ignored=2, rows=None, off=0, reduction=1):
        loss, count = 0, 0
        for row, label in zip(logits, labels):
            if label == ignored:
                continue
            y = row - row.max() - np.log(np.exp(row - row.max()).sum())
            loss -= (1 - smoothing) * y[(label + off) % len(y)] + smoothing * y.mean()
            count += 1
        return dict(y=np.array(loss / ((rows or count) if reduction else 1)))

    def mistakes(self):
        return {"mean over all rows": lambda *a: self.right(*a, rows=12), "nothing is ignored": lambda *a: self.right(*a, ignored=-100),
                "no smoothing": lambda *a: self.right(*a, smoothing=0), "the next label": lambda *a: self.right(*a, off=1),
                "a sum": lambda *a: self.right(*a, reduction=0), "no last row": lambda x, i: self.right(x[:-1], i[:-1])}


class GroupedGemm(Daily):
    name = "traced_grouped_gemm"

    def inputs(self):
        return dict(x=self.normal(11, 16), w=self.normal(4, 16, 5), ends=np.array([3, 3, 8, 11]))

    def right(self, x, w, ends, last=None):
        y, begin = np.zeros((len(x), w.shape[2])), 0
        for matrix, end in zip(w, ends):
            y[begin:end] = x[begin:end, :last] @ matrix[:last]
            begin = max(begin, end)
        return dict(y=y)

    def mistakes(self):
        return {"ends one too early": lambda x, w, e: self.right(x, w, np.append(e[:-1] - 1, e[-1])),
                "ends one too late": lambda x, w, e: self.right(x, w, np.append(e[:-1] + 1, e[-1])),
                "an empty group takes rows": lambda x, w, e: self.right(x, w, np.array([3, 5, 8, 11])),
                "the next matrix": lambda x, w, e: self.right(x, np.roll(w, -1, 0), e),
                "one term less": lambda *a: self.right(*a, last=-1), "no last row": lambda x, w, e: self.right(x, w, e - [0, 0, 0, 1])}


class PagedDecode(Daily):
    name = "traced_paged_decode"
    attributes = {"scale": 0.25}

    def inputs(self):
        return dict(q=self.normal(3, 2, 16), keys=self.normal(7, 16, 2, 16), values=self.normal(7, 16, 2, 16),
                    table=np.array([[4, 0, 2], [6, 1, 1], [3, 5, 0]]), lengths=np.array([37, 16, 1]))

    def right(self, q, keys, values, table, lengths, scale=0.25, longer=0, masked=True):
        out = np.zeros(q.shape)
        for b in range(len(q)):
            k, v = (np.concatenate([pages[p] for p in table[b]]) for pages in (keys, values))
            n = lengths[b] + longer if masked else len(k)
            for h in range(q.shape[1]):
                out[b, h] = softmax(k[:n, h] @ q[b, h] * scale) @ v[:n, h]
        return dict(y=out)

    def mistakes(self):
        return {"the next page": lambda q, k, v, t, n: self.right(q, k, v, (t + 1) % 7, n), "one token more": lambda *a: self.right(*a, longer=1),
                "one token less": lambda q, k, v, t, n: self.right(q, k, v, t, np.maximum(n - 1, 1)),
                "no mask": lambda *a: self.right(*a, masked=False), "no scale": lambda *a: self.right(*a, scale=1),
                "the table of values reversed": lambda q, k, v, t, n: self.right(q, k, v[::-1], t, n),
                "the second page for the first": lambda q, k, v, t, n: self.right(q, k, v, t[:, [1, 0, 2]], n)}


class W4A16(Daily):
    name = "w4a16_product"
    integers = {"packed": "u8", "zero": "i8"}

    def inputs(self):
        return dict(x=self.normal(4, 64), packed=self.rng.integers(0, 256, (32, 6)).astype(np.uint8), scale=1 + self.normal(2, 6) / 4,
                    zero=self.rng.integers(0, 16, (2, 6)).astype(np.int8))

    def right(self, x, packed, scale, zero, swapped=False, group=32, offset=0, signed=False):
        w = np.zeros((64, packed.shape[1]))
        for row in range(64):
            byte = packed[row // 2].astype(int)
            code = byte // 16 if (row % 2 == 1) != swapped else byte % 16
            code = np.where(signed & (code > 7), code - 16, code)
            of = min(row // group, 1)
            w[row] = (code - zero[of].astype(int) - offset) * scale[of]
        return dict(y=x @ w)

    def mistakes(self):
        return {"the higher codes first": lambda *a: self.right(*a, swapped=True), "no zero": lambda x, p, s, z: self.right(x, p, s, 0 * z),
                "a zero of one more": lambda *a: self.right(*a, offset=1), "groups of 16": lambda *a: self.right(*a, group=16),
                "signed codes": lambda *a: self.right(*a, signed=True), "groups swapped": lambda x, p, s, z: self.right(x, p, s[::-1], z)}


class MaxPool(Daily):
    name = "traced_max_pool"

    def inputs(self):
        return dict(x=self.normal(2, 3, 8, 6) - 1)

    def windows(self, x, stride=2, pad=1, size=3):
        for i in range(x.shape[0]):
            for c in range(x.shape[1]):
                for r in range(x.shape[2] // 2):
                    for s in range(x.shape[3] // 2):
                        places = [(a, b) for a in range(r * stride - pad, r * stride - pad + size)
                                  for b in range(s * stride - pad, s * stride - pad + size) if 0 <= a < x.shape[2] and 0 <= b < x.shape[3]]
                        yield (i, c, r, s), places

    def right(self, x, pad=1, size=3, zeros=False, width=None, off=0):
        shape = (*x.shape[:2], x.shape[2] // 2, x.shape[3] // 2)
        y, places = np.zeros(shape), np.zeros(shape, np.int64)
        for at, window in self.windows(x, pad=pad, size=size):
            values = [x[at[:2] + place] for place in window]
            a, b = window[int(np.argmax(values))]
            y[at], places[at] = max(values + [0] * (zeros and len(window) < 9)), a * (width or x.shape[3]) + b + off
        return dict(y=y, places=places)

    def mistakes(self):
        return {"no padding": lambda x: self.right(x, pad=0), "zeros as padding": lambda x: self.right(x, zeros=True),
                "windows of 2": lambda x: self.right(x, size=2), "the width of y": lambda x: self.right(x, width=x.shape[3] // 2),
                "places from 1": lambda x: self.right(x, off=1), "the smallest": lambda x: dict(self.right(x), y=-self.right(-x)["y"])}


class AvgPool(MaxPool):
    name = "traced_avg_pool"

    def right(self, x, pad=1, size=3, divisor=None):
        y = np.zeros((*x.shape[:2], x.shape[2] // 2, x.shape[3] // 2))
        for at, window in self.windows(x, pad=pad, size=size):
            y[at] = sum(x[at[:2] + place] for place in window) / (divisor or len(window))
        return dict(y=y)

    def mistakes(self):
        return {"padding counts": lambda x: self.right(x, divisor=9), "no padding": lambda x: self.right(x, pad=0),
                "windows of 2": lambda x: self.right(x, size=2), "a sum": lambda x: self.right(x, divisor=1),
                "one term less": lambda x: dict(y=self.right(x)["y"] - x[:, :, ::2, ::2] / 9)}


class AllReduce(Daily):
    name = "traced_all_reduce"

    def inputs(self):
        return dict(x=self.normal(8, 50))

    def right(self, x):
        return dict(y=x.sum(0))

    def mistakes(self):
        return {"no last rank": lambda x: self.right(x[:-1]), "a mean": lambda x: dict(y=x.mean(0)),
                "one rank twice": lambda x: self.right(np.vstack([x, x[:1]])), "one chunk of another rank": lambda x: self.right(
                    np.where((np.arange(8)[:, None] == 3) & (np.arange(50) < 4), np.roll(x, 1, 1), x))}


class ConvBackwardWeights(Daily):
    name = "traced_conv_backward_weights"

    def inputs(self):
        return dict(dy=self.normal(2, 3, 5, 6), x=self.normal(2, 2, 5, 6))

    def right(self, dy, x, images=None, pad=1, wraps=False, last=None):
        padded = np.pad(x, ((0, 0), (0, 0), (pad, 2 - pad), (pad, 2 - pad)), mode="wrap" if wraps else "constant")
        y = np.zeros((dy.shape[1], x.shape[1], 3, 3))
        for a in range(3):
            for b in range(3):
                part = padded[:images, :, a:a + 5, b:b + 6]
                y[:, :, a, b] = np.einsum("nohw,nchw->oc", dy[:images, :, :last], part[:, :, :last])
        return dict(y=y)

    def mistakes(self):
        return {"one image less": lambda *a: self.right(*a, images=-1), "flipped": lambda *a: dict(y=self.right(*a)["y"][:, :, ::-1, ::-1]),
                "no padding before": lambda *a: self.right(*a, pad=0), "the edges joined": lambda *a: self.right(*a, wraps=True),
                "no last row": lambda *a: self.right(*a, last=-1), "rows for columns": lambda *a: dict(y=self.right(*a)["y"].swapaxes(2, 3))}


class MixtureOfExperts(Daily):
    name = "moe"

    def inputs(self):
        d, e, h = 8, 5, 6
        return dict(x=self.normal(6, d), router=self.normal(d, e), w1=self.normal(e, d, h), w3=self.normal(e, d, h), w2=self.normal(e, h, d))

    def right(self, x, router, w1, w3, w2, first=0, count=2, over_all=False, normalised=True, swapped=False):
        y = np.zeros(x.shape)
        for t, token in enumerate(x):
            score = token @ router
            best = np.argsort(-score)[first:first + count]
            part = softmax(score)[best] if over_all else softmax(score[best]) if normalised else np.ones(count)
            for share, k in zip(part[::-1] if swapped else part, best):
                gate = token @ w1[k]
                y[t] += share * ((gate * sigmoid(gate) * (token @ w3[k])) @ w2[k])
        return dict(y=y)

    def mistakes(self):
        return {"the second and third": lambda *a: self.right(*a, first=1), "one expert": lambda *a: self.right(*a, count=1),
                "shares of all experts": lambda *a: self.right(*a, over_all=True), "no shares": lambda *a: self.right(*a, normalised=False),
                "shares swapped": lambda *a: self.right(*a, swapped=True), "gate and value swapped": lambda x, r, a, b, c: self.right(x, r, b, a, c),
                "the next expert's second matrix": lambda x, r, a, b, c: self.right(x, r, a, b, np.roll(c, -1, 0))}


ALL = [BatchNormTraining, BatchNormInference, LogSoftmaxBackward, ClampedSwiglu, CrossEntropy, GroupedGemm, PagedDecode, W4A16, MaxPool,
       AvgPool, AllReduce, ConvBackwardWeights, MixtureOfExperts]
