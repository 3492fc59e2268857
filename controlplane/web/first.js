/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The first view: drawn from the states that the document has, before anything else is loaded. Once it is painted the other script (live.js and what is
 * put before it) is asked for, which has the other views and goes on with what is drawn. It uses the names of this one, which are in no block therefore.
 */

const first = JSON.parse(document.getElementById('first').textContent),
	main = document.getElementById('main'),
	views = [
		['types', 'Types'],
		['forest', 'Forest'],
		['nodes', 'Nodes'],
		['alerts', 'Alerts'],
		['audit', 'Audit']
	];
const ENDED = 'the session has ended: run hone web, and open the link that it prints';
let shown = null; /* the view that is drawn, as in the address */
function place() {
	const hash = location.hash.slice(1) || 'types',
		[name, ...rest] = hash.split('/');
	let of = rest.join('/');
	try {
		of = decodeURIComponent(of);
	} catch (bad) {
		of = '';
	}
	return { name, of, hash };
}
function menu() {
	const { name } = place(),
		firing = things((live.alerts || {}).alerts).filter(a => !a.ended).length,
		active = things((live.forest || {}).runs).filter(r => r.state === 'active').length,
		notes = { alerts: firing, forest: active },
		now = views.some(v => v[0] === name) ? name : 'types'; /* it is above that of one type, too */
	return h(
		'nav',
		{ id: 'views', 'aria-label': 'Views' },
		views.map(v => h('a', { href: '#' + v[0], 'aria-current': v[0] === now ? 'page' : null }, v[1], notes[v[0]] ? h('span', { class: v[0] === 'alerts' ? 'alert' : 'active' }, ' ' + notes[v[0]]) : null)),
		h('form.act.filter', { 'data-act': 'leave' }, h('button', { type: 'submit' }, 'End the session'))
	);
}
function state(c, t) {
	const at = document.getElementById('state');
	if (at.textContent === t) return;
	at.className = c;
	at.textContent = t;
}
/* Takes a state, and what views look up in it. */
function know(topic, data) {
	live[topic] = data;
	if (topic === 'status') {
		indexOf(topic, data.types);
		names.clear();
		for (const t of things(data.types)) names.set(text(t.type), (names.get(text(t.type)) || 0) + 1);
	}
	if (topic === 'times') indexOf(topic, data.types);
	if (topic === 'alerts') indexOf(topic, data.watched);
}
function loadRest() {
	/* The link that opened the page is used up; what the page asks for is below the place of its session. */
	if (first.place) history.replaceState(null, '', first.place + location.hash);
	delete first.place;
	const script = h('script', { src: 'live.js' });
	script.onerror = async () => {
		script.remove();
		const r = await fetch('session').catch(() => null);
		if (r && (r.status === 401 || r.status === 403)) return state('off', ENDED);
		state('off', 'honed was not reached; it is tried again');
		setTimeout(loadRest, 2000);
	};
	document.head.append(script);
}
/* Until the other script is there, which takes what forms say, they do nothing. */
document.addEventListener('submit', ev => ev.preventDefault());

const me = first.session || {};
may.diagnose = me.role === 'diagnose';
document.getElementById('who').textContent = text(me.user) + (may.diagnose ? '' : ', may only look') + '; Hone ' + text(me.version);
for (const [topic, , data] of first.states.slice(1)) know(topic, data);
document.getElementById('views').replaceWith(menu());
const ABOVE_PX = 165,
	ROW_PX = may.diagnose ? 58 : 50; /* what is above the rows, and a row, are at least as high */
if (place().name === 'types' && live.status) {
	shown = 'types';
	document.title = 'Hone: Types';
	put(main, typesView(Math.min(TYPES_SHOWN, Math.max(4, Math.ceil((outerHeight - ABOVE_PX) / ROW_PX))))); /* innerHeight would lay the empty page out */
	/* In the second frame the first one is painted. A tab that nobody sees has no frames. */
	if (document.hidden) loadRest();
	else requestAnimationFrame(() => requestAnimationFrame(loadRest));
} else {
	loadRest();
}
