/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A comparison with a baseline of states: for each operation that departs from it, its states as they usually are and as they are now; then all
 * operations. */

const doc = JSON.parse(document.getElementById('document').textContent);
const STATES = ['running', 'ready', 'disk', 'network', 'timer', 'lock', 'thread', 'fault', 'unknown'];
const WIDE = 260;

const classOf = state => (STATES.includes(state) ? state : 'unknown');
const amount = (f, x) => (f.measure === 'time' ? ms(x / 1e6) : f.measure === 'count' ? digits(x, 2) : digits(100 * x, 2) + ' %');
const share = (n, of) => (of > 0 ? digits((100 * n) / of, 2) + ' %' : '–');

function whereOf(o, f) {
	if (o.intervals === 1) return 'in all of it';
	if (f.after && f.after === f.before) return 'between calls of ' + text(f.after);
	if (f.before) return 'before ' + text(f.before);
	return 'after ' + text(f.after);
}

function whatOf(f) {
	if (f.measure === 'absent') return 'lacks ' + text(f.pattern);
	const how = (f.more ? ', more' : ', less') + (f.measure === 'count' ? ' often' : '');
	return text(f.state) + (f.pattern ? ' of ' + f.pattern : '') + how;
}

/* What is usual above what is now, both on one scale. */
function bars(f, most) {
	const wide = x => (known(x) && most > 0 ? (WIDE * Math.max(x, 0)) / most : 0);
	return picture(WIDE + 4, 24, text(f.state) + ': usually ' + amount(f, f.usual) + ', now ' + amount(f, f.mean), [
		rect(classOf(f.state), 2, 2, wide(f.usual), 7, 'usually ' + amount(f, f.usual)),
		rect(classOf(f.state), 2, 12, wide(f.mean), 9, 'now ' + amount(f, f.mean))
	]);
}

function row(o, f) {
	const times = things(o.findings).filter(x => x.measure === f.measure);
	const most = Math.max(...times.map(x => Math.max(x.usual, x.mean)));
	return h(
		'tr',
		h('td', text(f.resource)),
		h('td', whatOf(f)),
		h('td', whereOf(o, f)),
		h('td', bars(f, most)),
		h('td', amount(f, f.usual)),
		h('td', amount(f, f.mean)),
		h('td', text(f.operations) + ' of ' + text(f.of))
	);
}

const heads = names => h('thead', h('tr', names.map(n => h('th', n))));

const departed = o =>
	h(
		'section',
		h('h2', text(o.name)),
		list(o.below).length > 0 && h('p', 'called by ' + list(o.below).map(text).join(' → ')),
		h(
			'table',
			heads(['resource', 'state', 'where', 'usually, and now', 'usual', 'now', 'operations']),
			h(
				'tbody',
				things(o.findings).map(f => row(o, f))
			)
		)
	);

const operations = things(doc.operations),
	found = operations.filter(o => list(o.findings).length > 0);

put(document.getElementById('main'), [
	h('p', text(doc.requests) + ' requests, compared with the baseline ' + text(doc.baseline) + '; ' +
		text(doc.outside) + ' of ' + text(doc.compared) + ' operations are outside of their limits (' + share(doc.outside, doc.compared) + ')'),
	found.length === 0 && h('p', 'No operation departs from what is usual more often than by chance.'),
	found.map(departed),
	h('h2', 'All operations'),
	h(
		'table',
		heads(['operation', 'compared', 'outside', 'share', 'explained below']),
		h(
			'tbody',
			operations
				.filter(o => o.operations > 0)
				.map(o => h('tr', [text(o.name), text(o.operations), text(o.outside), share(o.outside, o.operations), text(o.explained)].map(t => h('td', t))))
		)
	),
	list(doc.types_new).length > 0 && h('h2', 'Types that the baseline has not'),
	things(doc.types_new)
		.slice(0, 50)
		.map(t => h('p', text(t.name) + ', ' + text(t.operations) + ' operations, in ' + text(t.requests) + ' requests'))
]);
