/**
 * A TCP proxy before a server that looks at each request: it can hold one back, cut the connection
 * instead of forwarding it, or lose the answer after the server acted. That is how a test stops a
 * process exactly between pre-commit and commit.
 */
import { connect, createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';

export type Verdict = 'forward' | 'hold' | 'cut' | 'lose-answer';

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** One message of a client, and what a verdict is given on; `null`: it is forwarded. */
export interface ClientFrame<Request> {
  readonly bytes: Buffer;
  readonly request: Request | null;
}

/** Cuts what one client sends into its messages; what is not whole yet it keeps. */
export type FrameCutter<Request> = (bytes: Buffer) => Iterable<ClientFrame<Request>>;

export class RequestProxy<Request> {
  /** Decides on every request; default: all are forwarded. */
  verdict: (request: Request) => Verdict = () => 'forward';
  readonly port: number;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(server: Server) {
    this.#server = server;
    this.port = (server.address() as AddressInfo).port;
  }

  /**
   * Listens on a free port of loopback. The target may be given later, before the first client;
   * each client has a cutter of its own.
   */
  static async listen<R>(
    target: () => Address,
    newCutter: () => FrameCutter<R>,
  ): Promise<RequestProxy<R>> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const proxy = new RequestProxy<R>(server);
    server.on('connection', (client) => proxy.#serve(client, target(), newCutter()));
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

  #serve(client: Socket, { host, port }: Address, cut: FrameCutter<Request>): void {
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
    client.on('data', (data) => {
      for (const { bytes, request } of cut(data)) {
        const verdict = request === null ? 'forward' : this.verdict(request);
        if (verdict === 'cut') return void client.destroy();
        if (verdict === 'lose-answer') isLost = true;
        if (verdict !== 'hold') server.write(bytes);
      }
    });
  }
}
