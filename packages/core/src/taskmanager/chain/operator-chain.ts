/**
 * The operators of one subtask, wired: each operator's results go by plain calls to the operators
 * chained behind it and to the network. This folder alone knows how a chain is put together, so
 * that generated code can take the place of the push path.
 */
import { assert } from '../../base/assert.ts';
import type { JobEdge, JobVertex } from '../../protocol/job-graph.ts';
import type { KeyedOperator } from '../operators/keyed-operator.ts';
import { KeyedOperator as KeyedOperatorClass } from '../operators/keyed-operator.ts';
import { SinkOperator } from '../operators/sink.ts';
import { SourceOperator } from '../operators/source.ts';
import type { StreamOperator } from '../operators/stream-operator.ts';
import { canCompile } from '../../base/generated-code.ts';
import {
  generateCollect,
  generateEmitter,
  generateRun,
  generateSourceCollect,
} from './chain-generator.ts';
import type { ChainedOperator, Room, RunBatch, Targets } from './chain-generator.ts';
import type { Output } from './output.ts';
import { broadcastingOutput, NO_OUTPUT } from './output.ts';

/** Makes the operator at `index` of the vertex, given where its results go. */
export type MakeOperator = (
  index: number,
  output: Output,
  sideOutput: (tag: string) => Output,
) => StreamOperator;

export interface ChainOptions {
  readonly vertex: JobVertex;
  /** Edges that leave the vertex, each with the output that leads into it. */
  readonly edges: readonly { readonly edge: JobEdge; readonly output: Output }[];
  readonly make: MakeOperator;
  /** Whether records go through generated code. Default: wherever that is possible. */
  readonly isGenerated?: boolean;
}

export class OperatorChain {
  /** In the order of the vertex: head first. */
  readonly operators: readonly StreamOperator[];
  readonly #keyed: readonly KeyedOperator<object>[];
  readonly #room: Room;
  readonly #isGenerated: boolean;
  /** What follows the head. */
  readonly #next: Targets;
  readonly #runs: [RunBatch | null, RunBatch | null] = [null, null];

  constructor(options: ChainOptions) {
    const { vertex, isGenerated = canCompile() } = options;
    const operators: StreamOperator[] = [];
    const targets: Targets[] = [];
    // From the tail, since an operator is made with its outputs; chains list consumers later.
    for (let index = vertex.operators.length - 1; index >= 0; index--) {
      const byTag = targetsOf(index, options, { operators, targets });
      const outputs = outputsOf(byTag, isGenerated);
      operators[index] = options.make(index, outputs.main, outputs.side);
      targets[index] = byTag.get(null) ?? NO_TARGETS;
    }
    this.operators = operators;
    this.#next = targets[0] ?? NO_TARGETS;
    this.#isGenerated = isGenerated;
    this.#keyed = operators.filter((operator) => operator instanceof KeyedOperatorClass);
    this.#room = {
      partitions: options.edges.flatMap(({ output }) => output.inlined?.partition ?? []),
      sinks: operators.filter((operator) => operator instanceof SinkOperator),
    };
    if (isGenerated) this.#generateSource();
  }

  get head(): StreamOperator {
    return this.operators[0] as StreamOperator;
  }

  get source(): SourceOperator | null {
    return this.head instanceof SourceOperator ? this.head : null;
  }

  /** Hands records of an input to the head; see `RunBatch`. When the chain is open. */
  runOf(inputIndex: 0 | 1): RunBatch {
    const run = this.#runs[inputIndex] ?? this.#makeRun(inputIndex);
    this.#runs[inputIndex] = run;
    return run;
  }

  /** Operators with keyed state and timers. */
  get keyed(): readonly KeyedOperator<object>[] {
    return this.#keyed;
  }

  /** Whether network and sinks can take another record; generated code asks by itself. */
  hasRoom(): boolean {
    for (const partition of this.#room.partitions) if (!partition.isAvailable) return false;
    for (const sink of this.#room.sinks) if (!sink.isWritable) return false;
    return true;
  }

  /** Goes on with watermarks and timers that stopped half way; true when nothing is left. */
  resume(): boolean {
    for (const operator of this.operators) if (!operator.resume()) return false;
    return true;
  }

  /** Fires due processing-time timers; false when it had to stop. */
  fireProcessingTimers(): boolean {
    for (const operator of this.#keyed) if (!operator.fireProcessingTimers()) return false;
    return true;
  }

  /** Wall-clock time of the earliest processing-time timer, or null. */
  nextProcessingTimer(): number | null {
    let next: number | null = null;
    for (const operator of this.#keyed) {
      const time = operator.context.keyed?.timers.nextProcessingTime() ?? null;
      if (time !== null && (next === null || time < next)) next = time;
    }
    return next;
  }

  /** No key is current any more: a later callback must not meet that of another record. */
  leaveKeys(): void {
    for (const { context } of this.#keyed) context.keyed?.backend.clearCurrentKey();
  }

  pausedFor(ms: number): void {
    for (const operator of this.operators) operator.pausedFor(ms);
  }

  endOfInput(): void {
    for (const operator of this.operators) operator.endOfInput();
  }

  async notifyCheckpointComplete(checkpointId: number): Promise<void> {
    await Promise.all(
      this.operators.map(async (operator) => operator.notifyCheckpointComplete(checkpointId)),
    );
  }

  async commitAtEnd(): Promise<void> {
    for (const operator of this.operators) await operator.commitAtEnd();
  }

  /** Closes every operator, also when one fails; the first error is thrown. */
  async close(): Promise<void> {
    const outcomes = await Promise.allSettled(
      this.operators.map(async (operator) => operator.close()),
    );
    const failed = outcomes.find((outcome) => outcome.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }

  #makeRun(inputIndex: 0 | 1): RunBatch {
    const { head } = this;
    if (this.#isGenerated)
      return generateRun({ operator: head, next: this.#next }, this.#room, inputIndex);
    return (values, timestamps, from, end) => {
      let index = from;
      while (index < end) {
        const value = values[index];
        const timestamp = timestamps === null ? Number.NaN : (timestamps[index] as number);
        index++;
        if (inputIndex === 0) head.processElement(value, timestamp);
        else head.processElement2(value, timestamp);
        if (!this.hasRoom()) break;
      }
      return index;
    };
  }

  /** Its output is generated with the first record, when the chain is open. */
  #generateSource(): void {
    const inlined = this.source?.inlined();
    if (inlined?.kind !== 'source') return;
    const { output } = inlined;
    output.collect = (value, sourceTimestamp, splitId) => {
      const source = { operator: this.head, next: this.#next };
      output.collect = generateSourceCollect(source, inlined, this.#room);
      output.collect(value, sourceTimestamp, splitId);
    };
  }
}

const NO_TARGETS: Targets = { operators: [], outputs: [] };

/** What follows the operator, by side output; `null` for its results. */
function targetsOf(
  index: number,
  { vertex, edges }: ChainOptions,
  made: { readonly operators: readonly StreamOperator[]; readonly targets: readonly Targets[] },
): ReadonlyMap<string | null, Targets> {
  const operator = vertex.operators[index];
  assert(operator !== undefined, 'operator index out of range');
  const byTag = new Map<string | null, { operators: ChainedOperator[]; outputs: Output[] }>();
  const at = (tag: string | null): { operators: ChainedOperator[]; outputs: Output[] } => {
    const targets = byTag.get(tag) ?? { operators: [], outputs: [] };
    byTag.set(tag, targets);
    return targets;
  };
  for (const chained of operator.chainedTo) {
    assert(chained.operator > index, 'a chain lists consumers after their producer');
    at(chained.sideOutput).operators.push({
      operator: made.operators[chained.operator] as StreamOperator,
      next: made.targets[chained.operator] as Targets,
    });
  }
  for (const { edge, output } of edges)
    if (edge.sourceOperator === index) at(edge.sideOutput).outputs.push(output);
  return byTag;
}

interface OperatorOutputs {
  readonly main: Output;
  readonly side: (tag: string) => Output;
}

function outputsOf(
  byTag: ReadonlyMap<string | null, Targets>,
  isGenerated: boolean,
): OperatorOutputs {
  const pushed = new Map<string | null, Output>();
  for (const [tag, targets] of byTag) pushed.set(tag, pushOutput(targets));
  // Watermarks and idleness go to side outputs as well, and always by plain calls.
  const events = broadcastingOutput([...pushed.values()]);
  const outputs = new Map<string | null, Output>();
  for (const [tag, push] of pushed) {
    const records = isGenerated ? generatedOutput(byTag.get(tag) ?? NO_TARGETS, push) : push;
    outputs.set(tag, records);
  }
  const main: Output = {
    ...(outputs.get(null) ?? NO_OUTPUT),
    emitWatermark: (timestamp) => events.emitWatermark(timestamp),
    emitIdle: (idle) => events.emitIdle(idle),
  };
  return { main, side: (tag) => outputs.get(tag) ?? NO_OUTPUT };
}

/** By plain calls. */
function pushOutput({ operators, outputs }: Targets): Output {
  const chained = operators.map(({ operator }): Output => ({
    collect: (value, timestamp) => operator.processElement(value, timestamp),
    emitWatermark: (timestamp) => {
      operator.processWatermark(timestamp);
    },
    emitIdle: (idle) => operator.processIdle(idle),
  }));
  return broadcastingOutput([...chained, ...outputs]);
}

/** Generated with the first record, since what follows must be complete and open. */
function generatedOutput(targets: Targets, push: Output): Output {
  let collect: Output['collect'] | null = null;
  return {
    collect(value, timestamp) {
      collect ??= generateCollect(targets);
      collect(value, timestamp);
    },
    emitter: (element, context) => generateEmitter(targets, element, context),
    emitWatermark: (timestamp) => push.emitWatermark(timestamp),
    emitIdle: (idle) => push.emitIdle(idle),
  };
}
