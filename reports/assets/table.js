// The table of all results: filtered, sorted, one page of rows in the document at a time.
const pageSize = 50;
const columns = [
  {name: 'verdict', key: (r) => styleOf(r.outcome).gravity, cell: (r) => chip(r.outcome)},
  {name: 'case', key: (r) => r.case_id, cell: openButton},
  {name: 'implementation', key: (r) => r.shown_as, cell: (r) => breakableName(r.shown_as)},
  {name: 'class', key: (r) => r.class, cell: (r) => (r.class === 'none' ? '' : r.class)},
  {name: 'decided by', right: true, key: decidingKey, cell: decided},
  {name: 'max ulp', right: true, key: (r) => marginKey(r.max_ulp_err), cell: (r) => numberText(r.max_ulp_err)},
  {name: 'time', right: true, key: (r) => r.timing_invalid ? Infinity : marginKey(believed(r)), cell: (r) => struck(r, medianText(r))},
  {name: 'rate', right: true, key: (r) => rateKey(r), cell: (r) => struck(r, rateText(r))},
];
const view = {sort: 0, descending: false, page: 0, text: '', pinned: {}, outcomes: null, open: new Set(), last: null};  // last: the result opened last

// A check without a margin is a plain no, except where nothing failed.
function decidingKey(r) {
  return r.deciding_check && !present(r.deciding_margin) && styleOf(r.outcome).fails ? Infinity : marginKey(r.deciding_margin);
}

function decided(r) {
  return [`${r.deciding_check} ${numberText(r.deciding_margin)}`.trim(), gauge(r.deciding_margin)];
}

// Non-finite values sort above every number, absent ones below.
function marginKey(value) {
  if (!present(value)) return -1;
  return typeof value === 'number' ? value : Infinity;
}
const rateKey = (r) => marginKey(computes(r) ? r.gflops : r.gbytes_per_s);

function casesSection() {
  if (records.length === 0) return null;
  const button = (id, text, accept) => make('button', {type: 'button', id, onclick: () => { setOutcomes(accept); applyFilter(); }}, text);
  return [
    data.left_out > 0 ? make('p', {class: 'note'}, `The table has ${records.length} of ${counted(records.length + data.left_out, 'result')}: those that ` +
      'failed, are otherwise remarkable or named elsewhere on this page, and evenly chosen ones of the others. results.jsonl beside this page has all; what the rest of the page ' +
      'says is about all of them.') : null,
    make('form', {id: 'filter', class: 'filter', role: 'search'},
      make('label', {class: 'search'}, make('span', {class: 'hidden'}, 'Filter results'),
        make('input', {type: 'search', id: 'filter-text', autocomplete: 'off', spellcheck: 'false',
                       placeholder: 'Filter: words of id, implementation, class or reason; -word leaves out'})),
      make('fieldset', {}, make('legend', {class: 'hidden'}, 'Verdicts shown'),
        data.counts.map(([outcome, count]) => make('label', {}, make('input', {type: 'checkbox', name: 'outcome', value: outcome, checked: ''}), ' ',
                                                   chip(outcome, `${outcome} ${count}`))),
        button('failing-only', 'failing only', (name) => styleOf(name).fails), button('all-verdicts', 'all', () => true)),
      make('p', {id: 'pinned', hidden: ''})),
    make('p', {id: 'status', class: 'note', role: 'status'}),
    make('div', {class: 'scroll'}, make('table', {id: 'results', class: 'results'})),
    make('div', {id: 'pager', class: 'pager'})];
}

function openButton(record) {
  return make('button', {type: 'button', class: 'open', id: 'r' + record.index, title: 'open the details', 'aria-expanded': view.open.has(record.index),
                         onclick: () => toggle(record.index)}, breakable(record.case_id));
}

function toggle(index) {
  view.last = view.open.delete(index) ? null : index;
  if (view.last !== null) view.open.add(index);
  render();
  writeAddress();
  byId('r' + index).focus({preventScroll: true});
}

function matches(record) {
  if (view.outcomes && !view.outcomes.has(record.outcome)) return false;
  for (const [key, value] of Object.entries(view.pinned)) if (record[key] !== value) return false;
  return view.text.toLowerCase().split(/\s+/).filter(Boolean).every((word) =>
    word.length > 1 && word[0] === '-' ? !record.haystack.includes(word.slice(1)) : record.haystack.includes(word));
}

function selected() {
  const {key} = columns[view.sort], sign = view.descending ? -1 : 1;
  const keyed = records.filter(matches).map((record) => [key(record), record]);
  keyed.sort(([a, ra], [b, rb]) => (a < b ? -sign : a > b ? sign : ra.index - rb.index));
  return keyed.map(([, record]) => record);
}

function headRow() {
  return make('thead', {}, make('tr', {}, columns.map((column, i) => {
    const active = view.sort === i;
    const sort = active ? (view.descending ? 'descending' : 'ascending') : 'none';
    const mark = active ? (view.descending ? ' ▾' : ' ▴') : '';
    return make('th', {scope: 'col', 'aria-sort': sort, class: column.right ? 'r' : ''},
                make('button', {type: 'button', onclick: () => sortBy(i)}, column.name + mark));
  })));
}

// Numbers begin with the largest, words with the first.
function sortBy(i) {
  view.descending = view.sort === i ? !view.descending : Boolean(columns[i].right);
  view.sort = i;
  view.page = 0;
  render();
  writeAddress();
  byId('results').querySelectorAll('thead button')[i].focus({preventScroll: true});
}

function bodyRows(record) {
  const row = make('tr', {class: 'row'}, columns.map((column) =>
    make('td', {class: column.right ? 'r' : '', 'data-name': column.name}, column.cell(record) || '')));
  if (!view.open.has(record.index)) return [row];
  return [row, make('tr', {}, make('td', {class: 'detail', colspan: columns.length}, detailPanel(record)))];
}

function pager(count) {
  const pages = Math.ceil(count / pageSize);
  if (pages < 2) return [];
  const go = (page) => () => { view.page = page; render(); writeAddress(); byId('cases').scrollIntoView(); };
  return [make('button', {type: 'button', disabled: view.page === 0 ? '' : null, onclick: go(view.page - 1)}, '‹ previous'),
          `page ${view.page + 1} of ${pages}`,
          make('button', {type: 'button', disabled: view.page + 1 >= pages ? '' : null, onclick: go(view.page + 1)}, 'next ›')];
}

function render() {
  const rows = selected();
  view.page = Math.max(0, Math.min(view.page, Math.ceil(rows.length / pageSize) - 1));
  const start = view.page * pageSize, shown = rows.slice(start, start + pageSize);
  byId('results').replaceChildren(headRow(), make('tbody', {}, shown.flatMap(bodyRows)));
  byId('pager').replaceChildren(...pager(rows.length));
  const all = counted(records.length, 'result');
  byId('status').textContent = rows.length === 0 ? `Nothing of ${all} matches.` :
    `${start + 1} to ${start + shown.length} of ${rows.length < records.length ? `${rows.length} that match, of ${all}` : all}. ` +
    'Open a case for its details.';
  return rows;
}
