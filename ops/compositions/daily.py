# SPDX-License-Identifier: Apache-2.0
"""Operators that networks run daily: norms in training, losses, pooling, products by groups, by pages and of codes, experts."""
import assay


@assay.operator("traced_batch_norm_training", roles={"gamma": "weight", "beta": "offset", "running_var": "positive"})
def traced_batch_norm_training(x: "n c s", gamma: "c", beta: "c", running_mean: "c", running_var: "c", *, eps: float = 1e-5,
                               momentum: float = 0.1):
    """(x - mean) / sqrt(variance + eps) gamma + beta for each channel, and the running statistics: an unbiased variance."""
    xp = assay.namespace(x)
    mean = xp.mean(x, axis=(0, 2), keepdims=True)
    deviation = x - mean
    variance = xp.mean(deviation * deviation, axis=(0, 2), keepdims=True)
    count = x.shape[0] * x.shape[2]
    y = deviation * xp.rsqrt(variance + eps) * gamma[:, None] + beta[:, None]
    return {"y": y, "new_mean": (1 - momentum) * running_mean + momentum * mean[0, :, 0],
            "new_var": (1 - momentum) * running_var + momentum * (variance[0, :, 0] / (1 - 1 / count))}


@assay.operator("batch_norm_inference", roles={"gamma": "weight", "beta": "offset", "mean": "offset", "variance": "positive"})
def batch_norm_inference(x: "n c s", gamma: "c", beta: "c", mean: "c", variance: "c", *, eps: float = 1e-5):
    """(x - mean) / sqrt(variance + eps) gamma + beta, of statistics that are known."""
    scale = assay.namespace(x).rsqrt(variance + eps) * gamma
    return (x - mean[:, None]) * scale[:, None] + beta[:, None]


@assay.operator("traced_log_softmax_backward")
def traced_log_softmax_backward(dy: "rows n", y: "rows n"):
    """dy - exp(y) sum(dy), y being the logarithms of probabilities."""
    xp = assay.namespace(dy)
    return dy - xp.exp(y) * xp.sum(dy, axis=-1, keepdims=True)


@assay.operator("traced_clamped_swiglu")
def traced_clamped_swiglu(x: "rows 2*n", *, limit: float = 7.0, alpha: float = 1.702):
    """Gates at even places, at most the limit, and values at odd ones, within it: gate sigmoid(alpha gate) (value + 1)."""
    xp = assay.namespace(x)
    gate, value = xp.minimum(x[:, ::2], limit), xp.clip(x[:, 1::2], -limit, limit)
    return gate * xp.sigmoid(alpha * gate) * (value + 1)


@assay.operator("traced_cross_entropy", roles={"labels": "places n"})
def traced_cross_entropy(logits: "rows n", labels: "rows", *, smoothing: float = 0.0, ignored: int = -100):
    """Mean of the rows' losses, but of those whose label is ignored, with a part of each label spread over all classes."""
    xp = assay.namespace(logits)
    y, counts = xp.log_softmax(logits, axis=-1), labels != ignored
    known = xp.where(counts, labels, 0)
    loss = (smoothing - 1) * xp.take_along_axis(y, known[:, None], axis=1)[:, 0] - smoothing * xp.mean(y, axis=-1)
    return xp.sum(xp.where(counts, loss, 0.0)) / xp.sum(counts)


@assay.operator("traced_grouped_gemm", roles={"ends": "ends rows"})
def traced_grouped_gemm(x: "rows k", w: "groups k n", ends: "groups"):
    """Each row of x times the matrix of its group; rows of one group stand together, up to its end."""
    xp = assay.namespace(x)
    group = xp.sum(ends <= xp.arange(x.shape[0])[:, None], axis=1)
    group = xp.minimum(group, w.shape[0] - 1)  # torch.compile tries the function with zeros
    return xp.sum(x[:, :, None] * xp.take(w, group, axis=0), axis=1)


@assay.operator("traced_paged_decode", roles={"lengths": "lengths 16*blocks"})
def traced_paged_decode(q: "b h d", keys: "pages 16 h d", values: "pages 16 h d", table: "b blocks", lengths: "b", *, scale: float = 0.125):
    """softmax(q k^T scale) v of one new token of each sequence, whose keys and values lie on pages of 16 that a table names."""
    xp = assay.namespace(q)
    k, v = xp.take(keys, table, axis=0), xp.take(values, table, axis=0)
    scores = xp.sum(q[:, None, None] * k, axis=-1) * scale
    place = 16 * xp.arange(table.shape[1])[:, None] + xp.arange(16)
    inside = place[None, :, :, None] < lengths[:, None, None, None]
    p = xp.softmax(xp.where(inside, scores, -2.0**100), axis=(1, 2))
    return xp.sum(p[..., None] * v, axis=(1, 2))


@assay.operator("w4a16_product", types=["f32-u8-f32-i8-f32", "bf16-u8-bf16-i8-bf16", "f16-u8-f16-i8-f16"],
                roles={"scale": "weight", "zero": "places 16"})
def w4a16_product(x: "rows 32*g", packed: "16*g n", scale: "g n", zero: "g n"):
    """x ((codes - zero) scale): codes of 4 bits, the lower ones of a byte at even rows, with a scale and a zero for 32 rows."""
    xp = assay.namespace(x)
    group = xp.arange(packed.shape[0]) // 16
    scales, zeros = xp.take(scale, group, axis=0), xp.take(zero, group, axis=0)
    low, high = (packed % 16 - zeros) * scales, (packed // 16 - zeros) * scales
    return x[:, ::2] @ low + x[:, 1::2] @ high


def _windows(x):
    """Rows and columns of windows of 3 by 3 at a stride of 2, with 1 of padding that repeats the edge: [9, h] and [9, w]."""
    xp = assay.namespace(x)
    k = xp.arange(9)[:, None]
    rows, columns = xp.arange(x[:, :, ::2].shape[2]), xp.arange(x[:, :, :, ::2].shape[3])
    return rows * 2 + k // 3 - 1, columns * 2 + k % 3 - 1


def _window_elements(x, rows, columns):
    """[n, c, 9, h, w]"""
    xp = assay.namespace(x)
    return xp.take_along_axis(xp.take(x, rows, axis=2), columns[None, None, :, None], axis=4)


@assay.operator("traced_max_pool")
def traced_max_pool(x: "n c 2*h 2*w"):
    """The largest of 3 by 3 elements at a stride of 2 with 1 of padding, and where it is among those of its image."""
    xp = assay.namespace(x)
    rows, columns = (xp.maximum(places, 0) for places in _windows(x))
    elements = _window_elements(x, rows, columns)
    k = xp.argmax(elements, axis=2)
    row = xp.maximum(xp.arange(k.shape[2])[:, None] * 2 + k // 3 - 1, 0)
    column = xp.maximum(xp.arange(k.shape[3]) * 2 + k % 3 - 1, 0)
    return {"y": xp.max(elements, axis=2), "places": xp.astype(row * x.shape[3] + column, "int64")}


@assay.operator("traced_avg_pool")
def traced_avg_pool(x: "n c 2*h 2*w"):
    """The mean of those of 3 by 3 elements at a stride of 2 that are no padding."""
    xp = assay.namespace(x)
    rows, columns = _windows(x)
    inside = (rows >= 0)[:, :, None] & (columns >= 0)[:, None]
    elements = _window_elements(x, xp.maximum(rows, 0), xp.maximum(columns, 0))
    return xp.sum(xp.where(inside, elements, 0.0), axis=2) / xp.sum(inside, axis=0)


@assay.operator("traced_all_reduce")
def traced_all_reduce(x: "ranks n"):
    """The sum of what the ranks have."""
    return assay.namespace(x).sum(x, axis=0)


@assay.operator("traced_conv_backward_weights")
def traced_conv_backward_weights(dy: "n o h w", x: "n c h w"):
    """The gradient of the weights [o, c, 3, 3] of a convolution with 1 of padding."""
    xp = assay.namespace(x)
    rows, columns = (xp.arange(x.shape[axis]) + xp.arange(3)[:, None] - 1 for axis in (2, 3))
    inside = ((rows >= 0) & (rows < x.shape[2]))[:, :, None, None] & (columns >= 0) & (columns < x.shape[3])
    near = xp.take(x, xp.clip(rows, 0, x.shape[2] - 1), axis=2)
    near = xp.take(near, xp.clip(columns, 0, x.shape[3] - 1), axis=4)
    return xp.sum(xp.where(inside, near, 0.0)[:, None] * dy[:, :, None, None, :, None], axis=(0, 4, 6))


@assay.operator("moe")
def moe(x: "t d", router: "d experts", w1: "experts d h", w3: "experts d h", w2: "experts h d"):
    """The two experts that a router gives the largest scores, their gated products joined by the softmax of these scores."""
    xp = assay.namespace(x)
    score, expert = xp.topk(x @ router, 2)
    w1, w3, w2 = (xp.take(w, expert, axis=0) for w in (w1, w3, w2))
    gate, up = (xp.sum(x[:, None, :, None] * w, axis=2) for w in (w1, w3))
    return xp.sum(xp.softmax(score, axis=-1)[..., None] * xp.sum((xp.silu(gate) * up)[..., None] * w2, axis=2), axis=1)
