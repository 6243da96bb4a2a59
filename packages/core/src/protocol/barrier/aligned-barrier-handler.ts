/**
 * Alignment, for exactly-once: a channel that has delivered its barrier is blocked until all open
 * ones have, so that the snapshot holds what came before the barrier on every channel and nothing
 * that came after.
 *
 *                    first barrier n, or triggered
 *         ┌──────┐ ──────────────────────────────────► ┌────────────┐
 *         │ idle │                                     │ aligning n │ barrier n: block its channel
 *         └──────┘ ◄────────────────────────────────── └────────────┘
 *                    all open channels there: snapshot      │   ▲
 *                    cancel ≥ n, aborted n: give up         └───┘
 *                                                       barrier > n: give up n, begin anew
 *
 * Every way back to idle raises `done` to n and unblocks; what carries an id up to `done` is
 * dropped, so an ended checkpoint never opens again. A channel that ends counts as delivered, since
 * nothing comes behind its end; without support for finished tasks it aborts the alignment instead.
 *
 * Barriers and markers keep their order on a channel. So a newer barrier or marker proves that the
 * pending one will not come there any more. For the same reason a task passes on the coordinator's
 * abort only at the place where its own barrier would have stood.
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

interface Alignment {
  readonly trigger: CheckpointTrigger;
  readonly start: number;
  /** Open channels that have delivered the barrier: all of them are blocked. */
  readonly arrived: Set<number>;
}

export class AlignedBarrierHandler implements BarrierHandler {
  readonly #open: Set<number>;
  readonly #checkpointsAfterTasksFinish: boolean;
  /** Ids that the coordinator aborted before a barrier of theirs came. */
  readonly #abortedAhead = new Set<number>();
  #current: Alignment | null = null;
  #done: number;

  constructor(options: BarrierHandlerOptions) {
    this.#open = new Set(options.channels);
    this.#checkpointsAfterTasksFinish = options.checkpointsAfterTasksFinish;
    this.#done = options.ignoreUpTo;
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
        return this.#onAborted(event);
      default:
        return unreachable(event);
    }
  }

  #onBarrier({ channel, trigger, now }: EventOf<'barrier'>): readonly BarrierEffect[] {
    const { checkpointId } = trigger;
    assert(this.#open.has(channel), `barrier ${checkpointId} on channel ${channel}, which ended`);
    if (this.#isOutdated(checkpointId)) return [];
    const effects = this.#overtake(checkpointId);
    if (this.#skipAborted(checkpointId, effects)) return effects;
    this.#current ??= { trigger, start: now, arrived: new Set() };
    const { arrived } = this.#current;
    // Sent again after a reconnect.
    if (arrived.has(channel)) return effects;
    arrived.add(channel);
    if (arrived.size < this.#open.size) effects.push({ type: 'block', channel });
    else {
      // The last channel was never blocked.
      arrived.delete(channel);
      this.#complete(effects);
    }
    return effects;
  }

  /**
   * All that fed this task has finished, so the ends of the open channels are on their way, with
   * perhaps some records before them: they are waited for.
   */
  #onTriggered({ trigger, now }: EventOf<'triggered'>): readonly BarrierEffect[] {
    const { checkpointId } = trigger;
    if (this.#isOutdated(checkpointId)) return [];
    const effects = this.#overtake(checkpointId);
    if (this.#skipAborted(checkpointId, effects)) return effects;
    this.#current ??= { trigger, start: now, arrived: new Set() };
    if (this.#current.arrived.size === this.#open.size) this.#complete(effects);
    return effects;
  }

  #onCancel({ checkpointId, channel }: EventOf<'cancel'>): readonly BarrierEffect[] {
    if (this.#isOutdated(checkpointId)) return [];
    const effects = this.#overtake(checkpointId);
    if (this.#skipAborted(checkpointId, effects)) return effects;
    const message = `channel ${channel} says that there is no barrier ${checkpointId}`;
    effects.push(...giveUp(checkpointId, 'DECLINED_ON_CANCELLATION_BARRIER', message));
    this.#end(checkpointId, effects);
    return effects;
  }

  #onEndOfPartition({ channel }: EventOf<'endOfPartition'>): readonly BarrierEffect[] {
    assert(this.#open.delete(channel), `channel ${channel} ended twice`);
    const effects: BarrierEffect[] = [];
    if (this.#current === null) return effects;
    const { checkpointId } = this.#current.trigger;
    if (!this.#checkpointsAfterTasksFinish) {
      const message = `channel ${channel} ended while checkpoint ${checkpointId} was aligned`;
      effects.push(...giveUp(checkpointId, 'DECLINED_INPUT_END_OF_STREAM', message));
      this.#end(checkpointId, effects);
      return effects;
    }
    this.#current.arrived.delete(channel);
    if (this.#current.arrived.size === this.#open.size) this.#complete(effects);
    return effects;
  }

  #onAborted({ checkpointId }: EventOf<'aborted'>): readonly BarrierEffect[] {
    const effects: BarrierEffect[] = [];
    if (this.#isOutdated(checkpointId)) return effects;
    if (this.#current?.trigger.checkpointId !== checkpointId) {
      this.#abortedAhead.add(checkpointId);
      return effects;
    }
    effects.push({ type: 'broadcastCancel', checkpointId });
    this.#end(checkpointId, effects);
    return effects;
  }

  /** Whether it is over, or can only have been overtaken by the current one. */
  #isOutdated(checkpointId: number): boolean {
    const current = this.#current?.trigger.checkpointId ?? 0;
    return checkpointId <= this.#done || checkpointId < current;
  }

  /** Gives up an older current checkpoint: on the channel of the newer one it will not come. */
  #overtake(checkpointId: number): BarrierEffect[] {
    const effects: BarrierEffect[] = [];
    const current = this.#current?.trigger.checkpointId ?? checkpointId;
    if (current === checkpointId) return effects;
    const message = `checkpoint ${checkpointId} came before all barriers of ${current} were there`;
    effects.push(...giveUp(current, 'DECLINED_SUBSUMED', message));
    this.#end(current, effects);
    return effects;
  }

  /** The coordinator knows that it is aborted; downstream waits for the barrier that would come. */
  #skipAborted(checkpointId: number, effects: BarrierEffect[]): boolean {
    if (!this.#abortedAhead.has(checkpointId)) return false;
    effects.push({ type: 'broadcastCancel', checkpointId });
    this.#end(checkpointId, effects);
    return true;
  }

  #complete(effects: BarrierEffect[]): void {
    assert(this.#current !== null, 'nothing is aligned that could be complete');
    const { trigger, start } = this.#current;
    effects.push({ type: 'snapshot', trigger, alignmentStart: start });
    this.#end(trigger.checkpointId, effects);
  }

  #end(checkpointId: number, effects: BarrierEffect[]): void {
    const channels = [...(this.#current?.arrived ?? [])];
    if (channels.length > 0) effects.push({ type: 'unblock', channels });
    this.#current = null;
    this.#done = checkpointId;
    for (const id of this.#abortedAhead) if (id <= checkpointId) this.#abortedAhead.delete(id);
  }
}
