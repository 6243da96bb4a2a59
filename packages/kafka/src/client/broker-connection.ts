/**
 * One connection to one broker: sends a request and answers with the parsed response. The client
 * library brings the socket, TLS, SASL and the matching of responses to requests; the bytes of
 * requests and responses are our own, read from one contiguous buffer. A connection that broke is
 * not repaired: whoever holds it opens another.
 */
import { isIP } from 'node:net';
import { Connection, Writer } from '@platformatic/kafka';
import type { Reader } from '@platformatic/kafka';
import type { Security } from '../security.ts';
import type { Api } from '../wire/api.ts';
import { WireReader } from '../wire/wire-reader.ts';
import { WireWriter } from '../wire/wire-writer.ts';
import { API_VERSIONS } from '../wire/metadata.ts';
import { turnedAway, unreachable } from './connection-errors.ts';
import type { SecurityInUse } from './connection-errors.ts';
import { brokenAnswer, unsupportedVersion } from './kafka-errors.ts';

export interface BrokerConnectionOptions extends Security {
  readonly clientId: string;
  readonly connectTimeoutMs: number;
  readonly requestTimeoutMs: number;
}

export interface BrokerConnection {
  readonly isOpen: boolean;
  call<Request, Response>(api: Api<Request, Response>, request: Request): Promise<Response>;
  close(): Promise<void>;
}

/** How connections are made; the model of a broker in tests replaces it. */
export type Connect = (host: string, port: number) => Promise<BrokerConnection>;

export function tcpConnect(options: BrokerConnectionOptions): Connect {
  return async (host, port) => {
    const connection = new Connection(options.clientId, {
      connectTimeout: options.connectTimeoutMs,
      requestTimeout: options.requestTimeoutMs,
      maxInflights: 64,
      ...(options.tls === undefined ? {} : { tls: options.tls, ...serverName(options.tls, host) }),
      ...(options.sasl === undefined ? {} : { sasl: options.sasl }),
    });
    // The promise of `connect` reports a failure to connect; what breaks an open connection comes
    // here alone. Without a listener it would be thrown.
    let broken: unknown = null;
    connection.on('error', (error) => {
      broken = error;
    });
    const security = { hasTls: options.tls !== undefined, hasSasl: options.sasl !== undefined };
    try {
      await connection.connect(host, port);
    } catch (error) {
      await connection.close().catch(() => undefined);
      throw turnedAway(`${host}:${port}`, error, security);
    }
    const facts = { ...security, brokenBy: () => broken };
    const open = new TcpConnection(connection, `${host}:${port}`, facts);
    try {
      await open.negotiate();
    } catch (error) {
      await open.close().catch(() => undefined);
      throw error;
    }
    return open;
  };
}

/** The name that the broker's certificate must have; TLS does not allow it to be an address. */
function serverName(
  tls: NonNullable<Security['tls']>,
  host: string,
): { readonly tlsServerName: string | boolean } {
  return { tlsServerName: tls.servername ?? isIP(host) === 0 };
}

class TcpConnection implements BrokerConnection {
  readonly #connection: Connection;
  readonly #address: string;
  readonly #facts: SecurityInUse & { readonly brokenBy: () => unknown };
  /** Whether a request that needs rights was answered. */
  #isAccepted = false;
  #ranges: ReadonlyMap<number, { readonly min: number; readonly max: number }> = new Map();

  constructor(
    connection: Connection,
    address: string,
    facts: SecurityInUse & { readonly brokenBy: () => unknown },
  ) {
    this.#connection = connection;
    this.#address = address;
    this.#facts = facts;
  }

  get isOpen(): boolean {
    return this.#connection.isConnected();
  }

  async negotiate(): Promise<void> {
    const { ranges } = await this.#send(API_VERSIONS, null, API_VERSIONS.maxVersion);
    this.#ranges = ranges;
  }

  call<Request, Response>(api: Api<Request, Response>, request: Request): Promise<Response> {
    const range = this.#ranges.get(api.key);
    const version = Math.min(api.maxVersion, range?.max ?? -1);
    if (version < api.minVersion || version < (range?.min ?? 0))
      return Promise.reject(unsupportedVersion(this.#address, api, range));
    return this.#send(api, request, version);
  }

  close(): Promise<void> {
    return this.#connection.close();
  }

  #send<Request, Response>(
    api: Api<Request, Response>,
    request: Request,
    version: number,
  ): Promise<Response> {
    const body = new WireWriter();
    api.write(body, request, version);
    const answered = new Promise<Buffer>((resolve, reject) => {
      this.#connection.send<Buffer>(
        api.key,
        version,
        () => Writer.create().append(body.finish()),
        (_correlation, _key, _version, reader: Reader) => reader.buffer.buffer,
        true,
        api.key !== API_VERSIONS.key,
        (error, response) => {
          if (error !== null && error !== undefined) return reject(this.#lost(error));
          this.#isAccepted ||= api.key !== API_VERSIONS.key;
          resolve(response ?? Buffer.alloc(0));
        },
      );
    });
    return answered.then((response) => {
      try {
        return api.read(new WireReader(response), version);
      } catch (cause) {
        throw brokenAnswer(this.#address, api.name, cause);
      }
    });
  }

  #lost(error: unknown): Error {
    const cause = this.#facts.brokenBy() ?? error;
    if (this.#isAccepted) return unreachable(this.#address, cause);
    return turnedAway(this.#address, cause, this.#facts);
  }
}
