// SPDX-License-Identifier: GPL-3.0-or-later
// A service under Elastic's distribution of OpenTelemetry, until it is ended: it answers requests by asking another server, each 20 ms. While the
// instrumentation undici is on, what it asks carries a traceparent: that is how the program itself sees it.
//
//	node --import @elastic/opentelemetry-node app.js STATE		STATE: a file with "on" or "off"
'use strict'
const fs = require('fs')
const http = require('http')
const net = require('net')

let said
const back = http.createServer((request, response) => {
  const now = request.headers.traceparent !== undefined ? 'on' : 'off'
  if (now !== said) {
    fs.writeFileSync(process.argv[2] + '.new', now + '\n')
    fs.renameSync(process.argv[2] + '.new', process.argv[2])
    said = now
  }
  response.end('ok')
})
const front = http.createServer(async (request, response) => {
  response.end(await (await fetch(`http://127.0.0.1:${back.address().port}/`)).text())
})

// By a plain socket, which no instrumentation sees.
function ask() {
  const socket = net.connect(front.address().port, '127.0.0.1', () => socket.end('GET /order HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'))
  socket.on('error', () => {})
  socket.resume()
}
back.listen(0, '127.0.0.1', () => front.listen(0, '127.0.0.1', () => setInterval(ask, 20)))
process.on('SIGTERM', () => process.exit(0))
