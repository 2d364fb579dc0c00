# SPDX-License-Identifier: Apache-2.0
"""Functions of TensorFlow under the names, operands and attributes of the suites: spectra, scans, random words, sparse
products."""
from __future__ import annotations

from ._columns import Column
from .tensorflow_ops import tf

_FFT = "alg=fft"
_PHILOX = 1  # tf.random.Algorithm


def stft(x, window, *, hop=1, **_):
    n = window.shape[0]
    spectra = tf.signal.stft(x, n, int(hop), n, window_fn=lambda length, dtype: tf.cast(window, dtype))
    return tf.stack([tf.math.real(spectra), tf.math.imag(spectra)], -1)


def fft_conv(x, kernel, **_):
    """Transforms of twice the length, as models with long convolutions have it."""
    n = x.shape[-1]
    spectra = [tf.signal.rfft(one, [2 * n]) for one in (x, kernel)]
    return tf.signal.irfft(spectra[0] * spectra[1], [2 * n])[..., :n]


def associative_scan(a, b, **_):
    """tf.scan, one position after the other."""
    pairs = (tf.transpose(a), tf.transpose(b))
    return tf.transpose(tf.scan(lambda h, pair: pair[0] * h + pair[1], pairs, tf.zeros_like(pairs[1][0])))


def _word_pairs(words):
    low = tf.bitwise.bitwise_and(words, tf.constant(0xFFFFFFFF, tf.int64))
    high = tf.bitwise.left_shift(low[..., 1::2], tf.constant(32, tf.int64))
    return tf.bitcast(tf.bitwise.bitwise_or(low[..., ::2], high), tf.uint64)


def philox(counters, key, *, result_types=(), **_):
    """StatelessRandomUniformFullIntV2, which generators of tf.random stand on, called for each counter."""
    pair = _word_pairs(key)

    def words_of(counter):
        return tf.raw_ops.StatelessRandomUniformFullIntV2(shape=[4], key=pair, counter=counter, alg=_PHILOX, dtype=tf.uint32)
    words = tf.map_fn(words_of, _word_pairs(counters), fn_output_signature=tf.uint32)
    return tf.cast(words, tf.int64) if result_types[0].endswith("64") else tf.bitcast(words, tf.int32)


philox.takes_result_types = True


def sparse_mm(values, places, b, **_):
    """tf.sparse.sparse_dense_matmul, of a SparseTensor."""
    m, half = values.shape
    columns = tf.range(half) // 2 * 4 + tf.cast(places, tf.int32)
    rows = tf.repeat(tf.range(m)[:, None], half, axis=1)
    indices = tf.cast(tf.reshape(tf.stack([rows, columns], -1), [-1, 2]), tf.int64)
    return tf.sparse.sparse_dense_matmul(tf.SparseTensor(indices, tf.reshape(values, [-1]), [m, 2 * half]), b)


def _few(case):
    return case.shapes["counters"][0] <= 4096 or "each counter is a call"


COLUMNS = [
    Column("stft", stft, ("f32", "f64"), extra=_FFT),
    Column("fft_conv", fft_conv, ("f32", "f64"), extra=_FFT),
    Column("associative_scan", associative_scan, ("f32", "f64")),
    Column("philox", philox, ("i64", "i64-i64-i32"), supports=_few),
    Column("sparse_mm", sparse_mm, ("f32-u8-f32-f32",)),
]
