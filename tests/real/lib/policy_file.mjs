// SPDX-License-Identifier: Apache-2.0 OR MIT
// Writes policies for cases.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Writes a policy of the given rules into the place and returns its path; `extra` stands before the rules. */
export function policyFile(place, rules, extra = '') {
  const file = join(place.dir, 'policy.yaml');
  const text = rules
    .map((rule) =>
      Object.entries(rule)
        .map(([key, value], i) => `  ${i === 0 ? '-' : ' '} ${key}: ${JSON.stringify(value)}\n`)
        .join(''),
    )
    .join('');
  writeFileSync(file, `version: 1\n${extra}rules:${rules.length === 0 ? ' []' : ''}\n${text}`);
  return file;
}
