// Filters, links from the rest of the page into the table, and the start.
const boxes = () => [...document.querySelectorAll('input[name=outcome]')];

function applyFilter() {
  const checked = boxes().filter((box) => box.checked);
  view.outcomes = checked.length === boxes().length ? null : new Set(checked.map((box) => box.value));
  view.text = byId('filter-text').value;
  view.page = 0;
  render();
}

function setOutcomes(accept) {
  for (const box of boxes()) box.checked = accept(box.value);
}

function setPinned(pinned) {
  view.pinned = pinned;
  const names = Object.values(pinned).filter(Boolean);
  byId('pinned').hidden = names.length === 0;
  byId('pinned').replaceChildren('Only ', make('b', {}, names.join(', ')), ' ',
    make('button', {type: 'button', onclick: () => { setPinned({}); applyFilter(); }}, 'show all'));
}

// <a href="#cases" data-op=... data-dtype=... data-column=... data-outcome=... data-text=...>
function followLink(link) {
  const {op, dtype, column, outcome, text} = link.dataset;
  const pinned = {};
  if (op !== undefined) pinned.op = op;
  if (dtype !== undefined) pinned.dtype = dtype;
  if (column !== undefined) pinned.column = column;
  setPinned(pinned);
  setOutcomes((name) => outcome === undefined || name === outcome);
  byId('filter-text').value = text || '';
  applyFilter();
}

// #r12 opens record 12, wherever the filter and the page are.
function openFromHash() {
  const match = /^#r(\d+)$/.exec(location.hash);
  if (!match || !records[match[1]]) return;
  const index = Number(match[1]);
  view.open.add(index);
  let place = selected().findIndex((record) => record.index === index);
  if (place < 0) {
    setPinned({});
    setOutcomes(() => true);
    byId('filter-text').value = '';
    applyFilter();
    place = selected().findIndex((record) => record.index === index);
  }
  view.page = Math.floor(place / pageSize);
  render();
  byId('r' + index).closest('tr').scrollIntoView({block: 'center'});
  byId('r' + index).focus({preventScroll: true});
}

function start() {
  document.querySelectorAll('.copy').forEach(addCopyButton);
  if (records.length === 0) return;
  byId('filter').hidden = byId('results').hidden = false;
  byId('filter').addEventListener('submit', (event) => event.preventDefault());
  byId('filter-text').addEventListener('input', applyFilter);
  boxes().forEach((box) => box.addEventListener('change', applyFilter));
  byId('failing-only').addEventListener('click', () => { setOutcomes((name) => (verdicts.get(name) || unknownVerdict).fails); applyFilter(); });
  byId('all-verdicts').addEventListener('click', () => { setOutcomes(() => true); applyFilter(); });
  document.addEventListener('click', (event) => {
    const link = event.target.closest('a[href="#cases"]');
    if (link && Object.keys(link.dataset).length > 0) followLink(link);
  });
  addEventListener('hashchange', openFromHash);
  addEventListener('beforeprint', () => document.querySelectorAll('.cluster').forEach((d) => { d.open = true; }));
  render();
  openFromHash();
}

start();
