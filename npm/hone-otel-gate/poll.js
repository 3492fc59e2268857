// SPDX-License-Identifier: MIT
// Asks hone-otel what it wants, again and again, at intervals that hone-otel names. Without an answer the lease of the last one
// ends, and everything is as the options say. A poll neither keeps the process alive nor makes spans.
'use strict'
const crypto = require('crypto')
const http = require('http')
const { context, createContextKey, diag, ROOT_CONTEXT } = require('./api')
const { version: GATE_VERSION } = require('./package.json')

const SUPPRESS = createContextKey('OpenTelemetry SDK Context Key SUPPRESS_TRACING') // as @opentelemetry/core names it
const RETRY_MS = 2000, TIMEOUT_MS = 2000, ANSWER_BYTES_MAX = 4 << 20, NAMES_AT_ONCE = 500, POLL_MIN_MS = 20, LEASE_MAX_MS = 60000

class Poll {
  constructor(gate, { url, service, log = text => diag.debug('hone-otel-gate: ' + text) }) {
    this.gate = gate
    this.url = new URL('/hone/v1/gate', url)
    if (this.url.protocol !== 'http:')
      throw new Error(`hone-otel-gate: ${url}: only http://`)
    this.service = service
    this.log = log
    this.instance = crypto.randomBytes(8).toString('hex')
    this.agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
    this.told = 0 // places that hone-otel has taken
    this.first = true
    this.trouble = ''
  }

  start() {
    this.stopped = false
    this.turn()
    return this
  }

  stop() {
    this.stopped = true
    clearTimeout(this.timer)
    this.request?.destroy()
    this.agent.destroy()
  }

  question() {
    const gate = this.gate, names = [...gate.places.keys()].slice(this.told, this.told + NAMES_AT_ONCE)

    return { names, body: JSON.stringify({ service: this.service(), pid: process.pid, instance: this.instance, gate: GATE_VERSION,
      first: this.first, version: gate.now() < gate.until ? gate.version : 0, names, spans: gate.spans,
      on_ns: Math.round(gate.startNs.get() + gate.endNs.get()), off_ns: Math.round(gate.offNs.get()) }) }
  }

  // Takes an answer; the time until the next question.
  take(answer, names) {
    const { version, lease_ms: lease, poll_ms: poll, share, on, again } = answer, changed = version !== this.gate.version

    if (![version, lease, poll, share].every(Number.isFinite) ||
        (on !== undefined && !(Array.isArray(on) && on.every(name => typeof name === 'string'))))
      throw new Error('an answer that is not hone-otel\'s')
    this.first = again === true
    this.told = again === true ? 0 : this.told + names.length
    this.gate.want({ version, on, share, leaseMs: Math.min(lease, LEASE_MAX_MS) })
    // At once: names that did not fit, and what is now in effect.
    return again === true || changed || names.length === NAMES_AT_ONCE ? POLL_MIN_MS : Math.max(poll, POLL_MIN_MS)
  }

  next(ms) {
    if (this.stopped)
      return
    this.timer = setTimeout(() => this.turn(), ms)
    this.timer.unref()
  }

  fail(why) {
    if (why !== this.trouble)
      this.log(`${this.url}: ${why}`)
    this.trouble = why
    this.next(RETRY_MS)
  }

  turn() {
    context.with(ROOT_CONTEXT.setValue(SUPPRESS, true), () => this.ask())
  }

  ask() {
    const { names, body } = this.question()
    let done = false
    const once = fn => value => {
      if (!done) {
        done = true
        fn(value)
      }
    }
    const failed = once(e => this.fail(e.message))
    const request = http.request(this.url, { method: 'POST', agent: this.agent, timeout: TIMEOUT_MS,
      headers: { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) } }, response => {
      const parts = []
      let bytes = 0

      response.on('data', part => {
        parts.push(part)
        if ((bytes += part.length) > ANSWER_BYTES_MAX)
          request.destroy(new Error('an answer that is too large'))
      })
      response.on('error', failed)
      response.on('end', once(() => {
        try {
          const text = Buffer.concat(parts).toString()
          if (response.statusCode !== 200)
            throw new Error(`${response.statusCode} ${text.slice(0, 200)}`)
          const ms = this.take(JSON.parse(text), names)
          this.trouble = ''
          this.next(ms)
        } catch (e) {
          this.fail(e.message)
        }
      }))
    })
    this.request = request
    request.on('socket', socket => socket.unref())
    request.on('timeout', () => request.destroy(new Error('no answer')))
    request.on('error', failed)
    request.end(body)
  }
}

module.exports = { Poll }
