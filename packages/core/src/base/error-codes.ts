/**
 * Every error code a user can meet, in one table; `docs/reference/errors.md` explains each, and
 * `tools/tidy` keeps the two in step. A new code only where a caller would act differently.
 */
export const ERROR_CODES = {
  CONFIG_INVALID: 'A configuration key is unknown or its value is not allowed.',
  CONFIG_UNSUPPORTED: 'A setting is known, but this version cannot honour it.',
  ARGUMENT_INVALID: 'A job argument or command-line option is missing or wrong.',
  GRAPH_INVALID: 'The job builds a graph that cannot run.',
  UID_DUPLICATE: 'Two operators of one job carry the same uid.',
  PLAN_CHANGED: 'The job module built another graph when it was loaded again.',
  JOB_NOT_LOADABLE: 'The job module is missing, throws while loading, or exports no job.',
  JOB_NOT_FOUND: 'There is no job of this id in the data folder.',
  JOB_ALREADY_RUNNING: 'Another process runs this job id on the same data folder.',
  JOB_ARGUMENTS_CHANGED: 'The run to be resumed was started with other arguments.',
  JOB_STATE_UNPROVEN: 'The newest snapshot of an earlier run is missing or damaged.',
  JOB_FAILED: 'The job failed and its restart strategy allows no further attempt.',
  OUTPUT_NOT_EMPTY: 'A fresh run would write into the output of an ended one.',
  SERIALIZATION_FAILED: 'A value cannot be written, or bytes cannot be read back.',
  KEY_INVALID: 'A key function returned something that cannot be a key.',
  USER_FUNCTION_FAILED: 'A function of the job threw.',
  RECORD_MALFORMED: 'A source met bytes that its format cannot read.',
  SOURCE_UNAVAILABLE: 'A source cannot be opened or read.',
  SINK_UNAVAILABLE: 'A sink cannot be opened or written.',
  SINK_REFUSED: 'The system of a sink does not take what the job writes.',
  SINK_AHEAD: 'A sink has published more than the snapshot to be restored knows of.',
  CHECKPOINT_DECLINED: 'A checkpoint was refused or aborted.',
  CHECKPOINT_EXPIRED: 'A checkpoint did not complete within its time-out.',
  CHECKPOINT_FAILURES: 'More checkpoints failed in a row than are tolerated.',
  STOP_INCOMPLETE: 'The savepoint that stops a job is complete, but the job did not finish.',
  STATE_CORRUPT: 'Bytes of a snapshot are not what was written.',
  STATE_INCOMPATIBLE: 'Stored state does not fit the job that is to be restored from it.',
  STORAGE_UNAVAILABLE: 'A storage location cannot be read or written.',
  CONNECTION_LOST: 'A connection to another part of the cluster broke.',
  TASK_STALLED: 'A user function blocked its thread beyond the stall time-out.',
  SLOT_LOST: 'A slot (worker thread) died.',
  FENCED: 'A newer leader or attempt has taken over.',
  CANCELLED: 'The job was cancelled.',
  SIMULATION_FAILED: 'A job gave other results in a simulation than it should.',
} as const;

export type ErrorCode = keyof typeof ERROR_CODES;
