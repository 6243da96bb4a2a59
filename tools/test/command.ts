/** Runs a program to its end, quietly: its output is kept for a report. */
import { spawn } from 'node:child_process';

export interface Ended {
  /** Exit code; `null` if a signal ended it. */
  readonly code: number | null;
  /** Standard output and standard error, as they came. */
  readonly output: string;
  /** Set if it was ended because it ran longer than allowed. */
  readonly timedOut: boolean;
}

export interface CommandOptions {
  readonly cwd: string;
  readonly limitMs: number;
  /** Is told standard output as it comes. */
  readonly told?: (text: string) => void;
}

/** The program is the Node that runs this, so that a test never depends on a machine's own. */
export function runNode(args: readonly string[], options: CommandOptions): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, {
      cwd: options.cwd,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const output: Buffer[] = [];
    let timedOut = false;
    const timer = setTimeout(() => {
      timedOut = true;
      child.kill('SIGKILL');
    }, options.limitMs);
    child.stdout.on('data', (chunk: Buffer) => {
      output.push(chunk);
      options.told?.(chunk.toString());
    });
    child.stderr.on('data', (chunk: Buffer) => output.push(chunk));
    child.on('error', reject);
    child.on('close', (code) => {
      clearTimeout(timer);
      resolve({ code, output: Buffer.concat(output).toString(), timedOut });
    });
  });
}
