// SPDX-License-Identifier: MIT
// node --require hone-otel-gate/register app.js, before what starts the SDK.
'use strict'
require('./index').install()
