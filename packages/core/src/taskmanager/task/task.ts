/**
 * One attempt of one subtask. A task is stepped by its thread's loop: each step does a bounded
 * amount of work (a batch) and says whether more can be done at once. Everything between two steps
 * happens between two records, so barriers, timers and cancellation never cut through one.
 *
 *   opening ──▶ running ──▶ ended ──▶ finishing ──▶ FINISHED
 *      │           │          │  (waits for the checkpoint that holds its last results)
 *      └───────────┴──────────┴──▶ closing ──▶ FAILED | CANCELED
 *
 * A task reports a final state only when its operators are closed, so that no late write of an
 * outdated attempt can meet the recovery of the next one.
 */
import type { ExecutionRef, OperatorId } from '../../base/ids.ts';
import { MAX_WATERMARK } from '../../base/records.ts';
import { RecordCursor } from './record-cursor.ts';
import { messageOf } from '../../base/errors.ts';
import type { PolledFrame } from '../../network/input-gate.ts';
import type {
  CheckpointTrigger,
  ExecutionState,
  ReaderEvent,
  TaskDeployment,
  TaskMetrics,
} from '../../protocol/messages.ts';
import { BufferTimeout } from './buffer-timeout.ts';
import type { Subtask } from './build-subtask.ts';
import { buildSubtask } from './build-subtask.ts';
import { restoreOperators } from './restore-operators.ts';
import type { TaskEnvironment } from './task-environment.ts';
import { TaskCheckpoints } from './task-checkpoints.ts';
import { TaskReports } from './task-reports.ts';
import { TaskStop } from './task-stop.ts';
import { TaskCounters } from './task-metrics.ts';
import { TimeSlice } from './time-slice.ts';
import { WatermarkValve } from './watermark-valve.ts';

type Phase = 'opening' | 'running' | 'ended' | 'finishing' | 'closing' | 'closed';

/** Why a task that did not finish ends. */
type EndState =
  | { readonly state: 'FAILED'; readonly error: unknown }
  | { readonly state: 'CANCELED' };

export class Task {
  readonly execution: ExecutionRef;
  readonly #environment: TaskEnvironment;
  readonly #deployment: TaskDeployment;
  readonly #counters = new TaskCounters();
  readonly #slice = new TimeSlice();
  readonly #reports: TaskReports;
  readonly #bufferTimeout: BufferTimeout;
  readonly #onClosed: () => void;
  readonly #canEmit = (): boolean =>
    this.#hasRoom() && !this.#slice.isOver(this.#environment.clock.now());
  #subtask: Subtask | null = null;
  #checkpoints: TaskCheckpoints | null = null;
  #valve: WatermarkValve | null = null;
  #phase: Phase = 'opening';
  #opening: Promise<void> = Promise.resolve();
  readonly #records = new RecordCursor();
  readonly #stop = new TaskStop();
  /** The source has said `end`; what is left is the last watermark, then the end of data. */
  #sourceEnded = false;
  #blockedSince: number | null = null;
  /** The last results are in a complete checkpoint. */
  #mayFinish = false;

  constructor(environment: TaskEnvironment, deployment: TaskDeployment, onClosed: () => void) {
    this.execution = deployment.execution;
    this.#environment = environment;
    this.#deployment = deployment;
    this.#onClosed = onClosed;
    this.#reports = new TaskReports(environment, deployment.execution);
    this.#bufferTimeout = new BufferTimeout(environment.settings.bufferTimeoutMs);
  }

  get name(): string {
    const { subtask } = this.execution;
    const name = this.#subtask?.vertex.name ?? this.execution.vertexId;
    return `${name} (${subtask + 1}/${this.#deployment.parallelism})`;
  }

  /** Of a node of the StreamGraph that this task runs. */
  operatorName(node: number): string {
    const operators = this.#subtask?.chain.operators ?? [];
    const operator = operators.find((it) => it.context.operator.node === node) ?? operators[0];
    return operator?.describe() ?? 'an operator';
  }

  /** Builds, restores and opens; then the task runs. */
  start(): void {
    this.#reports.state('INITIALIZING');
    this.#opening = this.#open().catch((error: unknown) => this.fail(error));
  }

  /** Does up to a batch of work. True when more can be done at once. */
  step(): boolean {
    if (!['running', 'ended', 'finishing'].includes(this.#phase)) return false;
    const subtask = this.#requireSubtask();
    const { clock } = this.#environment;
    const recordsBefore = this.#counters.recordsIn;
    this.#slice.begin(clock.now());
    try {
      const more = this.#work() || this.#slice.wasCut;
      subtask.chain.leaveKeys();
      const now = clock.now();
      this.#bufferTimeout.flushIfDue(subtask.partitions, now);
      this.#counters.busyMs += this.#slice.end(this.#counters.recordsIn - recordsBefore, now);
      return more;
    } catch (error) {
      this.fail(error);
      return false;
    }
  }

  /** Milliseconds until the task wants to be stepped again though nothing arrives; null: never. */
  nextStepIn(): number | null {
    if (this.#phase !== 'running') return null;
    const { chain, partitions, latency } = this.#requireSubtask();
    const isBlocked = this.#blockedSince !== null || this.#stop.isSuspended;
    // While there is no room nothing of the chain may run: the end of that wakes the task.
    const timer = isBlocked ? null : chain.nextProcessingTimer();
    const probe = isBlocked ? null : (chain.source?.nextProbeAt ?? null);
    const marker = isBlocked ? null : latency.nextAt;
    const now = this.#environment.clock.now();
    const due = Math.min(
      timer === null ? Infinity : timer - this.#environment.clock.wallTime(),
      (probe ?? Infinity) - now,
      (marker ?? Infinity) - now,
      this.#bufferTimeout.dueIn(partitions, now) ?? Infinity,
    );
    return due === Infinity ? null : Math.max(0, due);
  }

  triggerCheckpoint(trigger: CheckpointTrigger): void {
    if (this.#checkpoints === null || (this.#phase !== 'running' && this.#phase !== 'ended')) {
      const isEarly = this.#phase === 'opening';
      const reason = isEarly ? 'DECLINED_TASK_NOT_READY' : 'DECLINED_TASK_CLOSING';
      this.#reports.cannotTake(trigger.checkpointId, reason);
      return;
    }
    const isSource = this.#requireSubtask().chain.source !== null;
    if (trigger.options.kind === 'drain' && isSource && this.#phase === 'running')
      this.#stop.drainTrigger = trigger;
    else this.#guarded(() => this.#checkpoints?.triggered(trigger));
    this.#environment.wakeUp();
  }

  notifyCheckpointAborted(checkpointId: number): void {
    this.#guarded(() => this.#checkpoints?.aborted(checkpointId));
    const failure = this.#stop.aborted(checkpointId, this.name);
    if (failure !== null) this.fail(failure);
    this.#environment.wakeUp();
  }

  notifyCheckpointComplete(checkpointId: number): void {
    if (this.#phase !== 'running' && this.#phase !== 'ended') return;
    const { chain, partitions } = this.#requireSubtask();
    for (const partition of partitions) partition.notifyComplete(checkpointId);
    const isStop = this.#stop.suspendedBy === checkpointId;
    const isFinal = this.#checkpoints?.isFinal(checkpointId) === true;
    chain.notifyCheckpointComplete(checkpointId).then(
      () => {
        if (isStop && this.#phase === 'running') this.#phase = 'ended';
        if (isStop || isFinal) this.#finishBehindProducers();
      },
      (error: unknown) => this.fail(error),
    );
  }

  handleReaderEvent(operatorId: OperatorId, event: ReaderEvent): void {
    if (this.#phase !== 'running' && this.#phase !== 'opening') return;
    // A split that comes behind the order to drain is in the enumerator's part of that savepoint.
    if (this.#stop.drainTrigger !== null) return;
    const operator = this.#subtask?.chain.operators.find(
      (it) => it.context.operator.operatorId === operatorId,
    );
    this.#guarded(() => operator?.handleReaderEvent(event));
  }

  cancel(): void {
    this.#close({ state: 'CANCELED' });
  }

  fail(error: unknown): void {
    this.#close({ state: 'FAILED', error });
  }

  metrics(): TaskMetrics {
    return this.#counters.report(this.execution, this.#subtask?.latency.report() ?? []);
  }

  async #open(): Promise<void> {
    const environment = this.#environment;
    const deployment = this.#deployment;
    const subtask = buildSubtask({
      environment,
      deployment,
      counters: this.#counters,
      owner: {
        canEmit: this.#canEmit,
        wakeUp: () => environment.wakeUp(),
        fail: (error) => this.fail(error),
        sendToEnumerator: (operator, event) =>
          this.#reports.toEnumerator(this.#operatorIdAt(operator), event),
      },
    });
    this.#subtask = subtask;
    this.#valve = new WatermarkValve(subtask.gate?.channels.length ?? 0, {
      emitWatermark: (timestamp) => {
        this.#counters.watermark = timestamp;
        subtask.chain.head.processWatermark(timestamp);
      },
      emitIdle: (idle) => subtask.chain.head.processIdle(idle),
    });
    const restoredFinished = deployment.restore?.finished === true;
    await this.#restore(subtask);
    if (this.#isClosing()) return;
    if (!restoredFinished) for (const operator of subtask.chain.operators) await operator.open();
    if (this.#isClosing()) return;
    this.#run(subtask, restoredFinished);
  }

  async #restore(subtask: Subtask): Promise<void> {
    const { restore } = this.#deployment;
    if (restore === null || restore.finished) return;
    await restoreOperators(this.#environment, subtask, restore);
    for (const input of restore.inputs) {
      const channel = subtask.gate?.channels.find((it) => it.channelId === input.channelId);
      if (channel === undefined) continue;
      this.#valve?.restore(channel.index, input);
      if (input.endOfData) this.#stop.inputEnded(channel.index, 0);
    }
  }

  #run(subtask: Subtask, restoredFinished: boolean): void {
    const environment = this.#environment;
    const deployment = this.#deployment;
    const { gate, partitions } = subtask;
    this.#checkpoints = new TaskCheckpoints({
      environment,
      deployment,
      subtask,
      valve: this.#valve as WatermarkValve,
      task: {
        hasEnded: () => this.#phase === 'ended' || this.#phase === 'finishing',
        isDrained: () => this.#stop.drainedBy !== 0,
        endOf: (channel) => this.#stop.endOf(channel),
        suspend: (checkpointId) => {
          this.#stop.suspendedBy = checkpointId;
        },
        canSnapshot: () => this.#records.isEmpty && subtask.chain.resume(),
        fail: (error) => this.fail(error),
      },
    });
    for (const partition of partitions) {
      partition.restore(deployment.restore?.outputs ?? []);
      environment.exchange.registerPartition(partition);
    }
    this.#phase = restoredFinished ? 'ended' : 'running';
    if (gate !== null) {
      gate.restore(deployment.restore?.inputs ?? []);
      environment.exchange.registerGate(gate);
      gate.subscribeAll(deployment.ignoreUpTo);
    }
    this.#reports.state('RUNNING');
    if (restoredFinished) this.#passOnEnd();
    else {
      this.#valve?.settle();
      if (subtask.chain.source !== null)
        this.#reports.toEnumerator(this.#operatorIdAt(0), { type: 'readerRegistered' });
    }
    environment.wakeUp();
  }

  /** Had finished before the restore: nothing is left but to say so downstream. */
  #passOnEnd(): void {
    for (const partition of this.#requireSubtask().partitions) {
      partition.broadcastWatermark(MAX_WATERMARK);
      partition.broadcastEndOfData(0);
    }
    this.#finish();
  }

  #work(): boolean {
    const subtask = this.#requireSubtask();
    if (this.#phase === 'finishing') return this.#tryFinish();
    if (this.#phase === 'ended') return this.#drainGate();
    if (this.#stop.isSuspended) return false;
    if (!this.#hasRoom()) return this.#blocked();
    this.#unblocked(); // first of all, since what is resumed may look for idleness
    if (!subtask.chain.resume()) return this.#blocked();
    if (!subtask.chain.fireProcessingTimers()) return this.#blocked();
    this.#checkpoints?.runDeferred();
    if (this.#stop.isSuspended) return false;
    return subtask.chain.source === null ? this.#processInput() : this.#pollSource();
  }

  #pollSource(): boolean {
    const { chain, latency } = this.#requireSubtask();
    const source = chain.source;
    if (source === null) return false;
    if (!this.#sourceEnded) {
      latency.makeIfDue(this.#slice.startedAt);
      const result = this.#stop.drainNow() ? 'end' : source.poll(this.#slice.records);
      this.#counters.recordsIn = source.recordsRead;
      if (result !== 'end') return result === 'more';
      this.#sourceEnded = true;
      source.context.output.emitWatermark(MAX_WATERMARK);
    }
    if (!chain.resume()) return false;
    this.#endOfData();
    if (this.#stop.drainTrigger !== null) this.#checkpoints?.triggered(this.#stop.drainTrigger);
    return false;
  }

  #processInput(): boolean {
    const { chain, gate } = this.#requireSubtask();
    if (gate === null) return false;
    let budget = this.#slice.records;
    for (;;) {
      const handled = this.#records.process(chain, budget);
      this.#counters.recordsIn += handled;
      budget -= handled;
      if (budget <= 0) return true;
      if (!this.#records.isEmpty) return false;
      if (!this.#hasRoom() || !chain.resume()) return false;
      const polled = gate.poll();
      if (polled === null) return false;
      this.#handleFrame(polled);
      if (this.#phase !== 'running') return true;
      if (this.#stop.isSuspended) return false;
    }
  }

  #handleFrame({ channel, frame }: PolledFrame): void {
    switch (frame.kind) {
      case 'records':
        return this.#records.take(frame.batch, channel.inputIndex);
      case 'watermark':
        return this.#valve?.watermark(channel.index, frame.timestamp);
      case 'idle':
        return this.#valve?.idle(channel.index, frame.idle);
      case 'endOfData':
        this.#stop.inputEnded(channel.index, frame.savepointId);
        return this.#endIfAllEnded();
      case 'latency':
        return this.#requireSubtask().latency.pass(frame.marker);
      case 'barrier':
        return this.#checkpoints?.barrier(channel, frame.trigger);
      case 'cancel':
        return this.#checkpoints?.cancelled(channel, frame.checkpointId);
      case 'endOfPartition':
        return this.#checkpoints?.endOfPartition(channel);
    }
  }

  /** The last watermark may have stopped half way: then the end waits for the next step. */
  #endIfAllEnded(): void {
    const { chain, gate } = this.#requireSubtask();
    if (this.#phase !== 'running' || gate === null) return;
    if (this.#stop.endedInputs < gate.channels.length) return;
    if (chain.resume()) this.#endOfData();
  }

  /** After the end only barriers, cancellations and ends of channels arrive. */
  #drainGate(): boolean {
    this.#checkpoints?.runDeferred();
    const { gate } = this.#requireSubtask();
    if (gate === null) return false;
    for (let polled = gate.poll(); polled !== null; polled = gate.poll()) this.#handleFrame(polled);
    // Until then each frame that ends a channel wakes the task.
    if (this.#mayFinish && gate.isFinished) this.#finish();
    return false;
  }

  #endOfData(): void {
    const { chain, partitions } = this.#requireSubtask();
    chain.endOfInput();
    for (const partition of partitions) partition.broadcastEndOfData(this.#stop.drainedBy);
    this.#phase = 'ended';
    // The barrier of the savepoint follows, and its completion is the end.
    if (this.#stop.drainedBy !== 0) return;
    const { settings } = this.#environment;
    if (settings.checkpointingMode !== null && settings.checkpointsAfterTasksFinish) {
      this.#reports.endOfData();
      return;
    }
    chain.commitAtEnd().then(
      () => this.#finish(),
      (error: unknown) => this.fail(error),
    );
  }

  /**
   * A producer that is still there waits for another checkpoint, in which this task must take part.
   * With barriers that are only counted that happens: the producer passed on an end that its own
   * snapshot did not hold yet.
   */
  #finishBehindProducers(): void {
    this.#mayFinish = true;
    const { gate } = this.#requireSubtask();
    if (gate === null || gate.isFinished) this.#finish();
    else this.#environment.wakeUp();
  }

  #finish(): void {
    if (this.#phase !== 'ended') return;
    this.#phase = 'finishing';
    for (const partition of this.#requireSubtask().partitions) partition.broadcastEndOfPartition();
    this.#environment.wakeUp();
  }

  /** The last frames have to be taken by the consumers before the task may go. */
  #tryFinish(): boolean {
    const { partitions, gate } = this.#requireSubtask();
    // What still arrives is of no interest, but its producer waits until it is taken.
    if (gate !== null) for (let polled = gate.poll(); polled !== null;) polled = gate.poll();
    // One that had finished before a restore may be here before what its producers have to say:
    // gone, it would give them no credit, and they would wait for ever.
    if (gate !== null && !gate.isFinished) return false;
    if (!partitions.every((partition) => partition.allSent)) return false;
    this.#phase = 'closing';
    this.#closeOperators().then(
      () => this.#closed('FINISHED', null),
      (error: unknown) => this.#closed('FAILED', error),
    );
    return false;
  }

  #close(end: EndState): void {
    if (this.#phase === 'closing' || this.#phase === 'closed') return;
    this.#phase = 'closing';
    if (end.state === 'CANCELED') this.#reports.state('CANCELING');
    this.#checkpoints?.close();
    for (const partition of this.#subtask?.partitions ?? []) partition.close();
    this.#environment.exchange.unregister(this.execution);
    this.#subtask?.ending.abort();
    void this.#opening
      .then(() => this.#closeOperators())
      .catch((closing: unknown) => {
        const text = `closing ${this.name}: ${messageOf(closing)}`;
        this.#environment.logger.log('warn', text);
      })
      .then(() => this.#closed(end.state, end.state === 'FAILED' ? end.error : null));
  }

  async #closeOperators(): Promise<void> {
    if (this.#deployment.restore?.finished === true) return;
    await this.#subtask?.chain.close();
  }

  #closed(state: ExecutionState, error: unknown): void {
    this.#phase = 'closed';
    this.#checkpoints?.close();
    this.#environment.exchange.unregister(this.execution);
    this.#reports.state(state, error);
    this.#onClosed();
  }

  #isClosing(): boolean {
    return this.#phase === 'closing' || this.#phase === 'closed';
  }

  #hasRoom(): boolean {
    return this.#requireSubtask().chain.hasRoom();
  }

  #blocked(): boolean {
    if (!this.#slice.wasCut) this.#blockedSince ??= this.#environment.clock.now();
    return false;
  }

  #unblocked(): void {
    if (this.#blockedSince === null) return;
    const ms = this.#environment.clock.now() - this.#blockedSince;
    this.#blockedSince = null;
    this.#counters.backPressuredMs += ms;
    this.#requireSubtask().chain.pausedFor(ms);
  }

  #guarded(action: () => void): void {
    try {
      action();
    } catch (error) {
      this.fail(error);
    }
  }

  #requireSubtask(): Subtask {
    if (this.#subtask === null) throw new Error('the task is not built yet');
    return this.#subtask;
  }

  #operatorIdAt(index: number): OperatorId {
    const operator = this.#requireSubtask().vertex.operators[index];
    if (operator === undefined) throw new Error('operator index out of range');
    return operator.operatorId;
  }
}
