/**
 * The sinks that a simulation puts in place of the job's own: of the same kind of write, into
 * memory. A sink that commits in two phases writes transactions into a simulated outer system,
 * which can be down, lose answers and crash; any other sink writes at once.
 */
import type { Sink } from '@weir/core';
import { transactionSink } from '@weir/simulation/jobs/transaction-sink';
import type { OuterSystem } from '@weir/simulation/jobs/outer-system';
import { copyPlain } from '@weir/simulation/world/copy-plain';

/** What sinks that write at once have written, by sink. */
export type PlainOutputs = Map<string, unknown[]>;

export interface MemorySinkOptions {
  /** The key of the sink in the result. */
  readonly key: string;
  readonly system: OuterSystem<unknown>;
  readonly outputs: PlainOutputs;
  /** Told before a commit. */
  readonly beforeCommit: (checkpointId: number) => void;
}

export function memorySink(original: Sink<unknown>, options: MemorySinkOptions): Sink<unknown> {
  const memory = commits(original) ? twoPhaseSink(options) : writeAtOnceSink(options);
  // Name, kind of write and what else the planner of guarantees asks for.
  return { ...factsOf(original), ...memory, name: original.name, write: original.write };
}

/** Whether results appear with checkpoints, so that each is there exactly as often as expected. */
export function commits({ write }: Sink<unknown>): boolean {
  return write === 'two-phase-commit' || write === 'write-ahead-log';
}

function factsOf(original: Sink<unknown>): object {
  const names = [
    'readersDuty',
    'transactionTimeoutMs',
    'confirmation',
    'converges',
    'resultsAppear',
  ];
  return Object.fromEntries(
    names.flatMap((name) => {
      const value: unknown = Reflect.get(original, name);
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

/** Records of one call to the outer system. */
const BATCH = 3;

function twoPhaseSink({ key, system, beforeCommit }: MemorySinkOptions): Sink<unknown> {
  const sink = transactionSink<unknown>({ name: key, system, batch: BATCH, beforeCommit });
  return {
    ...sink,
    createWriter: (context, restored) => {
      const writer = sink.createWriter(context, restored as readonly never[]);
      const write = writer.write.bind(writer);
      writer.write = (value, at) => write(copied(value), at);
      return writer;
    },
  };
}

function writeAtOnceSink({ key, outputs }: MemorySinkOptions): Sink<unknown> {
  const output = outputs.get(key) ?? [];
  outputs.set(key, output);
  return {
    name: key,
    write: 'plain',
    createWriter: () => ({
      isWritable: true,
      whenWritable: () => Promise.resolve(),
      write: (value) => void output.push(copied(value)),
      prepareCommit: () => ({ committables: [], writerStates: [], durable: Promise.resolve() }),
      close: () => Promise.resolve(),
    }),
  };
}

/** As it is now: the job may change the object later. */
function copied(value: unknown): unknown {
  try {
    return copyPlain(value);
  } catch {
    // Holds a function or the like, which no copy can have.
    return value;
  }
}
