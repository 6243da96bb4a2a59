/**
 * Opens the file of a split where reading begins or goes on, after making sure that it still is the
 * file it was: one that vanished or shrank must never look like one that was read to its end.
 */
import type { FileSystem } from '../../base/file-system.ts';
import { messageOf, WeirError } from '../../base/errors.ts';
import { closeQuietly } from '../../storage/durable-file.ts';
import type { Format, LineDecoder } from '../formats/format.ts';
import { LineBlocks } from '../line-blocks.ts';
import type { LineBlock } from '../line-blocks.ts';
import { openByteStream } from './byte-stream.ts';
import type { ByteStream, ByteStreamOptions } from './byte-stream.ts';
import { asSourceError, sourceUnavailable } from '../file-errors.ts';
import type { FileSplit } from './file-split.ts';

export interface OpenSplitOptions<T> {
  readonly format: Format<T>;
  readonly maxLineBytes: number;
  readonly chunkBytes: number;
}

export interface OpenSplit<T> {
  readonly stream: ByteStream;
  /** Where the stream begins. */
  readonly streamPosition: number;
  readonly blocks: LineBlocks;
  readonly decode: LineDecoder<T>;
}

export async function openSplit<T>(
  fileSystem: FileSystem,
  split: FileSplit,
  options: OpenSplitOptions<T>,
): Promise<OpenSplit<T>> {
  try {
    await checkFile(fileSystem, split);
    const header = options.format.hasHeader
      ? await readHeader(fileSystem, split, options)
      : { text: null, nextPosition: 0 };
    const decode = decoderFor(split, options.format, header.text);
    const isInside = split.position === null && split.start > header.nextPosition;
    // A line that starts at `start` is ours; whether one does, the byte before it tells.
    const position = isInside
      ? split.start - 1
      : Math.max(split.position ?? split.start, header.nextPosition);
    const stream = await openByteStream(fileSystem, split.path, {
      gzip: split.gzip,
      position,
      chunkBytes: options.chunkBytes,
    });
    const { maxLineBytes } = options;
    const blocks = new LineBlocks({ position, skipFirstLine: isInside, maxLineBytes });
    return { stream, streamPosition: position, blocks, decode };
  } catch (error) {
    throw asSourceError(split.path, error);
  }
}

async function checkFile(fileSystem: FileSystem, split: FileSplit): Promise<void> {
  const { path, sizeBytes } = split;
  const stat = await fileSystem.stat(path);
  const wasRead = split.position === null ? '' : `, after being read to byte ${split.position}`;
  if (stat === null)
    throw sourceUnavailable(
      path,
      `fileSource cannot read ${path}: the file was there when the input was listed and is gone ` +
        `now${wasRead}; put it back, or start with --fresh`,
      { reason: 'missing', position: split.position },
    );
  if (stat.sizeBytes < sizeBytes) throw shrunk(split, stat.sizeBytes);
}

/** The file has fewer bytes than when it was listed. */
export function shrunk(split: FileSplit, sizeBytes: number): WeirError {
  return sourceUnavailable(
    split.path,
    `fileSource cannot read ${split.path}: it had ${split.sizeBytes} bytes when the input was ` +
      `listed and now ends after ${sizeBytes}, so positions in it mean nothing any more; put the ` +
      'file back as it was, or start with --fresh',
    { reason: 'shrunk', listedBytes: split.sizeBytes, sizeBytes },
  );
}

interface Header {
  readonly text: string | null;
  readonly nextPosition: number;
}

async function readHeader<T>(
  fileSystem: FileSystem,
  split: FileSplit,
  options: OpenSplitOptions<T>,
): Promise<Header> {
  const { maxLineBytes, chunkBytes } = options;
  const from: ByteStreamOptions = { gzip: split.gzip, position: 0, chunkBytes };
  const stream = await openByteStream(fileSystem, split.path, from);
  try {
    const blocks = new LineBlocks({ position: 0, skipFirstLine: false, maxLineBytes });
    for (;;) {
      const chunk = await stream.next();
      if (chunk === null) blocks.end();
      else blocks.push(chunk);
      const block = blocks.next();
      if (block !== null) return headerOf(block);
      if (chunk === null) return { text: null, nextPosition: 0 };
    }
  } finally {
    await closeQuietly(stream);
  }
}

function headerOf(block: LineBlock): Header {
  if (block.isOverlong) throw new Error('the first line, which names the columns, is too long');
  const lineFeed = block.bytes.indexOf('\n');
  const length = lineFeed < 0 ? block.bytes.length : lineFeed;
  const text = block.bytes.toString('utf8', 0, length).replace(/\r$/, '');
  return { text, nextPosition: block.position + Math.min(length + 1, block.bytes.length) };
}

function decoderFor<T>(split: FileSplit, format: Format<T>, header: string | null): LineDecoder<T> {
  try {
    return format.createDecoder(header);
  } catch (error) {
    throw new WeirError(
      'user',
      `${split.path}: the first line does not fit the format ${format.name}: ` +
        `${messageOf(error)}; the line is ${JSON.stringify(header)}; mend the file or the ` +
        'options of the format',
      {
        code: 'RECORD_MALFORMED',
        details: { file: split.path, position: 0, line: header },
        cause: error,
      },
    );
  }
}
