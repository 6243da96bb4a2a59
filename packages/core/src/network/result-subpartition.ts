/**
 * The sending end of one channel. One deque is queue and log at once:
 *
 *     base ........... next ........... end
 *      sent, only log  |  not sent yet  |  open batch, pending watermark (no number yet)
 *
 * Invariants: numbers are given in the order of production and never change; a control frame leaves
 * exactly when `next` is its `at`; numbered frames leave only against credit, control frames need
 * none; nothing leaves without a connection. Without a log a frame is dropped once it is sent.
 * Driven by `ResultPartition` (production) and `DataExchange` (subscribe, credit, room in a link).
 * Cost: a record is an array push; everything else is paid per frame.
 */
import { assert } from '../base/assert.ts';
import { isWeirError } from '../base/errors.ts';
import type { WeirError } from '../base/errors.ts';
import { isSameAttempt } from '../base/ids.ts';
import { BATCH_SIZE } from '../base/records.ts';
import type { ChannelDescriptor } from '../protocol/messages.ts';
import type { BatchLimit } from './batch-limit.ts';
import { compareConnections } from './frame.ts';
import type {
  Connection,
  ControlFrame,
  CreditMessage,
  FrameMessage,
  LatencyMarker,
  NumberedFrame,
  SubscribeMessage,
} from './frame.ts';

/**
 * Takes a frame to its consumer; false when there is no room for a numbered frame yet. The sender's
 * `transmit` is called once there is.
 */
export type SendFrame = (message: FrameMessage, sender: ResultSubpartition) => boolean;

/** What a subpartition tells the partition it belongs to. */
export interface SubpartitionOwner {
  /** Crossed `unsentMax` in either direction. */
  onFullChanged(full: boolean): void;
  /** A frame can never be sent, since no codec can write a value of it. Now closed. */
  onSendError(error: WeirError, subpartition: ResultSubpartition): void;
}

export interface SubpartitionOptions {
  readonly descriptor: ChannelDescriptor;
  /** Keep sent frames until a checkpoint covers them. */
  readonly logged: boolean;
  /** Unsent numbered frames at which the producer is to stop. */
  readonly unsentMax: number;
  /** When a batch is full. */
  readonly limit: BatchLimit;
}

interface ControlEntry {
  readonly at: number;
  readonly frame: ControlFrame;
  sent: boolean;
}

/** Reply to a subscribe; `unavailable`: the log no longer reaches back to the frame asked for. */
export type SubscribeOutcome = 'connected' | 'ignored' | 'unavailable';

export class ResultSubpartition {
  readonly descriptor: ChannelDescriptor;
  readonly #options: SubpartitionOptions;
  readonly #owner: SubpartitionOwner;
  readonly #limit: BatchLimit;

  #base = 0;
  #next = 0;
  #frames: NumberedFrame[] = [];
  /** With a log, barriers stay until their checkpoint is over, to be sent again. */
  #controls: ControlEntry[] = [];

  #values: unknown[] | null = null;
  #timestamps: Float64Array | null = null;
  #hasTimestamps = false;
  #pendingWatermark: number | null = null;
  /** Leave with the open batch, or when it would have to. */
  #pendingMarkers: LatencyMarker[] = [];

  #connection: Connection | null = null;
  #send: SendFrame | null = null;
  #credit = 0;
  #full = false;
  /** End of data forbids further frames, the end of the partition forbids everything. */
  #ended: 'no' | 'data' | 'partition' = 'no';
  #closed = false;

  constructor(options: SubpartitionOptions, owner: SubpartitionOwner) {
    this.descriptor = options.descriptor;
    this.#options = options;
    this.#limit = options.limit;
    this.#owner = owner;
  }

  /** Number of the next frame to be produced, open batch aside. */
  get end(): number {
    return this.#base + this.#frames.length;
  }

  get base(): number {
    return this.#base;
  }

  get connection(): Connection | null {
    return this.#connection;
  }

  /** Numbered frames waiting for credit, room or a consumer. */
  get unsent(): number {
    return this.end - this.#next;
  }

  /** Nothing at all is waiting. */
  get isDrained(): boolean {
    return !this.isOpen && this.unsent === 0 && this.#controls.every((entry) => entry.sent);
  }

  /** Something waits for `flush`; what has its number goes by itself once it can. */
  get isOpen(): boolean {
    return (
      this.#values !== null || this.#pendingWatermark !== null || this.#pendingMarkers.length > 0
    );
  }

  /** Starts at a number given by a snapshot. Before anything is produced or subscribed. */
  restore(mark: number): void {
    assert(this.end === 0 && this.#connection === null, 'restored a channel that is in use');
    this.#base = mark;
    this.#next = mark;
  }

  append(value: unknown, timestamp: number): void {
    const values = this.#values ?? this.#openBatch();
    const length = values.push(value);
    if (!Number.isNaN(timestamp)) this.#stamp(length - 1, timestamp);
    if (length >= this.#limit.records) this.#closeBatch();
  }

  /** Gets its number with the next flush or record; until then a later one replaces it. */
  appendWatermark(timestamp: number): void {
    this.#closeBatch();
    this.#pendingWatermark = timestamp;
  }

  /** Of a source's markers that wait here only the oldest is kept: it tells the longest wait. */
  appendMarker(marker: LatencyMarker): void {
    if (this.#closed || this.#ended !== 'no') return;
    const isOfSource = (other: LatencyMarker): boolean =>
      other.sourceId === marker.sourceId && other.sourceSubtask === marker.sourceSubtask;
    const waits = this.#controls.some(
      ({ frame, sent }) => !sent && frame.kind === 'latency' && isOfSource(frame.marker),
    );
    if (!waits && !this.#pendingMarkers.some(isOfSource)) this.#pendingMarkers.push(marker);
  }

  appendFrame(frame: NumberedFrame): void {
    this.flush();
    this.#push(frame);
  }

  /** Puts a control frame behind everything produced so far; returns its `at`. */
  appendControl(frame: ControlFrame): number {
    this.flush();
    const at = this.end;
    if (this.#closed) return at;
    // The end has told the consumers already that no barrier will come.
    if (frame.kind === 'cancel' && this.#ended === 'partition') return at;
    assert(this.#ended !== 'partition', 'a control frame behind the end of the partition');
    if (frame.kind === 'endOfPartition') this.#ended = 'partition';
    this.#controls.push({ at, frame, sent: false });
    this.transmit();
    return at;
  }

  /** Gives what is open its number and sends it if it can go. */
  flush(): void {
    this.#closeBatch();
    this.#closeWatermark();
    this.#closeMarkers();
  }

  /** Checkpoint `id` is durable: frames before its barrier will never be asked for again. */
  complete(id: number): void {
    const barrier = this.#controls.find((entry) => barrierId(entry) === id);
    if (barrier !== undefined) this.#truncate(barrier.at);
    this.#controls = this.#controls.filter(({ frame }) => checkpointId(frame) > id);
  }

  /** Checkpoint `id` will never complete: its barrier is forgotten, frames stay. */
  abort(id: number): void {
    this.#controls = this.#controls.filter((entry) => barrierId(entry) !== id);
    this.transmit();
  }

  subscribe(message: SubscribeMessage, send: SendFrame): SubscribeOutcome {
    if (!isSameAttempt(message.producerAttempt, this.descriptor.producer.attempt)) return 'ignored';
    const outdated =
      this.#connection !== null && compareConnections(message.connection, this.#connection) <= 0;
    if (outdated || this.#closed) return 'ignored';
    assert(message.from <= this.end, 'a consumer asks for frames that were never produced');
    if (message.from < this.#base) return 'unavailable';
    this.#connection = message.connection;
    this.#send = send;
    this.#credit = message.credit;
    this.#next = message.from;
    // Markers of another connection would tell of its time, not of that of records.
    this.#controls = this.#controls.filter(({ frame }) => frame.kind !== 'latency');
    for (const entry of this.#controls) {
      entry.sent = entry.at < message.from || checkpointId(entry.frame) <= message.ignoreUpTo;
    }
    if (!this.#options.logged) this.#dropSent();
    this.transmit();
    return 'connected';
  }

  /** True when something could go that had to wait for it. */
  grant(message: CreditMessage): boolean {
    if (this.#connection === null) return false;
    if (compareConnections(message.connection, this.#connection) !== 0) return false;
    this.#credit += message.credit;
    const { unsent } = this;
    this.transmit();
    return this.unsent < unsent;
  }

  /** Sends whatever may go now. Harmless to call at any time. */
  transmit(): void {
    if (this.#closed || this.#connection === null) return;
    try {
      while (this.#transmitOne());
    } catch (error) {
      if (!isWeirError(error) || error.code !== 'SERIALIZATION_FAILED') throw error;
      this.close();
      this.#owner.onSendError(error, this);
    }
    this.#updateFull();
  }

  /** Lets go of everything; nothing is sent any more. */
  close(): void {
    this.#closed = true;
    this.#frames = [];
    this.#base = this.#next;
    this.#controls = [];
    this.#values = null;
    this.#pendingWatermark = null;
    this.#pendingMarkers = [];
    this.#send = null;
    this.#updateFull();
  }

  #openBatch(): unknown[] {
    this.#closeWatermark();
    const values: unknown[] = [];
    this.#values = values;
    return values;
  }

  #stamp(index: number, timestamp: number): void {
    let timestamps = this.#timestamps;
    if (timestamps === null || index >= timestamps.length) timestamps = this.#makeRoom(index);
    timestamps[index] = timestamp;
    this.#hasTimestamps = true;
  }

  /** Doubled, since most channels of a wide job never fill a batch. */
  #makeRoom(index: number): Float64Array {
    const known = this.#timestamps;
    const length = Math.max(index + 1, Math.min(BATCH_SIZE, 2 * (known?.length ?? 8)));
    const timestamps = new Float64Array(length).fill(Number.NaN);
    if (known !== null) timestamps.set(known);
    this.#timestamps = timestamps;
    return timestamps;
  }

  #closeBatch(): void {
    const values = this.#values;
    if (values === null) return;
    this.#values = null;
    let timestamps: Float64Array | null = null;
    if (this.#hasTimestamps && this.#timestamps !== null) {
      timestamps = this.#timestamps.slice(0, values.length);
      this.#timestamps.fill(Number.NaN, 0, values.length);
      this.#hasTimestamps = false;
    }
    this.#push({ kind: 'records', batch: { values, timestamps } });
    this.#closeMarkers();
  }

  #closeMarkers(): void {
    if (this.#pendingMarkers.length === 0) return;
    const markers = this.#pendingMarkers;
    this.#pendingMarkers = [];
    for (const marker of markers)
      this.#controls.push({ at: this.end, frame: { kind: 'latency', marker }, sent: false });
    this.transmit();
  }

  #closeWatermark(): void {
    const timestamp = this.#pendingWatermark;
    if (timestamp === null) return;
    this.#pendingWatermark = null;
    this.#push({ kind: 'watermark', timestamp });
  }

  #push(frame: NumberedFrame): void {
    if (this.#closed) return;
    assert(this.#ended === 'no', 'a frame behind the end of the data');
    if (frame.kind === 'endOfData') this.#ended = 'data';
    this.#frames.push(frame);
    this.transmit();
    this.#updateFull();
  }

  #transmitOne(): boolean {
    const control = this.#controls.find((entry) => !entry.sent);
    if (control !== undefined && control.at === this.#next) {
      control.sent = true;
      assert(this.#sendFrame(control.at, control.frame), 'a link refused a control frame');
      if (control.frame.kind === 'latency')
        this.#controls = this.#controls.filter((entry) => entry !== control);
      if (!this.#options.logged) this.#dropSent();
      return true;
    }
    assert(control === undefined || control.at > this.#next, 'an unsent barrier was passed');
    const frame = this.#frames[this.#next - this.#base];
    if (frame === undefined || this.#credit === 0) return false;
    if (!this.#sendFrame(this.#next, frame)) return false;
    this.#next++;
    this.#credit--;
    if (!this.#options.logged) this.#dropSent();
    return true;
  }

  #dropSent(): void {
    this.#truncate(this.#next);
    if (this.#controls.length > 0) this.#controls = this.#controls.filter((entry) => !entry.sent);
  }

  #sendFrame(position: number, frame: NumberedFrame | ControlFrame): boolean {
    assert(this.#connection !== null && this.#send !== null, 'sent without a connection');
    const { channelId } = this.descriptor;
    const message: FrameMessage = {
      type: 'frame',
      channelId,
      connection: this.#connection,
      position,
      frame,
    };
    return this.#send(message, this);
  }

  #truncate(at: number): void {
    if (at <= this.#base) return;
    assert(at <= this.#next, 'frames were dropped before they were sent');
    this.#frames.splice(0, at - this.#base);
    this.#base = at;
  }

  #updateFull(): void {
    const full = !this.#closed && this.unsent >= this.#options.unsentMax;
    if (full === this.#full) return;
    this.#full = full;
    this.#owner.onFullChanged(full);
  }
}

/** The end of a partition and a marker belong to no checkpoint, so none covers them. */
function checkpointId(frame: ControlFrame): number {
  switch (frame.kind) {
    case 'barrier':
      return frame.trigger.checkpointId;
    case 'cancel':
      return frame.checkpointId;
    case 'endOfPartition':
    case 'latency':
      return Infinity;
  }
}

function barrierId({ frame }: ControlEntry): number | null {
  return frame.kind === 'barrier' ? frame.trigger.checkpointId : null;
}
