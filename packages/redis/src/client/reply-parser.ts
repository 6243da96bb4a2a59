/**
 * Replies of Redis (RESP2) out of the bytes of a connection, however these are cut. Cost: the bytes
 * of one reply are held until it is whole; of a list, only those of the element that is not.
 */
import type { Reply } from './session.ts';

/** A refusal: the text behind the minus sign. */
export class ReplyError extends Error {
  constructor(text: string) {
    super(text);
    this.name = 'ReplyError';
  }
}

interface OpenList {
  readonly items: Reply[];
  readonly count: number;
}

const CR = 0x0d;
/** A line of a reply is a number or a short text; without an end, this is no Redis. */
const LINE_BYTES_MAX = 64 * 1024;

export class ReplyParser {
  readonly #onReply: (reply: Reply) => void;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  /** Before so many bytes are there, it is no use to look. */
  #neededBytes = 0;
  /** Lists that are not whole, the outermost first. */
  readonly #open: OpenList[] = [];
  #bytes: Buffer = Buffer.alloc(0);
  #place = 0;

  constructor(onReply: (reply: Reply) => void) {
    this.#onReply = onReply;
  }

  /** @throws Error when the bytes are no replies. */
  read(data: Buffer): void {
    this.#waiting.push(data);
    this.#waitingBytes += data.length;
    if (this.#waitingBytes < this.#neededBytes) return;
    const [first = data] = this.#waiting;
    this.#bytes = this.#waiting.length === 1 ? first : Buffer.concat(this.#waiting);
    this.#place = 0;
    this.#neededBytes = 0;
    while (this.#place < this.#bytes.length) if (!this.#readElement()) break;
    const rest = this.#bytes.subarray(this.#place);
    this.#waiting = rest.length === 0 ? [] : [rest];
    this.#waitingBytes = rest.length;
    this.#bytes = rest;
  }

  /** Whether an element was whole; if not, the place is still where it begins. */
  #readElement(): boolean {
    const start = this.#place;
    const end = this.#bytes.indexOf(CR, start);
    if (end === -1 || end + 1 >= this.#bytes.length) {
      if (this.#bytes.length - start > LINE_BYTES_MAX) throw noReply();
      return false;
    }
    const line = this.#bytes.toString('utf8', start + 1, end);
    this.#place = end + 2;
    switch (this.#bytes[start]) {
      case 0x2b: // +
        this.#add(line);
        return true;
      case 0x2d: // -
        this.#add(new ReplyError(line));
        return true;
      case 0x3a: // :
        this.#add(whole(line));
        return true;
      case 0x24: // $
        return this.#readText(start, whole(line));
      case 0x2a: // *
        this.#readList(whole(line));
        return true;
      default:
        throw noReply();
    }
  }

  #readText(start: number, sizeBytes: number): boolean {
    if (sizeBytes < 0) {
      this.#add(null);
      return true;
    }
    const end = this.#place + sizeBytes;
    if (end + 2 > this.#bytes.length) {
      this.#place = start;
      this.#neededBytes = end + 2 - start;
      return false;
    }
    this.#add(this.#bytes.toString('utf8', this.#place, end));
    this.#place = end + 2;
    return true;
  }

  #readList(count: number): void {
    if (count > 0) this.#open.push({ items: [], count });
    else this.#add(count < 0 ? null : []);
  }

  #add(element: Reply): void {
    let done = element;
    for (let list = this.#open.at(-1); list !== undefined; list = this.#open.at(-1)) {
      list.items.push(done);
      if (list.items.length < list.count) return;
      this.#open.pop();
      done = list.items;
    }
    this.#onReply(done);
  }
}

function whole(text: string): number {
  const value = Number(text);
  if (text === '' || !Number.isInteger(value)) throw noReply();
  return value;
}

function noReply(): Error {
  return new Error('what answers is no Redis server: its bytes are no replies');
}
