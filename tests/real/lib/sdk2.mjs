// SPDX-License-Identifier: Apache-2.0 OR MIT
// @modelcontextprotocol/client 2.x in its `auto` mode: it starts the command a first time to ask `server/discover`,
// ends that one with a signal, and starts it again to stay.

import { createRequire } from 'node:module';

/** A result schema that lets everything through, in the form ("standard schema") that the 2.x client takes. */
const anything = { '~standard': { version: 1, vendor: 'aegis-test-real', validate: (value) => ({ value }) } };

export function sdk2(modules) {
  const require = createRequire(`${modules}/package.json`);
  const { Client } = require('@modelcontextprotocol/client');
  const { StdioClientTransport } = require('@modelcontextprotocol/client/stdio');
  return {
    id: 'sdk2',
    starts: 2,
    make(command, capabilities) {
      const client = new Client(
        { name: 'aegis-test-real', version: '1' },
        { capabilities, versionNegotiation: { mode: 'auto' } },
      );
      return { client, transport: new StdioClientTransport(command) };
    },
    callTool: (client, params, options) => client.callTool(params, options),
    request: (client, request, options) => client.request(request, anything, options),
    subscribe: (client, uri) => client.subscribeResource({ uri }),
  };
}
