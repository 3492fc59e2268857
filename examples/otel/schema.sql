-- SPDX-License-Identifier: GPL-3.0-or-later
-- Goods; and orders, of which half of the customers have five, long ago, and the others many. Without the index PostgreSQL looks for
-- the newest ten of a customer from the newest order on: through all of the table if there are fewer.
CREATE TABLE goods (id int PRIMARY KEY, cents int NOT NULL);
CREATE TABLE orders (id serial PRIMARY KEY, customer int NOT NULL, cents int NOT NULL);
INSERT INTO goods SELECT i, 100 + i * 37 % 9000 FROM generate_series(1, 1000) i;
INSERT INTO orders (customer, cents) SELECT 2500 + i % 2500, 500 + i % 20000 FROM generate_series(1, 12500) i;
INSERT INTO orders (customer, cents) SELECT i % 2500, 500 + i % 20000 FROM generate_series(1, 400000) i;
CREATE INDEX orders_customer ON orders (customer);
ANALYZE;
