// SPDX-License-Identifier: Apache-2.0 OR MIT
// What users of other wrappers complained of, with real servers: sizes, slow readers, ids, banners, several starts at
// once, npx, PATH. The names in brackets are the issue threads.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { App } from '../lib/app.mjs';
import { Raw } from '../lib/raw.mjs';
import { aegis, callsIn, publicKey, recordProblems, records } from '../lib/record.mjs';
import { argvOf, servers } from '../lib/servers.mjs';
import { transparent } from '../lib/transparent.mjs';

const { everything, github, hello, time } = servers;

const echo = (id, message) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name: 'echo', arguments: { message } },
});

/** A frame of exactly `size` bytes, its newline included. */
function sized(id, size) {
  const bare = JSON.stringify(echo(id, '')).length + 1;
  return echo(id, 'x'.repeat(size - bare));
}

/** A raw session with server-everything: handshake, `act`, close; direct and wrapped. */
function rawSession(suite, name, act, options = {}) {
  suite.add(`complaint ${name}`, (t) =>
    transparent(t, {
      name,
      server: {},
      ...options,
      script: async (place, command) => {
        const raw = new Raw(command(argvOf(everything, place)));
        await raw.handshake();
        await act(raw);
        return raw.close();
      },
    }),
  );
}

export function complaints(suite, [sdk1, sdk2]) {
  rawSession(
    suite,
    'lines of 4095 to 4097, 15 K and 65535 to 65537 bytes [crush#2854, opensquilla#953]',
    async (raw) => {
      [4095, 4096, 4097, 15000, 65535, 65536, 65537].forEach((size, i) => raw.send(sized(i, size)));
      await raw.answers(8);
    },
  );
  rawSession(suite, '200 KB and 3 MB answers to a slow reader [mcp-cli#23]', async (raw) => {
    raw.readSlowly(65536, 5);
    raw.send(echo(1, 'y'.repeat(200000)));
    raw.send(echo(2, 'z'.repeat(3000000)));
    raw.send(echo(3, 'last'));
    await raw.answers(4);
  });
  rawSession(suite, 'ids 0 and "0" in flight together [toolhive#379, #1568]', async (raw) => {
    const slow = (id, duration) =>
      raw.send({
        jsonrpc: '2.0',
        id,
        method: 'tools/call',
        params: { name: 'trigger-long-running-operation', arguments: { duration, steps: 1 } },
      });
    slow(0, 0.4);
    slow('0', 0.2);
    await raw.answers(3);
  });
  rawSession(
    suite,
    '_meta and odd JSON arrive as sent [agentgateway#445]',
    async (raw) => {
      raw.send(
        '{ "id" :1.0,"jsonrpc":"2.0","params":{"_meta":{"a.b/c":[1e3,12345678901234567890,"\\u0041\\/"],' +
          '"progressToken":"p"},' +
          '"arguments":{"message":"\\ud83d\\ude00"},"name":"ec\\u0068o"},\t"method":"tools/call"}\r\n',
      );
      raw.send('\n');
      raw.send('not json\n');
      await raw.answers(2);
      // The blank line and the one that is no JSON have no reading.
    },
    { unread: 2 },
  );
  rawSession(
    suite,
    'stdin and stdout are pipes, not sockets',
    async (raw) => {
      [100, 65537, 1000000].forEach((size, i) => raw.send(sized(i, size)));
      await raw.answers(4);
    },
    { pipes: true },
  );
  suite.add('complaint server/discover to an old server, then initialize [agentgateway#3439]', (t) =>
    discover(t, sdk2),
  );
  suite.add('complaint six wraps at once in a new home [claude-code#85895]', (t) => atOnce(t, sdk1));
  suite.add('complaint two clients with one --audit', (t) => oneFile(t, sdk1));
  suite.add('complaint a banner on stdout, --strict-stdout [claude-code#48866, mcp-mermaid#25]', (t) =>
    banner(t, sdk1),
  );
  suite.add('complaint input that has ended already [claude-code#30147]', nothingToDo);
  suite.add("complaint a command that the client's PATH lacks [servers#64, cline#1948]", (t) => notFound(t, sdk1));
  suite.add('complaint arguments like [a,b] and -- cross', argv);
  suite.add('complaint --stderr-log keeps what the server said', (t) => stderrLog(t, sdk1));
  for (const [what, env] of [
    ['', {}],
    [' without a writable cache', { npm_config_cache: '/dev/null/none' }],
  ]) {
    suite.add(`complaint npx -y${what} [boundary#189, reyn#2976]`, (t) => npx(t, sdk1, env));
  }
}

async function discover(t, sdk) {
  await transparent(t, {
    name: 'discover',
    server: {},
    script: async (place, command) => {
      const app = new App(sdk, command(argvOf(github, place)));
      await app.connect();
      await app.step('tools', () => app.client.listTools());
      return app.close();
    },
  });
  const [probe, session] = await t.places[0].taps('front');
  t.expect(
    probe.in.includes('server/discover'),
    'the first start was not asked server/discover: the case proves nothing',
  );
  t.expect(session.in.includes('"initialize"'), 'the second start was not asked initialize');
}

async function session(sdk, place, wrap, words) {
  const app = new App(sdk, place.command(argvOf(hello, place), { wrap }));
  await app.connect();
  for (const word of words) await app.call('echo', { message: word });
  return app.close();
}

async function atOnce(t, sdk) {
  t.needsAegis();
  const place = t.place();
  place.fresh();
  const seen = await Promise.all(Array.from({ length: 6 }, (_, i) => session(sdk, place, [], [`client ${i}`])));
  seen.forEach((s, i) => t.equal(`client ${i}`, s.steps[1].result?.content[0].text, `You said: client ${i}`));
  const keys = new Set(records(place).map((r) => r.lines[0].public_key));
  t.equal('keys in use', [...keys], [publicKey(place)]);
  // The order of starts and of records may differ here: pair them by what was called.
  const front = await place.taps('front');
  const back = await place.taps('back');
  const byCall = (tap) => callsIn(tap.in)[0].digest;
  const order = records(place).map((r) => r.lines.find((line) => line.line_type === 'intent')?.request_digest);
  const paired = (taps) => order.map((digest) => taps.find((tap) => byCall(tap) === digest));
  for (const problem of recordProblems(place, paired(front), paired(back))) t.expect(false, problem);
}

async function oneFile(t, sdk) {
  t.needsAegis();
  const place = t.place();
  place.fresh();
  const wrap = ['--audit', join(place.dir, 'one.aarl')];
  const seen = await Promise.all(['a', 'b'].map((word) => session(sdk, place, wrap, [word])));
  seen.forEach((s, i) =>
    t.expect(s.steps[1].result, `client ${i} was not served: ${JSON.stringify(s.steps)} ${s.stderr}`),
  );
  const verdict = aegis(place, 'verify', '--key', publicKey(place), wrap[1]);
  t.equal('verify', verdict.status, 0);
  const lines = readFileSync(wrap[1], 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
  t.equal('sessions', lines.filter((line) => line.line_type === 'open').length, 2);
}

async function banner(t, sdk) {
  t.needsAegis();
  for (const [server, tool, line] of [
    [time, 'days_in_month', 'Starting Time MCP server...'],
    [hello, 'add', '[Mock SDK Server] Executing add tool with a=4, b=5'],
  ]) {
    const place = t.place(` ${line.slice(1, 9)}`);
    place.fresh();
    const app = new App(sdk, place.command(argvOf(server, place), { wrap: ['--strict-stdout'] }));
    await app.connect();
    const called = await app.call(tool, server.deny[1]);
    const seen = await app.close();
    t.equal(`${tool}: library errors`, seen.errors, []);
    t.expect(called.result, `${tool}: ${JSON.stringify(called)}`);
    t.expect(seen.stderr.includes(`${line}\n`), `stderr lacks the banner: ${seen.stderr}`);
  }
}

async function nothingToDo(t) {
  t.needsAegis();
  const place = t.place();
  place.fresh();
  const started = Date.now();
  const raw = new Raw(place.command(['cat'], { wrap: [] }), 'ignore');
  await raw.finish();
  // A grace (5 s) that is waited for here is what the complaint is about.
  t.expect(Date.now() - started < 4000, `took ${Date.now() - started} ms`);
  const front = await place.taps('front');
  t.equal('exit status', front[0].exit.code, 0);
  for (const problem of recordProblems(place, front, await place.taps('back'))) t.expect(false, problem);
}

async function notFound(t, sdk) {
  t.needsAegis();
  const place = t.place();
  place.fresh();
  const { command, args, cwd, env } = place.command([], { wrap: [], env: { PATH: '/usr/bin:/bin' } });
  const cut = args.indexOf('--', args.indexOf('wrap'));
  const app = new App(sdk, { command, args: [...args.slice(0, cut + 1), 'uvx-not-here'], cwd, env });
  await app.connect();
  const seen = await app.close();
  t.equal('exit status', (await place.taps('front'))[0].exit.code, 127);
  t.expect(/uvx-not-here/.test(seen.stderr) && /PATH/.test(seen.stderr), `stderr names no PATH: ${seen.stderr}`);
}

function argv(t) {
  return transparent(t, {
    name: 'argv',
    server: {},
    script: async (_place, command) => {
      const words = ['[a,b]', '[]', '--', '-x', '', 'two words', '--audit=/x', '\u00e9'];
      const raw = new Raw(
        command([process.execPath, '-e', 'console.log(JSON.stringify(process.argv.slice(1)))', '--', ...words]),
      );
      return raw.close();
    },
  });
}

async function stderrLog(t, sdk) {
  t.needsAegis();
  const place = t.place();
  place.fresh();
  const log = join(place.dir, 'stderr.log');
  await session(sdk, place, ['--stderr-log', log], ['x']);
  t.equal('the log', readFileSync(log, 'utf8'), String((await place.taps('back'))[0].err));
}

function npx(t, sdk, env) {
  return transparent(t, {
    name: 'npx',
    server: {},
    script: async (place, command) => {
      // npx takes what the working directory has installed and asks no registry.
      const words = command(['npx', '-y', 'mcp-hello-world'], {
        ...env,
        npm_config_offline: 'true',
        npm_config_update_notifier: 'false',
      });
      const app = new App(sdk, { ...words, cwd: place.setup.modules });
      await app.connect();
      await app.call('echo', { message: 'through npx' });
      return app.close();
    },
  });
}
