# SPDX-License-Identifier: Apache-2.0
"""assay.watch_jax on small networks in JAX, right ones and ones with a planted fault. Without JAX nothing is tested."""
import importlib.util
import unittest
import unittest.mock

import assay
import numpy

HAS_JAX = importlib.util.find_spec("jax") is not None
if HAS_JAX:
    import jax
    import jax.numpy as jnp
    from assay.models import jax_model


def weights(seed, *shapes):
    draw = numpy.random.default_rng(seed)
    return [jnp.asarray(draw.standard_normal(shape) * shape[-1] ** -0.5, jnp.float32) for shape in shapes]


def decoder(tables, ids):
    """A layer of a transformer on embedded words, with a causal mask and a cross entropy."""
    words, q, k, v, up, down = tables
    x = words[ids]
    mean = x.mean(-1, keepdims=True)
    z = (x - mean) * jax.lax.rsqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-5)
    scores = jnp.einsum("bqd,bkd->bqk", z @ q, z @ k) / 4
    scores = jnp.where(jnp.tril(jnp.ones(scores.shape[-2:], bool)), scores, -jnp.inf)
    x = x + jax.nn.softmax(scores) @ (z @ v)
    x = x + jax.nn.silu(x @ up) @ down
    return -jnp.take_along_axis(jax.nn.log_softmax(x @ words.T), ids[..., None], -1).mean()


def recurrent(w, u, xs):
    def step(h, x):
        h = jnp.tanh(h @ w + x @ u)
        return h, h.sum()
    return jax.lax.scan(step, jnp.zeros((2, 8)), xs)


def images(x, w):
    y = jax.lax.conv_general_dilated(x, w, (2, 2), [(1, 1), (1, 1)], dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return jax.nn.relu(y).mean((1, 2))


@unittest.skipUnless(HAS_JAX, "JAX is not here")
class Equations(unittest.TestCase):
    def programs(self):
        ids = jnp.asarray(numpy.random.default_rng(1).integers(0, 20, (2, 6)))
        tables = weights(0, (20, 16), (16, 16), (16, 16), (16, 16), (16, 32), (32, 16))
        yield "decoder", jax.jit(decoder), (tables, ids)
        yield "gradient", jax.grad(decoder), (tables, ids)
        yield "scan", recurrent, tuple(weights(1, (8, 8), (4, 8), (5, 2, 4)))
        yield "images", images, tuple(weights(2, (2, 8, 8, 3), (3, 3, 3, 4)))

    def test_right(self):
        for name, function, given in self.programs():
            with self.subTest(program=name):
                w = assay.watch_jax(function)(*given)
                self.assertTrue(w, str(w))
                self.assertGreaterEqual(len(w.nodes), 4)
                plain = function(*given)
                for one, other in zip(jax.tree_util.tree_leaves(plain), jax.tree_util.tree_leaves(w.result)):
                    self.assertEqual((one.shape, one.dtype), (other.shape, other.dtype))
                    numpy.testing.assert_allclose(one, other, 2e-4, 1e-5)
                unjudged = {reason for reason in w.unjudged if "gather" not in reason and "scatter" not in reason}
                self.assertLessEqual(unjudged, {"new tensors"}, str(w))

    def test_each_equation_wrong(self):
        """Whichever equation is wrong, that one is named, and none behind it."""
        bind = jax_model._Walk._bind
        for name, function, given in self.programs():
            if name == "gradient":
                continue
            right = assay.watch_jax(function)(*given)
            for node in right.nodes[::3]:
                count = 0

                def wrong(walk, equation, values, place=node.index):
                    nonlocal count
                    count += 1
                    made = bind(walk, equation, values)
                    if count == place:
                        flat = numpy.array(made[0]).reshape(-1)
                        if flat.dtype == bool:
                            flat[-1] = not flat[-1]
                        else:
                            flat[-1] = 3 if not numpy.isfinite(flat[-1]) else flat[-1] + max(1, 0.05 * abs(flat[-1]))
                        made[0] = jnp.asarray(flat.reshape(made[0].shape))
                    return made

                with self.subTest(program=name, op=node.op, index=node.index), unittest.mock.patch.object(jax_model._Walk, "_bind", wrong):
                    w = assay.watch_jax(function)(*given)
                    self.assertEqual([found.index for found in w.failures], [node.index], str(w))

    def test_branches_and_loops(self):
        def f(x):
            y = jax.lax.cond(x[0] > 0, lambda x: x * 2, lambda x: x - 1, x)
            return jax.lax.while_loop(lambda s: s.sum() < 50, lambda s: s * s + 1, y)

        for x in (jnp.ones(4), -jnp.ones(4)):
            w = assay.watch_jax(f)(x)
            self.assertTrue(w, str(w))
            self.assertTrue(bool((w.result == f(x)).all()))
            self.assertIn("mul" if float(x[0]) > 0 else "sub", [node.op for node in w.nodes])

    def test_bf16_and_sites(self):
        w = assay.watch_jax(lambda x: jnp.exp(x).sum())(jnp.linspace(-1, 1, 64, dtype=jnp.bfloat16))
        self.assertTrue(w, str(w))
        self.assertIn("watch_jax_test.py:", w.nodes[0].site.line)

    def test_integers(self):
        """NumPy rounds large integers twice on their way to a narrow type, and reduces bits by functions of their own."""
        def f(x):
            kept = [jax.lax.reduce(x, numpy.int32(start), op, (0,)) for start, op in ((-1, jax.lax.bitwise_and), (0, jax.lax.bitwise_or), (0, jax.lax.bitwise_xor))]
            return [jax.lax.reduce_and_p.bind(x, axes=(0,)), jax.lax.reduce_or_p.bind(x, axes=(0,)), kept, x.astype(jnp.bfloat16), (x > 4).all()]

        w = assay.watch_jax(f)(jnp.asarray([12, 10, 14, 0x1010001], jnp.int32))
        self.assertEqual(w.failures, [], str(w))
        self.assertIn("large integers that are converted to few bits", w.unjudged)
        self.assertIn("convert_element_type", [node.op for node in assay.watch_jax(f)(jnp.asarray([12, 10, 14, 8])).nodes])

    def test_counted(self):
        w = assay.watch_jax(lambda x: (jnp.fft.fft(x), jnp.linalg.svd(jnp.outer(x, x)), jax.random.normal(jax.random.key(0), (3,))))(jnp.ones(4))
        self.assertEqual(w.failures, [])
        self.assertTrue(any("complex" in reason for reason in w.unjudged), w.unjudged)
        self.assertTrue(any("svd" in reason for reason in w.unjudged), w.unjudged)
        self.assertFalse([reason for reason in w.unjudged if "Error" in reason])
        self.assertGreaterEqual(w.unjudged["random numbers"], 1)

    def test_products_of_nothing(self):
        for shapes in (((0, 3), (3, 2)), ((2, 3), (3, 0)), ((2, 0), (0, 3)), ((0, 2, 3), (0, 3, 2))):
            with self.subTest(shapes):
                w = assay.watch_jax(jnp.matmul)(*map(jnp.zeros, shapes))
                self.assertEqual((w.failures, w.unjudged, len(w.nodes)), ([], {}, 1))

    def test_interrupt(self):
        def stop(node):
            if node.op.endswith("cos"):
                raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt) as raised:
            assay.watch_jax(lambda x: jax.numpy.exp(jax.numpy.cos(jax.numpy.sin(x))), on_node=stop)(jax.numpy.ones(3))
        self.assertEqual([node.op.rpartition(":")[2] for node in raised.exception.watch.nodes], ["sin", "cos"])

    def test_what_is_no_function(self):
        with self.assertRaisesRegex(assay.UsageError, "3 is no function"):
            assay.watch_jax(3)


@unittest.skipIf(HAS_JAX, "JAX is here")
class MissingJax(unittest.TestCase):
    def test_without_jax(self):
        with self.assertRaisesRegex(assay.Error, "follows JAX"):
            assay.watch_jax(abs)(numpy.ones(3))


if __name__ == "__main__":
    unittest.main()
