// SPDX-License-Identifier: Apache-2.0
// Operations of a whole group of GROUP items: every item calls, and every item gets the result.

// NaN wins.
ACC Greatest(ACC a, ACC b) { return isnan(a) || (!isnan(b) && a >= b) ? a : b; }

ACC GroupGreatest(ACC value, local ACC* values) {
  const int item = (int)get_local_id(0);
  values[item] = value;
  for (int width = GROUP / 2; width > 0; width /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < width) values[item] = Greatest(values[item], values[item + width]);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  const ACC result = values[0];
  barrier(CLK_LOCAL_MEM_FENCE);
  return result;
}

ACC GroupSum(ACC value, local ACC* values) {
  const int item = (int)get_local_id(0);
  values[item] = value;
  for (int width = GROUP / 2; width > 0; width /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < width) values[item] += values[item + width];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  const ACC result = values[0];
  barrier(CLK_LOCAL_MEM_FENCE);
  return result;
}
