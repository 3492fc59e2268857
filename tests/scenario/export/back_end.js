// SPDX-License-Identifier: GPL-3.0-or-later
// A back end that takes OTLP/HTTP (POST /v1/traces) and Zipkin's API (POST /api/v2/spans) and answers as it is told. It prints its port, and
// a line of JSON for each request: the time since the one before, the path, headers, the number of spans, and the answer.
// usage: HONE_EXPORT_MODULES=FOLDER node back_end.js ANSWER...   each 200, partial, 503, 503+SECONDS, hang (no answer); the last one is repeated
'use strict';
const http = require('http'), path = require('path'), zlib = require('zlib');
const root = require(path.join(process.env.HONE_EXPORT_MODULES, 'node_modules', '@opentelemetry/otlp-transformer/build/src/generated/root'));
const Request = root.opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest;
const answers = process.argv.slice(2);
let last = Date.now(), n = 0;

function spansOf(url, body) {
  const document = JSON.parse(body);
  if (url === '/api/v2/spans') return document.length;
  return Request.fromObject(document).resourceSpans.flatMap((r) => r.scopeSpans.map((s) => s.spans.length)).reduce((a, b) => a + b, 0);
}

http.createServer((req, res) => {
  const chunks = [];
  req.on('data', (c) => chunks.push(c));
  req.on('end', () => {
    const how = answers[Math.min(n++, answers.length - 1)], [status, seconds] = how.split('+');
    const said = { after_ms: Date.now() - last, path: req.url, method: req.method, type: req.headers['content-type'],
      encoding: req.headers['content-encoding'], key: req.headers['x-key'], agent: req.headers['user-agent'], answer: how };
    last = Date.now();
    try { said.spans = spansOf(req.url, zlib.gunzipSync(Buffer.concat(chunks))); } catch (e) { said.error = String(e); }
    console.log(JSON.stringify(said));
    if (how === 'hang') return;
    if (seconds) res.setHeader('Retry-After', seconds);
    res.setHeader('Content-Type', 'application/json');
    if (how === 'partial') res.end('{"partialSuccess":{"rejectedSpans":"2","errorMessage":"two are too old"}}');
    else if (status === '200' && req.url === '/api/v2/spans') { res.statusCode = 202; res.end(); }
    else { res.statusCode = Number(status); res.end(status === '200' ? '{}' : '{"message":"as told"}'); }
  });
}).listen(0, '127.0.0.1', function () { console.log(JSON.stringify({ port: this.address().port })); });
