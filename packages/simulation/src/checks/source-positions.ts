/** What the positions in a checkpoint say that a source has read. */
import type {
  FileEnumeratorState,
  FileSplit,
} from '@weir/core/internal/connectors/files/file-split';
import { inputLines, inputPath } from '../jobs/input-files.ts';
import type { SourceSpec } from '../jobs/job-spec.ts';
import { countSource } from '../jobs/recount.ts';
import type { Counted } from '../jobs/recount.ts';
import type { SnapshotContents } from './snapshot-contents.ts';

interface Position {
  readonly id: string;
  readonly next: number;
}

/**
 * The records before the positions; of a split that has no position, all. A text tells what is
 * wrong with the positions.
 */
export function recordsRead(
  spec: SourceSpec,
  { operators, enumerators }: SnapshotContents,
): readonly Counted[] | string {
  const inReaders = operators.get(spec.name)?.lists.get('splits')?.flat() ?? [];
  const enumerator = enumerators.get(spec.name);
  // It was still starting: a restore starts it anew, from nothing.
  if (enumerator === undefined) return [];
  const unread = new Set<string>();
  if (spec.reader === 'files') {
    const { pending } = enumerator as FileEnumeratorState;
    for (const split of [...pending, ...(inReaders as FileSplit[])])
      for (const id of linesFrom(spec, split)) {
        if (unread.has(id)) return `holds the place of ${id} twice`;
        unread.add(id);
      }
  } else {
    const waiting = enumerator as readonly Position[];
    for (const { id, next } of [...waiting, ...(inReaders as Position[])]) {
      const count = spec.splits.find((split) => split.id === id)?.count ?? 0;
      for (let at = next; at < count; at++) {
        if (unread.has(`${id}:${at}`)) return `holds split ${id} twice`;
        unread.add(`${id}:${at}`);
      }
    }
  }
  return countSource(spec).filter(({ id }) => !unread.has(id));
}

/** Ids of the records that a split has not given yet: of the lines that start in what is left. */
function linesFrom(spec: SourceSpec, { path, start, end, position }: FileSplit): string[] {
  const split = spec.splits.find((it) => inputPath(spec, it) === path);
  if (split === undefined) return [];
  const ids: string[] = [];
  let at = 0;
  for (const [index, line] of inputLines(spec, split).entries()) {
    if (at >= (position ?? start) && at < (end ?? Infinity)) ids.push(`${split.id}:${index}`);
    at += Buffer.byteLength(line);
  }
  return ids;
}
