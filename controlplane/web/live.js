/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The live page: what honed says by server-sent events, the view that the address names, and what is asked for by forms. */

let printing = false, /* group.js and page.js have one of their own */
	doc = {};
const ids = {}; /* of the newest states */

/* ---- the document follows what is new, so that focus, open parts and what was entered stay ---- */

const FORM = /^(INPUT|SELECT|TEXTAREA)$/;
function sameNode(a, b) {
	return a.nodeType === b.nodeType && a.nodeName === b.nodeName && (a.nodeType !== 1 || a.getAttribute('data-key') === b.getAttribute('data-key'));
}
function morph(to, from) {
	if (to.nodeType !== 1) {
		if (to.nodeValue !== from.nodeValue) to.nodeValue = from.nodeValue;
		return;
	}
	for (const a of [...to.attributes]) if (!from.hasAttribute(a.name) && a.name !== 'open') to.removeAttribute(a.name);
	for (const a of from.attributes) if (to.getAttribute(a.name) !== a.value && !(FORM.test(to.nodeName) && a.name === 'value')) to.setAttribute(a.name, a.value);
	if (to.hasAttribute('data-own')) return; /* what is inside is somebody else's */
	const keyed = new Map();
	for (const k of to.children) if (k.hasAttribute('data-key')) keyed.set(k.getAttribute('data-key'), k);
	let at = to.firstChild;
	for (const next of [...from.childNodes]) {
		const key = next.nodeType === 1 ? next.getAttribute('data-key') : null,
			old = key !== null ? keyed.get(key) : at;
		if (old && old.parentNode === to && sameNode(old, next)) {
			if (old === at) at = at.nextSibling;
			else to.insertBefore(old, at);
			morph(old, next);
		} else {
			to.insertBefore(next, at);
		}
	}
	while (at) {
		const gone = at;
		at = at.nextSibling;
		gone.remove();
	}
}

/* ---- views ---- */

const viewOf = { types: () => typesView(TYPES_SHOWN), forest: forestView, nodes: nodesView, alerts: alertsView, audit: auditView };
function draw() {
	const { name, of, hash } = place();
	morph(document.getElementById('views'), menu());
	if (name === 'type') {
		if (shown !== hash) typeView(main, of);
		else typeHead();
		shown = hash;
		document.title = 'Hone: ' + of;
		return drawCharts();
	}
	const v = views.find(x => x[0] === name) || views[0];
	if (shown !== v[0]) main.replaceChildren();
	shown = v[0];
	document.title = 'Hone: ' + v[1];
	morph(main, put(h('main', { id: 'main', tabindex: -1 }), [viewOf[v[0]]()]));
	drawCharts();
}
/* States that come one after the other are drawn together. */
const TOGETHER_MS = 100;
let due = 0;
function soon() {
	if (due) return;
	due = setTimeout(() =>
		requestAnimationFrame(() => {
			due = 0;
			draw();
		}), TOGETHER_MS);
}
addEventListener('hashchange', () => {
	draw();
	const title = main.querySelector('h1');
	if (title) title.focus();
	scrollTo(0, 0);
});
/* The address names the view, so this link does not change it. */
document.querySelector('.skip').addEventListener('click', ev => {
	ev.preventDefault();
	main.focus();
});

/* ---- asking ---- */

async function post(path, body) {
	return fetch(path, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
}
async function ask(question) {
	try {
		const r = await post('ask', question);
		if (r.status === 401) ended();
		if ((r.headers.get('Content-Type') || '').startsWith('application/json')) return await r.json();
		return { ok: false, error: await r.text() };
	} catch (lost) {
		return { ok: false, error: 'honed was not reached' };
	}
}
function say(t) {
	const at = document.getElementById('said');
	at.classList.toggle('hide', !t);
	at.textContent = t || '';
}
const acts = {
	async start(form) {
		const q = { ask: 'start', type: form.dataset.type },
			of = n => form.elements.namedItem(n);
		if (of('tail') && of('tail').value) q.tail = +of('tail').value;
		if (of('effort') && of('effort').value) q.effort = +of('effort').value;
		if (of('healthy') && of('healthy').checked) q.healthy = true;
		return q;
	},
	async stop(form) {
		return { ask: 'stop', type: form.dataset.type };
	},
	async learn(form) {
		return { ask: 'learn', seconds: +form.elements.namedItem('seconds').value };
	},
	async again() {
		typeView(main, asked);
	},
	async leave() {
		await post('logout', {});
		ended();
	}
};
document.addEventListener('submit', async ev => {
	ev.preventDefault();
	const act = ev.target.dataset.act,
		button = ev.submitter;
	if (!acts[act]) return;
	if (button) button.disabled = true;
	say('');
	const q = await acts[act](ev.target);
	if (q) {
		const a = await ask(q);
		if (!a.ok) say(text(a.error));
		else if (act === 'start') location.hash = '#forest';
	}
	if (button) button.disabled = false;
});

/* ---- the stream ---- */

let stream = null,
	over = false;
function ended() {
	over = true;
	if (stream) stream.close();
	state('off', ENDED);
}
/* Types and nodes come and go: what is not in the newest state is forgotten. */
function forget(all, prefix, names) {
	const now = new Set(names.map(n => prefix + n));
	for (const k of all.keys()) if (k.startsWith(prefix) && !now.has(k)) all.delete(k);
}
/* For who listens to the page: verdicts, ends of diagnoses and alerts are said when they come, whichever view is shown. */
const told = {}; /* by topic: what its state had, by names */
/* all: [[name, words]]; what the first state has is not news. */
function tell(topic, all) {
	const before = told[topic],
		fresh = before ? all.filter(n => !before.has(n[0])) : [];
	told[topic] = new Set(all.map(n => n[0]));
	if (fresh.length) document.getElementById('news').textContent = fresh.map(n => n[1]).join('. ');
}
const newsOfRun = r => [
	...things(r.verdicts).map(v => [text(r.run) + ' ' + edgeWords(v.edge), 'Verdict of diagnosis ' + text(r.run) + ', ' + text(r.type) + ': ' + verdictSentence(v).textContent]),
	[text(r.run) + ' ' + text(r.state), 'Diagnosis ' + text(r.run) + ' of ' + text(r.type) + ': ' + text(r.state)]
];
const newsOfAlert = a => [text(a.number) + (a.ended ? ' ended' : ''), (a.ended ? 'Alert has ended: ' : 'Alert: ') + text(a.type) + ', ' + alertWords(a)];
/* The page has some states when it is opened; the stream tells them again. */
function take(topic, data, id) {
	if (ids[topic] === id) return;
	ids[topic] = id;
	know(topic, data);
	if (topic === 'times') {
		const types = [...indexes.times.keys()];
		forget(columns, '', types);
		forget(seen, 'type/', types);
		for (const t of things(data.types)) columnOf(t, list(data.up_to_ms));
	}
	if (topic === 'forest') tell(topic, things(data.runs).flatMap(newsOfRun));
	if (topic === 'alerts') tell(topic, things(data.alerts).map(newsOfAlert));
	if (topic === 'agents') {
		forget(seen, 'node/', things(data.agents).map(a => text(a.node)));
		for (const a of things(data.agents)) rememberNode(a);
	}
}
/* EventSource comes back by itself, with the number of the last state that it got; not after a refusal. */
function open() {
	if (over || document.hidden || (stream && stream.readyState !== EventSource.CLOSED)) return;
	stream = new EventSource('events');
	stream.onopen = () => state('on', 'live');
	stream.onerror = async () => {
		const mine = stream;
		state('off', 'the connection is lost; it is tried again');
		if (mine.readyState !== EventSource.CLOSED) return;
		const r = await fetch('session').catch(() => null);
		if (mine !== stream || over) return;
		if (r && (r.status === 401 || r.status === 403)) ended();
		else setTimeout(open, 2000);
	};
	for (const topic of ['status', 'times', 'forest', 'agents', 'alerts', 'audit']) stream.addEventListener(topic, ev => {
			take(topic, JSON.parse(ev.data), ev.lastEventId);
			soon();
		});
}
/* A browser opens six connections to a host: tabs that nobody sees leave theirs. */
document.addEventListener('visibilitychange', () => {
	if (document.hidden && stream) {
		stream.close();
		stream = null;
		state('', 'paused: the tab is hidden');
	} else if (!stream) {
		open();
	}
});

for (const [topic, id, data] of first.states.slice(1)) take(topic, data, id);
draw();
open();
let wait = 0,
	width = innerWidth;
addEventListener('resize', () => {
	clearTimeout(wait);
	wait = setTimeout(() => {
		const same = width === innerWidth;
		width = innerWidth;
		if (place().name === 'type' && !same) typeView(main, asked);
		else drawCharts();
	}, 300);
});
