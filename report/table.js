/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A table. A head that begins with > is of numbers; a row is an element, or what is in its cells. */

function table(heads, rows, about) {
	return h(
		'div',
		{ class: rows.length <= 8 ? 'wide keep' : 'wide' },
		h(
			'table',
			{ 'aria-label': about },
			h(
				'thead',
				h(
					'tr',
					heads.map(t =>
						t instanceof Node
							? t
							: h(
									'th',
									{
										class: t[0] === '>' ? 'n' : null,
										scope: 'col'
									},
									t.replace('>', '')
								)
					)
				)
			),
			h(
				'tbody',
				rows.map(r =>
					r instanceof Node
						? r
						: h(
								'tr',
								r.map((c, i) => cell(heads[i], c))
							)
				)
			)
		)
	);
}
const cell = (head, c) =>
	c instanceof HTMLTableCellElement ? c : h('td', { class: head && head[0] === '>' ? 'n' : null }, c);
