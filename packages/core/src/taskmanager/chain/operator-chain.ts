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
}

export class OperatorChain {
  /** In the order of the vertex: head first. */
  readonly operators: readonly StreamOperator[];
  readonly #keyed: readonly KeyedOperator<object>[];
  readonly #sinks: readonly SinkOperator[];

  constructor(options: ChainOptions) {
    const { vertex } = options;
    const operators: StreamOperator[] = [];
    // From the tail, since an operator is made with its outputs; chains list consumers later.
    for (let index = vertex.operators.length - 1; index >= 0; index--) {
      const outputs = outputsOf(index, options, operators);
      operators[index] = options.make(index, outputs.main, outputs.side);
    }
    this.operators = operators;
    this.#keyed = operators.filter((operator) => operator instanceof KeyedOperatorClass);
    this.#sinks = operators.filter((operator) => operator instanceof SinkOperator);
  }

  get head(): StreamOperator {
    return this.operators[0] as StreamOperator;
  }

  get source(): SourceOperator | null {
    return this.head instanceof SourceOperator ? this.head : null;
  }

  /** Operators with keyed state and timers. */
  get keyed(): readonly KeyedOperator<object>[] {
    return this.#keyed;
  }

  /** Whether every sink can take another record; asked for every record. */
  get isWritable(): boolean {
    for (const sink of this.#sinks) if (!sink.isWritable) return false;
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
}

interface OperatorOutputs {
  readonly main: Output;
  readonly side: (tag: string) => Output;
}

function outputsOf(
  index: number,
  { vertex, edges }: ChainOptions,
  made: readonly StreamOperator[],
): OperatorOutputs {
  const operator = vertex.operators[index];
  assert(operator !== undefined, 'operator index out of range');
  const byTag = new Map<string | null, Output[]>();
  const add = (tag: string | null, output: Output): void => {
    const list = byTag.get(tag);
    if (list === undefined) byTag.set(tag, [output]);
    else list.push(output);
  };
  for (const chained of operator.chainedTo) {
    assert(chained.operator > index, 'a chain lists consumers after their producer');
    add(chained.sideOutput, chainedOutput(made[chained.operator] as StreamOperator));
  }
  for (const { edge, output } of edges)
    if (edge.sourceOperator === index) add(edge.sideOutput, output);

  const all = [...byTag.values()].flat();
  const records = broadcastingOutput(byTag.get(null) ?? []);
  const events = broadcastingOutput(all);
  const main: Output =
    byTag.size <= 1 && byTag.has(null)
      ? records
      : {
          collect: (value, timestamp) => records.collect(value, timestamp),
          emitWatermark: (timestamp) => events.emitWatermark(timestamp),
          emitIdle: (idle) => events.emitIdle(idle),
        };
  const sides = new Map<string, Output>();
  for (const [tag, outputs] of byTag) if (tag !== null) sides.set(tag, broadcastingOutput(outputs));
  return { main, side: (tag) => sides.get(tag) ?? NO_OUTPUT };
}

function chainedOutput(operator: StreamOperator): Output {
  return {
    collect: (value, timestamp) => operator.processElement(value, timestamp),
    emitWatermark: (timestamp) => {
      operator.processWatermark(timestamp);
    },
    emitIdle: (idle) => operator.processIdle(idle),
  };
}
