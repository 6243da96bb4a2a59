/**
 * The commands of a record as a checkpoint keeps them. Where all arguments are texts, which is the
 * rule, they are one text: `3,3,5,1;2,3,5|SETkey:1xDELkey:2`, for each command how many arguments
 * it has and how long each is, then all of them in a row. One text is encoded, kept and read
 * several times as fast as lists of texts.
 */
import type { Command } from '../client/session.ts';

export type LoggedCommands = string | readonly (readonly (string | Uint8Array)[])[];

export function packed(commands: readonly (readonly (string | Uint8Array)[])[]): LoggedCommands {
  let head = '';
  let body = '';
  for (const command of commands) {
    head += head === '' ? command.length : `;${command.length}`;
    for (const argument of command) {
      if (typeof argument !== 'string') return commands;
      head += `,${argument.length}`;
      body += argument;
    }
  }
  return `${head}|${body}`;
}

export function unpacked(logged: LoggedCommands): readonly Command[] {
  if (typeof logged !== 'string') return logged.map((command) => command.map(asArgument));
  let place = logged.indexOf('|') + 1;
  const head = logged.slice(0, place - 1);
  if (head === '') return [];
  return head.split(';').map((lengths) => {
    const command: string[] = [];
    let from = lengths.indexOf(',');
    while (from !== -1) {
      const to = lengths.indexOf(',', from + 1);
      const length = Number(to === -1 ? lengths.slice(from + 1) : lengths.slice(from + 1, to));
      command.push(logged.slice(place, place + length));
      place += length;
      from = to;
    }
    return command;
  });
}

function asArgument(argument: string | Uint8Array): string | Buffer {
  if (typeof argument === 'string') return argument;
  return Buffer.from(argument.buffer, argument.byteOffset, argument.byteLength);
}
