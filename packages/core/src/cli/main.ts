/**
 * The process of the command `weir`: importing this file runs it. Hands the process over to
 * `command-line.ts` as an `Environment`, and nothing more: all that can be tested is there.
 */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { realClock } from '../cluster/real-clock.ts';
import { LocalFileSystem } from '../storage/local-file-system.ts';
import { commandLine, reportError } from './command-line.ts';
import type { Environment, StopSignal } from './environment.ts';
import { EXIT_FAILED, exitCodeOfSignal } from './exit-codes.ts';
import { Terminal } from './terminal.ts';
import type { Screen } from './terminal.ts';

/** What shells report for a program that lost the reader of its output: 128 + SIGPIPE. */
const EXIT_PIPE_CLOSED = 141;

const stopCallbacks = new Set<(signal: StopSignal) => void>();

/** Writes past the interception below. */
function screenOf(stream: NodeJS.WriteStream): Screen {
  const write = stream.write.bind(stream);
  return {
    write: (text) => void write(text),
    isTerminal: stream.isTTY,
    drained: () =>
      stream.writableNeedDrain
        ? new Promise((resolve) => stream.once('drain', resolve))
        : Promise.resolve(),
    get columns() {
      return stream.columns ?? 0;
    },
    get rows() {
      return stream.rows ?? 0;
    },
  };
}

/** Sends what the job's own code writes, in any thread, through the terminal. */
function intercept(stream: NodeJS.WriteStream, pass: (text: string) => void): void {
  stream.write = (
    chunk: string | Uint8Array,
    encoding?: BufferEncoding | ((error?: Error | null) => void),
    callback?: (error?: Error | null) => void,
  ): boolean => {
    const charset = typeof encoding === 'string' ? encoding : 'utf8';
    pass(typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString(charset));
    (typeof encoding === 'function' ? encoding : callback)?.(null);
    return true;
  };
}

function onSignal(callback: (signal: StopSignal) => void): () => void {
  if (stopCallbacks.size === 0)
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stopWith(signal));
  stopCallbacks.add(callback);
  return () => stopCallbacks.delete(callback);
}

function stopWith(signal: StopSignal): void {
  if (stopCallbacks.size === 0) process.exit(exitCodeOfSignal(signal));
  for (const callback of stopCallbacks) callback(signal);
}

/** `weir … | head`: a run keeps its state and stops, everything else just ends. */
function endWithReader(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error;
  if (stopCallbacks.size === 0) process.exit(EXIT_PIPE_CLOSED);
  stopWith('SIGTERM');
}

function versionOf(manifest: string): string {
  const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { readonly version: string };
  return version;
}

const terminal = new Terminal(screenOf(process.stdout), screenOf(process.stderr), realClock);
intercept(process.stdout, (text) => terminal.pass(text, terminal.jobOutput));
intercept(process.stderr, (text) => terminal.pass(text, terminal.error));
process.stdout.on('error', endWithReader);
process.stderr.on('error', endWithReader);

const environment: Environment = {
  workingDirectory: process.cwd(),
  variables: process.env,
  terminal,
  clock: realClock,
  fileSystem: new LocalFileSystem(),
  version: versionOf(join(import.meta.dirname, '../../package.json')),
  internalDirectories: [`${dirname(import.meta.dirname)}/`],
  loadJob: async (path) => {
    const { loadJob } = await import('../cluster/job-loader.ts');
    return loadJob(path);
  },
  runLocal: async (options) => {
    const { runLocal } = await import('../cluster/local-run.ts');
    return runLocal(options);
  },
  restClient: async (address) => {
    const { RestClient } = await import('../rest/rest-client.ts');
    return new RestClient(realClock, address);
  },
  livingOwner: async (owner, jobDirectory) => {
    const { livingOwner } = await import('../cluster/process-owner.ts');
    return livingOwner(owner, jobDirectory);
  },
  onSignal,
  exit: (code) => process.exit(code),
};

const words = process.argv.slice(2);
// Such as an error in a timer that the job's module set: nobody waits for it.
process.on('uncaughtException', (error) => process.exit(reportError(error, words, environment)));

let hasEnded = false;
process.on('exit', (code) => {
  if (hasEnded || code !== 0) return;
  terminal.warn('Error: code of the job called process.exit, before the command had ended');
  process.exitCode = EXIT_FAILED;
});

const exitCode = await commandLine(words, environment);
hasEnded = true;
// Timers and connections that the job's module left open would keep the process for ever.
process.exit(exitCode);
