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
  /** What stands behind so many operands and the options there belongs to the job. */
  readonly wordsBeforeJobArguments?: number;
  readonly refused?: readonly RefusedOption[];
  /** It operates running jobs: texts, streams and exit codes are those of Flink's client. */
  readonly isAction?: true;
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
      text: 'start a new run from this snapshot (folder, _metadata or URI)',
    },
    {
      short: '-cm',
      long: '--claimMode',
      value: 'MODE',
      text: 'with -s: no_claim (files stay yours) or claim (the run removes them)',
    },
    { short: '-rm', long: '--restoreMode', value: 'MODE', text: 'older name of --claimMode' },
    {
      short: '-n',
      long: '--allowNonRestoredState',
      text: 'drop state of operators that the job no longer has',
    },
    { long: '--fresh', text: 'start with empty state, whatever earlier runs left' },
    { long: '--no-rest', text: 'serve no REST API while the job runs' },
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

export const TX: CommandSpec = {
  name: 'tx',
  operands: 'list|commit|abort|explain [options] JOB [job arguments]',
  summary: 'show or end the transactions of a job that is down',
  text:
    'Reads the newest checkpoint of the job and asks the outer systems of its sinks. commit\n' +
    'ends what that checkpoint promises, abort what no checkpoint does; each refuses the\n' +
    'other, which would lose or double results. explain adds what the next start will do\n' +
    'with each.',
  options: [
    { long: '--id', value: 'ID', repeated: true, text: 'only this transaction' },
    {
      long: '--job-id',
      value: 'ID',
      text: '32 hexadecimal digits; without, derived from the name of the job',
    },
    CONFIG,
    PROPERTY,
    { long: '--json', text: 'the same as JSON' },
    VERBOSE,
    HELP,
  ],
  stopAtWord: true,
};

export const DIFF: CommandSpec = {
  name: 'diff',
  operands: '[options] PATH PATH',
  summary: 'show in what two snapshots differ',
  text: 'Compares by operator, state and key. The exit code is 0 when both are alike, else 1.',
  options: [{ long: '--json', text: 'one JSON object a line for each difference' }, VERBOSE, HELP],
};

export const CHECK_UPGRADE: CommandSpec = {
  name: 'check-upgrade',
  operands: '[options] PATH JOB [job arguments]',
  summary: 'tell whether a job can go on from a snapshot, without starting it',
  text:
    'Shows which state goes to which operator, what migrates, what is dropped, and reads a\n' +
    'sample of the values. What would keep the job from starting is an error, as it would be.\n' +
    'Options may also stand behind PATH and JOB; from the first that is not one of these on, or\n' +
    'from --, all belongs to the job.',
  options: [
    PARALLELISM,
    {
      short: '-n',
      long: '--allowNonRestoredState',
      text: 'as for weir run: state without an operator may be dropped',
    },
    {
      long: '--job-id',
      value: 'ID',
      text: 'as for weir run: id of the run whose output is looked at',
    },
    CONFIG,
    PROPERTY,
    { long: '--json', text: 'the same as JSON' },
    VERBOSE,
    HELP,
  ],
  wordsBeforeJobArguments: 2,
  refused: [
    {
      form: /^-(s|fromSavepoint)$/,
      answer: 'name the snapshot without an option: weir check-upgrade PATH JOB',
    },
    {
      form: /^-(cm|claimMode|rm|restoreMode|fresh|append|no-rest|q|quiet)$/,
      answer: 'it is for weir run; nothing is started, claimed or written here',
    },
  ],
};

const JOBMANAGER: OptionSpec = {
  short: '-m',
  long: '--jobmanager',
  value: 'HOST:PORT',
  text: 'ask the REST API there, not the run noted in the data folder',
};
const FORMAT: OptionSpec = {
  long: '--type',
  value: 'FORMAT',
  text: 'canonical or native: the same with state in memory',
};
const DETACHED: OptionSpec = { long: '--detached', text: 'do not wait until it is done' };
const ACTION_OPTIONS: readonly OptionSpec[] = [JOBMANAGER, CONFIG, PROPERTY, VERBOSE, HELP];

export const LIST: CommandSpec = {
  name: 'list',
  operands: '[options]',
  summary: 'list running jobs',
  text: 'Shows the jobs of the data folder: .weir/, or where WEIR_DATA_DIR says.',
  options: [
    { short: '-r', long: '--running', text: 'only running jobs' },
    { short: '-s', long: '--scheduled', text: 'only jobs that are not running yet' },
    { short: '-a', long: '--all', text: 'ended and interrupted ones too' },
    ...ACTION_OPTIONS,
  ],
  isAction: true,
};

export const SAVEPOINT: CommandSpec = {
  name: 'savepoint',
  operands: '[options] JOBID [DIR]',
  summary: 'take a savepoint of a running job, or remove one',
  text:
    'Writes a savepoint into a new folder in DIR, or in execution.checkpointing.savepoint-dir,\n' +
    'while the job goes on. weir run -s starts from it.',
  options: [
    { short: '-d', long: '--dispose', value: 'PATH', text: 'remove this savepoint' },
    FORMAT,
    DETACHED,
    ...ACTION_OPTIONS,
  ],
  isAction: true,
};

export const STOP: CommandSpec = {
  name: 'stop',
  operands: '[options] JOBID',
  summary: 'end a running job with a savepoint',
  text: 'The results of the job up to the savepoint are published; weir run -s goes on from it.',
  options: [
    {
      short: '-p',
      long: '--savepointPath',
      value: '[DIR]',
      optional: true,
      text: 'folder for it, else execution.checkpointing.savepoint-dir',
    },
    { short: '-d', long: '--drain', text: 'bring event time to its end first, for good' },
    FORMAT,
    DETACHED,
    ...ACTION_OPTIONS,
  ],
  isAction: true,
};

export const CANCEL: CommandSpec = {
  name: 'cancel',
  operands: '[options] JOBID',
  summary: 'end a running job',
  text: 'What was not published by then is lost, unless checkpoints are retained.',
  options: [
    {
      short: '-s',
      long: '--withSavepoint',
      value: '[DIR]',
      optional: true,
      text: 'take a savepoint before (use weir stop)',
    },
    FORMAT,
    ...ACTION_OPTIONS,
  ],
  isAction: true,
};

export const CHECKPOINT: CommandSpec = {
  name: 'checkpoint',
  operands: '[options] JOBID',
  summary: 'take a checkpoint of a running job now',
  text: '',
  options: [{ long: '--full', text: 'a full one, as each is' }, ...ACTION_OPTIONS],
  isAction: true,
};

export const HELP_COMMAND: CommandSpec = {
  name: 'help',
  operands: '[COMMAND]',
  summary: 'show the commands, or the options of one',
  text: '',
  options: [HELP],
};

export const COMMANDS: readonly CommandSpec[] = [
  RUN,
  LIST,
  SAVEPOINT,
  STOP,
  CANCEL,
  CHECKPOINT,
  EXPLAIN,
  INSPECT,
  DIFF,
  CHECK_UPGRADE,
  TX,
  HELP_COMMAND,
];
