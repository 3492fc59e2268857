/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs the script of a page of hone analyze --baseline with a baseline of states, and compares it with its document:
 * node states_page.js PAGE.html DOCUMENT.json. Ends with 1, after a word about it, if they differ. */
'use strict';
const fs = require('fs'),
	{ all, drawn } = require('./page_dom.js');

const [page, document] = process.argv.slice(2).map(f => fs.readFileSync(f, 'utf8'));
const findings = JSON.parse(document).operations.flatMap(o => o.findings.map(f => ({ f, same: o.findings.filter(x => x.measure === f.measure) })));
const pictures = all(drawn(page), k => k.tagName === 'SVG');
const fail = why => {
	console.log(why);
	process.exit(1);
};

if (findings.length === 0 || pictures.length !== findings.length) fail(pictures.length + ' pictures of ' + findings.length + ' findings');
findings.forEach(({ f, same }, i) => {
	const [usual, now] = all(pictures[i], k => k.tagName === 'RECT'),
		most = Math.max(...same.map(x => Math.max(x.usual, x.mean)));
	for (const [bar, value] of [[usual, f.usual], [now, f.mean]]) {
		if (!bar.classList.contains(f.state)) fail('finding ' + i + ' is no ' + f.state);
		if (Math.abs(Number(bar.attributes.width) - (260 * value) / most) > 0.01) fail('finding ' + i + ': ' + value + ' of ' + most + ' is ' + bar.attributes.width + ' wide');
	}
});
console.log(findings.length + ' findings');
