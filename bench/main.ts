/**
 * `npm run bench`: measures the engine, each row in a process of its own, and prints a table.
 *
 *   --only NAME   one row (may be repeated)      --json      a JSON object a row
 *   --long        the rows of minutes as well    --profile   V8 CPU profiles into bench/profiles
 *
 * Exit code 1 when a row misses what it must reach or fails, 2 when the options are wrong.
 */
import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { RowResult } from './support/row.ts';
import { ROWS } from './support/rows.ts';
import { tableLine, TABLE_HEAD } from './support/table.ts';

function readOptions(): { only?: string[]; json: boolean; long: boolean; profile: boolean } {
  const { values } = parseArgs({
    options: {
      only: { type: 'string', multiple: true },
      json: { type: 'boolean', default: false },
      long: { type: 'boolean', default: false },
      profile: { type: 'boolean', default: false },
    },
  });
  const names = ROWS.map(({ name }) => name);
  const unknown = values.only?.find((name) => !names.includes(name));
  if (unknown !== undefined)
    throw new Error(`there is no row ${unknown}; rows: ${names.join(', ')}`);
  return values;
}

let options: ReturnType<typeof readOptions>;
try {
  options = readOptions();
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exit(2);
}

/** Ends with this process: a row runs for minutes, and leaves its files behind when killed. */
let endRow: (() => void) | null = null;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.once(signal, () => {
    endRow?.();
    process.kill(process.pid, signal);
  });

function runRow(name: string): Promise<RowResult | null> {
  const folder = join(import.meta.dirname, 'profiles', name);
  if (options.profile) mkdirSync(folder, { recursive: true });
  const flags = options.profile ? ['--cpu-prof', `--cpu-prof-dir=${folder}`] : [];
  const args = [...flags, '--expose-gc', join(import.meta.dirname, 'row.ts'), name];
  const files = mkdtempSync(join(tmpdir(), 'weir-bench-'));
  // Servers of a row run as a user of their own.
  chmodSync(files, 0o711);
  return new Promise((resolve) => {
    const child = spawn(process.execPath, args, {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, TMPDIR: files },
      // A group of its own, with the processes that the row starts.
      detached: true,
    });
    const removeFiles = (): void => rmSync(files, { recursive: true, force: true, maxRetries: 3 });
    endRow = () => {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
      removeFiles();
    };
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
    child.on('close', (code) => {
      endRow = null;
      removeFiles();
      const last = output.trim().split('\n').at(-1) ?? '';
      resolve(code === 0 && last.startsWith('{') ? (JSON.parse(last) as RowResult) : null);
    });
  });
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

const chosen = ROWS.filter(({ name, long = false }) =>
  options.only === undefined ? !long || options.long : options.only.includes(name),
);
if (!options.json) {
  say(`${cpus()[0]?.model ?? 'unknown'}, ${availableParallelism()} cores, Node ${process.version}`);
  say(TABLE_HEAD);
}
let missed = 0;
for (const row of chosen) {
  const result = await runRow(row.name);
  if (result === null || !result.met) missed++;
  if (options.json) say(JSON.stringify(result ?? { name: row.name, failed: true }));
  else say(result === null ? `${row.name}: failed, see above` : tableLine(row, result));
}
process.exitCode = missed === 0 ? 0 : 1;
