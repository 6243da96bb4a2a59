/** The stream that an operator produces: a DataStream with the settings of that operator. */
import { graphError, requireMethods } from '../function-checks.ts';
import type { OutputTag } from '../functions.ts';
import { setParallelism, setText, setUidHash } from '../operator-settings.ts';
import type { OperatorSpec, StreamNode } from '../stream-graph.ts';
import { DataStream } from './data-stream.ts';
import { callSite } from './stream-context.ts';
import type { StreamContext } from './stream-context.ts';
import { partsOf } from './transformable-stream.ts';

/** Operators whose functions can call `ctx.output`. */
const WITH_SIDE_OUTPUTS: ReadonlySet<OperatorSpec['type']> = new Set([
  'process',
  'keyedProcess',
  'coProcess',
  'keyedCoProcess',
  'broadcastProcess',
  'keyedBroadcastProcess',
]);

export class SingleOutputStreamOperator<T> extends DataStream<T> {
  readonly #node: StreamNode;

  constructor(context: StreamContext, node: StreamNode) {
    const upstream = [{ node, partitioner: null, sideOutput: null }];
    super({ context, upstream, keySelector: null });
    this.#node = node;
  }

  /** The name shown in progress, logs and REST. Free to change. */
  name(name: string): this {
    setText(this.#node, 'name', name);
    return this;
  }

  /**
   * Identifies the operator's state in snapshots: keep it when the job changes. Must be unique in
   * the job.
   */
  uid(uid: string): this {
    setText(this.#node, 'uid', uid);
    return this;
  }

  /** Gives the operator id outright (32 hexadecimal digits), to adopt state kept without a uid. */
  setUidHash(uidHash: string): this {
    setUidHash(this.#node, uidHash);
    return this;
  }

  /** Number of subtasks; otherwise that of the job. */
  setParallelism(parallelism: number): this {
    setParallelism(this.#node, 'parallelism', parallelism);
    return this;
  }

  /** Number of key groups, the bound of later rescaling; fixed once there are snapshots. */
  setMaxParallelism(maxParallelism: number): this {
    setParallelism(this.#node, 'maxParallelism', maxParallelism);
    return this;
  }

  /** Begins a new chain with this operator: it does not run in one task with its producer. */
  startNewChain(): this {
    this.#node.chaining = 'head';
    return this;
  }

  /** Never runs the operator in one task with its neighbours. */
  disableChaining(): this {
    this.#node.chaining = 'never';
    return this;
  }

  /** Subtasks of operators in different groups never share a slot. */
  slotSharingGroup(group: string): this {
    setText(this.#node, 'slotSharingGroup', group);
    return this;
  }

  /** What the operator emitted with `ctx.output(tag, …)`. */
  sideOutput<X>(tag: OutputTag<X>): DataStream<X> {
    const { context } = partsOf(this);
    const at = callSite(context, this, 'sideOutput');
    requireMethods(at, tag, [], 'a tag made by outputTag()');
    if (!WITH_SIDE_OUTPUTS.has(this.#node.spec.type))
      throw graphError(at, `${this.#node.name} has no side outputs: use process`);
    const upstream = [{ node: this.#node, partitioner: null, sideOutput: tag.id }];
    return new DataStream({ context, upstream, keySelector: null });
  }
}
