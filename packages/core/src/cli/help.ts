/** Help texts, made from the table of commands. */
import { COMMANDS } from './commands.ts';
import type { CommandSpec } from './commands.ts';
import { alignColumns } from './text/width.ts';

export function overview(): string {
  const commands = COMMANDS.map(({ name, summary }) => [`  weir ${name}`, summary]);
  return [
    'weir: stateful stream processing with exactly-once consistency',
    '',
    ...alignColumns(commands),
    '',
    'weir help COMMAND shows the options of a command, weir --version the version.',
  ].join('\n');
}

export function helpFor(command: CommandSpec): string {
  const options = command.options.map(({ short, long, value, text }) => {
    const names = [short ?? '  ', long].filter((name) => name !== undefined);
    const withValue = `${names.join(long === undefined ? '' : short === undefined ? '  ' : ', ')}`;
    return [`  ${withValue}${value === undefined ? '' : ` ${value}`}`, text];
  });
  return [
    `usage: weir ${command.name} ${command.operands}`,
    '',
    `${capitalized(command.summary)}.`,
    ...(command.text === '' ? [] : command.text.split('\n')),
    '',
    'options:',
    ...alignColumns(options),
  ].join('\n');
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
