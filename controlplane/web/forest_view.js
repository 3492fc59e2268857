/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The forest as it grows: each type's newest diagnosis, or one by its number. */

const titleOf = y =>
	y.tracepoint ? text(y.tracepoint) : y.parent ? 'rest of ' + between((y.edge || {}).from, (y.edge || {}).to) : 'always-on tracepoints';

function hypothesis(y) {
	const settled = y.settled_traces > 0 && known(y.settled_share);
	return [
		h('span.sign', { title: 'presence' }, text(y.presence).trim()),
		' ',
		h('b', titleOf(y)),
		' ',
		stateOf(y.state),
		h('span.soft.small', y.reason ? ' ' + wordOf(y.reason) : '', ' cycle ' + text(y.cycle) + ', number ' + text(y.id)),
		h('div', edgeOf(y.edge)),
		h(
			'div',
			settled ? shareBar(y.settled_share, y.settled_low, y.settled_high, 160) : shareBar(y.share, y.share_low, y.share_high, 160),
			h(
				'span.soft.small',
				' ' + count(settled ? y.settled_traces : y.traces) + ' traces' + (!settled && y.state === 'probing' ? ' before it was enabled' : ''),
				y.mean_ms > 0 ? ', mean ' + ms(y.mean_ms) + ', CV ' + pct(y.cv) : ''
			)
		),
		y.key ? h('div.small', 'because of ', code(y.key.name), ': R ' + (known(y.key.r) ? y.key.r.toFixed(2) : '–')) : null
	];
}
const TREE_MAX = 2000;
function tree(all) {
	const under = new Map();
	all.slice(0, TREE_MAX).forEach(y => {
		const at = known(y.parent) && y.parent < y.id ? y.parent : 0;
		under.set(at, (under.get(at) || []).concat(y));
	});
	const branch = (at, depth, name) =>
		under.has(at) && depth < 40
			? h(
					name,
					under.get(at).map(y => h('li', { 'data-key': y.id }, hypothesis(y), branch(y.id, depth + 1, 'ul')))
				)
			: null;
	return branch(0, 0, 'ul.tree') || h('p.soft', 'No hypothesis yet.');
}
const phaseWords = {
	watching: 'watches the requests until a group is judged',
	enabling: 'waits until all agents have confirmed the switch',
	gathering: 'gathers requests with the added tracepoints',
	paused: 'is paused'
};
function doing(r) {
	const p = r.phase;
	if (!p) return h('p', 'Ended ' + text(r.ended).replace('T', ' ').slice(0, 19) + (r.reason ? ': ' + wordOf(r.reason) : '') + '.');
	return h(
		'p',
		'Cycle ' + text(p.cycle) + ': ' + (phaseWords[p.word] || wordOf(p.word)) + '; ',
		count(p.traces) + ' requests, ' + count(p.tracepoints) + (p.tracepoints === 1 ? ' tracepoint' : ' tracepoints') + ' enabled by this cycle.',
		r.no_evidence ? [' It gets nothing that it can use: ' + wordOf(r.no_evidence.reason) + '.'] : null
	);
}
function runSection(r) {
	const id = 'run' + text(r.run),
		verdicts = things(r.verdicts);
	return h(
		'section',
		{ 'aria-labelledby': id, 'data-key': id },
		h('h2', { id }, link('type/' + encodeURIComponent(text(r.type)), text(r.type)), ' ', stateOf(r.state)),
		h('p.soft.small', 'diagnosis ' + text(r.run) + ', strategy ' + text(r.strategy) + ', begun ' + text(r.begun).replace('T', ' ').slice(0, 19) + (r.by ? ', by ' + text(r.by) : '')),
		doing(r),
		r.state === 'active' && may.diagnose
			? h('form.act', { 'data-act': 'stop', 'data-type': text(r.type) }, h('button', { type: 'submit' }, 'Stop this diagnosis'))
			: null,
		facts([
			['cycles', text(r.cycles)],
			['seconds', known(r.seconds) ? digits(r.seconds, 3) : '–'],
			['requests', count(r.requests)],
			['tracepoints enabled', count(r.tracepoints_used) + ' of ' + count(r.tracepoints_all)]
		]),
		verdicts.map(verdictCard),
		h('h3', 'The tree'),
		tree(things(r.hypotheses))
	);
}
function forestView() {
	const runs = things((live.forest || {}).runs);
	return [
		h('h1', { tabindex: -1 }, 'Forest'),
		runs.length ? runs.map(runSection) : h('p', live.forest ? 'No diagnosis has been started.' : 'Waiting for honed.')
	];
}
