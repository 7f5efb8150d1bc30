// SPDX-License-Identifier: Apache-2.0 OR MIT
// kill -9 of aegis at fifty moments of a server's life leaves no process behind, and a record that is cut short is never
// called tampered with. The client's ends of the pipes stay open, so that no end of input helps.

import { setTimeout as sleep } from 'node:timers/promises';
import { marked, survivors } from '../lib/procs.mjs';
import { Raw } from '../lib/raw.mjs';
import { aegis, records } from '../lib/record.mjs';

const initialize = { jsonrpc: '2.0', id: 1, method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'life', version: '1' } } };
const call = { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'echo', arguments: { message: 'x' } } };

/** A tree that hears neither SIGTERM nor the end of its input, one branch of it in a session of its own. */
const DEAF = 'trap "" TERM HUP INT; (sleep 301 & exec sleep 302) & setsid sh -c "trap \\"\\" TERM; sleep 303 & wait" & while :; do sleep 304; done';

export function life(suite) {
  suite.add('life: 50 × kill -9 around npx', (t) => kills(t, {
    times: 50, beside: 2, argv: ['npx', '-y', 'mcp-hello-world'], cwd: t.setup.modules,
    // From before the first exec to after the first answer: npx needs about a second.
    delay: (i) => (i * 41) % 1500, tree: 3,
  }), { alone: true });
  suite.add('life: 20 × kill -9 around a deaf tree', (t) => kills(t, {
    times: 20, beside: 2, argv: ['sh', '-c', DEAF], delay: (i) => i * 17, tree: 4,
  }), { alone: true });
}

async function kills(t, { times, beside, argv, cwd, delay, tree }) {
  t.needsAegis();
  let largest = 0;
  let left = 0;
  const one = async (i) => {
    const place = t.place(` ${i}`);
    place.fresh();
    const words = place.environment({ npm_config_offline: 'true', npm_config_update_notifier: 'false' });
    const [command, ...first] = t.setup.aegis;
    const raw = new Raw({ command, args: [...first, 'wrap', '--', ...argv], cwd: cwd ?? place.work, env: words });
    raw.send(initialize);
    raw.send(call);
    await sleep(delay(i));
    largest = Math.max(largest, marked(place.mark).length);
    process.kill(raw.child.pid, 'SIGKILL');
    const rest = await survivors(place.mark, 3000);
    left += rest.length;
    t.expect(rest.length === 0, `after ${delay(i)} ms, left: ${rest.map((p) => `${p.pid} ${p.argv}`).join('; ')}`);
    raw.child.stdin.destroy();
    for (const { file } of records(place)) {
      const { status, stdout } = aegis(place, 'verify', file);
      t.expect(status === 0 || status === 3, `after ${delay(i)} ms, verify: exit ${status}: ${stdout}`);
    }
  };
  const numbers = Array.from({ length: times }, (_, i) => i);
  const next = async () => {
    for (let i = numbers.shift(); i !== undefined; i = numbers.shift()) await one(i);
  };
  await Promise.all(Array.from({ length: beside }, next));
  t.equal('processes left in all', left, 0);
  t.expect(largest >= tree + 2, `the largest tree had ${largest} processes: the kills came too early to prove anything`);
}
