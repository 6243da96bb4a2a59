/**
 * Compiles a job file and everything it imports by relative path into one ES module, through
 * esbuild: TypeScript of every kind, with source maps inside, so that stack traces name the user's
 * lines. Cost: some 40 ms for the first job of a process, 10 ms later.
 */
import { basename, dirname, join } from 'node:path';
import type { BuildFailure, BuildOptions, Message } from 'esbuild';
import { JobSubmissionError } from '../../base/errors.ts';
import { IMPORT_META_NAMES, importMeta, resolveImports } from './resolve-imports.ts';

type Location = NonNullable<Message['location']>;

/** How many messages of the compiler an error repeats. */
const MESSAGES_MAX = 3;

let running = 0;

/**
 * The code of the bundle, to be written into `directory`: source maps name files relative to it.
 * @throws JobSubmissionError JOB_NOT_LOADABLE with the compiler's messages and their places.
 */
export async function bundleJob(sourcePath: string, directory: string): Promise<string> {
  // Loaded late: programs that run job objects never pay for the compiler.
  const { build, stop } = await import('esbuild');
  running++;
  try {
    const { outputFiles } = await build(optionsFor(sourcePath, directory));
    return withRequire(outputFiles![0]!.text);
  } catch (error) {
    if (!isBuildFailure(error)) throw error;
    throw compileError(sourcePath, error.errors);
  } finally {
    // The compiler is a process of its own; a job that runs for weeks does not keep it.
    if (--running === 0) await stop();
  }
}

function optionsFor(sourcePath: string, directory: string): BuildOptions {
  return {
    entryPoints: [sourcePath],
    bundle: true,
    write: false,
    outfile: join(directory, 'job.mjs'),
    absWorkingDir: dirname(sourcePath),
    format: 'esm',
    platform: 'node',
    target: `node${process.versions.node}`,
    // The conditions of Node itself; esbuild's own would also choose files made for bundlers.
    conditions: ['node-addons', 'module-sync'],
    mainFields: ['main'],
    sourcemap: 'inline',
    sourcesContent: true,
    charset: 'utf8',
    logLevel: 'silent',
    define: IMPORT_META_NAMES,
    plugins: [resolveImports, importMeta],
  };
}

/** CommonJS files in the bundle call `require`, which ES modules lack. */
function withRequire(code: string): string {
  if (!code.includes('typeof require !== "undefined"')) return code;
  // On the first line, so that the source map stays right.
  const create = 'import { createRequire as __weir_require } from "node:module";';
  const first = `${create} const require = __weir_require(import.meta.url);`;
  return code.startsWith('#!') ? code.replace(/^.*/, first) : `${first} ${code}`;
}

function isBuildFailure(error: unknown): error is BuildFailure {
  return error instanceof Error && 'errors' in error && Array.isArray(error.errors);
}

function compileError(sourcePath: string, messages: readonly Message[]): JobSubmissionError {
  const shown = messages.slice(0, MESSAGES_MAX).map((message) => describe(sourcePath, message));
  const more = messages.length - shown.length;
  const rest = more === 0 ? '' : ` (and ${more} more)`;
  const first = messages[0]?.location ?? null;
  return new JobSubmissionError(
    `cannot compile the job ${basename(sourcePath)}: ${shown.join('; ')}${rest}`,
    {
      code: 'JOB_NOT_LOADABLE',
      details: {
        path: sourcePath,
        ...(first !== null && { excerpt: excerptOf(first), line: first.line }),
      },
    },
  );
}

function describe(sourcePath: string, { text, location }: Message): string {
  if (location === null) return text;
  // Files are named relative to the job's folder, as a user would.
  const file = location.file === '' ? basename(sourcePath) : location.file;
  return `${file}:${location.line}:${textBefore(location).length + 1}: ${text}`;
}

/** The line with a mark below the place. */
function excerptOf(location: Location): string {
  const indent = textBefore(location).replace(/[^\t]/g, ' ');
  return `${location.lineText}\n${indent}${'^'.repeat(Math.max(1, location.length))}`;
}

/** The compiler counts columns in bytes. */
function textBefore({ lineText, column }: Location): string {
  return Buffer.from(lineText).toString('utf8', 0, column);
}
