// A margin as a gauge and the histogram of margins, as inline SVG.

// Margins span many orders: the gauge is logarithmic from 2^-10 to the limit 1, as in the matrix.
const gaugeShare = (margin) => margin <= 0 ? 0 : Math.min(1, Math.max(.03, 1 + Math.log2(margin) / 10));

function gauge(margin) {
  if (typeof margin !== 'number') return null;
  return make('span', {class: margin >= 1 ? 'gauge over' : 'gauge', 'aria-hidden': 'true'},
              make('i', {style: `width:${100 * gaugeShare(margin)}%`}));
}

// The bins of a record: [0], (0, 2^-20), [2^-20, 2^-19) ... [2^-1, 1), [1, inf).
function binName(i, count) {
  if (i === 0) return 'exactly 0';
  if (i === 1) return 'below 2^-20';
  if (i === count - 1) return '1 and above: outside the bound';
  return `2^${i - 22} to 2^${i - 21}`;
}

function histogram(text) {
  const counts = text.split(',').map(Number);
  const total = counts.reduce((sum, n) => sum + n, 0);
  if (counts.length < 4 || !(total > 0)) return null;
  const width = 24, height = 110, top = 14, most = Math.log1p(Math.max(...counts));
  const left = (i) => 4 + i * width + (i > 0 ? 8 : 0) + (i === counts.length - 1 ? 8 : 0);
  const end = left(counts.length - 1) + width + 4;
  const svg = makeSvg('svg', {class: 'histogram', viewBox: `0 0 ${end} ${height + top + 22}`, role: 'img',
                              width: '100%', style: 'max-width:46rem',
                              'aria-label': `Histogram of margins of the bound over ${total} elements`});
  svg.append(makeSvg('line', {x1: 0, x2: end, y1: height + top, y2: height + top}));
  counts.forEach((count, i) => {
    const size = count > 0 ? Math.max(2, height * Math.log1p(count) / most) : 0;
    svg.append(makeSvg('rect', {x: left(i), y: height + top - size, width: width - 2, height: size,
                                class: i === counts.length - 1 ? 'over' : ''},
      makeSvg('title', {}, `${binName(i, counts.length)}: ${count} elements (${numberText(100 * count / total)} %)`)));
    if (count > 0) label(svg, left(i) + width / 2 - 1, height + top - size - 3, shortCount(count));
  });
  const limit = left(counts.length - 1) - 5;
  svg.append(makeSvg('line', {class: 'limit', x1: limit, x2: limit, y1: 4, y2: height + top}));
  for (const [i, name] of [[0, '0'], [1, '<2⁻²⁰'], [7, '2⁻¹⁵'], [12, '2⁻¹⁰'], [17, '2⁻⁵'], [21, '½'], [22, '≥1']]) {
    if (i < counts.length) label(svg, left(i) + width / 2 - 1, height + top + 15, name);
  }
  return svg;
}

function label(svg, x, y, text) {
  svg.append(makeSvg('text', {x, y, 'text-anchor': 'middle'}, text));
}

function shortCount(count) {
  for (const [size, suffix] of [[1e9, 'G'], [1e6, 'M'], [1e3, 'k']]) {
    if (count >= size) return (count / size).toFixed(count < 10 * size ? 1 : 0) + suffix;
  }
  return String(count);
}
