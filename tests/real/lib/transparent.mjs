// SPDX-License-Identifier: Apache-2.0 OR MIT
// The one claim behind most cases: run a script twice direct and once wrapped; the two direct transcripts must be equal
// (else the rules of the server are wanting), the wrapped one equal to them, and in the wrapped run the bytes in front
// of aegis the bytes behind it.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { byteDifference, difference, normalise } from './compare.mjs';
import { recordProblems, verdictProblems } from './record.mjs';

/**
 * `script(place, command)` plays one client session (or several) and returns its transcript; `command(argv, env)` gives
 * the client's command line for this run. `wrap`: aegis's flags, or a function of the place that gives them.
 */
export async function transparent(t, { server, name, seed, script, wrap = [], unread = 0, pipes = false }) {
  const place = t.place();
  const runs = [];
  const started = Date.now();
  for (const flags of [undefined, undefined, wrap]) {
    if (flags && server.varies?.length > 0) await untilClocksDiffer(started);
    place.fresh(seed);
    const words = typeof flags === 'function' ? flags(place) : flags;
    const command = (argv, env) => place.command(argv, { wrap: words, env, pipes });
    const seen = await script(place, command);
    writeFileSync(join(place.logs, 'seen.json'), JSON.stringify(seen, null, 1));
    const left = await place.empty();
    t.expect(left.length === 0, `left running: ${left.map((p) => p.argv).join('; ')}`);
    runs.push({ seen, front: await place.taps('front'), back: flags && (await place.taps('back')) });
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
  if (t.setup.standIn) return runs;
  for (const problem of recordProblems(place, wrapped.front, wrapped.back, unread)) t.expect(false, problem);
  return runs;
}

/** Without the tees, as users have it: only what the client application sees can be compared, and the record judged. */
export async function untapped(t, { server, name, seed, script }) {
  const place = t.place();
  const seen = [];
  const started = Date.now();
  for (const wrap of [undefined, undefined, []]) {
    if (wrap && server.varies?.length > 0) await untilClocksDiffer(started);
    place.fresh(seed);
    seen.push(await script(place, (argv, env) => place.command(argv, { wrap, env, tees: false })));
    const left = await place.empty();
    t.expect(left.length === 0, `left running: ${left.map((p) => p.argv).join('; ')}`);
  }
  const taken = seen.map(() => ({}));
  const plain = seen.map((one, i) => normalise(withoutOwnLines(one), server.varies ?? [], taken[i]));
  noteRules(t, name, server.varies ?? [], taken);
  const noise = difference(plain[0], plain[1]);
  t.expect(noise === null, `two direct runs differ (a rule is wanting): ${noise}`);
  const change = difference(plain[0], plain[2]);
  t.expect(change === null, `direct and wrapped differ: ${change}`);
  if (t.setup.standIn) return;
  for (const problem of verdictProblems(place, seen[2])) t.expect(false, problem);
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
  return signalled ? 'ended when told' : shellStatus(exit);
}

function hasContent(seen) {
  if (Array.isArray(seen)) return seen.length > 0 && seen.every(hasContent);
  return seen.ended === 'ended' || (seen.steps?.length ?? seen.stdout.length + seen.stderr.length) > 0;
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

/** Clocks of whole seconds must not show the same in all three runs, or a rule for them would look idle. */
const untilClocksDiffer = (started) => sleep(Math.max(0, started + 1100 - Date.now()));

/** Remembers under which rules runs really differed, so that an idle rule comes to light. */
function noteRules(t, name, rules, taken) {
  for (const rule of rules.filter((r) => !r.maybe)) {
    const key = `${name}: ${rule.name}`;
    const differed = new Set(taken.map((values) => JSON.stringify(values[rule.name]))).size > 1;
    t.suite.rules.set(key, (t.suite.rules.get(key) ?? false) || differed);
  }
}
