// SPDX-License-Identifier: Apache-2.0
// Functions for the expressions of the table in points.cc.
#define F(constant) ((ACC)(constant))

// NaN stays NaN.
ACC Clip(ACC x, ACC low, ACC high) { return x < low ? low : x > high ? high : x; }

ACC Softplus(ACC x) { return (x > 0 ? x : 0) + log1p(exp(-fabs(x))); }

// dy times the derivative of gelu by tanh at x.
ACC GradientByTanh(ACC dy, ACC x) {
  const ACC t = tanh(F(0.79788456080286536) * (x + F(0.044715) * (x * x * x)));
  const ACC slope = F(0.79788456080286536) * (1 + F(3 * 0.044715) * (x * x));
  return dy * (F(0.5) * (1 + t) + F(0.5) * x * ((1 + t) * (1 - t)) * slope);
}
