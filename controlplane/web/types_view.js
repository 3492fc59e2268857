/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Request types by cost. */

const found = (topic, t) => (indexes[topic] ? indexes[topic].get(typeKey(t)) : undefined);
const timesOf = t => found('times', t) || {};
const names = new Map(); /* how many services have a type of this name */
/* What a type is asked for by: the service is needed only if several have a type of this name. */
const nameOf = t => (names.get(text(t.type)) > 1 ? text(t.service) + '/' : '') + text(t.type);
/* What the requests of a second take beyond the median of their type. */
const costOf = t => (timesOf(t).beyond_median_ms || 0) * (timesOf(t).requests_per_second || t.per_second || 0);
const healthOf = t => {
	const w = found('alerts', t);
	return w ? watchState(w) : null;
};
/* Red and green: what is beyond its limit in honed.conf(5), and what is not; also by a sign, for who does not see colours. */
function judged(over, shown, limit) {
	return h('span', { class: over ? 'beyond' : 'within' }, over ? '▲ ' : '', shown, h('span.unseen', (over ? ', over ' : ', within ') + limit));
}
function cvOf(t) {
	const most = (live.alerts || {}).cv_max;
	return known(most) && known(t.cv) ? judged(t.cv > most, pct(t.cv), 'the ' + pct(most) + ' of analysis.cv_max') : pct(t.cv);
}
/* The objectives of the type, by the requests of the last hour. */
function objectivesOf(t) {
	const w = found('alerts', t);
	return things(w && w.limits).map(o => {
		const met = o.requests > 0 ? 1 - o.failures / o.requests : NaN,
			words = digits(o.goal * 100, 3) + ' % in ' + ms(o.limit_ms);
		return h('div.small', known(met) ? judged(met < o.goal, pct(met), 'the objective, ') : null, h('span.soft', known(met) ? ' of ' + words : words));
	});
}
/* Runs do not say of which service: of types of one name, all show it. */
const activeRun = type => things((live.forest || {}).runs).find(r => (r.type === type || type.endsWith('/' + r.type)) && r.state === 'active');

function startForm(type, options) {
	const run = activeRun(type);
	if (!may.diagnose) return null;
	if (run) return h('form.act', { 'data-act': 'stop', 'data-type': type }, h('button', { type: 'submit', 'aria-label': 'Stop the diagnosis of ' + type }, 'Stop'), link('forest', 'diagnosis ' + run.run));
	return h(
		'form.act',
		{ 'data-act': 'start', 'data-type': type },
		h('button.do', { type: 'submit', 'aria-label': 'Diagnose ' + type }, 'Diagnose'),
		options
			? [
					h(
						'label',
						'what ',
						h('select', { name: 'tail' }, h('option', { value: '' }, 'varies or is slow'), h('option', { value: '0.95' }, 'is beyond p95'), h('option', { value: '0.99' }, 'is beyond p99'), h('option', { value: '0.999' }, 'is beyond p99.9'))
					),
					h('label', 'at most ', h('input', { type: 'number', name: 'effort', min: 1, max: 10000, placeholder: 'default' }), ' cycles'),
					h('label', h('input', { type: 'checkbox', name: 'healthy' }), ' it is healthy now: keep it as the baseline')
				]
			: null
	);
}

/* Whether a type is as usual, and what is missing where that is not judged. */
function watchWords(w) {
	const al = live.alerts || {},
		windows = Math.max(60, (al.learn_s || 0) / (al.window_s || 60));
	if (w.alert) return 'alert';
	return (
		{
			'few-requests': w.per_second > 0 ? 'too few requests are traced' : 'no request in the last whole window',
			learning: 'learning, ' + count(w.healthy_windows) + ' of ' + count(windows) + ' windows',
			'rate-unknown': 'not judged: such a rate of requests was not learned',
			inside: 'as usual',
			outside: 'one window outside the range'
		}[w.answer] || wordOf(w.answer)
	);
}
const watchState = w => (w.alert ? h('span.state.alert', watchWords(w)) : w.answer === 'inside' ? h('span.state.good', watchWords(w)) : h('span.soft.small', watchWords(w)));

/* ---- the heat map of response times, by time: type_view.js fills it ---- */

const columns = new Map(); /* by type: { last: counts, all: [counts that came in 2 s], bounds } */
const boundOf = (one, i) => msTick(i < 0 ? 0 : one.bounds[i]);
/* Of canvas, not of elements: 60 of them would have 60,000. */
function timeHeat(t) {
	const one = columns.get(typeKey(t));
	if (!one || !one.all.length) return h('span.soft.small', 'from now on');
	if (!one.extent) return h('span.soft.small', 'no request');
	const id = 'heat ' + typeKey(t),
		{ low, high } = one.extent;
	specs.set(id, { heat: one });
	return h('div.heat', {
		'data-key': id,
		'data-own': '',
		role: 'img',
		'aria-label': 'Heat map of the response times of ' + text(t.type) + ' in the last ' + one.all.length * 2 + ' s, from ' + boundOf(one, low - 1) + ' to ' + boundOf(one, high)
	});
}

/* ---- the view ---- */

const TYPES_SHOWN = 60;
/* rows: how many, TYPES_SHOWN at most */
function typesView(rows) {
	const every = things((live.status || {}).types),
		costs = new Map(every.map(t => [t, costOf(t)])),
		ranked = every.slice().sort((a, b) => costs.get(b) - costs.get(a)),
		all = ranked.slice(0, rows);
	const most = Math.max(...all.map(t => costs.get(t)), 1e-9);
	return [
		h('h1', { tabindex: -1 }, 'Request types by cost'),
		all.length
			? stacked(
					['type', 'response times', '>cost', '>requests/s', '>mean', '>p95', '>p99', '>CV', 'watch', 'diagnosis'],
					all.map(t =>
						h(
							'tr',
							{ 'data-key': text(t.service) + '/' + text(t.type) },
							named('type', '', link('type/' + encodeURIComponent(nameOf(t)), h('b', text(t.type))), h('div.soft.small', text(t.service))),
							named('response times', '', timeHeat(t)),
							named('cost', '.n', ms(costs.get(t)) + '/s', h('div', fillBar(costs.get(t) / most, 1, pct(costs.get(t) / most) + ' of the largest'))),
							named('requests/s', '.n', digits(t.per_second || 0, 3), spark('type/' + typeKey(t), 'rate', 'requests per second', v => digits(v, 3))),
							named('mean', '.n', ms(t.mean_ms)),
							named('p95', '.n', ms(t.p95_ms)),
							named('p99', '.n', ms(t.p99_ms)),
							named('CV', '.n', cvOf(t)),
							named('watch', '', healthOf(t), objectivesOf(t)),
							named('diagnosis', '', startForm(nameOf(t), false))
						)
					),
					'Request types by cost'
				)
			: h('p', live.status ? 'No request was traced yet.' : 'Waiting for honed.'),
		every.length > TYPES_SHOWN ? h('p.soft.small', 'The ' + TYPES_SHOWN + ' types with the largest cost; hone status has all.') : null,
		h('p.soft.small', 'Cost: what the requests of a second take beyond the median of their type. Response times: a column for 2 s, the newest at the right, faster below; darker is more; since this page was opened.')
	];
}

