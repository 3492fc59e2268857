/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For each thread: its states, the chains of its waits, and its critical path as a time line: one row for each thread on it. */

const doc = JSON.parse(document.getElementById('document').textContent);
const STATES = ['running', 'ready', 'disk', 'network', 'timer', 'lock', 'thread', 'fault', 'unknown'];
const W = 1120,
	LEFT = 190,
	ROW = 22,
	TOP = 24,
	ROWS = 20,
	FOLLOWED = 1500; // more lines than that hide what they lead to

const time = ns => ms(ns / 1e6);
const classOf = state => (STATES.includes(state) ? state : 'unknown');

function table(heads, rows) {
	return h(
		'div.wide',
		h(
			'table',
			h('thead', h('tr', heads.map(([words, right]) => h(right ? 'th.n' : 'th', words)))),
			h('tbody', rows.map(r => h('tr', r.map((v, i) => h(heads[i][1] ? 'td.n' : 'td', v)))))
		)
	);
}

const statesPart = states =>
	table(
		[['state'], ['what it did'], ['time', 1], ['share', 1], ['count', 1]],
		things(states).map(x => [text(x.state), text(x.text), ms(x.ms), pct(x.share), text(x.count)])
	);

function chainsPart(chains) {
	const say = c =>
		things(c.chain)
			.map((l, i) => (i === 0 ? '' : (text(l.thread) || 'a thread without a name') + ': ') + text(l.state))
			.join(' → ');
	return table(
		[['time', 1], ['share', 1], ['count', 1], ['critical path']],
		things(chains)
			.slice(0, 40)
			.map(c => [ms(c.ms), pct(c.share), text(c.count), say(c)])
	);
}

/* The row of each thread in this time: those with the most time, in the order in which they come; all others share the last one. */
function rowsOf(seen) {
	const total = new Map();
	for (const v of seen) total.set(v[2], (total.get(v[2]) || 0) + v[1]);
	const kept = new Set([...total].sort((a, b) => b[1] - a[1]).slice(0, ROWS).map(t => t[0]));
	const rows = new Map();
	for (const v of seen) if (kept.has(v[2]) && !rows.has(v[2])) rows.set(v[2], rows.size);
	return { rows, others: total.size - kept.size };
}

/* The time line from `from` to `to` (ns since the begin of the path). */
function drawLine(line0, from, to) {
	const seen = list(line0.segments).filter(v => v[0] + v[1] >= from && v[0] <= to),
		threads = things(line0.threads),
		{ rows, others } = rowsOf(seen),
		y = n => TOP + (rows.has(n) ? rows.get(n) : rows.size) * ROW,
		x = ns => LEFT + ((ns - from) / (to - from)) * (W - LEFT - 8),
		kids = [];
	let last = null;
	for (const [at, length, n, state, , transfer] of seen) {
		const a = Math.max(x(at), LEFT),
			b = Math.min(x(at + length), W - 8),
			t = threads[n] || {},
			word = text(list(line0.states)[state]);
		if (last !== null && last.n !== n && seen.length <= FOLLOWED) kids.push(line('follow', a, y(last.n) + 8, a, y(n) + 8));
		last = { n };
		kids.push(
			rect(
				classOf(word),
				a,
				y(n) + 2,
				Math.max(b - a, 0.4),
				ROW - 8,
				text(t.name) + ' ' + text(t.tid) + ': ' + word + (transfer ? ', a message on its way' : '') + ', ' + time(length) + ', at ' + time(at)
			)
		);
	}
	for (const [n, row] of rows) {
		const t = threads[n] || {};
		kids.push(words('t', 0, TOP + row * ROW + 14, (text(t.name) + ' ' + text(t.tid)).slice(0, 26), text(t.name) + ', thread ' + text(t.tid) + ' on ' + text(t.host)));
	}
	if (others > 0) kids.push(words('t', 0, TOP + rows.size * ROW + 14, others + ' other threads'));
	for (let i = 0; i <= 6; i++) {
		const at = from + ((to - from) * i) / 6;
		kids.push(words(i === 6 ? 't e' : 't', x(at), 14, time(at)));
	}
	return picture(W, TOP + (rows.size + (others > 0 ? 1 : 0)) * ROW + 6, 'The critical path by time, one row for each thread on it', kids);
}

function linePart(line0) {
	const end = Math.max(1, ...list(line0.segments).map(v => v[0] + v[1])),
		plot = h('div.wide'),
		about = h('span.soft');
	let from = 0,
		to = end;
	const show = () => {
		plot.replaceChildren(drawLine(line0, from, to));
		about.textContent = time(from) + ' to ' + time(to);
	};
	const move = (scale, shift) => {
		const width = Math.min(end, Math.max(1000, (to - from) * scale)),
			middle = (from + to) / 2 + (to - from) * shift;
		from = Math.min(Math.max(0, middle - width / 2), end - width);
		to = from + width;
		show();
	};
	const button = (words0, scale, shift) => {
		const b = h('button', { type: 'button' }, words0);
		b.addEventListener('click', () => move(scale, shift));
		return b;
	};
	const longest = h('button', { type: 'button' }, 'longest wait');
	longest.addEventListener('click', () => {
		const waits = list(line0.segments).filter(v => list(line0.states)[v[3]] !== 'running');
		if (waits.length === 0) return;
		const w = waits.reduce((a, b) => (b[1] > a[1] ? b : a));
		from = Math.max(0, w[0] - w[1]);
		to = Math.min(end, w[0] + 2 * w[1]);
		show();
	});
	show();
	return [
		h('div.zoom', button('zoom in', 0.25, 0), button('zoom out', 4, 0), button('earlier', 1, -0.5), button('later', 1, 0.5), longest, about),
		plot,
		line0.left_out > 0 && h('p.soft', text(line0.left_out) + ' segments are too short to be shown here.')
	];
}

const keysPart = () =>
	h(
		'div.keys',
		STATES.map(name => h('span', s('svg', { width: 11, height: 11, 'aria-hidden': 'true' }, rect(name, 0, 0, 11, 11)), name))
	);

function threadPart(t) {
	const path = t.path || {};
	return h(
		'section',
		h('h2', (text(t.name) || 'a thread without a name') + ', thread ' + text(t.tid)),
		h('p.soft', text(t.host) + ', ' + ms(t.ms)),
		statesPart(t.states),
		h('h3', 'What its waits were for'),
		chainsPart(path.chains),
		path.timeline && [h('h3', 'Its critical path by time'), keysPart(), linePart(path.timeline)]
	);
}

put(document.getElementById('main'), things(doc.threads).map(threadPart));
