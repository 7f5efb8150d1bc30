// SPDX-License-Identifier: Apache-2.0 OR MIT
// The records of a case held against what really crossed: `aegis verify` says Verified under the key that
// `aegis key` prints, and every call that the client made is there once, with the digest of its own bytes.

import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');
const NEWLINE = 0x0a;

/** Runs a verb of aegis with the home of the place. */
export function aegis(place, ...args) {
  const [command, ...first] = place.setup.aegis;
  const { status, stdout, stderr } = spawnSync(command, [...first, ...args], {
    env: { HOME: place.home, PATH: process.env.PATH },
    encoding: 'utf8',
    maxBuffer: 1 << 28,
  });
  return { status, stdout, stderr };
}

export const recordFolder = (place) => join(place.home, '.local/state/aegis/records');

/** All records under the default folder as [{file, lines}], oldest session first. */
export function records(place, folder = recordFolder(place)) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => name.endsWith('.aarl'))
    .map((name) => {
      const file = join(folder, name);
      return {
        file,
        lines: readFileSync(file, 'utf8')
          .split('\n')
          .filter(Boolean)
          .map((line) => JSON.parse(line)),
      };
    })
    .sort((a, b) => (a.lines[0]?.at < b.lines[0]?.at ? -1 : 1));
}

export function publicKey(place) {
  const { stdout } = aegis(place, 'key');
  return /^public_key ([0-9a-f]{64})$/m.exec(stdout)?.[1];
}

/** The frames of a stream, without their newlines. */
export function frames(bytes) {
  const found = [];
  let from = 0;
  for (let at = bytes.indexOf(NEWLINE); at !== -1; at = bytes.indexOf(NEWLINE, from)) {
    found.push(bytes.subarray(from, at));
    from = at + 1;
  }
  if (from < bytes.length) found.push(bytes.subarray(from));
  return found;
}

function parsed(frame) {
  try {
    return JSON.parse(frame.toString('utf8'));
  } catch {
    return undefined;
  }
}

/** The client's calls in one stream of its bytes, in order: [{id, tool, digest}]. */
export function callsIn(bytes) {
  return frames(bytes).flatMap((frame) => {
    const message = parsed(frame);
    if (message?.method !== 'tools/call') return [];
    return [{ id: message.id, tool: message.params?.name, digest: sha256(frame) }];
  });
}

/** Digests of the answers in a server's bytes, by the id's JSON text. */
function answersIn(bytes) {
  const found = new Map();
  for (const frame of frames(bytes)) {
    const message = parsed(frame);
    if (message && message.method === undefined && 'id' in message)
      found.set(JSON.stringify(message.id), sha256(frame));
  }
  return found;
}

/**
 * Every problem that the records of a place have, given what the tees in front of aegis kept (one tap a session) and
 * what those behind it kept. `unread`: how many of the client's frames have no certain reading.
 */
export function recordProblems(place, front, back, unread = 0) {
  const key = publicKey(place);
  if (!key) return ['`aegis key` prints no public key'];
  const found = records(place);
  if (found.length !== front.length) return [`${found.length} records of ${front.length} sessions`];
  const problems = [];
  found.forEach((record, i) => {
    const say = (text) => problems.push(`record ${i + 1}: ${text}`);
    const mode = statSync(record.file).mode & 0o777;
    if (mode !== 0o600) say(`mode ${mode.toString(8)}`);
    const verdict = aegis(place, 'verify', '--key', key, record.file);
    if (verdict.status !== 0 || !verdict.stdout.startsWith('Verified (pinned')) {
      say(`verify: exit ${verdict.status}: ${verdict.stdout}${verdict.stderr}`);
    }
    callProblems(record, front[i], back[i]).forEach(say);
    const close = record.lines.at(-1);
    if (close.unread !== unread) say(`close says unread ${close.unread}, not ${unread}`);
  });
  return problems;
}

/** The same without tees: verdicts, and the number of calls that the client application made. */
export function verdictProblems(place, seen) {
  const found = records(place);
  const problems = found.flatMap(({ file }) => {
    const { status, stdout } = aegis(place, 'verify', '--key', publicKey(place) ?? '', file);
    return status === 0 ? [] : [`verify: exit ${status}: ${stdout}`];
  });
  const made = seen.steps.filter(({ step }) => step.startsWith('call ')).length;
  const kept = found.flatMap((r) => r.lines).filter((line) => line.line_type === 'outcome').length;
  if (found.length === 0 || made !== kept)
    problems.push(`${kept} outcomes in ${found.length} records of ${made} calls`);
  return problems;
}

function callProblems({ lines }, front, back) {
  const problems = [];
  const of = (type) => lines.filter((line) => line.line_type === type);
  const [calls, intents, outcomes, close] = [callsIn(front.in), of('intent'), of('outcome'), of('close')[0]];
  const made = calls.map((c) => `${c.tool} ${c.digest}`).join();
  const kept = intents.map((line) => `${line.tool_id} ${line.request_digest}`).join();
  if (made !== kept)
    problems.push(`the client's ${calls.length} calls and the ${intents.length} intents differ: ${made} | ${kept}`);
  if (outcomes.length !== calls.length) problems.push(`${outcomes.length} outcomes of ${calls.length} calls`);
  if (close?.calls !== calls.length) problems.push(`close says calls ${close?.calls} of ${calls.length}`);
  const answers = answersIn(back?.out ?? Buffer.alloc(0));
  intents.forEach((intent, i) => {
    const outcome = outcomes.find((line) => line.call_id === intent.call_id);
    if (outcome?.response_digest === undefined) return;
    const answer = answers.get(JSON.stringify(calls[i]?.id));
    if (outcome.response_digest !== answer)
      problems.push(`call ${i + 1}: response_digest is not the server's answer's`);
  });
  return problems;
}

/** `aegis --version`, or why it cannot be run. */
export function version(command) {
  try {
    return execFileSync(command[0], [...command.slice(1), '--version'], { encoding: 'utf8' }).trim();
  } catch (error) {
    return `cannot run: ${error.message}`;
  }
}
