/**
 * What a sink has published and what a checkpoint promises to publish besides, by the ids of its
 * records. Together they are all that the sink was given before the barrier.
 */
import type {
  FileCommittable,
  FileWriterState,
} from '@weir/core/internal/connectors/parts/part-names';
import type { MemoryFileSystem } from '@weir/core/internal/storage/memory-file-system';
import type { SinkSpec } from '../jobs/job-spec.ts';
import type { OuterSystem } from '../jobs/outer-system.ts';
import type { SimulatedRecord } from '../jobs/simulated-record.ts';
import type { Committable } from '../jobs/transaction-sink.ts';
import { filesBelow } from './check-output.ts';
import { recordsIn } from './records-in.ts';
import type { OperatorContents } from './snapshot-contents.ts';

export interface PromiseSources {
  readonly disk: MemoryFileSystem;
  readonly outer: OuterSystem<SimulatedRecord>;
  readonly outputDirectory: string;
  /** What the outer system has published of this sink. */
  readonly published: readonly SimulatedRecord[];
}

/** A text tells of a promise that cannot be kept. `state` is missing once the sink has ended. */
export function promisedRecords(
  sink: SinkSpec,
  state: OperatorContents | undefined,
  sources: PromiseSources,
): readonly string[] | string {
  const committables = state?.lists.get('committables')?.flat() ?? [];
  if (sink.kind === 'transactions') return fromTransactions(committables as Committable[], sources);
  const states = (state?.lists.get('writer')?.flat() ?? []) as FileWriterState[];
  const refs = [...(committables as FileCommittable[]), ...states.flatMap(({ open }) => open)];
  return fromFiles(`${sources.outputDirectory}/${sink.name}`, refs, sources.disk);
}

function fromTransactions(
  committables: readonly Committable[],
  { outer, published }: PromiseSources,
): readonly string[] | string {
  const records = [...published];
  const listed = new Set<string>();
  for (const { id } of committables) {
    const transaction = outer.transaction(id);
    if (transaction === null) return `promises transaction ${id}, which nobody knows`;
    if (transaction.state === 'open' || transaction.state === 'aborted')
      return `promises transaction ${id}, which is ${transaction.state}`;
    if (listed.has(id)) return `promises transaction ${id} twice`;
    listed.add(id);
    if (transaction.state === 'prepared') records.push(...transaction.records);
  }
  return records.map(({ id }) => id);
}

function fromFiles(
  folder: string,
  refs: readonly FileCommittable[],
  disk: MemoryFileSystem,
): readonly string[] | string {
  const contents = new Map<string, Uint8Array>();
  for (const path of filesBelow(disk, folder))
    if (!path.includes('/.')) contents.set(path, disk.disk.contentOf(path));
  for (const { finalPath, inProgressPath, sizeBytes } of refs) {
    if (contents.has(finalPath)) continue;
    const bytes = disk.survives(inProgressPath);
    if (bytes === null || bytes.length < sizeBytes)
      return (
        `promises ${sizeBytes} bytes of ${inProgressPath}, of which a power failure would leave ` +
        String(bytes?.length ?? 'nothing')
      );
    contents.set(finalPath, bytes.subarray(0, sizeBytes));
  }
  const ids: string[] = [];
  for (const [path, bytes] of contents) {
    const found = idsIn(bytes);
    if (typeof found === 'string') return `promises ${path}, which ${found}`;
    ids.push(...found);
  }
  return ids;
}

/** Files that are published stay what they are, and are looked at with every checkpoint. */
const idsOf = new WeakMap<Uint8Array, readonly string[]>();

function idsIn(bytes: Uint8Array): readonly string[] | string {
  const known = idsOf.get(bytes);
  if (known !== undefined) return known;
  const records = recordsIn(bytes);
  if (typeof records === 'string') return records;
  const ids = records.map(({ id }) => id);
  idsOf.set(bytes, ids);
  return ids;
}
