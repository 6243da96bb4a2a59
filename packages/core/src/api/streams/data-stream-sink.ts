/** The end of a stream: the settings of its sink operator. */
import { setParallelism, setText, setUidHash } from '../operator-settings.ts';
import type { StreamNode } from '../stream-graph.ts';

export class DataStreamSink {
  readonly #node: StreamNode;

  constructor(node: StreamNode) {
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
}
