// Building elements. Text from records only ever becomes text nodes, never markup.
const byId = (id) => document.getElementById(id);

function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name === 'onclick') element.addEventListener('click', value);
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== ''));
  return element;
}

function makeSvg(tag, attributes, ...children) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
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

function addCopyButton(box) {
  const button = make('button', {type: 'button'}, 'copy');
  button.addEventListener('click', () => {
    copyText(box.querySelector('code').textContent).then(
        () => { button.textContent = 'copied'; }, () => { button.textContent = 'select and copy'; });
    setTimeout(() => { button.textContent = 'copy'; }, 1500);
  });
  box.append(button);
  return box;
}

function breakable(id) {
  const code = make('code', {class: 'id'});
  for (const part of id.split(/(?<=[/,])/)) code.append(part, make('wbr'));
  return code;
}
