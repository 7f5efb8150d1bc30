// SPDX-License-Identifier: Apache-2.0 OR MIT
// The real servers: how each is started, what is asked of it, which tool a policy denies it, and what of its answers
// differs from run to run (each such rule is checked to hide a real difference; see the last case of a full run).

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export const servers = {
  everything: {
    entry: '@modelcontextprotocol/server-everything/dist/index.js',
    args: () => ['stdio'],
    calls: [
      ['echo', { message: 'héllo wörld \u{1F600} "quoted" \\ back' }],
      ['get-sum', { a: 2, b: 40.5 }],
      ['get-sum', { a: 'two', b: 40 }],
      ['get-env', {}],
      ['get-tiny-image', {}],
      ['get-annotated-message', { messageType: 'error', includeImage: true }],
      ['get-resource-links', { count: 4 }],
      ['get-structured-content', { location: 'Chicago' }],
      ['trigger-long-running-operation', { duration: 0.2, steps: 2 }],
    ],
    reads: ['demo://resource/static/document/architecture.md', 'demo://resource/none'],
    prompts: [['simple-prompt'], ['args-prompt', { city: 'Oslo', state: 'X' }], ['no-such-prompt']],
    deny: ['echo', { message: 'must not arrive' }],
    allow: ['get-sum', { a: 1, b: 2 }],
    varies: [],
  },
  filesystem: {
    entry: '@modelcontextprotocol/server-filesystem/dist/index.js',
    args: (place) => [place.work],
    seed(place) {
      mkdirSync(join(place.work, 'sub'));
      writeFileSync(join(place.work, 'a.txt'), 'first\nsecond\n');
      writeFileSync(join(place.work, 'sub', 'b.txt'), '\u00fc\u2028\u{10FFFF}\n');
    },
    calls: (place) => [
      ['read_text_file', { path: join(place.work, 'a.txt') }],
      ['read_text_file', { path: join(place.work, 'sub/b.txt') }],
      ['read_text_file', { path: '/etc/hostname' }],
      ['list_directory', { path: place.work }],
      ['write_file', { path: join(place.work, 'c.txt'), content: 'third\n' }],
      ['edit_file', { path: join(place.work, 'c.txt'), edits: [{ oldText: 'third', newText: '3rd' }] }],
      ['directory_tree', { path: place.work }],
      ['get_file_info', { path: join(place.work, 'a.txt') }],
      ['list_allowed_directories', {}],
    ],
    deny: (place) => ['write_file', { path: join(place.work, 'denied.txt'), content: 'must not arrive' }],
    allow: (place) => ['read_text_file', { path: join(place.work, 'a.txt') }],
    varies: [{ name: 'file-time', why: 'when the file was made', text: /(?<=(created|modified|accessed): )[^\n"]+/g }],
  },
  memory: {
    entry: '@modelcontextprotocol/server-memory/dist/index.js',
    env: (place) => ({ MEMORY_FILE_PATH: join(place.work, 'memory.jsonl') }),
    calls: [
      ['create_entities', { entities: [{ name: 'a', entityType: 't', observations: ['o1', 'o2'] }] }],
      ['create_entities', { entities: [{ name: 'b', entityType: 't', observations: [] }] }],
      ['create_relations', { relations: [{ from: 'a', to: 'b', relationType: 'knows' }] }],
      ['search_nodes', { query: 'o2' }],
      ['read_graph', {}],
      ['delete_entities', { entityNames: ['b'] }],
      ['read_graph', {}],
    ],
    deny: ['delete_entities', { entityNames: ['a'] }],
    allow: ['read_graph', {}],
    varies: [],
  },
  sequential: {
    entry: '@modelcontextprotocol/server-sequential-thinking/dist/index.js',
    calls: [
      ['sequentialthinking', { thought: 'one', nextThoughtNeeded: true, thoughtNumber: 1, totalThoughts: 2 }],
      ['sequentialthinking', { thought: 'two', nextThoughtNeeded: false, thoughtNumber: 2, totalThoughts: 2 }],
      ['sequentialthinking', { thought: 3 }],
    ],
    deny: ['sequentialthinking', { thought: 'no', nextThoughtNeeded: false, thoughtNumber: 1, totalThoughts: 1 }],
    varies: [],
  },
  github: {
    entry: '@modelcontextprotocol/server-github/dist/index.js',
    calls: [
      ['search_repositories', { query: 'x' }],
      ['create_issue', { owner: 'a' }],
    ],
    deny: ['create_issue', { owner: 'a', repo: 'b', title: 'must not arrive' }],
    allow: ['search_repositories', {}],
    varies: [],
  },
  context7: {
    entry: '@upstash/context7-mcp/dist/index.js',
    calls: [
      ['resolve-library-id', { libraryName: 'react', query: 'hooks' }],
      ['query-docs', { libraryId: 5 }],
    ],
    deny: ['resolve-library-id', { libraryName: 'react', query: 'must not arrive' }],
    allow: ['query-docs', { libraryId: '/facebook/react', query: 'hooks' }],
    inspect: ['--protocol-era', 'modern'],
    varies: [],
  },
  hello: {
    entry: 'mcp-hello-world/build/stdio.js',
    calls: [
      ['echo', { message: 'hi' }],
      ['add', { a: 1, b: 2 }],
      ['debug', {}],
    ],
    reads: ['hello://world', 'greeting://you'],
    prompts: [['helpful-assistant']],
    deny: ['add', { a: 4, b: 5 }],
    allow: ['echo', { message: 'allowed' }],
    varies: [],
  },
  time: {
    entry: 'time-mcp/dist/index.js',
    calls: [
      ['current_time', { timezone: 'Asia/Tokyo', format: 'YYYY-MM-DD HH:mm:ss' }],
      ['days_in_month', { date: '2024-02-10' }],
      ['get_week_year', { date: '2025-03-23' }],
      [
        'convert_time',
        { sourceTimezone: 'Asia/Shanghai', targetTimezone: 'Europe/London', time: '2025-03-23 12:30:00' },
      ],
    ],
    deny: ['days_in_month', { date: '2024-02-10' }],
    allow: ['get_week_year', { date: '2025-03-23' }],
    varies: [{ name: 'clock', why: 'the time of the run', text: /\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?!\d)/g }],
  },
  commander: {
    entry: '@wonderwhy-er/desktop-commander/dist/index.js',
    seed(place) {
      mkdirSync(join(place.home, '.claude-server-commander'));
      writeFileSync(
        join(place.home, '.claude-server-commander', 'config.json'),
        JSON.stringify({
          telemetryEnabled: false,
          clientId: '00000000-0000-4000-8000-000000000000',
          allowedDirectories: [place.work],
        }),
      );
      writeFileSync(join(place.work, 'a.txt'), 'first\nsecond\n');
    },
    calls: (place) => [
      ['read_file', { path: join(place.work, 'a.txt') }],
      ['start_process', { command: 'echo out; echo err >&2; exit 3', timeout_ms: 3000 }],
      ['list_directory', { path: place.work }],
    ],
    // It looks for a browser in the background and says so whenever that ends: wait for it.
    settled: (seen) => seen.notifications.some((n) => String(n.params?.data).startsWith('Failed to install Chrome')),
    deny: ['start_process', { command: 'touch denied', timeout_ms: 1000 }],
    allow: (place) => ['read_file', { path: join(place.work, 'a.txt') }],
    varies: [
      {
        name: 'end',
        maybe: true,
        path: /^\/status\//,
        why: 'it ends about when the client loses patience: of itself or by the signal',
      },
      { name: 'pid', why: 'the pid of the shell that it started', text: /(?<=with PID )\d+/g },
    ],
  },
};

/** The command of a server in a place, as a client's config would name it. */
export function argvOf(server, place) {
  return [process.execPath, join(place.setup.modules, 'node_modules', server.entry), ...(server.args?.(place) ?? [])];
}

/** Table entries may depend on the place (paths). */
export const at = (place, entry) => (typeof entry === 'function' ? entry(place) : entry);
