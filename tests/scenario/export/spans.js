// SPDX-License-Identifier: GPL-3.0-or-later
// Prints OTLP in JSON: COUNT requests of now, of two services.
'use strict';
const count = Number(process.argv[2]), now = BigInt(Date.now()) * 1000000n;
const hex = (n, len) => n.toString(16).padStart(len, '0');
const text = (key, value) => ({ key, value: { stringValue: value } });
const front = [], cart = [];
for (let i = 1; i <= count; i++) {
  const traceId = hex(0xabc0000 + i, 32), begin = now - BigInt(count - i) * 1000000n, slow = BigInt(i % 10) * 300000n;
  const span = (spanId, parentSpanId, name, kind, from, to, more) => ({ traceId, spanId, ...(parentSpanId && { parentSpanId }), name, kind,
    startTimeUnixNano: String(begin + from), endTimeUnixNano: String(begin + to), attributes: [], ...more });
  front.push(span(hex(2 * i, 16), '', 'GET /basket', 2, 0n, 2000000n + slow, {}));
  cart.push(span(hex(2 * i + 1, 16), hex(2 * i, 16), 'read', 2, 300000n, 1500000n + slow, {
    attributes: [{ key: 'rows', value: { intValue: String(i % 10) } }] }));
}
const resource = (service, spans) => ({ resource: { attributes: [text('service.name', service)] }, scopeSpans: [{ spans }] });
console.log(JSON.stringify({ resourceSpans: [resource('front', front), resource('cart', cart)] }));
