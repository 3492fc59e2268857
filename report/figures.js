/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The pictures. */
const ROWS = 40; /* of a waterfall or table, before what is small is put together */
const ROWS_PRINT = 16;

/* ---- the waterfall ---- */

/* Edges in the order of the path: the first lead from step to step, then come those that go round a loop. */
function inOrder(g) {
	const edges = things(g.edges),
		around = [],
		chain = [],
		out = [],
		loops = [],
		open = [],
		labels = [];
	edges.forEach((e, i) => (e.loop ? around : chain).push(i));
	for (const l of list(g.path)) {
		if (l === '(') {
			open.push(labels.length);
		} else if (l === ')+') {
			const first = open.pop() || 0,
				last = labels.length - 1;
			const at = around.findIndex(
				i => edges[i].from === labels[last] && edges[i].to === labels[first]
			);
			loops.push({ first, last, edge: at < 0 ? undefined : around.splice(at, 1)[0] });
		} else {
			labels.push(l);
		}
	}
	chain.forEach((i, step) => {
		for (const l of loops)
			if (l.last === step && l.edge !== undefined) out.push({ i: l.edge, step, to: l.first });
		out.push({ i, step, to: step + 1 });
	});
	for (const i of around) out.push({ i, step: chain.length, to: chain.length });
	return { rows: out, loops };
}
function shareOf(g, e) {
	return slowly(g) && known(e.latency_share) && !known(e.share) ? e.latency_share : e.share;
}
function waterfallRows(g) {
	const edges = things(g.edges),
		st = things(g.steps),
		{ rows, loops } = inOrder(g),
		out = [];
	const small =
		rows.length > ROWS &&
		(i => i !== g.top && !(Math.abs(edges[i].share) >= 0.01) && !(edges[i].latency_share >= 0.02));
	let at = 0;
	for (const r of rows) {
		const e = edges[r.i],
			mean = known(e.mean_ms) ? e.mean_ms : 0;
		const depth = Math.min((st[r.step] || {}).depth || 0, (st[r.to] || st[r.step] || {}).depth || 0);
		const last = out[out.length - 1],
			loop = loops.filter(
				l => r.step >= l.first && (r.step < l.last || (e.loop && r.step <= l.last))
			).length;
		if (small && small(r.i) && last && last.few) {
			last.few++;
			last.mean += mean;
			last.depth = Math.min(last.depth, depth);
			last.share += e.share || 0;
		} else {
			out.push({
				e,
				i: r.i,
				at,
				mean,
				depth,
				loop,
				few: small && small(r.i) ? 1 : 0,
				share: shareOf(g, e) || 0
			});
		}
		at += mean;
	}
	for (const r of out) if (r.few === 1) r.few = 0;
	return { rows: out, total: at };
}
function waterfall(g, w, pick) {
	const { rows, total } = waterfallRows(g),
		RH = 21,
		TOP = 34;
	if (rows.length === 0) return null;
	const left = Math.round(Math.min(400, w * 0.4)),
		right = Math.round(Math.min(210, w * 0.23)),
		hgt = TOP + rows.length * RH + 8;
	const far = Math.max(
		total,
		Math.min(
			1.35 * total,
			...[Math.max(...rows.map(r => (r.few || !known(r.e.p95_ms) ? 0 : r.at + r.e.p95_ms)))]
		)
	);
	const x = linear(0, far || 1, left, w - right - 22, w > 800 ? 7 : 5),
		bottom = TOP + rows.length * RH;
	const lows = rows.map(r => (r.few ? 0 : Math.max(-0.3, Math.min(r.e.low || 0, r.share))));
	const x2 = linear(
		Math.min(0, ...lows),
		Math.max(1, ...rows.map(r => Math.min(1.3, r.share))),
		w - right,
		w - 52,
		2
	);
	const kids = x.ticks.map(v => [
		line('grid', x.at(v), TOP - 6, x.at(v), bottom),
		words('t c', x.at(v), TOP - 10, msTick(v))
	]);
	kids.push(
		words('t', 0, TOP - 10, 'where the time passes'),
		words('t', x2.at(0), TOP - 22, slowly(g) ? 'share of latency' : 'share of variance')
	);
	for (const v of [0, 0.5, 1])
		kids.push(
			line('grid', x2.at(v), TOP - 6, x2.at(v), bottom),
			words('t c', x2.at(v), TOP - 10, v * 100 + '')
		);
	kids.push(boxes(rows, x, TOP, RH));
	rows.forEach((r, n) => kids.push(waterfallRow(g, r, x, x2, TOP + n * RH, RH, left, w, pick)));
	return picture(
		w,
		hgt,
		'Critical path of ' +
			rows.length +
			' steps, ' +
			ms(total) +
			' in all; most of it at ' +
			edgeWords(top(g)),
		kids
	);
}
/* A unit or span is a box around what happens in it. */
function boxes(rows, x, y0, rh) {
	const out = [];
	for (let d = 1; d <= Math.max(...rows.map(r => r.depth)); d++)
		for (let i = 0, j; i < rows.length; i = j + 1) {
			for (j = i; j < rows.length && rows[j].depth >= d; j++);
			if (j > i) {
				const a = x.at(rows[i].at),
					b = x.at(rows[j - 1].at + rows[j - 1].mean);
				out.push(
					s('rect', {
						class: 'box',
						x: a - 2,
						y: y0 + i * rh + 1,
						width: b - a + 4,
						height: (j - i) * rh - 2,
						rx: 3
					})
				);
			}
		}
	return out;
}
const shareWords = (share, e) => 'share ' + pct(share) + ' (' + range(e.low, e.high, pct) + ')';
function waterfallRow(g, r, x, x2, y, rh, left, w, pick) {
	const e = r.e,
		mid = y + rh / 2,
		on = e.owner === null || e.owner === undefined,
		isTop = r.i === g.top && !r.few;
	const indent = Math.min(r.depth, 8) * 9 + 2,
		chars = Math.floor((left - indent - 16) / 6.75);
	const who = where(e);
	const whoFits = r.few ? '' : fits(who, Math.max(6, Math.floor(chars * 0.34)));
	const room = chars - whoFits.length - (whoFits ? 1 : 0),
		mark = e.loop ? '↻ ' : r.loop ? '( )+ ' : '';
	const name = r.few ? r.few + ' small steps' : mark + between(e.from, e.to, room - mark.length);
	const about = r.few
		? r.few + ' steps with little share, ' + ms(r.mean)
		: edgeWords(e) +
			'\n' +
			who +
			': mean ' +
			ms(e.mean_ms) +
			', p50 ' +
			ms(e.p50_ms) +
			', p95 ' +
			ms(e.p95_ms) +
			'\n' +
			shareWords(r.share, e);
	const a = x.at(r.at),
		b = Math.max(x.at(r.at + r.mean), a + 1.5),
		thick = on && !r.few ? 6 : 12,
		out = [];
	out.push(
		s(
			'text',
			{ x: indent, y: mid + 4 },
			s('tspan', { class: 't' }, whoFits),
			s('tspan', { class: 'm' + (isTop ? ' b' : ''), dx: whoFits ? 6 : 0 }, name)
		)
	);
	out.push(rect(shade(r.share) + ' rim', a, mid - thick / 2, b - a, thick));
	if (!r.few && known(e.p95_ms) && e.p95_ms > e.mean_ms) {
		const end = Math.min(x.at(r.at + e.p95_ms), x.at(x.high));
		out.push(
			line('thin', b, mid, end, mid),
			x.at(r.at + e.p95_ms) <= x.at(x.high) + 0.5
				? line('thin', end, mid - 3, end, mid + 3)
				: s('path', {
						class: 'thin',
						d:
							'M' +
							(end - 4) +
							' ' +
							(mid - 3) +
							'L' +
							end +
							' ' +
							mid +
							'L' +
							(end - 4) +
							' ' +
							(mid + 3)
					})
		);
	}
	const zero = x2.at(0),
		to = x2.at(Math.max(x2.low, Math.min(x2.high, r.share)));
	out.push(rect(shade(r.share) + ' rim', Math.min(zero, to), mid - 5, Math.abs(to - zero), 10));
	if (!r.few && known(e.low) && known(e.high)) out.push(whisker(x2, e.low, e.high, mid, 3.5));
	out.push(words('e' + (isTop ? ' b' : ''), w - 2, mid + 4, e.ignored ? 'ignored' : pct(r.share)));
	out.push(s('rect', { class: 'hit', x: 0, y, width: w, height: rh }, s('title', {}, about)));
	if (!r.few && pick) out[out.length - 1].addEventListener('click', () => pick(r.i));
	return s('g', {}, out);
}
function whisker(sc, low, high, y, half) {
	const a = sc.at(Math.max(sc.low, Math.min(sc.high, low))),
		b = sc.at(Math.max(sc.low, Math.min(sc.high, high)));
	return [
		line('whisk', a, y, b, y),
		line('whisk', a, y - half, a, y + half),
		line('whisk', b, y - half, b, y + half)
	];
}
function legend() {
	const names = ['< 2', '2', '5', '10', '20', '35', '50', '75 % and more'];
	return picture(
		490,
		22,
		'Colours of shares, from less than 2 % to more than 75 %',
		names.map((n, i) => [rect('s' + i + ' rim', i * 54, 6, 16, 10), words('t', i * 54 + 21, 15, n)])
	);
}

/* ---- distributions ---- */

function histogram(values, w, marks, cls, about, mean) {
	const v = rising(values.filter(t => t > 0)),
		zeros = values.length - v.length,
		H = 190,
		TOP = 20,
		B = H - 26,
		L = 30,
		R = w - 42;
	if (v.length < 2)
		return h(
			'p.soft.small',
			zeros ? zeros + ' of ' + values.length + ' samples are 0.' : 'No samples.'
		);
	const low = v[0] / 1.04,
		high = Math.max(v[v.length - 1] * 1.04, low * 1.2),
		x = log(low, high, L, R, w / 75);
	const bins = Math.max(8, Math.min(40, Math.round(2 * Math.cbrt(v.length) * 1.6))),
		n = new Array(bins).fill(0);
	for (const t of v) n[Math.min(bins - 1, Math.floor(((x.at(t) - L) / (R - L)) * bins))]++;
	const most = Math.max(...n),
		y = linear(0, most, B, TOP, 3),
		bw = (R - L) / bins;
	let d = 'M' + L + ' ' + B,
		step = Math.max(1, Math.floor(v.length / 400));
	for (let i = 0; i < v.length; i += step)
		d += 'H' + x.at(v[i]).toFixed(1) + 'V' + (B - ((B - TOP) * (i + 1)) / v.length).toFixed(1);
	const kids = [
		xAxis(x, TOP, B, msTick),
		n.map((c, i) =>
			rect(
				cls,
				L + i * bw + 0.5,
				y.at(c),
				bw - 1,
				B - y.at(c),
				c + ' samples from ' + ms(x.of(i / bins)) + ' to ' + ms(x.of((i + 1) / bins))
			)
		),
		line('axis', L, B, R, B),
		s('path', { class: 'curve', d: d + 'V' + TOP + 'H' + R })
	];
	for (const t of [0, 0.5, 1]) kids.push(words('t', R + 5, B - (B - TOP) * t + 4, t * 100 + ' %'));
	kids.push(words('t e', L - 5, TOP + 4, most), words('t e', L - 5, B + 4, 0));
	let clear = -99;
	for (const [name, at] of marks)
		if (known(at) && at >= low && at <= high) {
			kids.push(line('mark', x.at(at), TOP - 3, x.at(at), B));
			if (x.at(at) - clear > 24) kids.push(words('t c', (clear = x.at(at)), TOP - 7, name));
		}
	return [
		picture(w, H, about, kids),
		zeros ? h('p.soft.small', zeros + ' samples of 0 are left out.') : null
	];
}

/* ---- keys ---- */

const keyIndex = (g, name) => things(g.sample_keys).findIndex(k => k.name === name);
function keyPlot(g, k, edge, w) {
	const def = things(g.sample_keys)[k],
		pairs = [];
	for (const one of things(g.samples)) {
		const a = list(one.keys)[k],
			b = list(one.edges_ms)[edge];
		if (known(a) && known(b)) pairs.push([a, b]);
	}
	if (pairs.length < 2) return h('p.soft.small', 'No samples have this key.');
	return def.numeric ? scatter(pairs, text(def.name), w) : strips(pairs, list(def.texts), text(def.name), w);
}
function yScale(v, from, to) {
	const sorted = rising(v),
		least = sorted.find(t => t > 0);
	/* A few far ones must not press all the others onto the axis. */
	if (sorted[0] > 0 && sorted[sorted.length - 1] / quantile(sorted, 0.5) > 12)
		return log(least / 1.1, sorted[sorted.length - 1] * 1.1, from, to, 5);
	return linear(0, sorted[sorted.length - 1] * 1.04, from, to, 4);
}
const yAxis = (y, x0, x1) =>
	y.ticks.map(v => [line('grid', x0, y.at(v), x1, y.at(v)), words('t e', x0 - 6, y.at(v) + 4, msTick(v))]);
function scatter(pairs, name, w) {
	const H = 230,
		B = H - 38,
		L = 58,
		ks = pairs.map(p => p[0]),
		low = Math.min(...ks),
		high = Math.max(...ks),
		pad = (high - low) * 0.03 || 1;
	const x = linear(low - pad, high + pad, L, w - 10, w > 500 ? 7 : 5),
		y = yScale(
			pairs.map(p => p[1]),
			B,
			12
		);
	return picture(w, H, 'Scatter plot of ' + pairs.length + ' samples: time of the edge over ' + name, [
		yAxis(y, L, w - 10),
		line('axis', L, B, w - 10, B),
		x.ticks.map(v => [
			line('axis', x.at(v), B, x.at(v), B + 4),
			words('t c', x.at(v), B + 16, numTick(v))
		]),
		words('t m c', (L + w - 10) / 2, H - 4, fits(name, w / 7)),
		pairs.map(p => s('circle', { class: 'dot', cx: x.at(p[0]), cy: y.at(p[1]), r: 2.6 }))
	]);
}
function strips(pairs, texts, name, w) {
	const by = new Map();
	for (const p of pairs) by.set(p[0], (by.get(p[0]) || []).concat(p[1]));
	let all = [...by]
		.map(([k, v]) => ({ k, v: rising(v) }))
		.sort((a, b) => quantile(b.v, 0.5) - quantile(a.v, 0.5));
	const hidden = Math.max(0, all.length - 14);
	all = all.slice(0, 14);
	const RH = 26,
		L = Math.min(190, w * 0.34),
		H = all.length * RH + 40,
		B = H - 34;
	const x = yScale(
		all.flatMap(c => c.v),
		L,
		w - 12
	);
	const kids = [
		xAxis(x, 6, B, msTick),
		all.map((c, n) => {
			const y = 8 + n * RH + RH / 2,
				label = text(texts[c.k]),
				q = [0.25, 0.5, 0.75].map(f => x.at(quantile(c.v, f)));
			return [
				words('m e', L - 8, y + 4, fits(label, (L - 50) / 6.7) + ' · ' + c.v.length, label),
				s('rect', {
					class: 'box',
					x: q[0],
					y: y - 8,
					width: Math.max(1, q[2] - q[0]),
					height: 16
				}),
				c.v.map((t, i) =>
					s('circle', {
						class: 'dot',
						cx: x.at(t),
						cy: y + (((i * 7) % 13) - 6) * 0.9,
						r: 2.2
					})
				),
				line('whisk', q[1], y - 9, q[1], y + 9)
			];
		})
	];
	return [
		picture(
			w,
			H,
			'Time of the edge by values of ' + name + ': ' + all.length + ' values, slowest first',
			kids
		),
		hidden ? h('p.soft.small', hidden + ' more values are not drawn.') : null
	];
}
function keyWords(k) {
	const n = 'n ' + count(k.n) + ', p ' + pvalue(k.p);
	return k.numeric
		? 'r ' +
				(known(k.r) ? k.r.toFixed(2) : '–') +
				', ρ ' +
				(known(k.rho) ? k.rho.toFixed(2) : '–') +
				', ' +
				n
		: pct(k.share) + ' of the variance lies between its values, ' + n;
}

/* ---- bars with intervals: {name or edge, full, value, low, high, note, cls} ---- */

function edgeLabel(r, y, chars) {
	const who = r.edge ? fits(where(r.edge), Math.floor(chars / 3)) : '';
	const name = r.edge ? between(r.edge.from, r.edge.to, chars - who.length - 1) : fits(r.name, chars);
	return s(
		'text',
		{ x: 0, y },
		s('tspan', { class: 't' }, who),
		s('tspan', { class: 'm', dx: who ? 6 : 0 }, name),
		s('title', {}, r.full || name)
	);
}
function bars(rows, w, about, f) {
	const RH = 22,
		L = Math.round(w * 0.46),
		low = Math.min(
			0,
			...rows.map(r => Math.max(known(r.low) ? r.low : r.value, -1.5 * Math.abs(r.value)))
		);
	const high = Math.max(
			0,
			...rows.map(r => Math.min(known(r.high) ? r.high : r.value, 1.5 * Math.abs(r.value) + 1e-9))
		),
		x = linear(low, high, L, w - 78, 5),
		H = rows.length * RH + 24;
	return picture(w, H, about, [
		x.ticks.map(v => [line('grid', x.at(v), 0, x.at(v), H - 20), words('t c', x.at(v), H - 6, f(v))]),
		line('axis', x.at(0), 0, x.at(0), H - 20),
		rows.map((r, n) => {
			const y = n * RH + RH / 2,
				a = x.at(0),
				b = x.at(r.value);
			return [
				edgeLabel(r, y + 4, Math.floor((L - 14) / 6.75)),
				rect(r.cls || 'bar', Math.min(a, b), y - 6, Math.abs(b - a), 12, r.full),
				known(r.low) && known(r.high) ? whisker(x, r.low, r.high, y, 4) : null,
				words('e', w - 2, y + 4, r.note || f(r.value))
			];
		})
	]);
}
