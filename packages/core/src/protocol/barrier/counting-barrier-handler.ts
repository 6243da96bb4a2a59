/**
 * Counting, for at-least-once: no channel is ever blocked. Barriers are counted by checkpoint, and
 * the snapshot is taken when the last channel's barrier comes; by then other channels were read on,
 * so after a restore some records are processed twice. Several checkpoints may be counted at once;
 * the end of one, by snapshot or cancellation, is the end of all older ones too.
 *
 *     unseen n ──► counting n ──► done      all open channels there: snapshot
 *         │                        ▲        cancel n, or n aborted and all there: none
 *         └────────────────────────┘        a newer one ended
 */
import { assert, unreachable } from '../../base/assert.ts';
import type { CheckpointTrigger } from '../messages.ts';
import type {
  BarrierEffect,
  BarrierEvent,
  BarrierHandler,
  BarrierHandlerOptions,
  EventOf,
} from './barrier-messages.ts';
import { giveUp } from './barrier-messages.ts';

/** Flink's bound, against a channel whose barriers never come. */
export const COUNTED_CHECKPOINTS_MAX = 50;

interface Count {
  readonly trigger: CheckpointTrigger;
  readonly start: number;
  /** Open channels that have delivered the barrier. */
  readonly arrived: Set<number>;
}

export class CountingBarrierHandler implements BarrierHandler {
  readonly #open: Set<number>;
  readonly #checkpointsAfterTasksFinish: boolean;
  /** By id; only ids above all others are added, so in their order. */
  readonly #counts = new Map<number, Count>();
  /** Ids that the coordinator aborted; their barriers are counted to find the end. */
  readonly #aborted = new Set<number>();
  #done: number;
  #newest: number;

  constructor(options: BarrierHandlerOptions) {
    this.#open = new Set(options.channels);
    this.#checkpointsAfterTasksFinish = options.checkpointsAfterTasksFinish;
    this.#done = options.ignoreUpTo;
    this.#newest = options.ignoreUpTo;
  }

  get done(): number {
    return this.#done;
  }

  handle(event: BarrierEvent): readonly BarrierEffect[] {
    switch (event.type) {
      case 'barrier':
        return this.#onBarrier(event);
      case 'triggered':
        return this.#onTriggered(event);
      case 'cancel':
        return this.#onCancel(event);
      case 'endOfPartition':
        return this.#onEndOfPartition(event);
      case 'aborted':
        if (event.checkpointId > this.#done) this.#aborted.add(event.checkpointId);
        return [];
      default:
        return unreachable(event);
    }
  }

  #onBarrier({ channel, trigger, now }: EventOf<'barrier'>): readonly BarrierEffect[] {
    const { checkpointId } = trigger;
    assert(this.#open.has(channel), `barrier ${checkpointId} on channel ${channel}, which ended`);
    const effects: BarrierEffect[] = [];
    const count = this.#countOf(trigger, now, effects);
    if (count === null) return effects;
    count.arrived.add(channel);
    this.#completeIfAll(count, effects);
    return effects;
  }

  /** All that fed this task has finished: the ends of the open channels are waited for. */
  #onTriggered({ trigger, now }: EventOf<'triggered'>): readonly BarrierEffect[] {
    const effects: BarrierEffect[] = [];
    const count = this.#countOf(trigger, now, effects);
    if (count !== null) this.#completeIfAll(count, effects);
    return effects;
  }

  #onCancel({ channel, checkpointId }: EventOf<'cancel'>): readonly BarrierEffect[] {
    if (checkpointId <= this.#done) return [];
    // One overtaken by a newer barrier can never be complete; it is not reported twice.
    if (checkpointId < this.#newest && !this.#counts.has(checkpointId)) return [];
    const effects: BarrierEffect[] = [];
    const message = `channel ${channel} says that there is no barrier ${checkpointId}`;
    const over = [...this.#counts.keys()].filter((id) => id < checkpointId);
    for (const id of [...over, checkpointId])
      if (this.#aborted.has(id)) effects.push({ type: 'broadcastCancel', checkpointId: id });
      else effects.push(...giveUp(id, 'DECLINED_ON_CANCELLATION_BARRIER', message));
    this.#end(checkpointId);
    return effects;
  }

  #onEndOfPartition({ channel }: EventOf<'endOfPartition'>): readonly BarrierEffect[] {
    assert(this.#open.delete(channel), `channel ${channel} ended twice`);
    const effects: BarrierEffect[] = [];
    for (const count of this.#counts.values()) {
      const { checkpointId } = count.trigger;
      count.arrived.delete(channel);
      if (this.#checkpointsAfterTasksFinish) {
        this.#completeIfAll(count, effects);
        continue;
      }
      const message = `channel ${channel} ended while barriers of ${checkpointId} were counted`;
      effects.push(...giveUp(checkpointId, 'DECLINED_INPUT_END_OF_STREAM', message));
      this.#end(checkpointId);
    }
    return effects;
  }

  /** `null`: nothing is to be counted, since it is over. */
  #countOf(trigger: CheckpointTrigger, now: number, effects: BarrierEffect[]): Count | null {
    const { checkpointId } = trigger;
    if (checkpointId <= this.#done) return null;
    const known = this.#counts.get(checkpointId);
    if (known !== undefined) return known;
    // Overtaken on the channel that brought the newer one, it can never be complete.
    if (checkpointId <= this.#newest) return null;
    const count: Count = { trigger, start: now, arrived: new Set() };
    this.#counts.set(checkpointId, count);
    this.#newest = checkpointId;
    if (this.#counts.size > COUNTED_CHECKPOINTS_MAX) this.#dropOldest(effects);
    return count;
  }

  #dropOldest(effects: BarrierEffect[]): void {
    for (const oldest of this.#counts.keys()) {
      const message = `barriers of more than ${COUNTED_CHECKPOINTS_MAX} newer checkpoints came`;
      effects.push(...giveUp(oldest, 'DECLINED_SUBSUMED', message));
      return this.#end(oldest);
    }
  }

  #completeIfAll({ trigger, start, arrived }: Count, effects: BarrierEffect[]): void {
    const { checkpointId } = trigger;
    if (arrived.size < this.#open.size || checkpointId <= this.#done) return;
    if (this.#aborted.has(checkpointId)) effects.push({ type: 'broadcastCancel', checkpointId });
    else effects.push({ type: 'snapshot', trigger, alignmentStart: start });
    this.#end(checkpointId);
  }

  #end(checkpointId: number): void {
    this.#done = checkpointId;
    this.#newest = Math.max(this.#newest, checkpointId);
    for (const id of this.#counts.keys()) if (id <= checkpointId) this.#counts.delete(id);
    for (const id of this.#aborted) if (id <= checkpointId) this.#aborted.delete(id);
  }
}
