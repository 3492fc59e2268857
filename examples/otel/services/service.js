// SPDX-License-Identifier: GPL-3.0-or-later
// What both services have: how they ask another one, an Express application at a port of this machine, /health, the switches of faults, and /gate, which lists the
// spans that Hone has turned on.
'use strict'
const { spansOn } = require('./telemetry')
const express = require('express')
const http = require('http')

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

// What another service answers to a GET.
function getJson(options) {
  return new Promise((resolve, reject) => {
    http.get({ host: '127.0.0.1', ...options }, response => {
      let body = ''
      response.setEncoding('utf8').on('data', part => { body += part }).on('error', reject).on('end', () =>
        response.statusCode === 200 ? resolve(JSON.parse(body)) : reject(new Error(`${options.path}: ${response.statusCode}`)))
    }).on('error', reject)
  })
}

module.exports = { serve, getJson, degree: name => faults.get(name) ?? 0 }
