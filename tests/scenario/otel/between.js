// SPDX-License-Identifier: GPL-3.0-or-later
// A service with OpenTelemetry's SDK between two programs with libhone: each line of standard input, "TRACEPARENT TRACESTATE", is a request, in
// which it calls CALLEE, handing the context on as the SDK does. At the end of its input it makes OWN requests of its own, and then says on standard
// error what it was answered.
//
//	node between.js OWN CALLEE...		HONE_OTEL_MODULES: the packages; OTLP_URL: where spans are sent
'use strict'
const path = require('path')
const { spawn } = require('child_process')
const readline = require('readline')
const load = name => require(path.join(process.env.HONE_OTEL_MODULES, 'node_modules', name))
const { trace, context, propagation, SpanKind, ROOT_CONTEXT } = load('@opentelemetry/api')
const { NodeTracerProvider, BatchSpanProcessor } = load('@opentelemetry/sdk-trace-node')
const { resourceFromAttributes } = load('@opentelemetry/resources')
const { OTLPTraceExporter } = load('@opentelemetry/exporter-trace-otlp-proto')

const [own, ...callee] = process.argv.slice(2)
const provider = new NodeTracerProvider({ resource: resourceFromAttributes({ 'service.name': 'between' }),
  spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter({ url: process.env.OTLP_URL }), { scheduledDelayMillis: 200 })] })
provider.register() // with W3C's propagator
const tracer = trace.getTracer('between')
const stock = spawn(callee[0], callee.slice(1), { stdio: ['pipe', 'pipe', 'inherit'] })
const answers = readline.createInterface({ input: stock.stdout })[Symbol.asyncIterator]()
const sleep = ms => new Promise(resolve => setTimeout(resolve, ms))
const said = {}

async function request(name, parent) {
  const server = tracer.startSpan(name, { kind: SpanKind.SERVER }, parent), within = trace.setSpan(parent, server)
  const client = tracer.startSpan('CALL stock', { kind: SpanKind.CLIENT }, within), headers = {}

  await sleep(1)
  propagation.inject(trace.setSpan(within, client), headers)
  stock.stdin.write(`${headers.traceparent} ${headers.tracestate ?? ''}\n`)
  const { value } = await answers.next()
  said[value] = (said[value] ?? 0) + 1
  await sleep(2) // the callee's record of its end may come after its answer
  client.end()
  server.end()
}
async function main() {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const [traceparent, tracestate] = line.split(' ')
    await request('GET /between', propagation.extract(ROOT_CONTEXT, { traceparent, tracestate }))
    console.log('done')
  }
  for (let i = 0; i < Number(own); i++)
    await request('GET /own', ROOT_CONTEXT)
  stock.stdin.end()
  await provider.shutdown()
  console.error(JSON.stringify(said))
}
main()
