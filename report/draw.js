/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the page is made of: elements, numbers, labels, scales. */

/* ---- elements: data becomes text or an attribute that is only read, never markup ---- */

function put(to, kids) {
	for (const k of kids.flat(9))
		if (k !== null && k !== undefined && k !== false) to.append(k instanceof Node ? k : String(k));
	return to;
}
/* h('td.soft', 'text'), h('a', { href }, kids...) */
function h(what, ...kids) {
	const [tag, ...classes] = what.split('.');
	const el = document.createElement(tag);
	const attrs = kids[0] && kids[0].constructor === Object ? kids.shift() : {};
	if (classes.length) el.className = classes.join(' ');
	for (const a in attrs) if (attrs[a] !== null && attrs[a] !== undefined) el.setAttribute(a, attrs[a]);
	return put(el, kids);
}
function s(tag, attrs, ...kids) {
	const el = document.createElementNS('http://www.w3.org/2000/svg', tag);
	for (const a in attrs)
		if (attrs[a] !== null && attrs[a] !== undefined)
			el.setAttribute(a, typeof attrs[a] === 'number' ? +attrs[a].toFixed(2) : attrs[a]);
	return put(el, kids);
}
const line = (c, x1, y1, x2, y2) =>
	s('path', {
		class: c,
		d: 'M' + x1.toFixed(1) + ' ' + y1.toFixed(1) + 'L' + x2.toFixed(1) + ' ' + y2.toFixed(1)
	});
const rect = (c, x, y, w, hgt, title) =>
	s(
		'rect',
		{ class: c, x, y, width: Math.max(w, 0), height: Math.max(hgt, 0) },
		title && s('title', {}, title)
	);
const words = (c, x, y, t, full) => s('text', { class: c, x, y }, t, full && s('title', {}, full));
function picture(w, hgt, about, kids) {
	return s(
		'svg',
		{ viewBox: '0 0 ' + w + ' ' + hgt, width: w, height: hgt, role: 'img', 'aria-label': about },
		s('title', {}, about),
		kids
	);
}
const figure = (svg, ...caption) => h('figure', h('div.plot', svg), h('figcaption', caption));
const list = x => (Array.isArray(x) ? x : []);
const known = x => typeof x === 'number' && isFinite(x);
const things = x => list(x).map(v => (v !== null && typeof v === 'object' ? v : {}));
const text = x => (x === null || x === undefined ? '–' : String(x));

/* ---- numbers ---- */

function digits(x, n) {
	if (x === 0) return '0';
	const size = Math.abs(x);
	if (size >= 1e6 || size < 1e-4) return x.toExponential(n - 1).replace('e+', 'e');
	return x.toFixed(Math.max(0, n - 1 - Math.floor(Math.log10(size) + 1e-9)));
}
function ms(x, n) {
	if (!known(x)) return '–';
	const size = Math.abs(x);
	n = n || 3;
	if (size === 0) return '0 ms';
	if (size < 0.9995e-3) return digits(x * 1e6, n) + ' ns';
	if (size < 0.9995) return digits(x * 1e3, n) + ' µs';
	if (size < 999.5) return digits(x, n) + ' ms';
	if (size < 120e3) return digits(x / 1e3, n) + ' s';
	return size < 7.2e6 ? digits(x / 60e3, n) + ' min' : digits(x / 3.6e6, n) + ' h';
}
function pct(x) {
	if (!known(x)) return '–';
	const p = Math.abs(x) < 5e-4 ? 0 : x * 100;
	return (Math.abs(p) >= 9.95 || p === 0 ? p.toFixed(0) : p.toFixed(1)).replace('-', '−') + ' %';
}
const range = (a, b, f) => (known(a) && known(b) ? f(a) + ' to ' + f(b) : '');
const count = x => (known(x) ? x.toLocaleString('en-US').replace(/,/g, '\u2009') : '–');
function pvalue(p) {
	return !known(p) ? '–' : p < 1e-15 ? '< 1e-15' : p < 0.001 ? p.toExponential(0) : p.toFixed(3);
}
/* The nearest rank: see analysis/quantile.h. */
function quantile(sorted, q) {
	const rank = Math.ceil(q * sorted.length * (1 - 4 * Number.EPSILON));
	return sorted[Math.max(rank, 1) - 1];
}
const rising = v => v.slice().sort((a, b) => a - b);
/* Of eight; negative is none. */
const shade = x => 's' + (known(x) ? [0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75].filter(t => x >= t).length : 0);

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
const msTick = v => ms(v, 2).replace(/\.0(?= )/, '');
const numTick = v => (Math.abs(v) >= 1e5 ? v.toExponential(0) : String(+v.toPrecision(4)));
