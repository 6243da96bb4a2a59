/**
 * A link to another thread of this process: a ring for each direction, through which all channels
 * between the two threads go. Numbered frames are refused while the ring is congested, and then
 * stay in their channel's queue; control frames, subscribes and credit are always taken, so that
 * neither a barrier nor the credit that would free the ring ever waits for data. Order is kept:
 * whatever was taken waits in line behind what was taken before.
 */
import type { DataLink } from './data-exchange.ts';
import type { FrameCodec } from './frame-codec.ts';
import { isNumbered } from './frame.ts';
import type { WireMessage } from './frame.ts';
import { RingReader, RingWriter } from './shared-ring.ts';
import type { ThreadSignal } from './thread-signal.ts';

export interface RingLinkOptions {
  /** Ring written here and read by the peer, and the other way round. */
  readonly outgoing: SharedArrayBuffer;
  readonly incoming: SharedArrayBuffer;
  /** The peer's signal. */
  readonly peer: ThreadSignal;
  readonly codec: FrameCodec;
}

export class RingLink implements DataLink {
  readonly #writer: RingWriter;
  readonly #reader: RingReader;
  readonly #peer: ThreadSignal;
  readonly #codec: FrameCodec;

  constructor(options: RingLinkOptions) {
    this.#writer = new RingWriter(options.outgoing);
    this.#reader = new RingReader(options.incoming);
    this.#peer = options.peer;
    this.#codec = options.codec;
  }

  send(message: WireMessage): boolean {
    const mayWait = message.type === 'frame' && isNumbered(message.frame);
    if (mayWait && this.#writer.isCongested) return false;
    const { header, payload } = this.#codec.encode(message);
    this.#writer.write(header, payload);
    this.#peer.wake();
    return true;
  }

  poll(receive: (message: WireMessage) => void): boolean {
    let moved = this.#writer.flush();
    if (moved) this.#peer.wake();
    for (let bytes = this.#read(); bytes !== null; bytes = this.#read()) {
      receive(this.#codec.decode(bytes));
      moved = true;
    }
    return moved;
  }

  #read(): Uint8Array | null {
    const bytes = this.#reader.read();
    if (this.#reader.takeSpaceWanted()) this.#peer.wake();
    return bytes;
  }
}
