/** What source and sink need to reach a cluster. */
import { ConfigurationError } from '@weir/core';
import type { ConnectorEnvironment } from '@weir/core';
import { tcpConnect } from './client/broker-connection.ts';
import type { Connect } from './client/broker-connection.ts';
import { KafkaCluster } from './client/cluster.ts';
import type { Security } from './security.ts';

export interface KafkaConnectionOptions extends Security {
  /** `host:port` of some brokers; the others are found through them. */
  readonly bootstrap: string | readonly string[];
  /** Name under which the broker counts and logs this client. Default `weir`. */
  readonly clientId?: string;
  /** Default 10 s. */
  readonly connectTimeoutMs?: number;
  /** Default 30 s. */
  readonly requestTimeoutMs?: number;
  /**
   * How long a broker that does not answer, or a leader that moves, is waited for before the job is
   * restarted by its restart strategy. Default 60 s.
   */
  readonly retryForMs?: number;
}

interface BrokerPlace {
  readonly host: string;
  readonly port: number;
}

/** How to reach the cluster, checked when source or sink is made: wrong text is refused at once. */
export interface ClusterFactory {
  open(
    environment: ConnectorEnvironment,
    options?: { readonly connectTimeoutMaxMs: number },
  ): KafkaCluster;
}

export function clusterFactory(
  option: 'kafkaSink' | 'kafkaSource',
  options: KafkaConnectionOptions,
  connect?: Connect,
): ClusterFactory {
  const bootstrap = parseBootstrap(option, options.bootstrap);
  const {
    clientId = 'weir',
    connectTimeoutMs = 10_000,
    requestTimeoutMs = 30_000,
    retryForMs = 60_000,
    tls,
    sasl,
  } = options;
  const security = {
    ...(tls === undefined ? {} : { tls }),
    ...(sasl === undefined ? {} : { sasl }),
  };
  return {
    open: (environment, { connectTimeoutMaxMs } = { connectTimeoutMaxMs: Infinity }) => {
      const limitMs = Math.min(connectTimeoutMs, connectTimeoutMaxMs);
      const settings = { clientId, connectTimeoutMs: limitMs, requestTimeoutMs, ...security };
      return new KafkaCluster({
        bootstrap,
        environment,
        name: option,
        code: option === 'kafkaSink' ? 'SINK_UNAVAILABLE' : 'SOURCE_UNAVAILABLE',
        retryForMs,
        connect: connect ?? tcpConnect(settings),
      });
    },
  };
}

function parseBootstrap(option: string, value: string | readonly string[]): BrokerPlace[] {
  const texts = (typeof value === 'string' ? value.split(',') : value).map((text) => text.trim());
  return texts.map((text) => {
    const match = /^(?:\[([^\]]+)\]|([^:\s]+)):(\d+)$/.exec(text);
    const port = Number(match?.[3]);
    if (match === null || port < 1 || port > 65535) {
      // What stands before an @ may be a password.
      const login = text.lastIndexOf('@');
      const shown = JSON.stringify(login < 0 ? text : `***${text.slice(login)}`);
      throw new ConfigurationError(
        `${option} bootstrap: ${shown} is not allowed, give host:port` +
          `${login < 0 ? '' : ', and the login as sasl'}`,
      );
    }
    return { host: match[1] ?? match[2] ?? '', port };
  });
}
