// Times: per case one dot for each implementation, always in the same order: no ranking. Backends differ by orders of
// magnitude, so the scale is logarithmic, and the same for all cases; the length of a bar would mean nothing on it.
const hueOf = (record) => `h${data.matrix.backends.indexOf(backendOf(record)) % 8}`;
const backendOf = (record) => record.implementation ? record.shown_as.slice(0, -record.implementation.length - 1) : record.shown_as;
const dot = (hue) => make('i', {class: 'dot ' + hue});

// From `start` on, a span of whole decades that holds the values; `at`: the place of one, from 0 to 1.
function decades(values) {
  const [least, most] = [Math.min, Math.max].map((choose) => values.reduce((a, b) => choose(a, b)));  // more than a call has arguments
  const low = Math.floor(Math.log10(least)), high = Math.max(low + 1, Math.ceil(Math.log10(most) - 1e-9));
  return {low, high, at: (value) => Math.min(1, Math.max(0, (Math.log10(value) - low) / (high - low)))};
}

const spreadOf = (record) => present(record.time_p10_s) && present(record.time_p90_s) && !present(record.time_at_most_s) ?
  [record.time_p10_s, record.time_p90_s] : [];

function timeBar(record, axis) {
  const percent = (seconds) => (100 * axis.at(seconds)).toFixed(2) + '%';
  const line = (x1, x2, y1, y2) => makeSvg('line', {x1, x2, y1, y2});
  const [from, to] = spreadOf(record).map(percent);
  return makeSvg('svg', {class: `bar ${hueOf(record)}${comparable(record) ? '' : ' struck'}`, width: '100%', height: 16, 'aria-hidden': 'true'},
    from ? [line(from, to, 8, 8), line(from, from, 5, 11), line(to, to, 5, 11)] : null,
    makeSvg('circle', {cx: percent(believed(record)), cy: 8, r: 4.5}));
}

function remark(record) {
  if (comparable(record)) return record.timing_unsure || (record.verdict === 'below_contract' ? 'weaker contract' : '');
  if (record.outcome !== 'pass') return record.outcome;
  return record.timing_invalid ? 'cannot be true: ' + record.timing_invalid : record.class;
}

function timeRow(record, axis) {
  const good = comparable(record), quiet = remark(record);
  return make('tr', {},
    make('th', {scope: 'row'}, dot(hueOf(record)), breakableName(record.shown_as), quiet && [' ', make('span', {class: 'quiet'}, quiet)]),
    make('td', {class: 'plot'}, timeBar(record, axis)), make('td', {}, struck(record, medianText(record))),
    make('td', {title: record.cold_note}, good ? timeText(record.time_cold_median_s) : ''), make('td', {}, struck(record, rateText(record))),
    make('td', {title: record.roofline_note}, good ? rooflineText(record) : ''));
}

function timeFigure(results, axis) {
  return make('figure', {class: 'perf'}, make('figcaption', {}, breakable(results[0].case_id)),
    make('table', {}, make('thead', {}, make('tr', {}, cellsOf('th', ['implementation', 'bar', 'median time', 'with cold caches', 'rate', 'of the roofline']))),
         make('tbody', {}, results.map((record) => timeRow(record, axis)))));
}

function timesNote(axis, cold, roofline) {
  const more = [cold ? '' : '--cold', roofline ? '' : '--roofline'].filter(Boolean).join(' ');
  return make('p', {class: 'note'}, 'A dot is the median time of one execution, further left is faster; the whisker spans p10 to p90. ' +
    `All cases share one logarithmic scale from ${timeText(10 ** axis.low)} to ${timeText(10 ** axis.high)}, with a line per decade. Then ` +
    (cold ? 'the median with cold caches, ' : '') + 'FLOP/s or B/s, whichever the case is about' +
    (roofline ? ', the share of what the measured ceilings of the device permit (its roofline, of the cold time), and which of them binds: ' +
       'the bandwidth of its memory or its compute rate' : '') + '. What is ', make('s', {}, 'struck out'),
    ' is suspect, wrong or cannot be true: its time does not count. ≤ is the most that an execution takes, by the host\'s clock, which does not ' +
    'confirm what the backend says.', more && [' ', make('code', {}, 'assay run ' + more), ' measures more.']);
}

function timesSection() {
  const ops = data.timed.map((op) => ({...op, cases: op.cases.map((places) => places.map((place) => placed.get(place)))}));
  const timed = ops.flatMap((op) => op.cases.flat());
  if (timed.length === 0) return null;
  const valid = timed.filter((record) => !record.timing_invalid);
  const axis = decades((valid.length > 0 ? valid : timed).flatMap((record) => [believed(record), ...spreadOf(record)]));
  const measured = (key) => timed.some((record) => present(record[key]));
  const cold = measured('time_cold_median_s'), roofline = measured('roofline_fraction');
  return make('div', {class: `${cold ? '' : 'no-cold'} ${roofline ? '' : 'no-roofline'}`.trim(), style: `--decades:${axis.high - axis.low}`},
    timesNote(axis, cold, roofline),
    ops.map(({op, count, cases}, i) => make('details', {open: i === 0 ? '' : null},
      make('summary', {}, make('h3', {}, op + ' ', make('span', {}, counted(count, 'timed case')))),
      make('div', {class: 'perf-grid'}, cases.map((results) => timeFigure(results, axis))),
      cases.length < count ? make('p', {class: 'note'}, `These are the ${cases.length} largest; the other ${count - cases.length} are in the table of results.`) : null)));
}
