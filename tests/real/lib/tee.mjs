// SPDX-License-Identifier: Apache-2.0 OR MIT
// tee.mjs END LOGDIR -- CMD [ARGS...]: stands before ("front") or behind ("back") the program under test, runs CMD and
// keeps every byte of its three streams and its exit status in LOGDIR.N, N counting up with each start.
// It changes nothing on the way: bytes, back-pressure, end of input and exit status pass as they are.

import { spawn } from 'node:child_process';
import { mkdirSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { constants } from 'node:os';

const [end, logdir, dashes, ...argv] = process.argv.slice(2);
if (!['front', 'back'].includes(end) || dashes !== '--' || argv.length === 0) {
  process.stderr.write('usage: tee.mjs front|back LOGDIR -- CMD [ARGS...]\n');
  process.exit(125);
}

/** A client may start its command twice: each start takes the next free number (mkdir is the lock). */
function claim() {
  for (let n = 1; ; n += 1) {
    try {
      mkdirSync(`${logdir}.${n}`);
      return `${logdir}.${n}`;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
  }
}

const dir = claim();
const started = Date.now();
writeFileSync(`${dir}/start.json`, JSON.stringify({ pid: process.pid, started, argv }));
const logs = { in: openSync(`${dir}/in`, 'w'), out: openSync(`${dir}/out`, 'w'), err: openSync(`${dir}/err`, 'w') };

// Node writes to pipes synchronously; a reader that sleeps would then stop the other direction too.
for (const stream of [process.stdout, process.stderr]) stream._handle?.setBlocking?.(false);

const child = spawn(argv[0], argv.slice(1), { stdio: ['pipe', 'pipe', 'pipe'] });

function carry(from, to, log) {
  from.on('data', (chunk) => writeSync(log, chunk));
  from.pipe(to, { end: to === child.stdin });
  // The reader has gone: what it would see without the tee is a closed pipe, so hand that on.
  to.on('error', () => from.destroy());
  from.on('error', () => {});
}
carry(process.stdin, child.stdin, logs.in);
carry(child.stdout, process.stdout, logs.out);
carry(child.stderr, process.stderr, logs.err);

// In front, a signal is meant for the program under test. Behind, that program signals the whole group: handing the
// signal on would make two of it.
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) {
  process.on(signal, () => {
    writeFileSync(`${dir}/signal`, `${signal} ${Date.now() - started}\n`, { flag: 'a' });
    if (end === 'front') child.kill(signal);
  });
}

function leave(status) {
  writeFileSync(`${dir}/exit.json`, JSON.stringify({ ...status, ms: Date.now() - started }));
  process.stderr.write('', () =>
    process.stdout.write('', () => {
      if (!status.signal) process.exit(status.code);
      process.removeAllListeners(status.signal);
      process.kill(process.pid, status.signal);
      setTimeout(() => process.exit(128 + constants.signals[status.signal]), 200);
    }),
  );
}
child.on('error', (error) => {
  process.stderr.write(`tee: cannot start ${argv[0]}: ${error.code}\n`);
  leave({ code: error.code === 'ENOENT' ? 127 : 126, signal: null });
});
child.on('close', (code, signal) => leave({ code, signal }));
