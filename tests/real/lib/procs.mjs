// SPDX-License-Identifier: Apache-2.0 OR MIT
// Which processes of a case are still there: every command of a case carries its mark in the environment, which all
// descendants inherit whatever session, group or parent they move to.

import { readFileSync, readdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

export const MARK = 'AEGIS_REAL_MARK';

/** Live processes whose environment holds the mark, as [{pid, argv}]. A zombie has none and does not count. */
export function marked(mark) {
  const needle = Buffer.from(`${MARK}=${mark}\0`);
  const found = [];
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      if (!readFileSync(`/proc/${name}/environ`).includes(needle)) continue;
      const argv = readFileSync(`/proc/${name}/cmdline`, 'utf8').split('\0').join(' ').trim();
      found.push({ pid: Number(name), argv });
    } catch {
      // It ended between the listing and the reading.
    }
  }
  return found;
}

/** What is left of the mark after at most `ms`; empty as soon as nothing is. */
export async function survivors(mark, ms) {
  const deadline = Date.now() + ms;
  for (;;) {
    const left = marked(mark);
    if (left.length === 0 || Date.now() >= deadline) return left;
    await sleep(20);
  }
}

/** Ends what a case left behind, by pid, so that it cannot disturb the next one. */
export function end(processes) {
  for (const { pid } of processes) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // Already gone.
    }
  }
}
