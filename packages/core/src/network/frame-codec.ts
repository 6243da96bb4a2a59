/**
 * Messages between threads and processes as bytes: a header of fixed size and a payload.
 *
 *     0 kind u8 · 1 flags u8 · 2 channel u32 · 6 consumer attempt: epoch u53, counter u53
 *     22 subscribe u53 · 30 number or `at` u53 · 38 checkpoint id u53 · 46 payload length u32
 *
 * Little-endian; u53 is a whole number in 8 bytes. Payloads: a record batch by its codec; f64 of a
 * watermark; JSON of a barrier's time and options; time, subtask and id of a latency marker;
 * attempt and credit of a subscribe. A record batch is encoded here and nowhere else, so frames
 * within a thread never meet a codec.
 */
import { Buffer } from 'node:buffer';
import { assert } from '../base/assert.ts';
import { BinaryReader } from '../base/codec/binary-reader.ts';
import { BinaryWriter } from '../base/codec/binary-writer.ts';
import { SerializationError } from '../base/errors.ts';
import type { OperatorId } from '../base/ids.ts';
import type { CheckpointTrigger } from '../protocol/messages.ts';
import type { BatchCodec } from './batch-codec.ts';
import type { Connection, Frame, FrameMessage, WireMessage } from './frame.ts';

export const HEADER_BYTES = 50;

const PAYLOAD_BYTES = 1 << 16;
/** A buffer that grew beyond this is not kept for the next message. */
const KEPT_BYTES_MAX = 4 * 1024 * 1024;

/** Part of the format: a number is never used again for something else. */
const RECORDS = 1;
const WATERMARK = 2;
const IDLE = 3;
const END_OF_DATA = 4;
const BARRIER = 5;
const CANCEL = 6;
const END_OF_PARTITION = 7;
const SUBSCRIBE = 8;
const CREDIT = 9;
const LATENCY = 10;

/** Unaligned barrier, idle (not active). */
const FLAG = 1;

/** Head and body of a message: valid until the next one is encoded. */
export interface EncodedMessage {
  readonly header: Uint8Array;
  readonly payload: Uint8Array;
}

interface Header {
  readonly kind: number;
  readonly flag: boolean;
  readonly channelId: number;
  readonly connection: Connection;
  readonly position: number;
  readonly checkpointId: number;
}

export class FrameCodec {
  readonly #batches: BatchCodec;
  readonly #header: BinaryWriter = new BinaryWriter(HEADER_BYTES);
  #payload: BinaryWriter = new BinaryWriter(PAYLOAD_BYTES);

  constructor(batches: BatchCodec) {
    this.#batches = batches;
  }

  /** Throws `SerializationError` when a record cannot be encoded. */
  encode(message: WireMessage): EncodedMessage {
    if (this.#payload.length > KEPT_BYTES_MAX) this.#payload = new BinaryWriter(PAYLOAD_BYTES);
    this.#payload.reset();
    const { channelId, connection } = message;
    const rest = this.#encodeRest(message);
    this.#writeHeader({ flag: false, checkpointId: 0, channelId, connection, ...rest });
    return { header: this.#header.view(), payload: this.#payload.view() };
  }

  decode(bytes: Uint8Array): WireMessage {
    const input = new BinaryReader(bytes);
    const header = readHeader(input);
    if (input.u32() !== input.remaining)
      throw new SerializationError('a frame is not as long as its header says', {
        details: { channelId: header.channelId, sizeBytes: bytes.length },
      });
    const { kind, channelId, connection, position } = header;
    if (kind === SUBSCRIBE)
      return {
        type: 'subscribe',
        channelId,
        connection,
        from: position,
        ignoreUpTo: header.checkpointId,
        producerAttempt: { epoch: readU53(input), counter: readU53(input) },
        credit: input.u32(),
      };
    if (kind === CREDIT) return { type: 'credit', channelId, connection, credit: input.u32() };
    const frame = this.#decodeFrame(header, input);
    return { type: 'frame', channelId, connection, position, frame };
  }

  #encodeRest(message: WireMessage): Pick<Header, 'kind' | 'position'> & Partial<Header> {
    switch (message.type) {
      case 'frame':
        return { position: message.position, ...this.#encodeFrame(message) };
      case 'subscribe':
        writeU53(this.#payload, message.producerAttempt.epoch);
        writeU53(this.#payload, message.producerAttempt.counter);
        this.#payload.u32(message.credit);
        return { kind: SUBSCRIBE, position: message.from, checkpointId: message.ignoreUpTo };
      case 'credit':
        this.#payload.u32(message.credit);
        return { kind: CREDIT, position: 0 };
    }
  }

  #encodeFrame({ frame, channelId }: FrameMessage): Pick<Header, 'kind'> & Partial<Header> {
    switch (frame.kind) {
      case 'records':
        this.#batches.encode(frame.batch, this.#payload, channelId);
        return { kind: RECORDS };
      case 'watermark':
        this.#payload.f64(frame.timestamp);
        return { kind: WATERMARK };
      case 'idle':
        return { kind: IDLE, flag: frame.idle };
      case 'endOfData':
        return { kind: END_OF_DATA, checkpointId: frame.savepointId };
      case 'barrier': {
        const { checkpointId, ...rest } = frame.trigger;
        this.#payload.bytes(Buffer.from(JSON.stringify(rest)));
        return { kind: BARRIER, flag: frame.unaligned, checkpointId };
      }
      case 'latency': {
        const { markedAt, sourceSubtask, sourceId } = frame.marker;
        this.#payload.f64(markedAt);
        this.#payload.u32(sourceSubtask);
        this.#payload.string(sourceId);
        return { kind: LATENCY };
      }
      case 'cancel':
        return { kind: CANCEL, checkpointId: frame.checkpointId };
      case 'endOfPartition':
        return { kind: END_OF_PARTITION };
    }
  }

  #decodeFrame({ kind, flag, checkpointId }: Header, input: BinaryReader): Frame {
    switch (kind) {
      case RECORDS:
        return { kind: 'records', batch: this.#batches.decode(input) };
      case WATERMARK:
        return { kind: 'watermark', timestamp: input.f64() };
      case IDLE:
        return { kind: 'idle', idle: flag };
      case END_OF_DATA:
        return { kind: 'endOfData', savepointId: checkpointId };
      case BARRIER: {
        const text = Buffer.from(input.bytes(input.remaining)).toString();
        // Written by this class from a trigger; both ends run the same version.
        const rest = JSON.parse(text) as Omit<CheckpointTrigger, 'checkpointId'>;
        return { kind: 'barrier', trigger: { checkpointId, ...rest }, unaligned: flag };
      }
      case LATENCY: {
        const [markedAt, sourceSubtask] = [input.f64(), input.u32()];
        const sourceId = input.string() as OperatorId;
        return { kind: 'latency', marker: { sourceId, sourceSubtask, markedAt } };
      }
      case CANCEL:
        return { kind: 'cancel', checkpointId };
      case END_OF_PARTITION:
        return { kind: 'endOfPartition' };
      default:
        throw new SerializationError(`cannot read a frame: there is no kind ${kind}`);
    }
  }

  #writeHeader(header: Header): void {
    const output = this.#header;
    const { consumerAttempt, subscribe } = header.connection;
    output.reset();
    output.u8(header.kind);
    output.u8(header.flag ? FLAG : 0);
    output.u32(header.channelId);
    writeU53(output, consumerAttempt.epoch);
    writeU53(output, consumerAttempt.counter);
    writeU53(output, subscribe);
    writeU53(output, header.position);
    writeU53(output, header.checkpointId);
    output.u32(this.#payload.length);
    assert(output.length === HEADER_BYTES, 'the header of a frame has another size');
  }
}

function readHeader(input: BinaryReader): Header {
  return {
    kind: input.u8(),
    flag: (input.u8() & FLAG) !== 0,
    channelId: input.u32(),
    connection: {
      consumerAttempt: { epoch: readU53(input), counter: readU53(input) },
      subscribe: readU53(input),
    },
    position: readU53(input),
    checkpointId: readU53(input),
  };
}

const U32_RANGE = 2 ** 32;

function writeU53(output: BinaryWriter, value: number): void {
  assert(Number.isSafeInteger(value) && value >= 0, 'a number in a frame is not a u53');
  output.u32(value % U32_RANGE);
  output.u32(Math.floor(value / U32_RANGE));
}

function readU53(input: BinaryReader): number {
  const low = input.u32();
  return low + input.u32() * U32_RANGE;
}
