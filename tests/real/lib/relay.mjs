// SPDX-License-Identifier: Apache-2.0 OR MIT
// relay.mjs wrap [--fault NAME] -- CMD [ARGS...]: a relay that looks at nothing, in the place of aegis, so that the
// harness can be held against itself: with no fault every transparency case must pass, with each fault one must fail.
// It keeps no record and knows no policy.

import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { Transform } from 'node:stream';

const words = process.argv.slice(2);
const cut = words.indexOf('--');
const fault = words[words.indexOf('--fault') + 1];
const has = (name) => words.slice(0, cut).includes('--fault') && fault === name;
const argv = words.slice(cut + 1);

/** Applies `change(line)` to each line; what it returns goes on. */
function perLine(change) {
  let rest = '';
  return new Transform({
    decodeStrings: true,
    transform(chunk, _encoding, done) {
      const lines = (rest + chunk.toString('latin1')).split('\n');
      rest = lines.pop();
      done(null, Buffer.from(lines.map((line) => change(`${line}\n`)).join(''), 'latin1'));
    },
    flush: (done) => done(null, Buffer.from(rest, 'latin1')),
  });
}

let held = '';
const faults = {
  // One notification goes missing.
  swallow: (line) => (line.includes('"notifications/') ? '' : line),
  // The same JSON, other bytes: no client can see this one, only the two tees.
  respace: (line) => (line.startsWith('{') ? line.replace('{', '{ ') : line),
  // One byte of a text the user reads.
  letter: (line) => line.replace('Echo: ', 'echo: ').replace('You said', 'You Said'),
  // A notification arrives after the line that followed it.
  late: (line) => {
    const before = held;
    held = line.includes('"notifications/') ? line : '';
    return held === '' ? line + before : before;
  },
};

const child = spawn(argv[0], argv.slice(1), {
  stdio: ['pipe', 'pipe', has('stderr') ? 'ignore' : 'inherit'],
  detached: true,
});
process.stdin.pipe(child.stdin);
child.stdin.on('error', () => {});
const change = faults[fault];
(change ? child.stdout.pipe(perLine(change)) : child.stdout).pipe(process.stdout);
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => process.kill(-child.pid, signal));
child.on('error', () => process.exit(127));
child.on('close', (code, signal) => {
  const status = signal ? 128 + constants.signals[signal] : code;
  process.exit(has('status') ? 0 : status);
});
