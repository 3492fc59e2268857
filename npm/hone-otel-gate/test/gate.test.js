// SPDX-License-Identifier: MIT
// node --test. The API (and for some tests the SDK) is found in the folder of HONE_OTEL_MODULES, or as usual.
'use strict'
const test = require('node:test')
const assert = require('node:assert')
const fs = require('node:fs')
const http = require('node:http')
const os = require('node:os')
const path = require('node:path')
const { spawnSync } = require('node:child_process')
const { once } = require('node:events')
const { context, trace, TraceFlags, ROOT_CONTEXT, createTraceState } = require('@opentelemetry/api')
const { AsyncLocalStorageContextManager } = require('@opentelemetry/context-async-hooks')
const { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } = require('@opentelemetry/sdk-trace-base')
const { Gate, draw, placeOf } = require('../gate')
const { Poll } = require('../poll')

context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())

function setUp(off, clock = { ms: 1000 }) {
  const exporter = new InMemorySpanExporter()
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
  const gate = new Gate({ off, now: () => clock.ms })
  const tracer = gate.wrap(provider).getTracer('shop')

  return { exporter, gate, tracer, clock }
}
const inSpan = (tracer, name, fn = () => {}) => tracer.startActiveSpan(name, span => {
  try {
    return fn(span)
  } finally {
    span.end()
  }
})
const request = tracer => inSpan(tracer, 'GET /', () => inSpan(tracer, 'middle', () => inSpan(tracer, 'query')))
// Names of the spans that ended, each with that of its parent.
function pairs(exporter) {
  const spans = exporter.getFinishedSpans(), byId = new Map(spans.map(s => [s.spanContext().spanId, s.name]))
  return spans.map(s => [s.name, s.parentSpanContext === undefined ? null : byId.get(s.parentSpanContext.spanId)])
}
const turnOn = (gate, on, more = {}) => gate.want({ version: 1, on, share: 1, leaseMs: 5000, ...more })

test('a span that is off is not recorded, and its children have the span above it as their parent', () => {
  const { exporter, gate, tracer } = setUp(['shop:middle'])

  request(tracer)
  assert.deepStrictEqual(pairs(exporter), [['query', 'GET /'], ['GET /', null]])
  assert.deepStrictEqual([...gate.places], [['shop:middle', false]])
})

test('the sampled flag and the trace state go on through a span that is off', () => {
  const { tracer } = setUp(['shop:middle'])
  const parent = trace.setSpanContext(ROOT_CONTEXT, { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), traceFlags: TraceFlags.SAMPLED,
    traceState: createTraceState('x=1') })
  const span = tracer.startSpan('middle', {}, parent)

  assert.ok(!span.isRecording())
  assert.strictEqual(span.spanContext().traceFlags, TraceFlags.SAMPLED)
  assert.strictEqual(span.spanContext().spanId, 'b'.repeat(16))
  assert.strictEqual(span.spanContext().traceState.get('x'), '1')
})

test('a span that Hone wants is recorded with its place, until the lease ends', () => {
  const { exporter, gate, tracer, clock } = setUp(['shop:middle'])

  request(tracer)
  turnOn(gate, ['shop:middle'])
  exporter.reset()
  request(tracer)
  assert.deepStrictEqual(pairs(exporter), [['query', 'middle'], ['middle', 'GET /'], ['GET /', null]])
  assert.strictEqual(exporter.getFinishedSpans()[1].attributes['hone.point'], 'shop:middle')
  clock.ms += 5000
  exporter.reset()
  request(tracer)
  assert.deepStrictEqual(pairs(exporter), [['query', 'GET /'], ['GET /', null]])
})

test('roots, spans with a remote parent, and spans of no rule are recorded as ever', () => {
  const { exporter, tracer } = setUp(['*'])
  const remote = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), traceFlags: TraceFlags.SAMPLED, isRemote: true }

  inSpan(tracer, 'root')
  tracer.startSpan('entry', {}, trace.setSpanContext(ROOT_CONTEXT, remote)).end()
  inSpan(tracer, 'outer', () => tracer.startSpan('new', { root: true }).end())
  assert.deepStrictEqual(exporter.getFinishedSpans().map(s => s.name), ['root', 'entry', 'new', 'outer'])
  const other = setUp(['price'])
  request(other.tracer)
  assert.strictEqual(other.exporter.getFinishedSpans().length, 3)
  assert.strictEqual(other.gate.places.size, 0)
})

test('without a sampler that samples, nothing is recorded either way', () => {
  const { exporter, gate, tracer } = setUp(['shop:middle'])
  const parent = trace.setSpanContext(ROOT_CONTEXT, { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), traceFlags: TraceFlags.NONE })

  tracer.startSpan('middle', {}, parent)
  turnOn(gate, ['shop:middle'])
  assert.ok(!tracer.startSpan('middle', {}, parent).isRecording())
  assert.strictEqual(exporter.getFinishedSpans().length, 0)
})

test('times are exact, so that spans that follow each other are in order; times that are given are kept', () => {
  const { exporter, tracer } = setUp([])
  const ns = ([seconds, ns]) => BigInt(seconds) * 1000000000n + BigInt(ns)

  inSpan(tracer, 'GET /', span => {
    for (let i = 0; i < 50; i++)
      inSpan(tracer, 'step', at => at.addEvent('here', { i }))
    tracer.startSpan('given', { startTime: 1000 * 1e6 }).end(1001 * 1e6)
    span.addEvent('at', [17, 0])
    span.recordException(new Error('x'))
  })
  const spans = exporter.getFinishedSpans(), steps = spans.slice(0, 50), whole = spans.at(-1)
  let before = ns(whole.startTime)
  for (const step of steps) {
    for (const time of [step.startTime, step.events[0].time, step.endTime]) {
      assert.ok(ns(time) >= before)
      before = ns(time)
    }
  }
  assert.ok(ns(whole.endTime) >= before)
  assert.ok(new Set(steps.map(s => String(s.startTime))).size > 25)
  assert.ok(Math.abs(Number(ns(whole.startTime) / 1000000n) - Date.now()) < 1000)
  assert.deepStrictEqual([spans[50].startTime[0], spans[50].endTime[0]], [1000000, 1001000])
  assert.deepStrictEqual(whole.events[0].time, [17, 0])
  assert.ok(ns(whole.events[1].time) >= ns(whole.startTime))
})

test('a share of traces: the same ones in every process, and all spans of a trace alike', () => {
  const { gate, tracer } = setUp(['shop:middle'])
  let on = 0

  tracer.startSpan('middle', {}, trace.setSpanContext(ROOT_CONTEXT, { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), traceFlags: 1 }))
  turnOn(gate, ['shop:middle'], { share: 0.25 })
  for (let i = 1; i <= 4000; i++) {
    const traceId = i.toString(16).padStart(32, '0')
    const parent = trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId: 'b'.repeat(16), traceFlags: 1 })
    const recording = tracer.startSpan('middle', {}, parent).isRecording()

    assert.strictEqual(recording, draw(traceId) < 0.25)
    on += recording
  }
  assert.ok(on > 850 && on < 1150, `${on} of 4000`)
})

test('draws are those of hone-otel', () => { // tests/unit/otel/spans/span_points_test.c has the same
  assert.strictEqual(draw('00000000000000000000000000000000').toFixed(9), '0.407293127')
  assert.strictEqual(draw('ffffffffffffffff0123456789abcdef').toFixed(9), '0.442630809')
})

test('a request that begins in a program with libhone is chosen there', () => {
  const { gate, tracer } = setUp(['shop:middle'])
  const at = state => trace.setSpanContext(ROOT_CONTEXT, { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), traceFlags: 1,
    traceState: createTraceState(state) })

  tracer.startSpan('middle', {}, at('hone=00000000000000ab-000000011'))
  turnOn(gate, ['shop:middle'], { share: 1 })
  assert.ok(!tracer.startSpan('middle', {}, at('hone=00000000000000ab-000000011')).isRecording())
  turnOn(gate, ['shop:middle'], { share: 0 })
  assert.ok(tracer.startSpan('middle', {}, at('hone=00000000000000ab-000000013')).isRecording())
})

test('places have no character with a meaning, and are cut at the end of one', () => {
  assert.strictEqual(placeOf('@scope/a:b', 'GET /*\n'), '@scope/a_b:GET /__')
  assert.strictEqual(placeOf('', ''), 'unknown:unknown')
  const long = placeOf('s', '\u00e4'.repeat(300))
  assert.ok(Buffer.byteLength(long) <= 240 && !long.includes('\ufffd'))
})

test('names that are made up without end are bounded', () => {
  const { gate, tracer } = setUp(['shop'])

  inSpan(tracer, 'GET /', () => {
    for (let i = 0; i < 5000; i++)
      tracer.startSpan('id ' + i)
  })
  assert.strictEqual(gate.places.size, 4096)
  assert.strictEqual(gate.missed, 904)
})

// A server in place of hone-otel.
async function serve(answer) {
  const asked = []
  const server = http.createServer(async (request, response) => {
    const parts = []
    for await (const part of request)
      parts.push(part)
    asked.push(JSON.parse(Buffer.concat(parts)))
    const [status, body] = answer(asked.at(-1), asked.length)
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(typeof body === 'string' ? body : JSON.stringify(body))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { asked, url: `http://127.0.0.1:${server.address().port}`, close: () => server.close() }
}
const until = async condition => {
  for (let i = 0; i < 400 && !condition(); i++)
    await new Promise(resolve => setTimeout(resolve, 10))
  assert.ok(condition())
}

test('a poll tells names, obeys the answer, and says what is in effect', async () => {
  const { gate, tracer } = setUp(['shop:middle'])
  const server = await serve(question => [200, { version: 7, lease_ms: 4000, poll_ms: 20, share: 1,
    ...(question.version === 7 && question.names.length === 0 ? {} : { on: ['shop:middle'] }) }])

  request(tracer)
  const poll = new Poll(gate, { url: server.url, service: () => 'price' }).start()
  await until(() => server.asked.length >= 3)
  poll.stop()
  server.close()
  assert.deepStrictEqual(server.asked[0].names, ['shop:middle'])
  assert.strictEqual(server.asked[0].first, true)
  assert.strictEqual(server.asked[0].version, 0)
  assert.deepStrictEqual([server.asked[1].version, server.asked[1].first, server.asked[1].names], [7, false, []])
  assert.strictEqual(server.asked[0].service, 'price')
  assert.ok(gate.places.get('shop:middle'))
})

test('a hone-otel that does not know the gate is told all names again', async () => {
  const { gate, tracer } = setUp(['shop:middle'])
  const server = await serve((question, n) => [200, { version: n, lease_ms: 4000, poll_ms: 20, share: 0, on: [], again: n === 2 }])

  request(tracer)
  const poll = new Poll(gate, { url: server.url, service: () => 'price' }).start()
  await until(() => server.asked.length >= 3)
  poll.stop()
  server.close()
  assert.deepStrictEqual(server.asked.slice(0, 3).map(q => q.names.length), [1, 0, 1])
  assert.ok(server.asked[2].first)
})

test('an answer that is none, and no answer, change nothing and are said once', async () => {
  const { gate } = setUp([])
  const said = []
  const server = await serve(() => [200, '{"version":"x"}'])
  const poll = new Poll(gate, { url: server.url, service: () => 'price', log: text => said.push(text) }).start()

  await until(() => said.length > 0)
  poll.stop()
  server.close()
  assert.match(said[0], /not hone-otel's/)
  assert.strictEqual(gate.until, -Infinity)
  const refused = new Poll(gate, { url: server.url, service: () => 'price', log: text => said.push(text) }).start()
  await until(() => said.length > 1)
  refused.stop()
  assert.match(said[1], /ECONNREFUSED/)
})

// npm install FOLDER makes a link.
test('in a package that is a link, the API is that of the program', t => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'hone-gate-'))
  t.after(() => fs.rmSync(folder, { recursive: true }))
  fs.mkdirSync(path.join(folder, 'node_modules/@opentelemetry'), { recursive: true })
  fs.symlinkSync(path.dirname(__dirname), path.join(folder, 'node_modules/hone-otel-gate'))
  fs.cpSync(path.resolve(path.dirname(require.resolve('@opentelemetry/api')), '../..'), path.join(folder, 'node_modules/@opentelemetry/api'), { recursive: true })
  fs.writeFileSync(path.join(folder, 'app.js'), `
    const set = require('@opentelemetry/api').trace.setGlobalTracerProvider
    console.log(Object.keys(require.cache).filter(file => /@opentelemetry.api.build.src.index.js$/.test(file)).length)`)
  const { NODE_PATH, ...env } = process.env
  const run = spawnSync(process.execPath, ['--require', 'hone-otel-gate/register', path.join(folder, 'app.js')], { cwd: folder, env, encoding: 'utf8', timeout: 20000 })
  assert.strictEqual(run.stderr, '')
  assert.strictEqual(run.stdout, '1\n')
})
