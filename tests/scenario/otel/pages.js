// SPDX-License-Identifier: GPL-3.0-or-later
// A service with OpenTelemetry's SDK and its instrumentation of HTTP and PostgreSQL, behind nginx and in front of a database, which both have Hone's
// modules; it knows nothing of Hone. Says its port on standard output.
//
//	node pages.js DATABASE		DATABASE: the folder of its socket. HONE_OTEL_MODULES: the packages of examples/otel; OTLP_URL: where spans are sent
'use strict'
const path = require('path')
const load = name => require(path.join(process.env.HONE_OTEL_MODULES, 'node_modules', name))
const { NodeTracerProvider, BatchSpanProcessor } = load('@opentelemetry/sdk-trace-node')
const { resourceFromAttributes } = load('@opentelemetry/resources')
const { OTLPTraceExporter } = load('@opentelemetry/exporter-trace-otlp-proto')
const { registerInstrumentations } = load('@opentelemetry/instrumentation')
const { HttpInstrumentation } = load('@opentelemetry/instrumentation-http')
const { PgInstrumentation } = load('@opentelemetry/instrumentation-pg')

const provider = new NodeTracerProvider({ resource: resourceFromAttributes({ 'service.name': 'pages' }),
  spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter({ url: process.env.OTLP_URL }), { scheduledDelayMillis: 200 })] })
provider.register()
registerInstrumentations({ instrumentations: [new HttpInstrumentation(),
  new PgInstrumentation({ requireParentSpan: true, addSqlCommenterCommentToQueries: true })] })

const http = require('http')
const { Pool } = load('pg')
const pool = new Pool({ host: process.argv[2], user: 'postgres', database: 'postgres' })
http.createServer(async (request, response) => {
  const { rows } = await pool.query('SELECT sum(i) FROM generate_series(1, 20000) i')
  response.end(rows[0].sum + '\n')
}).listen(0, '127.0.0.1', function () { console.log(this.address().port) })
process.on('SIGTERM', () => provider.shutdown().finally(() => process.exit(0)))
