/**
 * Runs a job to its end with three kills on the way, each after a checkpoint of that attempt, the
 * second exactly between pre-commit and commit: a proxy before the outer system holds the commit
 * back until the process is dead. For demonstrations, so each step is told.
 */
import { execFile } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { RequestProxy } from './request-proxy.ts';
import { completedCheckpoints, kill9, newCheckpoint, startWeir } from './weir-process.ts';
import type { WeirProcess } from './weir-process.ts';

export const KILLS = 3;
/** The kill that comes between pre-commit and commit. */
const PENDING_KILL = 2;
const WEIR = fileURLToPath(new URL('../../packages/core/bin/weir.js', import.meta.url));

export interface KilledJob<Request> {
  readonly folder: string;
  readonly dataDirectory: string;
  /** Options of `weir run`. */
  readonly options: readonly string[];
  /** The job's file and its arguments. */
  readonly words: readonly string[];
  readonly proxy: RequestProxy<Request>;
  /** Whether a request commits what was prepared. */
  isCommit(request: Request): boolean;
  /** What happens beside the attempt that commits what was pending; false when that ended first. */
  afterPending?(weir: WeirProcess): Promise<boolean>;
}

export function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** False when the job ended too early, or not well. */
export async function runWithKills<R>(job: KilledJob<R>): Promise<boolean> {
  let weir = start(job);
  for (let kill = 1; kill <= KILLS; kill++) {
    const isKilled =
      kill === PENDING_KILL ? await killBeforeCommit(job, weir) : await killLater(job, weir);
    if (!isKilled) {
      say(`demo: the job ended after ${kill - 1} of ${KILLS} kills`);
      return false;
    }
    weir = start(job);
    if (kill === PENDING_KILL && (await job.afterPending?.(weir)) === false) return false;
  }
  const { code } = await weir.ended;
  if (code !== 0) say(`demo: the last run ended with exit code ${code}`);
  return code === 0;
}

/** The id of a checkpoint that is newer than all now; `null` when the job ended first. */
export function nextCheckpoint(weir: WeirProcess, dataDirectory: string): Promise<number | null> {
  return newCheckpoint(weir, dataDirectory, completedCheckpoints(dataDirectory).at(-1) ?? 0);
}

function start<R>({ options, words, folder, dataDirectory }: KilledJob<R>): WeirProcess {
  return startWeir({ args: [...options, ...words], cwd: folder, dataDirectory, show: true });
}

/** Some time after the next checkpoint; false when the job ended first. */
async function killLater<R>({ dataDirectory }: KilledJob<R>, weir: WeirProcess): Promise<boolean> {
  const checkpoint = await nextCheckpoint(weir, dataDirectory);
  if (checkpoint === null) return false;
  const delayMs = Math.round(Math.random() * 300);
  await sleep(delayMs);
  if (!(await kill9(weir))) return false;
  say(`demo: kill -9, ${delayMs} ms after checkpoint ${checkpoint}; starting again`);
  return true;
}

/** When a checkpoint is complete and its commit is on the way and has not arrived. */
async function killBeforeCommit<R>(job: KilledJob<R>, weir: WeirProcess): Promise<boolean> {
  const { proxy, dataDirectory } = job;
  // What was pending before is committed while the job starts, so the first checkpoint must pass.
  if ((await nextCheckpoint(weir, dataDirectory)) === null) return false;
  let isOver = false;
  void weir.ended.then(() => (isOver = true));
  let held = 0;
  proxy.verdict = (request) => {
    if (!job.isCommit(request)) return 'forward';
    held++;
    return 'hold';
  };
  while (held === 0 && !isOver) await sleep(1);
  if (!(await kill9(weir))) return false;
  proxy.verdict = () => 'forward';
  const checkpoint = completedCheckpoints(dataDirectory).at(-1);
  say(`demo: kill -9 between pre-commit and commit of checkpoint ${checkpoint}; weir tx explain:`);
  say(await explainPending(job));
  return true;
}

async function explainPending<R>({ words, folder, dataDirectory }: KilledJob<R>): Promise<string> {
  const env = { ...process.env, WEIR_DATA_DIR: dataDirectory };
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [WEIR, 'tx', 'explain', ...words],
    { cwd: folder, env },
  );
  return stdout.trimEnd();
}
