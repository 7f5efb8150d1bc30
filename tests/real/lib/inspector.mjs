// SPDX-License-Identifier: Apache-2.0 OR MIT
// mcp-inspector --cli: the user's own command-line client. Its config file names the server as a desktop client's does.

import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

const ENTRY = 'node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js';

/** Runs one method and gives what its user sees: {stdout, stderr, status}. */
export function inspect(place, { command, args, cwd, env }, words) {
  const config = join(place.dir, 'inspector.json');
  writeFileSync(config, JSON.stringify({ mcpServers: { server: { type: 'stdio', command, args, cwd, env } } }));
  const argv = [join(place.setup.modules, ENTRY), '--cli', '--config', config, '--server', 'server', ...words];
  // Its own environment carries the mark too: were it left behind, the case would say so.
  const environment = { ...place.environment(), NODE_OPTIONS: '', MCP_INSPECTOR_SECRET_STORE: 'memory' };
  const child = spawn(process.execPath, argv, { env: environment, stdio: ['ignore', 'pipe', 'pipe'] });
  const seen = { stdout: '', stderr: '', status: null };
  child.stdout.setEncoding('utf8').on('data', (text) => {
    seen.stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text) => {
    seen.stderr += text;
  });
  return new Promise((resolve) => {
    child.on('close', (code, signal) => resolve({ ...seen, status: signal ?? code }));
  });
}
