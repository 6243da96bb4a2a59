/** The Kafka job that README shows runs as it stands there. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Job } from '@weir/core';
import { Configuration } from '../../packages/core/src/base/configuration.ts';
import { prepareJob } from '../../packages/core/src/jobmanager/prepare-run.ts';
import { consoleRead } from '../../tools/kafka/console-consumer.ts';
import { completedCheckpoints, kill9, startWeir } from '../../tools/exactly-once/weir-process.ts';
import { codeBlocks } from '../package/code-blocks.ts';
import { clusterAt, createTopic } from './support/clients.ts';
import { fill } from './support/jobs.ts';
import { brokerTest, fresh } from './support/shared-broker.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

brokerTest(
  'the Kafka job of README is killed, goes on, and loses and doubles nothing',
  async (broker) => {
    const block = codeBlocks(readFileSync(join(root, 'README.md'), 'utf8')).find(
      ({ title }) => title === 'kafka-copy.ts',
    );
    assert.ok(block, 'README has a block kafka-copy.ts');
    const folder = mkdtempSync(join(tmpdir(), 'weir-readme-'));
    const cluster = clusterAt(broker);
    try {
      symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
      writeFileSync(join(folder, 'kafka-copy.ts'), block.text);
      const [from, to] = [fresh('orders'), fresh('large')];
      for (const topic of [from, to]) await createTopic(cluster, topic);
      const order = (amount: number): string =>
        JSON.stringify({ account: `a${amount % 3}`, amount });
      const amounts = Array.from({ length: 300 }, (_, index) => index);
      await fill(cluster, from, [amounts.slice(0, 150).map(order)]);
      const words = ['kafka-copy.ts', '--bootstrap', broker.address, '--from', from, '--to', to];
      const start = { args: words, cwd: folder, dataDirectory: folder, show: false };
      const first = startWeir(start);
      while (completedCheckpoints(folder).length === 0) {
        if (first.child.exitCode !== null) assert.fail((await first.ended).output);
        await sleep(20);
      }
      await kill9(first);
      await fill(cluster, from, [amounts.slice(150).map(order)]);
      const second = startWeir(start);
      const lines = await consoleRead(broker, { topic: to, count: 200, idleMs: 60_000 });
      await kill9(second);
      assert.deepEqual(
        lines.map((line) => (JSON.parse(line.split('\t')[1] ?? '') as { amount: number }).amount),
        amounts.filter((amount) => amount >= 100),
      );
    } finally {
      await cluster.close();
      rmSync(folder, { recursive: true, force: true });
    }
  },
);

void test('every job of the guide compiles, and its graph can be built', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'weir-guide-'));
  try {
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
    const page = readFileSync(join(root, 'docs/guide/kafka.md'), 'utf8');
    const blocks = codeBlocks(page).filter(({ language }) => language === 'typescript');
    assert.ok(blocks.length >= 5);
    for (const { title, text } of blocks) writeFileSync(join(folder, title ?? ''), text);
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
    const settings = { extends: join(root, 'tsconfig.json'), include: ['*.ts'] };
    const compilerOptions = { noEmit: true, isolatedDeclarations: false };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ ...settings, compilerOptions }));
    await promisify(execFile)(join(root, 'node_modules/.bin/tsc'), ['-p', folder]);
    for (const { title } of blocks) {
      const { default: documented } = (await import(join(folder, title ?? ''))) as { default: Job };
      const inputs = { configuration: Configuration.of({}, 'test'), arguments: [] };
      assert.ok(prepareJob(documented, inputs).guarantees.paths.length > 0, title ?? '');
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
