// SPDX-License-Identifier: GPL-3.0-or-later
// Reads what hone export wrote with readers of others and compares it with the same requests as `hone export --json` gives them: a line "FORMAT
// ok", or what differs. The stacks of a profile are printed as folded ones.
// usage: HONE_EXPORT_MODULES=FOLDER node judge.js REQUESTS.json FORMAT=FILE...
'use strict';
const fs = require('fs'), path = require('path'), zlib = require('zlib');
const from = (name) => require(path.join(process.env.HONE_EXPORT_MODULES, 'node_modules', name));
const [truthFile, ...files] = process.argv.slice(2);
let format, bytes, wrong;
const truth = JSON.parse(fs.readFileSync(truthFile)).requests;
const is = (what, a, b) => { if (JSON.stringify(a) !== JSON.stringify(b)) wrong.push(`${what}: ${JSON.stringify(a)} instead of ${JSON.stringify(b)}`); };
const pad = (id) => id.padStart(32, '0');
const key = (trace, span) => `${pad(trace)}/${span}`;
const units = new Map();
let pathNs = 0;
for (const r of truth)
  for (const u of r.units) {
    units.set(key(r.trace, u.unit), { ...u, request: r, parentId: u.parent === null ? undefined : r.units[u.parent].unit });
    pathNs += Math.round((u.path_ms || 0) * 1e6);
  }

// A span as each format has it: name, service, parent, begin and duration in us, attributes.
function compare(spans) {
  is('number of spans', spans.length, units.size);
  for (const s of spans) {
    const u = units.get(key(s.trace, s.id));
    if (!u) { wrong.push(`a span that no request has: ${s.trace}/${s.id}`); continue; }
    const at = `${s.id} of ${s.trace}`;
    is(`name of ${at}`, s.name, u.name);
    is(`service of ${at}`, s.service, u.service);
    is(`parent of ${at}`, s.parent, u.parentId);
    const begin = Number((BigInt(u.request.begin_ns) + BigInt(u.begin_ns)) / 1000n), end = begin + (u.end_ns - u.begin_ns) / 1000;
    if (Math.abs(s.begin - begin) > 1 || (u.end_ns !== null && Math.abs(s.begin + s.duration - end) > 2))
      wrong.push(`times of ${at}: ${s.begin} + ${s.duration} us instead of ${begin} to ${end}`);
    is(`critical_path of ${at}`, String(s.attributes['hone.critical_path']), String(u.critical));
    for (const [name, value] of [['hone.share', u.share], ['hone.usual_ms', u.usual_ms], ['hone.path_ms', u.path_ms]])
      if (value !== null && !(Math.abs(Number(s.attributes[name]) - value) <= 1e-9 * Math.max(1, Math.abs(value))))
        wrong.push(`${name} of ${at}: ${s.attributes[name]} instead of ${value}`);
    if (u.request.units.indexOf(u.request.units.find((v) => v.unit === u.unit)) === u.request.root) is(`type of ${at}`, s.attributes['hone.request'], u.request.type);
    is(`events of ${at}`, s.events.map((v) => v.replace(/^[^:]*:event\((.*)\)/, '$1')), u.records.map((v) => v.record.replace(/^[^:]*:event\((.*)\)/, '$1')));
    for (const [name, value] of Object.entries(u.fields))
      if (name !== 'failed') is(`${name} of ${at}`, String(s.attributes[name]), String(value));
  }
}

function otlp() {
  const root = from('@opentelemetry/otlp-transformer/build/src/generated/root');
  const Request = root.opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest;
  const request = JSON.parse(bytes);
  const plain = (o) => { // what protobuf leaves out: empty lists
    if (Array.isArray(o)) return o.map(plain);
    if (o === null || typeof o !== 'object') return o;
    return Object.fromEntries(Object.entries(o).filter(([, v]) => !(Array.isArray(v) && v.length === 0)).map(([k, v]) => [k, plain(v)]).sort());
  };
  for (const r of request.resourceSpans) for (const c of r.scopeSpans) for (const s of c.spans) for (const id of ['traceId', 'spanId', 'parentSpanId'])
    if (s[id] !== undefined) {
      if (!/^[0-9a-f]+$/.test(s[id]) || s[id].length !== (id === 'traceId' ? 32 : 16)) wrong.push(`${id} ${s[id]}`);
      s[id] = Buffer.from(s[id], 'hex').toString('base64'); // as protobuf's own JSON has bytes
    }
  const message = Request.fromObject(request);
  const error = Request.verify(message);
  if (error) wrong.push(error);
  const back = Request.toObject(Request.decode(Request.encode(message).finish()), { longs: String, bytes: String });
  is('the message, back from protobuf', plain(back), plain(request)); // an unknown field would be gone
  const spans = [];
  for (const r of back.resourceSpans) {
    const service = r.resource.attributes.find((a) => a.key === 'service.name').value.stringValue;
    for (const c of r.scopeSpans) for (const s of c.spans)
      spans.push({ trace: Buffer.from(s.traceId, 'base64').toString('hex'), id: Buffer.from(s.spanId, 'base64').toString('hex'),
        parent: s.parentSpanId && Buffer.from(s.parentSpanId, 'base64').toString('hex'), name: s.name, service,
        begin: Number(BigInt(s.startTimeUnixNano) / 1000n), duration: Number(BigInt(s.endTimeUnixNano) - BigInt(s.startTimeUnixNano)) / 1000,
        events: (s.events || []).map((v) => v.name), attributes: Object.fromEntries(s.attributes.map((a) => [a.key, Object.values(a.value)[0]])) });
  }
  compare(spans);
}

// From the definitions of Zipkin's API, version 2, and of the JSON of Jaeger's query service.
const hex = (n) => ({ type: 'string', pattern: `^[0-9a-f]{${n}}$` });
const object = (properties, required) => ({ type: 'object', properties, required, additionalProperties: false });
const list = (items) => ({ type: 'array', items });
const endpoint = object({ serviceName: { type: 'string' }, ipv4: { type: 'string', pattern: '^[0-9.]+$' }, ipv6: { type: 'string', pattern: ':' }, port: { type: 'integer' } }, []);
const schemas = {
  zipkin: list(object({ traceId: { type: 'string', pattern: '^([0-9a-f]{16}|[0-9a-f]{32})$' }, id: hex(16), parentId: hex(16), name: { type: 'string' },
    kind: { enum: ['CLIENT', 'SERVER', 'PRODUCER', 'CONSUMER'] }, timestamp: { type: 'integer', minimum: 1 }, duration: { type: 'integer', minimum: 1 },
    debug: { type: 'boolean' }, shared: { type: 'boolean' }, localEndpoint: endpoint, remoteEndpoint: endpoint,
    annotations: list(object({ timestamp: { type: 'integer' }, value: { type: 'string' } }, ['timestamp', 'value'])),
    tags: { type: 'object', additionalProperties: { type: 'string' } } }, ['traceId', 'id'])),
};
const tag = { type: 'object', required: ['key', 'type', 'value'], additionalProperties: false, properties: { key: { type: 'string' }, type: {}, value: {} },
  oneOf: [['string', 'string'], ['bool', 'boolean'], ['int64', 'integer'], ['float64', 'number'], ['binary', 'string']].map(
    ([type, value]) => ({ type: 'object', properties: { type: { const: type }, value: { type: value } } })) };
schemas.jaeger = object({ data: list(object({ traceID: hex(32), warnings: { enum: [null] },
  spans: list(object({ traceID: hex(32), spanID: hex(16), operationName: { type: 'string' }, startTime: { type: 'integer' }, duration: { type: 'integer', minimum: 0 },
    references: list(object({ refType: { enum: ['CHILD_OF', 'FOLLOWS_FROM'] }, traceID: hex(32), spanID: hex(16) }, ['refType', 'traceID', 'spanID'])),
    tags: list(tag), logs: list(object({ timestamp: { type: 'integer' }, fields: list(tag) }, ['timestamp', 'fields'])), processID: { type: 'string' } },
  ['traceID', 'spanID', 'operationName', 'references', 'startTime', 'duration', 'tags', 'logs', 'processID'])),
  processes: { type: 'object', additionalProperties: object({ serviceName: { type: 'string' }, tags: list(tag) }, ['serviceName', 'tags']) } },
['traceID', 'spans', 'processes'])) }, ['data']);

function valid(document) {
  const Ajv = from('ajv').default;
  const ajv = new Ajv({ allErrors: false, strict: true, strictTypes: false });
  if (!ajv.validate(schemas[format], document)) wrong.push(ajv.errorsText());
}

function zipkin() {
  const spans = JSON.parse(bytes);
  valid(spans);
  compare(spans.map((s) => ({ trace: s.traceId, id: s.id, parent: s.parentId, name: s.name, service: s.localEndpoint.serviceName, begin: s.timestamp,
    duration: s.duration, events: (s.annotations || []).map((v) => v.value.replace(/ [^ ]+=.*/, '')), attributes: s.tags })));
}

function jaeger() {
  const document = JSON.parse(bytes), spans = [];
  valid(document);
  for (const t of document.data)
    for (const s of t.spans)
      spans.push({ trace: s.traceID, id: s.spanID, parent: s.references[0] && s.references[0].spanID, name: s.operationName,
        service: t.processes[s.processID].serviceName, begin: s.startTime, duration: s.duration,
        events: s.logs.map((v) => v.fields.find((f) => f.key === 'event').value), attributes: Object.fromEntries(s.tags.map((a) => [a.key, a.value])) });
  compare(spans);
}

function chrome() {
  const model = from('@tracerbench/trace-model').buildModel(JSON.parse(bytes));
  let spans = 0, starts = 0, ends = 0;
  for (const p of model.processes) for (const t of p.threads) {
    if (t.id !== 0 && !t.name) wrong.push(`thread ${t.id} has no name`);
    for (const v of t.events) {
      if (v.ph === 's') starts++;
      if (v.ph === 'f') ends++;
      if (v.ph !== 'X') continue;
      spans++;
      // The reader makes a stack of each thread: a span that is not inside the one below it would be drawn wrong.
      if (v.parent && (v.start < v.parent.start || v.end > v.parent.end)) wrong.push(`${v.name} at ${v.start} is not inside ${v.parent.name}`);
    }
  }
  is('number of spans', spans, units.size);
  is('arrows that begin and end', starts, ends);
  is('processes', model.processes.map((p) => p.name.replace(/ on .*/, '')).filter((n, i, all) => n && all.indexOf(n) === i).sort(),
    [...new Set([...units.values()].map((u) => u.service))].sort());
}

function pprof() {
  const p = from('pprof-format').Profile.decode(zlib.gunzipSync(bytes)), s = (i) => p.stringTable.strings[Number(i)];
  is('types', p.sampleType.map((t) => `${s(t.type)} ${s(t.unit)}`), ['spans count', 'critical_path nanoseconds']);
  is('time on the critical path', p.sample.reduce((sum, x) => sum + Number(x.value[1]), 0), pathNs);
  is('spans on it', p.sample.reduce((sum, x) => sum + Number(x.value[0]), 0), [...units.values()].filter((u) => u.path_ms > 0).length);
  const name = new Map(p.function.map((f) => [Number(f.id), s(f.name)])), place = new Map(p.location.map((l) => [Number(l.id), name.get(Number(l.line[0].functionId))]));
  for (const x of p.sample) {
    const stack = x.locationId.map((l) => place.get(Number(l)));
    if (!stack.length || stack.some((f) => !f)) wrong.push(`a stack with an unknown frame: ${stack}`);
    console.log(`${stack.reverse().join(';')} ${x.value[1]}`); // as folded stacks
  }
}

const readers = { otlp, zipkin, jaeger, chrome, pprof };
for (const f of files) {
  format = f.slice(0, f.indexOf('='));
  bytes = fs.readFileSync(f.slice(format.length + 1));
  wrong = [];
  try { readers[format](); } catch (e) { wrong.push(String(e.stack)); }
  console.log(wrong.length ? `${format} differs: ${wrong.slice(0, 10).join('\n')}` : `${format} ok`);
}
