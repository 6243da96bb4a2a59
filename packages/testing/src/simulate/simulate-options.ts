/** What `simulate` takes and gives. */
import type { ArgumentValues, ConfigSettings, WriteMode } from '@weir/core';
import type { Comparison } from './compare-outputs.ts';
import type { FaultKind } from './fault-words.ts';
import type { InputRecords } from './source-input.ts';

export interface SimulateOptions {
  /**
   * The records of each source, by its uid, or by its name if it has none. A list is read in order;
   * `{ splits }` are read side by side, as the partitions of a topic are. Sources that make their
   * records from nothing (a collection, `sequence`, bounded `datagen`) need none.
   */
  readonly input?: Readonly<Record<string, InputRecords>>;
  /** How many schedules are run: seeds 1, 2, …. Default 100. */
  readonly seeds?: number;
  /** Runs the schedule of this seed alone: to repeat a failure. */
  readonly seed?: number;
  /**
   * What sinks must hold, by uid or name. Default for each sink: what it holds after a run without
   * failure.
   */
  readonly expect?: Readonly<Record<string, readonly unknown[]>>;
  /**
   * What of a sink's records counts, by uid or name: both sides are compared after it. For results
   * that may come about in several ways and end in the same, such as the last record of each key.
   */
  readonly view?: Readonly<Record<string, OutputView>>;
  /** The job's arguments, by name. */
  readonly args?: ArgumentValues;
  /** Configuration under Flink's keys; what the simulation draws itself wins. */
  readonly config?: ConfigSettings;
  /** Parallelisms to start and to go on with. Default 1, 2, 3 and 4. */
  readonly parallelism?: number | readonly number[];
  /** Kinds of faults. Default: all. */
  readonly faults?: readonly FaultKind[];
  /** Told after each schedule. */
  readonly onProgress?: (progress: SimulationProgress) => void;
  /** Ends the simulation with the signal's reason. */
  readonly signal?: AbortSignal;
}

/** Takes records of any type: annotate the parameter with that of the sink. */
export type OutputView = {
  view(records: readonly unknown[]): readonly unknown[];
}['view'];

export interface SimulationProgress {
  readonly done: number;
  readonly total: number;
  readonly seed: number;
  /** Of all schedules so far. */
  readonly kills: number;
  readonly restores: number;
}

export interface SimulatedSink {
  /** Uid or name: its key in `outputs`, `expect` and `view`. */
  readonly sink: string;
  readonly write: WriteMode;
  /**
   * `exact`: it held every record exactly as often as expected. `repeatable`: it writes at once, so
   * records may come again after a failure; that none is missing and none is wrong was checked.
   */
  readonly comparison: Comparison;
  /** Records that came again, in all schedules together. */
  readonly repeated: number;
}

export interface SimulationResult {
  readonly job: string;
  /** Schedules that were run. */
  readonly schedules: number;
  readonly kills: number;
  /** How often a process began from a checkpoint. */
  readonly restores: number;
  readonly checkpoints: number;
  /** What each sink holds after the run without failure. */
  readonly outputs: Readonly<Record<string, readonly unknown[]>>;
  readonly sinks: readonly SimulatedSink[];
  /** What was not checked, and why; a sentence each. */
  readonly notes: readonly string[];
  /** What happened in the last schedule, a line each. */
  readonly story: readonly string[];
}
