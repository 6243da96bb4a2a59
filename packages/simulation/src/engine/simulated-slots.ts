/**
 * The slots of one simulated process: a life for each thread, with the engine's own executor and
 * exchange in it, and links between them. What production does with worker threads
 * (cluster/slot-threads.ts) is done here: a thread that dies is reported and replaced, its links
 * are new with it, and messages to and from it keep their order as long as it lives, but for those
 * that the protocol can do without.
 */
import type { JobId } from '@weir/core/internal/base/ids';
import { WeirError } from '@weir/core/internal/base/errors';
import type { Logger } from '@weir/core/internal/base/logger';
import type { Random } from '@weir/core/internal/base/random';
import type { JobManagerMessage, TaskManagerMessage } from '@weir/core/internal/protocol/messages';
import { ActiveOperator } from '@weir/core/internal/taskmanager/operators/active-operator';
import { TaskExecutor } from '@weir/core/internal/taskmanager/task-executor';
import type { BuiltJob, TaskSettings } from '@weir/core/internal/taskmanager/task/task-environment';
import { copyPlain } from '../world/copy-plain.ts';
import { Life } from '../world/life.ts';
import { MessageLine } from '../world/message-line.ts';
import { SimulatedLink } from '../world/simulated-link.ts';
import type { LinkOptions } from '../world/simulated-link.ts';
import type { Machine } from './machine.ts';
import { WatchedExchange } from './watched-exchange.ts';

export interface SimulatedSlotsOptions {
  readonly machine: Machine;
  readonly process: Life;
  readonly jobId: JobId;
  readonly slotCount: number;
  readonly settings: TaskSettings;
  readonly logger: Logger;
  buildJob(): BuiltJob;
  received(message: JobManagerMessage): void;
  lost(slot: number, error: unknown): void;
}

interface SlotThread {
  readonly life: Life;
  readonly slot: number;
  readonly exchange: WatchedExchange;
  readonly executor: TaskExecutor;
  readonly link: LinkOptions;
  readonly toThread: MessageLine;
  readonly fromThread: MessageLine;
  isLost: boolean;
  wakeUp(): void;
}

export class SimulatedSlots {
  readonly #options: SimulatedSlotsOptions;
  readonly #threads: SlotThread[] = [];
  readonly #random: Random;
  #incarnation = 0;

  constructor(options: SimulatedSlotsOptions) {
    this.#options = options;
    this.#random = options.machine.world.random(`slots ${options.process.name}`);
    for (let slot = 0; slot < options.slotCount; slot++) this.#spawn(slot);
    for (let a = 0; a < options.slotCount; a++)
      for (let b = a + 1; b < options.slotCount; b++) this.#connect(a, b);
  }

  get slotCount(): number {
    return this.#threads.length;
  }

  send(slot: number, message: TaskManagerMessage): void {
    const thread = this.#threads[slot] as SlotThread;
    const { observer } = this.#options.machine;
    observer.sentToTask(message);
    // What is deployed to a dead thread never runs.
    if (thread.isLost) return observer.threadDied(slot);
    const copy = this.#copied(message);
    thread.toThread.send(
      copy,
      () => labelOf(copy),
      () => thread.executor.handle(copy),
    );
  }

  /** The thread dies at once; its process learns of it and puts another in its place. */
  kill(slot: number): void {
    const thread = this.#threads[slot];
    if (thread === undefined || thread.isLost) return;
    const { machine, process } = this.#options;
    const { world } = machine;
    thread.isLost = true;
    thread.life.end();
    machine.observer.threadDied(slot);
    for (const [peer, other] of this.#threads.entries())
      if (peer !== slot && !other.isLost)
        other.toThread.post(`unlink ${slot}`, () => other.exchange.removeLink(slot));
    world.schedule(process, 1 + this.#latency(), `slot ${slot} lost`, () => {
      this.#spawn(slot);
      for (const [peer, { isLost }] of this.#threads.entries())
        if (isLost) this.#threads[slot]?.exchange.removeLink(peer);
        else if (peer !== slot) this.#reconnect(slot, peer);
      const text = `the thread of slot ${slot} died`;
      const details = { slot };
      this.#options.lost(slot, new WeirError('transient', text, { code: 'SLOT_LOST', details }));
    });
  }

  /** Who waits for whom. */
  describeWaiting(): readonly string[] {
    return this.#threads.flatMap(({ life, exchange }) =>
      exchange.describeWaiting().map((line) => `${life.name}: ${line}`),
    );
  }

  /** The threads end with the run. */
  close(): void {
    for (const thread of this.#threads) thread.life.end();
  }

  #spawn(slot: number): void {
    const { machine, process, jobId, settings, logger } = this.#options;
    const { world } = machine;
    const name = `${process.name}.${slot}.${this.#incarnation++}`;
    const life = new Life(name, world.now, process);
    const clock = machine.clockOf(life);
    const exchange = new WatchedExchange({
      threadId: slot,
      threadOfSlot: (other) => other,
      onActivity: () => executor.wakeUp(),
    });
    const executor: TaskExecutor = new TaskExecutor({
      environment: {
        jobId,
        clock,
        random: world.random(`tasks ${name}`),
        fileSystem: machine.fileSystemOf(life, slot),
        settings,
        logger,
        exchange,
        active: new ActiveOperator(),
        buildJob: () => this.#options.buildJob(),
        send: (message) => this.#receive(thread, message),
      },
      stallWarningMs: Infinity,
    });
    const thread: SlotThread = {
      life,
      slot,
      exchange,
      executor,
      link: machine.linkOptions(name),
      toThread: this.#line(life, null, slot),
      fromThread: this.#line(process, slot, null),
      isLost: false,
      wakeUp: () => executor.wakeUp(),
    };
    this.#threads[slot] = thread;
  }

  #receive(thread: SlotThread, message: JobManagerMessage): void {
    const { observer } = this.#options.machine;
    const copy = this.#copied(message);
    observer.sentByTask(copy);
    thread.fromThread.send(
      copy,
      () => labelOf(copy),
      () => {
        if (thread.isLost) return;
        observer.receivedFromTask(copy);
        this.#options.received(copy);
        observer.handled(copy);
      },
    );
  }

  #copied<T>(message: T): T {
    const isShared = this.#options.machine.moods.shortcuts?.sharesMessages === true;
    return isShared ? message : copyPlain(message);
  }

  #connect(a: number, b: number): void {
    const one = this.#threads[a] as SlotThread;
    const two = this.#threads[b] as SlotThread;
    const [first, second] = SimulatedLink.pair(this.#options.machine.world, [one, two], one.link);
    one.exchange.addLink(b, first);
    two.exchange.addLink(a, second);
  }

  /** The new thread begins with its links; the peer is told of them. */
  #reconnect(slot: number, peer: number): void {
    const { world } = this.#options.machine;
    const fresh = this.#threads[slot] as SlotThread;
    const other = this.#threads[peer] as SlotThread;
    const [mine, theirs] = SimulatedLink.pair(world, [fresh, other], fresh.link);
    fresh.exchange.addLink(peer, mine);
    other.toThread.post(`link ${slot}`, () => {
      other.exchange.removeLink(slot);
      other.exchange.addLink(slot, theirs);
    });
  }

  /** `null`: the JobManager. */
  #line(receiver: Life, from: number | null, to: number | null): MessageLine {
    const { machine } = this.#options;
    return new MessageLine(machine.world, {
      mood: machine.messages,
      random: this.#random,
      receiver,
      latencyMs: () => this.#latency(),
      heldUntil: () => machine.partitions.heldUntil(from, to),
    });
  }

  #latency(): number {
    return this.#random.next() * 2 * this.#options.machine.moods.link.latencyMs;
  }
}

function labelOf(message: TaskManagerMessage | JobManagerMessage): string {
  if (message.type === 'taskMetrics') return message.type;
  const execution =
    message.type === 'deployTask' ? message.deployment.execution : message.execution;
  const { vertexId, subtask, attempt } = execution;
  const name = `${vertexId.slice(0, 4)}/${subtask}@${attempt.epoch}.${attempt.counter}`;
  switch (message.type) {
    case 'triggerCheckpoint':
      return `${message.type} ${message.trigger.checkpointId} ${name}`;
    case 'notifyCheckpointComplete':
    case 'notifyCheckpointAborted':
    case 'acknowledgeCheckpoint':
      return `${message.type} ${message.checkpointId} ${name}`;
    case 'declineCheckpoint':
      return `${message.type} ${message.checkpointId} ${name} ${message.reason}`;
    case 'taskStateChanged':
      return `${message.state} ${name} ${message.error?.message ?? ''}`;
    case 'readerEvent':
    case 'enumeratorEvent':
      return `${message.event.type} ${name}`;
    default:
      return `${message.type} ${name}`;
  }
}
