/**
 * The HTTP sink stands the cases that every sink must stand, against a real server that it reaches
 * through loopback. Each process has a path of its own, so that the server knows at whose gate a
 * request arrives; a request or an answer that is lost there is a connection that breaks.
 */
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { httpSink } from '@weir/core';
import { MemoryFileSystem } from '@weir/core/internal/storage/memory-file-system';
import { sinkConformance } from '@weir/testing';
import type { ConformanceSystem, ProcessGate } from '@weir/testing';

type Accept = (key: string, body: string) => Promise<void>;

const processes: Accept[] = [];
const server: Server = createServer((request, response) => void serve(request, response));
let port = 0;

before(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  port = (server.address() as AddressInfo).port;
});
after(() => {
  server.closeAllConnections();
  server.close();
});

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const accept = processes[Number(request.url?.slice(1))];
  try {
    await accept?.(String(request.headers['idempotency-key']), Buffer.concat(chunks).toString());
    response.end();
  } catch {
    response.destroy();
  }
}

/** As a service that is started anew on its disk: connections break, its keys stay. */
async function restart(): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
}

/** A service that keeps what it is sent; with `deduplicates`, each key once. */
class Receiver implements ConformanceSystem<number> {
  /** Confirmations are kept in files. */
  readonly fileSystem: MemoryFileSystem = new MemoryFileSystem();
  readonly #deduplicates: boolean;
  readonly #keys = new Set<string>();
  readonly #received: number[] = [];

  constructor(deduplicates: boolean) {
    this.#deduplicates = deduplicates;
  }

  visible(): readonly number[] {
    return this.#received;
  }

  unfinished(): readonly string[] {
    return [];
  }

  restart(): Promise<void> {
    return restart();
  }

  take(key: string, body: string): void {
    if (this.#deduplicates && this.#keys.has(key)) return;
    this.#keys.add(key);
    for (const line of body.trim().split('\n')) this.#received.push(Number(line));
  }
}

function urlThrough(receiver: Receiver, gate: ProcessGate): string {
  const id = processes.push((key, body) =>
    gate.call('request', async () => receiver.take(key, body)),
  );
  return `http://127.0.0.1:${port}/${id - 1}`;
}

const SENT_AGAIN =
  'only the receiver knows what it has: everything can be sent again, under its key';

const KINDS = [
  { receives: 'takes each key once', receiverDeduplicates: true, confirms: false },
  { receives: 'takes each key once, confirmed', receiverDeduplicates: true, confirms: true },
  { receives: 'takes everything', receiverDeduplicates: false, confirms: true },
];
for (const { receives, receiverDeduplicates, confirms } of KINDS) {
  const cases = sinkConformance(
    (receiver: Receiver, gate) =>
      httpSink<number>({
        url: urlThrough(receiver, gate),
        receiverDeduplicates,
        batchSize: 2,
        ...(confirms ? { confirmations: '/confirmations' } : {}),
      }),
    () => new Receiver(receiverDeduplicates),
    {
      record: (n) => n,
      ...(confirms ? {} : { without: { probe: SENT_AGAIN } }),
    },
  );
  for (const { name, run } of cases) test(`httpSink to one that ${receives}: ${name}`, run);
}
