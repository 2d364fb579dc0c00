// SPDX-License-Identifier: Apache-2.0
// Softmax of rows, a group per row. Types X and Y. `three_pass` reads the row for its maximum,
// for the sum of exponentials and for the result; `online` takes maximum and sum in one pass (Milakov and Gimelshein,
// arXiv 1805.02867).
#define AXES 8
typedef struct {
  long rows, size, x_step, y_step, log, axes;
  long axis_size[AXES], axis_x[AXES], axis_y[AXES];  // the other axes
} Params;

void RowOffsets(const Params* p, long row, long* x, long* y) {
  for (int axis = (int)p->axes - 1; axis >= 0; --axis) {
    const long next = row / p->axis_size[axis], at = row - next * p->axis_size[axis];
    *x += at * p->axis_x[axis], *y += at * p->axis_y[axis];
    row = next;
  }
}

void WriteRow(const Params* p, const global TYPE(X)* x, global TYPE(Y)* y, ACC top, ACC sum) {
  const ACC log_sum = log(sum);
  for (long i = get_local_id(0); i < p->size; i += GROUP) {
    const ACC shifted = LOAD(X, x, i * p->x_step) - top;
    STORE(Y, y, i * p->y_step, p->log ? shifted - log_sum : exp(shifted) / sum);
  }
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void three_pass(const global TYPE(X)* x, long x_at,
                                                                          global TYPE(Y)* y, long y_at, Params p) {
  local ACC values[GROUP];
  RowOffsets(&p, GroupIndex(), &x_at, &y_at);
  x += x_at, y += y_at;
  ACC own = -(ACC)INFINITY;
  for (long i = get_local_id(0); i < p.size; i += GROUP) own = Greatest(own, LOAD(X, x, i * p.x_step));
  const ACC top = GroupGreatest(own, values);
  own = 0;
  for (long i = get_local_id(0); i < p.size; i += GROUP) own += exp(LOAD(X, x, i * p.x_step) - top);
  WriteRow(&p, x, y, top, GroupSum(own, values));
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void online(const global TYPE(X)* x, long x_at,
                                                                      global TYPE(Y)* y, long y_at, Params p) {
  local ACC values[GROUP];
  RowOffsets(&p, GroupIndex(), &x_at, &y_at);
  x += x_at, y += y_at;
  ACC own = -(ACC)INFINITY, sum = 0;
  for (long i = get_local_id(0); i < p.size; i += GROUP) {
    const ACC value = LOAD(X, x, i * p.x_step), greater = Greatest(own, value);
    if (greater == -(ACC)INFINITY) continue;  // nothing but -inf so far: the sum stays zero
    sum = sum * exp(own - greater) + exp(value - greater);
    own = greater;
  }
  const ACC top = GroupGreatest(own, values);
  // An item that saw nothing but -inf has no part in the sum, unless all of them did: then 0 / 0, as the formula says.
  WriteRow(&p, x, y, top, GroupSum(own == -(ACC)INFINITY ? 0 : sum * exp(own - top), values));
}
