/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs the script of a page on a document tree of its own, and compares the time axis and the flame graphs that it draws
 * with the figures of the document: node page_pictures.js PAGE.html DOCUMENT.json [DIFFERENTIALS]. Prints TAP. */
'use strict';
const fs = require('fs'),
	{ all, drawn } = require('./page_dom.js');

/* ---- what a picture says ---- */

const n = (el, name) => Number(el.attributes[name]);
const title = el => (el.childNodes.find(k => k.tagName === 'TITLE') || { textContent: '' }).textContent;
const of = (svg, c) => all(svg, k => k.classList.contains(c));
const number = t => Number(t.replace(/\u2009/g, ''));
const UNITS = { ns: 1e-6, µs: 1e-3, ms: 1, s: 1e3, min: 6e4, h: 3.6e6 };
function millis(t) {
	const m = /^([-\d.e]+) (ns|µs|ms|s|min|h)$/.exec(t.trim());
	return m ? Number(m[1]) * UNITS[m[2]] : NaN;
}
const near = (a, b, by) => Math.abs(a - b) <= by;
/* As printed with three digits. */
const printed = (a, b) => near(a, b, 0.006 * Math.abs(b) + 1e-9);

let tests = 0,
	failed = 0;
function check(what, wrong) {
	if (wrong) failed++;
	console.log((wrong ? 'not ok ' : 'ok ') + ++tests + ' - ' + what + (wrong ? '\n# ' + wrong : ''));
}
/* The first complaint about one of them; '' if there is none. */
const each = (items, f) => items.reduce((wrong, x, i) => wrong || f(x, i) || '', '');

/* ---- the time axis ---- */

function timeAxis(svg, t) {
	const bins = t.times.bins,
		bars = of(svg, 'dim'),
		lost = of(svg, 'fill-unpredictable'),
		hits = of(svg, 'hit'),
		most = Math.max(...bins.map(b => b[0])),
		full = Math.max(...bars.map(b => n(b, 'height'))),
		floor = n(bars[0], 'y') + n(bars[0], 'height');
	check(
		t.type + ': each bin of time has its requests and those of problems as heights on one scale',
		bars.length !== bins.length || lost.length !== bins.length
			? 'bars of ' + bars.length + ' of ' + bins.length + ' bins'
			: each(bins, (b, i) =>
					!near(n(bars[i], 'height'), (full * b[0]) / most, 0.02) ||
					!near(n(lost[i], 'height'), (full * b[2]) / most, 0.02) ||
					!near(n(bars[i], 'y') + n(bars[i], 'height'), floor, 0.02)
						? 'bin ' + i + ' of ' + b + ': ' + n(bars[i], 'height') + ' and ' + n(lost[i], 'height')
						: ''
				)
	);
	check(
		t.type + ': the words of each bin are its figures and its time',
		each(bins, (b, i) => {
			const m = /^(.*) UTC: (.*) requests, mean (.*), (.*) in groups/.exec(title(hits[i])),
				at = new Date(Date.parse(t.times.from) + i * t.times.width_s * 1000).toISOString();
			return m &&
				m[1] === at.replace('T', ' ').slice(0, 19) &&
				number(m[2]) === b[0] &&
				number(m[4]) === b[2] &&
				(b[1] === null ? m[3] === '–' : printed(millis(m[3]), b[1]))
				? ''
				: 'bin ' + i + ' of ' + b + ' at ' + at + ': ' + title(hits[i]);
		})
	);
	check(
		t.type + ': the bins have all requests of the type',
		bins.reduce((sum, b) => sum + b[0], 0) === t.count ? '' : 'not ' + t.count
	);
	/* points of the line: at the middle of their bins, higher by their means on one scale */
	const points = of(svg, 'curve')[0].attributes.d.match(/[ML][\d.]+ [\d.]+/g).map(p => p.slice(1).split(' ').map(Number)),
		seen = bins.map((b, i) => [i, b[1]]).filter(b => b[1] !== null),
		high = seen.reduce((a, b) => (b[1] > a[1] ? b : a)),
		low = seen.reduce((a, b) => (b[1] < a[1] ? b : a)),
		yOf = bin => points[seen.indexOf(bin)][1],
		scale = (yOf(low) - yOf(high)) / (high[1] - low[1] || 1);
	check(
		t.type + ': the line has the mean response time of each bin that has one',
		points.length !== seen.length
			? points.length + ' points of ' + seen.length
			: high[1] > low[1] && !(scale > 0)
				? 'the longest mean is not the highest point'
				: each(seen, (b, i) => {
						const x = n(hits[b[0]], 'x') + n(hits[b[0]], 'width') / 2;
						return near(points[i][0], x, 0.11) && near(points[i][1], yOf(high) + (high[1] - b[1]) * scale, 0.16)
							? ''
							: 'bin ' + b + ': ' + points[i];
					})
	);
}

/* ---- the flame graphs ---- */

const sum = (edges, what) => edges.reduce((all, e) => all + e.tail[what], 0);
const tellsTime = e => e.tail && Number.isFinite(e.tail.slow_ms) && Number.isFinite(e.tail.usual_ms);

/* The boxes of one of the two graphs, by row. */
function flame(svg, above, below) {
	const boxes = of(svg, 'rim').filter(b => n(b, 'y') > above && n(b, 'y') < below),
		rows = [...new Set(boxes.map(b => n(b, 'y')))].sort((a, b) => a - b);
	return rows.map(y => boxes.filter(b => n(b, 'y') === y));
}
function flameGraphs(svg, name, g) {
	const edges = g.edges.filter(tellsTime),
		total = { usual: sum(edges, 'usual_ms'), slow: sum(edges, 'slow_ms') },
		heads = all(svg, k => k.tagName === 'TEXT' && k.classList.contains('b')),
		below = n(heads[1], 'y'),
		scale = (n(svg, 'width') - 2) / Math.max(total.usual, total.slow),
		graphs = { usual: flame(svg, 0, below), slow: flame(svg, below, Infinity) },
		said = /^slowest (.*): (.*)$/.exec(heads[1].textContent);
	check(
		name + ': both totals are the sums of the edges',
		printed(millis(heads[0].textContent.replace('usual: ', '')), total.usual) &&
			said && number(said[1]) === g.tail.slow && printed(millis(said[2]), total.slow)
			? ''
			: heads.map(t => t.textContent) + ' of ' + JSON.stringify(total)
	);
	for (const what of ['usual', 'slow']) {
		const rows = graphs[what];
		check(
			name + ', ' + what + ': each box is as wide as the time in its words, to one scale',
			rows.length === 0
				? 'no boxes'
				: each(rows.flat(), b => {
						const m = /: (.*) usually, (.*) in the slowest$/.exec(title(b)),
							time = m && millis(m[what === 'usual' ? 1 : 2]);
						return m && near(n(b, 'width') + 0.5, time * scale, 0.006 * time * scale + 0.02)
							? ''
							: title(b) + ': ' + n(b, 'width');
					})
		);
		check(
			name + ', ' + what + ': what is called lies within its caller, side by side',
			each(rows, (row, d) =>
				each(row, (b, i) => {
					const end = n(b, 'x') + n(b, 'width');
					if (i > 0 && n(b, 'x') < n(row[i - 1], 'x') + n(row[i - 1], 'width')) return title(b) + ' overlaps';
					return d === 0 || rows[d - 1].some(c => n(b, 'x') >= n(c, 'x') - 0.02 && end <= n(c, 'x') + n(c, 'width') + 0.02)
						? ''
						: title(b) + ' is in no caller';
				})
			)
		);
	}
	/* Time in a unit is of that call, or of what it calls. */
	const request = graphs.slow[0][0],
		m = /: (.*) usually, (.*) in the slowest$/.exec(title(request));
	check(
		name + ': all times of the path are within the request',
		graphs.slow[0].length === 1 && m && printed(millis(m[1]), total.usual) && printed(millis(m[2]), total.slow)
			? ''
			: graphs.slow[0].map(title).join('; ')
	);
}
function ownTimes(body, name, g) {
	const table = all(body, k => k.attributes['aria-label'] === 'Own times of calls in usual and in the slowest requests' ||
			all(k, c => c.tagName === 'CAPTION' && /^Own times of calls/.test(c.textContent)).length > 0)
		.filter(k => k.tagName === 'TABLE')[0],
		rows = all(table, k => k.tagName === 'TR')
			.map(tr => tr.childNodes.filter(k => k.tagName === 'TD' || k.tagName === 'TH').map(k => k.textContent))
			.filter(r => r.length === 5 && !isNaN(millis(r[3]))),
		edges = g.edges.filter(tellsTime),
		owners = [...new Set(edges.filter(e => e.owner).map(e => e.owner))];
	check(
		name + ': the own times of all calls add up to the request',
		rows.length >= 12 || (printed(rows.reduce((a, r) => a + millis(r[3]), 0), sum(edges, 'slow_ms')) &&
			printed(rows.reduce((a, r) => a + millis(r[2]), 0), sum(edges, 'usual_ms')))
			? ''
			: JSON.stringify(rows)
	);
	check(
		name + ': the own time of a call that calls nothing is that of its edges',
		each(owners, o => {
			const called = new RegExp('^' + o.split('/')[0].replace(/[^\w]/g, '\\$&') + '$'),
				short = /\((.*)\)$/.exec(o),
				mine = edges.filter(e => e.owner === o),
				calls = edges.some(e => e.from.startsWith(o.split('/')[0] + '/hone:fork') || !e.owner && g.steps.some(s => s.unit === o && s.label === e.from)),
				row = rows.find(r => called.test(r[0]) && short && r[1] === short[1]);
			if (calls || !row) return '';
			return printed(millis(row[3]), sum(mine, 'slow_ms')) && printed(millis(row[2]), sum(mine, 'usual_ms'))
				? ''
				: o + ': ' + row + ' of ' + sum(mine, 'usual_ms') + ', ' + sum(mine, 'slow_ms');
		})
	);
}

/* ---- the differential flame graphs ---- */

const event = label => label.replace(/^.*:/, '');
function belowGraphs(entry, name, e) {
	const b = e.below,
		svg = all(entry, k => k.tagName === 'SVG' && /^Differential flame graphs/.test(k.attributes['aria-label']))[0],
		table = all(entry, k => k.tagName === 'TABLE' && /^States and functions/.test(k.attributes['aria-label']))[0];
	if (!svg || !table) return check(name + ': an edge with `below` has its pictures', 'there is none');
	check(
		name + ': it has the edge, the requests and the diagnosis of `below`',
		all(entry, k => k.tagName === 'H3' && k.textContent === 'Below the tracepoints of ' + event(b.from) + ' → ' + event(b.to)).length === 1 &&
			entry.textContent.includes('the ' + b.slow + ' slowest of ' + (b.slow + b.usual) + ' requests, from ') &&
			entry.textContent.includes('of diagnosis ' + b.run + '.')
			? ''
			: all(entry, k => k.tagName === 'H3').map(k => k.textContent).join('; ')
	);
	const root = b.stacks[0],
		scale = (n(svg, 'width') - 2) / Math.max(root.slow_ms, root.usual_ms),
		heads = all(svg, k => k.tagName === 'TEXT' && k.classList.contains('b')),
		floor = n(heads[1], 'y'),
		drawnOf = { usual: flame(svg, 0, floor), slow: flame(svg, floor, Infinity) };
	check(
		name + ': both totals are those of the root, with their requests',
		heads[0].textContent.startsWith('usual ' + b.usual + ': ') && printed(millis(heads[0].textContent.split(': ')[1]), root.usual_ms) &&
			heads[1].textContent.startsWith('slow ' + b.slow + ': ') && printed(millis(heads[1].textContent.split(': ')[1]), root.slow_ms)
			? ''
			: heads.map(t => t.textContent).join('; ')
	);
	for (const what of ['usual', 'slow']) {
		const wide = b.stacks.slice(1).filter(x => x[what + '_ms'] * scale >= 0.5),
			boxes = drawnOf[what].flat();
		check(
			name + ', ' + what + ': each entry of a stack has a box as wide as its time',
			boxes.length !== wide.length
				? boxes.length + ' boxes of ' + wide.length
				: each(wide, x =>
						boxes.some(
							k =>
								title(k).startsWith(x.entry + ': ') && near(n(k, 'width') + 0.5, x[what + '_ms'] * scale, 0.02) &&
								n(k, 'y') === drawnOf[what][depthOf(b.stacks, x) - 1].map(y => n(y, 'y'))[0]
						)
							? ''
							: x.entry
					)
		);
	}
	const less = of(svg, 'less').map(title);
	check(
		name + ': only what slow requests have less of is green',
		each(b.stacks.slice(1), x => {
			const rise = (x.slow_ms - x.usual_ms) / (root.slow_ms - root.usual_ms),
				green = less.some(t => t.startsWith(x.entry + ': '));
			return green === rise <= -0.02 ? '' : x.entry + ' rises by ' + rise;
		})
	);
	const rows = all(table, k => k.tagName === 'TR')
		.map(tr => tr.childNodes.filter(k => k.tagName === 'TD').map(k => k.textContent))
		.filter(r => r.length === 9);
	check(
		name + ': the table has the states and functions with their figures',
		rows.length !== b.items.length
			? rows.length + ' rows of ' + b.items.length
			: each(b.items, (x, i) =>
					rows[i][0] === x.name && printed(millis(rows[i][2]), x.usual_ms) && printed(millis(rows[i][3]), x.slow_ms) &&
					printed(millis(rows[i][4].replace(/^[+−]/, '')), Math.abs(x.slow_ms - x.usual_ms)) &&
					/^[+]/.test(rows[i][4]) === x.slow_ms > x.usual_ms && rows[i][7] === x.slow + ' of ' + b.slow
						? ''
						: rows[i].join(' | ')
				)
	);
}
const depthOf = (stacks, x) => (x.parent === null ? 0 : 1 + depthOf(stacks, stacks[x.parent]));

/* ---- all pictures of the page ---- */

const [, , pagePath, documentPath, wanted] = process.argv,
	doc = JSON.parse(fs.readFileSync(documentPath, 'utf8')),
	body = drawn(fs.readFileSync(pagePath, 'utf8')),
	svgs = all(body, k => k.tagName === 'SVG');
let axes = 0,
	flames = 0,
	belows = 0;
for (const t of doc.types) {
	if (t.times && t.times.bins.length >= 2) {
		const about = 'Requests and mean response times of ' + t.type + ' by time',
			svg = svgs.filter(p => p.attributes['aria-label'] === about)[0];
		axes++;
		if (svg) timeAxis(svg, t);
		else check(about, 'there is no such picture');
	}
	for (const g of t.groups) {
		const entry = all(body, k => k.tagName === 'DETAILS' && all(k, c => c.tagName === 'CODE' && c.textContent === g.group).length > 0)[0],
			svg = entry && all(entry, k => k.tagName === 'SVG' && /^Flame graphs/.test(k.attributes['aria-label']))[0];
		if (entry)
			for (const e of g.edges.filter(e => e.below)) {
				belows++;
				belowGraphs(entry, t.type + ' ' + g.group.slice(0, 8), e);
			}
		if (!svg) continue;
		flames++;
		flameGraphs(svg, t.type + ' ' + g.group.slice(0, 8), g);
		ownTimes(entry, t.type + ' ' + g.group.slice(0, 8), g);
	}
}
check('the page has a time axis and a flame graph', axes > 0 && flames > 0 ? '' : axes + ' and ' + flames);
if (wanted !== undefined) check('it has ' + wanted + ' differential flame graphs', belows === +wanted ? '' : String(belows));
console.log('1..' + tests);
process.exit(failed > 0 ? 1 : 0);
