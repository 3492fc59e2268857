// SPDX-License-Identifier: MIT
// The service's copy of @opentelemetry/api. `npm install FOLDER` makes a link, and the real folder has no packages beside it: then it is looked for
// as the program does, or in the current directory.
'use strict'
const path = require('path')

function load() {
  try {
    return require('@opentelemetry/api')
  } catch (e) {
    if (e.code !== 'MODULE_NOT_FOUND')
      throw e
  }
  const paths = [process.argv[1] && path.dirname(process.argv[1]), process.cwd()].filter(Boolean)
  return require(require.resolve('@opentelemetry/api', { paths }))
}

module.exports = load()
