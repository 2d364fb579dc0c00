#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shows what is wrong with functions of single elements, by the framework and NumPy or math alone: elements_proofs.py jax, torch,
tensorflow or onnxruntime, in an environment that has it."""
import math
import sys

import numpy

NAN = math.nan


def farthest(name, x, y, exact):
    print(f"{name}: up to {numpy.max(abs(y - exact) / numpy.spacing(abs(exact))):.0f} ulp off")


def of_jax():
    import jax
    import jax.numpy as jnp
    jax.config.update("jax_enable_x64", True)
    for name, function, exact, low, high in (
            ("arctanh", jnp.arctanh, math.atanh, 0.40, 0.42), ("exp2", jnp.exp2, lambda x: 2 ** x, 400, 500),
            ("cosh", jnp.cosh, math.cosh, 170, 180), ("erfc", jax.scipy.special.erfc, math.erfc, 22, 24)):
        x = numpy.linspace(low, high, 2001)
        farthest(f"jax.jit of {name} float64 in [{low}, {high}]", x, numpy.asarray(jax.jit(function)(x)),
                 numpy.array([exact(one) for one in x]))
    for name in ("arcsin", "arccos", "arcsinh", "arctanh", "exp2", "log2", "log10"):
        x = jnp.asarray(numpy.arange(1, 4096) / 4096, jnp.bfloat16)
        exact = jnp.asarray(getattr(numpy, name)(numpy.asarray(x, float)), jnp.bfloat16)
        print(f"jax.jit of {name} bfloat16: {int((jax.jit(getattr(jnp, name))(x) != exact).sum())} of 4095 not the nearest")


def of_torch():
    import torch
    print("torch.sign(nan):", torch.sign(torch.tensor([NAN])).item(), " numpy:", numpy.sign(NAN))
    print("torch.sinh bfloat16 of 32 and of 64 times 89:",
          *(torch.sinh(torch.full((n,), 89.0, dtype=torch.bfloat16))[0].item() for n in (32, 64)), " exact:", math.sinh(89))


def of_tensorflow():
    import tensorflow as tf
    jitted = tf.function(tf.math.maximum, jit_compile=True)
    print("XLA's tf.maximum of 1 and nan, nan and 1:", jitted(tf.constant([1, NAN]), tf.constant([NAN, 1])).numpy(),
          " eager:", tf.maximum(tf.constant([1, NAN]), tf.constant([NAN, 1])).numpy())
    x = tf.constant(numpy.arange(-4, 4, 1 / 64), tf.bfloat16)
    exact = tf.cast(1 / (1 + numpy.exp(-tf.cast(x, tf.float64).numpy())), tf.bfloat16)
    print("tf.sigmoid bfloat16:", int((tf.sigmoid(x) != exact).numpy().sum()), "of 512 not the nearest")
    print("tf.math.erfc(26.6) float64:", tf.math.erfc(tf.constant(26.6, tf.float64)).numpy(), " exact:", math.erfc(26.6))


def of_onnxruntime():
    import onnxruntime
    from onnx import TensorProto, helper
    for element, name in ((TensorProto.FLOAT, "float32"), (TensorProto.DOUBLE, "float64")):
        graph = helper.make_graph([helper.make_node("Sigmoid", ["x"], ["y"])], "g", [helper.make_tensor_value_info("x", element, [3])],
                                  [helper.make_tensor_value_info("y", element, [3])])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        x = numpy.array([-16, -18, -40], name)
        print(f"Sigmoid {name} of -16, -18, -40:", session.run(None, {"x": x})[0], " exact:", 1 / (1 + numpy.exp(-x.astype(float))))


{"jax": of_jax, "torch": of_torch, "tensorflow": of_tensorflow, "onnxruntime": of_onnxruntime}[sys.argv[1]]()
