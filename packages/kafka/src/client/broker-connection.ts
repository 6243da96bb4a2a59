/**
 * One connection to one broker: sends a request and answers with the parsed response. The client
 * library brings the socket, TLS, SASL and the matching of responses to requests; the bytes of
 * requests and responses are our own, read from one contiguous buffer. A connection that broke is
 * not repaired: whoever holds it opens another.
 */
import { Connection, Writer } from '@platformatic/kafka';
import type { ConnectionOptions, Reader } from '@platformatic/kafka';
import type { Api } from '../wire/api.ts';
import { WireReader } from '../wire/wire-reader.ts';
import { WireWriter } from '../wire/wire-writer.ts';
import { API_VERSIONS } from '../wire/metadata.ts';
import { brokenAnswer, unreachable, unsupportedVersion } from './kafka-errors.ts';

export interface Security {
  /** Options of `tls.connect`: certificates, keys. Present: TLS is used. */
  readonly tls?: ConnectionOptions['tls'];
  /** `{ mechanism: 'SCRAM-SHA-256', username, password }`, `PLAIN`, `OAUTHBEARER` with `token`. */
  readonly sasl?: ConnectionOptions['sasl'];
}

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
      ...(options.tls === undefined ? {} : { tls: options.tls, tlsServerName: true }),
      ...(options.sasl === undefined ? {} : { sasl: options.sasl }),
    });
    // The promise of `connect` reports the failure; without a listener it would be thrown as well.
    connection.on('error', () => undefined);
    try {
      await connection.connect(host, port);
    } catch (error) {
      await connection.close().catch(() => undefined);
      throw unreachable(`${host}:${port}`, error);
    }
    const open = new TcpConnection(connection, `${host}:${port}`);
    await open.negotiate();
    return open;
  };
}

class TcpConnection implements BrokerConnection {
  readonly #connection: Connection;
  readonly #address: string;
  #ranges: ReadonlyMap<number, { readonly min: number; readonly max: number }> = new Map();

  constructor(connection: Connection, address: string) {
    this.#connection = connection;
    this.#address = address;
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
          if (error !== null && error !== undefined) reject(unreachable(this.#address, error));
          else resolve(response ?? Buffer.alloc(0));
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
}
