// SPDX-License-Identifier: Apache-2.0 OR MIT
// A client application on one of the SDKs, and what it gets to see: the transcript. Everything that the library hands
// to an application is in it: each step's result or error, notifications, the server's own requests, library errors,
// the server's stderr, and the order in which messages arrived.

import { once } from 'node:events';

const plain = (value) => JSON.parse(JSON.stringify(value ?? null));

function failure(error) {
  const { name, code, message, data } = error;
  return plain({ name, code, message, data });
}

export class App {
  /** `command` is {command, args, env, cwd}; `answers` maps a server's request method to the result given to it. */
  constructor(sdk, command, { capabilities = {}, answers = {} } = {}) {
    this.sdk = sdk;
    this.seen = { arrived: [], steps: [], notifications: [], requests: [], errors: [], stderr: '', closed: 0 };
    this.chunks = [];
    Object.assign(this, sdk.make({ ...command, stderr: 'pipe' }, capabilities));
    this.#listen(answers);
  }

  #listen(answers) {
    const { client, transport, seen } = this;
    transport.onmessage = (message) => seen.arrived.push(plain(message));
    transport.stderr?.on('data', (chunk) => this.chunks.push(chunk));
    client.onerror = (error) => seen.errors.push(error.message);
    client.onclose = () => {
      seen.closed += 1;
    };
    client.fallbackNotificationHandler = async (notification) => {
      seen.notifications.push(plain(notification));
    };
    client.fallbackRequestHandler = async (request) => {
      seen.requests.push(plain(request));
      const answer = answers[request.method];
      if (answer === undefined) throw Object.assign(new Error('no answer prepared'), { code: -32601 });
      return typeof answer === 'function' ? answer(request) : answer;
    };
  }

  connect() {
    return this.step('connect', async () => {
      await this.client.connect(this.transport);
      const { client } = this;
      return [client.getServerVersion(), client.getServerCapabilities(), client.getInstructions()];
    });
  }

  /** Runs one action and keeps what it gave; an error is a result like any other. */
  async step(name, action) {
    const entry = { step: name };
    this.seen.steps.push(entry);
    try {
      entry.result = plain(await action());
    } catch (error) {
      entry.error = failure(error);
    }
    return entry;
  }

  call(name, args = {}, options = {}) {
    const { meta, ...rest } = options;
    const params = { name, arguments: args, ...(meta && { _meta: meta }) };
    return this.step(`call ${name}`, () => this.sdk.callTool(this.client, params, rest));
  }

  request(method, params = {}, options = {}) {
    return this.step(method, () => this.sdk.request(this.client, { method, params }, options));
  }

  /** Waits until `holds()`; says what never came. */
  async until(what, holds, ms = 15000) {
    const deadline = Date.now() + ms;
    while (!holds()) {
      if (Date.now() > deadline) throw new Error(`never came: ${what}`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  arrived(method, count = 1) {
    const has = () => this.seen.arrived.filter((m) => m.method === method).length >= count;
    return this.until(`${method} × ${count}`, has);
  }

  async close() {
    const stderr = this.transport.stderr;
    const ended = stderr && !stderr.readableEnded ? once(stderr, 'end').catch(() => {}) : undefined;
    await this.step('close', () => this.client.close());
    // A descendant of the server may hold stderr for longer than the library waits.
    await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 1000).unref())]);
    this.seen.stderr = Buffer.concat(this.chunks).toString('utf8');
    return this.seen;
  }
}
