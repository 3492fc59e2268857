/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For each annotated span: its states as a bar, its system calls by time, one row for each thread, and as a table. */

const doc = JSON.parse(document.getElementById('document').textContent);
const STATES = ['running', 'ready', 'preempted', 'disk', 'network', 'timer', 'lock', 'thread', 'fault', 'unknown'];
const W = 1120,
	LEFT = 190,
	ROW = 22,
	TOP = 24,
	CALLS = 40;
const WHY = {
	untimed: 'its begin or its end is missing',
	'no-thread': 'nothing says on which thread it was',
	'other-host': 'its node is no host of the recording',
	nowhere: 'no two of its records in turn are of one thread',
	'other-thread': 'the kernel knows the thread of this number by another name',
	unseen: 'the recording does not know its thread at that time'
};

const object = x => (x !== null && typeof x === 'object' ? x : {});
const classOf = state => (STATES.includes(state) ? state : 'unknown');
const threadOf = t => (text(object(t).name) || 'thread') + ' ' + text(object(t).tid);
const longestOf = states => Object.entries(object(states)).reduce((a, b) => (b[1] > a[1] ? b : a), ['running', -1])[0];

const keysPart = () =>
	h(
		'div.keys',
		STATES.map(name => h('span', s('svg', { width: 11, height: 11, 'aria-hidden': 'true' }, rect(name, 0, 0, 11, 11)), name))
	);

/* All of its time on threads by state; what is left of its duration is empty. */
function statesBar(span) {
	const all = Math.max(span.ms, span.active_ms, 1e-9),
		kids = [];
	let at = LEFT;
	for (const name of STATES) {
		const time = object(span.states)[name];
		if (!known(time)) continue;
		const width = ((W - LEFT - 8) * time) / all;
		kids.push(rect(name, at, 2, width, 16, name + ' ' + ms(time)));
		at += width;
	}
	kids.push(words('t', 0, 15, 'states, ' + ms(span.active_ms)));
	return picture(W, 22, 'States of the span', kids);
}

function callsLine(span) {
	const calls = things(span.calls),
		rows = new Map(),
		x = at => LEFT + ((W - LEFT - 8) * Math.min(Math.max(at, 0), span.ms)) / Math.max(span.ms, 1e-9),
		kids = [];
	for (const c of calls) if (!rows.has(object(c.thread).tid)) rows.set(object(c.thread).tid, { n: rows.size, name: threadOf(c.thread) });
	for (const { n, name } of rows.values()) kids.push(words('t', 0, TOP + n * ROW + 14, fits(name, 26), name));
	for (const c of calls)
		kids.push(
			rect(
				classOf(longestOf(c.states)),
				x(c.at_ms),
				TOP + rows.get(object(c.thread).tid).n * ROW + 2,
				Math.max(x(c.at_ms + c.ms) - x(c.at_ms), 0.6),
				ROW - 8,
				text(c.name) + ', ' + ms(c.ms) + ', at ' + ms(c.at_ms) + ', mostly ' + longestOf(c.states)
			)
		);
	for (let i = 0; i <= 6; i++) kids.push(words(i === 6 ? 't e' : 't', x((span.ms * i) / 6), 14, ms((span.ms * i) / 6)));
	return picture(W, TOP + rows.size * ROW + 6, 'System calls by time, one row for each thread', kids);
}

function waitOf(c) {
	const w = object(c.wait);
	if (!known(w.ms)) return '';
	return (
		text(w.state) +
		' ' +
		ms(w.ms) +
		(w.owner ? ', held by ' + threadOf(w.owner) : '') +
		(w.waker ? ', woken by ' + threadOf(w.waker) : '')
	);
}

function callsTable(span) {
	const heads = [['system call'], ['argument', 1], ['result', 1], ['time', 1], ['at', 1], ['thread'], ['longest wait'], ['stack']];
	const row = c => [
		text(c.name),
		c.argument === null ? '' : text(c.argument),
		c.error || (c.finished ? text(c.result) : c.only_blocked ? 'not known' : 'not finished'),
		ms(c.ms),
		ms(c.at_ms),
		threadOf(c.thread),
		waitOf(c) + (c.peer ? ', ' + text(c.peer) : ''),
		c.stack ? text(c.stack) : ''
	];
	return h(
		'div.wide',
		h(
			'table',
			h('thead', h('tr', heads.map(([name, right]) => h(right ? 'th.n' : 'th', name)))),
			h(
				'tbody',
				things(span.calls)
					.slice(0, CALLS)
					.map(c => h('tr', row(c).map((v, i) => h(heads[i][1] ? 'td.n' : 'td', v))))
			)
		)
	);
}

function besides(span) {
	const parts = [];
	if (span.elsewhere_ms > 0.0005) parts.push(ms(span.elsewhere_ms) + ' on no thread that is known');
	if (span.shared_ms > 0) parts.push(ms(span.shared_ms) + ' on a thread on which unrelated spans were, too');
	if (span.migrations > 0) parts.push(text(span.migrations) + ' migrations');
	for (const [name, n] of Object.entries(object(span.counted))) parts.push(name + ' ' + text(n));
	for (const c of things(span.summary))
		if (c.count > c.listed) parts.push(text(c.name) + ' ' + text(c.count) + ' times in ' + ms(c.total_ms));
	return parts.join(', ');
}

function spanPart(span) {
	const head = [h('h2', text(span.service) + ' ' + text(span.name) + ', ' + ms(span.ms)), h('p.soft', 'span ' + text(span.span) + ' of trace ' + text(span.trace))];
	if (span.not_attributed) return h('section', head, h('p', 'Nothing is attributed: ' + (WHY[span.not_attributed] || text(span.not_attributed)) + '.'));
	const more = list(span.calls).length - CALLS + (span.calls_left_out || 0);
	return h(
		'section',
		head,
		h('div.wide', statesBar(span)),
		list(span.calls).length > 0 && [h('div.wide', callsLine(span)), callsTable(span)],
		more > 0 && h('p.soft', text(more) + ' further calls are in the document of --json.'),
		h('p.soft', besides(span))
	);
}

put(
	document.getElementById('main'),
	[
		h(
			'p',
			text(object(doc.counts).spans) + ' spans, of which ' + text(object(doc.counts).chosen) + ' are over the threshold and ' + text(object(doc.counts).annotated) + ' are annotated. ' +
				'Calls that the vDSO serves without the kernel (clock_gettime, gettimeofday, time, getcpu) are in no recording.'
		),
		keysPart(),
		things(doc.spans).map(spanPart)
	]
);
