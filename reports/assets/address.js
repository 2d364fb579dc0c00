// State of the table in the address: "#op=fft&verdict=mismatch&q=words" filters, "#case=ID&on=cpu:radix" opens one
// result. A link that is sent to someone shows the same view; an address without '=' is a section of the page.
const shownInAddress = (value) => encodeURIComponent(value).replace(/%2F/g, '/').replace(/%2C/g, ',').replace(/%3D/g, '=')
    .replace(/%3A/g, ':');

function fragment(parameters) {
  const parts = Object.entries(parameters).filter(([, value]) => present(value))
      .map(([key, value]) => `${key}=${shownInAddress(value)}`);
  return '#' + (parts.join('&') || 'cases');
}

function parametersOf(hash) {
  const parameters = {};
  if (!hash.includes('=')) return parameters;
  for (const part of hash.slice(1).split('&')) {
    const equals = part.indexOf('=');
    try {
      if (equals > 0) parameters[part.slice(0, equals)] = decodeURIComponent(part.slice(equals + 1));
    } catch { /* not from this page */ }
  }
  return parameters;
}

const resultFragment = (record) => fragment({case: record.case_id, on: record.shown_as});
