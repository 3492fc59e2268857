/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Nodes with their cost and queues, alerts, and the audit. */

const queueNames = [
	['ring', 'fill_ring'],
	['files', 'fill_files'],
	['agent', 'fill_agent'],
	['link', 'fill_link']
];
const QUEUE_LIMIT = 0.5; /* at which nothing is enabled any more */
function nodeRow(a) {
	const c = a.cost || {},
		now = c.now || {},
		full = Math.max(now.core_pct || 0, a.budget_pct || 0, c.budget_pct || 0, 0.01) * 1.25;
	return h(
		'tr',
		{ 'data-key': text(a.node) },
		named('node', '', h('b', text(a.node)), h('div.soft.small', list(a.services).slice(0, 8).join(', '))),
		named('state', '', h('span', { class: 'state ' + (a.connected ? (a.trouble ? 'bad' : 'good') : 'bad') }, a.connected ? (a.trouble ? text(a.trouble.word || a.trouble.kind || 'trouble') : 'connected') : 'away'), a.shed ? h('div.bad.small', 'sheds load: ' + text(a.shed_by)) : null),
		named(
			'cost',
			'.bars',
			h('div.line', h('span', 'all'), fillBar((now.core_pct || 0) / full, c.budget_pct > 0 ? c.budget_pct / full : 1, pct((now.core_pct || 0) / 100) + ' of a core'), known(now.core_pct) ? digits(now.core_pct, 2) + ' %' + (c.budget_pct > 0 ? ' of ' + digits(c.budget_pct, 2) + ' %' : '') : '–'),
			h('div.line', h('span', 'added'), fillBar((a.spent_pct || 0) / full, a.budget_pct > 0 ? a.budget_pct / full : 1, pct((a.spent_pct || 0) / 100) + ' of a core'), known(a.spent_pct) ? digits(a.spent_pct, 2) + ' % of ' + digits(a.budget_pct || 0, 2) + ' %' : '–'),
			spark('node/' + text(a.node), 'cost', 'cost in % of a core', v => digits(v, 2))
		),
		named('queues', '.bars', queueNames.map(q => h('div.line', h('span', q[0]), fillBar(a[q[1]], QUEUE_LIMIT, pct(a[q[1]]) + ' full'), pct(a[q[1]])))),
		named('added', '.n', count(a.added), a.by_level > 0 ? h('div.soft.small', count(a.by_level) + ' by level') : null),
		named('records/s', '.n', known(a.records_per_second) ? digits(a.records_per_second, 3) : '–'),
		named('lost', '.n', count((a.lost_ring || 0) + (a.lost_queue || 0) + (a.lost_decode || 0))),
		named('behind', '.n', ms(a.lag_ms))
	);
}
/* Tracepoints that are on for all sampled requests, by their log level: hone levels. */
function levelsPart(l) {
	const held = { congestion: 'a queue is, or was, too full', learning: 'learning runs', end: 'honed is ending' };
	return l
		? [
				h('h2', 'On by their log level'),
				h('ul', list(l.rules).map(r => h('li', { 'data-key': 'level ' + text(r.service) }, code(text(r.service)), ': ' + text(r.level) + (r.level === 'off' ? '' : ' and what is more severe')))),
				l.levels_held ? h('p.note', 'None is on now: ' + (held[l.levels_held] || text(l.levels_held)) + '.') : h('p.soft.small', 'For all sampled requests, not for a diagnosis. hone tracepoints lists them.')
			]
		: null;
}
function rememberNode(a) {
	const of = {};
	for (const [q, field] of queueNames) of[q] = a[field];
	remember('node/' + text(a.node), { cost: ((a.cost || {}).now || {}).core_pct, added: a.spent_pct, ...of });
}
/* One node's cost and queues; that with the fullest queue, until one is chosen. */
let nodeChosen = null;
document.addEventListener('change', ev => {
	if (ev.target.name !== 'node') return;
	nodeChosen = ev.target.value;
	soon();
});
function nodeOverTime(nodes) {
	const fullest = a => Math.max(...queueNames.map(q => a[q[1]] || 0)),
		one = nodes.find(a => text(a.node) === nodeChosen) || nodes.reduce((a, b) => (b && fullest(b) > fullest(a) ? b : a), nodes[0] || {});
	if (!nodes.length) return null;
	nodeChosen = text(one.node);
	const name = 'node/' + nodeChosen;
	return [
		h('h2', 'Over time'),
		h('form.act', h('label', 'node ', h('select', { name: 'node' }, nodes.map(a => h('option', { value: text(a.node), 'data-key': text(a.node), selected: a === one ? '' : null }, text(a.node)))))),
		h(
			'section.charts',
			{ 'aria-label': 'Over time: ' + nodeChosen, 'data-key': name },
			chartFigure(name, 'Cost in % of a core', [['cost', 'all'], ['added', 'added tracepoints']], v => digits(v, 2) + ' %'),
			chartFigure(name, 'How full the queues are', queueNames.map(q => [q[0], q[0]]), v => digits(v * 100, 2) + ' %', QUEUE_LIMIT)
		)
	];
}
function nodesView() {
	const st = live.status || {},
		nodes = things((live.agents || {}).agents),
		added = list(st.added_names),
		q = st.queues || {};
	return [
		h('h1', { tabindex: -1 }, 'Nodes'),
		nodes.length
			? stacked(['node', 'state', 'cost in % of a core', 'queues', '>added', '>records/s', '>lost', '>behind'], nodes.map(nodeRow), 'Nodes')
			: h('p', live.agents ? 'No agent has connected.' : 'Waiting for honed.'),
		things((live.agents || {}).refused).length
			? h('p.note', 'Refused: ', things(live.agents.refused).slice(0, 3).map(r => h('div', text(r.words))))
			: null,
		nodeOverTime(nodes),
		h('h2', 'Added tracepoints'),
		st.learning ? h('p', 'Those of the providers that are learned now.') : null,
		added.length ? h('ul', added.slice(0, 200).map(n => h('li', { 'data-key': text(n) }, code(n)))) : st.learning ? null : h('p', st.quiet ? 'None: all connected agents have confirmed it.' : 'None is wanted; not all agents have confirmed it yet.'),
		levelsPart(st.levels),
		h('h2', 'Controller'),
		facts([
			['mailbox', pct(q.mailbox)],
			['pauses', count(q.pauses)],
			['traces', count((st.counts || {}).traces)],
			['records late', count((st.counts || {}).late)],
			['up', known((st.controller || {}).uptime_s) ? ms(st.controller.uptime_s * 1000) : '–']
		]),
		learning(st)
	];
}
/* What was learned, and learning. */
function learning(st) {
	const on = st.learning;
	return [
		h('h2', 'Learning'),
		on
			? h('p', 'Learning: ' + ms(on.left_s * 1000) + ' left, ' + count(on.traces) + ' traces, ' + count(on.places) + ' places.')
			: h('p', 'The tracepoints of requests are learned while all of them are enabled for a time, within the budget of learning.'),
		may.diagnose && !on
			? h(
					'form.act',
					{ 'data-act': 'learn' },
					h('label', 'for ', h('input', { type: 'number', name: 'seconds', min: 1, max: 86400, value: 10, required: '' }), ' s '),
					h('button', { type: 'submit' }, 'Learn')
				)
			: null
	];
}

/* ---- alerts ---- */

function alertWords(a) {
	const r = a.range,
		o = a.objective;
	return r
		? (a.group ? 'group ' + text(a.group) + ': ' : '') + 'p' + digits(r.quantile * 100, 2) + ' of ' + (r.of === 'excess' ? 'what a request takes beyond the requests before and after it' : 'the response times') + ' is ' + ms(r.now_ms) + '; usual at this rate of requests are ' + ms(r.usual_ms) + ', at most ' + ms(r.limit_ms) + (r.cost_share > 0 ? '; ' + pct(r.cost_share) + ' of the response time is more than usual' : '')
		: o
			? count(o.failures) + ' of ' + count(o.requests) + ' requests took over ' + ms(o.limit_ms) + '; the objective is ' + pct(o.goal)
			: '';
}
function alertsView() {
	const al = live.alerts || {},
		all = things(al.alerts);
	return [
		h('h1', { tabindex: -1 }, 'Alerts'),
		all.length
			? stacked(
					['type', 'state', 'since', 'what', 'diagnosis'],
					all.map(a =>
						h(
							'tr',
							{ 'data-key': 'a' + text(a.number) },
							named('type', '', link('type/' + encodeURIComponent(text(a.type)), text(a.type)), h('div.soft.small', text(a.service))),
							named('state', '', h('span', { class: 'state ' + (a.ended ? 'good' : 'alert') }, a.ended ? 'ended' : 'firing')),
							named('since', '', day(a.since)),
							named('what', '', alertWords(a)),
							named('diagnosis', '', a.run ? link('forest', 'diagnosis ' + a.run) : wordOf(a.started))
						)
					),
					'Alerts'
				)
			: h('p', live.alerts ? 'No alert.' : 'Waiting for honed.'),
		h('h2', 'Watched'),
		things(al.watched).length
			? stacked(
					['type', 'is', '>requests/s', '>mean', '>usual'],
					things(al.watched).map(w =>
						h(
							'tr',
							{ 'data-key': 'w' + text(w.service) + '/' + text(w.type) },
							named('type', '', text(w.type), h('div.soft.small', text(w.service))),
							named('is', '', watchState(w)),
							named('requests/s', '.n', known(w.per_second) ? digits(w.per_second, 3) : '–'),
							named('mean', '.n', w.mean_ms > 0 ? ms(w.mean_ms) : '–'),
							named('usual', '.n', ms(w.usual_mean_ms))
						)
					),
					'Watched types'
				)
			: h('p', 'Nothing is watched yet.'),
		h('p.soft.small', 'A window lasts ' + digits(al.window_s || 60, 3) + ' s. An alert begins when the same quantile is over what is usual at this rate of requests in 4 of 5 windows.')
	];
}

/* ---- audit ---- */

/* A question of an operator in words: what is asked, and its fields; whole in the title. */
function askedWords(asked) {
	let q;
	try {
		q = JSON.parse(asked);
	} catch (cut) {
		q = null;
	}
	if (!q || typeof q !== 'object' || typeof q.ask !== 'string') return code(asked);
	return h(
		'span',
		{ title: asked },
		h('b', q.ask),
		Object.keys(q)
			.filter(k => k !== 'ask')
			.map(k => [' ', h('span.soft', k), ' ', code(typeof q[k] === 'string' ? q[k] : JSON.stringify(q[k]))])
	);
}
function auditView() {
	const a = live.audit || {};
	return [
		h('h1', { tabindex: -1 }, 'Audit'),
		things(a.rows).length
			? stacked(
					['when', 'who', 'what', 'outcome', 'diagnosis'],
					things(a.rows).map((r, i) =>
						h(
							'tr',
							{ 'data-key': text(r.when) + i },
							named('when', '', day(r.when)),
							named('who', '', r.user ? text(r.user) : h('span.soft', 'Hone: ' + wordOf(r.actor)), r.node ? ' ' + text(r.node) : ''),
							named('what', '', r.asked ? askedWords(text(r.asked)) : wordOf(r.action), r.reason ? h('span.soft', ' ' + wordOf(r.reason)) : '', r.text ? h('div.small', text(r.text)) : ''),
							named('outcome', '', h('span', { class: 'state ' + (r.outcome === 'done' ? 'good' : 'bad') }, text(r.outcome)), r.times > 1 ? ' × ' + r.times : ''),
							named('diagnosis', '', r.run ? text(r.run) : '')
						)
					),
					'Audit'
				)
			: h('p', live.audit ? 'Nothing was asked for yet.' : 'Waiting for honed.'),
		a.left_off > 0 ? h('p.soft.small', count(a.left_off) + ' older rows: hone audit.') : null
	];
}
