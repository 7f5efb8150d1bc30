// SPDX-License-Identifier: Apache-2.0 OR MIT
// kill -9 of aegis at fifty moments of a server's life leaves no process behind, and a record that is cut short is
// never called tampered with. The client's ends of the pipes stay open, so that no end of input helps.

import { setTimeout as sleep } from 'node:timers/promises';
import { marked, survivors } from '../lib/procs.mjs';
import { Raw } from '../lib/raw.mjs';
import { aegis, records } from '../lib/record.mjs';

const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'life', version: '1' } },
};
const call = { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'echo', arguments: { message: 'x' } } };

/** A tree that hears neither SIGTERM nor the end of its input, one branch of it in a session of its own. */
const DEAF =
  'trap "" TERM HUP INT; (sleep 301 & exec sleep 302) & setsid sh -c "trap \\"\\" TERM; sleep 303 & wait" & ' +
  'while :; do sleep 304; done';

export function life(suite) {
  suite.add(
    'life: 50 × kill -9 around npx',
    (t) =>
      kills(t, {
        times: 50,
        argv: ['npx', '-y', 'mcp-hello-world'],
        cwd: t.setup.modules,
        moments: npxMoments,
      }),
    { alone: true },
  );
  suite.add(
    'life: 20 × kill -9 around a deaf tree',
    (t) =>
      kills(t, {
        times: 20,
        argv: ['sh', '-c', DEAF],
        moments: [...atSizes(2, 3, 4, 5, 6, 7), { name: 'after 100 ms', when: () => sleep(100) }],
      }),
    { alone: true },
  );
}

/** Moments of a tree's life: when it (aegis and keeper included) has grown to so many processes. */
function atSizes(...sizes) {
  return sizes.map((size) => ({
    name: `at ${size} processes`,
    when: (raw, place) => until(() => marked(place.mark).length >= size, 20000),
  }));
}

// aegis, its keeper, npm, sh, node; how long each takes to come depends on the machine, so the tree itself says when.
const npxMoments = [
  ...[0, 5, 20].map((ms) => ({ name: `after ${ms} ms`, when: () => sleep(ms) })),
  ...atSizes(2, 3, 4, 5),
  { name: 'after the first answer', when: (raw) => until(() => raw.text.includes('"id":1'), 20000) },
  { name: 'after the call', when: (raw) => until(() => raw.text.includes('"id":2'), 20000) },
];

async function until(holds, ms) {
  for (const deadline = Date.now() + ms; !holds(); await sleep(2)) {
    if (Date.now() > deadline) throw new Error(`not after ${ms} ms: ${holds}`);
  }
}

async function kills(t, { times, argv, cwd, moments }) {
  t.needsAegis();
  const one = async (i) => {
    const place = t.place(` ${i}`);
    place.fresh();
    const { name, when } = moments[i % moments.length];
    const env = place.environment({ npm_config_offline: 'true', npm_config_update_notifier: 'false' });
    const [command, ...first] = t.setup.aegis;
    const raw = new Raw({ command, args: [...first, 'wrap', '--', ...argv], cwd: cwd ?? place.work, env });
    raw.send(initialize);
    raw.send(call);
    await when(raw, place);
    process.kill(raw.child.pid, 'SIGKILL');
    const rest = await survivors(place.mark, 3000);
    t.expect(rest.length === 0, `killed ${name}, left: ${rest.map((p) => `${p.pid} ${p.argv}`).join('; ')}`);
    raw.child.stdin.destroy();
    for (const { file } of records(place)) {
      const { status, stdout } = aegis(place, 'verify', file);
      t.expect(status === 0 || status === 3, `killed ${name}, verify: exit ${status}: ${stdout}`);
    }
  };
  const numbers = Array.from({ length: times }, (_, i) => i);
  const next = async () => {
    for (let i = numbers.shift(); i !== undefined; i = numbers.shift()) await one(i);
  };
  await Promise.all([next(), next()]);
}
