/** Executions, channels and a recording consumer, for the tests of this folder. */
import type { Attempt, ExecutionRef, OperatorId, VertexId } from '../base/ids.ts';
import type { ChannelDescriptor, CheckpointTrigger } from '../protocol/messages.ts';
import { LearningBatchCodec } from './codec/learning-batch-codec.ts';
import type { DataLink } from './data-exchange.ts';
import { FrameCodec } from './frame-codec.ts';
import type {
  Connection,
  Frame,
  FrameMessage,
  LatencyMarker,
  SubscribeMessage,
  WireMessage,
} from './frame.ts';
import { isNumbered } from './frame.ts';
import { RingLink } from './ring-link.ts';
import type { SendFrame } from './result-subpartition.ts';
import { ThreadSignal } from './thread-signal.ts';

export function execution(vertex: string, subtask = 0, counter = 1): ExecutionRef {
  return { vertexId: vertex as VertexId, subtask, attempt: { epoch: 1, counter } };
}

/** A channel a → b; `slots` are those of its producer and consumer. */
export function channel(channelId = 0, parts: Partial<ChannelDescriptor> = {}): ChannelDescriptor {
  return {
    channelId,
    edge: 0,
    producer: execution('a'),
    producerSlot: 0,
    consumer: execution('b', channelId),
    consumerSlot: 0,
    ...parts,
  };
}

export function trigger(checkpointId: number): CheckpointTrigger {
  return { checkpointId, timestamp: 1000, options: { kind: 'checkpoint', location: '/chk' } };
}

export function marker(markedAt: number, sourceSubtask = 0): LatencyMarker {
  return { sourceId: 'c'.repeat(32) as OperatorId, sourceSubtask, markedAt };
}

export function connection(subscribe = 0, counter = 1): Connection {
  return { consumerAttempt: { epoch: 1, counter }, subscribe };
}

const FIRST_ATTEMPT: Attempt = { epoch: 1, counter: 1 };

export function subscribe(parts: Partial<SubscribeMessage> = {}): SubscribeMessage {
  return {
    type: 'subscribe',
    channelId: 0,
    producerAttempt: FIRST_ATTEMPT,
    connection: connection(),
    from: 0,
    ignoreUpTo: 0,
    credit: 100,
    ...parts,
  };
}

/** A frame in a word: `r2[a,b]` is a batch with number 2, `b1@2` a barrier whose `at` is 2. */
export function describe({ position, frame }: { position: number; frame: Frame }): string {
  return `${labelOf(frame)}@${position}`;
}

export function labelOf(frame: Frame): string {
  switch (frame.kind) {
    case 'records':
      return `[${frame.batch.values.map(String).join()}]`;
    case 'watermark':
      return `wm${frame.timestamp}`;
    case 'idle':
      return frame.idle ? 'idle' : 'active';
    case 'endOfData':
      return 'end';
    case 'barrier':
      return `barrier${frame.trigger.checkpointId}`;
    case 'latency':
      return `mark${frame.marker.markedAt}`;
    case 'cancel':
      return `cancel${frame.checkpointId}`;
    case 'endOfPartition':
      return 'closed';
  }
}

/** Takes frames down, and refuses numbered ones while it has no room. */
export class Recorder {
  readonly messages: FrameMessage[] = [];
  hasRoom = true;

  readonly send: SendFrame = (message) => {
    if (!this.hasRoom) return false;
    this.messages.push(message);
    return true;
  };

  /** What came since the last call. */
  take(): string[] {
    return this.messages.splice(0).map(describe);
  }
}

/** One end of a link in memory; what is sent waits in `outgoing` until the other end polls. */
export class QueueLink implements DataLink {
  readonly outgoing: WireMessage[] = [];
  /** Messages under way at which numbered frames are refused. */
  capacity: number = Infinity;
  peer: QueueLink | null = null;
  #hasRefused = false;

  static pair(): [QueueLink, QueueLink] {
    const [a, b] = [new QueueLink(), new QueueLink()];
    a.peer = b;
    b.peer = a;
    return [a, b];
  }

  send(message: WireMessage): boolean {
    const canWait = message.type === 'frame' && isNumbered(message.frame);
    if (canWait && this.outgoing.length >= this.capacity) {
      this.#hasRefused = true;
      return false;
    }
    this.outgoing.push(message);
    return true;
  }

  poll(receive: (message: WireMessage) => void): boolean {
    const hasRoomAgain = this.#hasRefused && this.outgoing.length < this.capacity;
    if (hasRoomAgain) this.#hasRefused = false;
    const arrived = this.peer?.outgoing.splice(0) ?? [];
    for (const message of arrived) receive(message);
    return hasRoomAgain || arrived.length > 0;
  }
}

/** What a thread needs to run `runEcho`: the rings and signals as it sees them. */
export interface EchoThread {
  /** Address of this file. */
  readonly module: string;
  readonly outgoing: SharedArrayBuffer;
  readonly incoming: SharedArrayBuffer;
  readonly ownSignal: SharedArrayBuffer;
  readonly peerSignal: SharedArrayBuffer;
}

/** Sends back every message, until the thread is terminated. */
export async function runEcho(thread: EchoThread): Promise<never> {
  const { outgoing, incoming } = thread;
  const signal = new ThreadSignal(thread.ownSignal);
  const peer = new ThreadSignal(thread.peerSignal);
  const codec = new FrameCodec(new LearningBatchCodec());
  const link = new RingLink({ outgoing, incoming, peer, codec });
  const waiting: WireMessage[] = [];
  const step = (): boolean => {
    let moved = link.poll((message) => waiting.push(message));
    while (waiting.length > 0 && link.send(waiting[0]!)) {
      waiting.shift();
      moved = true;
    }
    return moved;
  };
  for (;;) if (!step()) await signal.sleep(step);
}
