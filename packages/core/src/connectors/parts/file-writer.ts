/**
 * Writes the records of one subtask into part files, one open file per bucket. The cut at a
 * checkpoint is exact and immediate: closed files become committables, of an open one the state
 * holds the size. That part is finished by recovery (see `file-committer.ts`), so an attempt never
 * touches the files of another. Memory is bounded: beyond 4 MiB that are not written yet, the task
 * has to wait.
 */
import type { PreparedCommit, SinkWriter, SinkWriterContext } from '../../api/sink.ts';
import { UserFunctionError } from '../../base/errors.ts';
import type { WeirError } from '../../base/errors.ts';
import { makeDirectoryDurably } from '../../storage/durable-file.ts';
import { joinPath } from '../../storage/paths.ts';
import { asSinkError } from '../file-errors.ts';
import type { Format, LineEncoder } from '../formats/format.ts';
import type { BucketAssigner, BucketContext } from './buckets.ts';
import { PartFile } from './part-file.ts';
import { finishedName, inProgressName, writerUid } from './part-names.ts';
import type { FileCommittable, FileWriterState } from './part-names.ts';

export interface FileWriterOptions<T> {
  /** Absolute. */
  readonly folder: string;
  readonly format: Format<T>;
  readonly bucket: BucketAssigner<T>;
  readonly suffix: string;
  readonly maxSizeBytes: number;
  readonly maxAgeMs: number;
  readonly maxIdleMs: number;
  readonly onCheckpoint: boolean;
}

interface OpenFile<T> {
  readonly file: PartFile;
  readonly encoder: LineEncoder<T>;
}

interface ClosedFile {
  readonly committable: FileCommittable;
  readonly durable: Promise<void>;
}

const QUEUED_BYTES_MAX = 4 * 1024 ** 2;
/** Waiting tasks go on when so much is left: not for every buffer that was written. */
const QUEUED_BYTES_RESUME = QUEUED_BYTES_MAX / 2;
/** Flink's interval for rolling by time. */
const HOUSEKEEPING_INTERVAL_MS = 60_000;

export class FileSinkWriter<T> implements SinkWriter<T, FileWriterState, FileCommittable> {
  readonly #context: SinkWriterContext;
  readonly #options: FileWriterOptions<T>;
  readonly #uid: string;
  readonly #bucketContext: { -readonly [Key in keyof BucketContext]: BucketContext[Key] };
  /** Open files by bucket. */
  readonly #open = new Map<string, OpenFile<T>>();
  /** Files closed since the last checkpoint. */
  #closed: ClosedFile[] = [];
  /** Of closed files whose last operations are under way, of whatever checkpoint. */
  readonly #finishing = new Set<Promise<void>>();
  #nextPart = 0;
  /** Appended and not yet handed to the file system. */
  #queuedBytes = 0;
  #waiting: { readonly resolve: () => void; readonly reject: (error: WeirError) => void }[] = [];
  #error: WeirError | null = null;

  constructor(context: SinkWriterContext, options: FileWriterOptions<T>) {
    this.#context = context;
    this.#options = options;
    this.#uid = writerUid(context, context.random.hex(6));
    const { clock } = context;
    this.#bucketContext = {
      timestamp: Number.NaN,
      watermark: Number.NaN,
      // Read only when asked for: most assigners do not need it for every record.
      get wallTime() {
        return clock.wallTime();
      },
    };
    const { maxAgeMs, maxIdleMs } = options;
    context.scheduleHousekeeping(Math.min(HOUSEKEEPING_INTERVAL_MS, maxAgeMs, maxIdleMs));
  }

  async open(): Promise<void> {
    const { folder } = this.#options;
    try {
      await makeDirectoryDurably(this.#context.fileSystem, folder);
    } catch (error) {
      throw asSinkError(folder, error);
    }
  }

  write(value: T, context: { readonly timestamp: number; readonly watermark: number }): void {
    this.#throwIfFailed();
    this.#bucketContext.timestamp = context.timestamp;
    this.#bucketContext.watermark = context.watermark;
    const bucket = this.#options.bucket(value, this.#bucketContext);
    let open = this.#open.get(bucket);
    if (open !== undefined && open.file.sizeBytes >= this.#options.maxSizeBytes) {
      this.#roll(bucket, open);
      open = undefined;
    }
    if (open === undefined) {
      this.#begin(bucket, value);
    } else {
      this.#queuedBytes += open.file.appendLine(open.encoder.encode(value));
      open.file.isIdle = false;
    }
  }

  get isWritable(): boolean {
    return this.#queuedBytes < QUEUED_BYTES_MAX;
  }

  whenWritable(): Promise<void> {
    if (this.#error !== null) return Promise.reject(this.#error);
    if (this.isWritable) return Promise.resolve();
    // Much of it may stand in buffers that are not full, one per bucket.
    for (const { file } of this.#open.values()) file.flush();
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
    });
  }

  prepareCommit(options: {
    readonly endOfInput: boolean;
    readonly stops?: boolean;
  }): PreparedCommit<FileWriterState, FileCommittable> {
    this.#throwIfFailed();
    if (options.endOfInput || options.stops === true || this.#options.onCheckpoint)
      for (const [bucket, open] of this.#open) this.#roll(bucket, open);
    const closed = this.#closed;
    this.#closed = [];
    const files = [...this.#open.values()].map(({ file }) => file);
    const { subtask, attempt } = this.#context;
    const state: FileWriterState = {
      subtask,
      attempt,
      uid: this.#uid,
      nextPart: this.#nextPart,
      open: files.map((file) => file.ref),
    };
    const durable = [...closed.map((one) => one.durable), ...files.map((file) => file.durable())];
    return {
      committables: closed.map(({ committable }) => committable),
      writerStates: [state],
      durable: Promise.all(durable).then(() => undefined),
    };
  }

  onHousekeeping(): void {
    const now = this.#context.clock.now();
    const { maxAgeMs, maxIdleMs } = this.#options;
    for (const [bucket, open] of this.#open) {
      const { file } = open;
      if (!file.isIdle) file.idleSince = now;
      file.isIdle = true;
      if (now - file.createdAt >= maxAgeMs || now - file.idleSince >= maxIdleMs)
        this.#roll(bucket, open);
    }
  }

  async close(): Promise<void> {
    const files = [...this.#open.values()].map(({ file }) => file.abandon());
    // Nothing of this attempt may touch the disk once it is closed: recovery would miss it.
    await Promise.allSettled([...files, ...this.#finishing]);
  }

  /** Opens the file of a bucket with its first record; encoded first, so none is left empty. */
  #begin(bucket: string, value: T): void {
    const { folder, format, suffix } = this.#options;
    checkBucket(bucket);
    const encoder = format.createEncoder();
    const header = encoder.header?.(value);
    const line = encoder.encode(value);
    const part = this.#nextPart++;
    const { clock, fileSystem, random } = this.#context;
    const file = new PartFile(fileSystem, {
      inProgressPath: joinPath(folder, bucket, inProgressName(this.#uid, part, random.hex(8))),
      finalPath: joinPath(folder, bucket, finishedName(this.#uid, part, suffix)),
      createdAt: clock.now(),
      onWritten: (bytes) => this.#onWritten(bytes),
      onError: (error) => this.#onError(error),
    });
    this.#open.set(bucket, { file, encoder });
    if (header !== undefined) this.#queuedBytes += file.appendLine(header);
    this.#queuedBytes += file.appendLine(line);
  }

  #roll(bucket: string, { file }: OpenFile<T>): void {
    this.#open.delete(bucket);
    const durable = file.finish();
    // A failure is reported through `onError`, whether or not a checkpoint asks for this file.
    const ended: Promise<void> = durable
      .catch(() => undefined)
      .then(() => void this.#finishing.delete(ended));
    this.#finishing.add(ended);
    this.#closed.push({ committable: file.ref, durable });
  }

  #onWritten(bytes: number): void {
    this.#queuedBytes -= bytes;
    if (this.#queuedBytes > QUEUED_BYTES_RESUME) return;
    for (const { resolve } of this.#waiting) resolve();
    this.#waiting = [];
  }

  #onError(error: WeirError): void {
    this.#error ??= error;
    for (const { reject } of this.#waiting) reject(this.#error);
    this.#waiting = [];
  }

  #throwIfFailed(): void {
    if (this.#error !== null) throw this.#error;
  }
}

/** A bucket must stay below the sink's folder, and be no name that readers pass over. */
function checkBucket(bucket: unknown): asserts bucket is string {
  const isAllowed =
    typeof bucket === 'string' &&
    !bucket.includes('\0') &&
    (bucket === '' || bucket.split('/').every((name) => /^[^._]/.test(name)));
  if (isAllowed) return;
  throw new UserFunctionError(
    `the bucket assigner of a file sink returned ${JSON.stringify(bucket) ?? String(bucket)}: ` +
      "give names of folders, separated by /, that begin neither with '.' nor with '_', " +
      "or '' for the sink's folder",
    { details: { bucket: String(bucket) } },
  );
}
