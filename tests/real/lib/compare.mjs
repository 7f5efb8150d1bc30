// SPDX-License-Identifier: Apache-2.0 OR MIT
// Transcripts side by side. Only what a rule of the server's own table names is taken out before comparing, and the
// values taken out are kept, so that a rule under which nothing ever differed can be found and removed.

/**
 * A copy of `value` without what differs from run to run. A rule is {name, why, text} (a global expression over any
 * string) or {name, why, path} (a whole leaf, by its path); `taken` collects what each rule took out, in order.
 */
export function normalise(value, rules, taken = {}) {
  const visit = (node, path) => {
    for (const rule of rules) {
      if (rule.path?.test(path)) {
        (taken[rule.name] ??= []).push(JSON.stringify(node));
        return `<${rule.name}>`;
      }
    }
    if (typeof node === 'string') return strip(node, rules, taken);
    if (Array.isArray(node)) return node.map((item, i) => visit(item, `${path}/${i}`));
    if (node === null || typeof node !== 'object') return node;
    return Object.fromEntries(Object.entries(node).map(([key, item]) => [key, visit(item, `${path}/${key}`)]));
  };
  return visit(value, '');
}

function strip(text, rules, taken) {
  let result = text;
  for (const rule of rules) {
    if (!rule.text) continue;
    result = result.replace(rule.text, (match) => {
      (taken[rule.name] ??= []).push(match);
      return `<${rule.name}>`;
    });
  }
  return result;
}

/** The first place where two JSON-like values differ, as text, or null. Member order counts: it is on the wire. */
export function difference(a, b, path = '') {
  if (Object.is(a, b)) return null;
  const plain = (v) => v === null || typeof v !== 'object';
  if (plain(a) || plain(b) || Array.isArray(a) !== Array.isArray(b)) return `${path}: ${show(a, b)} | ${show(b, a)}`;
  const names = [Object.keys(a), Object.keys(b)];
  for (const key of names[0]) {
    if (!(key in b)) return `${path}/${key}: ${show(a[key])} | nothing`;
    const inner = difference(a[key], b[key], `${path}/${key}`);
    if (inner) return inner;
  }
  const more = names[1].find((key) => !(key in a));
  if (more !== undefined) return `${path}/${more}: nothing | ${show(b[more])}`;
  return names[0].join() === names[1].join() ? null : `${path}: members ${names[0].join()} | ${names[1].join()}`;
}

/** A value short enough to print, from a little before the place where it first differs from `other`. */
function show(value, other) {
  const text = JSON.stringify(value) ?? String(value);
  const beside = JSON.stringify(other) ?? '';
  let at = 0;
  while (at < text.length && text[at] === beside[at]) at += 1;
  const from = at < 60 || other === undefined ? 0 : at - 40;
  return `${from > 0 ? '…' : ''}${text.slice(from, from + 200)}${text.length > from + 200 ? '…' : ''}`;
}

/** Where two byte strings part, as text, or null. */
export function byteDifference(a, b) {
  if (a.equals(b)) return null;
  let at = 0;
  while (at < a.length && at < b.length && a[at] === b[at]) at += 1;
  const near = (buf) => JSON.stringify(buf.subarray(Math.max(0, at - 30), at + 50).toString('latin1'));
  return `${a.length} and ${b.length} bytes, apart at ${at}: ${near(a)} | ${near(b)}`;
}
