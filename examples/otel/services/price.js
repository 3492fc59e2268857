// SPDX-License-Identifier: GPL-3.0-or-later
// The price service: goods of a basket from Redis, their prices from PostgreSQL, what is there of them from the service in C, rules for tax and
// vouchers; and what a customer has ordered.
//
// The fault `voucher`: a check of vouchers that is tried again and again after a pause, for two of six groups of customers. `pool`: the pool of
// connections to PostgreSQL has one, which invoices hold while they are written.
'use strict'
const { inSpan } = require('./telemetry')
const crypto = require('crypto')
const http = require('http')
const { setTimeout: pause } = require('timers/promises')
const Redis = require('ioredis')
const { Pool } = require('pg')
const { degree, serve, getJson } = require('./service')

const [port, redisPath, pgPath, stockPort] = process.argv.slice(2)
const redis = new Redis({ path: redisPath })
const poolOf = max => new Pool({ host: pgPath, user: 'shop', database: 'postgres', max })
const wide = poolOf(20), narrow = poolOf(1)
const pool = () => degree('pool') > 0 ? narrow : wide
const agent = new http.Agent({ keepAlive: true, maxSockets: 64 })
const TRIES = 10, PAUSE_MS = 40, VOUCHER_GROUPS = [1, 4], INVOICE_MS = 50

// ---- a basket ----

const baskets = key => inSpan('kept', {}, async () => redis.get(key))
const decoded = (kept, customer) => inSpan('decode', { length: kept?.length ?? 0 }, async () =>
  kept !== null ? JSON.parse(kept) : [1 + customer % 50, 2 + customer % 70])
const goodsOf = customer => inSpan('goods', { customer }, async () => decoded(await baskets('basket:' + customer % 100), customer))
const rowsOf = goods => inSpan('rows', { goods: goods.length }, async () =>
  (await pool().query('SELECT id, cents FROM goods WHERE id = ANY($1)', [goods])).rows)
const sorted = rows => inSpan('sort', { rows: rows.length }, async () => rows.sort((a, b) => a.id - b.id))
const priced = goods => inSpan('lookup', { goods: goods.length }, async () => sorted(await rowsOf(goods)))
const there = goods => inSpan('stock', { goods: goods.length }, () =>
  getJson({ port: Number(stockPort), path: '/stock?goods=' + goods.join(','), agent }))
const rateOf = region => inSpan('rate', { region }, async () => region === 0 ? 1.19 : 1.07)
const taxed = (rows, region) => inSpan('tax', {}, async () => {
  const rate = await rateOf(region)
  return inSpan('tax-round', { rows: rows.length }, async () => rows.map(row => Math.round(row.cents * rate)))
})
const voucher = group => inSpan('voucher', { group }, async () => {
  for (let tries = VOUCHER_GROUPS.includes(group) ? TRIES * degree('voucher') : 0; tries > 0; tries--)
    await pause(PAUSE_MS)
  return crypto.createHash('sha256').update('voucher ' + group).digest('hex')
})
const loyalty = customer => inSpan('loyalty', { customer }, async () => customer % 7 === 0 ? 5 : 0)
const campaign = () => inSpan('campaign', {}, async () => 0)
const discounted = (cents, group, customer) => inSpan('discount', {}, async () => {
  await voucher(group)
  const off = await loyalty(customer) + await campaign()
  return inSpan('round', {}, async () => cents.map(c => c - c % 5 - off))
})
const signed = cents => inSpan('sign', { goods: cents.length }, async () => crypto.createHash('sha256').update(cents.join()).digest('hex').slice(0, 8))

// ---- orders ----

const written = rows => inSpan('invoice', { rows: rows.length }, async () => {
  await pause(INVOICE_MS)
  return rows
})
const ordersOf = customer => inSpan('orders', { customer }, async () => {
  const client = await pool().connect()
  try {
    return await written((await client.query('SELECT id, cents FROM orders WHERE customer = $1 ORDER BY id DESC LIMIT 10', [customer])).rows)
  } finally {
    client.release()
  }
})
const summed = rows => inSpan('sum', { rows: rows.length }, async () => ({ orders: rows, cents: rows.reduce((sum, row) => sum + row.cents, 0) }))

serve(Number(port), app => {
  app.get('/price/:customer', async (request, response) => {
    const customer = Number(request.params.customer), goods = await goodsOf(customer)
    const rows = await priced(goods), stock = await there(goods)
    const cents = await discounted(await taxed(rows, customer % 2), Number(request.query.group), customer)

    response.json({ cents, stock, sign: await signed(cents) })
  })
  app.get('/orders/:customer', async (request, response) => {
    response.json(await summed(await ordersOf(Number(request.params.customer))))
  })
})
