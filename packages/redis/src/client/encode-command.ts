/**
 * Commands as they go to the server: `*2`, then for each argument its length in bytes and itself,
 * each with a line end. All that is sent at once is one buffer: a system call for each piece costs
 * more than to copy it.
 */
import type { Command } from './session.ts';

/** Commands that are encoded already. */
export interface EncodedCommands {
  readonly count: number;
  readonly pieces: readonly Uint8Array[];
}

type Piece = string | Uint8Array;

export function countOf(commands: readonly (Command | EncodedCommands)[]): number {
  let count = 0;
  for (const it of commands) count += isEncoded(it) ? it.count : 1;
  return count;
}

export function bytesOf(commands: readonly (Command | EncodedCommands)[]): Buffer {
  const pieces: Piece[] = [];
  for (const it of commands)
    if (isEncoded(it)) for (const piece of it.pieces) pieces.push(piece);
    else pieces.push(...piecesOf(it));
  return joined(pieces);
}

/** A text of its own, with the bytes among the arguments between. */
export function piecesOf(command: readonly (string | Uint8Array)[]): Piece[] {
  const pieces: Piece[] = [];
  let text = `*${command.length}\r\n`;
  for (const argument of command)
    if (typeof argument === 'string') {
      text += `$${Buffer.byteLength(argument)}\r\n${argument}\r\n`;
    } else {
      pieces.push(`${text}$${argument.length}\r\n`, argument);
      text = '\r\n';
    }
  pieces.push(text);
  return pieces;
}

function joined(pieces: readonly Piece[]): Buffer {
  let sizeBytes = 0;
  for (const it of pieces) sizeBytes += typeof it === 'string' ? Buffer.byteLength(it) : it.length;
  const bytes = Buffer.allocUnsafe(sizeBytes);
  writePieces(bytes, pieces, 0);
  return bytes;
}

/** From `start` on, where there is room for all; answers where they end. */
export function writePieces(bytes: Buffer, pieces: readonly Piece[], start: number): number {
  let end = start;
  for (const piece of pieces)
    if (typeof piece === 'string') {
      end += bytes.write(piece, end);
    } else {
      bytes.set(piece, end);
      end += piece.length;
    }
  return end;
}

function isEncoded(commands: Command | EncodedCommands): commands is EncodedCommands {
  return !Array.isArray(commands);
}
