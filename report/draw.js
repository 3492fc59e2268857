/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Labels of places in requests, scales and axes. */

/* ---- labels: service/provider:event ---- */

const service = l => text(l).split('/')[0];
const inside = l => text(l).slice(text(l).indexOf('/') + 1);
const event = l => inside(l).slice(inside(l).indexOf(':') + 1) || text(l);
/* The structure that is always there, by its own name: hone:unit_begin(get) */
const OURS = /^hone:(?:request|unit)_(begin|end)\((.+)\)$/;
const STEM = /^(.*)_(?:begin|start|entry|enter)((?:\(.*\))?)$/,
	STEM_END = /_(?:end|exit|leave)((?:\(.*\))?)$/;
function shortly(l) {
	const ours = OURS.exec(inside(l));
	return ours ? ours[1] + ' ' + ours[2] : event(l);
}
function fits(t, n) {
	if (t.length <= n) return t;
	if (n < 8) return t.slice(0, Math.max(1, n - 1)) + '…';
	return t.slice(0, Math.ceil(n * 0.55) - 1) + '…' + t.slice(t.length - Math.floor(n * 0.45));
}
/* Long names of structure are told apart by how they end. */
function cut(t, n) {
	const ours = /^(begin|end) /.exec(t);
	return t.length > n && ours && n > 12
		? ours[0] + '…' + t.slice(t.length - (n - ours[0].length - 1))
		: fits(t, n);
}
/* "query" for query_begin to query_end, else both; in n letters, if n is given. */
function between(from, to, n) {
	const a = OURS.exec(inside(from)),
		b = OURS.exec(inside(to)),
		stem = STEM.exec(event(from));
	n = n || Infinity;
	if (service(from) === service(to)) {
		if (a && b && a[1] === 'begin' && b[1] === 'end' && a[2] === b[2]) return cut(a[2], n);
		if (stem && event(to).replace(STEM_END, '$1') === stem[1] + stem[2])
			return cut(stem[1] + stem[2], n);
	}
	const x = shortly(from),
		y = shortly(to),
		half = (n - 3) / 2;
	if (x.length + y.length + 3 <= n) return x + ' → ' + y;
	const ofX = Math.floor(y.length < half ? n - 3 - y.length : Math.min(x.length, half));
	return cut(x, ofX) + ' → ' + cut(y, Math.floor(n - 3 - ofX));
}
/* The service that the time of an edge passes in. */
const where = e =>
	e.owner
		? text(e.owner_service || service(e.owner))
		: service(e.from) === service(e.to)
			? service(e.from)
			: 'on the way';
const edgeWords = e => (e ? text(e.from) + ' → ' + text(e.to) : '–');
function services(g) {
	const out = [];
	for (const l of list(g.path))
		if (l !== '(' && l !== ')+' && out[out.length - 1] !== service(l)) out.push(service(l));
	return out;
}
function route(g) {
	const all = services(g);
	return (all.length <= 7 ? all : all.slice(0, 4).concat('…', all.slice(-2))).join(' → ');
}
const top = g => things(g.edges)[g.top];
const slowly = g => g.problem === 'slow';
const badge = p =>
	h(
		'span',
		{ class: 'problem ' + (/^(unpredictable|slow|unsure|none)$/.test(p) ? p : 'none') },
		p === 'none' ? 'steady' : text(p)
	);

/* ---- scales and axes ---- */

function steps(low, high, n) {
	const raw = (high - low) / Math.max(1, n),
		p = Math.pow(10, Math.floor(Math.log10(raw))),
		out = [];
	const step = p * [1, 2, 5, 10].find(m => m * p >= raw * 0.999);
	for (let v = Math.ceil(low / step - 1e-9); v * step <= high + step * 1e-6 && out.length < 50; v++)
		out.push(v * step + 0); /* not -0 */
	return out;
}
function linear(low, high, from, to, n) {
	if (!(high > low)) high = low + (Math.abs(low) || 1);
	return {
		at: v => from + ((v - low) / (high - low)) * (to - from),
		ticks: steps(low, high, n || 5),
		low,
		high
	};
}
function log(low, high, from, to, n) {
	const a = Math.log(low),
		b = Math.log(high > low ? high : low * 1.01),
		all = [];
	for (let d = Math.floor(Math.log10(low)); d <= Math.log10(high) + 1; d++)
		for (const m of [1, 2, 5]) all.push(m * Math.pow(10, d));
	let ticks = all.filter(v => v >= low * 0.999 && v <= high * 1.001);
	if (ticks.length < 3) ticks = steps(low, high, 4).filter(v => v > 0);
	for (let every = 1; ticks.length > (n || 7);)
		((ticks = all.filter((v, i) => i % (3 * every) === 0 && v >= low * 0.999 && v <= high * 1.001)),
			every++);
	return {
		at: v => from + ((Math.log(Math.max(v, low)) - a) / (b - a)) * (to - from),
		ticks,
		low,
		high,
		of: f => Math.exp(a + f * (b - a))
	};
}
function xAxis(sc, y0, y1, f) {
	return sc.ticks.map(v => [line('grid', sc.at(v), y0, sc.at(v), y1), words('t c', sc.at(v), y1 + 14, f(v))]);
}
const numTick = v => (Math.abs(v) >= 1e5 ? v.toExponential(0) : String(+v.toPrecision(4)));
