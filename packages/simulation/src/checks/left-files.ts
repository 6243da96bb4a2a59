/**
 * Files that are left when a job has finished, though nothing refers to them: neither the job's
 * record nor a checkpoint that it names. They would stay for ever. (What a death leaves of an
 * append to the job's log stays too when it is the last one: the next claim removes it.)
 */
import type { Clock } from '@weir/core/internal/base/clock';
import type { Random } from '@weir/core/internal/base/random';
import { JobStore } from '@weir/core/internal/storage/job-store';
import type { MemoryFileSystem } from '@weir/core/internal/storage/memory-file-system';
import { filesBelow } from './check-output.ts';

export interface LeftFilesOptions {
  readonly disk: MemoryFileSystem;
  readonly dataDirectory: string;
  /** A snapshot elsewhere that the job has claimed: it is the job's to remove. */
  readonly claimed: string | null;
  /** A run was given up for another one: its checkpoints stay, for whoever wants to go back. */
  readonly hasEarlierRuns: boolean;
  readonly clock: Clock;
  readonly random: Random;
  /** What was removed, and not yet durably, may be back. */
  readonly lostPower: boolean;
}

export async function leftFiles(options: LeftFilesOptions): Promise<readonly string[]> {
  const { disk, dataDirectory, claimed, clock, random, lostPower, hasEarlierRuns } = options;
  const store = new JobStore({ fileSystem: disk, clock, random }, dataDirectory);
  const kept: string[] = [];
  for (const jobId of await store.list()) {
    const entry = await store.open(jobId).read();
    for (const { directory } of entry?.record.completed ?? []) kept.push(`${directory}/`);
  }
  const files = hasEarlierRuns ? [] : filesBelow(disk, dataDirectory);
  if (claimed !== null) files.push(...filesBelow(disk, claimed));
  const isBack = (path: string): boolean =>
    lostPower && !files.includes(`${path.slice(0, path.lastIndexOf('/'))}/_metadata`);
  return files.filter((path) =>
    path.startsWith(`${dataDirectory}/jobs/`)
      ? !/\.record$|\/\.append-[0-9a-f]+$/.test(path)
      : !kept.some((directory) => path.startsWith(directory)) && !isBack(path),
  );
}
