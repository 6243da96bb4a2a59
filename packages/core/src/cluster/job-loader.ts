/**
 * Turns a job file into a job: bundles the module with esbuild, writes the bundle where every
 * slot's thread can import it, and evaluates it here. Called by the command line and by `runJob`.
 * Source maps are on from here, so that stack traces and places in messages name the user's lines;
 * a thread that imports `bundleUrl` has to call `enableSourceMaps` first.
 */
import { createHash } from 'node:crypto';
import { readdirSync, statSync } from 'node:fs';
import { setSourceMapsSupport } from 'node:module';
import { basename, dirname } from 'node:path';
import { pathToFileURL } from 'node:url';
import { isJob } from '../api/job.ts';
import type { Job } from '../api/job.ts';
import { JobSubmissionError, messageOf } from '../base/errors.ts';
import { didYouMean } from '../base/nearest.ts';
import { userFrames } from '../cli/user-frames.ts';
import { parseUserPath, userPathAdvice } from '../storage/paths.ts';
import { bundleDirectory, writeBundle } from './loading/bundle-directory.ts';
import { bundleJob } from './loading/bundle-job.ts';
import { ENGINE_DIRECTORY } from './loading/resolve-imports.ts';
import type { LoadedJob } from '../cli/run-contract.ts';

export interface LoadJobOptions {
  /** Folder for the bundle, made when missing. Without: a temporary one of this process. */
  readonly bundleDirectory?: string;
}

/**
 * @param path The job's file: absolute, or relative to the current folder, or a `file:` URI.
 * @throws JobSubmissionError JOB_NOT_LOADABLE when the file is missing, cannot be compiled, throws
 * while it is evaluated or exports no job.
 */
export async function loadJob(
  path: string | URL,
  options: LoadJobOptions = {},
): Promise<LoadedJob> {
  const sourcePath = sourcePathOf(path);
  enableSourceMaps();
  const directory = options.bundleDirectory ?? bundleDirectory();
  const code = await bundleJob(sourcePath, directory);
  const bundleUrl = pathToFileURL(writeBundle(code, sourcePath, directory)).href;
  const job = jobOf(await evaluate(bundleUrl, sourcePath, directory), sourcePath);
  return { job, sourcePath, bundleUrl, codeHash: codeHashOf(code) };
}

/** Makes stack traces of this thread name the user's sources. Idempotent. */
export function enableSourceMaps(): void {
  setSourceMapsSupport(true);
}

/** Without the source map, which names the folder of the bundle. */
function codeHashOf(code: string): string {
  const end = code.lastIndexOf('\n//# sourceMappingURL=');
  const program = end < 0 ? code : code.slice(0, end);
  return createHash('sha256').update(program).digest('hex');
}

function sourcePathOf(path: string | URL): string {
  const sourcePath = parseUserPath(String(path), process.cwd());
  if (sourcePath === null)
    throw notLoadable(
      String(path),
      `${String(path)} is not a file of this machine: ${userPathAdvice(String(path))}`,
    );
  const stat = statSync(sourcePath, { throwIfNoEntry: false });
  if (stat?.isFile() === true) return sourcePath;
  if (stat !== undefined)
    throw notLoadable(sourcePath, `${sourcePath} is not a file; name the file of the job`);
  const suggestion = didYouMean(basename(sourcePath), namesIn(dirname(sourcePath)));
  throw notLoadable(sourcePath, `there is no job file ${sourcePath}; check the path${suggestion}`);
}

function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

type JobModule = Readonly<Record<string, unknown>>;

async function evaluate(
  bundleUrl: string,
  sourcePath: string,
  directory: string,
): Promise<JobModule> {
  try {
    return (await import(bundleUrl)) as JobModule;
  } catch (error) {
    const stack = error instanceof Error ? (error.stack ?? '') : '';
    const frame = userFrames(stack, [ENGINE_DIRECTORY, directory])[0];
    const place = frame === undefined ? '' : ` (${basename(frame.file)}:${frame.line})`;
    const what = `${basename(sourcePath)} throws while it is loaded`;
    throw notLoadable(sourcePath, `${what}: ${messageOf(error)}${place}`, error);
  }
}

function jobOf(module: JobModule, sourcePath: string): Job {
  const name = basename(sourcePath);
  const value = module['default'];
  if (isJob(value)) return value;
  const example = "export default job('name', (env) => { … })";
  const [jobExport] = Object.keys(module).filter((key) => isJob(module[key]));
  if (jobExport !== undefined) {
    const advice = `add: export default ${jobExport}`;
    throw notLoadable(
      sourcePath,
      `${name} exports its job as "${jobExport}", not as default; ${advice}`,
    );
  }
  if (value !== undefined) {
    const advice =
      value instanceof Promise ? 'await it: export default await …' : `write ${example}`;
    throw notLoadable(
      sourcePath,
      `the default export of ${name} is ${describe(value)}, not a job; ${advice}`,
    );
  }
  const others = Object.keys(module).join(', ');
  const found = others === '' ? 'it exports nothing' : `it exports only ${others}`;
  throw notLoadable(sourcePath, `${name} has no default export (${found}); write ${example}`);
}

function describe(value: unknown): string {
  if (value === null) return 'null';
  if (typeof value === 'function') return 'a function';
  if (typeof value !== 'object') return `a ${typeof value}`;
  const { name } = value.constructor as { readonly name?: string };
  return name === undefined || name === 'Object' ? 'an object' : `a ${name}`;
}

function notLoadable(path: string, message: string, cause?: unknown): JobSubmissionError {
  return new JobSubmissionError(message, { code: 'JOB_NOT_LOADABLE', details: { path }, cause });
}
