/**
 * The thread of one slot: imports the job's bundle, proves that it builds the same plan, and runs
 * the tasks that the JobManager deploys here.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { Configuration } from '../base/configuration.ts';
import { toErrorInfo } from '../base/errors.ts';
import type { Job } from '../api/job.ts';
import { seededRandom } from '../base/random.ts';
import { createExchange } from '../network/data-exchange.ts';
import { LearningBatchCodec } from '../network/codec/learning-batch-codec.ts';
import { FrameCodec } from '../network/frame-codec.ts';
import { RingLink } from '../network/ring-link.ts';
import { ThreadSignal } from '../network/thread-signal.ts';
import { LocalFileSystem } from '../storage/local-file-system.ts';
import { ActiveOperator } from '../taskmanager/operators/active-operator.ts';
import { TaskExecutor } from '../taskmanager/task-executor.ts';
import { prepareJob, rebuildJob, requireSamePlan } from '../jobmanager/prepare-run.ts';
import { realClock } from './real-clock.ts';
import { taskSettings } from '../taskmanager/task/task-settings.ts';
import type {
  FromSlotThread,
  LinkBuffers,
  SlotThreadData,
  ToSlotThread,
} from './thread-contract.ts';

function post(message: FromSlotThread): void {
  parentPort?.postMessage(message);
}

async function run(data: SlotThreadData): Promise<void> {
  process.setSourceMapsEnabled(true);
  const module = (await import(data.bundleUrl)) as { readonly default: Job };
  const inputs = {
    arguments: data.arguments,
    configuration: Configuration.fromPlain(data.configuration),
    printLine: (line: string) => post({ type: 'print', line }),
  };
  const first = prepareJob(module.default, inputs);
  requireSamePlan(first.jobGraph, data.planHash);

  const signal = new ThreadSignal(data.signal);
  const exchange = createExchange({
    threadId: data.threadId,
    threadOfSlot: (slot) => slot,
    onActivity: () => executor.wakeUp(),
  });
  // One for all links: channels of the same records share what is generated for them.
  const batches = new LearningBatchCodec();
  const addLink = (link: LinkBuffers): void =>
    exchange.addLink(
      link.threadId,
      new RingLink({
        ...link,
        peer: new ThreadSignal(link.signal),
        codec: new FrameCodec(batches),
      }),
    );
  let isAsleep = false;
  const executor = new TaskExecutor({
    environment: {
      jobId: data.jobId,
      clock: realClock,
      random: seededRandom(data.seed),
      fileSystem: new LocalFileSystem(),
      logger: { log: (level, message) => post({ type: 'log', level, message }) },
      exchange,
      settings: taskSettings(first.configuration),
      active: new ActiveOperator(data.active),
      buildJob: () => rebuildJob(module.default, inputs, first),
      send: (message) => post({ type: 'message', message }),
    },
    onIdle: () => {
      if (isAsleep) return;
      isAsleep = true;
      void signal
        .sleep(() => exchange.pump())
        .then(() => {
          isAsleep = false;
          executor.wakeUp();
        });
    },
    // The main thread watches this one.
    stallWarningMs: Infinity,
  });
  for (const link of data.links) addLink(link);
  parentPort?.on('message', (message: ToSlotThread) => {
    switch (message.type) {
      case 'message':
        return executor.handle(message.message);
      case 'link':
        exchange.removeLink(message.link.threadId);
        return addLink(message.link);
      case 'unlink':
        return exchange.removeLink(message.threadId);
    }
  });
  post({ type: 'ready' });
  executor.wakeUp();
}

run(workerData as SlotThreadData).catch((error: unknown) => {
  post({ type: 'failed', error: toErrorInfo(error) });
});
