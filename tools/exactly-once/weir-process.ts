/** Starts `weir run` as a process of its own, and kills it when its checkpoints say so. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const WEIR = join(ROOT, 'packages/core/bin/weir.js');
export const WORD_COUNT: string = join(ROOT, 'examples/word-count.ts');

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly output: string;
}

export interface WeirProcess {
  readonly child: ChildProcess;
  /** Resolves when the process is gone. */
  readonly ended: Promise<Ended>;
}

export interface StartOptions {
  readonly args: readonly string[];
  readonly cwd: string;
  readonly dataDirectory: string;
  /** Show what it prints; otherwise it is only kept. */
  readonly show: boolean;
}

export function startWeir({ args, cwd, dataDirectory, show }: StartOptions): WeirProcess {
  const child = spawn(process.execPath, [WEIR, 'run', ...args], {
    cwd,
    env: { ...process.env, WEIR_DATA_DIR: dataDirectory },
    stdio: ['ignore', show ? 'inherit' : 'pipe', show ? 'inherit' : 'pipe'],
  });
  let output = '';
  child.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stderr?.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const ended = new Promise<Ended>((resolve) => {
    child.on('close', (code, signal) => resolve({ code, signal, output }));
  });
  return { child, ended };
}

/** Ids of the checkpoints that are complete on disk. */
export function completedCheckpoints(dataDirectory: string): readonly number[] {
  const root = join(dataDirectory, 'checkpoints');
  const ids: number[] = [];
  for (const job of existsSync(root) ? readdirSync(root) : [])
    for (const name of readdirSync(join(root, job))) {
      const id = /^chk-(\d+)$/.exec(name)?.[1];
      if (id !== undefined && existsSync(join(root, job, name, '_metadata'))) ids.push(Number(id));
    }
  return ids.toSorted((a, b) => a - b);
}

/**
 * Resolves when a checkpoint newer than `after` is on disk (its id), or the process ended (null).
 */
export async function newCheckpoint(
  weir: WeirProcess,
  dataDirectory: string,
  after: number,
): Promise<number | null> {
  let isOver = false;
  void weir.ended.then(() => (isOver = true));
  while (!isOver) {
    const newest = completedCheckpoints(dataDirectory).at(-1) ?? 0;
    if (newest > after) return newest;
    await sleep(5);
  }
  return null;
}

/** kill -9; false when the process had ended by itself. */
export async function kill9(weir: WeirProcess): Promise<boolean> {
  weir.child.kill('SIGKILL');
  const { signal } = await weir.ended;
  return signal === 'SIGKILL';
}

/** Whether the first line of a run says that it goes on from a checkpoint. */
export function hasResumed(output: string): boolean {
  return output.includes('resumes from checkpoint');
}
