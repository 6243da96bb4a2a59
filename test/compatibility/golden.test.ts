/**
 * Savepoints of earlier versions, restored by this one. `WEIR_WRITE_GOLDEN=NAME` adds a folder for
 * the present version; the ones that are there are never written anew.
 */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { RunControl } from '@weir/core';
import { range } from '../integration/support/faults.ts';
import { run } from '../integration/support/run.ts';
import { everything, goldenJob, KEYS } from './golden-job.ts';

const SNAPSHOTS = join(import.meta.dirname, 'snapshots');
const STORED = range(0, 2 * KEYS);
const ALL = range(0, 3 * KEYS);

/** With state in `_metadata`, and with state in files. */
const FORMS: Readonly<Record<string, number>> = { inline: 1_048_576, files: 0 };

for (const name of existsSync(SNAPSHOTS) ? readdirSync(SNAPSHOTS) : [])
  for (const parallelism of [1, 3])
    test(`savepoint ${name} restores at parallelism ${parallelism}`, async () => {
      const results: unknown[] = [];
      const { outcome } = await run(goldenJob(ALL, results, false), {
        parallelism,
        restorePath: join(SNAPSHOTS, name),
      });
      assert.equal(outcome.status, 'FINISHED');
      const objects = results.filter((it) => typeof it === 'object' && it !== null);
      const keyed = objects.filter((it) => 'value' in it);
      assert.equal(keyed.length, KEYS);
      for (const key of range(0, KEYS))
        assert.deepEqual(
          keyed.find((it) => 'key' in it && it.key === key),
          {
            key,
            value: everything(KEYS + key),
            list: [key, KEYS + key],
            map: [
              [['m', key], `m${key}`],
              [['m', KEYS + key], `m${KEYS + key}`],
            ],
            reducing: KEYS + 2 * key,
            aggregating: KEYS / 2 + key,
          },
        );
      const timers = objects.filter((it) => 'timer' in it);
      assert.equal(timers.length, ALL.length, 'timers of before and of now');
      const operator = objects.filter(
        (it): it is { readonly list: number[]; readonly union: string[] } => 'union' in it,
      );
      for (const { union } of operator)
        assert.deepEqual(
          union.slice(0, STORED.length),
          STORED.map((n) => `u${n}`),
        );
      if (parallelism === 1) assert.deepEqual(operator[0]?.list, STORED);
    });

test('there are savepoints to restore', () => {
  assert.ok(readdirSync(SNAPSHOTS).length >= 2);
});

const wanted = process.env['WEIR_WRITE_GOLDEN'];
if (wanted !== undefined)
  for (const [form, threshold] of Object.entries(FORMS))
    test(`write ${wanted}-${form}`, async () => {
      const results: unknown[] = [];
      const target = join(SNAPSHOTS, `${wanted}-${form}`);
      assert.ok(!existsSync(target), 'what is there is never written anew');
      let control: RunControl | null = null;
      await run(goldenJob(STORED, results, true), {
        config: { 'execution.checkpointing.data-inline-threshold': threshold },
        onStart: (it) => {
          control = it;
        },
        onEvent: (event) => {
          if (event.type === 'statusChanged' && event.status === 'RUNNING') void stop();
        },
      });
      async function stop(): Promise<void> {
        while (results.length < 2 * STORED.length)
          await new Promise((resolve) => setImmediate(resolve));
        const taken = await control?.stopWithSavepoint({ directory: SNAPSHOTS });
        renameSync(taken?.path ?? '', target);
      }
      while (!existsSync(target)) await new Promise((resolve) => setImmediate(resolve));
    });
