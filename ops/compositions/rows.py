# SPDX-License-Identifier: Apache-2.0
"""Compositions that networks contain, along rows: norms, reductions, softmax and what follows from it, losses."""
import assay


# Norms.
@assay.operator("residual_rms_norm", roles={"gamma": "weight"})
def residual_rms_norm(x: "rows n", residual: "rows n", gamma: "n", *, eps: float = 1e-5):
    """rms_norm(x + residual)."""
    xp = assay.namespace(x)
    h = x + residual
    return h * xp.rsqrt(xp.mean(h * h, axis=-1, keepdims=True) + eps) * gamma


@assay.operator("residual_layer_norm", roles={"gamma": "weight", "beta": "offset"})
def residual_layer_norm(x: "rows n", residual: "rows n", gamma: "n", beta: "n", *, eps: float = 1e-5):
    """layer_norm(x + residual)."""
    xp = assay.namespace(x)
    h = x + residual
    c = h - xp.mean(h, axis=-1, keepdims=True)
    return c * xp.rsqrt(xp.mean(c * c, axis=-1, keepdims=True) + eps) * gamma + beta


@assay.operator("gated_rms_norm", roles={"gamma": "weight"})
def gated_rms_norm(x: "rows n", gate: "rows n", gamma: "n", *, eps: float = 1e-5):
    """rms_norm(x silu(gate))."""
    xp = assay.namespace(x)
    h = x * xp.silu(gate)
    return h * xp.rsqrt(xp.mean(h * h, axis=-1, keepdims=True) + eps) * gamma


@assay.operator("l2_normalise")
def l2_normalise(x: "rows n", *, eps: float = 1e-6):
    """x over its norm."""
    xp = assay.namespace(x)
    return x / xp.sqrt(xp.sum(x * x, axis=-1, keepdims=True) + eps)


@assay.operator("l1_normalise")
def l1_normalise(x: "rows n", *, eps: float = 1e-6):
    """x over the sum of its magnitudes."""
    xp = assay.namespace(x)
    return x / (xp.sum(abs(x), axis=-1, keepdims=True) + eps)


@assay.operator("standardise")
def standardise(x: "rows n", *, eps: float = 1e-5):
    """(x - mean) / (std + eps)."""
    xp = assay.namespace(x)
    return (x - xp.mean(x, axis=-1, keepdims=True)) / (xp.std(x, axis=-1, keepdims=True) + eps)


@assay.operator("standardise_columns")
def standardise_columns(x: "rows n", *, eps: float = 1e-5):
    """(x - mean) / sqrt(variance + eps) of each column, as batch norm has it."""
    xp = assay.namespace(x)
    return (x - xp.mean(x, axis=0, keepdims=True)) * xp.rsqrt(xp.var(x, axis=0, keepdims=True) + eps)


@assay.operator("variance_two_pass")
def variance_two_pass(x: "rows n"):
    """mean((x - mean(x))^2)."""
    xp = assay.namespace(x)
    c = x - xp.mean(x, axis=-1, keepdims=True)
    return xp.mean(c * c, axis=-1)


@assay.operator("variance_one_pass")
def variance_one_pass(x: "rows n"):
    """mean(x^2) - mean(x)^2."""
    xp = assay.namespace(x)
    mean = xp.mean(x, axis=-1)
    return xp.mean(x * x, axis=-1) - mean * mean


@assay.operator("batch_norm_relu", roles={"mean": "offset", "variance": "positive", "gamma": "weight", "beta": "offset"})
def batch_norm_relu(x: "rows n", mean: "n", variance: "n", gamma: "n", beta: "n", *, eps: float = 1e-5):
    """relu of batch norm with given statistics."""
    xp = assay.namespace(x)
    return xp.relu((x - mean) * (gamma * xp.rsqrt(variance + eps)) + beta)


@assay.operator("plain_instance_norm")
def plain_instance_norm(x: "b c n", *, eps: float = 1e-5):
    """Norm of the last axis of three."""
    xp = assay.namespace(x)
    c = x - xp.mean(x, axis=-1, keepdims=True)
    return c * xp.rsqrt(xp.mean(c * c, axis=-1, keepdims=True) + eps)


@assay.operator("min_max_normalise")
def min_max_normalise(x: "rows n"):
    """(x - min) / (max - min)."""
    xp = assay.namespace(x)
    low = xp.min(x, axis=-1, keepdims=True)
    return (x - low) / (xp.max(x, axis=-1, keepdims=True) - low)


@assay.operator("rms_norm_dx", roles={"gamma": "weight"})
def rms_norm_dx(x: "rows n", gamma: "n", dy: "rows n", *, eps: float = 1e-5):
    """Gradient of rms_norm by x."""
    xp = assay.namespace(x)
    r = xp.rsqrt(xp.mean(x * x, axis=-1, keepdims=True) + eps)
    g, y = dy * gamma, x * r
    return r * (g - y * xp.mean(g * y, axis=-1, keepdims=True))


@assay.operator("layer_norm_dx", roles={"gamma": "weight"})
def layer_norm_dx(x: "rows n", gamma: "n", dy: "rows n", *, eps: float = 1e-5):
    """Gradient of layer_norm by x."""
    xp = assay.namespace(x)
    c = x - xp.mean(x, axis=-1, keepdims=True)
    r = xp.rsqrt(xp.mean(c * c, axis=-1, keepdims=True) + eps)
    g, y = dy * gamma, c * r
    return r * (g - xp.mean(g, axis=-1, keepdims=True) - y * xp.mean(g * y, axis=-1, keepdims=True))


@assay.operator("layer_norm_dgamma")
def layer_norm_dgamma(x: "rows n", dy: "rows n", *, eps: float = 1e-5):
    """Gradient of layer_norm by gamma: a sum along rows."""
    xp = assay.namespace(x)
    c = x - xp.mean(x, axis=-1, keepdims=True)
    return xp.sum(dy * c * xp.rsqrt(xp.mean(c * c, axis=-1, keepdims=True) + eps), axis=0)


# Reductions.
@assay.operator("sum_of_squares")
def sum_of_squares(x: "rows n"):
    """sum(x^2)."""
    return assay.namespace(x).sum(x * x, axis=-1)


@assay.operator("sum_of_columns_of_squares")
def sum_of_columns_of_squares(x: "rows n"):
    """sum(x^2) of each column."""
    return assay.namespace(x).sum(x * x, axis=0)


@assay.operator("mean_of_products")
def mean_of_products(x: "rows n", y: "rows n"):
    """mean(x y)."""
    return assay.namespace(x).mean(x * y, axis=-1)


@assay.operator("cosine_similarity")
def cosine_similarity(x: "rows n", y: "rows n", *, eps: float = 1e-8):
    """The cosine between rows."""
    xp = assay.namespace(x)
    return xp.sum(x * y, axis=-1) / xp.sqrt(xp.sum(x * x, axis=-1) * xp.sum(y * y, axis=-1) + eps)


@assay.operator("distance_of_rows")
def distance_of_rows(x: "rows n", y: "rows n"):
    """sqrt(sum((x - y)^2))."""
    xp = assay.namespace(x)
    d = x - y
    return xp.sqrt(xp.sum(d * d, axis=-1))


@assay.operator("pairwise_distances")
def pairwise_distances(x: "rows n", y: "cols n"):
    """|x|^2 + |y|^2 - 2 x y, of all pairs of rows."""
    xp = assay.namespace(x)
    return xp.sum(x * x, axis=-1)[:, None] + xp.sum(y * y, axis=-1)[None, :] - 2.0 * (x @ y.T)


@assay.operator("range_of_rows")
def range_of_rows(x: "rows n"):
    """max - min."""
    xp = assay.namespace(x)
    return xp.max(x, axis=-1) - xp.min(x, axis=-1)


@assay.operator("largest_magnitude")
def largest_magnitude(x: "rows n"):
    """max |x|, as scales of codes have it, over 127."""
    return assay.namespace(x).max(abs(x), axis=-1) / 127.0


@assay.operator("product_of_near_ones")
def product_of_near_ones(x: "rows n"):
    """prod(1 + x / 64)."""
    return assay.namespace(x).prod(1.0 + x / 64.0, axis=-1)


@assay.operator("geometric_mean", roles={"x": "positive"})
def geometric_mean(x: "rows n"):
    """exp(mean(log(x)))."""
    xp = assay.namespace(x)
    return xp.exp(xp.mean(xp.log(x), axis=-1))


@assay.operator("exclusive_cumulative_sum")
def exclusive_cumulative_sum(x: "rows n"):
    """cumulative_sum(x) - x."""
    return assay.namespace(x).cumulative_sum(x, axis=-1) - x


@assay.operator("cumulative_probability")
def cumulative_probability(x: "rows n"):
    """cumulative_sum(softmax(x)), as sampling has it."""
    xp = assay.namespace(x)
    return xp.cumulative_sum(xp.softmax(x, axis=-1), axis=-1)


@assay.operator("mean_and_variance")
def mean_and_variance(x: "rows n"):
    """Two reductions of one operand."""
    xp = assay.namespace(x)
    return {"mean": xp.mean(x, axis=-1), "variance": xp.var(x, axis=-1)}


# Softmax and what follows from it.
@assay.operator("temperature_softmax")
def temperature_softmax(x: "rows n", *, temperature: float = 0.7):
    """softmax(x / temperature)."""
    return assay.namespace(x).softmax(x / temperature, axis=-1)


@assay.operator("biased_softmax", roles={"bias": "offset"})
def biased_softmax(x: "rows n", bias: "rows n"):
    """softmax(x + bias)."""
    return assay.namespace(x).softmax(x + bias, axis=-1)


@assay.operator("capped_softmax")
def capped_softmax(x: "rows n", *, cap: float = 5.0):
    """softmax(cap tanh(x / cap))."""
    xp = assay.namespace(x)
    return xp.softmax(cap * xp.tanh(x / cap), axis=-1)


@assay.operator("softmax_of_columns")
def softmax_of_columns(x: "rows n"):
    """softmax along the first axis."""
    return assay.namespace(x).softmax(x, axis=0)


@assay.operator("softmax_dx")
def softmax_dx(x: "rows n", dy: "rows n"):
    """Gradient of softmax, from its input."""
    xp = assay.namespace(x)
    y = xp.softmax(x, axis=-1)
    return y * (dy - xp.sum(y * dy, axis=-1, keepdims=True))


@assay.operator("log_softmax_dx")
def log_softmax_dx(x: "rows n", dy: "rows n"):
    """Gradient of log_softmax, from its input."""
    xp = assay.namespace(x)
    return dy - xp.softmax(x, axis=-1) * xp.sum(dy, axis=-1, keepdims=True)


@assay.operator("logsumexp_minus_max")
def logsumexp_minus_max(x: "rows n"):
    """logsumexp(x) - max(x)."""
    xp = assay.namespace(x)
    return xp.logsumexp(x, axis=-1) - xp.max(x, axis=-1)


@assay.operator("entropy")
def entropy(x: "rows n"):
    """-sum(p log p), p being softmax(x)."""
    xp = assay.namespace(x)
    return -xp.sum(xp.softmax(x, axis=-1) * xp.log_softmax(x, axis=-1), axis=-1)


@assay.operator("z_loss")
def z_loss(x: "rows n"):
    """logsumexp(x)^2."""
    z = assay.namespace(x).logsumexp(x, axis=-1)
    return z * z


@assay.operator("softmax_pool")
def softmax_pool(x: "rows n", score: "rows n"):
    """sum(softmax(score) x)."""
    xp = assay.namespace(x)
    return xp.sum(xp.softmax(score, axis=-1) * x, axis=-1)


# Losses.
@assay.operator("soft_cross_entropy", roles={"target": "positive"})
def soft_cross_entropy(x: "rows n", target: "rows n"):
    """-sum(target log_softmax(x))."""
    xp = assay.namespace(x)
    return -xp.sum(target * xp.log_softmax(x, axis=-1), axis=-1)


@assay.operator("kl_divergence")
def kl_divergence(x: "rows n", y: "rows n"):
    """sum(p (log p - log q)) of two rows of logits."""
    xp = assay.namespace(x)
    p, q = xp.log_softmax(x, axis=-1), xp.log_softmax(y, axis=-1)
    return xp.sum(xp.exp(p) * (p - q), axis=-1)


@assay.operator("mean_squared_error")
def mean_squared_error(x: "rows n", y: "rows n"):
    """mean((x - y)^2)."""
    d = x - y
    return assay.namespace(x).mean(d * d, axis=-1)


@assay.operator("mean_absolute_error")
def mean_absolute_error(x: "rows n", y: "rows n"):
    """mean |x - y|."""
    return assay.namespace(x).mean(abs(x - y), axis=-1)


@assay.operator("huber_loss")
def huber_loss(x: "rows n", y: "rows n"):
    """d^2 / 2 where |d| < 1, else |d| - 1/2."""
    d = abs(x - y)
    return assay.namespace(x).where(d < 1.0, 0.5 * d * d, d - 0.5)


@assay.operator("logit_cross_entropy", roles={"z": "table"})
def logit_cross_entropy(x: "rows n", z: "rows n"):
    """Binary cross entropy of logits: relu(x) - x z + log(1 + exp(-|x|))."""
    xp = assay.namespace(x)
    return xp.relu(x) - x * z + xp.log1p(xp.exp(-abs(x)))


@assay.operator("hinge_loss")
def hinge_loss(x: "rows n", y: "rows n"):
    """mean(relu(1 - x y))."""
    xp = assay.namespace(x)
    return xp.mean(xp.relu(1.0 - x * y), axis=-1)
