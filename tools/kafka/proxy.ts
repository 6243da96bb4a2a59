/**
 * A TCP proxy before a broker that sees the kind of each request: it can hold a request back, cut
 * the connection instead of forwarding it, or cut it after forwarding, so that the answer is lost.
 * That is how a test stops a process exactly between pre-commit and commit.
 */
import { connect, createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';

/** What happens to a request: by Kafka's number of its kind. */
export type Verdict = 'forward' | 'hold' | 'cut' | 'lose-answer';

export const END_TXN_KEY = 26;

export class KafkaProxy {
  /** Decides on every request; default: all are forwarded. */
  verdict: (apiKey: number) => Verdict = () => 'forward';
  readonly port: number;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(server: Server) {
    this.#server = server;
    this.port = (server.address() as AddressInfo).port;
  }

  /** Listens on a free port of loopback. The target may be given later, before the first client. */
  static async listen(target: () => { host: string; port: number }): Promise<KafkaProxy> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const proxy = new KafkaProxy(server);
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
    const broker = connect(port, host);
    for (const socket of [client, broker]) {
      socket.setNoDelay(true);
      this.#sockets.add(socket);
      socket.on('error', () => socket.destroy());
      socket.on('close', () => {
        this.#sockets.delete(socket);
        client.destroy();
        broker.destroy();
      });
    }
    let isLost = false;
    broker.on('data', (bytes) => (isLost ? client.destroy() : client.write(bytes)));
    let waiting: Buffer = Buffer.alloc(0);
    client.on('data', (bytes) => {
      waiting = waiting.length === 0 ? bytes : Buffer.concat([waiting, bytes]);
      while (waiting.length >= 6) {
        const frameBytes = waiting.readInt32BE(0) + 4;
        if (waiting.length < frameBytes) return;
        const verdict = this.verdict(waiting.readInt16BE(4));
        if (verdict === 'cut') return void client.destroy();
        if (verdict === 'lose-answer') isLost = true;
        if (verdict !== 'hold') broker.write(waiting.subarray(0, frameBytes));
        waiting = waiting.subarray(frameBytes);
      }
    });
  }
}
