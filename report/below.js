/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What threads did in an edge, below its tracepoints: states and functions that slow requests have more of. */

/* The tree of stacks. Each entry comes after its parent; others are left out. */
function stackTree(b) {
	const made = [];
	for (const [i, x] of things(b.stacks).slice(0, 4000).entries()) {
		const node = { name: text(x.entry), usual: +x.usual_ms || 0, slow: +x.slow_ms || 0, kids: new Map() };
		if (i > 0) {
			const parent = Number.isInteger(x.parent) && x.parent < i ? made[x.parent] : null;
			if (!parent) {
				made.push(null);
				continue;
			}
			parent.kids.set(i, node);
		}
		made.push(node);
	}
	return made[0] || null;
}
const OF = { state: 'state', self: 'in the function itself', inclusive: 'in it and what it calls' };
const signed = x => (x > 0 ? '+' : x < 0 ? '−' : '') + ms(Math.abs(x));
function belowRows(b) {
	return things(b.items)
		.filter(x => known(x.slow_ms) && known(x.usual_ms))
		.slice(0, 30)
		.map(x => [
			x.of === 'state' ? text(x.name) : h('span.mono', text(x.name)),
			OF[x.of] || text(x.of),
			ms(x.usual_ms),
			ms(x.slow_ms),
			signed(x.slow_ms - x.usual_ms),
			range(x.low_ms, x.high_ms, signed),
			pvalue(x.p),
			count(x.slow) + ' of ' + count(b.slow),
			count(x.usual) + ' of ' + count(b.usual)
		]);
}
function belowPart(e, w) {
	const b = typeof e.below === 'object' ? e.below : {},
		root = stackTree(b),
		rows = belowRows(b);
	return [
		h('h3', 'Below the tracepoints of ', code(between(b.from || e.from, b.to || e.to))),
		h(
			'p.small.soft',
			'Slow are the ' + count(b.slow) + ' slowest of ' + count(b.slow + b.usual) + ' requests',
			known(b.slow_from_ms) ? ', from ' + ms(b.slow_from_ms) + ' on' : null,
			known(b.run) ? ', of diagnosis ' + count(b.run) : null,
			'.'
		),
		root && root.kids.size > 0 && Math.max(root.slow, root.usual) > 0
			? figure(
					twoFlames(
						root,
						w,
						[
							'usual ' + count(b.usual) + ': ' + ms(root.usual),
							'slow ' + count(b.slow) + ': ' + ms(root.slow)
						],
						name => name,
						'slow ones',
						'Differential flame graphs of ' + edgeWords(e)
					),
					'Where threads were between the two tracepoints, and in brackets what they waited for there: callers above what they call, mean times of a request, both to one scale. Colour: share of what slow requests have more; green: they have less.'
				)
			: null,
		rows.length
			? table(
					[
						'state or function',
						'time',
						'>usually',
						'>in slow ones',
						'>difference',
						known(b.confidence) ? pct(b.confidence) + ' interval' : 'interval',
						'>by chance',
						'>slow that have it',
						'>usual that have it'
					],
					rows,
					'States and functions that slow requests have more of'
				)
			: null
	];
}
