// SPDX-License-Identifier: Apache-2.0 OR MIT
// A client without a library, for what no library would send or do: chosen bytes, slow reading, sudden ends.

import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';

export class Raw {
  constructor({ command, args, cwd, env }, stdin = 'pipe') {
    this.child = spawn(command, args, { cwd, env, stdio: [stdin, 'pipe', 'pipe'] });
    this.out = [];
    this.err = [];
    this.child.stdout.on('data', (chunk) => this.out.push(chunk));
    this.child.stderr.on('data', (chunk) => this.err.push(chunk));
    this.child.stdin?.on('error', () => {});
    this.ended = new Promise((resolve) => {
      this.child.on('error', (error) => resolve({ code: null, signal: null, error: error.code }));
      this.child.on('close', (code, signal) => resolve({ code, signal }));
    });
  }

  /** A string goes as it is, anything else as JSON and a newline. */
  send(message) {
    this.child.stdin.write(typeof message === 'string' ? message : `${JSON.stringify(message)}\n`);
  }

  get text() {
    return Buffer.concat(this.out).toString('utf8');
  }

  lines() {
    return this.text.split('\n').filter(Boolean);
  }

  /** Waits until `holds(lines)`. */
  async until(what, holds, ms = 15000) {
    const deadline = Date.now() + ms;
    while (!holds(this.lines())) {
      if (Date.now() > deadline) throw new Error(`never came: ${what}; so far ${this.text.slice(-300)}`);
      await sleep(10);
    }
  }

  /** Waits for `count` answers (frames that carry an id and no method). */
  answers(count) {
    const isAnswer = (line) => /"id":/.test(line) && !/"method":/.test(line);
    return this.until(`${count} answers`, (lines) => lines.filter(isAnswer).length >= count);
  }

  async handshake(version = '2025-06-18') {
    this.send({
      jsonrpc: '2.0',
      id: 'hi',
      method: 'initialize',
      params: { protocolVersion: version, capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
    });
    await this.answers(1);
    this.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
  }

  /** Reads `bytes` at a time with a pause between, instead of all at once. */
  readSlowly(bytes, pause) {
    const { stdout } = this.child;
    stdout.removeAllListeners('data');
    stdout.pause();
    this.slow = (async () => {
      for (;;) {
        const chunk = stdout.read(Math.min(bytes, stdout.readableLength || bytes));
        if (chunk !== null) this.out.push(chunk);
        else if (stdout.readableEnded) return;
        await sleep(pause);
      }
    })();
  }

  /** Ends the input and waits for the program; gives what was seen. */
  async close() {
    this.child.stdin?.end();
    return this.finish();
  }

  async finish() {
    const status = await this.ended;
    await this.slow;
    // The exit status is the tee's to tell: a server's signal and aegis's 128+n are one and the same there.
    return { steps: this.lines(), stderr: Buffer.concat(this.err).toString('utf8'), ended: status.error ?? 'ended' };
  }
}
