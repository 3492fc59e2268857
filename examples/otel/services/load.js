// SPDX-License-Identifier: GPL-3.0-or-later
// Users: requests at random times, at a rate, whatever the answers take.
//
//	node load.js --port P [--seconds S] [--rate R] [--seed N] [--log FILE] [--mix TYPE=WEIGHT]
//
// A line of the log: seconds since the epoch, type, ms, status.
'use strict'
const http = require('http')
const fs = require('fs')
const { parseArgs } = require('util')

const { values } = parseArgs({ options: { port: { type: 'string' }, seconds: { type: 'string', default: '600' },
  rate: { type: 'string', default: '30' }, seed: { type: 'string', default: '1' }, log: { type: 'string' },
  mix: { type: 'string', default: 'GET /basket/:customer=3,GET /history/:customer=1' } } })
const agent = new http.Agent({ keepAlive: true, maxSockets: 128 })
const log = values.log !== undefined ? fs.createWriteStream(values.log) : null
const mix = values.mix.split(',').map(part => [part.slice(0, part.lastIndexOf('=')), Number(part.slice(part.lastIndexOf('=') + 1))])
const weights = mix.reduce((sum, [, weight]) => sum + weight, 0)
let state = Number(values.seed) >>> 0 || 1

function random() { // xorshift (Marsaglia, 2003)
  state ^= state << 13
  state ^= state >>> 17
  state ^= state << 5
  return (state >>> 0) / 4294967296
}
function typeAtRandom() {
  let at = random() * weights
  return mix.find(([, weight]) => (at -= weight) < 0)[0]
}
function send() {
  const type = typeAtRandom(), began = performance.now(), path = type.split(' ')[1].replace(':customer', Math.floor(random() * 5000))
  const done = status => log?.write(`${Date.now() / 1000} ${type.replaceAll(' ', '_')} ${(performance.now() - began).toFixed(3)} ${status}\n`)

  http.get({ host: '127.0.0.1', port: Number(values.port), path, agent }, response =>
    response.resume().on('end', () => done(response.statusCode))).on('error', () => done(0))
}
const ends = performance.now() + Number(values.seconds) * 1000
let due = performance.now()
function turn() {
  for (; due <= performance.now(); due += -Math.log(1 - random()) * 1000 / Number(values.rate))
    send()
  performance.now() < ends ? setTimeout(turn, Math.max(due - performance.now(), 1)) : process.exit(0)
}
turn()
