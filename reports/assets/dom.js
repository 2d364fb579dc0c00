// Building elements. Text from records only ever becomes text nodes, never markup.
const byId = (id) => document.getElementById(id);

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name === 'onclick') element.addEventListener('click', value);
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== ''));
  return element;
}

const make = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const makeSvg = (tag, attributes, ...children) => fill(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);

const cellsOf = (tag, texts, attributes = {}) => texts.map((text) => make(tag, attributes, text));

// A table in a box that scrolls sideways. `head`: texts of its header; `rows`: elements.
function table(name, head, rows) {
  return make('div', {class: 'scroll'}, make('table', {class: name},
    make('thead', {}, make('tr', {}, cellsOf('th', head, {scope: 'col'}))), make('tbody', {}, rows)));
}

async function copyText(text) {
  if (navigator.clipboard && window.isSecureContext) return navigator.clipboard.writeText(text);
  const area = make('textarea', {});  // a page opened from a file may not use the clipboard directly
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand('copy');
  area.remove();
}

// A command with a button that copies it.
function copyBox(command) {
  if (!command) return null;
  const button = make('button', {type: 'button', onclick: () => {
    copyText(command).then(() => { button.textContent = 'copied'; }, () => { button.textContent = 'select and copy'; });
    setTimeout(() => { button.textContent = 'copy'; }, 1500);
  }}, 'copy');
  return make('div', {class: 'copy'}, make('code', {}, command), button);
}

// A case id, with places where a browser may break the line.
function breakable(id) {
  return make('code', {class: 'id'}, id.split(/(?<=[/,])/).map((part) => [part, make('wbr', {})]));
}

// The name of an implementation, which may be broken behind its colons, hyphens and underscores.
function breakableName(name) {
  return make('span', {class: 'id'}, name.split(/(?<=[:_-])/).map((part) => [part, make('wbr', {})]));
}

const hidden = (symbol) => make('b', {'aria-hidden': 'true'}, symbol);

// "✗ mismatch" as a coloured label.
function chip(outcome, text = outcome) {
  const {tone, meaning, symbol} = styleOf(outcome);
  return make('span', {class: 'chip ' + tone, title: meaning}, hidden(symbol), ' ' + text);
}

const termId = (name) => 'term-' + name.replace(/ /g, '-');

// A term of the glossary, with its definition.
function term(name, text) {
  return make('a', {class: 'term', href: '#' + termId(name), title: definitions.get(name) || ''}, text || name);
}

// A map from keys to the items that have them.
function grouped(list, keyOf) {
  const groups = new Map();
  for (const item of list) {
    const key = keyOf(item);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(item);
  }
  return groups;
}
