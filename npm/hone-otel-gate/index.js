// SPDX-License-Identifier: MIT
'use strict'
const api = require('./api')
const { Gate, draw, placeOf } = require('./gate')
const { Poll } = require('./poll')

const URL_DEFAULT = 'http://127.0.0.1:4318'

// OTEL_SERVICE_NAME, or service.name of OTEL_RESOURCE_ATTRIBUTES, or of the SDK's resource.
function serviceName(provider) {
  const fromEnvironment = process.env.OTEL_SERVICE_NAME ||
    (process.env.OTEL_RESOURCE_ATTRIBUTES || '').split(',').map(pair => pair.trim().split('=')).find(([key]) => key === 'service.name')?.[1]
  const resource = provider?._resource ?? provider?.resource

  return fromEnvironment || resource?.attributes?.['service.name'] || 'unknown_service:node'
}

// Puts a gate before the TracerProvider, the one that is registered or the next one that is. Of two calls the second one gives the
// same gate. Options are in index.d.ts.
let installed

function install(options = {}) {
  if (installed !== undefined)
    return installed
  const gate = new Gate({ off: options.off ?? (process.env.HONE_GATE_OFF || '').split(',').map(s => s.trim()).filter(Boolean) })
  let provider
  const poll = new Poll(gate, { url: options.url || process.env.HONE_GATE_URL || URL_DEFAULT, log: options.log,
    service: () => options.service || serviceName(provider) })
  const set = api.trace.setGlobalTracerProvider
  const proxy = api.trace.getTracerProvider()

  api.trace.setGlobalTracerProvider = function (next) {
    provider = next
    return set.call(this, gate.wrap(next))
  }
  // One that was registered before: tracers that were handed out and have made a span go on as they are.
  if (typeof proxy.setDelegate === 'function' && proxy.getDelegate().constructor.name !== 'NoopTracerProvider') {
    provider = proxy.getDelegate()
    proxy.setDelegate(gate.wrap(provider))
  }
  poll.start()
  installed = { gate, wrap: next => gate.wrap(provider = next), uninstall() {
    poll.stop()
    api.trace.setGlobalTracerProvider = set
    installed = undefined
  } }
  return installed
}

module.exports = { install, Gate, draw, placeOf }
