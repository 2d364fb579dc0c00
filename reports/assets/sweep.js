// One chart for each sweep: what the backends reach at each size, below what the roofline permits there, with the size
// at which memory-bound turns compute-bound. Both axes are logarithmic.
const chartSize = {width: 760, height: 320, left: 64, right: 744, top: 14, bottom: 280};

const sweepSeconds = (record) => record.time_cold_median_s ?? record.time_median_s ?? 0;
const sweepRate = (record) => (record.flops || 0) / sweepSeconds(record) * 1e-9;
const roofRate = (record) => record.roofline_fraction > 0 ? sweepRate(record) / record.roofline_fraction : 0;

function sweepGrid(group, sizes, x, y, axis) {
  const {left, right, top, bottom, height} = chartSize, middle = (left + right) / 2;
  const text = (place, across, down, content) => makeSvg('text', {class: place, x: across, y: down}, content);
  const shown = [];
  for (const size of sizes) if (shown.length === 0 || x(size) - x(shown.at(-1)) >= 34) shown.push(size);
  const rates = Array.from({length: axis.high - axis.low + 1}, (_, i) => 10 ** (axis.low + i));
  return [rates.map((rate) => [makeSvg('line', {class: 'tick', x1: left, x2: right, y1: y(rate), y2: y(rate)}), text('end', left - 6, y(rate) + 4, numberText(rate))]),
          shown.map((size) => text('mid', x(size), bottom + 16, numberText(size))), text('mid', middle, height - 6, group.key), text('mid', left - 30, top - 3, 'GFLOP/s')];
}

function sweepCurve({points, turn}, x, y) {
  const {top, bottom} = chartSize;
  const polyline = (name, rateOf) => makeSvg('polyline', {class: name, points:
    points.filter(({record}) => rateOf(record) > 0).map(({value, record}) => `${x(value).toFixed(1)},${y(rateOf(record)).toFixed(1)}`).join(' ')});
  return makeSvg('g', {class: hueOf(points[0].record)}, polyline('roof', roofRate), polyline('rate', sweepRate),
    points.filter(({record}) => sweepRate(record) > 0).map(({value, record}) => makeSvg('circle', {cx: x(value), cy: y(sweepRate(record)), r: 3.5},
      makeSvg('title', {}, `${backendOf(record)} ${record.sweep}: ${timeText(sweepSeconds(record))}, ${numberText(sweepRate(record))} GFLOP/s`))),
    present(turn) ? makeSvg('line', {class: 'turn', x1: x(turn), x2: x(turn), y1: top, y2: bottom}) : null);
}

function sweepFigure(group) {
  const {width, height, left, right, top, bottom} = chartSize;
  const curves = group.curves.map((curve) => ({...curve, points: curve.points.map((point) => ({...point, record: placed.get(point.record)}))}));
  const points = curves.flatMap((curve) => curve.points);
  const rates = points.flatMap(({record}) => [sweepRate(record), roofRate(record)]).filter((rate) => rate > 0);
  if (rates.length === 0) return null;
  const sizes = [...new Set(points.map(({value}) => value))].sort((a, b) => a - b), span = Math.log(sizes.at(-1) / sizes[0]);
  const axis = decades(rates);
  const x = (size) => span > 0 ? left + (right - left) * Math.log(size / sizes[0]) / span : (left + right) / 2;
  const y = (rate) => bottom - (bottom - top) * axis.at(rate);
  const name = (record) => [dot(hueOf(record)), record.shown_as];
  return [
    make('figure', {class: 'sweep'}, make('figcaption', {}, breakable(group.title), ' over ', make('code', {}, group.key),
        curves.map((curve) => [' ', make('span', {}, dot(hueOf(curve.points[0].record)), curve.backend)])),
      makeSvg('svg', {viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': 'rate over ' + group.key}, sweepGrid(group, sizes, x, y, axis),
              curves.map((curve) => sweepCurve(curve, x, y)))),
    make('ul', {class: 'advice'}, cellsOf('li', group.advice)),
    make('details', {}, make('summary', {}, 'The numbers'),
      table('plain', ['implementation', group.key, 'time', 'rate', 'of the roofline', 'launch'], points.map(({value, record}) => make('tr', {},
        make('th', {scope: 'row'}, name(record)), cellsOf('td', [numberText(value), timeText(sweepSeconds(record)), rateText(record), rooflineText(record),
                                                               shareText(record.launch_fraction)])))))];
}

function sweepSection() {
  const figures = data.sweeps.map(sweepFigure).filter(Boolean);
  return figures.length === 0 ? null : [
    make('p', {class: 'note'}, 'The fastest implementation of each backend at each size, with cold caches where they can be flushed. Dashed: what the ' +
         'measured ceilings permit. The dotted line: where the memory takes as long as the operations.'), figures];
}
