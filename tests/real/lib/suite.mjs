// SPDX-License-Identifier: Apache-2.0 OR MIT
// Runs cases, several at a time, prints a line for each and counts: passed, failed, skipped. It knows nothing of MCP.

import { rmSync } from 'node:fs';
import { Place } from './place.mjs';

class Skip extends Error {}

/** What a case gets: a place to run in, and expectations, all of which are collected before it fails. */
class Case {
  constructor(suite, name) {
    Object.assign(this, { suite, name, setup: suite.setup, problems: [], places: [] });
  }

  place(suffix = '') {
    const place = new Place(this.setup, this.name + suffix);
    this.places.push(place);
    return place;
  }

  /** A case inside this one, with another program under test and problems of its own. */
  variant(setup) {
    const inner = new Case(this.suite, this.name);
    inner.setup = { ...this.setup, ...setup };
    inner.places = this.places;
    return inner;
  }

  expect(holds, problem) {
    if (!holds) this.problems.push(problem);
    return Boolean(holds);
  }

  equal(what, actual, expected) {
    const [a, e] = [JSON.stringify(actual), JSON.stringify(expected)];
    return this.expect(a === e, `${what}: ${a} instead of ${e}`);
  }

  /** Leaves the case as skipped, with the reason on its line. */
  skip(reason) {
    throw new Skip(reason);
  }

  /** For what a plain relay cannot do: keep a record, refuse a call. */
  needsAegis() {
    if (this.setup.standIn) this.skip('the stand-in keeps no record and knows no policy');
  }
}

export class Suite {
  constructor(setup, { only = [], keep = false, jobs = 3 } = {}) {
    Object.assign(this, { setup, only, keep, jobs });
    this.cases = [];
    this.counts = { passed: 0, failed: 0, skipped: 0 };
    /** Of each normalising rule: whether two direct runs ever differed under it. */
    this.rules = new Map();
  }

  /** `alone`: the case measures time, so nothing else may run beside it. */
  add(name, run, { alone = false } = {}) {
    if (this.only.length > 0 && !this.only.some((word) => name.includes(word))) return;
    this.cases.push({ name, run, alone });
  }

  async run() {
    const together = this.cases.filter((c) => !c.alone);
    const next = async () => {
      for (let c = together.shift(); c !== undefined; c = together.shift()) await this.#one(c);
    };
    await Promise.all(Array.from({ length: this.jobs }, next));
    for (const c of this.cases.filter((c) => c.alone)) await this.#one(c);
  }

  async #one({ name, run }) {
    const t = new Case(this, name);
    const started = Date.now();
    let skipped;
    try {
      await run(t);
    } catch (error) {
      if (error instanceof Skip) skipped = error.message;
      else t.problems.push(error.stack ?? String(error));
    }
    for (const place of t.places) {
      const left = await place.empty();
      t.expect(left.length === 0, `still running at the end: ${left.map((p) => `${p.pid} ${p.argv}`).join('; ')}`);
    }
    const seconds = ((Date.now() - started) / 1000).toFixed(1);
    this.report(name, { skipped, problems: t.problems, seconds, places: t.places });
  }

  report(name, { skipped, problems = [], seconds = '0.0', places = [] }) {
    if (problems.length > 0) {
      this.counts.failed += 1;
      const kept = places
        .slice(0, 3)
        .map((place) => place.dir)
        .join(' ');
      const more = problems.length > 8 ? [`… and ${problems.length - 8} more`] : [];
      const lines = [...problems.slice(0, 8), ...more, ...(kept ? [`kept: ${kept}`] : [])].map(
        (p) => `     ${p.replaceAll('\n', '\n     ')}`,
      );
      console.log(`FAIL ${name} (${seconds} s)\n${lines.join('\n')}`);
      return;
    }
    this.counts[skipped === undefined ? 'passed' : 'skipped'] += 1;
    console.log(skipped === undefined ? `ok   ${name} (${seconds} s)` : `skip ${name}: ${skipped}`);
    if (!this.keep) for (const place of places) rmSync(place.dir, { recursive: true, force: true });
  }
}
