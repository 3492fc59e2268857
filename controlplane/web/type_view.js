/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Request types by cost; one type's groups: the critical path as a strip, and what differs in a part of the requests. */

/* ---- the heat map of response times, by time ---- */

const COLUMNS = 100;
function columnOf(t, bounds) {
	const key = typeKey(t),
		one = columns.get(key) || { last: null, all: [], bounds },
		now = list(t.counts);
	if (one.last) {
		const upTo = now.map((n, i) => Math.max(0, n - one.last[i]));
		one.all.push(upTo.map((n, i) => n - (i ? upTo[i - 1] : 0)));
		if (one.all.length > COLUMNS) one.all.shift();
	}
	one.last = now;
	one.extent = extentOf(one);
	one.version = (one.version || 0) + 1;
	columns.set(key, one);
	remember('type/' + key, { rate: (found('status', t) || {}).per_second, ...quantilesNow(one) });
}
/* Quantiles of the requests that came in the last LATELY columns, in ms: of the cell that has the rank, by its bounds' logarithms. */
const LATELY = 5,
	QUANTILES = { p50: [0.5, 10], p95: [0.95, 60], p99: [0.99, 300] }; /* and how many requests it takes to say so */
function quantilesNow(one) {
	const lately = one.all.slice(-LATELY),
		sums = one.bounds.map((b, i) => lately.reduce((n, c) => n + (c[i] || 0), 0)),
		n = sums.reduce((a, b) => a + b, 0),
		out = {};
	for (const name in QUANTILES) {
		const [q, least] = QUANTILES[name];
		let rank = q * n,
			i = 0;
		out[name] = null;
		if (n < least) continue;
		while (i < sums.length - 1 && rank > sums[i]) rank -= sums[i++];
		const high = one.bounds[i],
			low = i ? one.bounds[i - 1] : high / 2;
		out[name] = low * (high / low) ** Math.min(1, rank / Math.max(1, sums[i]));
	}
	return out;
}
/* Cells from the first to the last that has a request, and one more on each side. */
function extentOf(one) {
	let low = Infinity,
		high = -1,
		most = 2;
	for (const c of one.all)
		for (let i = 0; i < c.length; i++)
			if (c[i] > 0) {
				low = Math.min(low, i);
				high = Math.max(high, i);
				most = Math.max(most, c[i]);
			}
	return high < 0 ? null : { low: Math.max(0, low - 1), high: Math.min(one.bounds.length - 1, high + 1), most };
}
/* ---- one type ---- */

/* The critical path, laid end to end: width is mean time, height the share of variance with its interval. */
function strip(g, w) {
	const { rows, total } = waterfallRows(g),
		H = 96,
		B = H - 20,
		high = Math.max(1, ...rows.map(r => Math.min(1.3, r.share)));
	if (!rows.length || !(total > 0)) return null;
	const L = 18,
		x = linear(0, total, L, w - 44, 6),
		y = linear(0, high, B, 8, 2);
	return picture(
		w,
		H,
		'Critical path of ' + rows.length + ' steps, ' + ms(total) + ' in all; most of it at ' + edgeWords(top(g)),
		[
			xAxis(x, 6, B, msTick),
			[0, 1].map(v => [line('grid', L, y.at(v), w - 44, y.at(v)), words('t', w - 40, y.at(v) + 4, v * 100 + ' %')]),
			rows.map(r => {
				const a = x.at(r.at),
					b = x.at(r.at + r.mean),
					mid = (a + b) / 2,
					share = Math.max(0, r.share),
					e = r.e,
					about = (r.few ? r.few + ' small steps' : edgeWords(e) + ', ' + where(e)) + ': mean ' + ms(r.mean) + ', ' + (r.few ? 'share ' + pct(r.share) : shareWords(r.share, e));
				return [
					rect(shade(r.share) + ' rim', a, y.at(share), Math.max(b - a - 0.5, 0.8), B - y.at(share) + 1, about),
					!r.few && known(e.low) && known(e.high) && b - a > 3
						? line('whisk', mid, y.at(Math.max(0, Math.min(high, e.low))), mid, y.at(Math.max(0, Math.min(high, e.high))))
						: null,
					b - a > 60 ? words('t onbar', a + 3, B - 4, r.few ? r.few + ' small' : between(e.from, e.to, Math.floor((b - a - 6) / 6.4)), about) : null,
					rect('hit', a, 4, Math.max(b - a, 1), B - 4, about)
				];
			})
		]
	);
}

/* ---- what differs: samples as a heat map of their response time and their time on an edge ---- */

const CELLS_X = 36,
	CELLS_Y = 18;
function ranges(v, from, to) {
	const all = rising(v.filter(x => x > 0)),
		low = Math.max(all[0] || 1e-6, (all[all.length - 1] || 1) / 1e5);
	return log(low * 0.95, (all[all.length - 1] || 1) * 1.05, from, to, 6);
}
/* chosen: response times from low to high, of which the edge takes left to right */
function heatMap(g, edge, w, chosen) {
	const samples = things(g.samples),
		L = 62,
		H = 230,
		B = H - 30,
		xs = samples.map(t => Math.max(0, list(t.edges_ms)[edge] || 0)),
		x = ranges(xs, L, w - 8),
		y = ranges(
			samples.map(t => t.total_ms),
			B,
			6
		),
		cellW = (w - 8 - L) / CELLS_X,
		cellH = (B - 6) / CELLS_Y,
		cells = new Map(),
		kids = [xAxis(x, 6, B, msTick)];
	samples.forEach((t, i) => {
		const cx = Math.max(0, Math.min(CELLS_X - 1, Math.floor((x.at(xs[i]) - L) / cellW))),
			cy = Math.max(0, Math.min(CELLS_Y - 1, Math.floor((y.at(t.total_ms) - 6) / cellH)));
		cells.set(cy * CELLS_X + cx, (cells.get(cy * CELLS_X + cx) || 0) + 1);
	});
	const most = Math.max(...cells.values(), 1);
	for (const v of y.ticks) kids.push(line('grid', L, y.at(v), w - 8, y.at(v)), words('t e', L - 6, y.at(v) + 4, msTick(v)));
	for (const [k, n] of cells)
		kids.push(rect('s' + (1 + Math.round((6 * Math.log(n)) / Math.max(Math.log(most), 0.1))), L + (k % CELLS_X) * cellW, 6 + Math.floor(k / CELLS_X) * cellH, cellW, cellH, count(n) + ' requests'));
	const left = x.at(Math.max(x.low, chosen.left)),
		right = x.at(Math.min(x.high, chosen.right)),
		above = y.at(Math.min(y.high, chosen.high)),
		below = y.at(Math.max(y.low, chosen.low)),
		mark = s('rect', { class: 'cellmark', x: left, y: above, width: Math.max(2, right - left), height: Math.max(2, below - above) });
	kids.push(mark);
	const svg = picture(w, H, 'Heat map of ' + samples.length + ' requests: response time by time on ' + edgeWords(things(g.edges)[edge]), kids);
	svg.classList.add('drag');
	const part = v => Math.max(0, Math.min(1, v));
	/* What a place in the picture stands for; a box that reaches an edge of the picture has no limit there. */
	return {
		svg,
		mark,
		place(ev) {
			const r = svg.getBoundingClientRect();
			return { x: ((ev.clientX - r.left) * w) / r.width, y: ((ev.clientY - r.top) * H) / r.height };
		},
		range(a, b) {
			const xs = rising([a.x, b.x]).map(v => part((v - L) / (w - 8 - L))),
				ys = rising([a.y, b.y]).map(v => part((B - v) / (B - 6)));
			return { left: xs[0] > 0 ? x.of(xs[0]) : 0, right: xs[1] < 1 ? x.of(xs[1]) : Infinity, low: ys[1] > 0 ? y.of(ys[1]) : 0, high: ys[0] < 1 ? y.of(ys[0]) : Infinity };
		}
	};
}
const mean = v => (v.length ? v.reduce((a, b) => a + b, 0) / v.length : NaN);
/* Requests that are chosen against the others: edges by the difference of their means, and keys by that of their values. */
function differences(g, chosen) {
	const samples = things(g.samples),
		inside = samples.filter(chosen),
		outside = samples.filter(t => !chosen(t));
	const edges = things(g.edges)
		.map((e, i) => ({ e, a: mean(inside.map(t => list(t.edges_ms)[i] || 0)), b: mean(outside.map(t => list(t.edges_ms)[i] || 0)) }))
		.sort((p, q) => Math.abs(q.a - q.b) - Math.abs(p.a - p.b))
		.slice(0, 6);
	const keys = [];
	things(g.sample_keys).forEach((k, n) => {
		const of = set => set.map(t => list(t.keys)[n]).filter(known);
		const a = of(inside),
			b = of(outside);
		if (a.length < 2 || b.length < 2) return;
		if (k.numeric) {
			const all = a.concat(b),
				m = mean(all),
				sd = Math.sqrt(mean(all.map(v => (v - m) ** 2)));
			if (sd > 0) keys.push({ k, by: Math.abs(mean(a) - mean(b)) / (2 * sd), a: digits(mean(a), 3), b: digits(mean(b), 3) });
			return;
		}
		const share = (set, v) => set.filter(x => x === v).length / set.length;
		const best = [...new Set(a.concat(b))].slice(0, 200).map(v => ({ v, a: share(a, v), b: share(b, v) })).sort((p, q) => Math.abs(q.a - q.b) - Math.abs(p.a - p.b))[0];
		if (best && Math.abs(best.a - best.b) > 0) keys.push({ k, by: Math.abs(best.a - best.b), value: text(list(k.texts)[best.v]), a: pct(best.a), b: pct(best.b) });
	});
	keys.sort((p, q) => q.by - p.by);
	return { inside, outside, edges, keys: keys.slice(0, 6) };
}
function differsPart(g, w) {
	const samples = things(g.samples);
	if (samples.length < 10) return null;
	const totals = rising(samples.map(t => t.total_ms)),
		spot = h('div'),
		out = h('div', { 'aria-live': 'polite' }),
		edge = things(g.edges)[g.top] ? g.top : 0;
	const field = (name, v) => h('input', { type: 'number', min: 0, step: 'any', value: known(v) ? +v.toPrecision(4) : null, placeholder: 'any', 'aria-label': name });
	const low = field('from, in ms', quantile(totals, 0.9)),
		high = field('to, in ms'),
		left = field('time on the edge from, in ms'),
		right = field('time on the edge to, in ms');
	const limit = (f, none) => (f.value === '' || !known(+f.value) ? none : +f.value);
	function show() {
		const c = { low: limit(low, 0), high: limit(high, Infinity), left: limit(left, 0), right: limit(right, Infinity) },
			onEdge = t => Math.max(0, list(t.edges_ms)[edge] || 0),
			d = differences(g, t => t.total_ms >= c.low && t.total_ms <= c.high && onEdge(t) >= c.left && onEdge(t) <= c.right),
			map = heatMap(g, edge, Math.min(w, 760), c);
		let from = null;
		map.svg.addEventListener('pointerdown', ev => {
			from = map.place(ev);
			map.svg.setPointerCapture(ev.pointerId);
		});
		map.svg.addEventListener('pointermove', ev => {
			if (from === null) return;
			const to = map.place(ev);
			for (const [name, v] of [['x', Math.min(from.x, to.x)], ['y', Math.min(from.y, to.y)], ['width', Math.abs(from.x - to.x)], ['height', Math.abs(from.y - to.y)]]) map.mark.setAttribute(name, v.toFixed(1));
		});
		map.svg.addEventListener('pointerup', ev => {
			if (from === null) return;
			const to = map.place(ev),
				r = map.range(from, to),
				far = Math.abs(from.x - to.x) > 3 && Math.abs(from.y - to.y) > 3;
			from = null;
			if (far) for (const [f, v] of [[low, r.low], [high, r.high], [left, r.left], [right, r.right]]) f.value = v > 0 && known(v) ? v.toPrecision(4) : '';
			show();
		});
		spot.replaceChildren(map.svg);
		out.replaceChildren(
			...put(h('i'), [
				h('p.small', count(d.inside.length) + ' of ' + count(samples.length) + ' requests are in the box.'),
				d.inside.length && d.outside.length
					? h(
							'div.pair',
							table(['edge', '>mean in the box', '>others', '>more'], d.edges.map(r => [h('td.edge', { title: edgeWords(r.e) }, h('span.mono', between(r.e.from, r.e.to, 44))), ms(r.a), ms(r.b), ms(r.a - r.b)]), 'Edges that differ'),
							d.keys.length
								? table(['key', 'value', '>in the box', '>others'], d.keys.map(r => [code(r.k.name), r.value === undefined ? 'mean' : r.value, r.a, r.b]), 'Keys that differ')
								: h('p.soft.small', 'No key differs.')
						)
					: null
			]).childNodes
		);
	}
	for (const f of [low, high, left, right]) f.addEventListener('change', show);
	show();
	return [
		h('h3', 'What differs'),
		h('form.act', h('label', 'response time from ', low), h('label', 'to ', high, ' ms, '), h('label', 'of that on ', edgeOf(things(g.edges)[edge]), ' from ', left), h('label', 'to ', right, ' ms')),
		h('figure', h('div.plot', spot), h('figcaption', 'Response time (up) by time on ', edgeOf(things(g.edges)[edge]), ' (right) of requests drawn at random: darker is more. Draw a box, or enter its limits, to compare the requests in it with the others.')),
		out
	];
}

/* ---- the slowest request against the fastest ---- */

/* How many of the sorted times are smaller, with half of those that are equal, as a part of 1: the percentile of one among its like. */
function standing(sorted, v) {
	const first = sorted.findIndex(x => x >= v),
		after = sorted.findIndex(x => x > v);
	const less = first < 0 ? sorted.length : first;
	return (less + (after < 0 ? sorted.length : after)) / 2 / sorted.length;
}
const percentile = p => 'p' + (p > 0.99 || p < 0.01 ? digits(p * 100, p > 0.5 ? 3 : 1) : (p * 100).toFixed(0));
const PAIR_ROWS = 24;
/* The steps of both, in the order of the path: { e, slow, fast: ms, slowAt, fastAt: where they begin, and their percentiles }; small ones are put together. */
function pairRows(g, slow, fast) {
	const samples = things(g.samples),
		{ rows } = inOrder(g),
		took = (t, i) => Math.max(0, list(t.edges_ms)[i] || 0),
		apart = rows.map(r => Math.abs(took(slow, r.i) - took(fast, r.i))),
		least = rising(apart)[Math.max(0, apart.length - PAIR_ROWS)] || 0,
		out = [];
	let slowAt = 0,
		fastAt = 0;
	rows.forEach((r, n) => {
		const one = { e: things(g.edges)[r.i], slow: took(slow, r.i), fast: took(fast, r.i), slowAt, fastAt },
			last = out[out.length - 1];
		slowAt += one.slow;
		fastAt += one.fast;
		if (rows.length > PAIR_ROWS && apart[n] < least) {
			if (last && last.few) Object.assign(last, { few: last.few + 1, slow: last.slow + one.slow, fast: last.fast + one.fast });
			else out.push({ ...one, few: 1 });
			return;
		}
		const all = rising(samples.map(t => took(t, r.i)));
		out.push({ ...one, slowP: standing(all, one.slow), fastP: standing(all, one.fast) });
	});
	return out;
}
function pairPicture(rows, slow, fast, w) {
	const RH = 30,
		TOP = 22,
		L = Math.round(Math.min(330, w * 0.36)),
		R = w - 96,
		H = TOP + rows.length * RH + 6,
		x = linear(0, Math.max(slow.total_ms, ...rows.map(r => r.slowAt + r.slow)), L, R, w > 800 ? 7 : 4),
		kids = [x.ticks.map(v => [line('grid', x.at(v), TOP - 4, x.at(v), H - 6), words('t c', x.at(v), TOP - 9, msTick(v))])];
	rows.forEach((r, n) => {
		const y = TOP + n * RH,
			name = r.few ? r.few + (r.few === 1 ? ' step' : ' steps') + ' with little difference' : between(r.e.from, r.e.to, Math.floor((L - 12) / 6.8)),
			full = r.few ? name : edgeWords(r.e) + ', ' + where(r.e),
			bar = (c, at, took, dy, p) => [
				rect(c, x.at(at), y + dy, Math.max(x.at(at + took) - x.at(at), 1), 9, full + ': ' + ms(took) + (known(p) ? ', ' + percentile(p) + ' among its like' : '')),
				words('t', R + 8, y + dy + 8.5, ms(took) + (known(p) ? ' ' + percentile(p) : ''))
			];
		kids.push(words('m' + (r.slowP >= 0.95 ? ' b' : ''), 0, y + 17, name, full), bar(r.slowP >= 0.95 ? 'over' : 'bar2', r.slowAt, r.slow, 3, r.slowP), bar('less', r.fastAt, r.fast, 14, r.fastP));
	});
	return picture(w, H, 'The slowest request, ' + ms(slow.total_ms) + ', against the fastest, ' + ms(fast.total_ms) + ', by ' + rows.length + ' steps', kids);
}
function pairPart(g, w) {
	const all = things(g.samples).filter(t => known(t.total_ms));
	if (all.length < 10 || !things(g.edges).length) return null;
	const slow = all.reduce((a, b) => (b.total_ms > a.total_ms ? b : a)),
		fast = all.reduce((a, b) => (b.total_ms < a.total_ms ? b : a)),
		rows = pairRows(g, slow, fast);
	return [
		h('h3', 'The slowest request against the fastest'),
		figure(
			pairPicture(rows, slow, fast, w),
			'Of ' + count(all.length) + ' requests drawn at random: ',
			code(slow.trace),
			' (' + ms(slow.total_ms) + ', orange) and ',
			code(fast.trace),
			' (' + ms(fast.total_ms) + ', green). Right: time, and its percentile among the times of this step in all of them; red: p95 and more.'
		),
		h(
			'details.more',
			h('summary', 'The same as a table'),
			table(
				['step', '>slowest', '>percentile', '>fastest', '>percentile'],
				rows.map(r => [r.few ? r.few + ' small' : h('td.edge', { title: edgeWords(r.e) }, h('span.mono', between(r.e.from, r.e.to, 60))), ms(r.slow), known(r.slowP) ? percentile(r.slowP) : '–', ms(r.fast), known(r.fastP) ? percentile(r.fastP) : '–']),
				'The slowest request against the fastest'
			)
		)
	];
}

/* ---- the view ---- */

let asked = ''; /* the type whose report is shown */
let reportOf = null;
const viewWidth = () => Math.max(320, Math.min(1132, document.getElementById('main').clientWidth));
function groupSection(t, g, open) {
	const body = h('div.body'),
		w = viewWidth() - 36;
	const details = h(
		'details.group',
		{ open: open ? '' : null },
		groupSummary(g),
		body
	);
	const draw = () => {
		if (!details.open || body.firstChild) return;
		drawGroup(g, body, Math.max(600, w));
		body.firstChild.after(
			...put(h('i'), [
				h('h3', 'Signature'),
				figure(strip(g, w), 'The critical path, laid end to end: width is mean time, height and colour the share of variance, with its interval.'),
				pairPart(g, Math.max(600, w)),
				differsPart(g, w)
			]).childNodes
		);
	};
	details.addEventListener('toggle', draw);
	draw();
	return details;
}
async function typeView(main, type) {
	asked = type;
	const head = h('div', { id: 'typehead' }),
		body = h('div', h('p.soft', 'honed judges the groups.'));
	main.replaceChildren(head, body);
	typeHead();
	const answer = await ask({ ask: 'report', type, samples: true });
	if (asked !== type || !body.isConnected) return;
	if (!answer.ok) return body.replaceChildren(h('p.note', text(answer.error)));
	reportOf = doc = answer.report || {};
	const sections = things(doc.types).map(t =>
		h(
			'section',
			{ 'aria-label': text(t.service) },
			typeFacts(t),
			timesPart(t, Math.max(600, viewWidth())),
			h('h2', 'Groups'),
			things(t.groups).map((g, i) => groupSection(t, g, i === 0))
		)
	);
	body.replaceChildren(
		...put(h('i'), [
			h('form.act', { 'data-act': 'again' }, h('button', { type: 'submit' }, 'Judge again'), h('span.soft.small', ' requests since ' + day((doc.source || {}).since) + ', as of ' + day(doc.made))),
			sections.length ? sections : h('p', 'No request of this type was traced yet.')
		]).childNodes
	);
}
function typeHead() {
	const at = document.getElementById('typehead');
	if (at) morph(at, h('div', { id: 'typehead' }, h('h1', { tabindex: -1 }, asked), startForm(asked, true), overTime()));
}
/* The type of this view, of each service that has it. */
function overTime() {
	return things((live.status || {}).types)
		.filter(t => nameOf(t) === asked || typeKey(t) === asked)
		.map(t =>
			h(
				'section.charts',
				{ 'aria-label': 'Over time: ' + typeKey(t), 'data-key': typeKey(t) },
				chartFigure('type/' + typeKey(t), 'Requests per second', [['rate', 'requests per second']], v => digits(v, 3)),
				chartFigure('type/' + typeKey(t), 'Response time', [['p50', 'p50'], ['p95', 'p95'], ['p99', 'p99']], ms)
			)
		);
}
