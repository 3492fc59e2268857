/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What pages are made of: elements, and numbers in words. */

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
/* Whole numbers by groups of three. What the language has for it loads all rules of a country, which takes some ms when a page is opened. */
const grouped = x => (Number.isSafeInteger(x) ? String(x).replace(/\B(?=(\d{3})+$)/g, '\u2009') : x.toLocaleString('en-US').replace(/,/g, '\u2009'));
const count = x => (known(x) ? grouped(x) : '–');
function pvalue(p) {
	return !known(p) ? '–' : p < 1e-15 ? '< 1e-15' : p < 0.001 ? p.toExponential(0) : p.toFixed(3);
}
/* The nearest rank: see analysis/quantile.h. */
function quantile(sorted, q) {
	const rank = Math.ceil(q * sorted.length * (1 - 4 * Number.EPSILON));
	return sorted[Math.max(rank, 1) - 1];
}
const rising = v => v.slice().sort((a, b) => a - b);
const msTick = v => ms(v, 2).replace(/\.0(?= )/, '');
/* Of eight; negative is none. */
const shade = x => 's' + (known(x) ? [0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75].filter(t => x >= t).length : 0);
