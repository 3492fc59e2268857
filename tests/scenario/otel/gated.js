// SPDX-License-Identifier: GPL-3.0-or-later
// A service with OpenTelemetry's SDK and hone-otel-gate: requests of which the inner spans are off by default, until it is ended. Half of
// the requests are slow, in the span "voucher": the planted fault. NODE_PATH: the packages.
//
//	node gated.js ON_FILE [EVERY_MS]	ON_FILE: the names of the spans that are on now, each on a line, as the service itself knows them;
//					ON_FILE.made: how many requests there were, and spans that were on. EVERY_MS: between two requests, 20
'use strict'
const fs = require('fs')
const { install } = require('../../../npm/hone-otel-gate')

const { gate } = install({ off: ['shop:*'], url: process.env.OTLP_URL })
const { trace, SpanKind } = require('@opentelemetry/api')
const { NodeTracerProvider, BatchSpanProcessor } = require('@opentelemetry/sdk-trace-node')
const { OTLPTraceExporter } = require('@opentelemetry/exporter-trace-otlp-proto')
const { resourceFromAttributes } = require('@opentelemetry/resources')

const provider = new NodeTracerProvider({ resource: resourceFromAttributes({ 'service.name': 'gated' }),
  spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter({ url: process.env.OTLP_URL + '/v1/traces' }), { scheduledDelayMillis: 100 })] })
provider.register()
const web = trace.getTracer('web'), shop = trace.getTracer('shop')
const sleep = ms => new Promise(resolve => setTimeout(resolve, ms))
const inSpan = (tracer, name, options, fn) => tracer.startActiveSpan(name, options, async span => {
  try {
    return await fn()
  } finally {
    span.end()
  }
})

async function request(n) {
  await inSpan(web, 'GET /order', { kind: SpanKind.SERVER, root: true }, async () => {
    await inSpan(shop, 'prepare', {}, () => inSpan(web, 'SELECT', { kind: SpanKind.CLIENT }, () => sleep(2)))
    await inSpan(shop, 'tax', {}, async () => {})
    await inSpan(shop, 'voucher', { attributes: { tries: n % 2 } }, () => sleep(n % 2 === 0 ? 1 : 60))
    await inSpan(shop, 'render', {}, () => sleep(1))
  })
}

let said
setInterval(() => {
  const on = [...gate.places].filter(([, is]) => is && gate.now() < gate.until).map(([place]) => place + '\n').join('')
  if (on !== said) {
    fs.writeFileSync(process.argv[2] + '.new', on)
    fs.renameSync(process.argv[2] + '.new', process.argv[2])
    said = on
  }
}, 20)
let n = 0
setInterval(() => request(n++), Number(process.argv[3] ?? 20))
setInterval(() => {
  fs.writeFileSync(process.argv[2] + '.made.new', `${n} ${gate.spans}\n`)
  fs.renameSync(process.argv[2] + '.made.new', process.argv[2] + '.made')
}, 100)
process.on('SIGTERM', () => process.exit(0))
