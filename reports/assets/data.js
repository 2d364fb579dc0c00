// The embedded data, its records as objects, and numbers as people read them.
const data = JSON.parse(byId('data').textContent);
const definitions = new Map(data.glossary);
const verdicts = new Map(data.verdicts.map((verdict, gravity) => [verdict.name, {...verdict, gravity}]));
const unknownVerdict = {symbol: '?', tone: 'broken', meaning: '', gravity: 99, fails: true};
const styleOf = (outcome) => verdicts.get(outcome) || unknownVerdict;

// A record reads its fields from a row of values, since thousands of records with all fields would take much memory.
class RunRecord {
  constructor(row, index) { Object.assign(this, {row, index}); }
  get haystack() {
    return this.words ??= [this.case_id, this.shown_as, this.device, this.class, this.outcome, this.reason, this.contract, this.tags]
        .join(' ').toLowerCase();
  }
}
Object.assign(RunRecord.prototype, data.common);
data.keys.forEach((key, k) => Object.defineProperty(RunRecord.prototype, key, {
  get() { return data.text[k] ? data.texts[this.row[k]] : this.row[k]; }
}));
const records = data.rows.map((row, index) => new RunRecord(row, index));

// Where a record stands among all of the run, of which the table may not have all.
const placed = new Map(records.map((record, i) => [data.places ? data.places[i] : i, record]));

const resultsOfCase = grouped(records, (record) => record.case_id);

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

const shareText = (share) => present(share) ? (100 * share).toFixed(0) + ' %' : '';
const rooflineText = (record) => present(record.roofline_fraction) ? `${shareText(record.roofline_fraction)} ${record.bound_by || ''}` : '';

const comparable = (record) => ['pass', 'below_contract'].includes(record.verdict) && record.class !== 'suspect' && !record.timing_invalid;
const struck = (record, text) => text && !comparable(record) ? make('s', {}, text) : text;
