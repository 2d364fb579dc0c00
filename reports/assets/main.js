// Filters, the address, and the start.
const boxes = () => [...document.querySelectorAll('input[name=outcome]')];

function readFilter() {
  const checked = boxes().filter((box) => box.checked);
  view.outcomes = checked.length === boxes().length ? null : new Set(checked.map((box) => box.value));
  view.text = byId('filter-text').value;
  view.page = 0;
}

function applyFilter() {
  readFilter();
  view.last = null;
  render();
  writeAddress();
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

// The filter, the sorting and the page as they stand; the result that was opened last.
function writeAddress() {
  const opened = view.last === null ? {} : {case: records[view.last].case_id, on: records[view.last].shown_as};
  const {op, dtype, shown_as: impl} = view.pinned;
  const filter = {op, dtype, impl, verdict: view.outcomes ? [...view.outcomes].join(',') : '', q: view.text};
  const order = view.sort || view.descending ? (view.descending ? '-' : '') + columns[view.sort].name : '';
  history.replaceState(null, '', fragment({...opened, ...filter, sort: order, page: view.page > 0 ? view.page + 1 : ''}));
}

function readOrder({sort, page}) {
  const name = (sort || '').replace(/^-/, '');
  const place = columns.findIndex((column) => column.name === name);
  view.sort = Math.max(0, place);
  view.descending = place >= 0 && sort.startsWith('-');
  view.page = Math.max(0, (Number(page) || 1) - 1);
}

function readAddress() {
  const parameters = parametersOf(location.hash);
  if (Object.keys(parameters).length === 0) return;
  const {op, dtype, impl, verdict, q} = parameters;
  setPinned(Object.fromEntries(Object.entries({op, dtype, shown_as: impl}).filter(([, value]) => value !== undefined)));
  const wanted = verdict === undefined ? null : new Set(verdict.split(','));
  setOutcomes((name) => wanted === null || wanted.has(name));
  byId('filter-text').value = q || '';
  readFilter();
  readOrder(parameters);
  render();
  if (parameters.case) openResult(parameters.case, parameters.on);
  else byId('cases').scrollIntoView();
}

// Wherever the filter and the page are.
function openResult(id, on) {
  const record = records.find((r) => r.case_id === id && (on === undefined || r.shown_as === on));
  if (!record) {
    const place = data.left_out ? 'This table, which does not have all results,' : 'This run';
    byId('status').textContent = `${place} has no result of ${id}${on ? ' on ' + on : ''}.`;
    return;
  }
  view.open.add(record.index);
  view.last = record.index;
  const find = () => selected().indexOf(record);
  if (find() < 0) {
    setPinned({});
    setOutcomes(() => true);
    byId('filter-text').value = '';
    readFilter();
  }
  view.page = Math.floor(find() / pageSize);
  render();
  byId('r' + record.index).closest('tr').scrollIntoView({block: 'start'});
  byId('r' + record.index).focus({preventScroll: true});
}

const sections = [
  ['failures', 'Failures', failuresSection], ['known', 'Known failures', knownSection], ['verdicts', 'Verdicts', matrixSection],
  ['cases', 'All results', casesSection], ['sweep', 'Sweep', sweepSection], ['performance', 'Performance', timesSection],
  ['not-run', 'Not run', notRunSection], ['profile', 'Profile', profileSection], ['environment', 'Environment', environmentSection],
  ['legend', 'How to read this', legendSection]];

function buildPage() {
  document.querySelector('header').append(headerContent());
  const links = [];
  for (const [id, title, build] of sections) {
    const content = build();
    if (content === null) continue;
    links.push(make('a', {href: '#' + id}, title));
    byId('content').append(make('section', {id, 'aria-labelledby': id + '-title'}, make('h2', {id: id + '-title'}, title), content));
  }
  document.querySelector('nav').append(make('div', {class: 'wrap'}, make('b', {}, 'assay'), links));
}

function start() {
  buildPage();
  if (records.length === 0) return;
  byId('filter').addEventListener('submit', (event) => event.preventDefault());
  byId('filter-text').addEventListener('input', applyFilter);
  boxes().forEach((box) => box.addEventListener('change', applyFilter));
  // A link to where the address already is.
  document.addEventListener('click', (event) => {
    const link = event.target.closest('a[href^="#"]');
    if (link && link.getAttribute('href') === location.hash) readAddress();
  });
  addEventListener('hashchange', readAddress);
  addEventListener('beforeprint', () => document.querySelectorAll('.cluster').forEach((d) => { d.open = true; }));
  render();
  readAddress();
}

start();
