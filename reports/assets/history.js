// The page of assay history: a grid for each backend, of results that changed by runs, and the changes with their lines to reproduce.
const history = JSON.parse(byId('data').textContent);
const toneOf = {worse: 'bad', better: 'ok', neutral: 'off'};
const signOf = {worse: '✗', better: '✓', neutral: '•'};
const anchorOf = (backend) => 'backend-' + backend.replace(/[^\w-]/g, '-');
const nameOf = (change) => [change.implementation, change.device && change.device !== 'host' ? ' on ' + change.device : ''].join('');
const places = new Map(history.runs.map((run, place) => [run.name, place]));

function changeChip(change) {
  const text = `${change.before || 'none'} → ${change.now}${change.detail ? ': ' + change.detail : ''}`;
  return make('span', {class: 'chip ' + toneOf[change.trend], title: text}, hidden(signOf[change.trend]), ' ' + change.aspect);
}

// One row for each result that changed; on top those that got worse most recently.
function grid(changes) {
  const results = [...grouped(changes, (c) => JSON.stringify([c.device, c.implementation, c.case_id])).values()];
  const newest = (of) => Math.max(...of.map((c) => places.get(c.run) + (c.trend === 'worse' ? history.runs.length : 0)));
  results.sort((a, b) => newest(b) - newest(a));
  const head = ['result', ...history.runs.map((run) => run.name)];
  return table('history', head, results.map((of) => make('tr', {},
    make('td', {}, breakableName(nameOf(of[0])), make('br', {}), breakable(of[0].case_id)),
    history.runs.map((run) => make('td', {}, of.filter((c) => c.run === run.name).map((c) => [changeChip(c), ' ']))))));
}

function stepOf(run, after, changes) {
  const differs = history.differences.find((d) => d.run === run && d.after === after);
  const lines = differs && differs.differs_in.length ? differs.differs_in : ['nothing that environment.json says'];
  return make('details', {}, make('summary', {}, make('h3', {}, `${run}, after ${after}`, make('span', {}, `: ${changes.length} changed`))),
    make('p', {class: 'note'}, 'differs in ', lines.map((line, i) => [i ? '; ' : '', line])),
    changes.map((c) => make('div', {},
      make('p', {}, changeChip(c), ' ', `${c.before || 'none'} → ${c.now}`, ' ', breakableName(nameOf(c)), ' ', breakable(c.case_id),
        c.detail ? make('span', {class: 'quiet'}, ' ' + c.detail) : ''),
      copyBox(c.reproduce))));
}

const backends = grouped(history.changes, (c) => c.backend);
fill(document.querySelector('header'), {class: 'wrap'}, [make('h1', {}, `${history.runs.length} runs, ${history.changed} of ${history.results} results changed`),
  make('p', {class: 'note'}, history.times), history.notes.map((note) => make('p', {class: 'note'}, 'note: ' + note))]);
fill(document.querySelector('nav'), {}, [make('div', {class: 'wrap'}, [...backends.keys()].map((b) => [make('a', {href: '#' + anchorOf(b)}, b), ' ']))]);
fill(byId('content'), {}, [...backends].map(([backend, changes]) => make('section', {id: anchorOf(backend)}, make('h2', {}, backend),
  grid(changes), [...grouped(changes, (c) => c.run + '\0' + c.after)].reverse().map(([key, of]) => stepOf(...key.split('\0'), of)))));
fill(byId('content'), {}, [make('section', {}, make('h2', {}, 'Runs'), table('runs', ['run', 'began'],
  history.runs.map((run) => make('tr', {}, cellsOf('td', [run.name, run.started])))))]);
