/**
 * Checkpoint settings in code, under the names that Flink gives its setters. Each sets the option
 * of `docs/reference/configuration.md` that says the same, so a value of the file or of `-D` wins.
 * A value that is not allowed throws ConfigurationError at once.
 */
import type { ConfigSettings, ConfigValue } from '../base/config-options.ts';
import type { Duration } from '../base/duration.ts';
import type { SettingsInCode } from './settings-in-code.ts';

/** `EXACTLY_ONCE` or `AT_LEAST_ONCE`. */
export type CheckpointingMode = ConfigValue<'execution.checkpointing.mode'>;
export type CheckpointRetention =
  ConfigValue<'execution.checkpointing.externalized-checkpoint-retention'>;

export class CheckpointConfig {
  readonly #settings: SettingsInCode;

  constructor(settings: SettingsInCode) {
    this.#settings = settings;
  }

  /** Time between the starts of two checkpoints, at least 10 ms. */
  setCheckpointInterval(interval: Duration): this {
    return this.#set({ 'execution.checkpointing.interval': interval }, 'setCheckpointInterval');
  }

  /** Interval while a source works off a backlog: 0 for none then, else at least the interval. */
  setCheckpointIntervalDuringBacklog(interval: Duration): this {
    return this.#set(
      { 'execution.checkpointing.interval-during-backlog': interval },
      'setCheckpointIntervalDuringBacklog',
    );
  }

  /** Whether barriers are aligned (`EXACTLY_ONCE`) or only counted (`AT_LEAST_ONCE`). */
  setCheckpointingConsistencyMode(mode: CheckpointingMode): this {
    return this.#set({ 'execution.checkpointing.mode': mode }, 'setCheckpointingConsistencyMode');
  }

  /** A checkpoint that takes longer is aborted; at least 10 ms, by default 10 min. */
  setCheckpointTimeout(timeout: Duration): this {
    return this.#set({ 'execution.checkpointing.timeout': timeout }, 'setCheckpointTimeout');
  }

  /** Least time from the end of a checkpoint to the next; above 0 it means one at a time. */
  setMinPauseBetweenCheckpoints(pause: Duration): this {
    return this.#set(
      { 'execution.checkpointing.min-pause': pause },
      'setMinPauseBetweenCheckpoints',
    );
  }

  /** Checkpoints in progress at once, by default 1. */
  setMaxConcurrentCheckpoints(count: number): this {
    return this.#set(
      { 'execution.checkpointing.max-concurrent-checkpoints': count },
      'setMaxConcurrentCheckpoints',
    );
  }

  /** Failures in a row that are tolerated, by default 0; one more and the job fails over. */
  setTolerableCheckpointFailureNumber(count: number): this {
    return this.#set(
      { 'execution.checkpointing.tolerable-failed-checkpoints': count },
      'setTolerableCheckpointFailureNumber',
    );
  }

  /** Whether checkpoints outlive a job that is cancelled. */
  setExternalizedCheckpointRetention(retention: CheckpointRetention): this {
    return this.#set(
      { 'execution.checkpointing.externalized-checkpoint-retention': retention },
      'setExternalizedCheckpointRetention',
    );
  }

  /** Whether checkpoints go on once some tasks have finished; on by default. */
  enableCheckpointsAfterTasksFinish(enabled = true): this {
    return this.#set(
      { 'execution.checkpointing.checkpoints-after-tasks-finish': enabled },
      'enableCheckpointsAfterTasksFinish',
    );
  }

  /** Completed checkpoints kept, by default 1. */
  setNumRetainedCheckpoints(count: number): this {
    return this.#set(
      { 'execution.checkpointing.num-retained': count },
      'setNumRetainedCheckpoints',
    );
  }

  /** Where checkpoints are kept. */
  setCheckpointStorage(storage: 'jobmanager' | 'filesystem'): this {
    return this.#set({ 'execution.checkpointing.storage': storage }, 'setCheckpointStorage');
  }

  /** Folder of checkpoints, a path or `file:` URI. */
  setCheckpointDirectory(directory: string): this {
    return this.#set({ 'execution.checkpointing.dir': directory }, 'setCheckpointDirectory');
  }

  /** Whether each job has a folder of its own under the directory; on by default. */
  enableCheckpointSubdirectory(enabled = true): this {
    return this.#set(
      { 'execution.checkpointing.create-subdir': enabled },
      'enableCheckpointSubdirectory',
    );
  }

  /** State of a subtask up to this size goes into `_metadata`; by default 20 kb, at most 1 mb. */
  setDataInlineThreshold(size: number | string): this {
    return this.#set(
      { 'execution.checkpointing.data-inline-threshold': size },
      'setDataInlineThreshold',
    );
  }

  /** Buffer of a checkpoint file that is being written, by default 4 kb. */
  setWriteBufferSize(size: number | string): this {
    return this.#set({ 'execution.checkpointing.write-buffer-size': size }, 'setWriteBufferSize');
  }

  /** Whether files of old checkpoints are deleted in parallel; on by default. */
  enableParallelCleanup(enabled = true): this {
    return this.#set(
      { 'execution.checkpointing.cleaner.parallel-mode': enabled },
      'enableParallelCleanup',
    );
  }

  /** Whether barriers overtake records. Not supported yet: refused when the job starts. */
  enableUnalignedCheckpoints(enabled = true): this {
    return this.#set(
      { 'execution.checkpointing.unaligned.enabled': enabled },
      'enableUnalignedCheckpoints',
    );
  }

  /** Permits unaligned checkpoints with custom partitioners. Not supported yet. */
  setForceUnalignedCheckpoints(forced: boolean): this {
    return this.#set(
      { 'execution.checkpointing.unaligned.forced': forced },
      'setForceUnalignedCheckpoints',
    );
  }

  /** Time after which a checkpoint turns unaligned; ignored while unaligned is off. */
  setAlignedCheckpointTimeout(timeout: Duration): this {
    return this.#set(
      { 'execution.checkpointing.aligned-checkpoint-timeout': timeout },
      'setAlignedCheckpointTimeout',
    );
  }

  /** Whether a barrier may come between the timers of one watermark. Not supported yet. */
  enableInterruptibleTimers(enabled = true): this {
    return this.#set(
      { 'execution.checkpointing.unaligned.interruptible-timers.enabled': enabled },
      'enableInterruptibleTimers',
    );
  }

  /** Subtasks that share a file of in-flight records. Not supported yet. */
  setMaxSubtasksPerChannelStateFile(count: number): this {
    return this.#set(
      { 'execution.checkpointing.unaligned.max-subtasks-per-channel-state-file': count },
      'setMaxSubtasksPerChannelStateFile',
    );
  }

  /** Whether a checkpoint stores only what changed. Not supported yet. */
  enableIncrementalCheckpoints(enabled = true): this {
    return this.#set(
      { 'execution.checkpointing.incremental': enabled },
      'enableIncrementalCheckpoints',
    );
  }

  /** Whether small files are written into one. Not supported yet. */
  enableFileMerging(enabled = true): this {
    return this.#set(
      { 'execution.checkpointing.file-merging.enabled': enabled },
      'enableFileMerging',
    );
  }

  /** Whether a TaskManager keeps a second copy of its state. Not supported yet. */
  enableLocalBackup(enabled = true): this {
    return this.#set(
      { 'execution.checkpointing.local-backup.enabled': enabled },
      'enableLocalBackup',
    );
  }

  /** Restoring this checkpoint drops its in-flight records; -1: none. */
  setCheckpointIdOfIgnoredInFlightData(checkpointId: number): this {
    return this.#set(
      { 'execution.state-recovery.without-channel-state.checkpoint-id': checkpointId },
      'setCheckpointIdOfIgnoredInFlightData',
    );
  }

  #set(settings: ConfigSettings, method: keyof CheckpointConfig): this {
    this.#settings.set(settings, this, method);
    return this;
  }
}
