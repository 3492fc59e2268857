// SPDX-License-Identifier: GPL-3.0-or-later
// OpenTelemetry for a service of the shop, before all else: the gate, the SDK, and the instrumentation of what is used. Inner spans are
// off by default: the shop's own functions, Express' handlers, and connections of the pool.
'use strict'
const { install } = require('hone-otel-gate')

const gate = install({ off: ['shop-*', '@opentelemetry/instrumentation-express', '@opentelemetry/instrumentation-pg:pg-pool.connect'],
  url: process.env.OTEL_EXPORTER_OTLP_ENDPOINT, log: text => console.error(text) }).gate

const { trace } = require('@opentelemetry/api')
const { NodeTracerProvider, BatchSpanProcessor } = require('@opentelemetry/sdk-trace-node')
const { OTLPTraceExporter } = require('@opentelemetry/exporter-trace-otlp-proto')
const { resourceFromAttributes } = require('@opentelemetry/resources')
const { registerInstrumentations } = require('@opentelemetry/instrumentation')
const { HttpInstrumentation } = require('@opentelemetry/instrumentation-http')
const { ExpressInstrumentation } = require('@opentelemetry/instrumentation-express')
const { PgInstrumentation } = require('@opentelemetry/instrumentation-pg')
const { IORedisInstrumentation } = require('@opentelemetry/instrumentation-ioredis')

const provider = new NodeTracerProvider({
  resource: resourceFromAttributes({ 'service.name': process.env.OTEL_SERVICE_NAME }),
  spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter({ url: process.env.OTEL_EXPORTER_OTLP_ENDPOINT + '/v1/traces' }),
    { scheduledDelayMillis: 200, maxQueueSize: 8192 })]
})
provider.register()
registerInstrumentations({ instrumentations: [
  new HttpInstrumentation({ ignoreIncomingRequestHook: request => /^\/(health|fault|gate)/.test(request.url) }),
  new ExpressInstrumentation(), new PgInstrumentation({ requireParentSpan: true }), new IORedisInstrumentation({ requireParentSpan: true })] })

const tracer = trace.getTracer('shop-' + process.env.OTEL_SERVICE_NAME)

// Runs fn(span) in a span of the service's own scope.
async function inSpan(name, attributes, fn) {
  return tracer.startActiveSpan(name, { attributes }, async span => {
    try {
      return await fn(span)
    } finally {
      span.end()
    }
  })
}

for (const signal of ['SIGTERM', 'SIGINT'])
  process.on(signal, () => provider.shutdown().catch(() => {}).then(() => process.exit(0)))
// The spans that Hone has turned on, and that are on now.
const spansOn = () => [...gate.places].filter(([, on]) => on && gate.now() < gate.until).map(([place]) => place)

module.exports = { inSpan, spansOn }
