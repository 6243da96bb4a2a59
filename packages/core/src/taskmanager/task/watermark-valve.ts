/**
 * Combines the watermarks of a subtask's input channels into the event time of the subtask: the
 * minimum over the channels that are active and have caught up. It never goes back.
 *
 * A channel whose watermark is final has ended and no longer counts, unless all have ended; so an
 * ended input beside an idle one does not jump to the end of time. When all the others are idle the
 * result is the maximum they reached, followed by idleness. A channel that resumes behind the
 * result rejoins only when it has caught up.
 *
 * Cost: O(channels) for each watermark that could move the minimum.
 */
import { MAX_WATERMARK, MIN_WATERMARK } from '../../base/records.ts';

interface ChannelTime {
  watermark: number;
  idle: boolean;
  /** Whether the channel takes part in the minimum: not idle, and not behind the result. */
  aligned: boolean;
}

export interface ValveState {
  readonly watermark: number;
  readonly idle: boolean;
}

export interface ValveOutput {
  emitWatermark(timestamp: number): void;
  emitIdle(idle: boolean): void;
}

export class WatermarkValve {
  readonly #channels: ChannelTime[];
  readonly #output: ValveOutput;
  #result: number = MIN_WATERMARK;
  #idle = false;

  constructor(channelCount: number, output: ValveOutput) {
    this.#output = output;
    this.#channels = Array.from({ length: channelCount }, () => ({
      watermark: MIN_WATERMARK,
      idle: false,
      aligned: true,
    }));
  }

  /** The last watermark and status of a channel, for its place in the snapshot. */
  stateOf(channel: number): ValveState {
    const time = this.#at(channel);
    return { watermark: time.watermark, idle: time.idle };
  }

  /** Puts back a channel's state; call `settle` once all are back. */
  restore(channel: number, state: ValveState): void {
    const time = this.#at(channel);
    time.watermark = state.watermark;
    time.idle = state.idle;
    time.aligned = !state.idle;
  }

  /** After `restore`: emits what the restored channels amount to. */
  settle(): void {
    this.#advance();
    this.#checkIdle();
  }

  watermark(channel: number, timestamp: number): void {
    const time = this.#at(channel);
    if (timestamp <= time.watermark) return;
    time.watermark = timestamp;
    // The end counts even where an idle channel says it: nobody would say it again.
    if (timestamp === MAX_WATERMARK) {
      if (!this.#checkIdle()) this.#advance();
      return;
    }
    if (time.idle) return;
    if (!time.aligned && timestamp >= this.#result) time.aligned = true;
    this.#advance();
  }

  idle(channel: number, idle: boolean): void {
    const time = this.#at(channel);
    if (time.idle === idle) return;
    time.idle = idle;
    if (idle) {
      time.aligned = false;
      if (!this.#checkIdle()) this.#advance();
      return;
    }
    time.aligned = time.watermark >= this.#result;
    if (this.#idle) {
      this.#idle = false;
      this.#output.emitIdle(false);
    }
    if (time.aligned) this.#advance();
  }

  /** Emits idleness when no channel is left that is neither idle nor ended. */
  #checkIdle(): boolean {
    let reached = MIN_WATERMARK;
    let anyIdle = false;
    for (const time of this.#channels) {
      if (time.watermark === MAX_WATERMARK) continue;
      if (!time.idle) return false;
      anyIdle = true;
      reached = Math.max(reached, time.watermark);
    }
    if (!anyIdle || this.#idle) return anyIdle;
    this.#emit(reached);
    this.#idle = true;
    this.#output.emitIdle(true);
    return true;
  }

  #advance(): void {
    let minimum = MAX_WATERMARK;
    let counted = 0;
    let ended = 0;
    for (const time of this.#channels) {
      if (time.watermark === MAX_WATERMARK) {
        ended++;
      } else if (time.aligned) {
        counted++;
        minimum = Math.min(minimum, time.watermark);
      }
    }
    // Without channels (a source) event time does not come from here at all.
    if (counted === 0 && (ended === 0 || ended < this.#channels.length)) return;
    this.#emit(minimum);
  }

  #emit(timestamp: number): void {
    if (timestamp <= this.#result) return;
    this.#result = timestamp;
    this.#output.emitWatermark(timestamp);
  }

  #at(channel: number): ChannelTime {
    return this.#channels[channel] as ChannelTime;
  }
}
