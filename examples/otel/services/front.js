// SPDX-License-Identifier: GPL-3.0-or-later
// The shop's front: asks the price service for what a basket costs, and for what a customer has ordered.
'use strict'
const { inSpan } = require('./telemetry')
const http = require('http')
const { serve, getJson } = require('./service')

const [port, pricePort] = process.argv.slice(2).map(Number)
const agent = new http.Agent({ keepAlive: true, maxSockets: 64 })
const get = path => getJson({ port: pricePort, path, agent })

const tokenOf = customer => inSpan('token', { customer }, async () => Buffer.from('customer ' + customer).toString('base64'))
const groupOf = customer => inSpan('group', { customer }, async () => customer % 6)
const sessionOf = customer => inSpan('session', { customer }, async () =>
  ({ customer, token: await tokenOf(customer), group: await groupOf(customer) }))
const worded = cents => inSpan('words', { goods: cents.length }, async () => cents.map(c => (c / 100).toFixed(2)))
const totalOf = cents => inSpan('total', { goods: cents.length }, async () => cents.reduce((sum, c) => sum + c, 0))

serve(port, app => {
  app.get('/basket/:customer', async (request, response) => {
    const session = await sessionOf(Number(request.params.customer))
    const price = await get(`/price/${session.customer}?group=${session.group}`)

    await inSpan('render', {}, async () =>
      response.json({ customer: session.customer, prices: await worded(price.cents), total: await totalOf(price.cents), stock: price.stock }))
  })
  app.get('/history/:customer', async (request, response) => {
    const session = await sessionOf(Number(request.params.customer)), { orders, cents } = await get(`/orders/${session.customer}`)

    await inSpan('render', { orders: orders.length }, async () => response.json({ orders, total: cents }))
  })
})
