import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Check } from '../check.ts';
import { documentedNames } from '../reference.ts';
import { repositoryOf } from '../repository.ts';
import { cliReference } from './cli-reference.ts';
import { configReference } from './config-reference.ts';
import { errorReference } from './error-reference.ts';
import { kafkaReference } from './kafka-reference.ts';

const core = 'packages/core/src/';

function complaints(check: Check, files: Record<string, string>): string[] {
  return check.run(repositoryOf(files)).map((problem) => problem.message);
}

test('only headings and first cells of tables document a name', () => {
  const page = '# `NO`\n\n## `A` and `B`\n\nSee `C`.\n\n| `D`, `E` | `F` |\n';
  assert.deepEqual(documentedNames(page), ['A', 'B', 'D', 'E']);
});

test('an error code that only one side knows is reported', () => {
  const source = "export const ERROR_CODES = {\n  ONE: 'a',\n  TWO: 'b',\n} as const;";
  const found = complaints(errorReference, {
    [`${core}base/error-codes.ts`]: source,
    'docs/reference/errors.md': '## `ONE`\n\n## `THREE`\n',
  });
  assert.equal(found.length, 2);
  assert.match(found[0] ?? '', /TWO .*no heading/);
  assert.match(found[1] ?? '', /THREE does not exist/);
});

test('a table of codes without a page is reported, and nothing at all is fine', () => {
  const source = "export const ERROR_CODES = { ONE: 'a' };";
  const found = complaints(errorReference, { [`${core}base/error-codes.ts`]: source });
  assert.match(found[0] ?? '', /^missing/);
  for (const check of [errorReference, configReference, cliReference, kafkaReference])
    assert.deepEqual(complaints(check, {}), []);
});

test('a configuration key that only one side knows is reported', () => {
  const source = "export const OPTIONS = { 'a.b': { type: 'int', old: ['a.x'] }, 'a.c-d': {} };";
  const found = complaints(configReference, {
    [`${core}base/options/some-options.ts`]: source,
    'docs/reference/configuration.md': '| key | meaning |\n| --- | --- |\n| `a.b` | see `a.e` |\n',
  });
  assert.equal(found.length, 1);
  assert.match(found[0] ?? '', /a\.c-d/);
});

test('options are found in help texts, comparisons and parseArgs tables', () => {
  const page = '| `-p N`, `--parallelism N` | … |\n| `--fresh` | … |\n| `-n` | … |\n';
  const files = {
    [`${core}cli/help.ts`]: 'export const help = `  --fresh   start empty, see a-b and --c`;',
    [`${core}cli/run.ts`]: "parse({ parallelism: { type: 'string', short: 'p' } }); f('-n');",
    'docs/reference/cli.md': page,
  };
  const found = complaints(cliReference, files);
  assert.equal(found.length, 1);
  assert.match(found[0] ?? '', /option --c /);
});

test('an option or counter of Kafka that only one side knows is reported', () => {
  const kafka = 'packages/kafka/src/';
  const found = complaints(kafkaReference, {
    [`${kafka}kafka-sink.ts`]:
      'export interface KafkaSinkOptions<T> {\n  readonly topic: string;\n  readonly key?: T;\n}\n',
    [`${kafka}source/lag.ts`]: "metrics.counter('recordsLag');",
    'docs/reference/kafka.md': '| `topic` | |\n| `gone` | |\n',
  });
  assert.equal(found.length, 3);
  assert.match(found.join('\n'), /key of .*recordsLag of .*gone does not exist/s);
});
