/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Time series, and heat maps of them: what the page has seen since it was opened, drawn by uPlot, which is loaded when there is something to draw. A view says where a
 * chart is and what it shows (chartFigure(), spark()); drawCharts() draws those that are in sight. Beside each there is a table, and the
 * arrow keys read a chart's values.
 */

const SERIES = 180; /* points of a series */
/* columns: { name: number, or anything else for no value } */
function remember(name, columns) {
	const one = seen.get(name) || { at: [], of: {} };
	one.at.push(Date.now() / 1000);
	for (const c in columns) (one.of[c] = one.of[c] || one.at.slice(1).map(() => null)).push(known(columns[c]) ? columns[c] : null);
	if (one.at.length > SERIES) {
		one.at.shift();
		for (const c in one.of) one.of[c].shift();
	}
	seen.set(name, one);
}

/* ---- what a view says ---- */

const DASHES = [null, [7, 3], [2, 3], [9, 3, 2, 3]];
const INKS = ['--accent', '--second', '--good', '--bad'];
const clock = at => new Date(at * 1000).toTimeString().slice(0, 8);
/* A chart is a slider over its times, to which screen readers leave the arrow keys, and whose value they say. */
const readings = new Map(); /* by id: { at: s since 1970, words } */
function readingOf(id, s) {
	if (uplot === 'missing') return { role: 'img' };
	const r = readings.get(id) || { at: 0, words: 'no value is read yet' };
	return { role: 'slider', 'aria-valuemin': Math.floor(s.at[0]), 'aria-valuemax': Math.ceil(last(s.at)), 'aria-valuenow': Math.round(Math.max(r.at, s.at[0])), 'aria-valuetext': r.words };
}
const TABLE_ROWS = 20;
/* lines: [[column, what it is]]; least: what the scale reaches at least */
function chartFigure(name, title, lines, fmt, least) {
	const id = 'chart ' + name + ' ' + title,
		s = series(name);
	if (s.at.length < 2) return h('p.soft.small', { 'data-key': id }, title + ': from now on.');
	specs.set(id, { name, lines, fmt, small: false, least });
	const rows = s.at.map((at, i) => [clock(at), ...lines.map(l => (known(list(s.of[l[0]])[i]) ? fmt(s.of[l[0]][i]) : '–'))]).reverse();
	return h(
		'figure.over-time',
		{ 'data-key': id },
		h('figcaption', h('b', title), lines.length > 1 ? lines.map((l, i) => h('span.line' + i, l[1])) : null),
		h('div.chart', { 'data-own': '', 'data-key': id, tabindex: 0, ...readingOf(id, s), 'aria-label': title + ' in the last ' + Math.round(last(s.at) - s.at[0]) + ' s: ' + lines.map(l => lineWords(s, l, fmt)).join('; ') + '. Arrow keys read it.' }),
		h('p.read.small', { 'data-own': '', 'data-key': 'read', 'aria-hidden': 'true' }),
		h('details.more', { 'data-key': 'table' }, h('summary', 'The same as a table'), table(['time', ...lines.map(l => '>' + l[1])], rows.slice(0, TABLE_ROWS), title))
	);
}

/* ---- drawing ---- */

const drawn = new Map(), /* by element: { plot or canvas, width, until: what it has } */
	visible = new Set();
let uplot = 'unasked'; /* then asked, here, or missing */
const sight = new IntersectionObserver(changes => {
	for (const c of changes) {
		if (c.isIntersecting) visible.add(c.target);
		else visible.delete(c.target);
	}
	drawCharts();
});
function loadCharts() {
	if (uplot !== 'unasked') return;
	uplot = 'asked';
	const script = h('script', { src: 'uplot.js' });
	script.onload = script.onerror = () => {
		uplot = window.uPlot ? 'here' : 'missing';
		drawCharts();
	};
	document.head.append(script);
}
const inks = new Map(); /* colours of the page, by their names in its style */
function ink(name) {
	if (!inks.has(name)) inks.set(name, getComputedStyle(document.documentElement).getPropertyValue(name).trim());
	return inks.get(name);
}
function chartOptions(el, spec, width) {
	const axis = { stroke: ink('--soft'), font: '12px system-ui, sans-serif', grid: { stroke: ink('--faint'), width: 1 }, ticks: { stroke: ink('--line'), width: 1, size: 4 } };
	return {
		width,
		height: spec.small ? 20 : 170,
		padding: spec.small ? [2, 0, 2, 0] : [8, 12, 0, 0],
		legend: { show: false },
		cursor: spec.small ? { show: false } : { y: false, drag: { x: false, y: false } },
		scales: { y: { range: (u, low, high) => [0, Math.max(spec.least || 0, (high > 0 ? high : spec.least || 1) * 1.05)] } },
		axes: spec.small
			? [{ show: false }, { show: false }]
			: [
					{ ...axis, space: 70, values: (u, v) => v.map(clock) },
					{ ...axis, size: 66, values: (u, v) => v.map(spec.fmt) }
				],
		series: [{}, ...spec.lines.map((l, i) => ({ label: l[1], stroke: ink(INKS[i % INKS.length]), width: spec.small ? 1.3 : 1.7, dash: DASHES[i % DASHES.length], points: { show: false } }))],
		hooks: { setCursor: [u => u.cursor.event && readChart(el, spec, u.cursor.idx)] }
	};
}
function readChart(el, spec, i) {
	const out = el.parentNode && el.parentNode.querySelector('.read'),
		s = series(spec.name);
	if (spec.small || !out || !known(i) || !known(s.at[i])) return;
	const words = clock(s.at[i]) + ': ' + spec.lines.map(l => (spec.lines.length > 1 ? l[1] + ' ' : '') + (known(list(s.of[l[0]])[i]) ? spec.fmt(s.of[l[0]][i]) : 'no value')).join(', '),
		id = el.getAttribute('data-key');
	out.textContent = words;
	readings.set(id, { at: s.at[i], words });
	const now = readingOf(id, s);
	for (const a in now) el.setAttribute(a, now[a]);
}
const SPARK_PX = 96,
	widths = new Map(); /* by element, of those that are not small: asking for it would lay out the page at once */
const sizes = new ResizeObserver(changes => {
	for (const c of changes) widths.set(c.target, Math.floor(c.contentRect.width));
	drawCharts();
});
function drawChart(el, spec) {
	const width = spec.small ? SPARK_PX : widths.get(el) || 0,
		s = series(spec.name);
	if (s.at.length < 2 || width < 20) return;
	let one = drawn.get(el);
	if (one && one.width !== width) {
		one.plot.destroy();
		drawn.delete(el);
		one = null;
	}
	if (one && one.until === last(s.at)) return;
	const data = [s.at, ...spec.lines.map(l => s.of[l[0]] || s.at.map(() => null))];
	if (one) {
		const read = readings.get(el.getAttribute('data-key'));
		one.plot.setData(data);
		if (read && !one.plot.cursor.event) one.plot.setCursor({ left: one.plot.valToPos(read.at, 'x'), top: 0 });
	} else {
		drawn.set(el, (one = { plot: new uPlot(chartOptions(el, spec, width), data, el), width }));
		one.plot.root.setAttribute('aria-hidden', 'true'); // the element around it has the words
	}
	one.until = last(s.at);
}
const HEAT = { w: 200, h: 62, left: 44 };
/* A column for each state, the newest at the right; faster below; darker is more. */
function drawHeat(el, one) {
	const was = drawn.get(el),
		{ w, h: H, left } = HEAT,
		scale = devicePixelRatio || 1;
	if ((was && was.until === one.version) || !one.extent) return;
	const canvas = was ? was.canvas : h('canvas', { 'aria-hidden': 'true', width: Math.round(w * scale), height: Math.round(H * scale) }),
		c = canvas.getContext('2d'),
		{ low, high, most } = one.extent,
		cw = (w - left) / COLUMNS,
		ch = (H - 4) / (high - low + 1);
	if (!was) el.replaceChildren(canvas);
	drawn.set(el, { canvas, until: one.version });
	c.setTransform(scale, 0, 0, scale, 0, 0);
	c.clearRect(0, 0, w, H);
	c.fillStyle = ink('--faint');
	c.fillRect(left, 2, w - left, H - 4);
	one.all.forEach((cells, n) => {
		for (let i = low; i <= high; i++)
			if (cells[i] > 0) {
				c.fillStyle = ink('--s' + (1 + Math.round((6 * Math.log(cells[i])) / Math.log(most))));
				c.fillRect(left + (COLUMNS - one.all.length + n) * cw, 2 + (high - i) * ch, cw + 0.3, ch + 0.3);
			}
	});
	c.fillStyle = ink('--soft');
	c.font = '11px system-ui, sans-serif';
	c.textAlign = 'right';
	c.fillText(boundOf(one, high), left - 4, 11);
	c.fillText(boundOf(one, low - 1), left - 4, H - 2);
}
const OWN = '.chart, .heat';
function drop(el) {
	const one = drawn.get(el);
	if (one && one.plot) one.plot.destroy();
	drawn.delete(el);
}
function forgetGone() {
	for (const el of drawn.keys()) if (!el.isConnected) drop(el);
	for (const el of visible)
		if (!el.isConnected) {
			sight.unobserve(el);
			sizes.unobserve(el);
			widths.delete(el);
			visible.delete(el);
		}
}
/* Observing an element twice is nothing. Called once what a view said is in the document: specs of anything else are forgotten. */
function drawCharts() {
	const used = new Set();
	forgetGone();
	for (const el of document.querySelectorAll(OWN)) {
		const key = el.getAttribute('data-key'),
			spec = specs.get(key);
		if (!spec) continue;
		used.add(key);
		if (!spec.heat && uplot === 'unasked') loadCharts();
		sight.observe(el);
		if (!spec.heat && !spec.small) sizes.observe(el);
		if (!visible.has(el)) continue;
		if (spec.heat) drawHeat(el, spec.heat);
		else if (uplot === 'here') drawChart(el, spec);
		else if (uplot === 'missing' && !spec.small) el.textContent = 'This honed was built without uPlot; the table has the values.';
	}
	for (const key of specs.keys()) {
		if (used.has(key)) continue;
		specs.delete(key);
		readings.delete(key);
	}
}
function drawAnew() {
	inks.clear();
	for (const el of [...drawn.keys()]) {
		if (drawn.get(el).canvas) el.replaceChildren();
		drop(el);
	}
	drawCharts();
}
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawAnew);
document.addEventListener('keydown', ev => {
	const one = drawn.get(ev.target),
		steps = { ArrowLeft: -1, ArrowRight: 1, Home: -SERIES, End: SERIES };
	if (!one || !one.plot || !(ev.key in steps)) return;
	ev.preventDefault();
	/* from the time that was read, which new values have moved */
	const at = one.plot.data[0],
		read = readings.get(ev.target.getAttribute('data-key')),
		from = read ? at.findLastIndex(a => a <= read.at) : at.length,
		i = Math.max(0, Math.min(at.length - 1, from + steps[ev.key]));
	one.plot.cursor.event = null; /* of the mouse, which has had its say */
	one.plot.setCursor({ left: one.plot.valToPos(at[i], 'x'), top: 0 });
	readChart(ev.target, specs.get(ev.target.getAttribute('data-key')), i);
});
