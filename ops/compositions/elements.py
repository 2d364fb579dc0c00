# SPDX-License-Identifier: Apache-2.0
"""Compositions that networks contain, element by element: activations with what stands around them, gates, steps of optimisers."""
import math

import assay


# Activations, with what stands around them.
@assay.operator("bias_gelu", roles={"bias": "offset"})
def bias_gelu(x: "rows n", bias: "n"):
    """gelu(x + bias)."""
    return assay.namespace(x).gelu(x + bias)


@assay.operator("bias_gelu_tanh", roles={"bias": "offset"})
def bias_gelu_tanh(x: "rows n", bias: "n"):
    """gelu(x + bias), by tanh."""
    return assay.namespace(x).gelu(x + bias, approximate="tanh")


@assay.operator("bias_silu", roles={"bias": "offset"})
def bias_silu(x: "rows n", bias: "n"):
    """silu(x + bias)."""
    return assay.namespace(x).silu(x + bias)


@assay.operator("bias_relu_squared", roles={"bias": "offset"})
def bias_relu_squared(x: "rows n", bias: "n"):
    """relu(x + bias)^2."""
    y = assay.namespace(x).relu(x + bias)
    return y * y


@assay.operator("traced_quick_gelu")
def traced_quick_gelu(x: "rows n", *, slope: float = 1.702):
    """x sigmoid(slope x)."""
    return x * assay.namespace(x).sigmoid(slope * x)


@assay.operator("traced_softplus")
def traced_softplus(x: "rows n"):
    """log(1 + exp(x)), which does not overflow."""
    xp = assay.namespace(x)
    return xp.relu(x) + xp.log1p(xp.exp(-abs(x)))


@assay.operator("traced_mish")
def traced_mish(x: "rows n"):
    """x tanh(softplus(x))."""
    xp = assay.namespace(x)
    return x * xp.tanh(xp.relu(x) + xp.log1p(xp.exp(-abs(x))))


@assay.operator("log_sigmoid")
def log_sigmoid(x: "rows n"):
    """log(sigmoid(x)), which does not overflow."""
    xp = assay.namespace(x)
    return xp.minimum(x, 0.0) - xp.log1p(xp.exp(-abs(x)))


@assay.operator("hard_swish")
def hard_swish(x: "rows n"):
    """x clip(x + 3, 0, 6) / 6."""
    xp = assay.namespace(x)
    return x * xp.minimum(xp.maximum(x + 3.0, 0.0), 6.0) / 6.0


@assay.operator("traced_leaky_relu")
def traced_leaky_relu(x: "rows n", *, slope: float = 0.01):
    """x, or slope x where x is below 0."""
    return assay.namespace(x).where(x < 0.0, slope * x, x)


@assay.operator("traced_elu")
def traced_elu(x: "rows n"):
    """x, or exp(x) - 1 where x is below 0."""
    xp = assay.namespace(x)
    return xp.where(x < 0.0, xp.exp(xp.minimum(x, 0.0)) - 1.0, x)


@assay.operator("tanh_shrink")
def tanh_shrink(x: "rows n"):
    """x - tanh(x)."""
    return x - assay.namespace(x).tanh(x)


@assay.operator("traced_softsign")
def traced_softsign(x: "rows n"):
    """x / (1 + |x|)."""
    return x / (1.0 + abs(x))


@assay.operator("soft_cap")
def soft_cap(x: "rows n", *, cap: float = 30.0):
    """cap tanh(x / cap)."""
    return cap * assay.namespace(x).tanh(x / cap)


@assay.operator("gaussian")
def gaussian(x: "rows n"):
    """exp(-x^2 / 2)."""
    return assay.namespace(x).exp(-0.5 * x * x)


@assay.operator("cubic_horner")
def cubic_horner(x: "rows n"):
    """((0.125 x + 0.25) x - 0.5) x + 1."""
    return ((0.125 * x + 0.25) * x - 0.5) * x + 1.0


@assay.operator("rational_tanh")
def rational_tanh(x: "rows n"):
    """x (27 + x^2) / (27 + 9 x^2)."""
    s = x * x
    return x * (27.0 + s) / (27.0 + 9.0 * s)


@assay.operator("traced_gelu_backward")
def traced_gelu_backward(x: "rows n", dy: "rows n"):
    """Gradient of gelu by erf."""
    xp = assay.namespace(x)
    below = 0.5 * (1.0 + xp.erf(x * math.sqrt(0.5)))
    return dy * (below + x * xp.exp(-0.5 * x * x) * math.sqrt(0.5 / math.pi))


@assay.operator("silu_backward")
def silu_backward(x: "rows n", dy: "rows n"):
    """Gradient of silu."""
    s = assay.namespace(x).sigmoid(x)
    return dy * s * (1.0 + x * (1.0 - s))


@assay.operator("sine_times_cosine")
def sine_times_cosine(x: "rows n"):
    """sin(x) cos(x)."""
    xp = assay.namespace(x)
    return xp.sin(x) * xp.cos(x)


# Elements.
@assay.operator("difference_of_squares")
def difference_of_squares(x1: "rows n", x2: "rows n"):
    """x2^2 - x1^2."""
    return x2 * x2 - x1 * x1


@assay.operator("squared_difference")
def squared_difference(x1: "rows n", x2: "rows n"):
    """(x2 - x1)^2."""
    return (x2 - x1) ** 2


@assay.operator("lerp", roles={"weight": "table"})
def lerp(x: "rows n", y: "rows n", weight: "rows n"):
    """x + weight (y - x)."""
    return x + weight * (y - x)


@assay.operator("addcmul")
def addcmul(x: "rows n", a: "rows n", b: "rows n", *, value: float = 0.5):
    """x + value a b."""
    return x + value * a * b


@assay.operator("addcdiv", roles={"b": "weight"})
def addcdiv(x: "rows n", a: "rows n", b: "rows n", *, value: float = 0.5):
    """x + value a / b."""
    return x + value * a / b


@assay.operator("where_and_fill")
def where_and_fill(x: "rows n", limit: "rows n"):
    """x where it is less than a limit, else 0."""
    return assay.namespace(x).where(x < limit, x, 0.0)


@assay.operator("clamped_residual")
def clamped_residual(x: "rows n", residual: "rows n", *, limit: float = 1.5):
    """clip(x, -limit, limit) + residual."""
    xp = assay.namespace(x)
    return xp.minimum(xp.maximum(x, -limit), limit) + residual


@assay.operator("complex_product")
def complex_product(a: "rows n", b: "rows n", c: "rows n", d: "rows n"):
    """(a + bi) (c + di)."""
    return a * c - b * d, a * d + b * c


@assay.operator("rope_of_halves", roles={"cos": "table", "sin": "table"})
def rope_of_halves(x: "rows 2*n", cos: "rows n", sin: "rows n"):
    """Halves of a row, rotated as pairs."""
    first, second = assay.namespace(x).split(x, 2, axis=-1)
    return first * cos - second * sin, second * cos + first * sin


# Steps of optimisers.
@assay.operator("adam_step", roles={"v": "positive"})
def adam_step(p: "n", g: "n", m: "n", v: "n", *, lr: float = 1e-3, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8):
    """Parameters and moments after a step of Adam."""
    m = b1 * m + (1.0 - b1) * g
    v = b2 * v + (1.0 - b2) * g * g
    return {"p_new": p - lr * m / (assay.namespace(p).sqrt(v) + eps), "m_new": m, "v_new": v}


@assay.operator("momentum_step")
def momentum_step(p: "n", g: "n", m: "n", *, lr: float = 0.01, momentum: float = 0.9, decay: float = 0.01):
    """Parameters and momentum after a step of descent with weight decay."""
    m = momentum * m + (g + decay * p)
    return p - lr * m, m
