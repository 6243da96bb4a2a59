/**
 * Whether a checkpoint is one cut through the job: what its sources have read, run through the job
 * by a recount, is what its state holds and what its sinks promise; nothing is missing, nothing is
 * there twice, nothing comes from behind the barrier. Looks at every completed checkpoint, so that
 * a wrong one is found where it is made, whether or not anything ever goes back to it.
 *
 * With barriers that are only counted, state may hold more than the sources' positions say, and
 * never less.
 */
import { messageOf } from '@weir/core/internal/base/errors';
import type { MemoryFileSystem } from '@weir/core/internal/storage/memory-file-system';
import type { JobSpec, OperatorSpec, SinkSpec, SourceSpec } from '../jobs/job-spec.ts';
import type { OuterSystem } from '../jobs/outer-system.ts';
import { countOperator, inputsOf } from '../jobs/recount.ts';
import type { Counted } from '../jobs/recount.ts';
import type { SimulatedRecord } from '../jobs/simulated-record.ts';
import type { World } from '../world/world.ts';
import { difference } from './difference.ts';
import { promisedRecords } from './promised-records.ts';
import type { SnapshotContents } from './snapshot-contents.ts';
import { readContents } from './snapshot-contents.ts';
import { recordsRead } from './source-positions.ts';
import { checkState, heldBack } from './state-check.ts';

export interface CutCheckOptions {
  readonly world: World;
  readonly job: JobSpec;
  readonly disk: MemoryFileSystem;
  readonly outer: OuterSystem<SimulatedRecord>;
  readonly outputDirectory: string;
  /** Barriers are aligned. */
  readonly isAligned: boolean;
  readonly keepsEventTime: boolean;
  /** Results are published but once. */
  readonly exactlyOnce: boolean;
}

export class CutCheck {
  readonly #options: CutCheckOptions;

  constructor(options: CutCheckOptions) {
    this.#options = options;
  }

  /** In the turn in which the checkpoint completes: before anything that follows from that. */
  async check(checkpointId: number, directory: string): Promise<void> {
    const { disk, world } = this.#options;
    try {
      const promised = this.#promisedBefore();
      this.#compare(checkpointId, await readContents(disk, directory), promised);
    } catch (error) {
      world.violated(`checkpoint ${checkpointId} cannot be read: ${messageOf(error)}`);
    }
  }

  #compare(
    checkpointId: number,
    contents: SnapshotContents,
    published: ReadonlyMap<string, readonly SimulatedRecord[]>,
  ): void {
    const { job } = this.#options;
    const streams: (readonly Counted[])[] = [];
    for (const spec of job.streams)
      streams.push(
        spec.type === 'source'
          ? this.#sourceRead(checkpointId, spec, contents)
          : this.#operatorMade(checkpointId, spec, { contents, streams }),
      );
    for (const sink of job.sinks) {
      const expected = (streams[sink.input] ?? []).map(({ id }) => id);
      this.#checkSink(checkpointId, sink, { contents, expected, published });
    }
  }

  #sourceRead(
    checkpointId: number,
    spec: SourceSpec,
    contents: SnapshotContents,
  ): readonly Counted[] {
    const read = recordsRead(spec, contents);
    if (typeof read !== 'string') return read;
    this.#options.world.violated(`checkpoint ${checkpointId}: source ${spec.name} ${read}`);
    return [];
  }

  #operatorMade(
    checkpointId: number,
    spec: OperatorSpec,
    {
      contents,
      streams,
    }: { readonly contents: SnapshotContents; readonly streams: readonly (readonly Counted[])[] },
  ): readonly Counted[] {
    const inputs = inputsOf(spec, streams);
    const state = contents.operators.get(spec.name);
    if (state === undefined) return countOperator(spec, inputs);
    const { isAligned: isExact, keepsEventTime } = this.#options;
    const fault = checkState(spec, inputs, { state, isExact, keepsEventTime });
    if (fault !== null)
      this.#options.world.violated(
        `checkpoint ${checkpointId} is no cut: ${spec.kind} ${spec.name} ${fault}`,
      );
    const { ids, windows } = heldBack(spec, state);
    const passed = inputs.map((input) => input.filter(({ id }) => !ids.has(id)));
    const made = countOperator(spec, passed);
    return windows === null ? made : made.filter(({ key, ts }) => !windows.has(`${key} ${ts + 1}`));
  }

  #checkSink(
    checkpointId: number,
    sink: SinkSpec,
    {
      contents,
      expected,
      published,
    }: {
      readonly contents: SnapshotContents;
      readonly expected: readonly string[];
      readonly published: ReadonlyMap<string, readonly SimulatedRecord[]>;
    },
  ): void {
    // What Kafka holds of a promise is seen when it is committed.
    if (sink.kind === 'plain' || sink.kind === 'kafka') return;
    const { world, exactlyOnce, isAligned } = this.#options;
    const state = contents.operators.get(sink.name);
    const promised = promisedRecords(sink, state, {
      ...this.#options,
      published: published.get(sink.name) ?? [],
    });
    if (typeof promised === 'string')
      return world.violated(`checkpoint ${checkpointId}: sink ${sink.name} ${promised}`);
    const isExact = exactlyOnce && isAligned;
    const fault = difference(expected, promised, isExact);
    if (fault !== null)
      world.violated(
        `checkpoint ${checkpointId}: what ${sink.kind} ${sink.name} published and promises ` +
          fault,
      );
  }

  /** What the outer system shows now: later this turn there may be more. */
  #promisedBefore(): ReadonlyMap<string, readonly SimulatedRecord[]> {
    const { job, outer } = this.#options;
    return new Map(job.sinks.map(({ name }) => [name, [...outer.committed(name)]]));
  }
}
