// The verdict matrix: a row per operator and dtype, a column per backend (and device), in each cell one line per
// implementation. Implementations differ from operator to operator, so columns of their own would be mostly empty.
function marginBar({margin, margin_text: text}) {
  if (!present(margin)) return make('span', {class: 'm'});
  return make('span', {class: 'm', title: 'worst margin of the bound of what passed'},
              make('i', {style: `width:${(100 * gaugeShare(margin)).toFixed(1)}%`}), text);
}

function lineContent(name, line, symbol) {
  const words = line.counts.map(([outcome, count]) => `${count} ${outcome}`).join(', ');
  return [hidden(symbol), make('span', {class: 'w'}, make('em', {}, name), ` ${words}${line.suspect ? ` (${line.suspect} suspect)` : ''}`),
          marginBar(line)];
}

function matrixLine(line) {
  const gravest = styleOf(line.counts[0][0]), tinged = line.suspect && gravest.tone === 'ok';
  const impl = line.backend + (line.name && ':' + line.name);
  return make('a', {class: 'line ' + (tinged ? 'warn' : gravest.tone), href: fragment({op: line.op, dtype: line.dtype, impl})},
              lineContent(line.name, line, tinged ? '~' : gravest.symbol));
}

const onlyPasses = (line) => !line.suspect && line.counts.length === 1 && line.counts[0][0] === 'pass';

// Several implementations that only pass are one line until it is opened.
function matrixCell(backend, lines = []) {
  const passing = lines.filter(onlyPasses), others = lines.filter((line) => !onlyPasses(line));
  const cell = make('td', {'data-backend': backend, class: lines.length > 0 ? null : 'none'}, others.map(matrixLine));
  if (passing.length < 2) {
    cell.append(...passing.map(matrixLine));
  } else {
    const worst = passing.reduce((a, b) => (b.margin ?? -1) > (a.margin ?? -1) ? b : a);
    const sum = {...worst, counts: [['pass', passing.reduce((total, line) => total + line.counts[0][1], 0)]]}, {tone, symbol} = styleOf('pass');
    cell.append(make('details', {class: 'passing'},
      make('summary', {class: 'line ' + tone}, lineContent(counted(passing.length, 'implementation'), sum, symbol)), passing.map(matrixLine)));
  }
  return cell;
}

function operatorBody([op, lines]) {
  const rows = [...grouped(lines, (line) => line.dtype)];
  return make('tbody', {}, rows.map(([dtype, ofDtype], i) => {
    const cells = grouped(ofDtype, (line) => line.backend);
    return make('tr', {}, i === 0 ? make('th', {scope: 'rowgroup', rowspan: rows.length}, op) : null, make('th', {scope: 'row'}, dtype),
                data.matrix.backends.map((backend) => matrixCell(backend, cells.get(backend))));
  }));
}

function matrixSection() {
  if (data.matrix.lines.length === 0) return make('p', {}, 'There are no records.');
  return [
    make('p', {class: 'note'}, 'One line per ', term('backend', 'implementation'), '; those that only pass stand in one line, which opens. On the right the largest ',
         term('margin'), ' of what passed against its ', term('bound'), ', with a bar on a logarithmic scale from 2', make('sup', {}, '-10'),
         ' to the limit 1, the same in all tables. Follow a line to its results.'),
    make('div', {class: 'scroll'}, make('table', {class: 'matrix'},
      make('thead', {}, make('tr', {}, make('th', {scope: 'col', colspan: 2}, 'Operator, dtype'), cellsOf('th', data.matrix.backends, {scope: 'col'}))),
      [...grouped(data.matrix.lines, (line) => line.op)].map(operatorBody)))];
}
