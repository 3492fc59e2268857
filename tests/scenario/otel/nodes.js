// SPDX-License-Identifier: GPL-3.0-or-later
// Two services with OpenTelemetry's SDK and hone-otel-gate on two nodes, until they are ended: "front" makes a request each 20 ms, for which it calls
// "stock" by HTTP. Half of the requests are slow in a span of "stock" that is off by default: the planted fault. NODE_PATH: the packages; OTLP_URL:
// the node's hone-otel.
//
//	node nodes.js stock ON_FILE		prints its port; ON_FILE: the names of the spans that are on now, each on a line
//	node nodes.js front PORT
'use strict'
const fs = require('fs')
const http = require('http')
const { install } = require('../../../npm/hone-otel-gate')

const [role, argument] = process.argv.slice(2)
const { gate } = install({ off: ['shop:*'], url: process.env.OTLP_URL })
const { trace, context, propagation, SpanKind, ROOT_CONTEXT } = require('@opentelemetry/api')
const { NodeTracerProvider, BatchSpanProcessor } = require('@opentelemetry/sdk-trace-node')
const { OTLPTraceExporter } = require('@opentelemetry/exporter-trace-otlp-proto')
const { resourceFromAttributes } = require('@opentelemetry/resources')

const provider = new NodeTracerProvider({ resource: resourceFromAttributes({ 'service.name': role }),
  spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter({ url: process.env.OTLP_URL + '/v1/traces' }), { scheduledDelayMillis: 100 })] })
provider.register() // with W3C's propagator
const web = trace.getTracer('web'), shop = trace.getTracer('shop')
const sleep = ms => new Promise(resolve => setTimeout(resolve, ms))
const inSpan = (tracer, name, options, parent, fn) => tracer.startActiveSpan(name, options, parent, async span => {
  try {
    return await fn()
  } finally {
    span.end()
  }
})
const here = () => context.active()

function call(port, n) {
  const headers = {}

  propagation.inject(here(), headers)
  return new Promise((resolve, reject) => http.get({ port, path: `/${n}`, headers }, r => r.resume().on('end', resolve)).on('error', reject))
}
const page = (port, n) => inSpan(web, 'GET /page', { kind: SpanKind.SERVER }, ROOT_CONTEXT, async () => {
  await sleep(1)
  await inSpan(web, 'GET', { kind: SpanKind.CLIENT }, here(), () => call(port, n))
})
const stock = request => inSpan(web, 'GET /stock', { kind: SpanKind.SERVER, attributes: { shelf: 'a' } }, propagation.extract(ROOT_CONTEXT, request.headers), async () => {
  const n = Number(request.url.slice(1))

  await inSpan(shop, 'count', {}, here(), () => sleep(1))
  await inSpan(shop, 'weigh', { attributes: { tries: n % 2 } }, here(), () => sleep(n % 2 === 0 ? 1 : 60))
  await inSpan(shop, 'pack', {}, here(), () => sleep(1))
})

if (role === 'front') {
  let n = 0
  setInterval(() => page(Number(argument), n++).catch(() => {}), 20)
} else {
  let said
  const server = http.createServer((request, response) => stock(request).then(() => response.end()))
  server.listen(0, '127.0.0.1', () => console.log(server.address().port))
  setInterval(() => {
    const on = [...gate.places].filter(([, is]) => is && gate.now() < gate.until).map(([place]) => place + '\n').join('')
    if (on === said)
      return
    fs.writeFileSync(argument + '.new', on)
    fs.renameSync(argument + '.new', argument)
    said = on
  }, 20)
}
process.on('SIGTERM', () => process.exit(0))
