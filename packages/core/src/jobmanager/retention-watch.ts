/**
 * Warns while a job runs when the oldest checkpoint that is kept comes near to the point where its
 * source no longer has the records behind it: checkpoints that do not complete, or a long outage.
 */
import type { Clock, Timer } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import { RETENTION_LEFT_MIN } from '../graph/explain-guarantee.ts';
import type { GuaranteePlan } from '../graph/guarantee-planner.ts';
import type { CompletedCheckpoint } from '../protocol/checkpoint/completed-checkpoint-store.ts';

const LOOK_EVERY_MAX_MS = 60_000;
const LOOK_EVERY_MIN_MS = 1000;

export interface RetentionWatchOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly plan: GuaranteePlan;
  readonly oldest: () => CompletedCheckpoint | null;
}

/** Looks at once and then again and again, until the result is called. */
export function watchRetention(options: RetentionWatchOptions): () => void {
  const { clock, logger, plan, oldest } = options;
  const sources = sourcesOf(plan);
  if (sources.size === 0) return () => undefined;
  const shortest = Math.min(...[...sources.values()].map((it) => it.retentionMs));
  const everyMs = Math.max(LOOK_EVERY_MIN_MS, Math.min(LOOK_EVERY_MAX_MS, shortest / 100));
  const warned = new Set<string>();
  let timer: Timer;
  const look = (): void => {
    const checkpoint = oldest();
    for (const [source, { retentionMs, name }] of sources) {
      const ageMs = checkpoint === null ? 0 : clock.wallTime() - checkpoint.triggeredAt;
      const leftMs = retentionMs - ageMs;
      if (checkpoint === null || leftMs >= retentionMs * RETENTION_LEFT_MIN) warned.delete(source);
      else if (!warned.has(source)) {
        warned.add(source);
        logger.log('warn', warning(source, { checkpoint, ageMs, leftMs, name }));
      }
    }
    timer = clock.schedule(everyMs, 'retention', look);
  };
  look();
  return () => timer.cancel();
}

function sourcesOf({ paths }: GuaranteePlan): ReadonlyMap<string, KeptFor> {
  return new Map(
    paths.flatMap(({ source, retention }) =>
      retention === null ? [] : [[source.uid ?? source.name, retention] as const],
    ),
  );
}

interface KeptFor {
  readonly retentionMs: number;
  readonly name: string;
}

function warning(
  source: string,
  facts: {
    readonly checkpoint: CompletedCheckpoint;
    readonly ageMs: number;
    readonly leftMs: number;
    readonly name: string;
  },
): string {
  const { checkpoint, ageMs, leftMs, name } = facts;
  const when =
    leftMs <= 0
      ? `${source} no longer has all records behind it`
      : `in ${rounded(leftMs)} ${source} no longer has the records behind it`;
  return (
    `checkpoint ${checkpoint.checkpointId}, the oldest that is kept, is ${rounded(ageMs)} old: ` +
    `${when} (${name}), and a restart from it would lose some; see why checkpoints do not ` +
    'complete, or raise the retention'
  );
}

/** In a unit of which there are at least two. */
function rounded(ms: number): string {
  const units = [
    [86_400_000, 'd'],
    [3_600_000, 'h'],
    [60_000, 'min'],
  ] as const;
  const [unitMs, name] = units.find(([unit]) => ms >= 2 * unit) ?? [1000, 's'];
  return `${Math.round(ms / unitMs)} ${name}`;
}
