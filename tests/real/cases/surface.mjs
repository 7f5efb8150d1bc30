// SPDX-License-Identifier: Apache-2.0 OR MIT
// Every server with every client: all that the server offers is asked for once, then the client closes.

import { App } from '../lib/app.mjs';
import { inspect } from '../lib/inspector.mjs';
import { policyFile } from '../lib/policy_file.mjs';
import { argvOf, at, servers } from '../lib/servers.mjs';
import { transparent, untapped } from '../lib/transparent.mjs';

export function surface(suite, sdks) {
  for (const name of ['everything', 'context7', 'time']) {
    for (const sdk of sdks) {
      const server = servers[name];
      suite.add(`surface ${name} ${sdk.id} without tees`, (t) =>
        untapped(t, {
          server,
          name,
          seed: server.seed,
          script: (place, command) => tour(sdk, server, place, command(argvOf(server, place), at(place, server.env))),
        }),
      );
    }
  }
  for (const [name, server] of Object.entries(servers)) {
    for (const sdk of sdks) {
      suite.add(`surface ${name} ${sdk.id}`, (t) =>
        transparent(t, {
          server,
          name,
          seed: server.seed,
          script: (place, command) => tour(sdk, server, place, command(argvOf(server, place), at(place, server.env))),
        }),
      );
    }
    suite.add(`surface ${name} under a policy that denies nothing asked for`, (t) => {
      t.needsAegis();
      return transparent(t, {
        server,
        name,
        seed: server.seed,
        wrap: (place) => ['--policy', policyFile(place, manyRules)],
        script: (place, command) => tour(sdks[0], server, place, command(argvOf(server, place), at(place, server.env))),
      });
    });
    suite.add(`surface ${name} inspector`, (t) =>
      transparent(t, {
        server,
        name,
        seed: server.seed,
        script: (place, command) => inspections(server, place, command(argvOf(server, place), at(place, server.env))),
      }),
    );
  }
}

/** Enough rules to be looked through, none for a tool that is called. */
const manyRules = Array.from({ length: 200 }, (_, i) => ({
  id: `r${i}`,
  action: 'deny',
  tool: `unused_${i}`,
  priority: i,
}));

/** One session: lists, calls, reads, prompts, mistakes, close. */
async function tour(sdk, server, place, command) {
  const app = new App(sdk, command);
  await app.connect();
  if (server.settled) await app.until('the end of its start-up', () => server.settled(app.seen));
  const { client } = app;
  await app.step('ping', () => client.ping());
  const offers = client.getServerCapabilities() ?? {};
  if (offers.tools) await app.step('tools', () => client.listTools());
  if (offers.resources) await app.step('resources', () => client.listResources());
  if (offers.resources) await app.step('templates', () => client.listResourceTemplates());
  if (offers.prompts) await app.step('prompts', () => client.listPrompts());
  for (const [tool, args] of at(place, server.calls)) await app.call(tool, args);
  for (const uri of server.reads ?? []) await app.step(`read ${uri}`, () => client.readResource({ uri }));
  for (const [prompt, args] of server.prompts ?? []) {
    await app.step(`prompt ${prompt}`, () => client.getPrompt({ name: prompt, arguments: args }));
  }
  await app.call('no-such-tool');
  await app.request('no/such/method', { deep: { '': null } });
  return app.close();
}

/** Three runs of the command-line client, a session each: its list, a call, and a call that goes wrong. */
async function inspections(server, place, command) {
  const [tool, args] = at(place, server.allow ?? server.deny);
  return [
    await inspect(place, command, ['--method', 'tools/list']),
    await inspect(place, command, [
      '--method',
      'tools/call',
      '--tool-name',
      tool,
      '--tool-args-json',
      JSON.stringify(args),
    ]),
    await inspect(place, command, ['--method', 'tools/call', '--tool-name', 'no-such-tool', ...(server.inspect ?? [])]),
  ];
}
