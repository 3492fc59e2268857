/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The page: what was found, in words, tables and pictures, each group drawn when it is opened. */
const PRINT_GROUPS = 40; /* drawn in print at most */
const WIDTH_PRINT = 700; /* of an A4 page less its margins, in CSS pixels */
const doc = JSON.parse(document.getElementById('document').textContent);
let printing = false,
	made = 0;

const groups = []; /* {g, details, body, width drawn at or 0} */
function draw(one, w) {
	if (one.width === w) return;
	one.width = w;
	drawGroup(one.g, one.body, w);
}
const widthFull = () =>
	printing ? WIDTH_PRINT : Math.max(600, Math.min(1132, document.getElementById('main').clientWidth));
const widthNow = () => (printing ? WIDTH_PRINT : widthFull() - 36);
/* What is drawn once, and again when the width changes. */
const pictures = [];
function sized(make) {
	const one = { spot: h('div'), make };
	pictures.push(one);
	put(one.spot, [make(widthFull())]);
	return one.spot;
}
function redraw() {
	for (const one of pictures) put((one.spot.replaceChildren(), one.spot), [one.make(widthFull())]);
}
function groupEntry(t, g) {
	const body = h('div.body'),
		details = h(
			'details.group',
			{ id: 'g' + made++ },
			groupSummary(g),
			body
		);
	const one = {
		g,
		t,
		details,
		body,
		width: 0,
		words: (
			text(t.type) +
			' ' +
			text(g.problem) +
			' ' +
			text(g.group) +
			' ' +
			list(g.path).join(' ')
		).toLowerCase()
	};
	details.addEventListener('toggle', () => details.open && draw(one, widthNow()));
	groups.push(one);
	return details;
}
function reveal(id) {
	const d = document.getElementById(id);
	if (d && d.tagName === 'DETAILS') {
		d.open = true;
		draw(
			groups.find(o => o.details === d),
			widthNow()
		);
		d.scrollIntoView({ block: 'start' });
	}
}
function linkTo(one, ...kids) {
	if (!one) return kids;
	const a = h('a', { href: '#' + one.details.id }, kids);
	a.addEventListener('click', ev => {
		ev.preventDefault();
		history.replaceState(null, '', '#' + one.details.id);
		reveal(one.details.id);
	});
	return a;
}
/* The services that it asks, and the edge that carries most. */
function groupWords(t, g, n) {
	const all = services(g),
		asked = all.length > 1 && all[0] === t.service ? all.slice(1) : all,
		e = top(g);
	if (asked.length > 1 && asked[asked.length - 1] === t.service) asked.pop();
	const way = fits(asked.join(' → '), e ? Math.floor(n * 0.45) : n);
	return e ? way + ' · ' + between(e.from, e.to, n - way.length - 3) : way;
}
function overview(t, w) {
	const all = things(t.groups).filter(g => known(g.p50_ms) && known(g.p99_ms)),
		shown = all.slice(0, 30),
		RH = 20;
	if (shown.length === 0) return null;
	const L = Math.round(w * 0.42),
		H = shown.length * RH + 30,
		B = H - 22,
		low = Math.min(...shown.map(g => Math.max(1e-6, g.p50_ms))) / 1.6,
		high = Math.max(...shown.map(g => Math.max(g.p99_ms, g.mean_ms || 0))) * 1.15;
	const x = log(low, Math.max(high, low * 2), L, w - 84, 8),
		most = Math.max(...shown.map(g => g.count || 0)) || 1;
	const kids = [
		xAxis(x, 2, B, msTick),
		known(t.slow_ms) && t.slow_ms >= low && t.slow_ms <= high
			? [
					line('mark', x.at(t.slow_ms), 2, x.at(t.slow_ms), B),
					s('title', {}, 'slow: beyond ' + ms(t.slow_ms))
				]
			: null
	];
	shown.forEach((g, n) => {
		const y = 4 + n * RH + RH / 2,
			about =
				text(g.problem) +
				', ' +
				count(g.count) +
				' requests: mean ' +
				ms(g.mean_ms) +
				', p50 ' +
				ms(g.p50_ms) +
				', p95 ' +
				ms(g.p95_ms) +
				', p99 ' +
				ms(g.p99_ms);
		const kind = /^(unpredictable|slow|unsure)$/.test(g.problem) ? g.problem : 'none',
			one = groups.find(o => o.g === g);
		const hit = s(
			'rect',
			{ class: 'hit', x: 0, y: y - RH / 2, width: w, height: RH },
			s('title', {}, about)
		);
		hit.addEventListener('click', () => reveal(one.details.id));
		kids.push(
			words('', 0, y + 4, groupWords(t, g, Math.floor((L - 14) / 6.2 - 1))),
			line('thin', x.at(g.p50_ms), y, x.at(g.p99_ms), y),
			rect(
				'fill-' + kind + ' fade',
				x.at(g.p50_ms),
				y - 3.5,
				Math.max(1.5, x.at(g.p95_ms) - x.at(g.p50_ms)),
				7
			),
			line('whisk', x.at(g.p99_ms), y - 4, x.at(g.p99_ms), y + 4),
			s('circle', {
				class: 'dot fill-' + kind,
				cx: x.at(g.mean_ms),
				cy: y,
				r: 2.5 + 5 * Math.sqrt((g.count || 0) / most)
			}),
			words('e t', w - 2, y + 4, count(g.count)),
			hit
		);
	});
	return figure(
		picture(w, H, 'Response times of ' + shown.length + ' groups of ' + text(t.type), kids),
		'Groups of requests by what they cost, dearest first: bar from p50 to p95, line to p99, dot at the mean and as large as the group is; dashed: what is slow for this type; right: requests. Orange: unpredictable; blue: slow; grey: steady or not sure.' +
			(all.length > shown.length
				? ' ' + (all.length - shown.length) + ' more groups are not drawn.'
				: '')
	);
}
/* Calls in the context of their callers: each stands behind the one that it is under. */
function operations(t) {
	const ops = things(t.operations),
		under = new Map(),
		out = [];
	ops.forEach((o, i) => {
		const at = known(o.parent) && o.parent < i ? o.parent : -1;
		under.set(at, (under.get(at) || []).concat(i));
	});
	const visit = (i, depth) => {
		out.push({ o: ops[i], depth });
		(under.get(i) || []).forEach(k => visit(k, Math.min(depth + 1, 12)));
	};
	(under.get(-1) || []).forEach(i => visit(i, 0));
	if (!ops.length) return null;
	const name = r =>
		h('td', '\u2003'.repeat(r.depth), code(r.o.operation), r.o.far ? [' → ', code(r.o.far)] : null);
	const rows = out
		.slice(0, 200)
		.map(r => [
			name(r),
			text(r.o.service),
			count(r.o.traces),
			known(r.o.calls_mean) ? digits(r.o.calls_mean, 3) : '–',
			ms(r.o.self_mean_ms),
			ms(Math.sqrt(r.o.self_variance_ms2)),
			ms(r.o.way_mean_ms)
		]);
	return h(
		'details.more',
		h('summary', ops.length + (ops.length === 1 ? ' operation' : ' operations')),
		table(
			[
				'operation',
				'service',
				'>traces',
				'>calls in each',
				'>own time',
				'>deviation',
				'>way to it'
			],
			rows,
			'Operations'
		),
		out.length > 200 ? h('p.soft.small', out.length - 200 + ' more are left out.') : null
	);
}
function typeSection(t, n) {
	const title = h('h2', { id: 't' + n }, text(t.type), ' ', h('span.soft.small', text(t.service)));
	const entries = things(t.groups).map(g => groupEntry(t, g)),
		o = t.other || {};
	return h(
		'section',
		{ 'aria-labelledby': 't' + n },
		title,
		typeFacts(t),
		sized(w => overview(t, w)),
		sized(w => timesPart(t, w)),
		operations(t),
		entries,
		o.traces > 0
			? h(
					'p.soft.small',
					count(o.traces) +
						' requests' +
						(known(o.mean_ms) ? ' with a mean of ' + ms(o.mean_ms) : '') +
						' found no place in a group.'
				)
			: null
	);
}
function problems() {
	const rows = things(doc.problems).map((p, i) => {
		const one = groups.find(o => o.g.group === p.group && o.t.type === p.type),
			g = one ? one.g : {},
			e = top(g),
			w = g.what_if;
		return [
			p.rank || i + 1,
			[linkTo(one, text(p.type)), h('div.soft.small', route(g))],
			badge(p.problem),
			ms(p.cost_ms),
			pct(g.cv),
			ms(g.p95_ms),
			h(
				'td.edge',
				{ title: edgeWords(e) },
				e ? h('span.mono', between(e.from, e.to, 64)) : '–',
				e ? h('div.soft.small', where(e)) : null
			),
			e ? shareCell(g, e) : '–',
			w && w.then
				? [
						slowly(g) ? 'p95 ' + ms(w.then.p95_ms) : 'CV ' + pct(w.then.cv),
						h(
							'div.soft.small',
							slowly(g)
								? range(w.then.p95_low_ms, w.then.p95_high_ms, ms)
								: range(w.then.cv_low, w.then.cv_high, pct)
						)
					]
				: '–'
		];
	});
	const at = document.getElementById('plain');
	if (rows.length && at)
		at.parentNode.replaceWith(
			table(
				[
					'',
					'type and route',
					'problem',
					'>cost',
					'>CV',
					'>p95',
					'edge',
					'>share',
					'>what if'
				],
				rows,
				'Problems by cost'
			),
			h(
				'p.soft.small',
				'Cost: what all requests of the group waited beyond its median, or, if slow, beyond what is usual for the type. Share: of the variance, or, if slow, of the time. What if: were this edge always at its median.'
			)
		);
}
function head() {
	const src = doc.source || {},
		c = src.counts || {},
		skipped = things(src.skipped),
		o = doc.options || {},
		when = new Date(doc.made);
	const files = list(src.files),
		all = things(doc.types).reduce((n, t) => n + things(t.groups).length, 0);
	const title = src.live
		? 'live traffic'
		: files.length > 3
			? files.length + ' files'
			: files.map(f => text(f).split('/').pop()).join(', ') || 'analysis';
	const el = document.getElementById('head');
	el.replaceChildren(
		h('p.over', 'Hone'),
		h('h1', 'Where the time goes: ' + title),
		h(
			'p.soft',
			isNaN(when) ? '' : when.toISOString().replace('T', ' ').slice(0, 16) + ' UTC',
			doc.hone ? ', Hone ' + text(doc.hone) : ''
		),
		facts([
			['traces', count(c.traces)],
			['spans', count(c.spans)],
			['events', count(c.events)],
			['types', count(things(doc.types).length)],
			['groups', count(all)],
			['problems', count(things(doc.problems).length)],
			c.corrected > 0 && ['clocks corrected', count(c.corrected)],
			c.moved > 0 && ['steps moved', count(c.moved)],
			c.other_groups > 0 && ['without group', count(c.other_groups)],
			c.collisions > 0 && ['collisions', count(c.collisions)],
			c.files_failed > 0 && ['files failed', count(c.files_failed)]
		]),
		files.length > 3
			? h(
					'details.more',
					h('summary', files.length + ' files'),
					h(
						'p.small',
						files.slice(0, 1000).map((f, i) => [i ? ', ' : '', code(f)])
					)
				)
			: '',
		skipped.length
			? h(
					'details.more',
					{ open: skipped.length <= 4 ? '' : null },
					h(
						'summary',
						count(skipped.reduce((n, k) => n + (k.count || 0), 0)) +
							' not used, or not as it was, for ' +
							skipped.length +
							(skipped.length === 1 ? ' reason' : ' reasons')
					),
					table(
						['reason', '>count', 'first at', 'why'],
						skipped.map(k => [
							text(k.reason),
							count(k.count),
							k.file
								? [
										code(k.file),
										known(k.offset)
											? ' byte ' + count(k.offset)
											: ''
									]
								: '–',
							text(k.why)
						]),
						'Skipped'
					)
				)
			: '',
		h(
			'nav',
			{ 'aria-label': 'Contents' },
			h('a', { href: '#problems' }, 'Problems'),
			doc.baseline ? h('a', { href: '#baseline' }, 'Changes') : null,
			things(doc.types).map((t, n) => h('a', { href: '#t' + n }, text(t.type))),
			all > 8 ? filter() : null
		)
	);
	document.title = 'Hone: ' + title;
	return h(
		'p.soft.small',
		[
			known(o.cv_max) && 'CV above ' + pct(o.cv_max),
			known(o.slow_quantile) &&
				'mean above the ' + pct(o.slow_quantile) + ' quantile of the type',
			known(o.traces_min) && 'at least ' + count(o.traces_min) + ' traces',
			known(o.confidence) && 'intervals of ' + pct(o.confidence),
			list(o.ignore).length > 0 && 'meant waits left out: ' + list(o.ignore).map(text).join(', ')
		]
			.filter(Boolean)
			.map((t, i) => (i ? '; ' : 'Asked for: ') + t),
		'.'
	);
}
function filter() {
	const box = h('input', {
		type: 'search',
		class: 'filter',
		placeholder: 'filter groups',
		'aria-label': 'Filter groups by type, problem, label or key'
	});
	box.addEventListener('input', () => {
		const need = box.value.toLowerCase().split(/\s+/).filter(Boolean);
		for (const one of groups)
			one.details.classList.toggle('hide', !need.every(n => one.words.includes(n)));
	});
	return box;
}

/* In print all is open, up to a bound; afterwards all is as before. */
function beforePrint() {
	if (printing) return;
	printing = true;
	redraw();
	const shown = groups.filter(o => !o.details.classList.contains('hide'));
	for (const one of groups) one.was = one.details.open;
	shown.slice(0, PRINT_GROUPS).forEach(one => {
		one.details.open = true;
		draw(one, WIDTH_PRINT);
	});
	shown.slice(PRINT_GROUPS).forEach(one => {
		one.details.open = false;
	});
	const left = shown.length - PRINT_GROUPS;
	document.getElementById('print-note').textContent =
		left > 0
			? 'The first ' +
				PRINT_GROUPS +
				' groups are printed whole; of ' +
				left +
				' more there is the line of figures.'
			: '';
}
function afterPrint() {
	if (!printing) return;
	printing = false;
	redraw();
	for (const one of groups) {
		one.details.open = one.was;
		one.width = one.was ? one.width : 0;
		if (one.was) draw(one, widthNow());
		else one.body.replaceChildren();
	}
}

const main = document.getElementById('main'),
	conditions = head();
const sections = things(doc.types).map(typeSection);
if (doc.baseline) main.append(changes(doc.baseline));
main.append(...sections);
problems();
put(document.getElementById('problems'), [lostIn()]).append(conditions);
main.append(h('p.soft.small.print', { id: 'print-note' }));
addEventListener('beforeprint', beforePrint);
addEventListener('afterprint', afterPrint);
let wait = 0;
addEventListener('resize', () => {
	clearTimeout(wait);
	wait = setTimeout(() => {
		if (printing) return;
		redraw();
		groups.filter(o => o.details.open).forEach(o => draw(o, widthNow()));
	}, 150);
});
const first =
	groups.find(
		o =>
			things(doc.problems)[0] &&
			o.g.group === doc.problems[0].group &&
			o.t.type === doc.problems[0].type
	) || groups[0];
if (location.hash.startsWith('#g')) reveal(location.hash.slice(1));
else if (first) first.details.open = true;
