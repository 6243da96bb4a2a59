/**
 * Options of checkpoints, savepoints and recovery: Flink's keys, rules and defaults, except where
 * docs/reference/deviations.md says otherwise. See `config-options.ts` for what the fields mean.
 */
export const CHECKPOINT_OPTIONS = {
  'execution.checkpointing.interval': {
    type: 'duration',
    default: null,
    min: 10,
    doc: 'Time between the starts of two checkpoints; not set: no periodic checkpoints.',
  },
  'execution.checkpointing.interval-during-backlog': {
    type: 'duration',
    default: null,
    doc: 'Interval while a source works off a backlog: 0 for none, else at least `interval`.',
  },
  'execution.checkpointing.mode': {
    type: 'enum',
    values: ['EXACTLY_ONCE', 'AT_LEAST_ONCE'],
    default: 'EXACTLY_ONCE',
    doc: 'Consistency of state after a failure; `AT_LEAST_ONCE` does not align barriers.',
  },
  'execution.checkpointing.timeout': {
    type: 'duration',
    default: 600_000,
    min: 10,
    doc: 'A checkpoint that takes longer is aborted and counts as failed.',
  },
  'execution.checkpointing.min-pause': {
    type: 'duration',
    default: 0,
    cap: 31_536_000_000,
    doc: 'Least time between the end of a checkpoint and the start of the next periodic one.',
  },
  'execution.checkpointing.max-concurrent-checkpoints': {
    type: 'int',
    default: 1,
    min: 1,
    doc: 'Checkpoints in progress at once; a `min-pause` above 0 means one.',
  },
  'execution.checkpointing.tolerable-failed-checkpoints': {
    type: 'int',
    default: 0,
    min: 0,
    doc: 'Checkpoints that may fail in a row; with one more, the job fails over.',
  },
  'execution.checkpointing.externalized-checkpoint-retention': {
    type: 'enum',
    values: ['NO_EXTERNALIZED_CHECKPOINTS', 'DELETE_ON_CANCELLATION', 'RETAIN_ON_CANCELLATION'],
    default: 'NO_EXTERNALIZED_CHECKPOINTS',
    doc: 'Whether checkpoints outlive a job that is cancelled; they outlive one that failed.',
  },
  'execution.checkpointing.checkpoints-after-tasks-finish': {
    deprecatedKeys: ['execution.checkpointing.checkpoints-after-tasks-finish.enabled'],
    type: 'boolean',
    default: true,
    doc: 'Whether checkpoints go on once some tasks have finished.',
  },
  'execution.checkpointing.num-retained': {
    deprecatedKeys: ['state.checkpoints.num-retained'],
    type: 'int',
    default: 1,
    min: 1,
    doc: 'Completed checkpoints kept; older ones are deleted.',
  },
  'execution.checkpointing.storage': {
    deprecatedKeys: ['state.checkpoint-storage'],
    type: 'enum',
    values: ['jobmanager', 'filesystem'],
    default: null,
    doc: 'Where checkpoints are kept: in memory of the JobManager, or in files under `dir`.',
  },
  'execution.checkpointing.dir': {
    deprecatedKeys: ['state.checkpoints.dir'],
    type: 'string',
    default: null,
    doc: 'Folder of checkpoints, a path or `file:` URI; setting it means storage `filesystem`.',
  },
  'execution.checkpointing.create-subdir': {
    deprecatedKeys: ['state.checkpoints.create-subdir'],
    type: 'boolean',
    default: true,
    doc: 'Whether each job has a folder of its own under `dir`, named by its id.',
  },
  'execution.checkpointing.data-inline-threshold': {
    deprecatedKeys: ['state.storage.fs.memory-threshold'],
    type: 'memory',
    default: 20_480,
    max: 1_048_576,
    doc: 'State of a subtask up to this size is kept within `_metadata` instead of a file.',
  },
  'execution.checkpointing.write-buffer-size': {
    deprecatedKeys: ['state.storage.fs.write-buffer-size'],
    type: 'memory',
    default: 4096,
    min: 1,
    supported: false,
    doc: 'Buffer of a checkpoint file that is being written; at least `data-inline-threshold`.',
  },
  'execution.checkpointing.cleaner.parallel-mode': {
    deprecatedKeys: ['state.checkpoint.cleaner.parallel-mode'],
    type: 'boolean',
    default: true,
    doc: 'Whether the files of a checkpoint that is no longer needed are deleted in parallel.',
  },
  'execution.checkpointing.aligned-checkpoint-timeout': {
    deprecatedKeys: ['execution.checkpointing.alignment-timeout'],
    type: 'duration',
    default: 0,
    doc: 'Time after which an aligned checkpoint turns unaligned; ignored when unaligned is off.',
  },
  'execution.state-recovery.path': {
    deprecatedKeys: ['execution.savepoint.path'],
    type: 'string',
    default: null,
    doc: 'Checkpoint or savepoint to start from: its folder or its `_metadata`.',
  },
  'execution.state-recovery.ignore-unclaimed-state': {
    deprecatedKeys: ['execution.savepoint.ignore-unclaimed-state'],
    type: 'boolean',
    default: false,
    doc: 'Whether state of operators that the job no longer has may be dropped.',
  },
  'execution.state-recovery.allow-older': {
    type: 'boolean',
    default: false,
    doc: 'Whether an older snapshot may be chosen when the newest is damaged.',
  },
  'execution.state-recovery.without-channel-state.checkpoint-id': {
    type: 'int',
    default: -1,
    min: -1,
    supported: false,
    doc: 'Id of a checkpoint whose in-flight records are dropped when it is restored; -1: none.',
  },
  'sink.committer.retries': {
    type: 'int',
    default: 10,
    min: 0,
    doc: 'Further tries of a commit that failed, before the job fails over.',
  },
} as const;
