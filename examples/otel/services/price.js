// SPDX-License-Identifier: GPL-3.0-or-later
// The price service: goods of a basket from Redis, their prices from PostgreSQL, rules for tax and vouchers.
//
// The fault `voucher`: a check of vouchers that is tried again and again after a pause, for two of six groups of customers.
'use strict'
const { inSpan } = require('./telemetry')
const crypto = require('crypto')
const { setTimeout: pause } = require('timers/promises')
const Redis = require('ioredis')
const { Pool } = require('pg')
const { degree, serve } = require('./service')

const [port, redisPath, pgPath] = process.argv.slice(2)
const redis = new Redis({ path: redisPath })
const pool = new Pool({ host: pgPath, user: 'shop', database: 'postgres' })
const TRIES = 10, PAUSE_MS = 40, VOUCHER_GROUPS = [1, 4]

const goodsOf = customer => inSpan('goods', { customer }, async () => {
  const kept = await redis.get('basket:' + customer % 100)
  return kept !== null ? JSON.parse(kept) : [1 + customer % 50, 2 + customer % 70]
})
const priced = goods => inSpan('lookup', { goods: goods.length }, async () =>
  (await pool.query('SELECT id, cents FROM goods WHERE id = ANY($1)', [goods])).rows)
const taxed = rows => inSpan('tax', {}, async () => rows.map(row => Math.round(row.cents * 1.19)))
const voucher = group => inSpan('voucher', { group }, async () => {
  for (let tries = VOUCHER_GROUPS.includes(group) ? TRIES * degree('voucher') : 0; tries > 0; tries--)
    await pause(PAUSE_MS)
  return crypto.createHash('sha256').update('voucher ' + group).digest('hex')
})
const discounted = (cents, group) => inSpan('discount', {}, async () => {
  await voucher(group)
  return inSpan('round', {}, async () => cents.map(c => c - c % 5))
})

serve(Number(port), app => {
  app.get('/price/:customer', async (request, response) => {
    const goods = await goodsOf(Number(request.params.customer))
    const cents = await taxed(await priced(goods))

    response.json({ cents: await discounted(cents, Number(request.query.group)) })
  })
  app.get('/orders/:customer', async (request, response) => {
    const customer = Number(request.params.customer)

    response.json(await inSpan('orders', { customer }, async () =>
      (await pool.query('SELECT id, cents FROM orders WHERE customer = $1 ORDER BY id DESC LIMIT 10', [customer])).rows))
  })
})
