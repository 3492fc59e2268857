// SPDX-License-Identifier: GPL-3.0-or-later
// A program with OpenTelemetry's SDK: requests of two kinds, each with spans in two services, at some rate, until they are
// sent; then it says how many spans ended and what the SDK logged.
//
//	node client.js PROTOCOL REQUESTS [gzip|none [STATE]]	PROTOCOL: json, proto, grpc, zipkin; STATE: a tracestate of the caller
//
// HONE_OTEL_MODULES: the folder of its packages, those of the SDK's line 2.x (this folder's) or 3.x (../otel3).
'use strict'
const path = require('path')
const modules = process.env.HONE_OTEL_MODULES
const load = name => require(path.join(modules, 'node_modules', name))
const { diag, DiagLogLevel, trace, context, SpanKind, TraceFlags, createTraceState, ROOT_CONTEXT } = load('@opentelemetry/api')
const isNewer = !require('fs').existsSync(path.join(modules, 'node_modules/@opentelemetry/sdk-trace-node'))
const sdk = load(`@opentelemetry/${isNewer ? 'sdk-trace' : 'sdk-trace-node'}`)
const TracerProvider = isNewer ? sdk.TracerProvider : sdk.NodeTracerProvider
const { resourceFromAttributes } = load('@opentelemetry/resources')

const [protocol, requests, compression = 'none', state] = process.argv.slice(2)
const said = []
const note = (...words) => said.push(words.map(String).join(' '))
diag.setLogger({ error: note, warn: note, info() {}, debug() {}, verbose() {} }, DiagLogLevel.WARN)

function exporter() {
  if (protocol === 'zipkin') {
    const { ZipkinExporter } = load('@opentelemetry/exporter-zipkin')
    return new ZipkinExporter({ url: process.env.ZIPKIN_URL })
  }
  if (protocol === 'grpc') {
    const { OTLPTraceExporter } = load('@opentelemetry/exporter-trace-otlp-grpc')
    return new OTLPTraceExporter({ url: process.env.OTLP_GRPC_URL, compression })
  }
  const { OTLPTraceExporter } = load(`@opentelemetry/exporter-trace-otlp-${protocol === 'json' ? 'http' : 'proto'}`)
  return new OTLPTraceExporter({ url: process.env.OTLP_URL, compression })
}
function batches() {
  const options = { scheduledDelayMillis: 200 }
  return isNewer ? new sdk.BatchSpanProcessor({ exporter: exporter(), ...options }) : new sdk.BatchSpanProcessor(exporter(), options)
}
function service(name) {
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': name }),
    spanProcessors: [batches()]
  })
  return { provider, tracer: provider.getTracer('shop') }
}
const front = service('front'), stock = service('stock')
const sleep = ms => new Promise(resolve => setTimeout(resolve, ms))
let ended = 0
// fn receives the context in which the span is the parent.
async function inSpan(of, name, kind, parent, attributes, fn) {
  const span = of.tracer.startSpan(name, { kind, attributes }, parent)
  try {
    span.addEvent('began', { attempt: 1 })
    return await fn(trace.setSpan(parent, span))
  } finally {
    span.end()
    ended++
  }
}
// Every second request of GET /basket asks for many rows, and its query is slow: the planted fault.
async function request(n) {
  let parent = ROOT_CONTEXT
  if (state !== undefined)
    parent = trace.setSpanContext(parent, { traceId: process.env.TRACE_ID, spanId: process.env.SPAN_ID, isRemote: true,
      traceFlags: TraceFlags.SAMPLED, traceState: createTraceState(state) })
  const basket = n % 2 === 0, many = n % 4 === 0
  await inSpan(front, basket ? 'GET /basket' : 'GET /ping', SpanKind.SERVER, parent, { 'http.request.method': 'GET' }, async at => {
    await sleep(1)
    if (!basket)
      return
    await inSpan(front, 'render', SpanKind.INTERNAL, at, {}, () => sleep(2))
    await inSpan(front, 'POST', SpanKind.CLIENT, at, {}, at2 =>
      inSpan(stock, 'POST /stock', SpanKind.SERVER, at2, {}, async at3 => {
        await inSpan(stock, 'SELECT stock', SpanKind.CLIENT, at3, { rows: many ? 5000 : 10 }, () => sleep(many ? 40 : 4))
      }))
  })
}
async function main() {
  for (let n = 0; n < Number(requests); n += 8) // eight at the same time
    await Promise.all(Array.from({ length: Math.min(8, requests - n) }, (_, i) => request(n + i)))
  await Promise.all([front.provider.shutdown(), stock.provider.shutdown()])
  console.log(JSON.stringify({ ended, said }))
}
main()
