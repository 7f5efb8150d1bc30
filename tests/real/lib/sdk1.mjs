// SPDX-License-Identifier: Apache-2.0 OR MIT
// @modelcontextprotocol/sdk 1.x, as an application uses it.

import { createRequire } from 'node:module';

export function sdk1(modules) {
  const require = createRequire(`${modules}/package.json`);
  const { Client } = require('@modelcontextprotocol/sdk/client/index.js');
  const { StdioClientTransport } = require('@modelcontextprotocol/sdk/client/stdio.js');
  const { ResultSchema } = require('@modelcontextprotocol/sdk/types.js');
  return {
    id: 'sdk1',
    starts: 1,
    make(command, capabilities) {
      const client = new Client({ name: 'aegis-test-real', version: '1' }, { capabilities });
      return { client, transport: new StdioClientTransport(command) };
    },
    callTool: (client, params, options) => client.callTool(params, undefined, options),
    request: (client, request, options) => client.request(request, ResultSchema, options),
    subscribe: (client, uri) => client.subscribeResource({ uri }),
  };
}
