// SPDX-License-Identifier: Apache-2.0 OR MIT
// What only server-everything offers: the server's own requests (sampling, elicitation, roots), progress, cancellation,
// subscriptions, logging, list_changed, tasks. Each is a script that is run direct, direct and wrapped.

import { App } from '../lib/app.mjs';
import { policyFile } from '../lib/policy_file.mjs';
import { argvOf, servers } from '../lib/servers.mjs';
import { transparent } from '../lib/transparent.mjs';

const server = servers.everything;
const CLOCK = { name: 'iso-time', why: 'the time of the run', text: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z/g };
const ELICITATION = {
  name: 'elicitation-id',
  why: 'random',
  text: /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/g,
};
const TASK = { name: 'task-id', why: 'random', text: /\b[0-9a-f]{32}\b/g };
const LEVEL = {
  name: 'random-level',
  why: 'the server draws level and text of a simulated message',
  path: /\/params\/(level|data)$/,
};

const sampled = {
  model: 'm-1',
  role: 'assistant',
  content: { type: 'text', text: 'a sample\nof “text”' },
  stopReason: 'endTurn',
};
const filled = {
  action: 'accept',
  content: { name: 'Ada', check: true, integer: 7, number: 2.5, email: 'a@b.example' },
};

export function everything(suite, sdks) {
  for (const sdk of sdks) {
    for (const title of Object.keys(parts)) suite.add(`everything ${title} ${sdk.id}`, (t) => play(t, sdk, title));
  }
  for (const mode of ['session', 'off']) {
    suite.add(`everything many calls in flight, --durability ${mode}`, (t) => {
      t.needsAegis();
      return play(t, sdks[0], 'many calls in flight', ['--durability', mode]);
    });
  }
  suite.add('everything sampling, elicitation, roots under a policy', (t) => {
    t.needsAegis();
    return play(t, sdks[0], 'sampling, elicitation, roots', (place) => ['--policy', policyFile(place, [])]);
  });
}

function play(t, sdk, title, wrap = []) {
  const part = parts[title];
  return transparent(t, {
    name: `everything ${title}`,
    server: { varies: part.varies },
    wrap,
    script: async (place, command) => {
      const app = new App(sdk, command(argvOf(server, place)), part.options?.(place));
      await app.connect();
      await part.script(app, sdk);
      return app.close();
    },
  });
}

/** Notifications of one method so far. */
const count = (app, method) => app.seen.notifications.filter((n) => n.method === method).length;

const parts = {
  'sampling, elicitation, roots': {
    varies: [ELICITATION],
    options: (place) => {
      const kinds = [filled, { action: 'decline' }, { action: 'cancel' }];
      return {
        capabilities: { sampling: {}, elicitation: { form: {}, url: {} }, roots: { listChanged: true } },
        answers: {
          'sampling/createMessage': sampled,
          'elicitation/create': (request) => (request.params.mode === 'url' ? { action: 'accept' } : kinds.shift()),
          'roots/list': { roots: [{ uri: `file://${place.work}`, name: 'work' }] },
        },
      };
    },
    async script(app) {
      await app.arrived('roots/list');
      await app.arrived('notifications/message');
      await app.step('tools', () => app.client.listTools());
      await app.call('get-roots-list');
      await app.call('trigger-sampling-request', { prompt: 'say', maxTokens: 9 });
      for (let i = 0; i < 3; i += 1) await app.call('trigger-elicitation-request');
      await app.call('trigger-url-elicitation', { url: 'https://a.example/x' });
      // The server's own use of -32042: it must reach the client whole.
      await app.call('trigger-url-elicitation', { url: 'https://b.example/y', errorPath: true });
      await app.step('roots changed', () => app.client.sendRootsListChanged());
      await app.arrived('roots/list', 2);
      await app.arrived('notifications/message', 2);
    },
  },
  'progress and cancellation': {
    varies: [],
    async script(app) {
      let reports = 0;
      await app.call(
        'trigger-long-running-operation',
        { duration: 0.6, steps: 6 },
        {
          onprogress: () => {
            reports += 1;
          },
        },
      );
      if (reports === 0) throw new Error('the library reported no progress');
      const stop = new AbortController();
      const running = app.call(
        'trigger-long-running-operation',
        { duration: 1, steps: 1 },
        { signal: stop.signal, onprogress: () => {} },
      );
      setTimeout(() => stop.abort('enough'), 250);
      await running;
      await app.call('echo', { message: 'still here' });
      // The operation runs on and reports once more, to nobody.
      await app.arrived('notifications/progress', 7);
      // A report that one read brings together with its answer finds the call closed: a complaint of the library's, or
      // none, as the reads fall. `arrived` holds every report.
      app.seen.errors = [];
    },
  },
  'many calls in flight': {
    varies: [],
    async script(app) {
      const slow = Array.from({ length: 8 }, (_, i) =>
        app.call('trigger-long-running-operation', { duration: 0.3 + 0.1 * i, steps: 1 }),
      );
      const quick = Array.from({ length: 40 }, (_, i) => app.call('echo', { message: `n${i} ${'x'.repeat(i * 100)}` }));
      await Promise.all([...quick, ...slow]);
    },
  },
  'subscriptions and list_changed': {
    varies: [],
    async script(app, sdk) {
      const uri = 'demo://resource/dynamic/text/1';
      const updated = 'notifications/resources/updated';
      await app.step('level', () => app.client.setLoggingLevel('info'));
      await app.step('subscribe', () => sdk.subscribe(app.client, uri));
      await app.call('toggle-subscriber-updates');
      await app.until('the first update', () => count(app, updated) === 1);
      await app.call('toggle-subscriber-updates');
      await app.step('unsubscribe', () => app.client.unsubscribeResource({ uri }));
      await app.call('gzip-file-as-resource', {
        name: 'x.gz',
        data: 'data:text/plain,hello',
        outputType: 'resourceLink',
      });
      await app.step('resources', () => app.client.listResources());
      await app.step('read', () => app.client.readResource({ uri: 'demo://resource/session/x.gz' }));
      await app.step('complete', () =>
        app.client.complete({
          ref: { type: 'ref/prompt', name: 'completable-prompt' },
          argument: { name: 'name', value: 'A' },
          context: { arguments: { department: 'Engineering' } },
        }),
      );
    },
  },
  logging: {
    varies: [LEVEL],
    async script(app) {
      await app.step('level', () => app.client.setLoggingLevel('debug'));
      for (let i = 1; i <= 4; i += 1) {
        await app.call('toggle-simulated-logging');
        await app.until('a message', () => count(app, 'notifications/message') === i);
        await app.call('toggle-simulated-logging');
      }
    },
  },
  tasks: {
    varies: [CLOCK, TASK],
    options: () => ({
      capabilities: { elicitation: {} },
      answers: {
        'elicitation/create': { action: 'accept', content: { interpretation: 'technical' } },
      },
    }),
    async script(app) {
      const begin = (topic, ambiguous) =>
        app.request('tools/call', {
          name: 'simulate-research-query',
          arguments: { topic, ambiguous },
          task: { ttl: 60000 },
        });
      const asking = (await begin('python', true)).result?.task?.taskId;
      await app.request('tasks/get', { taskId: asking });
      await app.request('tasks/result', { taskId: asking });
      await app.request('tasks/get', { taskId: asking });
      const dropped = (await begin('coffee', false)).result?.task?.taskId;
      await app.request('tasks/cancel', { taskId: dropped });
      await app.request('tasks/list');
      await app.request('tasks/get', { taskId: 'none' });
    },
  },
  'tasks of the client': {
    varies: [],
    options: () => {
      const task = {
        taskId: 'client-task',
        createdAt: '2026-01-01T00:00:00Z',
        lastUpdatedAt: '2026-01-01T00:00:00Z',
        ttl: 60000,
        pollInterval: 100,
      };
      return {
        capabilities: {
          sampling: {},
          elicitation: {},
          tasks: { requests: { sampling: { createMessage: {} }, elicitation: { create: {} } } },
        },
        answers: {
          'sampling/createMessage': { task: { ...task, status: 'working' } },
          'tasks/get': { ...task, status: 'completed', statusMessage: 'done' },
          'tasks/result': sampled,
        },
      };
    },
    async script(app) {
      await app.call('trigger-sampling-request-async', { prompt: 'say' });
    },
  },
};
