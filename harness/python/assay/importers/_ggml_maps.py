# SPDX-License-Identifier: Apache-2.0
"""How each operator of ggml becomes one of assay's, or a definition."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

from . import _ggml_cases as cases
from . import _ggml_elements as elements
from ._cases import NO_FORM, Case, as_rows, count_elements, demand, format_number, join_axes, join_dims
from ._ggml_elements import UNARY
from ._ggml_formulas import BINARY

if TYPE_CHECKING:
    from .ggml import Variables


def _case(op: str, stated: list[str], near: list[str], near_types: bool, attrs: dict[str, Any]) -> Case:
    """A case of the stated types if they are those that the operator takes, else of near ones."""
    demand(stated == near or near_types, f"{'-'.join(stated)} mixed, where operators here take one type: --near-types takes "
                                         + "-".join(near))
    return Case(op, near, attrs, other_types=stated != near)


def _mul_mat(has: Variables, near_types: bool) -> Case:
    """out[n][m] = b[n][k] a[m][k]: the rows of a are weights, so that assay's a is their b."""
    weights, x = has.type("type_a"), has.type("type_b")
    m, n, k, o = has.integers(m=32, n=32, k=32, o=1)
    bs, nr = has.numbers("bs", [10, 10]), has.numbers("nr", [2, 2])
    demand(o <= 1, "o: a sum of several products")
    batch, repeats = count_elements(bs), count_elements(nr)
    demand(repeats == 1 or batch == 1, "operands are repeated over the batch")
    rows = count_elements([n, repeats])  # one a for all of them
    return _case("matmul", [x, weights, "f32"], [weights, weights, "f32"], near_types,
                 {"m": rows, "n": m, "k": k, "batch": batch, "transb": 1})


def _out_prod(has: Variables, near_types: bool) -> Case:
    a, b = has.type("type_a"), has.type("type_b")
    m, n, k = has.integers(m=32, n=32, k=32)
    bs, nr = has.numbers("bs", [10, 10]), has.numbers("nr", [2, 2])
    demand(nr == [1, 1], "operands are repeated over the batch")
    return _case("matmul", [b, a, "f32"], [a, a, "f32"], near_types,
                 {"m": n, "n": m, "k": k, "batch": count_elements(bs), "transa": int(not has.flag("trans_b"))})


def _attention(has: Variables, near_types: bool) -> Case:
    demand(not has.flag("sinks"), "sinks: weights that no key has")
    softcap = has.real("logit_softcap", 0)
    demand(has.real("max_bias", 0) == 0, "max_bias: slopes of the mask for each head")
    both = "hs" in has.texts  # its former name
    d, dv = has.integer("hs" if both else "hsk", 0), has.integer("hs" if both else "hsv", 0)
    heads_kv, keys, queries = has.integers(nh=0, kv=0, nb=0)
    each, batch = has.numbers("nr23", [1, 1]) if "nr23" in has.texts else (has.integer("nr", 1), 1)
    usual = has.texts.get("type_KV", "f16")
    k, v = has.type("type_K", usual), has.type("type_V", usual)
    demand(batch == 1 or not has.flag("mask"), "mask: one for each of the batch")
    demand(d, "it lacks hsk")
    return _case("attention", ["f32", k, v, "f32"], [k, k, k, k], near_types,
                 {"b": batch, "h": count_elements([heads_kv, each]), "hkv": heads_kv, "l": queries, "s": keys, "d": d, "dv": dv,
                  "softcap": format_number(softcap), "mask": "add" if has.flag("mask") else "none"})


def _softmax(has: Variables, near_types: bool) -> Case:
    shape, dtype, repeats = has.extents("ne"), has.type("type"), has.numbers("nr23", [1, 1])
    scale, bias = has.real("scale", 1), has.real("max_bias", 0)
    demand(not has.flag("mask") and bias == 0, "mask: a softmax here has none")
    demand(not has.flag("sinks"), "sinks: weights that no key has")
    demand(scale == 1, "scale: a softmax here has none")
    if len(shape) == 4:
        shape[0] *= repeats[1]
        shape[1] *= repeats[0]
    count_elements(shape)
    return Case("softmax", [dtype], {"shape": join_dims(shape)})


def _softmax_backward(has: Variables, near_types: bool) -> Case:
    scale, bias = has.real("scale", 1), has.real("max_bias", 0)
    demand(scale == 1 and bias == 0, "scale: a softmax here has none")
    return _rows("softmax_backward")(has, near_types)


def _reduce(kind: str, all_axes: bool = False, keepdims: int = 1) -> Callable[[Variables, bool], Case]:
    """Reduces the last axis, or all axes."""
    def map_case(has: Variables, near_types: bool) -> Case:
        shape, types = has.extents("ne"), [has.type("type")]
        if has.flag("slice") and len(shape) == 4:
            shape[0] -= 1
            shape[1] //= 2
        if has.texts.get("permute") == "1" and len(shape) == 4:
            shape = [shape[1], shape[2], shape[0], shape[3]]
        count_elements(shape)
        axes = range(0 if all_axes else len(shape) - 1, len(shape))
        return Case("reduce", types + ["i64"] * (kind == "argmax"),
                    {"shape": join_dims(shape), "axes": join_axes(axes), "kind": kind, "keepdims": keepdims})
    return map_case


def _rows(op: str, key: str = "ne", **more: Any) -> Callable[[Variables, bool], Case]:
    def map_case(has: Variables, near_types: bool) -> Case:
        shape, dtype = has.extents(key), has.type("type")
        return Case(op, [dtype], as_rows(shape) | more)
    return map_case


def _elements(op: str, **more: Any) -> Callable[[Variables, bool], Case]:
    def map_case(has: Variables, near_types: bool) -> Case:
        shape, dtype = has.extents("ne_a" if "ne_a" in has.texts else "ne"), has.type("type")
        return Case(op, [dtype], {"n": count_elements(shape)} | more)
    return map_case


def _swiglu(has: Variables, near_types: bool) -> Case:
    demand(not has.flag("split"), "split: gates in a tensor of their own")
    demand(not has.flag("swapped"), "swapped: gates in the second half")
    case = _rows("silu_and_mul", "ne_a")(has, near_types)
    demand(case.attrs["n"] % 2 == 0, "rows of an odd length have no halves")
    case.attrs["n"] //= 2
    return case


def _top_k(has: Variables, near_types: bool) -> Case:
    return _rows("top_k", k=has.integer("k", 4), tie="any")(has, near_types)


def _argsort(has: Variables, near_types: bool) -> Case:
    return _rows("sort", descending=int(has.flag("order")), tie="any")(has, near_types)


def _get_rows(has: Variables, near_types: bool) -> Case:
    d, rows, picked, *batches = has.integers(n=10, m=5, r=3, be1=1, be2=1, b=1)
    dtype = has.type("type")
    demand(batches == [1, 1, 1], "a table for each of the batch")
    return Case("gather", [dtype, "i32", "f32"], {"v": rows, "n": picked // 2 if has.flag("v") else picked, "d": d})


def _rope(has: Variables, near_types: bool) -> Case:
    halves = 2  # GGML_ROPE_TYPE_NEOX
    shape, dtype = has.extents("ne_a"), has.type("type")
    mode, turned, offset = has.integers(mode=0, n_dims=10, n_offs=0)
    demand(mode == halves, f"mode={mode}: pairs other than of both halves")
    demand(len(shape) == 4 and turned == shape[-1] and offset == 0, "a part of each head is turned")
    return Case("rope", [dtype, "f32", "f32", dtype], dict(zip("blhd", shape)))


def _conv_2d(own_kernels: bool) -> Callable[[Variables, bool], Case]:
    """own_kernels: each channel has a kernel of its own."""
    def map_case(has: Variables, near_types: bool) -> Case:
        x, w, dtype = has.extents("ne_input"), has.extents("ne_kernel"), has.type("type_kernel")
        demand(len(x) == 4 and len(w) == 4, NO_FORM)
        demand(w[1] == (1 if own_kernels else x[1]), "input and kernel have different channels")
        pairs = {"stride": 1, "padding": 0, "dilation": 1}
        ends = ("", "") if own_kernels else ("1", "0")
        stride, pad, dilation = (join_dims([has.integer(name + end, usual) for end in ends]) for name, usual in pairs.items())
        return _case("conv", ["f32", dtype, "f32"], [dtype, dtype, "f32"], near_types,
                     {"n": x[0], "c": x[1], "o": w[0], "i": join_dims(x[2:]), "k": join_dims(w[2:]), "stride": stride,
                      "pad": pad, "dilation": dilation, "groups": x[1] if own_kernels else 1})
    return map_case


def _conv_3d(has: Variables, near_types: bool) -> Case:
    dtype = has.type("type_kernel")

    def dims(keys: str) -> str:
        return join_dims([has.integer(key, 1) for key in keys.split()])

    return _case("conv", ["f32", dtype, "f32"], [dtype, dtype, "f32"], near_types,
                 {"n": has.integer("N", 1), "c": has.integer("IC", 1), "o": has.integer("OC", 1), "i": dims("ID IH IW"),
                  "k": dims("KD KH KW"), "stride": dims("s2 s1 s0"), "pad": dims("p2 p1 p0"), "dilation": dims("d2 d1 d0")})


# The variables that are known, one beside which may change what is computed, the map to assay's operator, and that to a definition,
# which counts where the first has none.
_ROWS = (
    ("MUL_MAT", "type_a type_b m n k bs nr per k_v v o src_overlap", _mul_mat, cases.mul_mat),
    ("OUT_PROD", "type_a type_b m n k bs nr trans_b", _out_prod, cases.out_prod),
    ("MUL_MAT_ID", "type_a type_b n_mats n_used b m n k", None, cases.mul_mat_id),
    ("FLASH_ATTN_EXT", "hs hsk hsv nh nr nr23 kv nb mask sinks max_bias logit_softcap prec type_KV type_K type_V permute "
                       "kv_view v_is_view_of_k", _attention, cases.flash_attention),
    ("SOFT_MAX", "type ne mask sinks m_prec nr23 scale max_bias inplace", _softmax, cases.soft_max),
    ("SOFT_MAX_BACK", "type ne scale max_bias", _softmax_backward, cases.soft_max_back),
    ("SUM", "type ne permute", _reduce("sum", all_axes=True), None),
    ("SUM_ROWS", "type ne permute slice", _reduce("sum"), None),
    ("MEAN", "type ne", _reduce("mean"), None),
    ("ARGMAX", "type ne", _reduce("argmax", keepdims=0), None),
    ("CUMSUM", "type ne", _rows("cumsum"), None),
    ("ARGSORT", "type ne order", _argsort, None),
    ("TOP_K", "type ne k ties", _top_k, None),
    ("GET_ROWS", "type n m r be1 be2 b v", _get_rows, cases.get_rows),
    ("ROPE", "type ne_a n_dims mode n_ctx fs ef af ff v inplace n_offs", _rope, cases.rope(back=False)),
    ("ROPE_BACK", "type ne_a n_dims mode n_ctx fs ef af ff v inplace n_offs", None, cases.rope(back=True)),
    ("CONV_2D", "ne_input ne_kernel type_kernel stride0 stride1 padding0 padding1 dilation0 dilation1 cwhn",
     _conv_2d(own_kernels=False), cases.conv_2d(own_kernels=False)),
    ("CONV_2D_DW", "ne_input ne_kernel type_kernel stride padding dilation cwhn", _conv_2d(own_kernels=True),
     cases.conv_2d(own_kernels=True)),
    ("CONV_3D", "N IC ID IH IW OC KD KH KW s0 s1 s2 p0 p1 p2 d0 d1 d2 type_kernel", _conv_3d, cases.conv_3d),
    ("CONV_TRANSPOSE_1D", "ne_input ne_kernel s0 p0 d0", None, cases.conv_transpose(1)),
    ("CONV_TRANSPOSE_2D", "kernel_type ne_input ne_kernel stride", None, cases.conv_transpose(2)),
    ("IM2COL", "type_input type_kernel dst_type ne_input ne_kernel s0 s1 p0 p1 d0 d1 is_2D", None, cases.im2col),
    ("IM2COL_3D", "type_input type_kernel dst_type ne_input ne_kernel IC s0 s1 s2 p0 p1 p2 d0 d1 d2 v", None, cases.im2col_3d),
    ("COL2IM_1D", "type K OC T_in s0 p0", None, cases.col2im),
    ("POOL_1D", "pool_type type_input ne_input k0 s0 p0", None, cases.pool(1)),
    ("POOL_2D", "pool_type type_input ne_input k0 k1 s0 s1 p0 p1", None, cases.pool(2)),
    ("SWIGLU", "type ne_a v split swapped", _swiglu, cases.glu("swiglu")),
    *((op.upper(), "type ne_a v split swapped", None, cases.glu(op)) for op in ("reglu", "geglu", "geglu_erf", "geglu_quick")),
    ("SWIGLU_OAI", "type ne_a v alpha limit", None, cases.swiglu_oai),
    ("EXP", "type ne_a v", _elements("exp"), None),
    ("LOG", "type ne", _elements("log"), None),
    ("TANH", "type ne_a v", _elements("tanh"), None),
    ("GELU", "type ne_a v", _elements("gelu", approx="tanh"), None),
    ("GELU_ERF", "type ne_a v", _elements("gelu"), None),
    *((op.upper(), "type ne ne_a v", None, cases.unary(op)) for op in UNARY),
    ("LEAKY_RELU", "type ne_a negative_slope", None, cases.with_numbers("leaky_relu", slope=("negative_slope", 0.1))),
    ("CLAMP", "type ne min max", None, cases.with_numbers("clamp", low=("min", -0.5), high=("max", 0.5))),
    ("SCALE", "type ne scale bias inplace", None, cases.with_numbers("scale", scale=("scale", 2), bias=("bias", 0))),
    ("NORM", "type ne v eps noncontig_rows", None, cases.norm("norm")),
    ("RMS_NORM", "type ne v eps inplace", None, cases.norm("rms_norm")),
    ("L2_NORM", "type ne eps v noncontig_rows", None, cases.norm("l2_norm")),
    ("GROUP_NORM", "type ne num_groups eps", None, cases.group_norm),
    ("RMS_NORM_BACK", "type ne eps", None, cases.rows_of(elements.rms_norm_back, ("eps", 1e-6))),
    ("SILU_BACK", "type ne eps", None, cases.silu_back),
    ("CROSS_ENTROPY_LOSS", "type ne", None, cases.rows_of(elements.cross_entropy_loss)),
    *((op.upper(), "type ne nr nf perm1 src_overlap", None, cases.binary(op)) for op in BINARY),
    ("ADD_ID", "type_a type_b n_embd n_experts n_experts_used n_token", None, cases.add_id),
    ("ACC", "type ne_a ne_b stride_dim", None, cases.accumulate),
    ("CPY", "type_src type_dst ne_src ne_dst permute_src permute_dst _src_transpose", None, cases.copy),
    ("DUP", "type ne permute", None, cases.duplicate("dup")),
    ("CONT", "type ne use_view_slice permute", None, cases.duplicate("cont")),
    ("CONCAT", "type ne_a ne_b_d dim v", None, cases.concat),
    ("REPEAT", "type ne nr", None, cases.repeat(back=False)),
    ("REPEAT_BACK", "type ne nr v", None, cases.repeat(back=True)),
    ("PAD", "type ne_a pad_0 pad_1 lp0 rp0 lp1 rp1 lp2 rp2 lp3 rp3 tfrm circular", None, cases.pad),
    ("SSM_CONV", "type ne_a ne_b", None, cases.ssm_conv))
OPERATORS = {name: (frozenset(known.split()), map_case, define) for name, known, map_case, define in _ROWS}
