/** `weir inspect`: shows what a snapshot holds. Needs neither the job nor its code. */
import { locateSnapshot } from '../storage/locate-snapshot.ts';
import type { Environment } from './environment.ts';
import { EXIT_OK } from './exit-codes.ts';
import { toJsonText } from './inspect/json-value.ts';
import { snapshotFacts } from './inspect/snapshot-facts.ts';
import { snapshotLines } from './inspect/snapshot-lines.ts';
import { stateRowBatches } from './inspect/state-rows.ts';
import type { StateRow } from './inspect/state-rows.ts';
import { ManyLines } from './many-lines.ts';
import { usageError } from './options.ts';
import type { ParsedOptions } from './options.ts';

export async function inspectCommand(
  options: ParsedOptions,
  environment: Environment,
): Promise<number> {
  const [path, ...more] = options.words;
  if (path === undefined)
    throw usageError('weir inspect: name the folder of a checkpoint, as in: weir inspect chk-12');
  if (more.length > 0)
    throw usageError(`weir inspect: one path at a time; what is "${more.join(' ')}"?`);
  const { terminal, fileSystem, clock, workingDirectory } = environment;
  const io = { fileSystem, clock };
  const snapshot = await locateSnapshot(io, path, workingDirectory);

  const state = options.value('--state');
  if (state !== null) {
    await printRows(stateRowBatches(io, snapshot, state), terminal);
    return EXIT_OK;
  }
  const facts = snapshotFacts(snapshot);
  if (options.has('--json')) terminal.print(JSON.stringify(facts, null, 2));
  else for (const line of snapshotLines(facts)) terminal.print(line);
  return EXIT_OK;
}

/** Also those before a damage. */
async function printRows(
  batches: AsyncIterable<Iterable<StateRow>>,
  terminal: Environment['terminal'],
): Promise<void> {
  const lines = new ManyLines(terminal);
  try {
    for await (const rows of batches)
      for (const row of rows) if (lines.add(rowText(row))) await lines.flush();
  } finally {
    await lines.flush();
  }
}

function rowText(row: StateRow): string {
  if (!('key' in row && 'value' in row)) return toJsonText(row);
  return `{"key":${toJsonText(row.key)},"value":${toJsonText(row.value)}}`;
}
