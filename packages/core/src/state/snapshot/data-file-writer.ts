/**
 * The bytes of one subtask's snapshot, section by section. Up to a few megabytes are held and
 * handed to storage at the end, which puts few bytes inline and tries writing a file again. Beyond
 * that, chunks are written as they fill, so that memory stays bounded. A data file has a name of
 * its own per attempt and is durable before anybody hears of it: nothing can meet a half-written
 * one.
 */
import { assert } from '../../base/assert.ts';
import { BinaryWriter } from '../../base/codec/binary-writer.ts';
import { crc32 } from '../../base/codec/crc32.ts';
import type { FileWriter } from '../../base/file-system.ts';
import type { Section, StateHandle } from '../../protocol/snapshot.ts';
import { closeQuietly } from '../../storage/durable-file.ts';
import { joinPath } from '../../storage/paths.ts';
import { retryTransient } from '../../storage/retry.ts';
import { writeSnapshotData } from '../../storage/snapshot-data-writer.ts';
import { isMemoryLocation } from '../../storage/snapshot-layout.ts';
import type { StorageIo } from '../../storage/storage-io.ts';
import type { SectionOutput } from '../keyed-state-backend.ts';

const CHUNK_BYTES = 256 * 1024;
/** With the section that fills it. */
const CHUNK_ROOM_BYTES = CHUNK_BYTES + 64 * 1024;
/** Snapshots up to this size are held in memory until they are complete. */
const HELD_BYTES_MAX = 4 * 1024 * 1024;

export interface DataFileOptions {
  /** `CheckpointOptions.location`. */
  readonly location: string;
  readonly fileName: string;
  /** Up to this size the bytes travel in the acknowledgement and no file is written. */
  readonly inlineThresholdBytes: number;
}

export class DataFileWriter implements SectionOutput {
  readonly #io: StorageIo;
  readonly #options: DataFileOptions;
  /** Complete chunks that are not written yet. */
  #chunks: BinaryWriter[] = [];
  #chunk = new BinaryWriter();
  /** Written, to be used again: fresh memory by the megabyte makes the collector walk all state. */
  #spare: BinaryWriter | null = null;
  #sizeBytes = 0;
  #checksum = 0;
  /** Open once the snapshot has become too large to be held. */
  #file: FileWriter | null = null;
  #complete = false;

  constructor(io: StorageIo, options: DataFileOptions) {
    this.#io = io;
    this.#options = options;
  }

  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  append(bytes: Uint8Array, count: number): Section {
    assert(!this.#complete, 'a section came after the end of the snapshot');
    const offset = this.#sizeBytes;
    this.#chunk.bytes(bytes);
    this.#sizeBytes += bytes.length;
    this.#checksum = crc32(bytes, this.#checksum);
    if (this.#chunk.length >= CHUNK_BYTES) this.#endChunk();
    return { offset, sizeBytes: bytes.length, count, checksum: crc32(bytes) };
  }

  /** Writes out what is too much to be held. To be called now and then, one call at a time. */
  async flush(): Promise<void> {
    if (this.#file === null) {
      if (this.#sizeBytes <= HELD_BYTES_MAX || isMemoryLocation(this.#options.location)) return;
      const { fileSystem, clock } = this.#io;
      this.#file = await retryTransient(clock, () => fileSystem.create(this.#path));
    }
    for (let chunk = this.#chunks.shift(); chunk !== undefined; chunk = this.#chunks.shift()) {
      await this.#file.write(chunk.view());
      chunk.reset();
      this.#spare = chunk;
    }
  }

  /** Ends the snapshot. Once resolved, its bytes are durable; `null` when there are none. */
  async finish(): Promise<StateHandle | null> {
    this.#complete = true;
    if (this.#chunk.length > 0) this.#chunks.push(this.#chunk);
    await this.flush();
    const file = this.#file;
    if (file === null) return this.#writeHeld();
    await file.sync();
    await file.close();
    this.#file = null;
    await this.#io.fileSystem.syncDirectory(this.#options.location);
    const { fileName } = this.#options;
    return { kind: 'file', path: fileName, sizeBytes: this.#sizeBytes, checksum: this.#checksum };
  }

  /** Removes the unfinished file. What `finish` has made stays: it may be in use. */
  async discard(): Promise<void> {
    this.#complete = true;
    this.#chunks = [];
    const file = this.#file;
    this.#file = null;
    if (file === null) return;
    await closeQuietly(file);
    await this.#io.fileSystem.remove(this.#path);
  }

  get #path(): string {
    return joinPath(this.#options.location, this.#options.fileName);
  }

  #endChunk(): void {
    this.#chunks.push(this.#chunk);
    this.#chunk = this.#spare ?? new BinaryWriter(CHUNK_ROOM_BYTES);
    this.#spare = null;
  }

  async #writeHeld(): Promise<StateHandle | null> {
    const { location, fileName, inlineThresholdBytes } = this.#options;
    const target = { location, fileName, inlineBytesMax: inlineThresholdBytes };
    const handle = await writeSnapshotData(this.#io, target, async (sink) => {
      for (const chunk of this.#chunks) await sink.write(chunk.view());
    });
    if (handle?.kind === 'file') await this.#io.fileSystem.syncDirectory(location);
    return handle;
  }
}
