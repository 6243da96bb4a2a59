/**
 * One TCP connection read line by line. It is one split, which the subtask that asks first gets.
 * The connection is paused while a megabyte waits to be read, so a slow job slows the server.
 */
import type { Socket } from 'node:net';
import type {
  PollResult,
  ReaderOutput,
  SourceReader,
  SourceReaderContext,
  SplitEnumerator,
  SplitEnumeratorContext,
} from '../api/source.ts';
import { WeirError, messageOf } from '../base/errors.ts';
import type { Format } from './formats/format.ts';
import { LineBlocks } from './line-blocks.ts';
import { LineReader } from './line-reader.ts';
import { failOnMalformed, passOverMalformed } from './malformed-lines.ts';

/** The connection; only one exists. */
export interface SocketSplit {
  readonly id: 'socket';
}

export interface SocketState {
  readonly isAssigned: boolean;
}

export interface SocketReaderOptions<T> {
  readonly host: string;
  readonly port: number;
  readonly format: Format<T>;
  readonly onMalformed: 'fail' | 'skip';
  readonly maxLineBytes: number;
}

const BUFFERED_BYTES_MAX = 1024 ** 2;

export class SocketEnumerator implements SplitEnumerator<SocketSplit, SocketState> {
  readonly #context: SplitEnumeratorContext<SocketSplit>;
  #isAssigned: boolean;

  constructor(context: SplitEnumeratorContext<SocketSplit>, restored: SocketState | undefined) {
    this.#context = context;
    this.#isAssigned = restored?.isAssigned ?? false;
  }

  start(): void {
    // The split is always the same.
  }

  handleSplitRequest(subtask: number): void {
    if (this.#isAssigned) {
      this.#context.signalNoMoreSplits(subtask);
      return;
    }
    this.#isAssigned = true;
    this.#context.assignSplits(subtask, [{ id: 'socket' }]);
  }

  addReader(): void {
    // It asks when it wants the split.
  }

  addSplitsBack(splits: readonly SocketSplit[]): void {
    if (splits.length > 0) this.#isAssigned = false;
  }

  snapshotState(): SocketState {
    return { isAssigned: this.#isAssigned };
  }

  close(): void {
    // The connection is the reader's.
  }
}

export class SocketReader<T> implements SourceReader<T, SocketSplit> {
  readonly #context: SourceReaderContext;
  readonly #options: SocketReaderOptions<T>;
  readonly #lines: LineReader<T>;
  readonly #blocks: LineBlocks;
  #split: SocketSplit | null = null;
  #socket: Socket | null = null;
  #bufferedBytes = 0;
  #hasAsked = false;
  #isLastKnown = false;
  #isClosed = false;
  #error: WeirError | null = null;

  constructor(context: SourceReaderContext, options: SocketReaderOptions<T>) {
    this.#context = context;
    this.#options = options;
    const { host, port, format, maxLineBytes, onMalformed } = options;
    this.#blocks = new LineBlocks({ position: 0, skipFirstLine: false, maxLineBytes });
    this.#lines = new LineReader(0, {
      origin: `${host}:${port}`,
      splitId: 'socket',
      decode: format.createDecoder(null),
      skipsBlankLines: format.skipsBlankLines,
      encoding: 'utf-8',
      maxLineBytes,
      malformed:
        onMalformed === 'fail' ? failOnMalformed(format.name) : passOverMalformed(context.metrics),
      end: Infinity,
    });
  }

  start(): void {
    // The connection is made once the split is here.
  }

  poll(output: ReaderOutput<T>): PollResult {
    if (this.#split === null && !this.#isLastKnown) return this.#ask();
    while (output.remaining > 0) {
      if (!this.#lines.hasBlock) {
        const block = this.#blocks.next();
        if (block === null) return this.#whenEmpty();
        this.#lines.setBlock(block);
      }
      this.#lines.read(output, Infinity);
    }
    return 'more';
  }

  addSplits(splits: readonly SocketSplit[]): void {
    const [split] = splits;
    if (split === undefined || this.#split !== null) return;
    this.#split = split;
    void this.#connect();
  }

  notifyNoMoreSplits(): void {
    this.#isLastKnown = true;
    this.#context.wakeUp();
  }

  snapshotState(): readonly SocketSplit[] {
    return this.#split === null || this.#isFinished() ? [] : [this.#split];
  }

  close(): void {
    this.#isClosed = true;
    this.#socket?.destroy();
  }

  #ask(): 'nothing' {
    if (!this.#hasAsked) this.#context.sendSplitRequest();
    this.#hasAsked = true;
    return 'nothing';
  }

  #whenEmpty(): PollResult {
    if (this.#error !== null) throw this.#error;
    if (this.#split === null || this.#isFinished()) return 'end';
    this.#bufferedBytes = 0;
    this.#socket?.resume();
    return 'nothing';
  }

  #isFinished(): boolean {
    return this.#blocks.isEnded && !this.#lines.hasBlock;
  }

  async #connect(): Promise<void> {
    const { host, port } = this.#options;
    const net = await import('node:net');
    if (this.#isClosed) return;
    const socket = net.connect({ host, port });
    this.#socket = socket;
    socket.on('data', (chunk: Buffer) => {
      this.#blocks.push(chunk);
      this.#bufferedBytes += chunk.length;
      if (this.#bufferedBytes > BUFFERED_BYTES_MAX) socket.pause();
      this.#context.wakeUp();
    });
    socket.on('end', () => {
      this.#blocks.end();
      this.#context.wakeUp();
    });
    socket.on('error', (error) => {
      this.#error = new WeirError(
        'transient',
        `socketSource cannot read from ${host}:${port}: ${messageOf(error)}; check that a server ` +
          'listens there',
        { code: 'SOURCE_UNAVAILABLE', details: { host, port }, cause: error },
      );
      this.#context.wakeUp();
    });
  }
}
