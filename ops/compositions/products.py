# SPDX-License-Identifier: Apache-2.0
"""Compositions that networks contain, around products of matrices."""
import assay


# Products.
@assay.operator("matvec")
def matvec(w: "rows n", x: "n"):
    """w x."""
    return w @ x


@assay.operator("matvec_norm")
def matvec_norm(w: "rows n", x: "n"):
    """|w x|^2."""
    y = w @ x
    return assay.namespace(w).sum(y * y)


@assay.operator("linear_gelu", roles={"bias": "offset"})
def linear_gelu(x: "rows k", w: "k n", bias: "n"):
    """gelu(x w + bias)."""
    return assay.namespace(x).gelu(x @ w + bias)


@assay.operator("linear_relu", roles={"bias": "offset"})
def linear_relu(x: "rows k", w: "k n", bias: "n"):
    """relu(x w + bias)."""
    return assay.namespace(x).relu(x @ w + bias)


@assay.operator("linear_residual")
def linear_residual(x: "rows k", w: "k n", residual: "rows n", *, scale: float = 0.5):
    """residual + scale x w."""
    return residual + scale * (x @ w)


@assay.operator("linear_softmax")
def linear_softmax(x: "rows k", w: "k n"):
    """softmax(x w), as a router has it."""
    return assay.namespace(x).softmax(x @ w, axis=-1)


@assay.operator("gated_linear")
def gated_linear(x: "rows k", w1: "k n", w2: "k n"):
    """silu(x w1) times x w2."""
    return assay.namespace(x).silu(x @ w1) * (x @ w2)


@assay.operator("gated_mlp")
def gated_mlp(x: "rows k", w1: "k n", w2: "k n", w3: "n m"):
    """(silu(x w1) times x w2) w3."""
    return (assay.namespace(x).silu(x @ w1) * (x @ w2)) @ w3


@assay.operator("swiglu_of_halves")
def swiglu_of_halves(x: "rows 2*n"):
    """silu of one half of a row times the other."""
    xp = assay.namespace(x)
    gate, up = xp.split(x, 2, axis=-1)
    return xp.silu(gate) * up


@assay.operator("geglu_of_halves")
def geglu_of_halves(x: "rows 2*n"):
    """gelu of one half of a row times the other."""
    xp = assay.namespace(x)
    up, gate = xp.split(x, 2, axis=-1)
    return up * xp.gelu(gate)


@assay.operator("low_rank_linear")
def low_rank_linear(x: "rows k", w: "k n", a: "k r", b: "r n", *, scale: float = 0.5):
    """x w + scale (x a) b."""
    return x @ w + scale * ((x @ a) @ b)


@assay.operator("scaled_weights", roles={"scale": "weight"})
def scaled_weights(x: "rows k", codes: "k n", scale: "n"):
    """x (codes scale), a scale for each column."""
    return x @ (codes * scale)


@assay.operator("scaled_product", roles={"row_scale": "weight", "scale": "weight"})
def scaled_product(x: "rows k", w: "k n", row_scale: "rows", scale: "n"):
    """(x w) by scales of rows and columns."""
    return (x @ w) * row_scale[:, None] * scale


@assay.operator("gram_matrix")
def gram_matrix(x: "rows n"):
    """x x^T / n^(1/2), with n of 64."""
    return (x @ x.T) * 0.125


@assay.operator("bilinear_form")
def bilinear_form(x: "rows k", w: "k n", y: "rows n"):
    """sum((x w) y) of each row."""
    return assay.namespace(x).sum((x @ w) * y, axis=-1)


@assay.operator("plain_attention")
def plain_attention(q: "l d", k: "s d", v: "s e"):
    """softmax(q k^T / 8) v."""
    return assay.namespace(q).softmax((q @ k.T) * 0.125, axis=-1) @ v


@assay.operator("biased_attention", roles={"bias": "offset"})
def biased_attention(q: "h l d", k: "h s d", v: "h s e", bias: "l s"):
    """softmax(q k^T / 8 + bias) v of each head."""
    return assay.namespace(q).softmax((q @ k.mT) * 0.125 + bias, axis=-1) @ v


@assay.operator("traced_linear_attention")
def traced_linear_attention(q: "l d", k: "s d", v: "s e"):
    """q (k^T v)."""
    return q @ (k.T @ v)


@assay.operator("norm_and_linear", roles={"gamma": "weight"})
def norm_and_linear(x: "rows k", gamma: "k", w: "k n", *, eps: float = 1e-5):
    """rms_norm(x) w."""
    xp = assay.namespace(x)
    return (x * xp.rsqrt(xp.mean(x * x, axis=-1, keepdims=True) + eps) * gamma) @ w
