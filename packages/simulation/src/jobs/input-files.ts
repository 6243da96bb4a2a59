/**
 * The input of simulated jobs that read files: one file for each split of the spec, a line for each
 * record. On the disk before anything runs, and durable.
 */
import type { FileSystem } from '@weir/core/internal/base/file-system';
import { writeFileDurably } from '@weir/core/internal/storage/durable-file';
import type { JobSpec, SourceSpec, SplitSpec } from './job-spec.ts';
import { hashOf } from './simulated-record.ts';
import type { SimulatedRecord } from './simulated-record.ts';

export const INPUT_DIRECTORY = '/input';

export function inputFolder({ name }: SourceSpec): string {
  return `${INPUT_DIRECTORY}/${name}`;
}

export function inputPath(spec: SourceSpec, split: SplitSpec): string {
  return `${inputFolder(spec)}/${split.id}.ndjson`;
}

/** Of each split: asked for again at every checkpoint. */
const linesOf = new WeakMap<SplitSpec, readonly string[]>();

/** The text of each record's line, its end included. */
export function inputLines(spec: SourceSpec, split: SplitSpec): readonly string[] {
  const known = linesOf.get(split);
  if (known !== undefined) return known;
  const lines = makeLines(spec, split);
  linesOf.set(split, lines);
  return lines;
}

function makeLines({ keys }: SourceSpec, split: SplitSpec): readonly string[] {
  return Array.from({ length: split.count }, (_line, index) => {
    const id = `${split.id}:${index}`;
    const ts = split.firstTs + index * split.stepTs;
    const record: SimulatedRecord = { id, key: hashOf(id) % keys, ts, counts: [] };
    return `${JSON.stringify(record)}\n`;
  });
}

export async function writeInputs(fileSystem: FileSystem, job: JobSpec): Promise<void> {
  for (const spec of job.streams) {
    if (spec.type !== 'source' || spec.reader !== 'files') continue;
    const folder = inputFolder(spec);
    await fileSystem.makeDirectory(folder);
    for (const split of spec.splits) {
      const bytes = Buffer.from(inputLines(spec, split).join(''));
      await writeFileDurably(fileSystem, inputPath(spec, split), new Uint8Array(bytes));
    }
    for (const path of [folder, INPUT_DIRECTORY, '/']) await fileSystem.syncDirectory(path);
  }
}
