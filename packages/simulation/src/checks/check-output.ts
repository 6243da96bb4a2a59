/**
 * The end of a schedule: what was published equals the recount, counts are exact, and no file and
 * no transaction is left that nobody needs.
 */
import type { MemoryFileSystem } from '@weir/core/internal/storage/memory-file-system';
import type { JobSpec, SinkSpec } from '../jobs/job-spec.ts';
import type { KafkaOutput } from '../jobs/kafka-output.ts';
import type { OuterSystem } from '../jobs/outer-system.ts';
import { recount } from '../jobs/recount.ts';
import type { SimulatedRecord } from '../jobs/simulated-record.ts';
import type { World } from '../world/world.ts';
import { recordsIn } from './records-in.ts';

export interface OutputCheck {
  readonly world: World;
  readonly job: JobSpec;
  readonly exactlyOnce: boolean;
  /** Some process stood still while another took over: it may have left files behind. */
  readonly hadZombies: boolean;
  readonly disk: MemoryFileSystem;
  readonly outer: OuterSystem<SimulatedRecord>;
  readonly plain: ReadonlyMap<string, readonly SimulatedRecord[]>;
  readonly kafka: Pick<KafkaOutput, 'visible' | 'open'>;
}

const NAMED_MAX = 5;

export function checkOutput(check: OutputCheck): void {
  const { world, job, outer, plain, disk } = check;
  const { streams } = recount(job);
  for (const sink of job.sinks) {
    const records = outputOf(sink, check);
    const expected = (streams[sink.input] ?? []).map(({ id }) => id);
    compare(check, sink, { records, expected });
    const isExact = check.exactlyOnce && sink.kind !== 'plain';
    if (isExact) checkCounts(world, sink, records);
  }
  void plain;
  for (const { id, state } of outer.unfinished())
    world.violated(`transaction ${id} is ${state} although the job has finished`);
  for (const id of check.kafka.open())
    world.violated(`transaction ${id} is open although the job has finished`);
  const files = filesBelow(disk, '/output');
  for (const path of files) {
    // A power failure may bring back the old name of a file whose final name is durable.
    const [folder, name] = [path.slice(0, path.lastIndexOf('/.') + 1), path.split('/.').at(-1)];
    const final = `${folder}${name?.split('.inprogress.')[0]}`;
    world.check(
      check.hadZombies || !path.includes('.inprogress.') || files.includes(final),
      () => `${path} is unfinished although the job has finished`,
    );
  }
}

function outputOf(
  { name, kind }: SinkSpec,
  { world, outer, plain, disk, kafka }: OutputCheck,
): readonly SimulatedRecord[] {
  switch (kind) {
    case 'transactions':
      return outer.committed(name);
    case 'kafka':
      return kafka.visible(name);
    case 'plain':
      return plain.get(name) ?? [];
    case 'files': {
      const files = filesBelow(disk, `/output/${name}`);
      const records: SimulatedRecord[] = [];
      for (const path of files) {
        if (path.includes('/.')) continue;
        const found = recordsIn(disk.survives(path) ?? new Uint8Array());
        if (typeof found === 'string') world.violated(`${path} ${found}`);
        else records.push(...found);
      }
      return records;
    }
  }
}

function compare(
  { world, exactlyOnce }: OutputCheck,
  sink: SinkSpec,
  { records, expected }: { records: readonly SimulatedRecord[]; expected: readonly string[] },
): void {
  const times = new Map<string, number>();
  for (const { id } of records) times.set(id, (times.get(id) ?? 0) + 1);
  const missing = expected.filter((id) => !times.has(id));
  const wanted = new Set(expected);
  const unexpected = [...times.keys()].filter((id) => !wanted.has(id));
  const twice = [...times].filter(([, count]) => count > 1).map(([id]) => id);
  const some = (ids: readonly string[]): string =>
    ids.slice(0, NAMED_MAX).join(', ') + (ids.length > NAMED_MAX ? ' …' : '');
  world.check(
    missing.length === 0,
    () =>
      `${sink.kind} ${sink.name} lacks ${missing.length} of ${expected.length}: ${some(missing)}`,
  );
  const isExact = exactlyOnce && sink.kind !== 'plain';
  world.check(
    unexpected.length === 0,
    () =>
      `${sink.kind} ${sink.name} has ${unexpected.length} that nobody wrote: ${some(unexpected)}`,
  );
  world.check(
    !isExact || twice.length === 0,
    () => `${sink.kind} ${sink.name} has ${twice.length} more than once: ${some(twice)}`,
  );
}

/** Of each key in each operator, every number belongs to one record and every record has one. */
function checkCounts(world: World, sink: SinkSpec, records: readonly SimulatedRecord[]): void {
  const idOf = new Map<string, string>();
  const numberOf = new Map<string, number>();
  for (const { counts } of records)
    for (const { operator, key, id, n } of counts) {
      const place = `${operator} key ${key} number ${n}`;
      const other = idOf.get(place) ?? id;
      world.check(
        other === id,
        () => `${sink.name}: ${place} is given to ${other} and to ${id}: state went back`,
      );
      idOf.set(place, id);
      const name = `${operator} ${id}`;
      const before = numberOf.get(name) ?? n;
      world.check(before === n, () => `${sink.name}: ${name} has the numbers ${before} and ${n}`);
      numberOf.set(name, n);
    }
}

export function filesBelow({ disk }: Pick<MemoryFileSystem, 'disk'>, path: string): string[] {
  const files: string[] = [];
  for (const name of disk.list(path)) {
    const child = `${path}/${name}`;
    const stat = disk.stat(child);
    if (stat?.isDirectory === true) files.push(...filesBelow({ disk }, child));
    else if (stat !== null) files.push(child);
  }
  return files;
}
