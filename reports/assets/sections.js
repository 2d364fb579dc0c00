// The sections around the table of results and the times; each is null where it has nothing to say.
function outcomeKey() {
  return make('ul', {class: 'key'},
    data.counts.map(([outcome, count]) => make('li', {}, make('a', {href: fragment({verdict: outcome})}, chip(outcome, `${count} ${outcome}`)))),
    data.suspect > 0 ? make('li', {}, make('a', {href: '#q=suspect', title: 'counted among the verdicts beside; ' + definitions.get('suspect')},
      make('span', {class: 'chip warn'}, hidden('~'), ` ${data.suspect} suspect`))) : null);
}

function facts() {
  const said = new Map(data.environment), value = (name) => said.get(name) || '', cores = value('cores');
  const joined = (parts, separator = ', ') => parts.filter(Boolean).join(separator), distinct = (list) => joined([...new Set(list)]);
  return Object.entries({
    Ran: data.ran,
    Backends: distinct(data.backends.map(([backend, , , library]) => joined([backend, library], ' '))),
    Devices: distinct(data.backends.map(([, device]) => device)),
    CPU: joined([value('cpu'), cores && `${cores} core${cores === '1' ? '' : 's'}`]),
    System: joined([value('os'), value('kernel'), value('architecture')]),
    Tool: joined(['assay ' + distinct(records.map((record) => record.tool_version)), value('compiler')]),
    When: value('timestamp') || (records.length > 0 ? records[0].timestamp : '')});
}

function headerContent() {
  const [tone, symbol, text] = data.headline;
  return make('div', {class: 'wrap'},
    make('h1', {class: tone}, hidden(symbol), ' ' + text),
    data.fault && make('p', {class: 'fault'}, data.fault + ' ', make('a', {href: '#legend'}, 'How to read this')),
    data.notes.map((note) => make('p', {class: 'incomplete'}, note)),
    data.incomplete && make('p', {class: 'incomplete'}, chip('missing', data.incomplete[0]), ` Missing: ${data.incomplete[1]}.`),
    make('div', {class: 'outcomes', 'aria-hidden': 'true'},
         data.counts.map(([outcome, count]) => make('i', {class: styleOf(outcome).tone, style: 'flex:' + count}))),
    outcomeKey(),
    make('dl', {class: 'facts'}, facts().filter(([, value]) => value)
        .map(([name, value]) => make('div', {}, make('dt', {}, name), make('dd', {}, value)))));
}

const resultLink = (record) => make('a', {href: resultFragment(record)}, breakable(record.case_id));

function failure({record: place, decided: check, head, rows}) {
  const record = placed.get(place), bold = (text) => make('b', {}, text);
  const facts = [];
  if (check) facts.push(' · decided by ', bold(check));
  if (present(record.bound_margin) && record.deciding_check !== 'bound') facts.push(' · margin of the bound ', bold(numberText(record.bound_margin)));
  if (record.violations > 0) facts.push(` · ${record.violations} of ${counted(record.elements || 0, 'element')} outside`);
  if (present(record.bound_margin) && record.required_contract) facts.push(' · requires ', term('contract'), ' ', make('code', {}, record.required_contract));
  return make('article', {}, make('h4', {}, resultLink(record)),
    make('p', {}, record.reason, make('span', {class: 'quiet'}, facts)),
    rows.length > 0 ? table('numbers', head, rows.map((row) => make('tr', {}, cellsOf('td', row)))) : null,
    copyBox(record.reproduce));
}

function failureCluster({count, shown}, i) {
  const {outcome, shown_as: impl, op, reason} = placed.get(shown[0].record);
  return make('details', {class: 'cluster', open: i < 4 ? '' : null},
    make('summary', {}, make('h3', {}, chip(outcome, `${count} ${outcome}`), ' ', make('span', {}, impl), ' ', op), ' ',
         make('span', {class: 'quiet'}, reason)),
    shown.map(failure),
    count > shown.length ? make('p', {}, make('a', {href: fragment({op, impl, verdict: outcome})}, `All ${count} of these in the table of results`)) : null);
}

function failuresSection() {
  return data.failures.length > 0 ? make('div', {class: 'clusters'}, data.failures.map(failureCluster)) : null;
}

function knownCluster({count, reason, where, note, shown}) {
  const first = placed.get(shown[0]), more = count - shown.length;
  return make('details', {class: 'cluster known'},
    make('summary', {}, make('h3', {}, chip(first.outcome, `${count} ${first.outcome}`), ' ', make('span', {}, first.backend)), ' ',
         make('span', {class: 'why'}, reason)),
    make('p', {class: 'quiet'}, note),
    make('ul', {}, shown.map((place) => make('li', {}, resultLink(placed.get(place)), ' ' + placed.get(place).shown_as)),
         more > 0 ? make('li', {}, make('a', {href: fragment({verdict: first.outcome, q: where})}, `and ${more} more`)) : null));
}

function knownSection() {
  return data.known.length === 0 ? null : [
    make('p', {class: 'note'}, 'Each is a ', term('verdict', 'known failure'), ': a line of an expectation file explains it, so that it does not fail the run.'),
    make('div', {class: 'clusters'}, data.known.map(knownCluster))];
}

function notRunSection() {
  return data.not_run.length === 0 ? null : [
    make('p', {class: 'note'}, 'What a backend does not offer fails nothing. These are results, of which a case has one per backend that declines it.'),
    table('plain', ['backend', 'verdict', 'results', 'reason'], data.not_run.map(([count, backend, outcome, reason]) =>
      make('tr', {}, make('th', {scope: 'row'}, backend), make('td', {}, outcome && chip(outcome)), make('td', {class: 'r'}, count), make('td', {}, reason))))];
}

function profileSection() {
  return !data.profile ? null : [
    make('p', {}, data.profile.line + '. Seconds of all threads, without what a phase is made of, and the share of the run.'),
    table('plain', data.profile.head, data.profile.rows.map(([phase, ...cells]) =>
      make('tr', {}, make('th', {scope: 'row'}, phase), cellsOf('td', cells, {class: 'r'}))))];
}

// Flags of a CPU and the like are there for those who look for them, and folded away for everyone else.
function foldLong(text) {
  return text.length <= 160 ? text : make('details', {}, make('summary', {}, text.slice(0, 60) + '…'), text);
}

function environmentSection() {
  const rowOf = ([name, ...cells]) => make('tr', {}, make('th', {scope: 'row'}, name), cells.map((text) => make('td', {}, foldLong(text))));
  const devices = data.backends.filter(([, device]) => device);
  return [
    devices.length > 0 ? table('plain', ['backend', 'device', 'driver', 'library'], devices.map(rowOf)) : null,
    data.environment.length === 0 ? make('p', {class: 'note'}, 'This run has no environment.json.') :
      make('div', {class: 'scroll'}, make('table', {class: 'plain environment'}, make('tbody', {}, data.environment.map(rowOf))))];
}

function legendSection() {
  const list = (name, entries) => make('dl', {class: name}, entries.map(([id, title, text]) =>
    make('div', {id}, make('dt', {}, title), make('dd', {}, text))));
  return make('div', {class: 'columns'},
    make('div', {}, make('h3', {}, 'Terms'), list('legend glossary', data.glossary.map(([name, text]) => [termId(name), name, text]))),
    make('div', {}, make('h3', {}, 'Verdicts'), list('legend', data.verdicts.map(({name, meaning}) => [null, chip(name), meaning])),
         make('h3', {}, 'Classes'), list('legend', data.classes.map(([name, text]) => [null, make('code', {}, name), text])),
         make('h3', {}, 'Read on'),
         make('p', {}, 'What each channel catches, with a real fault for each: ', make('code', {}, 'harness/judge/README.md'), ' of assay. ',
              make('code', {}, 'assay check'), ' judges one dumped tensor and explains the verdict; the line below a failure repeats it.')));
}
