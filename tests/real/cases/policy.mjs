// SPDX-License-Identifier: Apache-2.0 OR MIT
// With a policy: the denied tool never reaches the server, the client's user reads why, all else goes on as before, and
// the record says the same to `verify` and `recheck`.

import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { App } from '../lib/app.mjs';
import { byteDifference } from '../lib/compare.mjs';
import { inspect } from '../lib/inspector.mjs';
import { policyFile } from '../lib/policy_file.mjs';
import { marked } from '../lib/procs.mjs';
import { aegis, frames, recordProblems, records } from '../lib/record.mjs';
import { argvOf, at, servers } from '../lib/servers.mjs';

const REASON = 'not on this host: ask the operator';

const deny = (tool) => ({ id: `no-${tool}`, action: 'deny', tool, reason: REASON });

export function policies(suite, sdks) {
  for (const [name, server] of Object.entries(servers)) {
    for (const sdk of sdks)
      suite.add(`policy ${name} ${sdk.id}: denied and refused in words`, (t) => denied(t, sdk, server));
  }
  for (const name of ['everything', 'filesystem', 'context7']) {
    suite.add(`policy ${name} inspector: denied and refused in words`, (t) => deniedInspector(t, servers[name], []));
  }
  suite.add('policy hello inspector: --refuse-as result', (t) =>
    deniedInspector(t, servers.hello, ['--refuse-as', 'result']),
  );
  for (const sdk of sdks) {
    suite.add(`policy everything ${sdk.id}: --refuse-as result`, (t) => asResult(t, sdk, servers.everything));
    suite.add(`policy context7 ${sdk.id}: --refuse-as result`, (t) => asResult(t, sdk, servers.context7));
    suite.add(`policy everything ${sdk.id}: rate limit, approval, default deny`, (t) => otherActions(t, sdk));
    suite.add(`policy everything ${sdk.id}: reloaded on SIGHUP`, (t) => reloaded(t, sdk));
    suite.add(`policy everything ${sdk.id}: the server's own -32042 passes`, (t) => ownError(t, sdk));
  }
}

/** A session under a policy: [app after connect, its place, its policy file]. */
async function begin(t, sdk, server, rules, { wrap = [], extra, options } = {}) {
  t.needsAegis();
  const place = t.place();
  place.fresh(server.seed);
  const file = policyFile(place, rules, extra);
  const command = place.command(argvOf(server, place), {
    wrap: ['--policy', file, ...wrap],
    env: at(place, server.env),
  });
  const app = new App(sdk, command, options);
  const connected = await app.connect();
  t.expect(connected.result, `no connection: ${JSON.stringify(connected)} ${app.chunks}`);
  return [app, place, file];
}

async function finish(t, app, place) {
  const seen = await app.close();
  const [front, back] = [await place.taps('front'), await place.taps('back')];
  for (const problem of recordProblems(place, front, back)) t.expect(false, problem);
  return { seen, front: front.at(-1), back: back.at(-1) };
}

/** The server got the client's bytes less the frames that hold `needle`, and nothing else. */
function keptFrom(t, { front, back }, needle) {
  const rest = frames(front.in).filter((frame) => !frame.includes(needle));
  t.expect(rest.length < frames(front.in).length, 'the client sent no denied frame');
  const expected = Buffer.concat(rest.flatMap((frame) => [frame, Buffer.from('\n')]));
  const problem = byteDifference(expected, back.in);
  t.expect(problem === null, `what the server got: ${problem}`);
}

const inWords = (t, text, tool, where) => {
  t.expect(text?.includes(`no-${tool}`), `${where} does not name the rule: ${text}`);
  t.expect(text?.includes(REASON), `${where} does not give the reason: ${text}`);
};

function isRefusal(t, { error }, code, tool) {
  if (!t.expect(error, `${tool} was not refused`)) return;
  t.equal('error code', error.code, -32042);
  t.equal('data', error.data?.aegis && { layer: error.data.aegis.layer, code: error.data.aegis.code }, {
    layer: 'wrap',
    code,
  });
  t.expect(!('elicitations' in (error.data ?? {})), 'data holds elicitations');
}

async function denied(t, sdk, server) {
  const place0 = t.place();
  const [tool] = at(place0, server.deny);
  const [app, place, file] = await begin(t, sdk, server, [deny(tool)]);
  if (server.settled) await app.until('the end of its start-up', () => server.settled(app.seen));
  const listed = await app.step('tools', () => app.client.listTools());
  t.expect(listed.result?.tools?.length > 0, `no tools listed: ${JSON.stringify(listed)}`);
  const refused = await app.call(tool, at(place, server.deny)[1]);
  isRefusal(t, refused, 'POLICY_DENIED', tool);
  inWords(t, refused.error?.message, tool, 'the message');
  if (server.allow) {
    const [other, args] = at(place, server.allow);
    const allowed = await app.call(other, args);
    t.expect(allowed.error?.code !== -32042, `${other} was refused too: ${JSON.stringify(allowed)}`);
    t.expect(allowed.result || server === servers.github, `${other} failed: ${JSON.stringify(allowed)}`);
  }
  const ended = await finish(t, app, place);
  keptFrom(t, ended, Buffer.from(`"name":"${tool}"`));
  t.expect(!existsSync(join(place.work, 'denied.txt')), 'the denied tool wrote its file');
  rechecks(t, place, file, tool, at(place, server.allow)?.[0]);
}

/** The session's record under the same rules, under none, and under rules that deny the other tool. */
function rechecks(t, place, file, tool, other) {
  const record = records(place).at(-1).file;
  const under = (rules) =>
    aegis(place, 'recheck', '--policy', rules === null ? file : policyFile(place, rules), record);
  const same = under(null);
  t.equal('recheck, same policy: exit', same.status, 0);
  t.expect(/: unchanged denied$/m.test(same.stdout), `recheck, same policy: ${same.stdout}${same.stderr}`);
  const free = under([]);
  t.equal('recheck, no rules: exit', free.status, 1);
  t.expect(
    /: newly_allowed was=denied now=allowed$/m.test(free.stdout),
    `recheck, no rules: ${free.stdout}${free.stderr}`,
  );
  if (other === undefined) return;
  const more = under([deny(tool), deny(other)]);
  t.equal('recheck, one more rule: exit', more.status, 1);
  t.expect(
    /: newly_blocked was=allowed now=denied$/m.test(more.stdout),
    `recheck, one more rule: ${more.stdout}${more.stderr}`,
  );
}

async function deniedInspector(t, server, wrap) {
  t.needsAegis();
  const place = t.place();
  place.fresh(server.seed);
  const [tool, args] = at(place, server.deny);
  const command = place.command(argvOf(server, place), {
    wrap: ['--policy', policyFile(place, [deny(tool)]), ...wrap],
  });
  const words = (name, value) => [
    '--method',
    'tools/call',
    '--tool-name',
    name,
    '--tool-args-json',
    JSON.stringify(value),
  ];
  const refused = await inspect(place, command, words(tool, args));
  // aegis's own lines on stderr are for the operator; the words must come from the client.
  inWords(t, refused.stdout + refused.stderr.replaceAll(/^aegis: .*\n/gm, ''), tool, 'what the client prints');
  t.expect(refused.status !== 0, `exit status ${refused.status} for a refused call`);
  const allowed = await inspect(place, command, words(...at(place, server.allow)));
  t.equal('exit status of the allowed call', allowed.status, 0);
  const [front, back] = [await place.taps('front'), await place.taps('back')];
  for (const problem of recordProblems(place, front, back)) t.expect(false, problem);
  keptFrom(t, { front: front[0], back: back[0] }, Buffer.from(`"name":"${tool}"`));
}

async function asResult(t, sdk, server) {
  const [tool, args] = server.deny;
  const [app, place] = await begin(t, sdk, server, [deny(tool)], { wrap: ['--refuse-as', 'result'] });
  const { result, error } = await app.call(tool, args);
  if (t.expect(result, `an error instead of a result: ${JSON.stringify(error)}`)) {
    t.equal('isError', result.isError, true);
    inWords(t, result.content?.[0]?.text, tool, 'the text');
  }
  const ended = await finish(t, app, place);
  keptFrom(t, ended, Buffer.from(`"name":"${tool}"`));
}

async function otherActions(t, sdk) {
  const rules = [
    { id: 'few-sums', action: 'rate_limit', tool: 'get-sum', rate: { max: 2, per_seconds: 3600 } },
    { id: 'ask-first', action: 'pending_approval', tool: 'get-tiny-image', reason: 'images are for people' },
    { id: 'may-echo', action: 'allow', tool: 'echo' },
  ];
  const [app, place] = await begin(t, sdk, servers.everything, rules, { extra: 'default: deny\n' });
  const calls = [];
  for (let i = 0; i < 3; i += 1) calls.push(await app.call('get-sum', { a: i, b: 1 }));
  t.equal(
    'sums',
    calls.map((c) => c.result?.content[0].text ?? c.error.data?.aegis?.code),
    ['The sum of 0 and 1 is 1.', 'The sum of 1 and 1 is 2.', 'RATE_LIMITED'],
  );
  isRefusal(t, await app.call('get-tiny-image'), 'PENDING_APPROVAL', 'get-tiny-image');
  isRefusal(t, await app.call('get-env'), 'POLICY_DENIED', 'get-env');
  const echoed = await app.call('echo', { message: 'as ever' });
  t.equal('echo', echoed.result?.content[0].text, 'Echo: as ever');
  const prompt = await app.step('prompt', () => app.client.getPrompt({ name: 'simple-prompt' }));
  t.expect(prompt.result, `only calls are judged, but: ${JSON.stringify(prompt)}`);
  await finish(t, app, place);
}

async function reloaded(t, sdk) {
  const [app, place, file] = await begin(t, sdk, servers.everything, []);
  const [program] = t.setup.aegis;
  // The keeper has the same argv; aegis itself is the older one.
  const [mine] = marked(place.mark)
    .filter((p) => p.argv.startsWith(`${program} wrap`))
    .sort((a, b) => a.pid - b.pid);
  const reload = async (text) => {
    if (text === undefined) policyFile(place, [deny('echo')]);
    else writeFileSync(file, text);
    process.kill(mine.pid, 'SIGHUP');
    await sleep(300);
    return app.call('echo', { message: 'x' });
  };
  t.expect((await app.call('echo', { message: 'x' })).result, 'the first call was refused');
  isRefusal(t, await reload(), 'POLICY_DENIED', 'echo');
  // A bad policy changes nothing.
  isRefusal(t, await reload('version: 1\nrule: []\n'), 'POLICY_DENIED', 'echo');
  t.expect((await reload('version: 1\nrules: []\n')).result, 'the last call was refused');
  const { seen } = await finish(t, app, place);
  t.expect(
    /policy/.test(seen.stderr) && /rule\b/.test(seen.stderr),
    `stderr is silent about the bad policy: ${seen.stderr}`,
  );
}

async function ownError(t, sdk) {
  const [app, place] = await begin(t, sdk, servers.everything, [deny('echo')], {
    options: { capabilities: { elicitation: { url: {} } } },
  });
  await app.step('tools', () => app.client.listTools());
  const { error } = await app.call('trigger-url-elicitation', { url: 'https://b.example/y', errorPath: true });
  t.equal('code', error?.code, -32042);
  t.equal('elicitations', error?.data?.elicitations?.length, 1);
  await finish(t, app, place);
}
