/**
 * Settings of a broker for tests: one node in KRaft mode on loopback. Internal topics have one
 * partition, transactions that time out are aborted within a second; everything a client may notice
 * is left at Kafka's default, above all `transaction.max.timeout.ms` (900 000).
 */

import { STORE_PASSWORD } from './certificates.ts';
import type { Certificates } from './certificates.ts';

export interface BrokerPorts {
  readonly broker: number;
  readonly controller: number;
  readonly proxied: number;
  readonly secure: SecurePorts;
}

/** Listeners of a broker that encrypts or asks who is there. */
export interface SecurePorts {
  /** TLS; the client shows a certificate as well. */
  readonly tls: number;
  /** TLS and a login. */
  readonly tlsLogin: number;
  /** A login without TLS. */
  readonly login: number;
}

/** User names and passwords of a broker with rights. */
export const ADMIN = { username: 'admin', password: 'admin-secret' } as const;
export const LIMITED = { username: 'weir', password: 'weir-secret' } as const;

export function brokerProperties(
  ports: BrokerPorts,
  logDirectory: string,
  options: {
    readonly acl: boolean;
    /** Where a proxy listens whose clients are to be sent back to it; `null`: there is none. */
    readonly proxyPort: number | null;
    /** `null`: no listener encrypts. */
    readonly certificates: Certificates | null;
    readonly overrides: Readonly<Record<string, string>>;
  },
): string {
  const client = options.acl ? 'SASL_PLAINTEXT' : 'PLAINTEXT';
  const own = `CLIENT://127.0.0.1:${ports.broker}`;
  const hasProxy = options.proxyPort !== null;
  const proxied = hasProxy ? `,PROXIED://127.0.0.1:${ports.proxied}` : '';
  const advertised = hasProxy ? `,PROXIED://127.0.0.1:${options.proxyPort}` : '';
  const secure = options.certificates === null ? '' : secureListeners(ports.secure);
  const settings: Record<string, string> = {
    'process.roles': 'broker,controller',
    'node.id': '1',
    'controller.quorum.bootstrap.servers': `127.0.0.1:${ports.controller}`,
    listeners: `${own}${proxied}${secure},CONTROLLER://127.0.0.1:${ports.controller}`,
    'advertised.listeners': `${own}${advertised}${secure}`,
    'inter.broker.listener.name': 'CLIENT',
    'controller.listener.names': 'CONTROLLER',
    'listener.security.protocol.map':
      `CONTROLLER:PLAINTEXT,CLIENT:${client},PROXIED:PLAINTEXT,` +
      'TLS:SSL,TLSLOGIN:SASL_SSL,LOGIN:SASL_PLAINTEXT',
    'log.dirs': logDirectory,
    'num.partitions': '1',
    'default.replication.factor': '1',
    'min.insync.replicas': '1',
    'auto.create.topics.enable': 'false',
    'offsets.topic.replication.factor': '1',
    'offsets.topic.num.partitions': '1',
    'transaction.state.log.replication.factor': '1',
    'transaction.state.log.min.isr': '1',
    'transaction.state.log.num.partitions': '1',
    'share.coordinator.state.topic.replication.factor': '1',
    'share.coordinator.state.topic.min.isr': '1',
    'group.initial.rebalance.delay.ms': '0',
    'transaction.abort.timed.out.transaction.cleanup.interval.ms': '500',
    'num.network.threads': '2',
    'num.io.threads': '2',
    'background.threads': '2',
    'log.segment.bytes': '268435456',
    'controlled.shutdown.enable': 'false',
    ...(options.acl ? withRights() : {}),
    ...(options.certificates === null ? {} : withSecurity(options.certificates)),
    ...options.overrides,
  };
  return `${Object.entries(settings)
    .map(([key, value]) => `${key}=${value}`)
    .join('\n')}\n`;
}

function withRights(): Record<string, string> {
  const users = [ADMIN, LIMITED].map((it) => `user_${it.username}="${it.password}"`).join(' ');
  return {
    'sasl.enabled.mechanisms': 'PLAIN',
    'sasl.mechanism.inter.broker.protocol': 'PLAIN',
    'listener.name.client.plain.sasl.jaas.config':
      'org.apache.kafka.common.security.plain.PlainLoginModule required ' +
      `username="${ADMIN.username}" password="${ADMIN.password}" ${users};`,
    'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
    // The controller listener has no login: its user is ANONYMOUS.
    'super.users': `User:${ADMIN.username};User:ANONYMOUS`,
  };
}

function secureListeners({ tls, tlsLogin, login }: SecurePorts): string {
  const ports = { TLS: tls, TLSLOGIN: tlsLogin, LOGIN: login };
  return Object.entries(ports)
    .map(([name, port]) => `,${name}://127.0.0.1:${port}`)
    .join('');
}

/** How long a login holds on the listener without TLS: short, so that a test sees it renewed. */
export const LOGIN_HOLDS_MS = 2000;

function withSecurity(certificates: Certificates): Record<string, string> {
  const module = (name: string, text = ''): string =>
    `org.apache.kafka.common.security.${name} required${text};`;
  const user = ` user_${LIMITED.username}="${LIMITED.password}"`;
  const logins = ['tlslogin', 'login'].flatMap((listener) => {
    const prefix = `listener.name.${listener}`;
    return [
      [`${prefix}.plain.sasl.jaas.config`, module('plain.PlainLoginModule', user)],
      [`${prefix}.scram-sha-256.sasl.jaas.config`, module('scram.ScramLoginModule')],
      [`${prefix}.scram-sha-512.sasl.jaas.config`, module('scram.ScramLoginModule')],
      [
        `${prefix}.oauthbearer.sasl.jaas.config`,
        module('oauthbearer.OAuthBearerLoginModule', ' unsecuredLoginStringClaim_sub="broker"'),
      ],
    ];
  });
  return {
    'sasl.enabled.mechanisms': 'PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER',
    'ssl.keystore.type': 'PKCS12',
    'ssl.keystore.location': certificates.brokerStore,
    'ssl.keystore.password': STORE_PASSWORD,
    'ssl.truststore.type': 'PKCS12',
    'ssl.truststore.location': certificates.trustStore,
    'ssl.truststore.password': STORE_PASSWORD,
    'listener.name.tls.ssl.client.auth': 'required',
    'listener.name.login.connections.max.reauth.ms': String(LOGIN_HOLDS_MS),
    ...Object.fromEntries(logins),
  };
}

/** Arguments of the tool that formats a broker's folder: users of SCRAM exist from the start. */
export function scramUsers(): string[] {
  const { username, password } = LIMITED;
  return ['SCRAM-SHA-256', 'SCRAM-SHA-512'].flatMap((mechanism) => [
    '--add-scram',
    `${mechanism}=[name=${username},password=${password}]`,
  ]);
}

export const LOG4J_PROPERTIES: string = [
  'status=error',
  'appender.c.type=Console',
  'appender.c.name=OUT',
  'appender.c.target=SYSTEM_ERR',
  'appender.c.layout.type=PatternLayout',
  'appender.c.layout.pattern=[%d] %p %m (%c)%n',
  'rootLogger.level=WARN',
  'rootLogger.appenderRef.c.ref=OUT',
  '',
].join('\n');
