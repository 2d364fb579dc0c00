# SPDX-License-Identifier: Apache-2.0
"""Draws of a sampler against the probabilities that they should have.

The test is sequential: draws may go on until it rejects, and a correct sampler is rejected with a probability of at most
alpha however long they do (Lindon and Malek, arXiv:2011.03567). Each draw multiplies the evidence by its predicted
probability, from the counts before it, over the stated one; the mean of that product never rises above 1 for a correct
sampler, so that it reaches 1 / alpha with a probability of at most alpha (Ville's inequality).
"""
import dataclasses
import numbers

from ._errors import UsageError

STRENGTHS = (1e2, 1e3, 1e4, 1e5)  # draws that the stated probabilities count for beside the counts


@dataclasses.dataclass(frozen=True)
class Draws:
    """The judgement of a sampler's draws. True: they are not rejected."""
    passed: bool
    reason: str  # "" where they pass
    draws: int
    p_value: float  # valid whenever the draws end: the least alpha that would have rejected them
    rejected_at: "int | None"  # the draw at which alpha was reached
    def __bool__(self):
        return self.passed


def _distribution(np, probabilities):
    p = np.asarray(probabilities, float)
    if p.ndim > 1 and p.size > p.shape[-1]:
        raise UsageError(f"check_samples: probabilities are of shape {p.shape}; give one row, and judge the draws of each row by a "
                         "call of their own")
    p = p.ravel()
    if not len(p) or not (np.isfinite(p).all() and (p >= 0).all() and abs(p.sum() - 1) < 1e-2):
        raise UsageError(f"check_samples: probabilities sum to {p.sum():.6g} and the least is {p.min() if len(p) else 0:.6g}; "
                         "give numbers of 0 and more that sum to 1, such as a softmax")
    return p / p.sum()


def _tokens(np, draws, n):
    tokens = np.asarray(draws).ravel()
    if not tokens.size:
        raise UsageError("check_samples: there are no draws to judge; give at least one token")
    if tokens.dtype.kind not in "iu":
        raise UsageError(f"check_samples: draws are of type {tokens.dtype}; give integers, the places of tokens in probabilities")
    outside = np.flatnonzero((tokens < 0) | (tokens >= n))
    if len(outside):
        raise UsageError(f"check_samples: draw {outside[0]} is {tokens[outside[0]]}, but probabilities has {n} tokens; "
                         f"give draws of 0 to {n - 1}")
    return tokens.astype(np.int64)


def _log_evidence(np, tokens, p):
    """The logarithm of the evidence against p after each draw."""
    order = np.argsort(tokens, kind="stable")
    same = tokens[order]
    starts = np.flatnonzero(np.r_[True, same[1:] != same[:-1]])
    before = np.empty(len(tokens))  # how often this token was drawn before
    before[order] = np.arange(len(tokens)) - np.repeat(starts, np.diff(np.r_[starts, len(tokens)]))
    at, drawn = p[tokens], np.arange(len(tokens))
    each = [np.cumsum(np.log((c * at + before) / ((c + drawn) * at))) for c in STRENGTHS]
    return np.logaddexp.reduce(each, 0) - np.log(len(STRENGTHS))


def check_samples(draws, probabilities, alpha=1e-6):
    """Whether `draws`, an array of tokens, can be independent draws of `probabilities`. A token whose probability is 0 is
    wrong at once. A correct sampler is rejected with a probability of at most `alpha`. Draws that depend on one another
    are not told apart from independent ones."""
    import numpy as np
    if not (isinstance(alpha, numbers.Real) and 0 < alpha < 1):
        raise UsageError(f"check_samples: alpha={alpha!r}: give the rate of false alarms, above 0 and below 1")
    p = _distribution(np, probabilities)
    tokens = _tokens(np, draws, len(p))
    never = np.flatnonzero(p[tokens] == 0)
    if len(never):
        token = tokens[never[0]]
        return Draws(False, f"draw {never[0]} is token {token}, whose probability is 0", len(tokens), 0.0, int(never[0]))
    evidence = _log_evidence(np, tokens, p)
    p_value = float(np.exp(-max(evidence.max(), 0.0)))
    if p_value > alpha:
        return Draws(True, "", len(tokens), p_value, None)
    at = int(np.argmax(evidence >= -np.log(alpha)))
    seen = np.bincount(tokens[:at + 1], minlength=len(p))
    expected = p * (at + 1)
    worst = int(np.argmax(np.abs(seen - expected) / np.sqrt(expected + 1)))
    return Draws(False, f"after {at + 1} draws these are no draws of the probabilities (p {p_value:.2g}, alpha {alpha:.2g}): token "
                 f"{worst} was drawn {seen[worst]} times, expected {expected[worst]:.1f}", len(tokens), p_value, at)
