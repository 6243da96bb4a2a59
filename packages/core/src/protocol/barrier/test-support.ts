/** A task for tests: feeds a barrier handler and keeps what a task would know of its effects. */
import { assert } from '../../base/assert.ts';
import type { CheckpointTrigger } from '../messages.ts';
import { createBarrierHandler } from './barrier-handler.ts';
import type {
  BarrierEffect,
  BarrierEvent,
  BarrierHandler,
  BarrierHandlerOptions,
} from './barrier-handler.ts';

export function trigger(checkpointId: number): CheckpointTrigger {
  return { checkpointId, timestamp: 0, options: { kind: 'checkpoint', location: '/' } };
}

export class TestTask {
  readonly handler: BarrierHandler;
  readonly blocked: Set<number> = new Set();
  readonly snapshots: number[] = [];
  /** `2 DECLINED_SUBSUMED`. */
  readonly declines: string[] = [];
  readonly cancels: number[] = [];
  readonly effects: BarrierEffect[] = [];
  now: number = 0;

  constructor(
    channelCount: number,
    mode: 'EXACTLY_ONCE' | 'AT_LEAST_ONCE' = 'EXACTLY_ONCE',
    options: Partial<BarrierHandlerOptions> = {},
  ) {
    this.handler = createBarrierHandler(mode, {
      channels: Array.from({ length: channelCount }, (_, channel) => channel),
      ignoreUpTo: 0,
      checkpointsAfterTasksFinish: true,
      ...options,
    });
  }

  barrier(checkpointId: number, ...channels: number[]): this {
    for (const channel of channels) {
      assert(!this.blocked.has(channel), `nothing can be read from channel ${channel}`);
      this.send({ type: 'barrier', channel, trigger: trigger(checkpointId), now: this.now });
    }
    return this;
  }

  cancel(checkpointId: number, ...channels: number[]): this {
    for (const channel of channels) this.send({ type: 'cancel', channel, checkpointId });
    return this;
  }

  end(...channels: number[]): this {
    for (const channel of channels) this.send({ type: 'endOfPartition', channel, now: this.now });
    return this;
  }

  aborted(checkpointId: number): this {
    this.send({ type: 'aborted', checkpointId });
    return this;
  }

  triggered(checkpointId: number): this {
    this.send({ type: 'triggered', trigger: trigger(checkpointId), now: this.now });
    return this;
  }

  send(event: BarrierEvent): void {
    for (const effect of this.handler.handle(event)) {
      this.effects.push(effect);
      if (effect.type === 'block') this.blocked.add(effect.channel);
      else if (effect.type === 'unblock')
        for (const channel of effect.channels) {
          assert(this.blocked.delete(channel), `channel ${channel} was not blocked`);
        }
      else if (effect.type === 'snapshot') this.snapshots.push(effect.trigger.checkpointId);
      else if (effect.type === 'broadcastCancel') this.cancels.push(effect.checkpointId);
      else this.declines.push(`${effect.checkpointId} ${effect.reason}`);
    }
  }
}
