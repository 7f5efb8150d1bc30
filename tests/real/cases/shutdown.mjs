// SPDX-License-Identifier: Apache-2.0 OR MIT
// How sessions end: exit statuses, servers that ignore the end of their input, servers that die, clients that vanish,
// signals to aegis. Afterwards the record is whole and no process is left.

import { App } from '../lib/app.mjs';
import { marked } from '../lib/procs.mjs';
import { Raw } from '../lib/raw.mjs';
import { recordProblems, records } from '../lib/record.mjs';
import { argvOf, servers } from '../lib/servers.mjs';
import { sameBytes, transparent } from '../lib/transparent.mjs';

const server = servers.everything;
const slowCall = (id, duration) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name: 'trigger-long-running-operation', arguments: { duration, steps: 1 } },
});

export function shutdown(suite, sdks) {
  for (const sdk of sdks) {
    suite.add(`shutdown ${sdk.id}: a server that ignores the end of its input`, (t) => deaf(t, sdk));
    suite.add(`shutdown ${sdk.id}: the server is killed during a call`, (t) => killed(t, sdk));
  }
  for (const [what, code] of Object.entries(ends)) {
    suite.add(`shutdown exit status: ${what}`, (t) =>
      transparent(t, {
        name: what,
        server: {},
        script: async (_place, command) => {
          const raw = new Raw(command([process.execPath, '-e', code]));
          raw.send('{"jsonrpc":"2.0","id":1,"method":"ping"}\n');
          return raw.finish();
        },
      }),
    );
  }
  suite.add('shutdown: input ends with a call in flight', (t) =>
    transparent(t, {
      name: 'in flight',
      server: {},
      script: async (place, command) => {
        const raw = new Raw(command(argvOf(server, place)));
        await raw.handshake();
        raw.send(slowCall(7, 1));
        return raw.close();
      },
    }),
  );
  for (const signal of ['SIGTERM', 'SIGINT']) suite.add(`shutdown: ${signal} during a call`, (t) => told(t, signal));
  suite.add('shutdown: the client vanishes during a call', vanished);
}

const ends = {
  'exits 0': 'process.stdin.once("data", () => process.exit(0))',
  'exits 3 with an answer': 'process.stdin.once("data", () => process.stdout.write("{}\\n", () => process.exit(3)))',
  'exits 255 without reading': 'process.exit(255)',
  'exits 1 with half a line':
    'process.stdin.once("data", () => process.stdout.write("{\\"half", () => process.exit(1)))',
  'ends by SIGTERM': 'process.stdin.once("data", () => process.kill(process.pid, "SIGTERM"))',
  'ends by SIGKILL': 'process.stdin.once("data", () => process.kill(process.pid, "SIGKILL"))',
  'ends by SIGSEGV': 'process.stdin.once("data", () => process.kill(process.pid, "SIGSEGV"))',
};

/** While its roots/list waits for an answer, server-everything stays when its input ends: libraries send SIGTERM. */
async function deaf(t, sdk) {
  const took = [];
  const runs = await transparent(t, {
    name: 'deaf',
    server: {},
    script: async (place, command) => {
      const app = new App(sdk, command(argvOf(server, place)), {
        capabilities: { roots: {} },
        answers: { 'roots/list': () => new Promise(() => {}) },
      });
      await app.connect();
      await app.arrived('roots/list');
      const started = Date.now();
      const seen = await app.close();
      took.push(Date.now() - started);
      return seen;
    },
  });
  t.expect(
    runs[2].front.at(-1).signalled.startsWith('SIGTERM'),
    'this client sent no SIGTERM: the case proves nothing',
  );
  // 2 s after SIGTERM the library kills aegis, and the exit status below would not be there.
  t.expect(
    took[2] <= Math.max(took[0], took[1]) + 2000,
    `closing took ${took[2]} ms wrapped, ${took[0]} and ${took[1]} direct`,
  );
  t.equal('exit status', runs[2].front.at(-1).exit?.code, 143);
}

/** The real server's process, by its script's name. */
const serverPid = (place) =>
  marked(place.mark).find((p) => /^\S+ \S+server-everything\/dist\/index\.js stdio$/.test(p.argv))?.pid;

async function killed(t, sdk) {
  const runs = await transparent(t, {
    name: 'killed',
    server: {},
    script: async (place, command) => {
      const app = new App(sdk, command(argvOf(server, place)));
      await app.connect();
      const call = app.call('trigger-long-running-operation', { duration: 30, steps: 1 });
      await new Promise((resolve) => setTimeout(resolve, 200));
      process.kill(serverPid(place), 'SIGKILL');
      await call;
      return app.close();
    },
  });
  t.equal('exit status', runs[2].front.at(-1).exit.code, 137);
  if (t.setup.standIn) return;
  t.equal('outcome', outcomes(t.places[0]).at(-1).execution, hostDenied('child exited before responding'));
}

const hostDenied = (reason) => ({ reason, status: 'host_denied' });
const outcomes = (place) =>
  records(place)
    .flatMap((r) => r.lines)
    .filter((line) => line.line_type === 'outcome');

/** A wrapped session with one call in flight; `act(raw, frontPid)` ends it. */
async function interrupted(t, act) {
  t.needsAegis();
  const place = t.place();
  place.fresh();
  const raw = new Raw(place.command(argvOf(server, place), { wrap: [] }));
  await raw.handshake();
  raw.send(slowCall('seven', 30));
  await new Promise((resolve) => setTimeout(resolve, 300));
  const started = Date.now();
  await act(raw, place);
  await raw.finish();
  const [front, back] = [await place.taps('front'), await place.taps('back')];
  const left = await place.empty();
  t.expect(left.length === 0, `left running: ${left.map((p) => p.argv).join('; ')}`);
  for (const problem of recordProblems(place, front, back)) t.expect(false, problem);
  return { place, front, back, took: Date.now() - started };
}

async function told(t, signal) {
  const { place, front, back, took } = await interrupted(t, (raw) => raw.child.kill(signal));
  t.equal('exit status', front[0].exit.code, { SIGTERM: 143, SIGINT: 130 }[signal]);
  t.expect(took < 4000, `took ${took} ms`);
  t.equal('outcome', outcomes(place)[0]?.execution, hostDenied('wrap stopped before the child responded'));
  sameBytes(t, { front, back });
}

async function vanished(t) {
  // 30 s of work and a grace of 5 s: the client's end must not keep the server for the whole call.
  const { place, took } = await interrupted(t, async (raw) => {
    raw.child.stdout.destroy();
    raw.child.stdin.destroy();
  });
  t.expect(took < 10000, `took ${took} ms`);
  t.expect(outcomes(place).length === 1, 'the call has no outcome');
}
