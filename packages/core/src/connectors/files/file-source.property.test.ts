import assert from 'node:assert/strict';
import test from 'node:test';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import type { Source } from '../../api/source.ts';
import { seededRandom } from '../../base/random.ts';
import { MemoryFileSystem } from '../../storage/memory-file-system.ts';
import { fileSource } from '../file-source.ts';
import { lines } from '../formats/lines.ts';
import { SourceDriver, settle, testEnvironment, writeText } from '../test-support.ts';
import type { SourceCheckpoint } from '../test-support.ts';
import { FileSourceReader } from './file-source-reader.ts';
import type { FileEnumeratorState, FileSplit } from './file-split.ts';

interface Input {
  readonly rows: readonly string[];
  readonly lineEnd: '\n' | '\r\n';
  readonly endsWithLineEnd: boolean;
  readonly gzip: boolean;
  readonly splitSizeBytes: number;
  readonly chunkBytes: number;
  readonly seed: number;
}

const input: fc.Arbitrary<Input> = fc.record({
  rows: fc.array(
    fc.oneof(
      fc.constantFrom('', 'a', 'ü', '\ufeff', '😀'),
      fc.string({ maxLength: 30 }).map((text) => text.replaceAll(/[\r\n]/g, '')),
    ),
    { minLength: 1, maxLength: 60 },
  ),
  lineEnd: fc.constantFrom('\n' as const, '\r\n' as const),
  endsWithLineEnd: fc.boolean(),
  gzip: fc.boolean(),
  splitSizeBytes: fc.integer({ min: 1, max: 200 }),
  chunkBytes: fc.integer({ min: 1, max: 100 }),
  seed: fc.nat(),
});

/** The source with small chunks, so that every border is met. */
function sourceOf(path: string, input: Input): Source<string, FileSplit, FileEnumeratorState> {
  const { splitSizeBytes, chunkBytes } = input;
  const source = fileSource({ path, format: lines(), splitSizeBytes });
  return {
    ...source,
    createReader: (context) =>
      new FileSourceReader(context, {
        format: lines(),
        encoding: 'utf-8',
        maxLineBytes: 1000,
        chunkBytes,
        rate: null,
        onMalformed: 'fail',
      }),
  };
}

/** Records of all checkpoints and of what follows the last, over crashes and other parallelisms. */
async function readWithCrashes(
  path: string,
  input: Input,
  disk: MemoryFileSystem,
): Promise<string[]> {
  const random = seededRandom(input.seed);
  const committed: string[] = [];
  let checkpoint: SourceCheckpoint<FileSplit, FileEnumeratorState> | undefined;
  for (let crashes = random.int(6); ; crashes--) {
    const driver = new SourceDriver(sourceOf(path, input), testEnvironment(disk));
    const parallelism = 1 + random.int(4);
    await driver.start(parallelism, checkpoint);
    if (crashes <= 0) {
      await driver.finish(1 + random.int(100));
      return [...committed, ...driver.values];
    }
    for (let step = random.int(30); step > 0; step--) {
      driver.poll(random.int(parallelism), random.int(5));
      if (random.int(2) === 0) await settle();
      if (random.int(4) > 0) continue;
      const taken = driver.snapshot();
      committed.push(...taken.values);
      checkpoint = taken;
    }
  }
}

function expectedOf({ rows, lineEnd, endsWithLineEnd }: Input): {
  readonly text: string;
  readonly records: readonly string[];
} {
  const text = rows.join(lineEnd) + (endsWithLineEnd ? lineEnd : '');
  // A byte order mark at the very start is none of the text; an empty last line is no line.
  const plain = text.startsWith('\ufeff') ? text.slice(1) : text;
  const records = plain.split(lineEnd);
  return { text, records: records.at(-1) === '' ? records.slice(0, -1) : records };
}

test('every line is read exactly once, whatever is split, cut, killed and rescaled', async () => {
  await fc.assert(
    fc.asyncProperty(input, async (input) => {
      const disk = new MemoryFileSystem();
      const { text, records } = expectedOf(input);
      const path = input.gzip ? '/in.txt.gz' : '/in.txt';
      await writeText(disk, path, input.gzip ? gzipSync(text) : text);
      const values = await readWithCrashes(path, input, disk);
      assert.deepEqual(values.toSorted(), records.toSorted());
    }),
    { numRuns: 300 },
  );
});
