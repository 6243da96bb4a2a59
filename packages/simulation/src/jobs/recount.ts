/**
 * What a job must have published, computed from its spec alone in one pass: no time, no order, no
 * parallelism. Each record is an id, a key and an event time.
 */
import type { JobSpec, OperatorSpec, SourceSpec } from './job-spec.ts';
import { hashOf } from './simulated-record.ts';

export interface Counted {
  readonly id: string;
  readonly key: number;
  readonly ts: number;
}

export interface Recount {
  /** By place in the job. */
  readonly streams: readonly (readonly Counted[])[];
}

/** These change ids alike in the job and in the recount. */
export const stepOf = {
  id: (id: string, operator: string, part = ''): string => `${id}>${operator}${part}`,
  key: (id: string): number => hashOf(id) % 5,
  keeps: (id: string): boolean => hashOf(id) % 3 > 0,
  copies: (id: string): number => hashOf(id) % 3,
  windowEnd: (ts: number, size: number): number => (Math.floor(ts / size) + 1) * size,
  windowId: (operator: string, key: number, end: number, sum: WindowSum): string =>
    `${operator}[${key},${end}]=${sum.count}:${sum.hash}`,
};

export interface WindowSum {
  readonly count: number;
  readonly hash: number;
}

export function addToWindow(sum: WindowSum, id: string): WindowSum {
  return { count: sum.count + 1, hash: (sum.hash + hashOf(id)) % 4294967296 };
}

export function recount(job: JobSpec): Recount {
  const streams: (readonly Counted[])[] = [];
  for (const spec of job.streams)
    streams.push(
      spec.type === 'source' ? countSource(spec) : countOperator(spec, inputsOf(spec, streams)),
    );
  return { streams };
}

/** What an operator takes, of all the streams before it. */
export function inputsOf(
  { inputs }: OperatorSpec,
  streams: readonly (readonly Counted[])[],
): readonly (readonly Counted[])[] {
  return inputs.map((input) => streams[input] ?? []);
}

export function countSource({ splits, keys }: SourceSpec): readonly Counted[] {
  return splits.flatMap(({ id, count, firstTs, stepTs }) =>
    Array.from({ length: count }, (_record, index) => ({
      id: `${id}:${index}`,
      key: hashOf(`${id}:${index}`) % keys,
      ts: firstTs + index * stepTs,
    })),
  );
}

/** What an operator makes of its inputs. */
export function countOperator(
  spec: OperatorSpec,
  [first = [], second = []]: readonly (readonly Counted[])[],
): readonly Counted[] {
  const { kind, name } = spec;
  const renamed = (records: readonly Counted[], part = ''): readonly Counted[] =>
    records.map((record) => ({ ...record, id: stepOf.id(record.id, name, part) }));
  switch (kind) {
    case 'map':
      return renamed(first).map((record) => ({ ...record, key: stepOf.key(record.id) }));
    case 'filter':
      return renamed(first.filter(({ id }) => stepOf.keeps(id)));
    case 'flatMap':
      return first.flatMap((record) =>
        Array.from({ length: stepOf.copies(record.id) }, (_copy, index) => ({
          ...record,
          id: stepOf.id(record.id, name, `.${index}`),
        })),
      );
    case 'all':
      return Array.from({ length: spec.parallelism ?? 1 }, (_subtask, index) =>
        renamed(first, `@${index}`),
      ).flat();
    case 'union':
    case 'join':
      return [...renamed(first, 'a'), ...renamed(second, 'b')];
    case 'window':
      return countWindows(spec, first);
    default:
      return renamed(first);
  }
}

function countWindows({ name, size }: OperatorSpec, records: readonly Counted[]): Counted[] {
  const windows = new Map<string, { key: number; end: number; sum: WindowSum }>();
  for (const { id, key, ts } of records) {
    const end = stepOf.windowEnd(ts, size);
    const window = windows.get(`${key} ${end}`) ?? { key, end, sum: { count: 0, hash: 0 } };
    windows.set(`${key} ${end}`, { ...window, sum: addToWindow(window.sum, id) });
  }
  return [...windows.values()].map(({ key, end, sum }) => ({
    id: stepOf.windowId(name, key, end, sum),
    key,
    ts: end - 1,
  }));
}
