// SPDX-License-Identifier: MIT
// The gate itself: a TracerProvider around another one. A span that is off is not recorded, and hands on its parent's context, so
// its children get the span above it as their parent and the trace stays whole. Knows no clock but `now`, and no network.
'use strict'
const { context, createContextKey, trace } = require('./api')

const POINT = 'hone.point' // attribute of a span that Hone has turned on: its place, as below
const SUPPRESS = createContextKey('OpenTelemetry SDK Context Key SUPPRESS_TRACING') // as @opentelemetry/core names it
const NAMES_MAX = 4096, PLACE_MAX = 240, MEASURE_ON = 8, MEASURE_OFF = 256, SAMPLES = 31, STEP_MS = 3

// Where a span is made: 'SCOPE:NAME'. The first colon is the one between them; '*' has a meaning where places are named.
function placeOf(scope, name) {
  const place = (scope || 'unknown').replace(/[:*\x00-\x1f\x7f]/g, '_') + ':' + (String(name) || 'unknown').replace(/[*\x00-\x1f\x7f]/g, '_')
  return Buffer.byteLength(place) <= PLACE_MAX ? place : Buffer.from(place).toString('utf8', 0, PLACE_MAX).replace(/\ufffd+$/, '')
}

// A rule: { scope, name }, in which '*' is any text and what is missing is '*'; or 'SCOPE:NAME', or 'SCOPE'.
function patternOf(rule) {
  const [scope = '*', ...rest] = typeof rule === 'string' ? rule.split(':') : [rule.scope, rule.name ?? '*']
  const name = rest.length > 0 ? rest.join(':') : '*'
  const regexp = text => new RegExp('^' + text.split('*').map(part => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&')).join('.*') + '$', 's')
  return { scope: regexp(scope), name: regexp(name) }
}

// 0 to 1, by the last 8 bytes of a trace's id; hone-otel draws in the same way (otel/spans/trace_draw.h): MurmurHash3's
// finalizer (Appleby) of both halves.
function mix(h) {
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return (h ^ (h >>> 16)) >>> 0
}
function draw(traceId) {
  const high = parseInt(traceId.slice(16, 24), 16), low = parseInt(traceId.slice(24, 32), 16)
  return mix(mix((low ^ 0x6f74656c) >>> 0) ^ high) / 4294967296
}

// Now, as a time of spans, exact to microseconds, in the order in which things happened. SDKs begin a span at Date.now(), which is cut to
// a millisecond, so of spans that follow each other quickly the order would be lost. Follows the wall clock when that is set.
let originMs = performance.timeOrigin
function exactNow() {
  const at = performance.now(), wall = Date.now()
  let ms = originMs + at

  if (wall - ms > STEP_MS || ms - wall > STEP_MS) {
    originMs = wall - at
    ms = wall
  }
  const seconds = Math.trunc(ms / 1000)
  return [seconds, Math.floor((ms - seconds * 1000) * 1e6)]
}

// SDKs take the time of what follows from Date.now(), too, when the begin was given.
function makeExact(span, ended) {
  const { addEvent, end } = span

  span.addEvent = function (name, attributes, time) {
    const isTime = typeof attributes === 'number' || attributes instanceof Date || Array.isArray(attributes)
    return isTime ? addEvent.call(this, name, attributes, time) : addEvent.call(this, name, attributes, time ?? exactNow())
  }
  span.end = function (time) {
    const began = ended !== undefined ? ended.gate.now() : 0

    end.call(this, time ?? exactNow())
    if (ended !== undefined)
      ended.gate.measure('endNs', began)
  }
  return span
}

// The median of the last SAMPLES times: of those, some include waiting for a processor, or compiling.
class Median {
  constructor() {
    this.times = []
    this.at = 0
  }
  add(time) {
    this.times[this.at++ % SAMPLES] = time
  }
  get() {
    const sorted = Array.from(this.times).sort((a, b) => a - b)
    return sorted.length > 0 ? sorted[sorted.length >> 1] : 0
  }
}

class Gate {
  // off: rules of the spans that are off while Hone does not want them. now(): milliseconds of a monotonic clock.
  constructor({ off = [], now = () => performance.now() } = {}) {
    this.off = off.map(patternOf)
    this.now = now
    this.places = new Map() // of spans that a rule names and that were asked for: by place, whether it is on
    this.version = 0 // of what Hone wants, as it is in effect
    this.until = -Infinity // the end of its lease
    this.share = 0
    this.spans = 0 // that were on
    this.missed = 0 // of places past NAMES_MAX
    this.startNs = new Median() // to begin a span that is on, to end it, and of one that is off
    this.endNs = new Median()
    this.offNs = new Median()
  }

  isOffByDefault(scope, name) {
    return this.off.some(rule => rule.scope.test(scope) && rule.name.test(name))
  }

  // Takes what Hone wants, until its lease ends. on: places; missing: as before.
  want({ version, on, share, leaseMs }) {
    if (on !== undefined) {
      for (const place of this.places.keys())
        this.places.set(place, false)
      for (const place of on)
        if (this.places.has(place))
          this.places.set(place, true)
    }
    this.version = version
    this.share = share
    this.until = this.now() + leaseMs
  }

  // 'SCOPE:NAME' if a rule names this span, else undefined. Places of a tracer are kept in `known`.
  place(known, scope, name) {
    let place = known.get(name)

    if (place === undefined) {
      place = this.isOffByDefault(scope, name) ? placeOf(scope, name) : null
      if (known.size < NAMES_MAX)
        known.set(name, place)
    }
    if (place !== null && !this.places.has(place)) {
      if (this.places.size < NAMES_MAX)
        this.places.set(place, false)
      else
        this.missed++
    }
    return place
  }

  // A request that begins in a program with libhone is chosen by that; its tracestate says so: the last digit of hone=, bit 2.
  isProbed(parent) {
    const hone = parent.traceState?.get('hone')

    return hone !== undefined ? (parseInt(hone.slice(-1), 16) & 2) !== 0 : draw(parent.traceId) < this.share
  }

  isOn(place, parent) {
    return this.places.get(place) === true && this.now() < this.until && this.isProbed(parent)
  }

  measure(which, beganMs) {
    this[which].add((this.now() - beganMs) * 1e6)
  }

  wrap(provider) {
    return provider instanceof GateProvider ? provider : new GateProvider(this, provider)
  }
}

class GateTracer {
  constructor(gate, tracer, scope) {
    this.gate = gate
    this.tracer = tracer
    this.scope = scope
    this.known = new Map()
    this.offs = 0
  }

  startSpan(name, options = {}, at = context.active()) {
    const gate = this.gate, parent = trace.getSpanContext(at)
    let place

    // A root, and the first span of a service, are what requests and their units are made of: they stay as they are.
    if (parent === undefined || options.root || parent.isRemote || !trace.isSpanContextValid(parent) || at.getValue(SUPPRESS))
      return this.begin(name, options, at)
    place = gate.place(this.known, this.scope, name)
    if (place === null)
      return this.begin(name, options, at)
    return gate.isOn(place, parent) ? this.startOn(place, name, options, at) : this.startOff(parent)
  }

  begin(name, options, at, ended) {
    if (options.startTime !== undefined)
      return this.tracer.startSpan(name, options, at)
    const span = this.tracer.startSpan(name, { ...options, startTime: exactNow() }, at)
    return span.isRecording() ? makeExact(span, ended) : span
  }

  startOff(parent) {
    const began = this.offs++ % MEASURE_OFF === 0 ? this.gate.now() : undefined
    const span = trace.wrapSpanContext(parent)

    if (began !== undefined)
      this.gate.measure('offNs', began)
    return span
  }

  startOn(place, name, options, at) {
    const gate = this.gate, measured = gate.spans++ % MEASURE_ON === 0, began = measured ? gate.now() : 0
    const span = this.begin(name, options, at, measured ? this : undefined)

    if (span.isRecording()) {
      span.setAttribute(POINT, place)
      if (measured)
        gate.measure('startNs', began)
    }
    return span
  }

  // (name, fn), (name, options, fn), (name, options, context, fn)
  startActiveSpan(name, ...args) {
    const fn = args.pop()

    if (typeof fn !== 'function')
      return undefined
    const [options, at = context.active()] = args
    const span = this.startSpan(name, options, at)
    return context.with(trace.setSpan(at, span), fn, undefined, span)
  }
}

class GateProvider {
  constructor(gate, provider) {
    this.gate = gate
    this.provider = provider
  }

  getTracer(name, version, options) {
    return new GateTracer(this.gate, this.provider.getTracer(name, version, options), name)
  }

  // What SDKs add to a TracerProvider.
  getDelegate() {
    return this.provider
  }
  forceFlush() {
    return this.provider.forceFlush?.() ?? Promise.resolve()
  }
  shutdown() {
    return this.provider.shutdown?.() ?? Promise.resolve()
  }
}

module.exports = { Gate, draw, placeOf, POINT, NAMES_MAX }
