/** What the author of a sink says about it, for `sinkConformance`. */
import type { FileSystem, Sink } from '@weir/core';
import type { AutoClock } from './auto-clock.ts';
import type { ProcessGate } from './process-gate.ts';

/** The outer system that a sink writes into, or a model of it, as a reader sees it. */
export interface ConformanceSystem<T> {
  /** What a reader sees now that does what `readersDuty` of the sink asks. */
  visible(): readonly T[] | Promise<readonly T[]>;
  /** Names of what is left half done: open transactions, temporary files. */
  unfinished(): readonly string[] | Promise<readonly string[]>;
  /**
   * Lets so much time pass that the system gives up transactions that are open. Absent: it never
   * gives one up.
   */
  expire?(): void | Promise<void>;
  /**
   * Ends the server without a warning and starts it again: connections break, and what it had
   * acknowledged is there; resolves when it answers. Absent: there is no server that could.
   */
  restart?(): void | Promise<void>;
  /** For a sink that writes files: the disk. The sink is given it behind the gate. */
  readonly fileSystem?: FileSystem;
}

export type ConformanceCaseName =
  | 'undisturbed'
  | 'not before the checkpoint'
  | 'committed twice'
  | 'committed out of order'
  | 'aborted checkpoint'
  | 'nothing to commit'
  | 'probe'
  | 'crash before every step'
  | 'crash after every step'
  | 'request lost at every step'
  | 'answer lost at every step'
  | 'restored twice'
  | 'restored at another parallelism'
  | 'expired transaction'
  | 'restarted in part'
  | 'fenced attempt'
  | 'server restarted in between';

export interface ConformanceOptions<T> {
  /** The n-th record: all differ. */
  readonly record: (n: number) => T;
  /** Cases without a subject, each with the reason. */
  readonly without?: Readonly<Partial<Record<ConformanceCaseName, string>>>;
}

export interface ConformanceSubject<T, S extends ConformanceSystem<T>> {
  /** The sink as a new process makes it. All it does to the system must go through the gate. */
  readonly makeSink: (system: S, gate: ProcessGate) => Sink<T>;
  /** A new, empty system, which keeps to the clock. */
  readonly outerSystem: (clock: AutoClock) => S;
  readonly options: ConformanceOptions<T>;
}
