/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What changed since the baseline: by service, and for each type by edge, by group, by call. */

const signed = f => x => (known(x) && x > 0 ? '+' : '') + f(x).replace('-', '−');
const signedMs = signed(x => ms(x));

function changedEdges(c, w) {
	const rows = things(c.edges).filter(e => known(e.change_ms) && e.change_ms !== 0);
	if (!rows.length) return null;
	const least = 0.01 * Math.max(...rows.map(e => Math.abs(e.change_ms)));
	const large = rows.filter(e => Math.abs(e.change_ms) >= least).slice(0, 15),
		left = rows.length - large.length;
	const shown = large.map(e => ({
		edge: e,
		full:
			edgeWords(e) +
			': ' +
			ms(e.mean_then_ms) +
			' then, ' +
			ms(e.mean_ms) +
			' now; p ' +
			pvalue(e.p),
		value: e.change_ms,
		low: e.low_ms,
		high: e.high_ms,
		cls: e.change_ms > 0 ? 'bar2' : 'less',
		note: known(e.share) ? pct(e.share) : signedMs(e.change_ms)
	}));
	return figure(
		bars(shown, w, 'Change of mean response time by edge', signedMs),
		'What each edge adds to the change of the mean response time, and its share of it; whiskers: interval. ',
		'Orange: slower; green: faster.' + (left > 0 ? ' ' + left + ' smaller ones are not drawn.' : '')
	);
}

function changedGroups(t, c) {
	const states = { appeared: 'new', vanished: 'gone', both: '' };
	const all = things(c.groups),
		least = 0.01 * Math.max(...all.map(g => Math.abs(g.change_ms) || 0));
	const large = all.filter(g => Math.abs(g.change_ms) >= least || g.state !== 'both').slice(0, 20);
	const rows = large.map(g => {
		const one = groups.find(o => o.t.type === t && o.g.group === g.group);
		const id = g.group ? code(text(g.group).slice(0, 12)) : 'all other';
		return [
			[one ? [linkTo(one, route(one.g) || id), ' ', h('span.soft.small', id)] : id],
			h(
				'td',
				g.state === 'both'
					? ''
					: h('span.problem.unpredictable', states[g.state] || text(g.state))
			),
			pct(g.part_then),
			[pct(g.part), known(g.part_p) && g.part_p < 0.01 ? '' : h('span.soft', ' ≈')],
			signedMs(g.within_ms),
			signedMs(g.mix_ms),
			signedMs(g.change_ms),
			range(g.low_ms, g.high_ms, signedMs)
		];
	});
	const heads = [
		'group',
		'',
		'>part then',
		'>part now',
		'>by its time',
		'>by its part',
		'>in all',
		'>interval'
	];
	return rows.length
		? [
				h('h4', 'Groups'),
				table(heads, rows, 'Change by group'),
				h(
					'p.soft.small',
					'≈: the difference in its part of the requests may be chance.' +
						(all.length > large.length
							? ' ' +
								(all.length - large.length) +
								' more are not in this table.'
							: '')
				)
			]
		: null;
}

const maybe = o => o.sure === false && h('span.soft', ' ≈');
const note = rows => rows.some(o => o.sure === false) && h('p.soft.small', '≈: it may be chance.');

/* A call is named by its begin, and by whom it calls. */
const call = (operation, far) => [code(operation), far ? [' → ', code(far)] : null];

function changedCalls(c) {
	const rows = things(c.operations)
		.slice(0, 20)
		.map(o => [
			[
				h('div', call(o.operation, o.far)),
				o.caller ? h('div.soft.small', 'under ', code(o.caller)) : null
			],
			o.what === 'way' ? 'on the way' : 'itself',
			ms(o.mean_then_ms),
			ms(o.mean_ms),
			pct(o.slower_share),
			[pvalue(o.p), maybe(o)]
		]);
	const heads = ['call', 'takes longer', '>mean then', '>now', '>calls slower, at least', '>p'];
	return rows.length
		? [
				h('h4', 'Slower calls'),
				table(heads, rows, 'Calls that take longer'),
				note(things(c.operations))
			]
		: null;
}

function changedSteps(c) {
	const rate = (n, of) => (of > 0 ? pct(n / of) : '–');
	const or = (operation, far, none) => (operation ? call(operation, far) : h('span.soft', none));
	const rows = things(c.steps)
		.slice(0, 20)
		.map(o => [
			code(o.in),
			or(o.after, o.after_far, 'its begin'),
			or(o.then, o.then_far, 'its end'),
			or(o.instead_of, o.instead_of_far, '–'),
			rate(o.count_then, o.of_then),
			rate(o.count, o.of),
			[pvalue(o.p), maybe(o)]
		]);
	const heads = ['in', 'after', 'comes', 'instead of', '>then', '>now', '>p'];
	return rows.length
		? [
				h('h4', 'What goes on otherwise'),
				table(heads, rows, 'Steps taken more often'),
				note(things(c.steps))
			]
		: null;
}

function newCalls(list, title) {
	const rows = things(list)
		.slice(0, 20)
		.map(o => [
			call(o.operation, o.far),
			code(o.caller),
			known(o.calls_mean) ? digits(o.calls_mean, 3) : '–'
		]);
	return rows.length ? [h('h4', title), table(['call', 'under', '>in each request'], rows, title)] : null;
}

function changedType(c) {
	const mean = known(c.change_ms) && [
		'The mean went from ' + ms(c.mean_then_ms) + ' to ' + ms(c.mean_ms) + ', by ',
		h('b', signedMs(c.change_ms)),
		known(c.low_ms) ? ' (' + range(c.low_ms, c.high_ms, signedMs) + ')' : '',
		': ' +
			signedMs(c.within_ms) +
			' in the same groups, ' +
			signedMs(c.mix_ms) +
			' by another mix of groups. ',
		count(c.count_then) + ' requests then, ' + count(c.count) + ' now.'
	];
	return [
		h('h3', text(c.type)),
		c.whole &&
			c.whole.state === 'too_few' &&
			h('p', 'Too few requests to tell, p ' + pvalue(c.whole.slower_p) + '.'),
		h('p', mean || 'Its means cannot be compared.'),
		sized(w => changedEdges(c, w)),
		changedGroups(c.type, c),
		changedCalls(c),
		changedSteps(c),
		newCalls(c.appeared, 'New calls'),
		newCalls(c.vanished, 'Calls that are gone')
	];
}

const healthyBlocks = k =>
	!k
		? ''
		: k.enough
			? 'Compared with ' + count(k.count) + ' healthy blocks of the baseline. '
			: count(k.count) + ' healthy blocks of ' + count(k.needed) + ' needed to be sure. ';

function suspects(b, w) {
	const rows = things(b.suspects)
		.filter(o => known(o.score))
		.slice(0, 15)
		.map(o => ({
			name: text(o.service),
			full:
				text(o.service) +
				': ' +
				digits(o.changed_calls || 0, 3) +
				' of ' +
				count(o.touched_calls) +
				' calls that touch it changed' +
				(known(o.usual_score) ? '; in healthy blocks up to ' + digits(o.usual_score, 2) : '') +
				(o.explained_by ? ', which ' + text(o.explained_by) + ' explains' : ''),
			value: o.score,
			cls: o.sure === false ? 'dim' : 'bar2',
			note: digits(o.score, 2)
		}));
	return rows.length
		? figure(
				bars(rows, w, 'Services by how likely the change lies there', x =>
					String(+x.toPrecision(3))
				),
				'Services by how much of all that changed touches them, and how much of what touches them changed: 1 is all of both. ' +
					healthyBlocks(b.blocks),
				things(b.suspects).some(o => o.sure === false) && 'Grey: not sure.'
			)
		: b.tried > 0 && h('p', 'No single call or step changed significantly.');
}

function changes(b) {
	const when = new Date(b.made),
		types = (list, what) =>
			list.length > 0 &&
			h(
				'p',
				what,
				list.map((t, i) => [i ? ', ' : '', text(t)]),
				'.'
			);
	return h(
		'section',
		{ id: 'baseline', 'aria-labelledby': 'baseline-title' },
		h('h2', { id: 'baseline-title' }, 'What changed since ', h('i', text(b.name))),
		isNaN(when)
			? null
			: h(
					'p.soft.small',
					'Baseline made at ' +
						when.toISOString().slice(0, 16).replace('T', ' ') +
						' UTC.'
				),
		b.tried > 0 || list(b.suspects).length
			? [h('h3', 'Where it is likeliest'), sized(w => suspects(b, w))]
			: null,
		types(list(b.types_appeared), 'New types: '),
		types(list(b.types_vanished), 'Types that are gone: '),
		things(b.types).map(changedType)
	);
}
