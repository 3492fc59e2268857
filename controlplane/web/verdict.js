/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A verdict, from the fields of its answer (docs/questions.md): a sentence, what if, its evidence. */

const stateOf = w => h('span', { class: 'state ' + text(w).replace(/[^a-z]/g, '-') }, text(w));

/* A share as a bar, with its interval as a whisker, and in words. */
function shareBar(share, low, high, w) {
	const x = linear(Math.min(0, known(low) ? Math.max(low, -0.3) : 0), Math.max(1, share || 0), 1, w - 1, 2);
	return [
		s(
			'svg',
			{ class: 'inline', viewBox: '0 0 ' + w + ' 14', width: w, height: 14, role: 'img', 'aria-label': pct(share) },
			rect('box', x.at(0), 2.5, x.at(1) - x.at(0), 9),
			rect(shade(share) + ' rim', Math.min(x.at(0), x.at(share || 0)), 2.5, Math.abs(x.at(share || 0) - x.at(0)), 9),
			known(low) && known(high) && high > low
				? line('whisk', x.at(Math.max(low, x.low)), 7, x.at(Math.min(high, 1.2)), 7)
				: null
		),
		' ',
		h('b', pct(share)),
		known(low) && known(high) && high > low ? h('span.soft', ' (' + range(low, high, pct) + ')') : null
	];
}
const measureWords = { variance: 'of the variance', latency: 'of the response time', tail: 'of what slow requests take more' };
const kindWords = {
	place: 'No learned tracepoint is left inside this edge.',
	key: 'No learned tracepoint is left inside this edge, and a key explains it.',
	separated: 'This tracepoint divides the requests into groups that are each predictable.',
	spread: 'No part of this edge has enough of the problem.',
	cut: 'The effort or the overhead budget ended the search inside this edge.'
};
function edgeOf(e) {
	return e ? h('code', { title: edgeWords(e) }, between(e.from, e.to)) : '–';
}
function verdictSentence(v) {
	const e = v.edge || {},
		g = v.group || {},
		k = v.key;
	return h(
		'p.verdict',
		h('b', pct(v.share) + ' '),
		(measureWords[v.measure] || 'of it') + ' comes from ',
		edgeOf(e),
		where(e) === 'on the way' ? ' on the way' : ' in ' + where(e),
		', in requests that take ' + ms(g.mean_ms) + ' on average (CV ' + pct(g.cv) + '). ',
		k ? ['It goes with ', code(k.name), ' (R ' + (known(k.r) ? k.r.toFixed(2) : '–') + ', n ' + count(k.n) + '). '] : null,
		kindWords[v.kind] || '',
		v.sure === false ? ' The interval of the share includes 0, or the instrumentation is wrong there.' : ''
	);
}
function whatIfOf(v) {
	const w = v.what_if,
		g = v.group || {};
	if (!w) return null;
	return table(
		['were it always at its median', '>now', '>then', '>interval'],
		[
			['CV', pct(w.cv_now), pct(w.cv_then), range(w.cv_then_low, w.cv_then_high, pct)],
			['mean', ms(g.mean_ms), '–', ''],
			['p95', ms(w.p95_now_ms), ms(w.p95_then_ms), ''],
			['p99', ms(w.p99_now_ms), ms(w.p99_then_ms), '']
		].filter(r => r[2] !== '–'),
		'What if'
	);
}
const belowWords = b =>
	b && b.requests > 0 && list(b.states).length
		? h(
				'p.small',
				'Below the tracepoints, in ' + count(b.requests) + ' requests: ',
				things(b.states)
					.slice(0, 4)
					.map((x, i) => (i ? ', ' : '') + text(x.state) + ' ' + pct(x.share)),
				things(b.places).length ? ['; first at ', code(things(b.places)[0].place)] : null
			)
		: null;
function verdictCard(v) {
	const x = v.exemplars || {};
	return h(
		'article.card',
		h('h3', 'Verdict ' + text(v.rank) + ': ', h('span', { class: 'problem ' + (slowly(v) ? 'slow' : 'unpredictable') }, text(v.problem))),
		verdictSentence(v),
		h('p', shareBar(v.share, v.share_low, v.share_high, 220)),
		facts([
			['cost', ms(v.cost_ms)],
			['effect', pct(v.effect)],
			['requests', count((v.group || {}).traces)],
			['when', text(v.when).slice(11, 19)]
		]),
		whatIfOf(v),
		belowWords(v.below),
		x.slowest
			? h('p.small.soft', 'Slowest trace ', code(x.slowest), ' (' + ms(x.slowest_ms) + '), fastest ', code(x.fastest), ' (' + ms(x.fastest_ms) + ')')
			: null
	);
}
