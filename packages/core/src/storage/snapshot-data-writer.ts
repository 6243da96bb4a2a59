/**
 * How a task writes its share of a snapshot: into one file in the location that the coordinator
 * prepared, or, when it is small, into the acknowledgement itself. The file's bytes are durable
 * when this resolves; its name becomes durable when the snapshot is published.
 */
import { crc32 } from '../base/codec/crc32.ts';
import { CheckpointDeclinedError } from '../base/errors.ts';
import type { FileSystem, FileWriter } from '../base/file-system.ts';
import type { StateHandle } from '../protocol/snapshot.ts';
import { closeQuietly } from './durable-file.ts';
import { joinPath } from './paths.ts';
import { retryTransient } from './retry.ts';
import { isMemoryLocation } from './snapshot-layout.ts';
import type { StorageIo } from './storage-io.ts';

/** Takes the bytes of a subtask's snapshot one after the other. */
export interface SnapshotDataSink {
  /** Bytes written so far: where the next section begins. */
  readonly offset: number;
  /** Appends. The bytes may change again once this has resolved. */
  write(bytes: Uint8Array): Promise<void>;
}

export interface SnapshotDataTarget {
  /** `CheckpointOptions.location`. */
  readonly location: string;
  /** From `dataFileName`. */
  readonly fileName: string;
  /**
   * `execution.checkpointing.data-inline-threshold`: data up to this size stands in `_metadata`.
   */
  readonly inlineBytesMax: number;
}

/** Fewer, larger writes: a section is often only some hundred bytes. */
const WRITE_BUFFER_BYTES = 64 * 1024;
/** And the whole state of a subtask is often no more than that. */
const FIRST_BUFFER_BYTES = 1024;
/** Flink's limit for state that is kept on the JobManager; more would burden its memory. */
export const MEMORY_STATE_BYTES_MAX: number = 5 * 1024 * 1024;

/**
 * Writes a subtask's data and makes it durable; `null` when there is none. `produce` is called
 * again from the start when the storage fails for a passing reason, so it must be repeatable.
 */
export async function writeSnapshotData(
  io: StorageIo,
  target: SnapshotDataTarget,
  produce: (sink: SnapshotDataSink) => Promise<void>,
): Promise<StateHandle | null> {
  return retryTransient(io.clock, async () => {
    const sink = new DataSink(io.fileSystem, target);
    try {
      await produce(sink);
      return await sink.finish();
    } catch (error) {
      await sink.abandon();
      throw error;
    }
  });
}

class DataSink implements SnapshotDataSink {
  readonly #fileSystem: FileSystem;
  readonly #target: SnapshotDataTarget;
  readonly #path: string;
  readonly #isInMemory: boolean;
  readonly #bufferBytesMax: number;
  #buffer: Buffer = Buffer.allocUnsafe(FIRST_BUFFER_BYTES);
  #buffered = 0;
  #writer: FileWriter | null = null;
  #checksum = 0;
  #offset = 0;

  constructor(fileSystem: FileSystem, target: SnapshotDataTarget) {
    this.#fileSystem = fileSystem;
    this.#target = target;
    this.#path = joinPath(target.location, target.fileName);
    this.#isInMemory = isMemoryLocation(target.location);
    this.#bufferBytesMax = Math.max(target.inlineBytesMax, WRITE_BUFFER_BYTES);
  }

  get offset(): number {
    return this.#offset;
  }

  async write(bytes: Uint8Array): Promise<void> {
    this.#checksum = crc32(bytes, this.#checksum);
    this.#offset += bytes.byteLength;
    const needed = this.#buffered + bytes.byteLength;
    if (needed > this.#bufferBytesMax && !this.#isInMemory) return this.#writeToFile(bytes);
    if (needed > this.#buffer.byteLength) this.#growBuffer(needed);
    this.#buffer.set(bytes, this.#buffered);
    this.#buffered += bytes.byteLength;
  }

  async finish(): Promise<StateHandle | null> {
    const checksum = this.#checksum;
    if (this.#offset === 0) return null;
    if (this.#isInMemory || this.#offset <= this.#target.inlineBytesMax) {
      const bytes = new Uint8Array(this.#buffer.subarray(0, this.#buffered));
      return { kind: 'inline', bytes, checksum };
    }
    await this.#writeToFile(new Uint8Array());
    const writer = this.#writer!;
    await writer.sync();
    await writer.close();
    this.#writer = null;
    return { kind: 'file', path: this.#target.fileName, sizeBytes: this.#offset, checksum };
  }

  async abandon(): Promise<void> {
    if (this.#writer === null) return;
    await closeQuietly(this.#writer);
    try {
      await this.#fileSystem.remove(this.#path);
    } catch {
      // The error that led here matters; the file goes when the checkpoint is discarded.
    }
  }

  async #writeToFile(bytes: Uint8Array): Promise<void> {
    this.#writer ??= await this.#fileSystem.create(this.#path);
    if (this.#buffered > 0) await this.#writer.write(this.#buffer.subarray(0, this.#buffered));
    this.#buffered = 0;
    if (bytes.byteLength > 0) await this.#writer.write(bytes);
  }

  #growBuffer(needed: number): void {
    if (this.#isInMemory && this.#offset > MEMORY_STATE_BYTES_MAX) {
      throw new CheckpointDeclinedError(
        `the state of one subtask is larger than ${MEMORY_STATE_BYTES_MAX} bytes, too much for ` +
          'checkpoints in memory; set execution.checkpointing.storage: filesystem and ' +
          'execution.checkpointing.dir',
        { details: { fileName: this.#target.fileName, sizeBytesMax: MEMORY_STATE_BYTES_MAX } },
      );
    }
    const grown = Buffer.allocUnsafe(Math.max(needed, this.#buffer.byteLength * 2));
    grown.set(this.#buffer.subarray(0, this.#buffered));
    this.#buffer = grown;
  }
}
