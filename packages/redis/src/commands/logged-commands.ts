/**
 * The commands of a record as a checkpoint keeps them: in the form in which they go to the server,
 * so that they are encoded once and not looked into again. In front of them stand one byte, whether
 * what a key holds must be looked at before they are written, and how many they are.
 */
import { StateCorruptionError } from '@weir/core';
import { piecesOf, writePieces } from '../client/encode-command.ts';

/** A byte and a number of four bytes, lowest first; then the commands. */
export type LoggedCommands = Uint8Array;

const HEAD_BYTES = 5;
const ASKS_KEYS = 1;
const CR = 0x0d;
/** Bytes of UTF-8 for a character of a text, at most. */
const CHARACTER_BYTES_MAX = 3;

/** For records of a usual size, used again. */
const scratch: Buffer = Buffer.allocUnsafeSlow(64 * 1024);

/** Valid until the next. */
export function packed(
  commands: readonly (readonly (string | Uint8Array)[])[],
  asks: boolean,
): LoggedCommands {
  const pieces = commands.length === 1 ? piecesOf(commands[0]!) : commands.flatMap(piecesOf);
  let most = HEAD_BYTES;
  for (const it of pieces) most += it.length * (typeof it === 'string' ? CHARACTER_BYTES_MAX : 1);
  const bytes = most <= scratch.length ? scratch : Buffer.allocUnsafeSlow(most);
  const length = writePieces(bytes, pieces, HEAD_BYTES);
  bytes[0] = asks ? ASKS_KEYS : 0;
  bytes.writeUInt32LE(commands.length, 1);
  return new Uint8Array(bytes.buffer, 0, length);
}

export function asksKeys(logged: LoggedCommands): boolean {
  return logged[0] === ASKS_KEYS;
}

export function commandCount(logged: LoggedCommands): number {
  return logged[1]! | (logged[2]! << 8) | (logged[3]! << 16) | (logged[4]! << 24);
}

/** As they go to the server, without a copy. */
export function encoded(logged: LoggedCommands): Uint8Array {
  return new Uint8Array(logged.buffer, logged.byteOffset + HEAD_BYTES, logged.length - HEAD_BYTES);
}

/** As texts, to be looked at; bytes among the arguments are read as UTF-8. */
export function unpacked(logged: LoggedCommands): readonly (readonly string[])[] {
  const bytes = Buffer.from(logged.buffer, logged.byteOffset, logged.byteLength);
  let place = HEAD_BYTES;
  const number = (): number => {
    const end = bytes.indexOf(CR, place);
    const value = Number(bytes.toString('latin1', place + 1, end));
    if (end === -1 || !Number.isInteger(value))
      throw new StateCorruptionError(
        'the commands of a write-ahead log for Redis cannot be read: they were written by ' +
          'something else; start from another checkpoint',
      );
    place = end + 2;
    return value;
  };
  return Array.from({ length: commandCount(logged) }, () =>
    Array.from({ length: number() }, () => {
      const length = number();
      const start = place;
      place += length + 2;
      return bytes.toString('utf8', start, start + length);
    }),
  );
}
