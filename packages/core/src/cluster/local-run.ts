/**
 * Runs a job on this machine: decides what to start from, brings up the slots, and leads the job to
 * its end. The JobManager lives in the present thread.
 */
import { randomBytes } from 'node:crypto';
import type { ConnectorEnvironment } from '../api/source.ts';
import { JobSubmissionError } from '../base/errors.ts';
import type { ErrorInfo } from '../base/errors.ts';
import { silentLogger } from '../base/logger.ts';
import type { Logger } from '../base/logger.ts';
import type { Random } from '../base/random.ts';
import { seededRandom } from '../base/random.ts';
import { explainGuarantees, guaranteeWarnings } from '../graph/explain-guarantee.ts';
import { createJobMaster } from '../jobmanager/create-job-master.ts';
import type { JobMaster } from '../jobmanager/job-master.ts';
import { askOuterSystems, withOuterFacts } from '../jobmanager/outer-facts.ts';
import {
  prepareJob,
  rebuildJob,
  requireSamePlan,
  withParallelism,
} from '../jobmanager/prepare-run.ts';
import type { PreparedJob } from '../jobmanager/prepare-run.ts';
import { watchRetention } from '../jobmanager/retention-watch.ts';
import { openRunState } from '../jobmanager/run-state.ts';
import type { RunState } from '../jobmanager/run-state.ts';
import type { JobStatus } from '../protocol/messages.ts';
import { watchWallClock } from '../jobmanager/wall-clock-watch.ts';
import { LocalFileSystem } from '../storage/local-file-system.ts';
import type { StoredSnapshot } from '../storage/stored-snapshot.ts';
import { taskSettings } from '../taskmanager/task/task-settings.ts';
import { describePositions } from './describe-positions.ts';
import { InThreadSlots } from './in-thread-slots.ts';
import { holdLease, livingOwner, thisProcess } from './process-owner.ts';
import { ProgressReporter } from './progress-reporter.ts';
import { realClock } from './real-clock.ts';
import { openRestEndpoint } from './rest-endpoint.ts';
import type { RestEndpoint } from './rest-endpoint.ts';
import { RestoreDrill } from './restore-drill.ts';
import { runControl } from './run-control.ts';
import type { RunEvent, RunOptions, RunOutcome } from '../cli/run-contract.ts';
import { SlotThreads } from './slot-threads.ts';
import type { Slots } from './slots.ts';

/** A run that is over by then has no need of an API, and does not wait for it. */
const REST_DELAY_MS = 250;

/** @throws WeirError when the run cannot start; what happens later is in the outcome. */
export async function runLocal(options: RunOptions): Promise<RunOutcome> {
  const startedAt = performance.now();
  const random = seededRandom(randomBytes(4).readUInt32LE());
  const configuration = withParallelism(options.configuration, options.parallelism);
  const { codeHash } = options.job;
  const inputs = { arguments: options.arguments, configuration, codeHash };
  const built = prepareJob(options.job.job, inputs);
  const again = prepareJob(options.job.job, inputs);
  requireSamePlan(again.jobGraph, built.jobGraph.planHash);
  const parallelism = built.configuration.get('parallelism.default');
  const outer = await askOuterSystems(built.streamGraph, outerIo(random), parallelism);
  const prepared = withOuterFacts(built, outer);
  for (const message of prepared.warnings)
    options.listener({ type: 'log', level: 'warn', message });
  const state = await openState(options, prepared, random);
  if (state.type === 'alreadyEnded') {
    options.listener({ type: 'log', level: 'info', message: state.message });
    return {
      jobId: state.jobId,
      status: 'ALREADY_FINISHED',
      error: null,
      restarts: 0,
      completedCheckpoints: 0,
      latestCheckpoint: null,
      savepoint: null,
      durationMs: performance.now() - startedAt,
    };
  }
  try {
    return await lead(options, { prepared, state, random, startedAt });
  } finally {
    await state.close();
  }
}

/** With which outer systems are asked; nothing is logged of what the run will meet again. */
function outerIo(random: Random): ConnectorEnvironment {
  return {
    clock: realClock,
    random: random.derive('outer'),
    fileSystem: new LocalFileSystem(),
    logger: silentLogger,
  };
}

function openState(options: RunOptions, prepared: PreparedJob, random: Random): Promise<RunState> {
  const io = { fileSystem: new LocalFileSystem(), clock: realClock };
  const state = {
    ...options,
    ...io,
    random,
    ownership: { self: thisProcess(random), livingOwner, holdLease },
    workingDirectory: process.cwd(),
    restorePath: options.restorePath ?? prepared.configuration.get('execution.state-recovery.path'),
    warn: (message: string): void => options.listener({ type: 'log', level: 'warn', message }),
    describePositions: (stored: StoredSnapshot): Promise<string> =>
      describePositions(io, stored, prepared),
  };
  return openRunState(state, prepared);
}

interface Run {
  readonly prepared: PreparedJob;
  readonly state: Extract<RunState, { type: 'run' }>;
  readonly random: Random;
  readonly startedAt: number;
}

async function lead(options: RunOptions, run: Run): Promise<RunOutcome> {
  const { prepared, state, random } = run;
  const drill = createDrill(run, () => master, options.listener);
  const listener = (event: RunEvent): void => {
    options.listener(event);
    if (event.type === 'checkpointCompleted' && event.path !== null)
      drill?.completed(event.checkpointId, event.path);
  };
  const slots = createSlots(options, run);
  const reporter = new ProgressReporter(state.jobGraph, listener);
  const logger = {
    log: (level: 'debug' | 'info' | 'warn' | 'error', message: string): void =>
      listener({ type: 'log', level, message }),
  };
  const master = createJobMaster(
    {
      clock: realClock,
      random: random.derive('jobmanager'),
      fileSystem: new LocalFileSystem(),
      logger,
      listener: reporter,
      workingDirectory: process.cwd(),
      send: (slot, message) => slots.send(slot, message),
    },
    prepared,
    state,
  );
  announce(run, listener);
  const openRest = ({ port }: { readonly port: number }): Promise<RestEndpoint> =>
    openRestEndpoint({
      master,
      port,
      checkpointStorage: state.storage.kind,
      dataDirectory: options.dataDirectory,
      random: random.derive('rest'),
      logger,
    });
  const rest: Promise<RestEndpoint>[] = [];
  const unwatch = watchOutside(prepared, master, logger);
  try {
    await slots.start({
      received: (message) => master.receive(message),
      lost: (slot, error) => master.slotsLost([slot], error),
      printed: (line) => listener({ type: 'printed', line }),
      logger,
    });
    options.onStart?.(runControl(master));
    options.stop?.onStop((how) => (how === 'cancel' ? master.cancel() : master.suspend()));
    master.start();
    const opening = realClock.schedule(REST_DELAY_MS, 'rest', () => {
      if (options.rest !== undefined && options.rest !== null) rest.push(openRest(options.rest));
    });
    const ended = await master.ended;
    opening.cancel();
    return outcomeOf(run, reporter, master, ended);
  } finally {
    unwatch();
    reporter.close();
    await drill?.close();
    for (const endpoint of rest) await (await endpoint).close();
    await slots.close();
  }
}

/** What may go wrong beside the job: the wall clock jumps, records behind a checkpoint go. */
function watchOutside(prepared: PreparedJob, master: JobMaster, logger: Logger): () => void {
  const stopClock = watchWallClock(realClock, logger);
  const stopRetention = watchRetention({
    clock: realClock,
    logger,
    plan: prepared.guarantees,
    oldest: () => master.oldestCheckpoint,
  });
  return () => {
    stopClock();
    stopRetention();
  };
}

/** From which state the run starts, and what it guarantees. */
function announce({ prepared, state, startedAt }: Run, listener: RunOptions['listener']): void {
  listener({
    type: 'started',
    jobId: state.jobId,
    jobName: state.jobGraph.jobName,
    start: state.startLine,
    restoredCheckpointId: state.initial?.metadata.checkpointId ?? null,
    parallelism: prepared.configuration.get('parallelism.default'),
    elapsedMs: performance.now() - startedAt,
  });
  for (const message of explainGuarantees(prepared.guarantees))
    listener({ type: 'log', level: 'info', message });
  for (const message of guaranteeWarnings(prepared.guarantees))
    listener({ type: 'log', level: 'warn', message });
}

/** `null`: none is wanted. */
function createDrill(
  { prepared }: Run,
  master: () => JobMaster,
  listener: RunOptions['listener'],
): RestoreDrill | null {
  const every = prepared.configuration.get('weir.checkpoint.drill');
  if (every === 0) return null;
  return new RestoreDrill({
    every,
    logger: { log: (level, message) => listener({ type: 'log', level, message }) },
    proven: (checkpointId) => master().statistics.proven(checkpointId),
  });
}

function createSlots(options: RunOptions, { prepared, state, random }: Run): Slots {
  const { configuration, jobGraph } = { ...prepared, ...state };
  const stallWarningMs = configuration.get('weir.task.stall-warning') ?? Infinity;
  const given = withParallelism(options.configuration, options.parallelism);
  if (options.job.bundleUrl === null)
    return new InThreadSlots({
      jobId: state.jobId,
      clock: realClock,
      random: random.derive('tasks'),
      fileSystem: new LocalFileSystem(),
      settings: taskSettings(configuration),
      stallWarningMs,
      buildJob: (printLine) => {
        const inputs = { arguments: options.arguments, configuration: given, printLine };
        return rebuildJob(options.job.job, inputs, prepared);
      },
    });
  return new SlotThreads({
    slotCount: state.slotCount,
    jobId: state.jobId,
    jobGraph,
    bundleUrl: options.job.bundleUrl,
    arguments: options.arguments,
    configuration: given,
    random: random.derive('threads'),
    stallWarningMs,
    stallTimeoutMs: configuration.get('weir.task.stall-timeout'),
  });
}

function outcomeOf(
  run: Run,
  reporter: ProgressReporter,
  master: JobMaster,
  ended: { readonly status: JobStatus; readonly error: ErrorInfo | null },
): RunOutcome {
  const { status } = ended;
  if (
    status !== 'FINISHED' &&
    status !== 'CANCELED' &&
    status !== 'SUSPENDED' &&
    status !== 'FAILED'
  )
    throw new JobSubmissionError(`the run ended in state ${status}`, { code: 'JOB_FAILED' });
  return {
    jobId: run.state.jobId,
    status,
    error: ended.error,
    restarts: reporter.restarts,
    completedCheckpoints: reporter.completedCheckpoints,
    latestCheckpoint: master.latestCheckpoint?.directory ?? null,
    savepoint: master.stopSavepoint?.directory ?? null,
    durationMs: performance.now() - run.startedAt,
  };
}
