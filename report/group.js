/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A group: its sentence, its path, distributions, keys, tail, edges, traces. */

const code = t => h('code', text(t));
const facts = pairs =>
	h(
		'dl.facts',
		pairs.filter(p => p && p[1] !== '–' && p[1] !== '').map(p => h('div', h('dt', p[0]), h('dd', p[1])))
	);
/* Of a type, in one line. */
const typeFacts = t =>
	facts([
		['requests', count(t.count)],
		['mean', ms(t.mean_ms)],
		['CV', pct(t.cv)],
		['p50', ms(t.p50_ms)],
		['p95', ms(t.p95_ms)],
		['p99', ms(t.p99_ms)],
		['groups', count(things(t.groups).length)]
	]);
/* Of a group, in one line. */
function groupSummary(g) {
	const e = top(g),
		small = (name, v, extra) =>
			h('span', { class: 'cell' + (extra ? ' extra' : '') }, h('small', name), v);
	return h(
		'summary',
		badge(g.problem),
		h(
			'span.route',
			{ title: list(g.path).join(' → ').slice(0, 2000) },
			route(g) || text(g.group),
			e ? h('span.soft.small.mono', '  ' + between(e.from, e.to)) : null
		),
		small('requests', count(g.count), true),
		small('mean', ms(g.mean_ms)),
		small('CV', pct(g.cv), true),
		small('p95', ms(g.p95_ms), true)
	);
}
const shareCell = (g, e) => [pct(shareOf(g, e)), h('div.soft.small', range(e.low, e.high, pct))];
function interval(value, low, high, w) {
	const x = linear(Math.min(0, value, low || 0), Math.max(1, value, high || 0), 2, w - 2, 2);
	return s(
		'svg',
		{ viewBox: '0 0 ' + w + ' 14', width: w, height: 14, 'aria-hidden': 'true' },
		line('axis', x.at(0), 0, x.at(0), 14),
		rect(shade(value) + ' rim', Math.min(x.at(0), x.at(value)), 3, Math.abs(x.at(value) - x.at(0)), 8),
		known(low) && known(high) ? whisker(x, low, high, 7, 3) : null
	);
}
function edgeTable(g, pick) {
	const edges = things(g.edges),
		{ rows } = inOrder(g),
		tail = edges.some(e => e.tail);
	const most = e => Math.max(Math.abs(e.share) || 0, e.latency_share || 0);
	const large = rows
		.slice()
		.sort((a, b) => most(edges[b.i]) - most(edges[a.i]))
		.slice(0, printing ? ROWS_PRINT : ROWS);
	const shown = rows.filter(r => large.includes(r));
	const heads = [
		'edge',
		'time passes in',
		'>mean',
		h('th.screen', { scope: 'col' }, 'as a bar'),
		slowly(g) ? '>of latency' : '>of variance',
		'>of latency',
		'>own',
		'>covariance',
		'>p50',
		'>p95'
	].concat(tail ? ['>tail excess'] : []);
	const out = shown.map(r => {
		const e = edges[r.i],
			tr = h(
				'tr',
				{ class: (r.i === g.top ? 'top ' : '') + 'pick', 'data-edge': r.i },
				[
					h(
						'td.edge',
						{ title: edgeWords(e) },
						h('span.mono', (e.loop ? '↻ ' : '') + between(e.from, e.to, 48))
					),
					where(e),
					ms(e.mean_ms),
					h(
						'td.screen',
						e.ignored
							? 'ignored'
							: interval(shareOf(g, e) || 0, e.low, e.high, 90)
					),
					shareCell(g, e),
					pct(e.latency_share),
					pct(e.own),
					pct(e.covariance),
					ms(e.p50_ms),
					ms(e.p95_ms)
				]
					.concat(tail ? [e.tail ? pct(e.tail.excess_share) : '–'] : [])
					.map((c, i) => cell(heads[i], c))
			);
		tr.addEventListener('click', () => pick(r.i));
		return tr;
	});
	return [
		table(heads, out, 'Edges of the path'),
		shown.length < rows.length
			? h(
					'p.soft.small',
					rows.length -
						shown.length +
						' edges with smaller shares are not in this table.'
				)
			: null
	];
}
function copyable(id) {
	const b = h('button', { type: 'button' }, 'copy'),
		c = h('code', text(id));
	b.addEventListener('click', () => {
		const done = ok => {
			b.textContent = ok ? 'copied' : 'selected: press Ctrl-C';
		};
		getSelection().selectAllChildren(c);
		(navigator.clipboard ? navigator.clipboard.writeText(text(id)) : Promise.reject()).then(
			() => done(true),
			() => done(false)
		);
	});
	return [c, ' ', b];
}

/* ---- a group ---- */

function sentence(g) {
	const e = top(g),
		out = [],
		k = things(g.keys).find(one => one.edge === g.top),
		w = g.what_if,
		to = e && h('code', { title: edgeWords(e) }, between(e.from, e.to));
	if (slowly(g))
		out.push(
			h('b', 'Slow: '),
			'its mean of ' + ms(g.mean_ms) + ' is beyond what is usual for its type. '
		);
	else
		out.push(
			h(
				'b',
				g.problem === 'unpredictable'
					? 'Unpredictable: '
					: g.problem === 'unsure'
						? 'Not sure: '
						: 'Steady: '
			),
			'its times vary by ' +
				pct(g.cv) +
				(known(g.cv_low) ? ' (' + range(g.cv_low, g.cv_high, pct) + ')' : '') +
				' of their mean. '
		);
	if (e && g.problem !== 'none')
		out.push(
			pct(shareOf(g, e)) +
				(slowly(g) ? ' of the time passes in ' : ' of the variance comes from '),
			to,
			where(e) === 'on the way' ? ' on the way' : ' in ' + where(e),
			'. '
		);
	if (k)
		out.push(
			'It goes with ',
			code(k.name),
			' (' +
				(k.numeric
					? 'r ' + (known(k.r) ? k.r.toFixed(2) : '–')
					: pct(k.share) + ' between values') +
				'). '
		);
	if (w && w.then && w.now)
		out.push(
			'Were it always at its median, the CV would be ' +
				pct(w.then.cv) +
				' instead of ' +
				pct(w.now.cv) +
				', p95 ' +
				ms(w.then.p95_ms) +
				' instead of ' +
				ms(w.now.p95_ms) +
				'.'
		);
	return h('p.verdict', out);
}
function whatIf(g) {
	const w = g.what_if,
		now = w && w.now,
		then = w && w.then;
	if (!now || !then) return null;
	const row = (name, key, f, u) => [
		name,
		f(now[key + u]),
		f(then[key + u]),
		range(then[key + '_low' + u], then[key + '_high' + u], f),
		now[key + u] > 0 ? pct(then[key + u] / now[key + u] - 1) : '–'
	];
	return [
		h(
			'h3',
			'What if ',
			h(
				'span.mono',
				things(g.edges)[w.edge]
					? between(things(g.edges)[w.edge].from, things(g.edges)[w.edge].to)
					: 'it'
			),
			' were always at its median'
		),
		table(
			['figure', '>now', '>then', '>interval', '>change'],
			[
				row('CV', 'cv', pct, ''),
				row('p50', 'p50', ms, '_ms'),
				row('p95', 'p95', ms, '_ms'),
				row('p99', 'p99', ms, '_ms')
			],
			'What if'
		)
	];
}
function tailPart(g, w) {
	const rows = inOrder(g)
		.rows.map(r => things(g.edges)[r.i])
		.filter(e => e.tail && known(e.tail.excess_share))
		.sort((a, b) => b.tail.excess_share - a.tail.excess_share)
		.slice(0, 10)
		.map(e => ({
			edge: e,
			full:
				edgeWords(e) +
				': ' +
				ms(e.tail.usual_ms) +
				' usually, ' +
				ms(e.tail.slow_ms) +
				' when slow',
			value: e.tail.excess_share,
			low: e.tail.low,
			high: e.tail.high
		}));
	if (!g.tail || rows.length === 0) return null;
	return [
		h('h3', 'The slowest ' + pct(g.tail.part)),
		figure(
			bars(rows, w, 'Share of the excess of slow requests by edge', pct),
			'The slowest ' +
				g.tail.slow +
				' requests took ' +
				ms(g.tail.slow_ms) +
				', usual ones ' +
				ms(g.tail.usual_ms) +
				'; where the difference was spent. Whiskers: interval.'
		)
	];
}
function exemplars(g) {
	const e = g.exemplars || {},
		rows = ['slowest', 'median', 'fastest']
			.filter(k => e[k] && e[k].trace)
			.map(k => [k, h('td', copyable(e[k].trace)), ms(e[k].total_ms)]);
	return rows.length
		? [h('h3', 'Traces to look at'), table(['which', 'trace', '>took'], rows, 'Exemplars')]
		: null;
}
function pathList(g) {
	return h(
		'details.more.screen',
		h('summary', 'All labels of the path'),
		h(
			'p.small',
			list(g.path).map((l, i) => [i ? ' → ' : '', l === '(' || l === ')+' ? h('b', l) : code(l)])
		)
	);
}
function distributions(g, edge, w) {
	const samples = things(g.samples),
		e = things(g.edges)[edge],
		half = w > 640 ? Math.floor(w / 2) - 14 : w;
	if (samples.length < 2)
		return h(
			'p.soft.small',
			'This document holds no samples of this group, so there are no distributions to draw.'
		);
	return h(
		'div.pair',
		figure(
			histogram(
				samples.map(t => t.total_ms).filter(known),
				half,
				[
					['p50', g.p50_ms],
					['p95', g.p95_ms],
					['p99', g.p99_ms]
				],
				'bar',
				'Distribution of the response time'
			),
			'Response time of ' +
				samples.length +
				' requests drawn at random: how many (bars), and the part that took at most so long (line).'
		),
		e
			? figure(
					histogram(
						samples.map(t => list(t.edges_ms)[edge]).filter(known),
						half,
						[
							['p50', e.p50_ms],
							['p95', e.p95_ms]
						],
						'bar2',
						'Distribution of ' + edgeWords(e)
					),
					'Time on ',
					h('code', { title: edgeWords(e) }, between(e.from, e.to)),
					' in the same requests.'
				)
			: null
	);
}
function keysPart(g, edge, w) {
	const found = things(g.keys).filter(k => k.edge === edge),
		names = things(g.sample_keys),
		half = w > 640 ? Math.floor(w / 2) - 14 : w;
	const out = found
		.slice(0, 6)
		.map(k =>
			figure(
				keyIndex(g, k.name) < 0 ? null : keyPlot(g, keyIndex(g, k.name), edge, half),
				code(k.name),
				': ' + keyWords(k) + '.'
			)
		);
	const others = names.map((k, i) => i).filter(i => !found.some(k => k.name === names[i].name)),
		spot = h('div');
	if (found.length === 0)
		out.push(
			h(
				'p.soft.small',
				'No key explains this edge' +
					(known(g.keys_tried) ? ' (' + count(g.keys_tried) + ' were tried).' : '.')
			)
		);
	if (found.length > 6)
		out.push(
			h(
				'p.soft.small',
				'Not drawn: ',
				found.slice(6, 40).map((k, i) => [i ? ', ' : '', code(k.name)])
			)
		);
	if (!others.length || !things(g.samples).length) return h('div.pair', out);
	const choice = h(
		'select',
		h('option', { value: '' }, 'none'),
		others.map(i => h('option', { value: i }, text(names[i].name)))
	);
	choice.addEventListener('change', () =>
		spot.replaceChildren(
			...(choice.value === ''
				? []
				: [
						figure(
							keyPlot(g, +choice.value, edge, half),
							code(names[+choice.value].name),
							': does not explain it.'
						)
					])
		)
	);
	return [h('div.pair', out), h('div.screen', h('label.small.soft', 'Other keys: ', choice), spot)];
}
function drawGroup(g, body, w) {
	const flow = h('div'),
		dist = h('div'),
		keys = h('div'),
		edges = things(g.edges),
		name = h('select');
	let chosen = edges[g.top] ? g.top : 0,
		rowsTable;
	inOrder(g).rows.forEach(r =>
		name.append(
			h(
				'option',
				{ value: r.i },
				fits((edges[r.i].loop ? '↻ ' : '') + between(edges[r.i].from, edges[r.i].to), 90)
			)
		)
	);
	const pick = i => {
		chosen = i;
		name.value = i;
		dist.replaceChildren(...put(h('i'), [distributions(g, i, w)]).childNodes);
		keys.replaceChildren(...put(h('i'), [keysPart(g, i, w)]).childNodes);
		if (rowsTable)
			rowsTable
				.querySelectorAll('tr[data-edge]')
				.forEach(tr => tr.classList.toggle('on', +tr.dataset.edge === i));
	};
	name.addEventListener('change', () => pick(+name.value));
	flow.append(...put(h('i'), [waterfall(g, w, pick)]).childNodes);
	rowsTable = h('div', edgeTable(g, pick));
	body.replaceChildren(
		...put(h('i'), [
			sentence(g),
			facts([
				['requests', count(g.count)],
				['mean', ms(g.mean_ms)],
				['CV', pct(g.cv)],
				['p50', ms(g.p50_ms)],
				['p95', ms(g.p95_ms)],
				['p99', ms(g.p99_ms)],
				g.cost_ms > 0 && ['cost', ms(g.cost_ms)],
				known(g.probability) && g.problem !== 'none' && ['probability', pct(g.probability)],
				g.ignored_mean_ms > 0 && ['meant waits', ms(g.ignored_mean_ms)],
				g.lossy > 0 && ['with losses', count(g.lossy)],
				g.moved > 0 && ['steps moved', count(g.moved)]
			]),
			whenWords(g),
			h('p.small.soft', 'Group ', code(g.group)),
			edges.length
				? [
						h('h3', 'Critical path'),
						figure(
							flow,
							legend(),
							'Mean times, laid end to end: they add up to the mean response time. Thin bars: on the way between units; lines to the right: p95; boxes: units and spans; right: share with its interval. ',
							h(
								'span.screen',
								'Choose a row to see its distribution and keys below.'
							)
						),
						h(
							'h3',
							'Distributions ',
							h('label.small.soft.screen', 'of edge ', name)
						),
						dist,
						things(g.keys).length || things(g.sample_keys).length
							? [h('h3', 'Keys'), keys]
							: null,
						flamePart(g, w),
						edges.map(e => e.below && belowPart(e, w)),
						tailPart(g, w),
						whatIf(g),
						h('h3', 'Edges'),
						rowsTable
					]
				: null,
			exemplars(g),
			pathList(g)
		]).childNodes
	);
	pick(chosen);
}
