/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What several views have, that which is shown first among them: the states, cells of tables, bars, charts in rows. */

const live = {}; /* the newest state of each topic */
const may = { diagnose: false };
const indexes = {}; /* by topic: its types by their names */
const typeKey = t => text(t.service) + '/' + text(t.type);
const indexOf = (topic, all) => (indexes[topic] = new Map(things(all).map(t => [typeKey(t), t])));

/* ---- elements ---- */

const link = (to, ...kids) => h('a', { href: '#' + to }, kids);
const wordOf = w => text(w).replace(/-/g, ' ');
const named = (name, c, ...kids) => h('td' + c, { 'data-name': name }, kids);
function stacked(heads, rows, about) {
	const t = table(heads, rows, about);
	t.querySelector('table').classList.add('stack');
	return t;
}
/* A part of 1, red beyond `limit`. */
function fillBar(x, limit, about) {
	const w = 80,
		part = Math.max(0, Math.min(1, known(x) ? x : 0));
	return s(
		'svg',
		{ class: 'inline', viewBox: '0 0 ' + w + ' 10', width: w, height: 10, role: 'img', 'aria-label': about },
		rect('box', 0.5, 0.5, w - 1, 9),
		rect(known(x) && x > limit ? 'over' : 'bar', 0.5, 0.5, part * (w - 1), 9),
		limit < 1 ? line('limit', limit * w, 0, limit * w, 10) : null
	);
}

/* ---- what changes with time, where it is shown: charts.js draws it ---- */

const seen = new Map(); /* by name: { at: s since 1970, of: { column: values } } */
const series = name => seen.get(name) || { at: [], of: {} };
const specs = new Map(); /* by id: { name, lines, fmt, small, least }, or { heat: columns of a type } */
const last = v => v[v.length - 1];
function lineWords(s, l, fmt) {
	const v = list(s.of[l[0]]).filter(known);
	return l[1] + (v.length ? ' ' + fmt(v[0]) + ' to ' + fmt(last(v)) + ', at most ' + fmt(Math.max(...v)) : ' without a value');
}
/* In a row of a table, beside its number. */
function spark(name, column, about, fmt) {
	const id = 'spark ' + name,
		s = series(name);
	if (s.at.length < 2) return null;
	specs.set(id, { name, lines: [[column, about]], fmt, small: true });
	return h('div.chart.spark', { 'data-key': id, 'data-own': '', role: 'img', 'aria-label': lineWords(s, [column, about], fmt) });
}
