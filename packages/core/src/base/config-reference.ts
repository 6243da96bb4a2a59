/**
 * The text of `docs/reference/configuration.md`, made from the table of options. A test compares it
 * with the page, so that neither changes alone.
 */
import { CONFIG_OPTIONS } from './config-options.ts';
import type { ConfigOption } from './config-options.ts';
import { DURATION_FORMS, MEMORY_SIZE_FORMS } from './duration.ts';
import { CHECKPOINT_OPTIONS } from './options/checkpoint-options.ts';
import { describeAllowed, formatConfigValue } from './options/config-value.ts';
import { LATER_OPTIONS } from './options/later-options.ts';
import { RUNTIME_OPTIONS } from './options/runtime-options.ts';

const INTRODUCTION = `# Configuration

Settings are given, each winning over the ones before it,

1. by default,
2. in code (\`env.enableCheckpointing('10s')\`, \`env.checkpointConfig\`, or any key with
   \`env.configure({ … })\`),
3. in the file \`weir.yaml\` (or the one of \`--config FILE\`), with keys in one piece or nested,
4. on the command line, as \`-Dkey=value\` or an option of its own such as \`-p\`.

So what is given at the start of a run wins over what the job says. Keys are Flink's; older names of
a key are accepted with a warning. An unknown key or a value that is not allowed ends the run before
anything is read or written, in one line that says what is allowed.

Durations are written \`500ms\`, \`10s\`, \`5 min\`, \`2h\` or \`1d\`; without a unit they are
milliseconds. Sizes are written \`64kb\` or \`32mb\`, in powers of 1024; without a unit they are
bytes. In words case, \`-\` and \`_\` do not matter: \`exactly-once\` is \`EXACTLY_ONCE\`. Options
without a default are set back with \`none\`.`;

/** The whole page, in Markdown. */
export function renderConfigurationReference(): string {
  return [
    INTRODUCTION,
    '## Checkpoints, savepoints and recovery',
    tableOf(Object.keys(CHECKPOINT_OPTIONS)),
    '## Running a job',
    tableOf(Object.keys(RUNTIME_OPTIONS)),
    '## Not supported yet',
    'These are known, so that a configuration of Flink can be read; every value but the\n' +
      'default is refused (`CONFIG_UNSUPPORTED`).',
    tableOf(Object.keys(LATER_OPTIONS)),
    '',
  ]
    .join('\n\n')
    .trimEnd()
    .concat('\n');
}

function tableOf(keys: readonly string[]): string {
  const options: Readonly<Record<string, ConfigOption>> = CONFIG_OPTIONS;
  const rows = keys.map((key) => rowOf(key, options[key]!));
  return ['| key | default | allowed | meaning |', '| --- | --- | --- | --- |', ...rows].join('\n');
}

function rowOf(key: string, option: ConfigOption): string {
  const standard = option.default === null ? 'not set' : formatConfigValue(option, option.default);
  return `| \`${key}\` | ${standard} | ${allowedOf(option)} | ${meaningOf(option)} |`;
}

function allowedOf(option: ConfigOption): string {
  if (option.type !== 'enum')
    return describeAllowed(option)
      .replace(DURATION_FORMS, 'a duration')
      .replace(MEMORY_SIZE_FORMS, 'a size');
  const later = option.unsupportedValues ?? [];
  const values = option.values.map(
    (value) => `\`${value}\`${later.includes(value) ? ' (not yet)' : ''}`,
  );
  return values.join(', ');
}

function meaningOf(option: ConfigOption): string {
  const older = option.deprecatedKeys?.map((key) => `\`${key}\``).join(', ');
  return older === undefined ? option.doc : `${option.doc} Older name: ${older}.`;
}
