// SPDX-License-Identifier: Apache-2.0 OR MIT
// The harness held against itself: a relay that does one small thing wrong in the place of aegis must make the
// transparency check fail, each fault in its own way, and the same relay without a fault must pass.

import { fileURLToPath } from 'node:url';
import { App } from '../lib/app.mjs';
import { Raw } from '../lib/raw.mjs';
import { argvOf, servers } from '../lib/servers.mjs';
import { transparent } from '../lib/transparent.mjs';

const relay = [process.execPath, fileURLToPath(new URL('../lib/relay.mjs', import.meta.url))];
const server = servers.everything;

const faults = {
  swallow: 'a notification goes missing',
  respace: 'the same JSON in other bytes',
  letter: 'one letter of an answer changes',
  late: 'a notification arrives one line late',
  stderr: 'stderr goes missing',
  status: 'the exit status is always 0',
};

export function control(suite, [sdk1]) {
  suite.add('control: a relay without a fault passes', async (t) => {
    const problems = await judged(t, sdk1, []);
    t.expect(problems.length === 0, problems.join('\n'));
  });
  for (const [fault, what] of Object.entries(faults)) {
    suite.add(`control: noticed: ${what}`, async (t) => {
      const problems = await judged(t, sdk1, ['--fault', fault]);
      t.expect(
        problems.some((p) => /direct and wrapped differ|start 1, /.test(p)),
        `not noticed: ${problems.join('\n')}`,
      );
    });
  }
}

async function judged(t, sdk, wrap) {
  const inner = t.variant({ aegis: relay, standIn: true });
  await transparent(inner, {
    name: 'control',
    server: {},
    wrap,
    script: wrap.includes('status') ? failing : (place, command) => short(sdk, place, command),
  });
  return inner.problems;
}

async function short(sdk, place, command) {
  const app = new App(sdk, command(argvOf(server, place)));
  await app.connect();
  await app.call('echo', { message: 'x' });
  return app.close();
}

async function failing(_place, command) {
  return new Raw(command([process.execPath, '-e', 'console.log("{}"); process.exit(3)'])).close();
}
