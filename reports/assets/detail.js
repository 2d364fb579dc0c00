// The panel of one record: everything that it says, the important things first.
function pairs(entries) {
  const list = make('dl', {class: 'pairs'});
  for (const [name, value] of entries) {
    if (present(value)) list.append(make('dt', {}, name), make('dd', {}, value));
  }
  return list.children.length > 0 ? list : null;
}

function block(title, content, wide) {
  return content ? make('div', {class: wide ? 'wide' : ''}, make('h4', {}, title), content) : null;
}

function channels(record) {
  const rows = ['exact', 'bound', 'stat', 'self', 'exceptional', 'metamorphic']
      .filter((name) => present(record[name + '_margin']))
      .map((name) => {
        const margin = record[name + '_margin'];
        const known = {stat: 'statistic', self: 'own scale'}[name] || name;
        return make('tr', {}, make('th', {scope: 'row'}, definitions.has(known) ? term(known) : known),
                    make('td', {class: margin > 1 || typeof margin !== 'number' ? 'over' : ''}, numberText(margin)),
                    make('td', {}, gauge(margin)));
      });
  return rows.length === 0 ? null : make('table', {class: 'numbers'}, make('tbody', {}, rows));
}

const elementTable = (head, rows) => table('numbers', head, rows.map(([texts, over]) => make('tr', {}, cellsOf('td', texts), over)));

// Their coordinates and errors stand apart from their values.
function worstElements(record) {
  if (!record.worst_elements) return null;
  const places = (record.worst_errors || '').split(';').map((entry) => entry.split(':'));
  const rows = record.worst_elements.split(';').filter(Boolean).map((element, i) => {
    const [index, got, golden, tolerance] = element.split(':');
    const [place, error] = places[i] || [];
    const size = Math.abs(error ? Number(error) : Number(got) - Number(golden)), ratio = size / Number(tolerance);
    return [[place || index, got, golden, numberText(size), tolerance],
            make('td', {class: ratio <= 1 ? '' : 'over'}, Number.isFinite(ratio) ? numberText(ratio) : 'not finite')];
  });
  return elementTable(['element', 'got', 'golden', '|error|', 'tolerance', 'ratio'], rows);
}

// A cell for each character of the map, a legend below.
const errorMarks = {'.': ['right', 'right'], '+': ['near', 'off by up to 10 tolerances'], '#': ['far', 'off by more'],
  '!': ['special', 'a wrong NaN or infinity']};

function errorMap(text) {
  const [steps, picture] = (text || '').split(':');
  if (!picture) return null;
  const [rowStep, columnStep] = steps.split(',').map(Number), rows = picture.split('/');
  const cells = rows.flatMap((row, y) => [...row].map((mark, x) => mark === '.' ? null :
    makeSvg('rect', {x, y, width: 1, height: 1, class: (errorMarks[mark] || errorMarks['!'])[0]})));
  const width = rows[0].length, seen = Object.entries(errorMarks).filter(([mark]) => picture.includes(mark));
  const cell = rowStep * columnStep === 1 ? 'an element' :
    `the worst of ${counted(rowStep, 'row')} by ${counted(columnStep, 'column')}`;
  return make('figure', {class: 'errormap'},
    makeSvg('svg', {viewBox: `0 0 ${width} ${rows.length}`, role: 'img', style: `max-width:${width * 12}px`,
                    'aria-label': 'map of the error, ' + cell + ' for each cell'}, cells),
    make('figcaption', {}, `Each cell is ${cell}: the last axis to the right, all others downwards. `,
         seen.map(([, [name, meaning]]) => make('span', {class: 'mark'}, make('i', {class: name}), meaning + ' '))));
}

function twinElements(text) {
  if (!text) return null;
  return elementTable(['element', 'got', 'expected', 'permitted difference'],
                      text.split(';').filter(Boolean).map((element) => [element.split(':'), null]));
}

// Table of all outputs, if there are several; the other blocks are about the worst.
function outputs(record) {
  if (!record.outputs) return null;
  return elementTable(['output', 'verdict', 'class', 'bound', 'exact', 'statistic', 'exceptional', 'relations'],
                      record.outputs.split(';').map((output) => [output.split(':'), null]));
}

const metricNames = [['max_abs_err', 'largest |error|'], ['max_rel_err', 'largest relative error'],
  ['max_ulp_err', 'largest error in ulp'], ['rms_err', 'rms error'], ['nmse', 'normalised mean square error'],
  ['effective_bits', 'effective bits'], ['bias_z', 'bias (z)'], ['outliers', 'outliers'], ['elements', 'elements'],
  ['nonfinite_mismatch', 'non-finite mismatches'], ['worst_index', 'worst index']];

function timing(record) {
  if (!present(record.time_median_s)) return null;
  const median = medianText(record);
  return pairs([
    ['median', struck(record, median)],
    ['not confirmed', present(record.time_at_most_s) ?
      record.timing_unsure || `by the host's clock; the backend says ${timeText(record.time_median_s)}` : ''],
    ['p10 to p90', present(record.time_p10_s) ? timeText(record.time_p10_s) + ' to ' + timeText(record.time_p90_s) : ''],
    ['samples', present(record.samples) ? `${record.samples} by the ${record.timing_clock || 'host'} clock` : ''],
    ['ended by', record.stop_reason],
    ['cold caches', present(record.time_cold_median_s) ? struck(record, timeText(record.time_cold_median_s)) : record.cold_note],
    ['rate', rateText(record)],
    ['of the roofline', rooflineText(record)],
    ['of the bandwidth, of the compute rate', present(record.memory_fraction) && present(record.compute_fraction) ?
      `${numberText(100 * record.memory_fraction)} %, ${numberText(100 * record.compute_fraction)} %` : ''],
    ['roofline', record.roofline_note], ['cannot be true', record.timing_invalid],
    ['launch', present(record.launch_fraction) ? numberText(100 * record.launch_fraction) + ' % of the wall clock' : ''],
    ['upload, download', present(record.upload_s) ? `${timeText(record.upload_s)}, ${timeText(record.download_s)}` : ''],
    ['preparation', timeText(record.prepare_s)],
    ['again in the same process', present(record.prepare_cached_s) ? timeText(record.prepare_cached_s) : '']]);
}

function contract(record) {
  const yesNo = (value) => value === true ? 'yes' : value === false ? 'no' : '';
  return pairs([
    ['required', record.required_contract], ['declared', record.contract], [term('class'), record.class],
    ['decided by', record.deciding_check],
    ['verdict alone', record.verdict === record.outcome ? '' : `${record.verdict}, by the expectations ${record.outcome}`],
    ['deterministic', yesNo(record.deterministic)], [term('twin', 'exact twin'), yesNo(record.twin)],
    [term('mutation power'), numberText(record.mutation_power)], [term('tier', 'golden value'), record.tier],
    ['not judged', record.not_judged > 0 ? `${counted(record.not_judged, 'element')}: the contract bounds nothing there` : '']]);
}

// Relations between executions of the implementation; what breaks is named. A claimed one would have failed the result.
function relations(record) {
  if (!record.properties) return null;
  const held = record.properties.split(';').map((entry) => entry.replace('=', ': ')).join(', ');
  return make('div', {}, make('p', {}, held), record.property_breaks ? make('p', {}, record.property_breaks) : null);
}

// Results of this case in other columns, in the order of the records.
function others(record) {
  const all = resultsOfCase.get(record.case_id) || [];
  if (all.length < 2) return null;
  const rows = all.map((other) => make('tr', {class: other === record ? 'this' : ''},
    make('td', {}, chip(other.outcome)),
    make('td', {}, other === record ? make('b', {}, other.shown_as) : make('a', {href: resultFragment(other)}, other.shown_as)),
    make('td', {class: 'r'}, decided(other)), make('td', {class: 'r'}, numberText(other.max_ulp_err)),
    make('td', {class: 'r'}, struck(other, medianText(other)))));
  const head = ['verdict', 'implementation', 'decided by', 'max ulp', 'time'].map((name, i) =>
    make('th', {scope: 'col', class: i > 1 ? 'r' : ''}, name));
  return make('div', {class: 'scroll'}, make('table', {class: 'others'}, make('thead', {}, make('tr', {}, head)), make('tbody', {}, rows)));
}

// Fields of records in results.jsonl, without what the page adds.
const fieldNames = [...data.keys, ...Object.keys(data.common)]
    .filter((key) => !['shown_as', 'deciding_check', 'deciding_margin'].includes(key)).sort();

function allFields(record) {
  const entries = fieldNames.map((key) => [key, present(record[key]) ? make('code', {}, String(record[key])) : '']);
  return make('details', {class: 'wide'}, make('summary', {}, 'Every field of the record'), pairs(entries));
}

function detailPanel(record) {
  const metrics = pairs(metricNames.map(([key, name]) => [name, numberText(record[key])]));
  const bins = record.margin_histogram ? histogram(record.margin_histogram) : null;
  return make('div', {class: 'blocks'},
    record.reason ? make('p', {class: 'wide'}, record.reason) : null,
    block(term('contract', 'Contract'), contract(record)), block([term('channel', 'Channels'), ': ', term('margin'), ', limit 1'], channels(record)),
    block(`Outputs: ${record.worst_output} decides, and is what follows`, outputs(record), true),
    block('Errors', metrics), block('Time of one execution', timing(record)),
    block('Map of the error', errorMap(record.error_map), true),
    block('Wrong elements of the exact twin, whose data are its own', twinElements(record.twin_elements), true),
    make('div', {class: 'pair'}, block('Worst elements', worstElements(record)),
         block('Elements by margin of the bound (heights logarithmic, the limit dashed)', bins)),
    block([term('relation', 'Relations'), ' between executions'], relations(record), true),
    block('This case on all implementations', others(record), true),
    block('Reproduce', copyBox(record.reproduce), true),
    allFields(record));
}
