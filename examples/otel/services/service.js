// SPDX-License-Identifier: GPL-3.0-or-later
// What both services have: an Express application at a port of this machine, /health, the switches of faults, and /gate, which lists the
// spans that Hone has turned on.
'use strict'
const { spansOn } = require('./telemetry')
const express = require('express')

const faults = new Map() // by name, the degree; not there: off

function serve(port, routes) {
  const app = express()

  app.disable('x-powered-by')
  app.get('/health', (request, response) => response.end('ok\n'))
  app.post('/fault', (request, response) => {
    faults.set(request.query.name, Number(request.query.on))
    response.end('ok\n')
  })
  app.get('/gate', (request, response) => response.end(spansOn().map(place => place + '\n').join('')))
  routes(app)
  app.use((error, request, response, next) => {
    console.error(error.message)
    response.headersSent ? next(error) : response.status(500).end('failed\n')
  })
  app.listen(port, '127.0.0.1')
}

module.exports = { serve, degree: name => faults.get(name) ?? 0 }
