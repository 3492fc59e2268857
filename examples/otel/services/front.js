// SPDX-License-Identifier: GPL-3.0-or-later
// The shop's front: asks the price service for what a basket costs, and writes orders down.
'use strict'
const { inSpan } = require('./telemetry')
const http = require('http')
const { serve } = require('./service')

const [port, pricePort] = process.argv.slice(2).map(Number)
const agent = new http.Agent({ keepAlive: true, maxSockets: 64 })

function get(path) {
  return new Promise((resolve, reject) => {
    http.get({ host: '127.0.0.1', port: pricePort, path, agent }, response => {
      let body = ''
      response.setEncoding('utf8').on('data', part => { body += part }).on('error', reject).on('end', () =>
        response.statusCode === 200 ? resolve(JSON.parse(body)) : reject(new Error(`${path}: ${response.statusCode}`)))
    }).on('error', reject)
  })
}

serve(port, app => {
  app.get('/basket/:customer', async (request, response) => {
    const customer = Number(request.params.customer)
    const session = await inSpan('session', { customer }, async () => ({ customer, group: customer % 6 }))
    const price = await get(`/price/${customer}?group=${session.group}`)

    await inSpan('render', {}, async () => response.json({ customer, ...price }))
  })
  app.get('/history/:customer', async (request, response) => {
    const orders = await get(`/orders/${Number(request.params.customer)}`)

    await inSpan('render', { orders: orders.length }, async () => response.json(orders))
  })
})
