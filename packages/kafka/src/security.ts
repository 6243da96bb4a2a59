/**
 * How a client shows who it is, in types of our own: those of the client library do not compile in
 * a project that checks the declarations of what it uses.
 */
import type { ConnectionOptions } from 'node:tls';

/** A text, or a function that is called for every login. */
export type KafkaCredential = string | (() => string | Promise<string>);

/** A login by name and password. */
export interface KafkaPasswordLogin {
  readonly mechanism: 'PLAIN' | 'SCRAM-SHA-256' | 'SCRAM-SHA-512';
  readonly username: KafkaCredential;
  readonly password: KafkaCredential;
}

/** A login by a token of somebody else. */
export interface KafkaTokenLogin {
  readonly mechanism: 'OAUTHBEARER';
  readonly token: KafkaCredential;
}

export interface Security {
  /** Options of `tls.connect`: certificates, keys. Present: TLS is used. */
  readonly tls?: ConnectionOptions;
  readonly sasl?: KafkaPasswordLogin | KafkaTokenLogin;
}
