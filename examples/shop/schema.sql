-- The shop's database: a few hundred goods, always the same.
CREATE TABLE product (
	id integer PRIMARY KEY,
	name text NOT NULL,
	cents integer NOT NULL,
	stock integer NOT NULL,
	description text NOT NULL
);
CREATE TABLE orders (
	id bigserial PRIMARY KEY,
	user_id bigint NOT NULL,
	items integer NOT NULL,
	cents bigint NOT NULL,
	placed timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX orders_of_user ON orders (user_id, id);
CREATE TABLE order_line (
	order_id bigint NOT NULL REFERENCES orders,
	product integer NOT NULL REFERENCES product,
	quantity integer NOT NULL,
	cents bigint NOT NULL
);

INSERT INTO product
SELECT id,
	(ARRAY['small', 'green', 'classic', 'foldable', 'outdoor', 'handmade', 'oak', 'steel'])[1 + id % 8] || ' ' ||
	(ARRAY['garden', 'kitchen', 'reading', 'travel', 'office'])[1 + id % 5] || ' ' ||
	(ARRAY['lamp', 'chair', 'table', 'shelf', 'clock', 'basket', 'kettle', 'mirror', 'bench'])[1 + id % 9],
	100 + id * 7919 % 20000,
	id * 31 % 90,
	repeat('Made with care, number ' || id || ', and kept in store for you. ', 3 + id % 4)
FROM generate_series(1, 400) AS id;

-- Everybody has ordered before: one customer after the other, as a shop grows.
INSERT INTO orders (user_id, items, cents)
SELECT 1 + n / 600, 1 + n % 7, 500 + n::bigint * 7919 % 50000 FROM generate_series(0, 179999) AS n;

ANALYZE;
