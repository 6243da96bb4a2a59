/**
 * Short schedules: small jobs, a quick disk, few checkpoints, no faults. Each event of one can be
 * tried in turn.
 */
import type { JobSpec, SourceSpec } from '../jobs/job-spec.ts';
import { checkpointsAfterFinish, withSettings } from './draw-settings.ts';
import { drawPlan } from './plan.ts';
import type { Draw, SchedulePlan } from './plan.ts';
import type { Scenario } from './scenario.ts';

export const SHORT: Scenario = {
  name: 'short',
  about: 'small jobs with two or three checkpoints and no faults, for a crash at every event',
  draw: drawShort,
};

function drawShort(draw: Draw): SchedulePlan {
  const plan = drawPlan(draw, { allowed: [], operatorsMax: 3 });
  return {
    ...plan,
    job: shortened(plan.job),
    parallelisms: plan.parallelisms.map((it) => 1 + ((it - 1) % 2)),
    settings: withSettings(checkpointsAfterFinish(plan.settings), {
      'execution.checkpointing.interval': 20,
      'execution.checkpointing.min-pause': 0,
      'execution.buffer-timeout.interval': 1,
      'pipeline.auto-watermark-interval': 50,
    }),
    moods: {
      ...plan.moods,
      disk: { ...plan.moods.disk, latencyMs: 0.05 },
      link: { ...plan.moods.link, latencyMs: 0.2 },
      pace: { stepMs: 0.2, jitterMs: 0 },
    },
    outerLatencyMs: 0.1,
  };
}

function shortened(job: JobSpec): JobSpec {
  const streams = job.streams.map((stream) =>
    stream.type === 'source' ? { ...stream, ...shortenedSource(stream) } : stream,
  );
  return { ...job, streams };
}

function shortenedSource({ splits }: SourceSpec): Partial<SourceSpec> {
  return {
    splits: splits.slice(0, 2).map((split) => ({ ...split, count: Math.min(split.count, 6) })),
    burst: 2,
    pauseMs: 10,
    parallelism: null,
  };
}
