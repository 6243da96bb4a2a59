/**
 * Runs a job and its hand-written loop in turn in one process, checks that both came to the same
 * answer, and takes medians. A wrong answer has no number.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LoopTime } from './loop.ts';
import { timeLoop } from './loop.ts';
import type { Throughput } from './probe.ts';
import { readProbes } from './probe.ts';
import type { Measured } from './row.ts';
import { median } from './row.ts';

const ROUNDS = 3;

export interface Comparison {
  readonly records: number;
  readonly loop: (records: number) => number;
  /** Runs the job once; it leaves its probes in the folder. */
  readonly run: (probes: string) => Promise<unknown>;
  /** Threads that work at full speed: CPU time is spread over them. */
  readonly threads: number;
}

export async function compare(comparison: Comparison): Promise<Measured> {
  const { records, loop, threads } = comparison;
  const loops: LoopTime[] = [timeLoop(records, loop)];
  const jobs: Throughput[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const job = await runOnce(comparison.run);
    const time = timeLoop(records, loop);
    if (job.count !== records || Math.abs(job.checksum - time.checksum) > 1e-6 * time.checksum)
      throw new Error(
        `wrong answer: ${job.count} of ${records} records, ` +
          `checksum ${job.checksum} instead of ${time.checksum}`,
      );
    jobs.push(job);
    loops.push(time);
  }
  const ofJobs = (pick: (job: Throughput) => number): number => median(jobs.map(pick));
  // The first loop warms up.
  const ofLoops = (pick: (time: LoopTime) => number): number => median(loops.slice(1).map(pick));
  const cpu = ofJobs((job) => job.perCpuSecond) * threads;
  return {
    value: ofJobs((job) => job.perSecond) / 1e6,
    baseline: ofLoops((time) => time.perSecond) / 1e6,
    cpuRatio: cpu / ofLoops((time) => time.perCpuSecond),
    cpuValue: cpu / 1e6,
  };
}

export async function runOnce(run: (probes: string) => Promise<unknown>): Promise<Throughput> {
  return withFolder('weir-bench-', async (folder) => {
    await run(folder);
    return readProbes(folder);
  });
}

export async function withFolder<T>(
  prefix: string,
  use: (folder: string) => Promise<T>,
): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), prefix));
  try {
    return await use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
