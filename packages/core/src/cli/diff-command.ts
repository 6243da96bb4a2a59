/** `weir diff`: in what two snapshots differ. Needs neither the job nor its code. */
import { locateSnapshot } from '../storage/locate-snapshot.ts';
import type { Environment } from './environment.ts';
import { EXIT_FAILED, EXIT_OK } from './exit-codes.ts';
import type { Difference } from './inspect/snapshot-diff.ts';
import { snapshotDiff } from './inspect/snapshot-diff.ts';
import { ManyLines } from './many-lines.ts';
import { usageError } from './options.ts';
import type { ParsedOptions } from './options.ts';

/** As of `diff`: 0 when both are alike, 1 when they are not. */
export async function diffCommand(
  options: ParsedOptions,
  environment: Environment,
): Promise<number> {
  const [first, second, ...more] = options.words;
  if (first === undefined || second === undefined || more.length > 0)
    throw usageError('weir diff: name two snapshots, as in: weir diff chk-12 chk-13');
  const { terminal, fileSystem, clock, workingDirectory } = environment;
  const io = { fileSystem, clock };
  const a = await locateSnapshot(io, first, workingDirectory);
  const b = await locateSnapshot(io, second, workingDirectory);
  let count = 0;
  const lines = new ManyLines(terminal);
  const textOf = options.has('--json') ? jsonOf : lineOf;
  try {
    for await (const difference of snapshotDiff(io, a, b)) {
      count++;
      if (lines.add(textOf(difference))) await lines.flush();
    }
  } finally {
    await lines.flush();
  }
  if (count === 0 && !options.has('--json')) terminal.print('both hold the same state');
  return count === 0 ? EXIT_OK : EXIT_FAILED;
}

/** `counts/count "a": 1 -> 2`. */
function lineOf({ operator, state, key, a, b }: Difference): string {
  const place = state === null ? operator : `${operator}/${state}`;
  const of = key === null ? '' : ` ${key}`;
  return `${place}${of}: ${a ?? 'nothing'} -> ${b ?? 'nothing'}`;
}

function jsonOf({ operator, state, key, a, b }: Difference): string {
  const parts = [`"operator":${JSON.stringify(operator)}`, `"state":${JSON.stringify(state)}`];
  if (key !== null) parts.push(`"key":${key}`);
  if (a !== null) parts.push(`"a":${a}`);
  if (b !== null) parts.push(`"b":${b}`);
  return `{${parts.join(',')}}`;
}
