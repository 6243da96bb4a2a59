/**
 * The crossing of one thread, which also says who waits for whom: for the report of a job that does
 * not go on.
 */
import type { ExecutionRef } from '@weir/core/internal/base/ids';
import { isSameAttempt } from '@weir/core/internal/base/ids';
import { DataExchange } from '@weir/core/internal/network/data-exchange';
import type { InputGate } from '@weir/core/internal/network/input-gate';
import type { ResultPartition } from '@weir/core/internal/network/result-partition';

export class WatchedExchange extends DataExchange {
  readonly #gates = new Set<InputGate>();
  readonly #partitions = new Set<ResultPartition>();

  /** Whoever has work by what came is stepped in the same round: no need for another one. */
  override pump(): boolean {
    super.pump();
    return false;
  }

  override registerGate(gate: InputGate): void {
    this.#gates.add(gate);
    super.registerGate(gate);
  }

  override registerPartition(partition: ResultPartition): void {
    this.#partitions.add(partition);
    super.registerPartition(partition);
  }

  override unregister(execution: ExecutionRef): void {
    for (const gate of this.#gates) if (isSame(gate, execution)) this.#gates.delete(gate);
    for (const partition of this.#partitions)
      if (isSame(partition, execution)) this.#partitions.delete(partition);
    super.unregister(execution);
  }

  /** A line for each task that waits for data or for room, and for whose. */
  describeWaiting(): readonly string[] {
    const lines: string[] = [];
    for (const { execution, channels } of this.#gates) {
      const open = channels.filter(({ isClosed }) => !isClosed);
      const parts = open.map(({ descriptor, queued, isBlocked }) => {
        const why = isBlocked
          ? 'blocked by a barrier'
          : queued === 0
            ? 'empty'
            : `${queued} frames`;
        return `${nameOf(descriptor.producer)} ${why}`;
      });
      if (parts.length > 0) lines.push(`${nameOf(execution)} reads: ${parts.join(', ')}`);
    }
    for (const { execution, subpartitions } of this.#partitions)
      for (const { descriptor, unsent, connection } of subpartitions) {
        if (unsent === 0) continue;
        const why = connection === null ? 'which has not asked for any' : 'which gives no credit';
        lines.push(
          `${nameOf(execution)} has ${unsent} frames for ${nameOf(descriptor.consumer)}, ${why}`,
        );
      }
    return lines;
  }
}

function isSame({ execution }: { readonly execution: ExecutionRef }, other: ExecutionRef): boolean {
  return (
    execution.vertexId === other.vertexId &&
    execution.subtask === other.subtask &&
    isSameAttempt(execution.attempt, other.attempt)
  );
}

function nameOf({ vertexId, subtask, attempt }: ExecutionRef): string {
  return `${vertexId.slice(0, 4)}/${subtask}@${attempt.epoch}.${attempt.counter}`;
}
