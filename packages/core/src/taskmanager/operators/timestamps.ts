/**
 * `assignTimestampsAndWatermarks`: takes event time from records and makes watermarks of it. The
 * watermarks that come from upstream are ignored, except the last one.
 */
import type { WatermarkStrategy } from '../../api/functions.ts';
import type { Timer } from '../../base/clock.ts';
import { MAX_WATERMARK, MIN_WATERMARK } from '../../base/records.ts';
import { combineTrackers, WatermarkTracker } from './watermark-generator.ts';
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
    if (this.#strategy.kind !== 'none') this.#schedule();
  }

  override processElement(value: unknown, timestamp: number): void {
    let time = timestamp;
    if (this.#strategy.timestampOf !== undefined) {
      try {
        time = this.#strategy.timestampOf(value, timestamp);
      } catch (error) {
        throw this.failure(error, 'timestamp function');
      }
    }
    this.#tracker.onEvent(time);
    this.context.output.collect(value, time);
  }

  override processWatermark(timestamp: number): boolean {
    if (timestamp !== MAX_WATERMARK) return true;
    this.#emitted = timestamp;
    return super.processWatermark(timestamp);
  }

  override processIdle(): void {}

  /** The timer only asks; watermarks leave when the task runs, between records. */
  override resume(): boolean {
    if (!this.#probeDue) return true;
    this.#probeDue = false;
    const { watermark, idle } = combineTrackers([this.#tracker], this.context.clock.now());
    if (watermark > this.#emitted) {
      if (this.#idle) this.context.output.emitIdle(false);
      this.#idle = false;
      this.#emitted = watermark;
      this.context.output.emitWatermark(watermark);
    }
    if (idle !== this.#idle) {
      this.#idle = idle;
      this.context.output.emitIdle(idle);
    }
    return true;
  }

  override close(): void {
    this.#timer?.cancel();
  }

  #schedule(): void {
    this.#timer = this.context.clock.schedule(
      this.context.autoWatermarkIntervalMs,
      'watermark',
      () => {
        this.#probeDue = true;
        this.context.wakeUp();
        this.#schedule();
      },
    );
  }
}
