/* SPDX-License-Identifier: GPL-3.0-or-later */
/* As much of a browser's document as Hone's pages use, so that their scripts can be run and what they draw be looked at. */
'use strict';
const vm = require('vm');

class Node {
	constructor(tag) {
		this.tagName = tag.toUpperCase();
		this.attributes = {};
		this.childNodes = [];
		this.parentNode = null;
		this.listeners = {};
		this.dataset = {};
		this.clientWidth = 1000;
		const classes = new Set();
		this.classList = {
			add: (...all) => all.forEach(c => classes.add(c)),
			toggle: (c, on) => (on ? classes.add(c) : classes.delete(c)),
			contains: c => classes.has(c) || (this.attributes.class || '').split(' ').includes(c)
		};
	}
	get id() {
		return this.attributes.id;
	}
	set id(id) {
		this.attributes.id = id;
	}
	get textContent() {
		return this.childNodes.map(k => (k instanceof Node ? k.textContent : k)).join('');
	}
	set textContent(t) {
		this.childNodes = [String(t)];
	}
	setAttribute(name, value) {
		this.attributes[name] = String(value);
	}
	append(...kids) {
		for (const k of kids) {
			if (k instanceof Node) {
				if (k.parentNode) k.parentNode.childNodes = k.parentNode.childNodes.filter(x => x !== k);
				k.parentNode = this;
			}
			this.childNodes.push(k instanceof Node ? k : String(k));
		}
	}
	replaceChildren(...kids) {
		this.childNodes = [];
		this.append(...kids);
	}
	addEventListener(what, f) {
		(this.listeners[what] = this.listeners[what] || []).push(f);
	}
	querySelectorAll() {
		return [];
	}
	scrollIntoView() {}
}
class HTMLTableCellElement extends Node {}
const made = tag => new (tag === 'td' || tag === 'th' ? HTMLTableCellElement : Node)(tag);
const all = (node, want, out = []) => {
	for (const k of node.childNodes)
		if (k instanceof Node) {
			if (want(k)) out.push(k);
			all(k, want, out);
		}
	return out;
};

/* The tree after the script of the page ran, with all groups drawn as for print. */
function drawn(page) {
	const part = (from, to) => {
		const at = page.indexOf(from) + from.length;
		return page.slice(at, page.indexOf(to, at));
	};
	const body = new Node('body'),
		listeners = {};
	for (const id of ['document', 'head', 'main', 'problems']) {
		const el = new Node('div');
		el.id = id;
		body.append(el);
	}
	const byId = id => all(body, n => n.id === id)[0] || null;
	byId('document').textContent = part('<script type="application/json" id="document">', '</script');
	vm.runInNewContext(page.slice(page.lastIndexOf("'use strict';"), page.lastIndexOf('</script>')), {
		Node,
		HTMLTableCellElement,
		document: {
			createElement: made,
			createElementNS: (ns, tag) => made(tag),
			getElementById: byId
		},
		addEventListener: (what, f) => (listeners[what] = f),
		location: { hash: '' },
		history: {},
		navigator: {},
		setTimeout,
		clearTimeout
	});
	if (listeners.beforeprint) listeners.beforeprint();
	return body;
}

module.exports = { all, drawn };
