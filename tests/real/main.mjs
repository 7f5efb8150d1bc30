// SPDX-License-Identifier: Apache-2.0 OR MIT
// Reads the command line, lines the cases up and runs them. Started by `run`, which has installed the packages.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { fileURLToPath } from 'node:url';
import { broker } from './cases/broker.mjs';
import { complaints } from './cases/complaints.mjs';
import { confined } from './cases/confined.mjs';
import { control } from './cases/control.mjs';
import { everything } from './cases/everything.mjs';
import { life } from './cases/life.mjs';
import { policies } from './cases/policy.mjs';
import { shutdown } from './cases/shutdown.mjs';
import { surface } from './cases/surface.mjs';
import { version } from './lib/record.mjs';
import { sdk1 } from './lib/sdk1.mjs';
import { sdk2 } from './lib/sdk2.mjs';
import { Suite } from './lib/suite.mjs';

const { values } = parseArgs({
  options: {
    aegis: { type: 'string' },
    modules: { type: 'string' },
    only: { type: 'string', multiple: true, default: [] },
    jobs: { type: 'string', default: '3' },
    keep: { type: 'boolean', default: false },
    'stand-in': { type: 'boolean', default: false },
  },
});

const relay = fileURLToPath(new URL('lib/relay.mjs', import.meta.url));
const root = mkdtempSync(join(tmpdir(), 'aegis-real-'));
const setup = {
  aegis: values['stand-in'] ? [process.execPath, relay] : [resolve(values.aegis)],
  standIn: values['stand-in'],
  modules: resolve(values.modules),
  root,
};
const suite = new Suite(setup, { only: values.only, jobs: Number(values.jobs), keep: values.keep });
const sdks = [sdk1(setup.modules), sdk2(setup.modules)];
for (const part of [control, surface, everything, shutdown, policies, complaints, life, confined, broker]) part(suite, sdks);

console.log(`node ${process.version}, ${setup.standIn ? 'a plain relay in the place of aegis' : version(setup.aegis)}`);
await suite.run();
// A filtered run may well miss the difference for which a rule is there.
if (values.only.length === 0) {
  const idle = [...suite.rules]
    .filter(([, differed]) => !differed)
    .map(([rule]) => `nothing ever differed under ${rule}`);
  suite.report('every excuse for a difference was needed', { problems: idle });
}
const { passed, failed, skipped } = suite.counts;
if (failed === 0 && !values.keep) rmSync(root, { recursive: true, force: true });
console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`);
process.exit(failed > 0 ? 1 : 0);
