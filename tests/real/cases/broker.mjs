// SPDX-License-Identifier: Apache-2.0 OR MIT
// The broker's tools with real clients: through `aegis mcp`, and through `aegis wrap --broker` in front of a server
// that has tools of its own and of one whose own tool is called as one of aegis's. The clients check what they are
// answered against the tools' output schemas.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { App } from '../lib/app.mjs';
import { inspect } from '../lib/inspector.mjs';
import { frames, records, verdictProblems } from '../lib/record.mjs';
import { argvOf, servers } from '../lib/servers.mjs';

const TOOLS = ['list_dir', 'read_text', 'run_command', 'run_python'];
const WORDS = 'read by aegis itself';
const commands = (place) => [
  process.execPath,
  join(place.setup.modules, 'node_modules/mcp-server-commands/build/index.js'),
];

/** How each is started, and what tools of its own stay. */
const fronts = {
  mcp: { command: (place, policy) => place.command([...place.setup.aegis, 'mcp', '--policy', policy]), own: false },
  'wrap filesystem': {
    command: (place, policy) => place.command(argvOf(servers.filesystem, place), { wrap: ['--broker', policy] }),
    own: 'read_text_file',
  },
  'wrap commands': {
    command: (place, policy) => place.command(commands(place), { wrap: ['--broker', policy] }),
    own: false,
    hidden: 'run_command',
  },
};

export function broker(suite, sdks) {
  for (const [name, front] of Object.entries(fronts)) {
    for (const sdk of sdks) suite.add(`broker ${name} ${sdk.id}`, (t) => withSdk(t, sdk, front));
    suite.add(`broker ${name} inspector`, (t) => withInspector(t, front));
  }
}

/** A workspace and a policy for it: [place, command]. */
function begin(t, front) {
  t.needsAegis();
  const place = t.place();
  place.fresh(servers.filesystem.seed);
  mkdirSync(join(place.dir, 'ws/data'), { recursive: true });
  writeFileSync(join(place.dir, 'ws/data/note.txt'), WORDS);
  const policy = join(place.dir, 'broker.json');
  writeFileSync(
    policy,
    JSON.stringify({
      version: '1.0',
      policy_id: 'real',
      name: 'real',
      workspace_root: 'ws',
      allowed_operations: TOOLS,
      execution_rules: { allowed_binaries: ['ls'] },
    }),
  );
  return [place, front.command(place, policy)];
}

function checkList(t, tools, front) {
  const ours = tools.filter(({ name }) => TOOLS.includes(name));
  t.equal('the broker’s tools', ours.map(({ name }) => name).toSorted(), TOOLS);
  for (const { name, inputSchema, outputSchema, description } of ours)
    t.expect(inputSchema?.type === 'object' && outputSchema && description, `${name} is not described`);
  if (front.own) t.expect(tools.some(({ name }) => name === front.own), `the server's own ${front.own} is gone`);
}

async function withSdk(t, sdk, front) {
  const [place, command] = begin(t, front);
  const app = new App(sdk, command);
  const connected = await app.connect();
  if (!t.expect(connected.result, `no connection: ${JSON.stringify(connected)} ${app.chunks}`)) return;
  const listed = await app.step('tools', () => app.client.listTools());
  if (t.expect(listed.result, `no list: ${JSON.stringify(listed)}`)) checkList(t, listed.result.tools, front);

  const read = await app.call('read_text', { path: 'data/note.txt' });
  t.expect(JSON.stringify(read.result?.content)?.includes(WORDS), `read_text: ${JSON.stringify(read)}`);
  const refused = await app.call('read_text', { path: '../broker.json' });
  t.equal('its code', refused.result?.structuredContent?.code, 'PATH_BOUNDARY_VIOLATION');
  const wrong = await app.call('list_dir', { path: 'data', depth: 1 });
  t.equal('a wrong member', wrong.result?.structuredContent?.code, 'SCHEMA_VALIDATION_FAILURE');
  const ran = await app.call('run_python', { code: 'print(6 * 7)' });
  const unavailable = ran.result?.structuredContent?.code === 'SANDBOX_UNAVAILABLE';
  if (!unavailable) {
    t.equal('run_python', ran.result?.structuredContent?.stdout, '42\n');
    const command_ = await app.call('run_command', { argv: ['ls', 'data'] });
    t.equal('run_command', command_.result?.structuredContent?.stdout, 'note.txt\n');
  }
  if (front.own) {
    const own = await app.call(front.own, { path: join(place.work, 'a.txt') });
    t.expect(JSON.stringify(own.result)?.includes('first'), `the server's own tool: ${JSON.stringify(own)}`);
  }
  const seen = await app.close();
  t.equal('library errors', seen.errors, []);
  await checkBehind(t, place, front, seen);
  if (unavailable) t.skip(`no sandbox: ${JSON.stringify(ran.result.content)}`);
}

/** The server got no call of an operation, the collision was said, and the record verifies. */
async function checkBehind(t, place, front, seen) {
  for (const tap of await place.taps('back')) {
    const sent = frames(tap.in).map(String);
    t.expect(!sent.some((frame) => TOOLS.some((name) => frame.includes(`"name":"${name}"`))), 'the server saw a call');
  }
  if (front.hidden) t.expect(seen.stderr.includes(`"${front.hidden}" is hidden`), `not said: ${seen.stderr}`);
  for (const problem of verdictProblems(place, seen)) t.expect(false, problem);
  const opened = records(place).map(({ lines }) => lines[0].broker?.policy_set_hash);
  t.expect(opened.every(Boolean), 'a record does not name the broker');
}

async function withInspector(t, front) {
  const [place, command] = begin(t, front);
  const list = await inspect(place, command, ['--method', 'tools/list']);
  if (t.equal('exit of tools/list', list.status, 0)) checkList(t, JSON.parse(list.stdout).tools, front);
  else t.expect(false, list.stderr);
  const read = await inspect(place, command, [
    '--method',
    'tools/call',
    '--tool-name',
    'read_text',
    '--tool-args-json',
    JSON.stringify({ path: 'data/note.txt' }),
  ]);
  t.expect(read.stdout.includes(WORDS), `read_text: exit ${read.status}: ${read.stdout}${read.stderr}`);
}
