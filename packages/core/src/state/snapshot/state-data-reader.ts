/**
 * Sections of one subtask's data, for restore and for looking into a snapshot. What stands side by
 * side is read at once; each section is checked before it is handed on, and one that is damaged is
 * named in the error, so that people know what they would lose.
 */
import { crc32 } from '../../base/codec/crc32.ts';
import type { Section, StateHandle } from '../../protocol/snapshot.ts';
import type { DataSection, SnapshotDataReader } from '../../storage/snapshot-data-reader.ts';
import { checksumError, openSnapshotData } from '../../storage/snapshot-data-reader.ts';
import { handlePath, metadataPath } from '../../storage/snapshot-layout.ts';
import type { StorageIo } from '../../storage/storage-io.ts';

/** What reading a snapshot takes. */
export interface SnapshotEnvironment extends StorageIo {
  /** Directory of the snapshot, absolute: handles name their files relative to it. */
  readonly directory: string;
}

/** Sections next to each other are read together up to this size. */
const READ_BYTES_MAX = 256 * 1024;

export class StateDataReader {
  readonly #path: string;
  readonly #source: SnapshotDataReader;

  private constructor(path: string, source: SnapshotDataReader) {
    this.#path = path;
    this.#source = source;
  }

  /** To be closed. Throws `StateCorruptionError` when the data has not the length written down. */
  static async open(env: SnapshotEnvironment, data: StateHandle): Promise<StateDataReader> {
    const { directory } = env;
    const path = data.kind === 'file' ? handlePath(directory, data) : metadataPath(directory);
    return new StateDataReader(path, await openSnapshotData(env, directory, data));
  }

  close(): Promise<void> {
    return this.#source.close();
  }

  /** One section; `name` stands for it in the message of a `StateCorruptionError`. */
  async read(section: DataSection, name: string): Promise<Uint8Array> {
    const { offset, sizeBytes } = section;
    const bytes = await this.#source.read({ offset, sizeBytes });
    this.#check(section, bytes, name);
    return bytes;
  }

  /** Many sections in the order of their places. Their bytes are valid until the next one. */
  async *readAll<S extends Section>(
    sections: readonly S[],
    nameOf: (section: S) => string,
  ): AsyncGenerator<readonly [S, Uint8Array], void> {
    for (const run of adjacent(sections)) {
      const { offset } = run[0]!;
      const bytes = await this.#source.read({ offset, sizeBytes: endOf(run.at(-1)!) - offset });
      for (const section of run) {
        const content = bytes.subarray(section.offset - offset, endOf(section) - offset);
        this.#check(section, content, nameOf(section));
        yield [section, content];
      }
    }
  }

  #check({ offset, sizeBytes, checksum }: DataSection, bytes: Uint8Array, name: string): void {
    if (checksum === undefined) return;
    const found = crc32(bytes);
    if (found === checksum) return;
    const where = ` in ${name} (${sizeBytes} bytes at ${offset})`;
    throw checksumError(this.#path, checksum, found, where);
  }
}

/** Groups sections that follow one another without a gap. */
function adjacent<S extends Section>(sections: readonly S[]): readonly (readonly S[])[] {
  const runs: S[][] = [];
  for (const section of sections.toSorted((a, b) => a.offset - b.offset)) {
    const run = runs.at(-1);
    const isNext = run !== undefined && endOf(run.at(-1)!) === section.offset;
    if (isNext && endOf(section) - run[0]!.offset <= READ_BYTES_MAX) run.push(section);
    else runs.push([section]);
  }
  return runs;
}

function endOf(section: Section): number {
  return section.offset + section.sizeBytes;
}
