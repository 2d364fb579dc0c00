// The embedded records as objects, and numbers as people read them.
const data = JSON.parse(byId('data').textContent);
const verdicts = new Map(data.verdicts.map((verdict, gravity) => [verdict.name, {...verdict, gravity}]));
const unknownVerdict = {symbol: '?', tone: 'broken', gravity: 99, fails: true};
const verdictOf = (record) => verdicts.get(record.outcome) || unknownVerdict;

const records = (data.rows || []).map((row, index) => {
  const record = {index, ...data.common};
  data.keys.forEach((key, k) => { record[key] = data.text[k] ? data.texts[row[k]] : row[k]; });
  record.haystack = [record.case_id, record.shown_as, record.device, record.class, record.outcome, record.reason,
                     record.contract, record.tags].join(' ').toLowerCase();
  return record;
});

// The results of each case, for the comparison in the detail.
const resultsOfCase = new Map();
for (const record of records) {
  if (!resultsOfCase.has(record.case_id)) resultsOfCase.set(record.case_id, []);
  resultsOfCase.get(record.case_id).push(record);
}

const present = (value) => value !== null && value !== undefined && value !== '';

const counted = (count, noun) => `${count} ${noun}${count === 1 ? '' : 's'}`;

function numberText(value) {
  if (!present(value)) return '';
  if (typeof value !== 'number') return String(value);
  if (value === 0 || Number.isInteger(value) && Math.abs(value) < 1e7) return String(value);
  const size = Math.abs(value);
  if (size >= 1e5 || size < 1e-3) return value.toExponential(2).replace('e+', 'e');
  return String(Number(value.toPrecision(3)));
}

function timeText(seconds) {
  if (typeof seconds !== 'number') return '';
  if (seconds >= 1) return seconds.toFixed(2) + ' s';
  if (seconds >= 1e-3) return (seconds * 1e3).toFixed(2) + ' ms';
  return (seconds * 1e6).toFixed(2) + ' µs';
}

// Below about four operations per byte a case moves data rather than computes.
const computes = (record) => record.flops && record.bytes && record.flops > 4 * record.bytes;

// The upper limit of an execution's time replaces a median that the host's clock does not confirm.
const believed = (record) => present(record.time_at_most_s) ? record.time_at_most_s : record.time_median_s;
const medianText = (record) => (present(record.time_at_most_s) ? '≤ ' : '') + timeText(believed(record));

function rateText(record) {
  const least = present(record.time_at_most_s) ? '≥ ' : '';
  const text = (giga, unit) => least + Number((giga >= 1000 ? giga / 1000 : giga).toPrecision(3)) + (giga >= 1000 ? ' T' : ' G') + unit;
  if (computes(record) && record.gflops) return text(record.gflops, 'FLOP/s');
  return record.gbytes_per_s ? text(record.gbytes_per_s, 'B/s') : '';
}

const comparable = (record) => ['pass', 'below_contract'].includes(record.verdict) && record.class !== 'suspect' && !record.timing_invalid;

// A term of the glossary, with its definition.
function term(name, text) {
  return make('a', {class: 'term', href: '#term-' + name.replace(/ /g, '-'), title: data.glossary[name] || ''}, text || name);
}

function chip(record) {
  const verdict = verdictOf(record);
  return make('span', {class: 'chip ' + verdict.tone},
              make('b', {'aria-hidden': 'true'}, verdict.symbol), ' ' + record.outcome);
}
