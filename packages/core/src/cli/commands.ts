/**
 * The commands of `weir` with their options, as data: parsing, help texts and suggestions all come
 * from here. What an option means in full stands in docs/reference/cli.md, kept in step by a test.
 */
import type { OptionSpec, RefusedOption } from './options.ts';

export interface CommandSpec {
  readonly name: string;
  /** Behind the name: operands in capitals, as in `[options] JOB`. */
  readonly operands: string;
  /** One line for the list of commands. */
  readonly summary: string;
  /** Further lines for `weir help NAME`. */
  readonly text: string;
  readonly options: readonly OptionSpec[];
  /** What stands behind the first operand belongs to the job. */
  readonly stopAtWord?: true;
  readonly refused?: readonly RefusedOption[];
}

const NEEDS_CLUSTER = 'there is no cluster to hand the job to; weir run runs it in this process';

/** Options of `flink run` that have no place here, and what takes their place. */
const REFUSED_RUN_OPTIONS: readonly RefusedOption[] = [
  {
    form: /^-(y[a-z]*|yarnapplicationId)$/,
    answer: 'Weir does not run on YARN; run the job as a process of its own, with weir run',
  },
  {
    form: /^-(c|class)$/,
    answer:
      'a job file has one job and no entry class; for a configuration file write --config FILE',
  },
  { form: /^-(C|classpath)$/, answer: 'there is no class path; the job imports what it needs' },
  { form: /^-(j|jarfile)$/, answer: 'name the job file behind the options' },
  { form: /^-(a|arguments)$/, answer: 'give the arguments of the job behind the job file' },
  {
    form: /^-(cm|claimMode|rm|restoreMode)$/,
    answer: 'write -Dexecution.state-recovery.claim-mode=MODE',
  },
  { form: /^-py[a-zA-Z]*$/, answer: 'jobs are TypeScript or JavaScript modules, not Python' },
  {
    form: /^-(d|detached|sae|shutdownOnAttachedExit|m|jobmanager|t|target|e|executor|z)$/,
    answer: NEEDS_CLUSTER,
  },
];

const PARALLELISM: OptionSpec = {
  short: '-p',
  long: '--parallelism',
  value: 'N',
  text: 'subtasks of each operator that sets no parallelism of its own',
};
const PROPERTY: OptionSpec = {
  short: '-D',
  value: 'key=value',
  repeated: true,
  text: "set a configuration key; wins over weir.yaml and the job's code",
};
const CONFIG: OptionSpec = {
  long: '--config',
  value: 'FILE',
  text: 'read the configuration from FILE, not from weir.yaml of this folder',
};
const VERBOSE: OptionSpec = {
  short: '-v',
  long: '--verbose',
  text: 'show errors with every stack frame, and log lines for debugging',
};
const HELP: OptionSpec = { short: '-h', long: '--help', text: 'show this text' };

export const RUN: CommandSpec = {
  name: 'run',
  operands: '[options] JOB [job arguments]',
  summary: 'run a job in this process until it ends',
  text:
    'JOB is a module (.ts, .js) whose default export is a job. A run that was interrupted goes\n' +
    'on from its newest checkpoint when the same command is given again. Ctrl-C stops it and\n' +
    'keeps its state; a second Ctrl-C ends it at once. Checkpoints are kept in .weir/ of the\n' +
    'current folder, or where WEIR_DATA_DIR says.',
  options: [
    PARALLELISM,
    {
      short: '-s',
      long: '--fromSavepoint',
      value: 'PATH',
      text: 'start a new run from this checkpoint (folder, _metadata or URI)',
    },
    {
      short: '-n',
      long: '--allowNonRestoredState',
      text: 'drop state of operators that the job no longer has',
    },
    { long: '--fresh', text: 'start with empty state, whatever earlier runs left' },
    { long: '--append', text: 'add to output that an ended run of this job left' },
    {
      long: '--job-id',
      value: 'ID',
      text: '32 hexadecimal digits; without, derived from the name of the job',
    },
    CONFIG,
    PROPERTY,
    { long: '--json', text: 'one JSON object a line for each event' },
    { short: '-q', long: '--quiet', text: 'only the output of the job, and what needs attention' },
    VERBOSE,
    HELP,
  ],
  stopAtWord: true,
  refused: REFUSED_RUN_OPTIONS,
};

export const EXPLAIN: CommandSpec = {
  name: 'explain',
  operands: '[options] JOB [job arguments]',
  summary: 'show the graph of a job without running it',
  text: 'Shows chains, parallelisms, partitioners, uids and declared state.',
  options: [
    PARALLELISM,
    CONFIG,
    PROPERTY,
    { long: '--json', text: 'the same as JSON' },
    VERBOSE,
    HELP,
  ],
  stopAtWord: true,
};

export const INSPECT: CommandSpec = {
  name: 'inspect',
  operands: '[options] PATH',
  summary: 'show what a checkpoint holds, without the code of the job',
  text:
    'PATH is the folder of a checkpoint, its _metadata file, or a file: URI of either. Shows\n' +
    'operators, states, sizes and numbers of keys.',
  options: [
    {
      long: '--state',
      value: 'UID/NAME',
      text: 'print the rows of one state of an operator as JSON lines',
    },
    { long: '--json', text: 'the same as JSON' },
    VERBOSE,
    HELP,
  ],
};

export const HELP_COMMAND: CommandSpec = {
  name: 'help',
  operands: '[COMMAND]',
  summary: 'show the commands, or the options of one',
  text: '',
  options: [HELP],
};

export const COMMANDS: readonly CommandSpec[] = [RUN, EXPLAIN, INSPECT, HELP_COMMAND];
