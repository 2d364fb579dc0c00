# SPDX-License-Identifier: Apache-2.0
"""The layers of networks as calls of operators, from the numbers of scripts/models.toml; for scripts/model_suites.py."""
import dataclasses

# Lists of types where an operator's operands differ, by the type of the network.
MIXED = {"embedding": "{0}-i64-{0}", "kv_cache_write": "{0}-{0}-i64-{0}", "moe_permute": "{0}-i64-{0}",
         "moe_unpermute": "{0}-i64-{0}-{0}", "grouped_gemm": "{0}-{0}-i32-{0}"}
WIDER = {("rope", "bf16"): "bf16-f32-f32-bf16", ("moe_route", "bf16"): "bf16-f32"}
FP8 = ["e4m3-e4m3-f32-f32-bf16"]
PREFILL, KEYS = 512, 4096  # tokens of a prompt; keys that a decoded token meets


@dataclasses.dataclass
class Layer:
    name: str
    op: str
    types: list
    attributes: list
    scaled: str  # keys that --scale divides
    calls: int
    weights: int  # of all calls
    source: str


class Network:
    """Layers in their order; calls of one layer's equal cases add up."""

    def __init__(self, *types):
        self.types = types
        self.layers = {}

    def add(self, name, op, scaled, calls=1, weights=0, types=None, source="", **attributes):
        own = types or [WIDER.get((op, t)) or MIXED.get(op, "{0}").format(t) for t in self.types]
        key = (name, op, *own, *attributes.items())
        layer = self.layers.setdefault(key, Layer(name, op, own, list(attributes.items()), scaled, 0, 0, source))
        layer.calls += calls
        layer.weights += weights * calls

    def product(self, name, m, n, k, calls=1, bias=False, scaled="m n k", tied=False):
        """A linear layer of m rows, whose weights are stored [n,k]."""
        self.add(name, "matmul", scaled, calls, 0 if tied else n * k + bias * n, m=m, n=n, k=k, transb=1,
                 **({"bias": 1} if bias else {}))

    def fp8_product(self, name, m, n, k, calls):
        self.add(name, "scaled_mm", "m n k", calls, n * k, FP8, m=m, k=k, n=n, per="block")

    def embed(self, name, rows, width, tokens):
        self.add(name, "embedding", "v d l", 1, rows * width, v=rows, b=1, l=tokens, d=width)

    def elementwise(self, name, op, n, calls=1, **attributes):
        self.add(name, op, "n", calls, n=n, **attributes)

    def layer_norm(self, name, rows, n, calls=1, eps="1e-05"):
        self.add(name, "layer_norm", "rows n", calls, 2 * n, rows=rows, n=n, eps=eps)

    def rms_norm(self, name, rows, n, calls, eps, fused=False, scaled="rows n"):
        self.add(name, "fused_add_rms_norm" if fused else "rms_norm", scaled, calls, n, rows=rows, n=n, eps=f"{eps:g}")

    def head(self, width, vocabulary, tied=False):
        """The logits of the last token, and what sampling makes of them."""
        self.product("head", 1, vocabulary, width, scaled="n k", tied=tied)
        self.add("sampling", "softmax", "shape.1", types=["f32"], shape=f"1x{vocabulary}")
        self.add("sampling", "reduce", "shape.1", types=["f32-i64"], shape=f"1x{vocabulary}", axes=1, kind="argmax")


def pass_phases(write):
    """A prompt of tokens, and a token behind many."""
    return {f"prefill of {PREFILL} tokens": write(PREFILL, PREFILL), f"decode of a token at {KEYS} keys": write(1, KEYS)}


def write_experts(net, t, tokens):
    """A layer of experts as servers execute it: routed, permuted, multiplied group by group, and joined."""
    hidden, ffn, experts, chosen = t["hidden"], t["ffn"], t["experts"], t["chosen"]
    calls = t["layers"] - t.get("dense_layers", 0)
    latent, bias = t["network"] == "latent", t.get("bias", False)
    rows = tokens * chosen
    moved = "t d experts" if experts > 128 else "t d"  # few experts stay, so that `chosen` of them are there
    grouped = ("rows " if tokens > 1 else "") + ("k n groups" if experts >= 32 else "k n")
    # DeepSeek's weights of its experts have a bias beside them, by which experts are chosen.
    net.add("moe.router", "matmul", "m k", calls, hidden * experts + (bias or latent) * experts, m=tokens, n=experts,
            k=hidden, transb=1, **({"bias": 1} if bias else {}))
    net.add("moe.route", "moe_route", "t experts" if experts > 128 else "t", calls, t=tokens, k=chosen, experts=experts,
            **({"score": "sigmoid"} if latent else {}), norm=1)
    net.add("moe.permute", "moe_permute", moved, calls, t=tokens, k=chosen, d=hidden, experts=experts)
    gates = [("moe.gate_up", 2 * ffn, 1)] if t.get("clamp") else [("moe.gate", ffn, 1), ("moe.up", ffn, 1)]
    for name, n, each in [*gates, ("moe.down", hidden, 1)]:
        k = ffn if name == "moe.down" else hidden
        net.add(name, "grouped_gemm", grouped, calls * each, experts * n * (k + bias), rows=rows, k=k, groups=experts, n=n)
    gate(net, "moe.act", t, rows, ffn, calls)
    net.add("moe.unpermute", "moe_unpermute", "rows t d" if tokens > 1 else "d", calls, rows=rows, t=tokens, k=chosen,
            d=hidden)


def gate(net, name, t, rows, ffn, calls):
    if t.get("clamp"):
        net.add(name, "clamped_swiglu", "rows n", calls, rows=rows, n=ffn, limit=t["clamp"])
    else:
        net.add(name, "silu_and_mul", "rows n", calls, rows=rows, n=ffn)


def write_decoder(t):
    return pass_phases(lambda tokens, keys: decoder_layers(t, tokens, keys))


def decoder_layers(t, tokens, keys):
    net = Network("bf16", "f32")
    layers, hidden, head, eps = t["layers"], t["hidden"], t["head"], t["eps"]
    queries, pairs, bias = t["heads"] * head, t["kv_heads"] * head, t.get("bias", False)
    net.embed("embed", t["vocabulary"], hidden, tokens)
    net.rms_norm("norm.first", tokens, hidden, 1, eps)
    net.rms_norm("norm", tokens, hidden, 2 * layers, eps, fused=True)
    net.product("attn.q_proj", tokens, queries, hidden, layers, bias)
    net.product("attn.kv_proj", tokens, pairs, hidden, 2 * layers, bias)
    for name, heads in (("q", t["heads"]), ("k", t["kv_heads"])):
        if t.get("head_norms"):
            net.rms_norm(f"attn.{name}_norm", tokens * heads, head, layers, eps, scaled="rows")
        net.add(f"attn.{name}_rope", "rope", "l h", layers, b=1, l=tokens, h=heads, d=head)
    net.add("attn.cache", "kv_cache_write", "size n h", 2 * layers, size=keys, n=tokens, h=t["kv_heads"], d=head)
    shape = dict(b=1, h=t["heads"], hkv=t["kv_heads"], l=tokens, s=keys, d=head)
    if t.get("sinks"):
        for window in (0, t["window"]):
            net.add("attn.window" if window else "attn.full", "sink_attention", "h hkv l s", layers // 2, t["heads"],
                    **shape, dv=head, causal=1, window=window)
    else:
        net.add("attn", "attention", "h hkv l s", layers, **shape, causal=1)
    net.product("attn.o_proj", tokens, hidden, queries, layers, bias)
    if "experts" in t:
        write_experts(net, t, tokens)
    else:
        net.product("ffn.gate_up", tokens, t["ffn"], hidden, 2 * layers)
        gate(net, "ffn.act", t, tokens, t["ffn"], layers)
        net.product("ffn.down", tokens, hidden, t["ffn"], layers)
    net.head(hidden, t["vocabulary"])
    return list(net.layers.values())


def write_latent(t):
    return pass_phases(lambda tokens, keys: latent_layers(t, tokens, keys))


def latent_layers(t, tokens, keys):
    """Attention on latent keys and values; a decoded token multiplies their matrix into queries and results instead."""
    net = Network("bf16")
    layers, hidden, heads, rank, eps = t["layers"], t["hidden"], t["heads"], t["kv_rank"], t["eps"]
    head, turned = t["head"], t["turned"]
    net.embed("embed", t["vocabulary"], hidden, tokens)
    net.rms_norm("norm.first", tokens, hidden, 1, eps)
    net.rms_norm("norm", tokens, hidden, 2 * layers, eps, fused=True)
    net.fp8_product("attn.q_a", tokens, t["query_rank"], hidden, layers)
    net.rms_norm("attn.q_norm", tokens, t["query_rank"], layers, eps)
    net.fp8_product("attn.q_b", tokens, heads * (head + turned), t["query_rank"], layers)
    net.fp8_product("attn.kv_a", tokens, rank + turned, hidden, layers)
    net.rms_norm("attn.kv_norm", tokens, rank, layers, eps)
    for name, of in (("q", heads), ("k", 1)):
        net.add(f"attn.{name}_rope", "rope", "l h", layers, b=1, l=tokens, h=of, d=turned)
    net.add("attn.cache", "kv_cache_write", "size n", layers, size=keys, n=tokens, h=1, d=rank + turned)
    if tokens > 1:
        net.fp8_product("attn.kv_b", tokens, heads * 2 * head, rank, layers)
        net.add("attn", "attention", "h hkv l s", layers, b=1, h=heads, hkv=heads, l=tokens, s=keys, d=head + turned,
                dv=head, causal=1)
    else:
        for name, n, k in (("attn.q_absorbed", rank, head), ("attn.v_absorbed", head, rank)):
            net.add(name, "matmul", "batch", layers, heads * n * k, m=1, n=n, k=k, batch=heads)
        net.add("attn", "attention", "h hkv l s", layers, b=1, h=heads, hkv=1, l=tokens, s=keys, d=rank + turned, dv=rank,
                causal=1, scale=f"{(head + turned) ** -0.5:.6g}")
    net.fp8_product("attn.o_proj", tokens, hidden, heads * head, layers)
    for name, ffn, calls in (("ffn", t["dense_ffn"], t["dense_layers"]), ("moe.shared", t["ffn"], layers - t["dense_layers"])):
        net.fp8_product(f"{name}.gate_up", tokens, ffn, hidden, 2 * calls)
        gate(net, f"{name}.act", t, tokens, ffn, calls)
        net.fp8_product(f"{name}.down", tokens, hidden, ffn, calls)
    write_experts(net, t, tokens)
    net.head(hidden, t["vocabulary"])
    return list(net.layers.values())


def write_mamba(t):
    return pass_phases(lambda tokens, _: mamba_layers(t, tokens))


def mamba_layers(t, tokens):
    net = Network("bf16", "f32")
    layers, hidden, inner, states, rank = t["layers"], t["hidden"], t["inner"], t["states"], t["delta_rank"]
    net.embed("embed", t["vocabulary"], hidden, tokens)
    net.rms_norm("norm.first", tokens, hidden, 1, t["eps"])
    net.rms_norm("norm", tokens, hidden, layers, t["eps"], fused=True)
    net.product("in_proj", tokens, 2 * inner, hidden, layers)
    net.add("conv", "causal_conv1d", "c l", layers, inner * (t["window"] + 1), b=1, c=inner, l=tokens, k=t["window"], silu=1)
    net.product("x_proj", tokens, rank + 2 * states, inner, layers, scaled="m k")
    net.product("dt_proj", tokens, inner, rank, layers, bias=True)
    net.elementwise("delta", "softplus", tokens * inner, layers)
    net.add("scan", "selective_scan", "c l", layers, inner * (states + 1), b=1, c=inner, s=states, l=tokens)
    net.elementwise("gate", "silu", tokens * inner, layers)
    net.elementwise("gate", "mul", tokens * inner, layers)
    net.product("out_proj", tokens, hidden, inner, layers)
    net.head(hidden, t["vocabulary"], tied=True)
    return list(net.layers.values())


def write_encoder(net, t, tokens, name, eps, mask=None, key_bias=True):
    """The layers of an encoder with biases, a norm before or behind each half, and gelu."""
    layers, hidden, heads, ffn = t["layers"], t["hidden"], t["heads"], t["ffn"]
    net.layer_norm(f"{name}.norm", tokens, hidden, 2 * layers, eps)
    net.product(f"{name}.attn.proj", tokens, hidden, hidden, (4 if key_bias else 3) * layers, bias=True)
    if not key_bias:
        net.product(f"{name}.attn.k_proj", tokens, hidden, hidden, layers)
    net.add(f"{name}.attn", "attention", "h", layers, b=1, h=heads, l=tokens, d=hidden // heads,
            **({"mask": mask} if mask else {}))
    net.product(f"{name}.ffn.up", tokens, ffn, hidden, layers, bias=True, scaled="n k")
    net.elementwise(f"{name}.ffn.act", "gelu", tokens * ffn, layers)
    net.product(f"{name}.ffn.down", tokens, hidden, ffn, layers, bias=True, scaled="n k")
    net.elementwise(f"{name}.residual", "add", tokens * hidden, 2 * layers)


def write_bert(t):
    net = Network("f32", "bf16")
    tokens, hidden, ffn = t["tokens"], t["hidden"], t["ffn"]
    for name in ("vocabulary", "positions", "kinds"):
        net.add(f"embed.{name}", "embedding", "v d" if name == "vocabulary" else "d", 1, t[name] * hidden, v=t[name], b=1,
                l=tokens, d=hidden)
    net.elementwise("embed.sum", "add", tokens * hidden, 2)
    net.layer_norm("embed.norm", tokens, hidden, eps="1e-12")
    write_encoder(net, t, tokens, "layer", "1e-12", mask="bool")
    for n, k in ((ffn, hidden), (hidden, ffn)):
        net.add("layer.ffn.int8", "matmul", "n k", t["layers"], types=["i8-i8-i32"], source="https://arxiv.org/abs/2101.01321",
                m=tokens, n=n, k=k, fill="uniform")
    net.product("pooler", 1, hidden, hidden, bias=True)
    net.elementwise("pooler", "tanh", hidden)
    return {"": list(net.layers.values())}


def write_vit(t):
    net = Network("f32", "bf16")
    hidden, patch = t["hidden"], t["patch"]
    tokens = (t["image"] // patch) ** 2 + 1
    net.add("patches", "conv", "o", 1, hidden * 3 * patch * patch + hidden, n=1, c=3, o=hidden, i=f"{t['image']}x{t['image']}",
            k=f"{patch}x{patch}", stride=patch, bias=1)
    net.add("positions", "add", "n", 1, (tokens + 1) * hidden, n=tokens * hidden)  # and the first token itself
    write_encoder(net, t, tokens, "layer", "1e-06")
    net.layer_norm("norm", tokens, hidden, eps="1e-06")
    net.product("head", 1, t["classes"], hidden, bias=True, scaled="k")
    return {"": list(net.layers.values())}


def conv(net, name, c, o, i, k, stride=1, groups=1, bias=False, norm="", act="", fixed=""):
    """A convolution with what stands behind it; `fixed` are channels that --scale leaves: c, o. Gives the next image."""
    scaled = " ".join(key for key in ("c", "o") if key not in fixed) + (" groups" if groups > 1 else "")
    more = {key: value for key, value in (("stride", stride), ("pad", k // 2), ("groups", groups)) if value not in (0, 1)}
    if k // 2 == 1:
        more["pad"] = 1
    net.add(name, "conv", scaled, 1, o * c // groups * k * k + bias * o, n=1, c=c, o=o, i=f"{i}x{i}", k=f"{k}x{k}", **more,
            **({"bias": 1} if bias else {}))
    i = (i - 1) // stride + 1
    if norm:
        net.add(f"{norm}.norm", "batch_norm", "c", 1, 2 * o, n=1, c=o, s=i * i)
    if act:
        net.elementwise(f"{norm}.act", act, o * i * i)
    return i


def classify(net, channels, image, classes):
    net.add("pool", "reduce", "shape.1", shape=f"1x{channels}x{image}x{image}", axes="2+3", kind="mean")
    net.product("fc", 1, classes, channels, bias=True, scaled="k")
    return {"": list(net.layers.values())}


def write_resnet(t):
    net = Network("f32", "bf16")
    image = conv(net, "conv1", 3, 64, t["image"], 7, stride=2, norm="conv1", act="relu", fixed="c")
    net.add("pool1", "max_pool", "c", n=1, c=64, h=image, w=image, k=3, stride=2, pad=1)
    image, before = image // 2, 64
    for at, repeats in enumerate(t["blocks"]):
        name, width = f"conv{at + 2}_x", 64 << at
        for repeat in range(repeats):
            stride = 2 if at > 0 and repeat == 0 else 1
            if repeat == 0:
                conv(net, f"{name}.shortcut", before, 4 * width, image, 1, stride, norm=name)
            image = conv(net, name, before, width, image, 1, stride, norm=name, act="relu")
            conv(net, name, width, width, image, 3, norm=name, act="relu")
            conv(net, name, width, 4 * width, image, 1, norm=name, act="relu")
            net.elementwise(f"{name}.residual", "add", 4 * width * image * image)
            before = 4 * width
        net.add(f"{name}.int8", "conv", "c o", repeats, types=["i8-i8-i32"], source="https://arxiv.org/abs/1712.05877", n=1,
                c=width, o=width, i=f"{image}x{image}", k="3x3", pad=1, fill="uniform")
    return classify(net, before, image, t["classes"])


def write_mobilenet(t):
    net = Network("f32", "bf16")
    image, before = conv(net, "conv1", 3, 32, t["image"], 3, stride=2, norm="conv1", act="relu6", fixed="c"), 32
    for expansion, channels, repeats, first in t["bottlenecks"]:
        for repeat in range(repeats):
            inner, stride = before * expansion, first if repeat == 0 else 1
            if expansion > 1:
                conv(net, "expand", before, inner, image, 1, norm="expand", act="relu6")
            image = conv(net, "depthwise", inner, inner, image, 3, stride, groups=inner, norm="depthwise", act="relu6")
            conv(net, "project", inner, channels, image, 1, norm="project")
            if repeat > 0:
                net.elementwise("residual", "add", channels * image * image)
            before = channels
    conv(net, "head", before, 1280, image, 1, norm="head", act="relu6")
    return classify(net, 1280, image, t["classes"])


class UNet:
    """Walks the blocks of the network down and up again."""

    def __init__(self, t):
        self.t = t
        self.net = Network("f16", "f32")
        self.time = 4 * t["channels"][0]

    def norm(self, name, channels, image, eps):
        groups = self.t["groups"]
        self.net.add(name, "group_norm", "c", 1, 2 * channels, b=1, g=groups, c=channels // groups, n=image * image, eps=eps)

    def normed_conv(self, name, c, o, image, fixed=""):
        self.norm(f"{name}.norm", c, image, "1e-05")
        self.net.elementwise(f"{name}.act", "silu", c * image * image)
        conv(self.net, f"{name}.conv", c, o, image, 3, bias=True, fixed=fixed)

    def residual(self, c, o, image):
        self.normed_conv("res", c, o, image)
        self.net.elementwise("res.time.act", "silu", self.time)
        self.net.product("res.time", 1, o, self.time, bias=True)
        self.net.add("res.time.add", "add", "n", n=image * image, per="column", rows=o)
        self.normed_conv("res", o, o, image)
        if c != o:
            conv(self.net, "res.shortcut", c, o, image, 1, bias=True)
        self.net.elementwise("res.residual", "add", o * image * image)

    def attention(self, c, image):
        net, t, tokens = self.net, self.t, image * image
        self.norm("attn.norm", c, image, "1e-06")
        conv(net, "attn.proj", c, c, image, 1, bias=True)
        net.layer_norm("attn.layer_norm", tokens, c, 3)
        net.product("attn.qkv", tokens, c, c, 3, scaled="n k")
        net.product("attn.cross_q", tokens, c, c, scaled="n k")
        net.product("attn.cross_kv", t["text"], c, t["text_width"], 2, scaled="n k")
        for name, s in (("attn.self", tokens), ("attn.cross", t["text"])):
            net.add(name, "attention", "h", b=1, h=t["heads"], l=tokens, s=s, d=c // t["heads"])
        net.product("attn.out", tokens, c, c, 2, bias=True, scaled="n k")
        net.product("attn.ffn.up", tokens, 8 * c, c, bias=True, scaled="n k")
        net.add("attn.ffn.act", "gelu_and_mul", "n", rows=tokens, n=4 * c)
        net.product("attn.ffn.down", tokens, c, 4 * c, bias=True, scaled="n k")
        net.elementwise("attn.residual", "add", c * tokens, 4)
        conv(net, "attn.proj", c, c, image, 1, bias=True)

    def write(self):
        net, channels, image = self.net, self.t["channels"], self.t["image"]
        net.product("time", 1, self.time, channels[0], bias=True)
        net.elementwise("time.act", "silu", self.time)
        net.product("time", 1, self.time, self.time, bias=True)
        conv(net, "conv_in", self.t["latents"], channels[0], image, 3, bias=True, fixed="c")
        skips, before = [channels[0]], channels[0]
        for at, width in enumerate(channels):
            for _ in range(self.t["blocks"]):
                self.residual(before, width, image)
                if at + 1 < len(channels):
                    self.attention(width, image)
                before = width
                skips.append(width)
            if at + 1 < len(channels):
                image = conv(net, "down", width, width, image, 3, stride=2, bias=True)
                skips.append(width)
        self.residual(before, before, image)
        self.attention(before, image)
        self.residual(before, before, image)
        for at, width in enumerate(reversed(channels)):
            for _ in range(self.t["blocks"] + 1):
                skip = skips.pop()
                net.add("up.concat", "concat", "rows m", rows=before, n=image * image, axis=0, m=skip)
                self.residual(before + skip, width, image)
                if at > 0:
                    self.attention(width, image)
                before = width
            if at + 1 < len(channels):
                image *= 2
                conv(net, "up", width, width, image, 3, bias=True)
        self.normed_conv("conv_out", before, self.t["latents"], image, fixed="o")
        return {"": list(net.layers.values())}


def write_whisper(t):
    net = Network("f16", "f32")
    layers, hidden, heads, frames, ffn = t["layers"], t["hidden"], t["heads"], t["frames"], t["ffn"]
    audio, head = frames // 2, hidden // heads
    net.add("mel.stft", "fft", "", types=["f32-c64"], kind="r2c", n=400, batch=frames, fill="near_one")
    net.add("mel.bands", "matmul", "", types=["f32"], m=t["bands"], n=frames, k=201)
    for name, c, stride in (("encoder.conv1", t["bands"], 1), ("encoder.conv2", hidden, 2)):
        net.add(name, "conv", "c o", 1, hidden * c * 3 + hidden, n=1, c=c, o=hidden, i=frames, k=3,
                **({"stride": stride} if stride > 1 else {}), pad=1, bias=1)
        net.elementwise(f"{name}.act", "gelu", hidden * frames // stride)
    net.add("encoder.positions", "add", "n", 1, audio * hidden, n=audio * hidden)
    write_encoder(net, t, audio, "encoder", "1e-05", key_bias=False)
    net.layer_norm("encoder.norm", audio, hidden)
    net.product("decoder.cross.k_proj", audio, hidden, hidden, layers, scaled="n k")
    net.product("decoder.cross.v_proj", audio, hidden, hidden, layers, bias=True, scaled="n k")
    net.embed("decoder.embed", t["vocabulary"], hidden, 1)
    net.embed("decoder.positions", t["positions"], hidden, 1)
    net.layer_norm("decoder.norm", 1, hidden, 3 * layers + 1)
    net.product("decoder.attn.k_proj", 1, hidden, hidden, layers)
    net.product("decoder.attn.proj", 1, hidden, hidden, 5 * layers, bias=True)  # q, v, o; q and o of cross attention
    net.add("decoder.attn.cache", "kv_cache_write", "size h", 2 * layers, size=t["positions"], n=1, h=heads, d=head)
    for name, s in (("decoder.attn", t["positions"]), ("decoder.cross", audio)):
        net.add(name, "attention", "h", layers, b=1, h=heads, l=1, s=s, d=head)
    net.product("decoder.ffn.up", 1, ffn, hidden, layers, bias=True)
    net.elementwise("decoder.ffn.act", "gelu", ffn, layers)
    net.product("decoder.ffn.down", 1, hidden, ffn, layers, bias=True)
    net.elementwise("decoder.residual", "add", hidden, 3 * layers)
    net.head(hidden, t["vocabulary"], tied=True)
    return {"": list(net.layers.values())}


NETWORKS = {"decoder": write_decoder, "latent": write_latent, "mamba": write_mamba, "bert": write_bert, "vit": write_vit,
            "resnet": write_resnet, "mobilenet": write_mobilenet, "unet": lambda t: UNet(t).write(), "whisper": write_whisper}
