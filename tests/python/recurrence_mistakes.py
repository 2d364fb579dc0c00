# SPDX-License-Identifier: Apache-2.0
"""The gated delta rule from position to position, with the mistakes that a kernel of it may have."""
import numpy as np


def by_key(state, key):
    return np.einsum("bhvd,bhd->bhv", state, key)


def plain(x):
    return x


def normalised(x):
    return x / np.sqrt((x * x).sum(-1, keepdims=True) + 1e-6)


def outer(u, key):
    return u[..., None] * key[:, :, None]


# The next state of: the state, q, k, v, gate and beta of a position, and the key before it.
STEPS = {
    "": lambda s, k, v, g, b, before: g * s + outer(b * (v - by_key(g * s, k)), k),
    "gate behind the update": lambda s, k, v, g, b, before: g * (s + outer(b * (v - by_key(s, k)), k)),
    "predicts before the gate": lambda s, k, v, g, b, before: g * s + outer(b * (v - by_key(s, k)), k),
    "gate of the prediction alone": lambda s, k, v, g, b, before: s + outer(b * (v - by_key(g * s, k)), k),
    "gate twice": lambda s, k, v, g, b, before: g * g * s + outer(b * (v - by_key(g * g * s, k)), k),
    "no prediction": lambda s, k, v, g, b, before: g * s + outer(b * v, k),
    "prediction added": lambda s, k, v, g, b, before: g * s + outer(b * (v + by_key(g * s, k)), k),
    "beta of v alone": lambda s, k, v, g, b, before: g * s + outer(b * v - by_key(g * s, k), k),
    "beta of the prediction alone": lambda s, k, v, g, b, before: g * s + outer(v - b * by_key(g * s, k), k),
    "beta twice": lambda s, k, v, g, b, before: g * s + outer(b * b * (v - by_key(g * s, k)), k),
    "predicts by the key before": lambda s, k, v, g, b, before: g * s + outer(b * (v - by_key(g * s, before)), k),
    "writes the key before": lambda s, k, v, g, b, before: g * s + outer(b * (v - by_key(g * s, k)), before),
}


def delta_rule(q, k, v, gate, beta, state, step="", of_q=normalised, of_k=normalised, reads_before=False, starts=plain):
    """o and the new state; `starts`: what a position makes of the state before it."""
    q, k, o, following = of_q(q), of_k(k), np.zeros(v.shape), STEPS[step]
    for t in range(q.shape[2]):
        before = starts(state)
        key_before = k[:, :, t - 1] if t else 0 * k[:, :, 0]
        state = following(before, k[:, :, t], v[:, :, t], gate[:, :, t, None, None], beta[:, :, t, None], key_before)
        o[:, :, t] = by_key(before if reads_before else state, q[:, :, t])
    return [o, state]


def changed(**how):
    return lambda *x: delta_rule(*x, **how)


def not_carried(*x):
    return delta_rule(*x, starts=lambda _: x[5])


def late(*x):
    o, state = delta_rule(*x)
    return [np.roll(o, 1, 2), state]


def stored_transposed(*x):
    o, state = delta_rule(*x)
    return [o, state.swapaxes(-1, -2)]


def without_last(*x):
    return [delta_rule(*x)[0], delta_rule(*(y[:, :, :-1] for y in x[:5]), x[5])[1]]
