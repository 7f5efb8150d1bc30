// SPDX-License-Identifier: Apache-2.0 OR MIT
// Where a case runs and how a server is started there: direct (client, tee, server) or wrapped (client, tee, aegis,
// tee, server). Home and working directory have the same path in every run of a case and start empty each time, so
// that a path in an answer needs no normalising.

import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';
import { MARK, end, survivors } from './procs.mjs';

const here = (name) => fileURLToPath(new URL(name, import.meta.url));
const TEE = here('tee.mjs');
/** The program between two pipes, its exit status kept. */
const PIPES = 'cat | "$0" "$@" | cat; exit "${PIPESTATUS[1]}"';

export class Place {
  /** `setup` is the suite's own {aegis, modules, root, standIn}. */
  constructor(setup, name) {
    this.setup = setup;
    this.dir = join(setup.root, name.replaceAll(/[^A-Za-z0-9.]+/g, '-'));
    this.home = join(this.dir, 'home');
    this.work = join(this.dir, 'work');
    this.mark = this.dir;
    this.runs = 0;
  }

  /** Empties home and work for a run and returns where its logs go. */
  fresh(seed) {
    for (const dir of [this.home, this.work]) rmSync(dir, { recursive: true, force: true });
    for (const dir of [this.home, this.work]) mkdirSync(dir, { recursive: true });
    this.runs += 1;
    this.logs = join(this.dir, `logs-${this.runs}`);
    mkdirSync(this.logs);
    seed?.(this);
    return this.logs;
  }

  /**
   * The command that a client is configured with. `wrap` holds aegis's flags; undefined means direct. `tees: false`
   * leaves the tees out. node's "pipes" are sockets: `pipes: true` puts real ones in front.
   */
  command(argv, { wrap, env = {}, tees = true, pipes = false } = {}) {
    const tee = (side, rest) => (tees ? [process.execPath, TEE, side, join(this.logs, side), '--', ...rest] : rest);
    const wrapped = wrap === undefined ? argv : [...this.setup.aegis, 'wrap', ...wrap, '--', ...tee('back', argv)];
    const words = tee('front', pipes ? ['bash', '-c', PIPES, ...wrapped] : wrapped);
    return { command: words[0], args: words.slice(1), cwd: this.work, env: this.environment(env) };
  }

  environment(more = {}) {
    const paths = { HOME: this.home, PATH: process.env.PATH };
    return { ...paths, [MARK]: this.mark, NODE_OPTIONS: `--require=${here('offline.cjs')}`, ...more };
  }

  /** What the tees on one side kept, one entry a start: {in, out, err, exit}. Waits for each to have ended. */
  async taps(side, ms = 10000) {
    const names = readdirSync(this.logs).filter((name) => name.startsWith(`${side}.`));
    names.sort((a, b) => Number(a.split('.')[1]) - Number(b.split('.')[1]));
    const deadline = Date.now() + ms;
    const taps = [];
    for (const name of names) {
      const dir = join(this.logs, name);
      while (!existsSync(join(dir, 'exit.json')) && Date.now() < deadline) await sleep(10);
      taps.push(readTap(dir));
    }
    return taps;
  }

  /** Fails if anything of this case still runs; ends it first, so that the next case starts clean. */
  async empty(ms = 3000) {
    const left = await survivors(this.mark, ms);
    end(left);
    return left;
  }
}

function readTap(dir) {
  const read = (name) => readFileSync(join(dir, name));
  const exit = existsSync(join(dir, 'exit.json')) ? JSON.parse(read('exit.json')) : null;
  const signalled = existsSync(join(dir, 'signal')) ? String(read('signal')) : '';
  return { dir, in: read('in'), out: read('out'), err: read('err'), exit, signalled };
}
