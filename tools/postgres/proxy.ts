/**
 * A TCP proxy before a PostgreSQL server that reads the text of each simple query: it can hold a
 * statement back, cut the connection instead of forwarding it, or lose the answer after the server
 * acted. That is how a test stops a process exactly between PREPARE and COMMIT PREPARED.
 */
import { connect, createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';

export type Verdict = 'forward' | 'hold' | 'cut' | 'lose-answer';

const QUERY = 'Q'.charCodeAt(0);

export class PostgresProxy {
  /** Decides on every simple query; default: all are forwarded. */
  verdict: (sql: string) => Verdict = () => 'forward';
  readonly port: number;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(server: Server) {
    this.#server = server;
    this.port = (server.address() as AddressInfo).port;
  }

  /** Listens on a free port of loopback. The target may be given later, before the first client. */
  static async listen(target: () => { host: string; port: number }): Promise<PostgresProxy> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const proxy = new PostgresProxy(server);
    server.on('connection', (client) => proxy.#serve(client, target()));
    return proxy;
  }

  /** Ends every connection; new ones are served. */
  cutAll(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async close(): Promise<void> {
    this.cutAll();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #serve(client: Socket, { host, port }: { host: string; port: number }): void {
    const server = connect(port, host);
    for (const socket of [client, server]) {
      socket.setNoDelay(true);
      this.#sockets.add(socket);
      socket.on('error', () => socket.destroy());
      socket.on('close', () => {
        this.#sockets.delete(socket);
        client.destroy();
        server.destroy();
      });
    }
    let isLost = false;
    server.on('data', (bytes) => (isLost ? client.destroy() : client.write(bytes)));
    const frames = new Frames();
    client.on('data', (bytes) => {
      for (const frame of frames.take(bytes)) {
        const verdict = frame[0] === QUERY ? this.verdict(textOf(frame)) : 'forward';
        if (verdict === 'cut') return void client.destroy();
        if (verdict === 'lose-answer') isLost = true;
        if (verdict !== 'hold') server.write(frame);
      }
    });
  }
}

/** Cuts what a client sends into messages: the first has no type byte. */
class Frames {
  #waiting: Buffer = Buffer.alloc(0);
  #isFirst = true;

  *take(bytes: Buffer): Generator<Buffer> {
    this.#waiting = this.#waiting.length === 0 ? bytes : Buffer.concat([this.#waiting, bytes]);
    for (;;) {
      const typeBytes = this.#isFirst ? 0 : 1;
      if (this.#waiting.length < typeBytes + 4) return;
      const size = this.#waiting.readInt32BE(typeBytes) + typeBytes;
      if (this.#waiting.length < size) return;
      const frame = this.#waiting.subarray(0, size);
      this.#waiting = this.#waiting.subarray(size);
      this.#isFirst = false;
      yield frame;
    }
  }
}

function textOf(frame: Buffer): string {
  return frame.toString('utf8', 5, frame.length - 1);
}
