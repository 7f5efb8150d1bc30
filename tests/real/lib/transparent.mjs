// SPDX-License-Identifier: Apache-2.0 OR MIT
// The one claim behind most cases: run a script twice direct and once wrapped; the two direct transcripts must be equal
// (else the rules of the server are wanting), the wrapped one equal to them, and in the wrapped run the bytes in front of
// aegis the bytes behind it.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { byteDifference, difference, normalise } from './compare.mjs';
import { recordProblems } from './record.mjs';

/**
 * `script(place, command)` plays one client session (or several) and returns its transcript; `command(argv, env)` gives
 * the client's command line for this run.
 */
export async function transparent(t, { server, name, seed, script, wrap = [] }) {
  const place = t.place();
  const runs = [];
  for (const flags of [undefined, undefined, wrap]) {
    place.fresh(seed);
    const command = (argv, env) => place.command(argv, { wrap: flags, env });
    const seen = await script(place, command);
    writeFileSync(join(place.logs, 'seen.json'), JSON.stringify(seen, null, 1));
    const left = await place.empty();
    t.expect(left.length === 0, `left running: ${left.map((p) => p.argv).join('; ')}`);
    runs.push({ seen, front: await place.taps('front'), back: flags && await place.taps('back') });
  }
  const [one, two, wrapped] = runs;
  const rules = server.varies ?? [];
  const taken = runs.map(() => ({}));
  const plain = runs.map((run, i) => normalise(visible(run), rules, taken[i]));
  noteRules(t, name, rules, taken);
  t.expect(hasContent(one.seen), 'the transcript is empty: this case would prove nothing');
  const noise = difference(plain[0], plain[1]);
  if (!t.expect(noise === null, `two direct runs differ (a rule is wanting): ${noise}`)) return runs;
  const change = difference(plain[0], plain[2]);
  t.expect(change === null, `direct and wrapped differ: ${change}`);
  sameBytes(t, wrapped);
  if (!t.setup.standIn) for (const problem of recordProblems(place, wrapped.front, wrapped.back)) t.expect(false, problem);
  return runs;
}

/** What the client and its user see of a run: aegis's own lines on stderr are its only trace. */
function visible({ seen, front }) {
  return { ...withoutOwnLines(seen), status: front.map((tap) => statusOf(tap)) };
}

function withoutOwnLines(seen) {
  if (Array.isArray(seen)) return { parts: seen.map(withoutOwnLines) };
  return { ...seen, stderr: seen.stderr.replaceAll(/^aegis: .*\n/gm, '') };
}

/** The exit status as a shell would give it. A start that was told to end is only held to having ended. */
function statusOf({ exit, signalled }) {
  if (exit === null) return 'did not end';
  if (signalled) return 'ended when told';
  return exit.signal ?? exit.code;
}

function hasContent(seen) {
  if (Array.isArray(seen)) return seen.length > 0 && seen.every(hasContent);
  return (seen.steps?.length ?? seen.stdout.length + seen.stderr.length) > 0;
}

/** Both ends of every session: equal, or a beginning of the other where a signal cut the session short. */
export function sameBytes(t, { front, back }) {
  if (!t.equal('servers started', back.length, front.length)) return;
  front.forEach((tap, i) => {
    const behind = back[i];
    const cut = tap.signalled !== '';
    const check = (what, sent, got) => {
      const expected = cut ? sent.subarray(0, got.length) : sent;
      const problem = byteDifference(expected, got);
      t.expect(problem === null, `start ${i + 1}, ${what}: ${problem}`);
    };
    check('client to server', tap.in, behind.in);
    check('server to client', behind.out, tap.out);
    const own = Buffer.from(tap.err.toString('latin1').replaceAll(/^aegis: .*\n/gm, ''), 'latin1');
    check('stderr', behind.err, own);
    if (!cut) t.equal(`start ${i + 1}, exit status`, tap.exit?.code, shellStatus(behind.exit));
  });
}

const SIGNALS = { SIGHUP: 1, SIGINT: 2, SIGKILL: 9, SIGSEGV: 11, SIGTERM: 15 };
const shellStatus = (exit) => (exit?.signal ? 128 + SIGNALS[exit.signal] : exit?.code);

/** Remembers under which rules two runs really differed, so that an idle rule comes to light. */
function noteRules(t, name, rules, taken) {
  for (const rule of rules.filter((r) => !r.maybe)) {
    const key = `${name}: ${rule.name}`;
    const differed = JSON.stringify(taken[0][rule.name]) !== JSON.stringify(taken[1][rule.name]);
    t.suite.rules.set(key, (t.suite.rules.get(key) ?? false) || differed);
  }
}
