// SPDX-License-Identifier: Apache-2.0 OR MIT
// Every server confined, unmodified, with no grant but the profile that aegis picks for it and a workspace: it starts,
// lists its tools and answers a call; the record says how it was confined; and a file beside the workspace is out of
// its reach. Nothing is compared with a direct run here.

import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, copyFileSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { App } from '../lib/app.mjs';
import { records, verdictProblems } from '../lib/record.mjs';
import { argvOf, at, servers } from '../lib/servers.mjs';

const { commander, context7, everything, filesystem, github, hello, memory, sequential, time } = servers;
const TIERS = ['full', 'landlock'];
const SECRET = 'what nobody granted';
const NOBODY = 65534;
const REFUSED = /no such file|permission denied|ENOENT|EACCES/i;
const PYTHON = '/usr/bin/python3';

const planted = (place) => join(place.dir, 'planted.txt');
const node = (server) => (place) => argvOf(server, place);
const module = (place, path) => join(place.setup.modules, 'node_modules', path);
const commands = (place) => [process.execPath, module(place, 'mcp-server-commands/build/index.js')];

/** A python server of the tests', copied: what lies beside a script is granted with it. */
const python = (name) => (place) => {
  const folder = join(place.dir, 'server');
  mkdirSync(folder, { recursive: true });
  const file = join(folder, name);
  copyFileSync(fileURLToPath(new URL(`../../servers/${name}`, import.meta.url)), file);
  return [PYTHON, file];
};

/** How each is started, one call, what its answer holds, and a call that reaches for the planted file. */
const rows = [
  { name: 'everything', argv: node(everything), call: everything.calls[1], holds: /42\.5/ },
  {
    name: 'filesystem',
    seed: filesystem.seed,
    // Told that it may: only the confinement keeps it.
    argv: (place) => [...argvOf(filesystem, place), place.dir],
    call: (place) => ['edit_file', { path: join(place.work, 'a.txt'), edits: [{ oldText: 'first', newText: '1st' }] }],
    holds: /\+1st/,
    escape: (place) => ['read_text_file', { path: planted(place) }],
  },
  { name: 'memory', argv: node(memory), call: ['read_graph', {}], holds: /entities/ },
  {
    name: 'memory with its file in the workspace',
    argv: node(memory),
    flags: (place) => ['--allow-env', `MEMORY_FILE_PATH=${join(place.work, 'memory.jsonl')}`],
    call: memory.calls[0],
    holds: /o2/,
    after: (t, place) => t.expect(existsSync(join(place.work, 'memory.jsonl')), 'the memory was not written'),
  },
  { name: 'sequential', argv: node(sequential), call: sequential.calls[0], holds: /thoughtNumber/ },
  { name: 'context7', argv: node(context7), call: context7.calls[0], holds: /./ },
  { name: 'hello', argv: node(hello), call: hello.calls[1], holds: /3/ },
  { name: 'time', argv: node(time), call: time.calls[1], holds: /29/ },
  { name: 'github', argv: node(github), call: github.calls[0], holds: /fetch|failed|ENOTFOUND|EAI_AGAIN/i },
  {
    name: 'commander',
    seed: openCommander,
    argv: node(commander),
    flags: (place) => ['--allow-write', join(place.home, '.claude-server-commander')],
    call: ['start_process', { command: 'echo out; cat a.txt; exit 3', timeout_ms: 3000 }],
    holds: /out\s+first/,
    escape: (place) => ['read_file', { path: planted(place) }],
  },
  {
    name: 'commands',
    seed: filesystem.seed,
    argv: commands,
    call: (place) => ['run_command', { command: 'ls', workdir: place.work }],
    holds: /a\.txt\s+sub/,
    escape: (place) => ['run_command', { command: `cat ${planted(place)}` }],
  },
  {
    name: 'python asyncio',
    profile: 'python',
    argv: python('asyncio_server.py'),
    call: ['run', { argv: ['/bin/pwd'] }],
    holds: /\/work\n$/,
    escape: (place) => ['read', { path: planted(place) }],
  },
  {
    name: 'python multiprocessing',
    profile: 'python',
    argv: python('worker_server.py'),
    call: ['squares', { count: 5 }],
    holds: /0 1 4 9 16/,
    escape: (place) => ['run', { argv: ['/bin/cat', planted(place)] }],
  },
  {
    name: 'a bin link in PATH',
    seed: filesystem.seed,
    env: (place) => ({ PATH: `${module(place, '.bin')}${delimiter}${process.env.PATH}` }),
    argv: (place) => ['mcp-server-filesystem', place.work, place.dir],
    call: (place) => ['read_text_file', { path: join(place.work, 'a.txt') }],
    holds: /second/,
    escape: (place) => ['read_text_file', { path: planted(place) }],
  },
];

export function confined(suite, [sdk1, sdk2]) {
  for (const row of rows) {
    suite.add(`confined ${row.name}`, async (t) => {
      for (const tier of needTiers(t)) await serve(t, sdk1, row, tier);
    });
  }
  for (const sdk of [sdk1, sdk2]) {
    suite.add(`confined hello ${sdk.id}`, async (t) => {
      needTiers(t);
      await serve(t, sdk, rows.find(({ name }) => name === 'hello'), 'full');
    });
  }
  suite.add('confined npx -y from a warm cache', (t) => npx(t, sdk1));
  for (const name of ['filesystem', 'python asyncio']) {
    suite.add(`confined ${name} as an ordinary user`, async (t) => {
      const tiers = needTiers(t);
      for (const tier of tiers) await serveNobody(t, sdk1, rows.find((row) => row.name === name), tier);
    });
  }
}

/** The tiers that can be had here; the case is skipped when that is none. */
function needTiers(t) {
  t.needsAegis();
  const [command, ...first] = t.setup.aegis;
  const tries = TIERS.map((tier) => {
    const words = [...first, 'confine', '--tier', tier, '--', '/bin/true'];
    return { tier, ...spawnSync(command, words, { encoding: 'utf8' }) };
  });
  const had = tries.filter(({ status }) => status === 0).map(({ tier }) => tier);
  if (had.length === 0) t.skip(`no tier can be had: ${tries[0].stderr}`);
  return had;
}

function openCommander(place) {
  commander.seed(place);
  const config = { telemetryEnabled: false, clientId: '00000000-0000-4000-8000-000000000000', allowedDirectories: [] };
  writeFileSync(join(place.home, '.claude-server-commander', 'config.json'), JSON.stringify(config));
}

/** One session; `enter` changes the command line, `warm` what is there before it. */
async function serve(t, sdk, row, tier, { enter = (words) => words, warm = () => {} } = {}) {
  const place = t.place(` ${tier}`);
  place.fresh(row.seed);
  writeFileSync(planted(place), `${SECRET}\n`);
  const argv = row.argv(place);
  warm(place);
  const wrap = ['--confine', '--tier', tier, '--workspace', place.work, ...(row.flags?.(place) ?? [])];
  const command = enter(place.command(argv, { wrap, env: row.env?.(place), tees: false }), place);
  const app = new App(sdk, command);
  await app.connect();
  await app.step('tools', () => app.client.listTools());
  await app.call(...at(place, row.call));
  if (row.escape) await app.call(...at(place, row.escape));
  const seen = await app.close();
  judge(t, row, tier, seen);
  row.after?.(t, place);
  judgeRecords(t, place, row, tier, sdk.starts);
  for (const problem of verdictProblems(place, seen)) t.expect(false, `${tier}: ${problem}`);
}

function judge(t, row, tier, seen) {
  const [connect, tools, call, escape] = seen.steps;
  const show = (step) => `${tier}: ${JSON.stringify(step)?.slice(0, 600)}; stderr: ${seen.stderr.slice(-600)}`;
  if (!t.expect(connect.result?.[0]?.name, `not connected: ${show(connect)}`)) return;
  t.expect(tools.result?.tools?.length > 0, `no tools: ${show(tools)}`);
  t.expect(row.holds.test(textOf(call)), `the call: ${show(call)}`);
  if (row.escape) {
    const isError = escape.error || escape.result?.isError || REFUSED.test(textOf(escape));
    t.expect(isError, `the planted file, no error: ${show(escape)}`);
  }
  t.expect(!JSON.stringify(seen).includes(SECRET), `the planted file was read: ${show(escape)}`);
  const told = `confined: tier ${tier}, profile ${row.profile ?? 'node'}, network none`;
  t.expect(seen.stderr.includes(told), `stderr does not say how it is confined: ${show()}`);
}

const textOf = ({ result, error }) => result?.content?.map((part) => part.text ?? '').join('\n') ?? error?.message ?? '';

function judgeRecords(t, place, row, tier, starts) {
  const found = records(place);
  t.equal(`${tier}: records`, found.length, starts);
  for (const { lines } of found) {
    const said = lines[0].confinement ?? {};
    const { tier: held, profile, net, seccomp_network_denied, best_effort, read_paths, write_paths } = said;
    t.equal(
      `${tier}: open says`,
      { held, profile, net, seccomp_network_denied, best_effort },
      { held: tier, profile: row.profile ?? 'node', net: [], seccomp_network_denied: true, best_effort: false },
    );
    const outcomes = lines.filter((line) => line.line_type === 'outcome');
    for (const { capability, call_id, grant_id } of outcomes) {
      const { grant } = capability;
      const id = `confined-${call_id}`;
      t.equal(`${tier}: grant`, [grant?.grant_id, grant_id, grant?.fs], [id, id, { read_paths, write_paths }]);
      t.expect(grant?.fs?.write_paths.includes(place.work), `${tier}: the grant lacks the workspace`);
    }
  }
}

/** The cache is filled in the place's own home, which needs the registry once; the confined start has no network. */
async function npx(t, sdk) {
  const row = { argv: () => ['npx', '-y', 'mcp-hello-world'], call: hello.calls[0], holds: /hi/ };
  const tiers = needTiers(t);
  const warm = (place) => {
    const env = { ...process.env, HOME: place.home, npm_config_userconfig: join(homedir(), '.npmrc') };
    env.npm_config_cache = join(place.home, '.npm');
    const words = ['-y', '-p', 'mcp-hello-world', '-c', 'true'];
    const { status, stderr } = spawnSync('npx', words, { cwd: place.work, env, stdio: ['ignore', 'ignore', 'pipe'] });
    if (status !== 0) t.skip(`npx cannot fill its cache: ${String(stderr).trim().split('\n')[0]}`);
    for (const name of readdirSync(place.work)) t.expect(false, `npx left ${name} in the workspace`);
  };
  await serve(t, sdk, row, tiers[0], { warm });
}

/** The same under the user nobody: aegis, its home, its record and the server are all that user's. */
async function serveNobody(t, sdk, row, tier) {
  if (process.getuid() !== 0) t.skip('not root: cannot become another user');
  const become = ['--reuid', `${NOBODY}`, '--regid', `${NOBODY}`, '--clear-groups'];
  const may = (test, path) => spawnSync('setpriv', [...become, 'test', test, path]).status === 0;
  const needed = [
    [t.setup.aegis[0], '-x'],
    [process.execPath, '-x'],
    [module(t, hello.entry), '-r'],
  ];
  chmodSync(t.setup.root, 0o711);
  for (const [path, test] of needed) if (!may(test, path)) t.skip(`another user may not use ${path}`);
  await serve(t, sdk, row, tier, {
    warm(place) {
      for (const dir of [place.dir, place.home, place.work]) chownSync(dir, NOBODY, NOBODY);
      for (const name of readdirSync(place.work)) chownSync(join(place.work, name), NOBODY, NOBODY);
    },
    enter: (words) => ({ ...words, command: 'setpriv', args: [...become, words.command, ...words.args] }),
  });
}
