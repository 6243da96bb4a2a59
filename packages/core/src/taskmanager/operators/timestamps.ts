/**
 * `assignTimestampsAndWatermarks`: takes event time from records and makes watermarks of it. The
 * watermarks that come from upstream are ignored, except the last one.
 */
import type { WatermarkStrategy } from '../../api/functions.ts';
import type { Timer } from '../../base/clock.ts';
import { MAX_WATERMARK, MIN_WATERMARK } from '../../base/records.ts';
import { combineTrackers, probeIntervalMs, WatermarkTracker } from './watermark-generator.ts';
import { StreamOperator } from './stream-operator.ts';
import type { OperatorContext } from './stream-operator.ts';

export class TimestampsOperator extends StreamOperator {
  readonly #strategy: WatermarkStrategy<unknown>;
  readonly #tracker: WatermarkTracker;
  #timer: Timer | null = null;
  #emitted: number = MIN_WATERMARK;
  #idle = false;
  #probeDue = false;

  constructor(context: OperatorContext, strategy: WatermarkStrategy<unknown>) {
    super(context);
    this.#strategy = strategy;
    this.#tracker = new WatermarkTracker(strategy);
  }

  override open(): void {
    if (this.#strategy.kind === 'none') return;
    this.#schedule(probeIntervalMs(this.#strategy, this.context.autoWatermarkIntervalMs));
  }

  override processElement(value: unknown, timestamp: number): void {
    this.context.active.enter(this.context.operator.node);
    const time = this.timestampOf(this.#strategy, value, timestamp);
    this.#tracker.onEvent(time);
    // Without an interval there is a watermark after each batch.
    if (this.context.autoWatermarkIntervalMs === 0 && this.#strategy.kind !== 'none')
      this.#probeDue = true;
    this.context.output.collect(value, time);
  }

  override pausedFor(ms: number): void {
    this.#tracker.pausedFor(ms);
  }

  override processWatermark(timestamp: number): boolean {
    if (timestamp !== MAX_WATERMARK) return true;
    this.#emitted = timestamp;
    return super.processWatermark(timestamp);
  }

  override processIdle(): void {}

  /** The timer only asks; watermarks leave when the task runs, between records. */
  override resume(): boolean {
    // Behind the last watermark nothing may come, idleness neither.
    if (!this.#probeDue || this.#emitted === MAX_WATERMARK) return true;
    this.#probeDue = false;
    const { watermark, idle } = combineTrackers([this.#tracker], this.context.clock.now());
    if (!idle && this.#idle) this.context.output.emitIdle(false);
    if (watermark > this.#emitted) {
      this.#emitted = watermark;
      this.context.output.emitWatermark(watermark);
    }
    if (idle && !this.#idle) this.context.output.emitIdle(true);
    this.#idle = idle;
    return true;
  }

  override close(): void {
    this.#timer?.cancel();
  }

  #schedule(intervalMs: number | null): void {
    if (intervalMs === null) return;
    this.#timer = this.context.clock.schedule(intervalMs, 'watermark', () => {
      this.#probeDue = true;
      this.context.wakeUp();
      this.#schedule(intervalMs);
    });
  }
}
