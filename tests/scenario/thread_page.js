/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs the script of a page of hone analyze --thread, and compares its time lines with the document that it is of:
 * node thread_page.js PAGE.html DOCUMENT.json. Ends with 1, after a word about it, if they differ. */
'use strict';
const fs = require('fs'),
	{ all, drawn } = require('./page_dom.js');

const [page, document] = process.argv.slice(2).map(f => fs.readFileSync(f, 'utf8'));
const threads = JSON.parse(document).threads,
	pictures = all(drawn(page), k => k.tagName === 'SVG' && (k.attributes['aria-label'] || '').startsWith('The critical path'));
const fail = why => {
	console.log(why);
	process.exit(1);
};

if (pictures.length !== threads.length) fail(pictures.length + ' time lines of ' + threads.length + ' threads');
threads.forEach((t, i) => {
	const line = t.path.timeline,
		rects = all(pictures[i], k => k.tagName === 'RECT'),
		total = {};
	if (rects.length !== line.segments.length) fail(rects.length + ' rectangles of ' + line.segments.length + ' segments');
	/* Each state is as wide as it is long, in sum: those too short to be seen have the least width. */
	const end = Math.max(...line.segments.map(v => v[0] + v[1])),
		drawnAt = Math.max(...rects.map(r => Number(r.attributes.x) + Number(r.attributes.width))),
		scale = (drawnAt - Math.min(...rects.map(r => Number(r.attributes.x)))) / end;
	line.segments.forEach((v, k) => {
		const state = line.states[v[3]],
			wide = Number(rects[k].attributes.width);
		if (!rects[k].classList.contains(state)) fail('segment ' + k + ' is no ' + state);
		if (Math.abs(wide - Math.max(v[1] * scale, 0.4)) > 0.02) fail('segment ' + k + ' of ' + v[1] + ' ns is ' + wide + ' wide');
		total[state] = (total[state] || 0) + v[1];
	});
	if (line.left_out === 0)
		for (const s of t.path.states)
			if (Math.abs(total[s.state] / 1e6 - s.ms) > 1e-3) fail(s.state + ': ' + total[s.state] + ' ns, not ' + s.ms + ' ms');
});
console.log(threads.length + ' threads');
