/* SPDX-License-Identifier: GPL-3.0-or-later */
/* When requests came, where the time of all problems was lost, and what the slow requests called. */

const day = t => text(t).replace('T', ' ').slice(0, 19) + ' UTC';

/* Bars: requests by their time, those of problems in orange; line: their mean response time. */
function timesPart(t, w) {
	const times = t.times || {},
		bins = list(times.bins).map(list),
		from = Date.parse(times.from),
		width = times.width_s;
	if (bins.length < 2 || !(width > 0 && width < 1e9) || isNaN(from)) return null;
	const L = 64,
		H = 150,
		TOP = 74,
		B = H - 22,
		R = w - 8,
		each = (R - L) / bins.length,
		most = Math.max(...bins.map(b => b[0] || 0)) || 1,
		slowest = Math.max(...bins.map(b => b[1] || 0)) || 1,
		scale = (high, a, b) => [2, 4].map(ticks => linear(0, high, a, b, ticks)).find(l => l.ticks.length > 1) || linear(0, high, a, b, 8),
		n = scale(most, B, TOP + 6),
		y = scale(slowest, TOP - 6, 8),
		at = i => new Date(from + i * width * 1000).toISOString(),
		kids = [];
	for (const v of n.ticks)
		kids.push(line('grid', L, n.at(v), R, n.at(v)), words('t e', L - 6, n.at(v) + 4, count(v)));
	for (const v of y.ticks)
		kids.push(line('grid', L, y.at(v), R, y.at(v)), words('t e', L - 6, y.at(v) + 4, msTick(v)));
	let path = '',
		gap = true;
	bins.forEach((b, i) => {
		const x = L + i * each,
			about = day(at(i)) + ': ' + count(b[0]) + ' requests, mean ' + ms(b[1]);
		kids.push(
			rect('dim', x + 0.5, n.at(b[0] || 0), each - 1, B - n.at(b[0] || 0)),
			rect('fill-unpredictable fade', x + 0.5, n.at(b[2] || 0), each - 1, B - n.at(b[2] || 0)),
			rect('hit', x, 4, each, B - 4, about + ', ' + count(b[2]) + ' in groups that are problems')
		);
		if (!known(b[1])) return (gap = true);
		path += (gap ? 'M' : 'L') + (x + each / 2).toFixed(1) + ' ' + y.at(b[1]).toFixed(1);
		if (gap && !known((bins[i + 1] || [])[1])) path += 'h0.1';
		gap = false;
	});
	kids.push(
		s('path', { class: 'curve', d: path, 'stroke-linecap': 'round' }),
		words('t', L, H - 6, day(at(0))),
		words('t e', R, H - 6, day(at(bins.length)))
	);
	return figure(
		picture(w, H, 'Requests and mean response times of ' + text(t.type) + ' by time', kids),
		'By the time of their begin, in bins of ' +
			ms(width * 1000) +
			': above, the mean response time; below, the requests, in orange those of groups that are problems.'
	);
}

/* The cost of all problems by the call in which it was lost. */
function lostIn() {
	const rows = things(doc.lost_in);
	if (rows.length < 2) return null;
	return [
		h('h3', 'By service and call'),
		table(
			['service', 'call', '>cost', '>share', '>groups', '>requests'],
			rows
				.slice(0, 15)
				.map(r => [
					r.call ? text(r.service) : h('span.soft', 'between services'),
					h(
						'span.mono',
						r.call ? shortly(r.call).replace(/^begin /, '') : service(r.from) + ' → ' + service(r.to)
					),
					ms(r.cost_ms),
					pct(r.share),
					count(r.groups),
					count(r.requests)
				]),
			'Cost of all problems by service and call'
		),
		rows.length > 15 ? h('p.soft.small', count(rows.length - 15) + ' more are in the document.') : null
	];
}

/* The calls around each edge of the path as a tree; siblings of one name are one call. Edges that are
 * round a loop pass in what is open at both of their ends. */
function callTree(g) {
	const edges = things(g.edges),
		st = things(g.steps),
		begins = k => /^(begin) /.test(shortly(st[k].label)),
		ends = k => /^(end) /.test(shortly(st[k].label)),
		deep = k => Math.max(0, Math.min(255, st[k].depth | 0)),
		root = { name: '', usual: 0, slow: 0, kids: new Map() };
	let open = [],
		last = -1;
	for (const r of inOrder(g).rows) {
		const a = st[r.step],
			b = st[r.to],
			t = edges[r.i].tail;
		if (!a || !b || !t || !known(t.slow_ms) || !known(t.usual_ms)) continue;
		for (; last < r.step; last++) {
			const k = last + 1;
			open = open.slice(0, deep(k));
			open[deep(k)] = text(st[k].unit);
		}
		const depth = Math.min(
			deep(r.step) + (ends(r.step) ? 0 : 1),
			deep(r.to) + (begins(r.to) ? 0 : 1),
			open.length
		);
		let at = root;
		for (let d = 0; ; d++) {
			at.usual += t.usual_ms;
			at.slow += t.slow_ms;
			if (d >= depth) break;
			const name = open[d] || '–';
			if (!at.kids.has(name)) at.kids.set(name, { name, usual: 0, slow: 0, kids: new Map() });
			at = at.kids.get(name);
		}
	}
	return root;
}
const callWords = name => service(name) + ' ' + shortly(name).replace(/^begin /, '');

/* Two flame graphs (Gregg 2016) to one scale: usual requests above, slow ones below. */
function twoFlames(root, w, heads, called, when, about) {
	const RH = 18,
		more = root.slow - root.usual,
		scale = (w - 2) / Math.max(root.slow, root.usual),
		rise = n => (more > 0 ? (n.slow - n.usual) / more : 0),
		colour = x => (x > -0.02 ? shade(x) : 'less'),
		kids = [];
	const depthOf = n => 1 + Math.max(0, ...[...n.kids.values()].map(depthOf)),
		depth = Math.min(depthOf(root) - 1, 48);
	function lay(n, d, x, y0, what) {
		for (const k of n.kids.values()) {
			const wide = k[what] * scale;
			if (d < depth && wide >= 0.5) {
				const y = y0 + d * RH,
					said = called(k.name) + ': ' + ms(k.usual) + ' usually, ' + ms(k.slow) + ' in ' + when;
				kids.push(rect('rim ' + colour(rise(k)), x, y, wide - 0.5, RH - 1.5, said));
				if (wide > 36)
					kids.push(words('t', x + 3, y + 12, fits(called(k.name), Math.floor((wide - 6) / 6.2)), said));
				lay(k, d + 1, x, y0, what);
			}
			x += wide;
		}
	}
	const below = 20 + depth * RH + 12;
	kids.push(words('b', 0, 13, heads[0]));
	lay(root, 0, 1, 20, 'usual');
	kids.push(words('b', 0, below + 13, heads[1]));
	lay(root, 0, 1, below + 20, 'slow');
	return picture(w, below + 24 + depth * RH, about, kids);
}

function flamePart(g, w) {
	const root = g.tail ? callTree(g) : null,
		rows = [],
		all = [];
	if (!root || !(root.slow > 0) || root.kids.size === 0) return null;
	const more = root.slow - root.usual;
	function collect(n) {
		for (const k of n.kids.values()) {
			const own = what => k[what] - [...k.kids.values()].reduce((sum, c) => sum + c[what], 0);
			all.push({ name: k.name, usual: own('usual'), slow: own('slow') });
			collect(k);
		}
	}
	collect(root);
	const byName = new Map();
	for (const c of all) {
		const sum = byName.get(c.name) || { name: c.name, usual: 0, slow: 0 };
		sum.usual += c.usual;
		sum.slow += c.slow;
		byName.set(c.name, sum);
	}
	for (const c of [...byName.values()].sort((a, b) => b.slow - b.usual - (a.slow - a.usual)).slice(0, 12))
		rows.push([
			service(c.name),
			h('span.mono', shortly(c.name).replace(/^begin /, '')),
			ms(c.usual),
			ms(c.slow),
			more > 0 ? pct((c.slow - c.usual) / more) : '–'
		]);
	return [
		h('h3', 'Usual and slowest requests by call'),
		figure(
			twoFlames(
				root,
				w,
				['usual: ' + ms(root.usual), 'slowest ' + count(g.tail.slow) + ': ' + ms(root.slow)],
				callWords,
				'the slowest',
				'Flame graphs of usual and of the slowest requests'
			),
			'The critical path by service and call, callers above what they call; both to one scale. Colour: share of the difference; green: less. Usual: 40th to 60th percentile.'
		),
		h(
			'details.more',
			h('summary', 'Own times by call'),
			table(
				['service', 'call', '>usually', '>in the slowest', '>of the difference'],
				rows,
				'Own times of calls in usual and in the slowest requests'
			)
		)
	];
}

function whenWords(g) {
	const x = g.worst;
	if (!x || !(x.mean_ms >= 1.5 * x.other_mean_ms)) return null;
	return h(
		'p.small',
		'Worst from ' +
			day(x.from) +
			' to ' +
			day(x.until) +
			': mean ' +
			ms(x.mean_ms) +
			' in ' +
			count(x.requests) +
			' requests, otherwise ' +
			ms(x.other_mean_ms) +
			'.'
	);
}
